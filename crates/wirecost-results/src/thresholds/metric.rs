//! The metrics that a threshold can be set on.

use crate::curves::CurveKind;
use crate::load::PhaseFigures;
use crate::nbiot::{Estimate, Point};
use crate::samples::SampleRow;
use crate::standing::Subject;
use crate::summary::{Bytes, Cell, Count, Outcomes, Section, Times};
use crate::thresholds::Aggregation;

/// A figure of cells, of phases of loads, of both, or of points of NB-IoT cells.
#[derive(Debug)]
pub struct Metric {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its quantity.
    pub quantity: Quantity,
    shape: Shape,
    of: Of,
}

/// What a metric is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Cells of comparisons.
    Cells,
    /// Phases of loads.
    Loads,
    /// Both of these.
    Both,
    /// Points of reports in NB-IoT cells: a curve at a load.
    Points,
    /// Cells of comparisons and points of reports in NB-IoT cells.
    CellsAndPoints,
}

/// Metrics of the same name are equal.
impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The quantity of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Messages per second.
    PerSecond,
    /// Bits per second.
    BitRate,
    /// A count or a ratio.
    Number,
    /// A share, 1 for all.
    Share,
    /// Joules.
    Energy,
}

/// The figures that a metric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Distribution,
    PerMessage,
    PerMessageEachWay,
    /// A count of messages, which also has a share of the offered messages.
    Counted,
    /// Any other count.
    Number,
    Share,
    Sum,
    Value,
    /// Two quantiles, because no others are kept.
    TwoQuantiles,
    Mean,
    /// A mean, and the least that it can be.
    MeanAndMin,
}

impl Metric {
    /// The figures of the metric.
    pub const fn aggregations(&self) -> &'static [Aggregation] {
        use Aggregation::{Count, Max, Mean, Min, P50, P90, P95, P99, P999, Rate, Sum, Value};
        match self.shape {
            Shape::Distribution => &[P50, P90, P95, P99, P999, Mean, Min, Max],
            Shape::PerMessage => &[Mean, Sum],
            Shape::PerMessageEachWay => &[Mean, Min, Max, Sum],
            Shape::Counted => &[Count, Rate],
            Shape::Number => &[Count],
            Shape::Share => &[Rate],
            Shape::Sum => &[Sum],
            Shape::Value => &[Value, Max],
            Shape::TwoQuantiles => &[P50, P95],
            Shape::Mean => &[Mean],
            Shape::MeanAndMin => &[Mean, Min],
        }
    }

    /// An example of a threshold.
    pub const fn example(&self) -> &'static str {
        match (self.shape, self.quantity) {
            (Shape::Distribution, _) => "p(99)<150ms",
            (Shape::PerMessage | Shape::PerMessageEachWay, Quantity::Bytes) => "mean<150B",
            (Shape::PerMessage | Shape::PerMessageEachWay, _) => "mean<=4",
            (Shape::Counted, _) => "count==0 or rate>=99%",
            (Shape::Number, _) => "count==0",
            (Shape::Share, _) if matches!(self.of, Of::Points) => "rate>=95%",
            (Shape::Share, _) => "rate==100%",
            (Shape::Sum, _) => "sum<200MB",
            (Shape::Value, Quantity::Time) => "max<90s",
            (Shape::Value, Quantity::PerSecond) => "value>=4900/s",
            (Shape::Value, Quantity::Share) => "value<=50%",
            (Shape::Value, Quantity::BitRate) => "value>=1Mbit",
            (Shape::Value, _) => "value<=2",
            (Shape::TwoQuantiles, _) => "p(95)<10s",
            (Shape::Mean, Quantity::Bytes) => "mean<150B",
            (Shape::Mean | Shape::MeanAndMin, Quantity::Energy) => "mean<300mJ",
            (Shape::Mean, Quantity::BitRate) => "mean>=1kbit",
            (Shape::Mean | Shape::MeanAndMin, _) => "mean<=8",
        }
    }

    /// The figure of a cell in base units; `None` if the cell does not have it, or if it is modelled by a device file.
    pub fn of_cell(&self, cell: &Cell, aggregation: Aggregation) -> Option<f64> {
        let (connect, message) = (cell.connect.as_ref(), cell.message.as_ref());
        match self.name {
            _ if self.shape == Shape::Distribution => times(self.times_of_cell(cell)?, aggregation),
            "bytes_per_msg" => both_ways(message?, |bytes| bytes.wire, aggregation),
            "all_in" => match (cell.all_in()?, aggregation) {
                (all_in, Aggregation::Mean) => Some(all_in.each()),
                (all_in, Aggregation::Sum) => Some(all_in.sum()),
                _ => None,
            },
            "packets_per_msg" => both_ways(message?, |bytes| bytes.packets, aggregation),
            "connect_bytes" => both_ways(connect?, |bytes| bytes.wire, aggregation),
            "connect_packets" => both_ways(connect?, |bytes| bytes.packets, aggregation),
            "bytes_up_per_msg" => count(message?.up.wire, aggregation),
            "bytes_down_per_msg" => count(message?.down.wire, aggregation),
            "session_bytes" => session(cell, |section| {
                both_ways(section, |bytes| bytes.wire, aggregation)
            }),
            "session_bytes_up" => session(cell, |section| count(section.up.wire, aggregation)),
            "session_bytes_down" => session(cell, |section| count(section.down.wire, aggregation)),
            "session_packets" => session(cell, |section| {
                both_ways(section, |bytes| bytes.packets, aggregation)
            }),
            "header_bytes" => session(cell, |section| {
                both_ways(section, |bytes| bytes.transport, aggregation)
            }),
            "application_bytes_up" => count(message?.up.application, aggregation),
            "round_trips" => message?.round_trips,
            "connect_round_trips" => connect?.round_trips,
            "first_message_round_trips" => cell.first_message_round_trips,
            "header_ratio" => message?.header_ratio,
            "keep_alive_ratio" => keep_alive_ratio(cell),
            "goodput" => message?.goodput_bps,
            "valid" => Some(f64::from(u8::from(cell.valid))),
            _ => outcome(self.name, &cell.outcomes, aggregation),
        }
    }

    /// The figure of a phase of a load in base units; `None` if the phase does not have it.
    pub fn of_phase(&self, phase: &PhaseFigures, aggregation: Aggregation) -> Option<f64> {
        match self.name {
            _ if self.shape == Shape::Distribution => times(self.times_of_phase(phase)?, aggregation),
            "offered_rate" => phase.offered_rate,
            "carried_rate" => phase.carried_rate,
            "unserved" => Some((1.0 - phase.carried_rate? / phase.offered_rate?).max(0.0)),
            "server_cpu" => phase.target_cpu_share,
            "duplicates" => phase.deliveries.map(|deliveries| deliveries.duplicates as f64),
            "out_of_order" => phase.deliveries.map(|deliveries| deliveries.out_of_order as f64),
            "polls" => phase.deliveries.map(|deliveries| deliveries.polls as f64),
            "empty_polls" => phase.deliveries.map(|deliveries| deliveries.empty_polls as f64),
            "missing" => phase.missing.map(|missing| missing as f64),
            "replayed" => phase.deliveries.map(|deliveries| deliveries.replayed as f64),
            "link_bytes_up" => Some(phase.link?.up.bytes as f64),
            "link_bytes_down" => Some(phase.link?.down.bytes as f64),
            "sender_bytes_up" => Some(phase.link?.up.sender_bytes()? as f64),
            "sender_bytes_down" => Some(phase.link?.down.sender_bytes()? as f64),
            "subscriber_bytes_up" => Some(phase.link?.up.subscriber_bytes? as f64),
            "subscriber_bytes_down" => Some(phase.link?.down.subscriber_bytes? as f64),
            "reconnect_all" => (phase.name == "reconnect").then_some(phase.duration_s),
            "handshake_bytes" => Some((phase.socket_bytes_up + phase.socket_bytes_down) as f64),
            "connections_failed" => {
                let connects = phase.connects;
                Some((connects.refused + connects.failed + connects.timed_out) as f64)
            }
            "valid" => Some(f64::from(u8::from(phase.valid))),
            _ => outcome(self.name, &phase.outcomes, aggregation),
        }
    }
}

impl Metric {
    /// The figure of a point of NB-IoT cells in base units; `None` if the point does not have it.
    pub fn of_point(&self, point: &Point, aggregation: Aggregation) -> Option<f64> {
        match (self.name, aggregation) {
            ("delay", Aggregation::P50) => point.delay_p50_s,
            ("delay", Aggregation::P95) => point.delay_p95_s,
            ("reports", _) => Some(point.reports as f64),
            ("bytes_up", _) => Some(point.bytes_up),
            ("bytes_down", _) => Some(point.bytes_down),
            ("energy", _) => Some(point.energy_mj / 1e3),
            ("battery_years", _) => Some(point.battery_years),
            ("dci_per_report", _) => point.dci_per_report(),
            _ => self.estimate_of_point(point).map(|estimate| estimate.mean),
        }
    }

    /// The mean over replications with its interval, in a point; `None` for metrics without one.
    pub fn estimate_of_point(&self, point: &Point) -> Option<Estimate> {
        match self.name {
            "served" => Some(point.served),
            "dci_use" => Some(point.dci_use),
            "downlink_use" => Some(point.downlink_use),
            "uplink_use" => Some(point.uplink_use),
            "device_throughput" => point.device_throughput_bit_s,
            "cell_throughput" => Some(point.cell_throughput_bit_s),
            "lowest_served_path_gain" => point.lowest_served_path_gain_db,
            _ => None,
        }
    }

    /// Whether it is a figure of points of NB-IoT cells.
    pub fn is_of_points(&self) -> bool {
        matches!(self.of, Of::Points | Of::CellsAndPoints)
    }

    /// Whether the figure of a cell is modelled from its packets by a device file.
    pub fn needs_device(&self) -> bool {
        matches!(self.name, "energy" | "session_energy")
    }

    /// Whether the figure is one of links, so that a load with sites has it for each hop.
    pub fn is_by_hop(&self) -> bool {
        matches!(self.name, "link_bytes_up" | "link_bytes_down")
    }

    /// What the figures are about.
    pub fn subject(&self) -> Subject {
        match self.name {
            "response_time" | "reconnect_all" => Subject::Time(CurveKind::Response),
            "service_time" => Subject::Time(CurveKind::Service),
            "one_way_delay" => Subject::Time(CurveKind::Delay),
            "connect_time" => Subject::Time(CurveKind::Connect),
            "schedule_lag" => Subject::Time(CurveKind::Lag),
            "carried_rate" => Subject::Carried,
            "unserved" => Subject::Unserved,
            _ => Subject::Count,
        }
    }

    /// The distribution that the figures are of, in a cell; `None` for metrics without one.
    pub fn times_of_cell<'a>(&self, cell: &'a Cell) -> Option<&'a Times> {
        let (connect, message) = (cell.connect.as_ref(), cell.message.as_ref());
        match self.name {
            "response_time" => message?.response_time_ns.as_ref(),
            "service_time" => message?.service_time_ns.as_ref(),
            "one_way_delay" => message?.one_way_delay_ns.as_ref(),
            "connect_time" => connect?.response_time_ns.as_ref(),
            "first_message_time" => cell.first_message_time_ns.as_ref(),
            _ => None,
        }
    }

    /// The distribution that the figures are of, in a phase; `None` for metrics without one.
    pub fn times_of_phase<'a>(&self, phase: &'a PhaseFigures) -> Option<&'a Times> {
        match self.name {
            "response_time" => phase.response_time_ns.as_ref(),
            "service_time" => phase.service_time_ns.as_ref(),
            "one_way_delay" => phase.one_way_delay_ns.as_ref(),
            "connect_time" => phase.connect_time_ns.as_ref(),
            "schedule_lag" => phase.schedule_lag_ns.as_ref(),
            _ => None,
        }
    }

    /// The measurement of one device that the figures are of, in base units; `None` if there is none.
    pub fn of_sample(&self, sample: &SampleRow) -> Option<f64> {
        let seconds = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e9);
        match self.name {
            "response_time" => seconds(sample.response_time_ns),
            "service_time" => seconds(sample.service_time_ns),
            "one_way_delay" => seconds(sample.one_way_delay_ns),
            "connect_time" => seconds(sample.connect_ns),
            "bytes_per_msg" => Some((sample.message_up_bytes + sample.message_down_bytes) as f64),
            "bytes_up_per_msg" => Some(sample.message_up_bytes as f64),
            "bytes_down_per_msg" => Some(sample.message_down_bytes as f64),
            "packets_per_msg" => Some((sample.message_up_packets + sample.message_down_packets) as f64),
            "connect_bytes" => Some((sample.connect_up_bytes + sample.connect_down_bytes) as f64),
            _ => None,
        }
    }

    /// Whether every sample of a cell has the figure: one of bytes or packets, of a message, of a connect or of all together.
    pub fn is_constant(&self, cell: &Cell) -> bool {
        let all = [&cell.connect, &cell.message, &cell.keep_alive, &cell.close];
        match self.name {
            "bytes_per_msg"
            | "bytes_up_per_msg"
            | "bytes_down_per_msg"
            | "packets_per_msg"
            | "header_ratio"
            | "application_bytes_up" => cell.message.as_ref().is_some_and(is_constant),
            "connect_bytes" | "connect_packets" => cell.connect.as_ref().is_some_and(is_constant),
            "all_in" | "session_bytes" | "session_bytes_up" | "session_bytes_down" | "session_packets"
            | "header_bytes" | "keep_alive_ratio" => all.into_iter().flatten().all(is_constant),
            _ => false,
        }
    }

    /// Whether the figure is known while its phase runs. Deliveries of unanswered messages and validity are known after
    /// the phase only.
    pub fn is_known_early(&self, is_answered: bool) -> bool {
        match self.name {
            "valid" | "delivered" | "missing" | "server_cpu" | "unserved" => false,
            "acknowledged" | "late" | "unknown" | "messages_lost" | "carried_rate" => is_answered,
            _ => true,
        }
    }

    /// Whether the figures of all phases add up to one. The server delivers a stored message when the subscriber
    /// returns, which may be in this phase or the next.
    pub fn adds_up(&self) -> bool {
        matches!(self.name, "duplicates" | "out_of_order" | "replayed")
    }

    /// Whether the figure can only grow while its phase runs.
    pub fn grows(&self, aggregation: Aggregation) -> bool {
        use Aggregation::{Count, Max, Sum};
        self.name == "reconnect_all" || matches!(aggregation, Count | Sum | Max)
    }
}

/// The metrics of cells, of loads or of points.
pub fn all(of: Of) -> Vec<&'static Metric> {
    let is_both = |metric: &&Metric| metric.of == Of::Both && of != Of::Points;
    let is_either =
        |metric: &&Metric| metric.of == Of::CellsAndPoints && matches!(of, Of::Cells | Of::Points);
    let all = METRICS.iter();
    all.filter(|metric| metric.of == of || is_both(metric) || is_either(metric))
        .collect()
}

/// The time from the intended send to the answer.
pub static RESPONSE_TIME: &Metric = &METRICS[0];
/// The time from the intended send to the arrival.
pub static ONE_WAY_DELAY: &Metric = &METRICS[2];

/// Every metric.
pub static METRICS: [Metric; 68] = [
    distribution("response_time", Of::Both),
    distribution("service_time", Of::Both),
    distribution("one_way_delay", Of::Both),
    distribution("connect_time", Of::Both),
    distribution("first_message_time", Of::Cells),
    distribution("schedule_lag", Of::Loads),
    of_cells("bytes_per_msg", Quantity::Bytes, Shape::PerMessage),
    of_cells("bytes_up_per_msg", Quantity::Bytes, Shape::PerMessageEachWay),
    of_cells("bytes_down_per_msg", Quantity::Bytes, Shape::PerMessageEachWay),
    of_cells("all_in", Quantity::Bytes, Shape::PerMessage),
    of_cells("packets_per_msg", Quantity::Number, Shape::PerMessage),
    of_cells("connect_bytes", Quantity::Bytes, Shape::PerMessage),
    of_cells("connect_packets", Quantity::Number, Shape::PerMessage),
    of_cells("session_bytes", Quantity::Bytes, Shape::PerMessage),
    of_cells("session_bytes_up", Quantity::Bytes, Shape::PerMessage),
    of_cells("session_bytes_down", Quantity::Bytes, Shape::PerMessage),
    of_cells("session_packets", Quantity::Number, Shape::PerMessage),
    of_cells("header_bytes", Quantity::Bytes, Shape::PerMessage),
    of_cells("application_bytes_up", Quantity::Bytes, Shape::PerMessageEachWay),
    of_cells("round_trips", Quantity::Number, Shape::Value),
    of_cells("connect_round_trips", Quantity::Number, Shape::Value),
    of_cells("first_message_round_trips", Quantity::Number, Shape::Value),
    of_cells("header_ratio", Quantity::Number, Shape::Value),
    of_cells("keep_alive_ratio", Quantity::Share, Shape::Value),
    of_cells("session_energy", Quantity::Energy, Shape::MeanAndMin),
    of_cells("goodput", Quantity::BitRate, Shape::Value),
    counted("offered"),
    counted("acknowledged"),
    counted("refused"),
    counted("failed"),
    counted("late"),
    counted("unknown"),
    counted("delivered"),
    counted("messages_lost"),
    of_loads("unserved", Quantity::Share, Shape::Share),
    metric("valid", Quantity::Share, Shape::Share, Of::Both),
    of_loads("offered_rate", Quantity::PerSecond, Shape::Value),
    of_loads("carried_rate", Quantity::PerSecond, Shape::Value),
    of_loads("server_cpu", Quantity::Share, Shape::Value),
    of_loads("duplicates", Quantity::Number, Shape::Number),
    of_loads("out_of_order", Quantity::Number, Shape::Number),
    of_loads("replayed", Quantity::Number, Shape::Number),
    of_loads("polls", Quantity::Number, Shape::Number),
    of_loads("empty_polls", Quantity::Number, Shape::Number),
    of_loads("missing", Quantity::Number, Shape::Number),
    of_loads("reconnect_all", Quantity::Time, Shape::Value),
    of_loads("connections_failed", Quantity::Number, Shape::Number),
    of_loads("handshake_bytes", Quantity::Bytes, Shape::Sum),
    of_loads("link_bytes_up", Quantity::Bytes, Shape::Sum),
    of_loads("link_bytes_down", Quantity::Bytes, Shape::Sum),
    of_loads("sender_bytes_up", Quantity::Bytes, Shape::Sum),
    of_loads("sender_bytes_down", Quantity::Bytes, Shape::Sum),
    of_loads("subscriber_bytes_up", Quantity::Bytes, Shape::Sum),
    of_loads("subscriber_bytes_down", Quantity::Bytes, Shape::Sum),
    of_points("served", Quantity::Share, Shape::Share),
    of_points("delay", Quantity::Time, Shape::TwoQuantiles),
    of_points("reports", Quantity::Number, Shape::Number),
    of_points("bytes_up", Quantity::Bytes, Shape::Mean),
    of_points("bytes_down", Quantity::Bytes, Shape::Mean),
    of_points("dci_per_report", Quantity::Number, Shape::Mean),
    of_points("dci_use", Quantity::Share, Shape::Share),
    of_points("downlink_use", Quantity::Share, Shape::Share),
    of_points("uplink_use", Quantity::Share, Shape::Share),
    of_points("device_throughput", Quantity::BitRate, Shape::Mean),
    of_points("cell_throughput", Quantity::BitRate, Shape::Mean),
    of_points("lowest_served_path_gain", Quantity::Number, Shape::Mean),
    metric("energy", Quantity::Energy, Shape::Mean, Of::CellsAndPoints),
    of_points("battery_years", Quantity::Number, Shape::Mean),
];

const fn of_points(name: &'static str, quantity: Quantity, shape: Shape) -> Metric {
    metric(name, quantity, shape, Of::Points)
}

const fn distribution(name: &'static str, of: Of) -> Metric {
    metric(name, Quantity::Time, Shape::Distribution, of)
}

const fn counted(name: &'static str) -> Metric {
    metric(name, Quantity::Number, Shape::Counted, Of::Both)
}

const fn of_cells(name: &'static str, quantity: Quantity, shape: Shape) -> Metric {
    metric(name, quantity, shape, Of::Cells)
}

const fn of_loads(name: &'static str, quantity: Quantity, shape: Shape) -> Metric {
    metric(name, quantity, shape, Of::Loads)
}

const fn metric(name: &'static str, quantity: Quantity, shape: Shape, of: Of) -> Metric {
    Metric {
        name,
        quantity,
        shape,
        of,
    }
}

/// The bytes of keep-alive packets over those of messages; `None` where no message was measured.
fn keep_alive_ratio(cell: &Cell) -> Option<f64> {
    let bytes = |section: &Section| both_ways(section, |bytes| bytes.wire, Aggregation::Sum);
    let keep_alive = cell.keep_alive.as_ref().and_then(bytes).unwrap_or_default();
    Some(keep_alive / bytes(cell.message.as_ref()?)?)
}

/// The sum over connect, measured messages and close; `None` where no message was measured.
fn session(cell: &Cell, of: impl Fn(&Section) -> Option<f64>) -> Option<f64> {
    let message = of(cell.message.as_ref()?)?;
    let around = [&cell.connect, &cell.close].into_iter().flatten();
    Some(message + around.filter_map(of).sum::<f64>())
}

/// Whether every sample of a phase has the same bytes and packets.
fn is_constant(section: &Section) -> bool {
    let ways = [&section.up, &section.down];
    let same = |count: &Count| count.min == count.max;
    ways.iter()
        .all(|way| same(&way.wire) && same(&way.packets) && same(&way.application))
}

/// A quantity of time in seconds.
fn times(times: &Times, aggregation: Aggregation) -> Option<f64> {
    let nanos = match aggregation {
        Aggregation::P50 => times.p50? as f64,
        Aggregation::P90 => times.p90? as f64,
        Aggregation::P95 => times.p95? as f64,
        Aggregation::P99 => times.p99? as f64,
        Aggregation::P999 => times.p999? as f64,
        Aggregation::Mean => times.mean,
        Aggregation::Min => times.min as f64,
        Aggregation::Max => times.max as f64,
        _ => return None,
    };
    Some(nanos / 1e9)
}

fn count(count: Count, aggregation: Aggregation) -> Option<f64> {
    match aggregation {
        Aggregation::Mean => Some(count.mean),
        Aggregation::Min => Some(count.min as f64),
        Aggregation::Max => Some(count.max as f64),
        Aggregation::Sum => Some(count.sum as f64),
        _ => None,
    }
}

/// Both directions together: means and sums add up, the smallest and the largest do not.
fn both_ways(section: &Section, of: fn(&Bytes) -> Count, aggregation: Aggregation) -> Option<f64> {
    let (up, down) = (of(&section.up), of(&section.down));
    match aggregation {
        Aggregation::Mean => Some(up.mean + down.mean),
        Aggregation::Sum => Some((up.sum + down.sum) as f64),
        _ => None,
    }
}

/// The number of messages with this outcome, or their share of the offered messages; `None` if no message was offered.
fn outcome(name: &str, outcomes: &Outcomes, aggregation: Aggregation) -> Option<f64> {
    let messages = match name {
        "offered" => outcomes.offered,
        "acknowledged" => outcomes.acknowledged,
        "refused" => outcomes.refused,
        "failed" => outcomes.failed,
        "late" => outcomes.late,
        "unknown" => outcomes.unknown,
        "delivered" => outcomes.delivered,
        "messages_lost" => outcomes.failed + outcomes.unknown + outcomes.lost,
        _ => return None,
    };
    match aggregation {
        _ if outcomes.offered == 0 => None,
        Aggregation::Rate => Some(messages as f64 / outcomes.offered as f64),
        _ => Some(messages as f64),
    }
}
