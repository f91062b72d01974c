//! The catalogue of figures: what each is called, what it is of, how it is read, and how it is judged.
//!
//! An entry is the whole of what thresholds, claims, `diff`, the means over runs, tables, CSV files and maps know of a figure, so that
//! a new one is one entry. `wirecost-report` has lists of its own where a column or a family is more than one figure.
//!
//! - `aggregation`: which of the figures of a metric is meant
//! - `entry`: the parts of an entry
//! - `frames`: bytes as a sniffer counts them
//! - `metric`: what it says of a figure
//! - `read`: how figures are read from a cell, a phase or a point

mod aggregation;
mod entry;
mod frames;
mod metric;
mod read;

pub use aggregation::Aggregation;
pub use entry::{CellNeeds, ModelledBy, Needs, Of, Quantity, TableColumn};

use entry::{Entry, Known, Sections, Shape};
use frames::{Way, frame_bytes};
use read::{Reader, both_ways, count, keep_alive_ratio, nanos, session};

use crate::curves::CurveKind;
use crate::nbiot::{Point, RunFigures};
use crate::standing::Subject;

/// Makes the enumeration of figures and the array of their entries, in one order.
macro_rules! catalogue {
    ($($(#[$doc:meta])* $name:ident = $entry:expr;)*) => {
        /// A figure of cells, of phases of loads, or of points of NB-IoT cells.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Metric {
            $($(#[$doc])* $name,)*
        }

        impl Metric {
            /// Every metric, in the order in which results have them.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        static ENTRIES: [Entry; Metric::ALL.len()] = [$($entry),*];
    };
}

catalogue! {
    /// From the intended send to the answer.
    ResponseTime = Entry::times("response_time")
        .times_of_cell(|cell| cell.message.as_ref()?.response_time_ns.as_ref())
        .times_of_phase(Needs::Answers, |phase| phase.response_time_ns.as_ref())
        .of_sample(|sample| nanos(sample.response_time_ns))
        .about(Subject::Time(CurveKind::Response));
    /// From the actual send to the answer.
    ServiceTime = Entry::times("service_time")
        .times_of_cell(|cell| cell.message.as_ref()?.service_time_ns.as_ref())
        .times_of_phase(Needs::Answers, |phase| phase.service_time_ns.as_ref())
        .of_sample(|sample| nanos(sample.service_time_ns))
        .about(Subject::Time(CurveKind::Service));
    /// Until the message has arrived.
    OneWayDelay = Entry::times("one_way_delay")
        .times_of_cell(|cell| cell.message.as_ref()?.one_way_delay_ns.as_ref())
        .times_of_phase(Needs::Delays, |phase| phase.one_way_delay_ns.as_ref())
        .of_sample(|sample| nanos(sample.one_way_delay_ns))
        .about(Subject::Time(CurveKind::Delay));
    /// From the start of a connect until the client may send.
    ConnectTime = Entry::times("connect_time")
        .times_of_cell(|cell| cell.connect.as_ref()?.response_time_ns.as_ref())
        .times_of_phase(Needs::Connects, |phase| phase.connect_time_ns.as_ref())
        .of_sample(|sample| nanos(sample.connect_ns))
        .about(Subject::Time(CurveKind::Connect));
    /// From the start of the connect to the end of the first message.
    FirstMessageTime = Entry::times("first_message_time")
        .times_of_cell(|cell| cell.first_message_time_ns.as_ref());
    /// From the start of a program to its end.
    ProgramTime = Entry::times("program_time")
        .times_of_cell(|cell| Some(&cell.program.as_ref()?.time_ns))
        .in_cells(CellNeeds::Program);
    /// CPU time of a program and of the processes that it waited for.
    ProgramCpu = Entry::times("program_cpu")
        .times_of_cell(|cell| Some(&cell.program.as_ref()?.cpu_ns))
        .in_cells(CellNeeds::Program);
    /// How late the generator was.
    ScheduleLag = Entry::times("schedule_lag")
        .times_of_phase(Needs::Offers, |phase| phase.schedule_lag_ns.as_ref())
        .about(Subject::Time(CurveKind::Lag));

    /// IP bytes of a message.
    BytesPerMessage = Entry::bytes("bytes_per_msg", Quantity::Bytes, Sections::Message, |cell, of| {
            both_ways(cell.message.as_ref()?, |bytes| bytes.wire, of)
        })
        .of_messages_of_sample(|sample| Some((sample.message_up_bytes + sample.message_down_bytes) as f64));
    /// IP bytes of a message, device to server.
    BytesUpPerMessage = Entry::bytes("bytes_up_per_msg", Quantity::Bytes, Sections::Message, |cell, of| {
            count(cell.message.as_ref()?.up.wire, of)
        })
        .each_way()
        .of_messages_of_sample(|sample| Some(sample.message_up_bytes as f64));
    /// IP bytes of a message, server to device.
    BytesDownPerMessage = Entry::bytes("bytes_down_per_msg", Quantity::Bytes, Sections::Message, |cell, of| {
            count(cell.message.as_ref()?.down.wire, of)
        })
        .each_way()
        .of_messages_of_sample(|sample| Some(sample.message_down_bytes as f64));
    /// IP bytes of a message with its share of connects, keep-alive and closes.
    AllIn = Entry::bytes("all_in", Quantity::Bytes, Sections::All, |cell, of| match (cell.all_in()?, of) {
            (all_in, Aggregation::Mean) => Some(all_in.each()),
            (all_in, Aggregation::Sum) => Some(all_in.sum()),
            _ => None,
        });
    /// Packets of a message.
    PacketsPerMessage = Entry::bytes("packets_per_msg", Quantity::Number, Sections::Message, |cell, of| {
            both_ways(cell.message.as_ref()?, |bytes| bytes.packets, of)
        })
        .of_messages_of_sample(|sample| Some((sample.message_up_packets + sample.message_down_packets) as f64));
    /// IP bytes of a connect.
    ConnectBytes = Entry::bytes("connect_bytes", Quantity::Bytes, Sections::Connect, |cell, of| {
            both_ways(cell.connect.as_ref()?, |bytes| bytes.wire, of)
        })
        .of_sample(|sample| Some((sample.connect_up_bytes + sample.connect_down_bytes) as f64));
    /// Packets of a connect.
    ConnectPackets = Entry::bytes("connect_packets", Quantity::Number, Sections::Connect, |cell, of| {
            both_ways(cell.connect.as_ref()?, |bytes| bytes.packets, of)
        });
    /// IP bytes of connect, messages and close of a device.
    SessionBytes = Entry::bytes("session_bytes", Quantity::Bytes, Sections::All, |cell, of| {
            session(cell, |section| both_ways(section, |bytes| bytes.wire, of))
        });
    /// The same, device to server.
    SessionBytesUp = Entry::bytes("session_bytes_up", Quantity::Bytes, Sections::All, |cell, of| {
            session(cell, |section| count(section.up.wire, of))
        });
    /// The same, server to device.
    SessionBytesDown = Entry::bytes("session_bytes_down", Quantity::Bytes, Sections::All, |cell, of| {
            session(cell, |section| count(section.down.wire, of))
        });
    /// Packets of connect, messages and close of a device.
    SessionPackets = Entry::bytes("session_packets", Quantity::Number, Sections::All, |cell, of| {
            session(cell, |section| both_ways(section, |bytes| bytes.packets, of))
        });
    /// Bytes of connect, messages and close of a device as a sniffer counts them: with the headers of the link layer.
    FrameBytes = Entry::bytes("frame_bytes", Quantity::Bytes, Sections::All, |cell, of| {
            frame_bytes(cell, Way::Both, of)
        })
        .in_cells(CellNeeds::Framing)
        .in_tables("frames", "B/session");
    /// The same, device to server.
    FrameBytesUp = Entry::bytes("frame_bytes_up", Quantity::Bytes, Sections::All, |cell, of| {
            frame_bytes(cell, Way::Up, of)
        })
        .in_cells(CellNeeds::Framing)
        .in_csv("frame_up_bytes");
    /// The same, server to device.
    FrameBytesDown = Entry::bytes("frame_bytes_down", Quantity::Bytes, Sections::All, |cell, of| {
            frame_bytes(cell, Way::Down, of)
        })
        .in_cells(CellNeeds::Framing)
        .in_csv("frame_down_bytes");
    /// TCP and UDP headers of connect, messages and close of a device.
    HeaderBytes = Entry::bytes("header_bytes", Quantity::Bytes, Sections::All, |cell, of| {
            session(cell, |section| both_ways(section, |bytes| bytes.transport, of))
        });
    /// What the messaging protocol adds to the payload of a message on its way to the server.
    ApplicationBytesUp = Entry::bytes("application_bytes_up", Quantity::Bytes, Sections::Message, |cell, of| {
            count(cell.message.as_ref()?.up.application, of)
        })
        .each_way();
    /// Round trips of a message.
    RoundTrips = Entry::value("round_trips", Quantity::Number, |cell| cell.message.as_ref()?.round_trips);
    /// Round trips of a connect.
    ConnectRoundTrips = Entry::value("connect_round_trips", Quantity::Number, |cell| {
        cell.connect.as_ref()?.round_trips
    });
    /// Round trips until the first message was acknowledged, or had arrived where nothing answers.
    FirstMessageRoundTrips = Entry::value("first_message_round_trips", Quantity::Number, |cell| {
        cell.first_message_round_trips
    });
    /// The bytes beside the payload, by the payload.
    HeaderRatio = Entry::value("header_ratio", Quantity::Number, |cell| cell.message.as_ref()?.header_ratio)
        .constant_with(Sections::Message);
    /// The bytes of keep-alive packets, by those of messages.
    KeepAliveRatio = Entry::value("keep_alive_ratio", Quantity::Share, keep_alive_ratio)
        .constant_with(Sections::All);
    /// The energy of connect, messages and close.
    SessionEnergy = Entry::new("session_energy", Quantity::Energy, Shape::MeanAndMin).modelled(ModelledBy::Device);
    /// The energy of a message above what the device draws without traffic.
    EnergyAboveRest = Entry::new("energy_above_rest", Quantity::Energy, Shape::Mean).modelled(ModelledBy::Device);
    /// IP bytes of a device in a month of readings at the interval of the cell.
    MonthBytes = Entry::new("month_bytes", Quantity::Bytes, Shape::Value).modelled(ModelledBy::Month);
    /// What a tariff charges for that month of one device.
    MonthPrice = Entry::new("month_price", Quantity::Money, Shape::Value).modelled(ModelledBy::Tariff);
    /// Payload bits by the time to arrival.
    Goodput = Entry::value("goodput", Quantity::BitRate, |cell| cell.message.as_ref()?.goodput_bps);

    /// Messages that were intended.
    Offered = Entry::messages("offered", Needs::Offers, |outcomes| outcomes.offered);
    /// Messages that were acknowledged in time.
    Acknowledged = Entry::messages("acknowledged", Needs::Answers, |outcomes| outcomes.acknowledged)
        .in_cells(CellNeeds::Answers)
        .known(Known::EarlyIfAnswered);
    /// Messages that the server refused.
    Refused = Entry::messages("refused", Needs::Offers, |outcomes| outcomes.refused);
    /// Messages that were not sent.
    Failed = Entry::messages("failed", Needs::Offers, |outcomes| outcomes.failed);
    /// Messages that were acknowledged after the time-out.
    Late = Entry::messages("late", Needs::Offers, |outcomes| outcomes.late).known(Known::EarlyIfAnswered);
    /// Messages that were sent and never answered.
    Unknown = Entry::messages("unknown", Needs::Offers, |outcomes| outcomes.unknown).known(Known::EarlyIfAnswered);
    /// Messages that arrived, where nothing answers.
    Delivered = Entry::messages("delivered", Needs::Deliveries, |outcomes| outcomes.delivered)
        .in_cells(CellNeeds::NoAnswers)
        .known(Known::Late);
    /// Messages that failed, are unknown or were lost.
    MessagesLost = Entry::messages("messages_lost", Needs::Offers, |outcomes| {
            outcomes.failed + outcomes.unknown + outcomes.lost
        })
        .known(Known::EarlyIfAnswered);
    /// Of the offered messages, those that were not done while messages were offered.
    Unserved = Entry::new("unserved", Quantity::Share, Shape::Share)
        .of_phase(Needs::OutcomesAtRate, |phase| {
            Some((1.0 - phase.carried_rate? / phase.offered_rate?).max(0.0))
        })
        .about(Subject::Unserved)
        .known(Known::Late);
    /// Whether figures may be used.
    Valid = Entry::new("valid", Quantity::Share, Shape::Share)
        .of_cell(|cell| Some(f64::from(u8::from(cell.valid))))
        .of_phase(Needs::Nothing, |phase| Some(f64::from(u8::from(phase.valid))))
        .known(Known::Late);
    /// Messages that were asked for, per second.
    OfferedRate = Entry::new("offered_rate", Quantity::PerSecond, Shape::Value)
        .of_phase(Needs::OffersAtRate, |phase| phase.offered_rate);
    /// Messages that were done, per second.
    CarriedRate = Entry::new("carried_rate", Quantity::PerSecond, Shape::Value)
        .of_phase(Needs::Outcomes, |phase| phase.carried_rate)
        .about(Subject::Carried)
        .known(Known::EarlyIfAnswered);
    /// CPU time of the server by wall time: 1 is one CPU.
    ServerCpu = Entry::new("server_cpu", Quantity::Share, Shape::Value)
        .of_phase(Needs::CpuTime, |phase| phase.target_cpu_share)
        .known(Known::Late);
    /// Deliveries that had arrived before. A server delivers a stored message when the subscriber returns, which may be in this phase
    /// or the next.
    Duplicates = Entry::count("duplicates", Needs::Arrivals, |phase| Some(phase.deliveries?.duplicates as f64))
        .adding_up();
    /// Deliveries behind one with a higher number.
    OutOfOrder = Entry::count("out_of_order", Needs::Arrivals, |phase| Some(phase.deliveries?.out_of_order as f64))
        .adding_up();
    /// Deliveries from the server's store.
    Replayed = Entry::count("replayed", Needs::Store, |phase| Some(phase.deliveries?.replayed as f64))
        .adding_up();
    /// Requests for messages by subscribers that poll.
    Polls = Entry::count("polls", Needs::Polls, |phase| Some(phase.deliveries?.polls as f64));
    /// Of those, answered without a message.
    EmptyPolls = Entry::count("empty_polls", Needs::Polls, |phase| Some(phase.deliveries?.empty_polls as f64));
    /// Expected deliveries that did not arrive.
    Missing = Entry::count("missing", Needs::Expectations, |phase| Some(phase.missing? as f64))
        .known(Known::Late);
    /// How long the phase took in which all devices connected again.
    ReconnectAll = Entry::new("reconnect_all", Quantity::Time, Shape::Value)
        .of_phase(Needs::Reconnects, |phase| {
            (phase.name == "reconnect").then_some(phase.duration_s)
        })
        .about(Subject::Time(CurveKind::Response))
        .growing();
    /// Connects that the server refused, that failed or that took too long.
    ConnectionsFailed = Entry::count("connections_failed", Needs::Nothing, |phase| {
        Some((phase.connects.refused + phase.connects.failed + phase.connects.timed_out) as f64)
    });
    /// Bytes on sockets while devices connect.
    HandshakeBytes = Entry::sum("handshake_bytes", Needs::Sockets, |phase| {
        Some((phase.socket_bytes_up + phase.socket_bytes_down) as f64)
    });
    /// IP bytes on the link, up.
    LinkBytesUp = Entry::sum("link_bytes_up", Needs::Hops, |phase| Some(phase.link?.up.bytes as f64));
    /// IP bytes on the link, down.
    LinkBytesDown = Entry::sum("link_bytes_down", Needs::Hops, |phase| Some(phase.link?.down.bytes as f64));
    /// IP bytes of the devices that send, up.
    SenderBytesUp = Entry::sum("sender_bytes_up", Needs::SendersApart, |phase| {
        Some(phase.link?.up.sender_bytes()? as f64)
    });
    /// IP bytes of the devices that send, down.
    SenderBytesDown = Entry::sum("sender_bytes_down", Needs::SendersApart, |phase| {
        Some(phase.link?.down.sender_bytes()? as f64)
    });
    /// IP bytes of the devices that subscribe, up.
    SubscriberBytesUp = Entry::sum("subscriber_bytes_up", Needs::SubscribersApart, |phase| {
        Some(phase.link?.up.subscriber_bytes? as f64)
    });
    /// IP bytes of the devices that subscribe, down.
    SubscriberBytesDown = Entry::sum("subscriber_bytes_down", Needs::SubscribersApart, |phase| {
        Some(phase.link?.down.subscriber_bytes? as f64)
    });

    /// Reports that arrived within the deadline.
    Served = Entry::of_replications("served", Quantity::Share, Shape::Share, |point| Some(point.served), RunFigures::served_share);
    /// From generation to arrival of reports that arrived.
    Delay = Entry::new("delay", Quantity::Time, Shape::TwoQuantiles)
        .of_point(Reader::Each(|point, of| match of {
            Aggregation::P50 => point.delay_p50_s,
            Aggregation::P95 => point.delay_p95_s,
            _ => None,
        }));
    /// Reports that were measured.
    Reports = Entry::new("reports", Quantity::Number, Shape::Number)
        .of_point(Reader::Value(|point| Some(point.reports as f64)));
    /// IP bytes of a report that devices send.
    BytesUp = Entry::of_reports("bytes_up", Quantity::Bytes, |point| Some(point.bytes_up));
    /// IP bytes of a report that servers send.
    BytesDown = Entry::of_reports("bytes_down", Quantity::Bytes, |point| Some(point.bytes_down));
    /// DCIs of a report.
    DciPerReport = Entry::of_reports("dci_per_report", Quantity::Number, Point::dci_per_report);
    /// DCI occasions of coverage level 0 that are used.
    DciUse = Entry::of_replications("dci_use", Quantity::Share, Shape::Share, |point| Some(point.dci_use), |run| Some(run.use_of[0]));
    /// Usable downlink subframes with NPDCCH or NPDSCH.
    DownlinkUse = Entry::of_replications("downlink_use", Quantity::Share, Shape::Share, |point| Some(point.downlink_use), |run| Some(run.use_of[1]));
    /// The uplink carrier with NPUSCH.
    UplinkUse = Entry::of_replications("uplink_use", Quantity::Share, Shape::Share, |point| Some(point.uplink_use), |run| Some(run.use_of[2]));
    /// Size of a report by its delay.
    DeviceThroughput = Entry::of_replications("device_throughput", Quantity::BitRate, Shape::Mean, |point| {
        point.device_throughput_bit_s
    }, |run| run.device_throughput_bit_s);
    /// Bits of reports that were served, per second and cell.
    CellThroughput = Entry::of_replications("cell_throughput", Quantity::BitRate, Shape::Mean, |point| {
        Some(point.cell_throughput_bit_s)
    }, |run| Some(run.cell_throughput_bit_s));
    /// Path gain that 1 % of the served devices are below.
    LowestServedPathGain = Entry::of_replications(
        "lowest_served_path_gain",
        Quantity::Number,
        Shape::Mean,
        |point| point.lowest_served_path_gain_db,
        |run| run.lowest_served_path_gain_db,
    );
    /// Of the 5 % of devices with the lowest path gains, those that were served.
    DeepServed = Entry::of_replications("deep_served", Quantity::Share, Shape::Share, |point| point.deep_served, |run| run.deep_served);
    /// Energy of a message, or of a report.
    Energy = Entry::of_reports("energy", Quantity::Energy, |point| Some(point.energy_mj / 1e3)).modelled(ModelledBy::Device);
    /// Battery life.
    BatteryYears = Entry::of_reports("battery_years", Quantity::Number, |point| Some(point.battery_years));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_metric_has_a_name_of_its_own_and_is_of_something() {
        let names: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), Metric::ALL.len());
        for metric in Metric::ALL {
            assert_eq!(Metric::named(metric.name()), Some(*metric));
            let of = [Of::Cells, Of::Loads, Of::Points];
            assert!(of.into_iter().any(|of| metric.is_of(of)), "{metric:?}");
        }
    }

    #[test]
    fn figures_in_tables_are_of_cells_and_columns_of_csv_files_have_names_of_their_own() {
        let in_tables = Metric::ALL.iter().filter(|metric| metric.column().is_some());
        assert!(in_tables.clone().all(|metric| metric.is_of(Of::Cells)));
        assert!(in_tables.count() >= 1);
        for of in [Of::Cells, Of::Loads, Of::Points] {
            let columns: Vec<&str> = Metric::csv(of).map(|(_, name)| name).collect();
            let names: BTreeSet<&str> = columns.iter().copied().collect();
            assert_eq!(names.len(), columns.len());
        }
    }
}
