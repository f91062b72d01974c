//! The account of one device while its packets are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use wirecost_cost::{
    Arrivals, DatagramId, DeviceLedger, PacketTime, PacketVerdict, Ports, Traffic, flights, round_trips,
};
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::FlowReport;
use wirecost_proto::log::FlowLog;
use wirecost_proto::record::RecordedPacket;
use wirecost_proto::{BothWays, Buffer, Direction, Instant, Phase, Span};

use super::agreement::disagreements_of;
use super::{AnalysedDevice, Counted, DeviceMeasurement, SeenPacket, Shares};
use crate::compare::sampler::{End, Mark, Notes};

/// The built-in servers' flows by device address.
pub(super) struct ServerFlows<'a> {
    by_peer: BTreeMap<(SocketAddr, u16, bool), Cow<'a, FlowLog>>,
    by_address: BTreeMap<IpAddr, Duration>,
}

impl<'a> ServerFlows<'a> {
    pub(super) fn new(flows: &'a [(u16, FlowReport)]) -> Self {
        let mut by_address = BTreeMap::new();
        let mut by_peer: BTreeMap<_, Cow<'a, FlowLog>> = BTreeMap::new();
        for (port, flow) in flows {
            *by_address.entry(flow.peer.ip()).or_default() += flow.cpu;
            let is_stream = flow.log.transport == Transport::Stream;
            match by_peer.entry((flow.peer, *port, is_stream)) {
                // A second copy of the datagram that ended a flow opens a new flow.
                Entry::Occupied(mut earlier) if !is_stream => earlier.get_mut().to_mut().append(&flow.log),
                Entry::Occupied(mut earlier) => *earlier.get_mut() = Cow::Borrowed(&flow.log),
                Entry::Vacant(place) => drop(place.insert(Cow::Borrowed(&flow.log))),
            }
        }
        Self { by_peer, by_address }
    }
}

/// The account of one device while its packets are read.
pub(super) struct Account {
    pub(super) cell: usize,
    /// Whether the response time of a message ends with its answer.
    answered: bool,
    /// Whether nothing is known of the server's end of the path: when packets arrive there, and when they leave.
    sees_one_end: bool,
    /// Whether the client has to do something before it may send.
    has_connect: bool,
    /// Whether a repeated payload has different bytes.
    pub(super) is_sealed: bool,
    /// Of each message.
    pub(super) payload_bytes: u64,
    pub(super) measurement: DeviceMeasurement,
    ledger: DeviceLedger,
    pub(super) arrivals: Arrivals,
    packets: Vec<SeenPacket>,
    /// The ids of the device's datagrams by flow, in the order of sending.
    pub(super) datagram_ids: Vec<(Ports, Vec<DatagramId>)>,
}

impl Account {
    pub(super) fn new(device: AnalysedDevice<'_>, servers: &ServerFlows<'_>) -> Self {
        let AnalysedDevice {
            index,
            cell,
            sample,
            report,
        } = device;
        let server_port = cell.port;
        let mut ledger = DeviceLedger::with_describer(cell.stack.describer());
        let mut datagram_ids = Vec::new();
        let mut measurement = DeviceMeasurement::before(index, sample, report);
        let report = &measurement.report;
        let has_failed = report.script.notes().failure.is_some();
        let is_life = report.script.timing().is_life();
        let reconnected = !report.script.notes().reconnects.is_empty();
        for (index, (local, log)) in report.logs.iter().enumerate() {
            // The connection of a device that reconnected has ended at an unexpected time, as that of a failed one.
            let has_ended = has_failed || (reconnected && index + 1 < report.logs.len());
            let ports = Ports {
                client: local.port(),
                server: server_port,
            };
            let stream = log.transport == Transport::Stream;
            let server = servers.by_peer.get(&(*local, server_port, stream));
            measurement.server_cpu = servers.by_address.get(&local.ip()).copied().unwrap_or_default();
            // Who makes bytes knows what they are. What the client read in them is compared above.
            let down = server.map_or(&log.down, |server| &server.down);
            if let Some(server) = server {
                measurement.disagreements += disagreements_of(log, server, cell, has_ended, is_life);
            }
            datagram_ids.push((ports, ledger.log_spans(ports, Direction::Up, &log.up)));
            ledger.log_spans(ports, Direction::Down, down);
        }
        Self {
            cell: index,
            answered: cell.stack.is_answered(),
            sees_one_end: cell.sees_one_end,
            has_connect: cell.stack.has_connect(cell.start),
            is_sealed: cell.stack.is_sealed(),
            payload_bytes: cell.payload.len() as u64,
            measurement,
            ledger,
            arrivals: Arrivals::new(),
            packets: Vec::new(),
            datagram_ids,
        }
    }

    pub(super) fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        spans: &mut Buffer,
    ) -> PacketVerdict {
        let verdict = self.ledger.packet(packet.direction, &packet.bytes, spans);
        if let Some(at) = delivered {
            self.arrivals.delivered(packet.direction, &verdict, at);
        }
        self.measurement.unattributed_bytes += u64::from(verdict.unattributed_bytes);
        let direction = packet.direction;
        if let Some(traffic) = self.traffic_of(verdict.phase, packet.entered) {
            traffic[direction].add_packet(verdict.cause);
        }
        // A packet and its headers belong to the phase of its first span. Its bytes have their own phases: early data
        // follows a ClientHello.
        for span in spans.spans() {
            match self.traffic_of(span.phase, packet.entered) {
                Some(traffic) => traffic[direction].add_span(span),
                // Bytes of a message that the device never sent belong to nothing.
                None => self.measurement.unattributed_bytes += u64::from(span.len),
            }
        }
        self.packets.push(SeenPacket {
            direction,
            entered: packet.entered,
            delivered,
        });
        verdict
    }

    /// The traffic that a packet counts in: that of its phase, or of the message during whose window it entered.
    fn traffic_of(&mut self, phase: Phase, entered: Instant) -> Option<&mut BothWays<Traffic>> {
        let measurement = &mut self.measurement;
        if measurement.report.script.is_before_connect(entered) {
            return Some(&mut measurement.ticket);
        }
        match phase {
            // A packet of a reconnect is found by time: its bytes say only that they are of a connect.
            Phase::Connect => {
                let reconnects = &measurement.report.script.notes().reconnects;
                match reconnects.iter().rposition(|again| again.started <= entered) {
                    Some(again) => measurement.reconnects.get_mut(again),
                    None => Some(&mut measurement.connect),
                }
            }
            Phase::KeepAlive => Some(&mut measurement.keep_alive),
            Phase::Close => Some(&mut measurement.close),
            Phase::Message => {
                let message = message_at(&measurement.report.script.notes().messages, entered);
                measurement.messages.get_mut(message)
            }
        }
    }

    /// The figures of the cell that a packet and its bytes count in.
    pub(super) fn shares(&self, verdict: &PacketVerdict, entered: Instant, spans: &[Span]) -> Shares {
        let mut shares = Shares::uniform(self.counted(verdict.phase, entered));
        for span in spans.iter().filter(|span| span.phase != verdict.phase) {
            shares.add(self.counted(span.phase, entered), span.len.into());
        }
        shares
    }

    /// The figures of the cell that bytes of this phase count in.
    fn counted(&self, phase: Phase, entered: Instant) -> Counted {
        let report = &self.measurement.report;
        if report.script.is_before_connect(entered) {
            return Counted::Ticket(phase);
        }
        // Its figures are left out of the cell, so its packets count in nothing.
        if !report.finished || report.script.has_started_otherwise() {
            return Counted::Nothing;
        }
        match phase {
            Phase::Connect => Counted::Connect,
            Phase::KeepAlive => Counted::KeepAlive,
            Phase::Close => Counted::Close,
            Phase::Message => {
                let marks = &report.script.notes().messages;
                let message = message_at(marks, entered);
                match marks.get(message) {
                    None => Counted::Nothing,
                    Some(_) if message < report.script.timing().first_measured() => Counted::WarmUp,
                    Some(_) => Counted::Message,
                }
            }
        }
    }

    /// Counts the device as unfinished if it ended after the last packet of a recording that was cut short.
    pub(super) fn distrust_after(&mut self, last_entered: Instant) {
        let report = &mut self.measurement.report;
        report.finished &= report
            .script
            .notes()
            .done
            .is_some_and(|done| done <= last_entered);
    }

    pub(super) fn finish(mut self) -> DeviceMeasurement {
        let notes = self.measurement.report.script.notes().clone();
        let marks = &notes.messages;
        let arrivals: Vec<Option<Instant>> = (0..marks.len())
            .map(|index| self.arrival_of(marks, index))
            .collect();
        let connect = notes.connect_started.map(|(_, started)| started).zip(notes.ready);
        if let Some((started, ready)) = connect {
            let trips = self.round_trips(started, ready, Direction::Down);
            // A client that may send at once has waited for nothing.
            let at_once = self.measurement.report.script.timing().sends_at_once();
            let none = at_once && !self.sees_one_end;
            self.measurement.connect_round_trips = trips.or(none.then_some(0.0));
        }
        let trips = |(mark, arrival): (&Mark, &Option<Instant>)| match (mark.end, arrival) {
            (Some((end, _)), _) if self.answered => self.round_trips(mark.actual, end, Direction::Down),
            (_, Some(arrival)) => self.round_trips(mark.actual, *arrival, Direction::Up),
            _ => None,
        };
        let ended = |index: usize| marks[index].end.map(|(end, _)| end).max(arrivals[index]);
        // The flights of overlapping messages cannot be told apart.
        let alone = |index: usize| {
            let (before, after) = (index.checked_sub(1), marks.get(index + 1));
            before.is_none_or(|before| ended(before).is_some_and(|end| end <= marks[index].actual))
                && after.is_none_or(|after| ended(index).is_some_and(|end| end <= after.actual))
        };
        let message_trips = marks.iter().zip(&arrivals).map(trips).enumerate();
        self.measurement.message_round_trips = message_trips
            .map(|(index, trips)| trips.filter(|_| alone(index)))
            .collect();
        self.measurement.first_message_round_trips = self.first_message_round_trips(&notes, &arrivals);
        self.measurement.first_message_time = self.first_message_time(&notes, &arrivals);
        self.measurement.arrivals = arrivals;
        self.measurement
    }

    /// The end of the first message: its acknowledgement, or its arrival if nothing answers, with the direction of the
    /// packet that brought it.
    fn first_message_end(&self, notes: &Notes, arrivals: &[Option<Instant>]) -> Option<(Instant, Direction)> {
        match notes.messages.first()?.end {
            Some((end, End::Acknowledged)) if self.answered => Some((end, Direction::Down)),
            _ if self.answered => None,
            _ => Some(((*arrivals.first()?)?, Direction::Up)),
        }
    }

    /// The time from the start of the connect to the end of the first message, without the settle between them.
    fn first_message_time(&self, notes: &Notes, arrivals: &[Option<Instant>]) -> Option<Duration> {
        let (end, _) = self.first_message_end(notes, arrivals)?;
        let (_, started) = notes.connect_started?;
        if self.measurement.report.script.timing().sends_at_once() {
            return Some(end.saturating_since(started));
        }
        let connect = match self.has_connect {
            true => notes.ready?.saturating_since(started),
            false => Duration::ZERO,
        };
        let message = end.saturating_since(notes.messages.first()?.actual);
        Some(connect + message)
    }

    /// Round trips from the start of the connect to the end of the first message. A message that leaves with the first
    /// flight shares its round trip with the connect. Any other message waits for the end of the settle, which does not
    /// count.
    fn first_message_round_trips(&self, notes: &Notes, arrivals: &[Option<Instant>]) -> Option<f64> {
        let first = notes.messages.first()?;
        let (end, direction) = self.first_message_end(notes, arrivals)?;
        let (_, started) = notes.connect_started?;
        if self.measurement.report.script.timing().sends_at_once() {
            return self.round_trips(started, end, direction);
        }
        let connect = match self.has_connect {
            true => self.measurement.connect_round_trips?,
            false => 0.0,
        };
        Some(connect + self.round_trips(first.actual, end, direction)?)
    }

    /// Half the flights from `start` to the last packet that `direction` had delivered by `end`.
    /// `None` if it cannot be seen what a packet waited for.
    fn round_trips(&self, start: Instant, end: Instant, direction: Direction) -> Option<f64> {
        if self.sees_one_end {
            return None;
        }
        let within = |packet: &&SeenPacket| packet.entered >= start && packet.entered <= end;
        let packets: Vec<&SeenPacket> = self.packets.iter().filter(within).collect();
        let last = packets.iter().rposition(|packet| {
            packet.direction == direction && packet.delivered.is_some_and(|delivered| delivered <= end)
        })?;
        let times: Vec<PacketTime> = packets[..=last].iter().map(|packet| packet.time()).collect();
        Some(round_trips(flights(&times)))
    }
}

/// The index of the message during whose window a packet entered the link.
fn message_at(marks: &[Mark], entered: Instant) -> usize {
    marks.iter().rposition(|mark| mark.actual <= entered).unwrap_or(0)
}

impl SeenPacket {
    fn time(&self) -> PacketTime {
        PacketTime {
            direction: self.direction,
            sent_at: self.entered,
            delivered_at: self.delivered,
        }
    }
}
