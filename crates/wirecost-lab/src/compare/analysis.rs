//! From packets and notes to what each device measured.
//!
//! 1. Every device gets a ledger that is told what the makers of the bytes said of them.
//! 2. The recorded packets go through their device's ledger in the order in which they entered the link; each is
//!    counted in its phase, and in its message by the time at which it entered.
//! 3. What was delivered when gives arrivals; what followed what gives flights.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

use wirecost_cost::{
    Arrivals, DatagramId, DeviceLedger, PacketTime, PacketVerdict, Ports, flights, round_trips,
};
use wirecost_live::driver::client::DeviceReport;
use wirecost_live::driver::log::{DirectionLog, FlowLog};
use wirecost_live::driver::server::FlowReport;
use wirecost_live::recorder::{Record, RecordedPacket, Recording};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Buffer, Cause, Direction, Instant, Layer, Phase, Span};

use super::plan::{Plan, PlannedCell};
use super::sampler::{End, Mark, Notes, Sampler};

/// Packets and bytes of one device in one phase, or of one message; indexed by `Direction as usize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets.
    pub packets: [u64; 2],
    /// Bytes by layer, outermost first.
    pub layers: [[u64; 5]; 2],
    /// Bytes by cause.
    pub causes: [[u64; 4]; 2],
}

impl Traffic {
    fn add(&mut self, direction: Direction, span: &Span) {
        let way = direction as usize;
        self.layers[way][span.layer as usize] += u64::from(span.len);
        self.causes[way][span.cause as usize] += u64::from(span.len);
    }

    /// IP packet bytes of one direction.
    pub fn wire(&self, direction: Direction) -> u64 {
        self.layers[direction as usize].iter().sum()
    }

    /// Bytes of one layer in one direction.
    pub const fn layer(&self, direction: Direction, layer: Layer) -> u64 {
        self.layers[direction as usize][layer as usize]
    }
}

/// One packet of a device, as the ledger saw it.
#[derive(Clone, Debug)]
pub struct SeenPacket {
    /// Which way.
    pub direction: Direction,
    /// When it entered the link.
    pub entered: Instant,
    /// When it, or its first intact copy, left.
    pub delivered: Option<Instant>,
    /// What the ledger found.
    pub verdict: PacketVerdict,
}

/// What one device measured.
#[derive(Debug)]
pub struct DeviceMeasurement {
    /// Index of its cell.
    pub cell: usize,
    /// Index of its sample.
    pub sample: u32,
    /// What it noted.
    pub report: DeviceReport<Sampler>,
    /// Everything in the phase connect.
    pub connect: Traffic,
    /// The warm-up message and then the measured ones.
    pub messages: Vec<Traffic>,
    /// Keep-alive.
    pub keep_alive: Traffic,
    /// Close.
    pub close: Traffic,
    /// When the link delivered the last payload byte of each message.
    pub arrivals: Vec<Option<Instant>>,
    /// Everything of the connection that gave the ticket for the measured one.
    pub ticket: Traffic,
    /// Round trips of the connect, where the capture shows its end.
    pub connect_round_trips: Option<f64>,
    /// Round trips from the start of the connect until the first message was answered, or had arrived where nothing
    /// answers; what lies between the two is not counted.
    pub first_message_round_trips: Option<f64>,
    /// Round trips of each message.
    pub message_round_trips: Vec<Option<f64>>,
    /// Bytes that nobody described.
    pub unattributed_bytes: u64,
    /// CPU time of the built-in server for this device's flows.
    pub server_cpu: std::time::Duration,
    /// What client and server said differently of the same bytes.
    pub disagreements: u64,
}

/// Takes every packet with what the ledger made of it.
pub trait PacketSink {
    /// One packet, in the order of entry. `device` is none for packets of no device of the plan.
    ///
    /// # Errors
    /// The sink's file refuses.
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<(usize, &PacketVerdict, &[Span])>,
    ) -> io::Result<()>;
}

/// The devices' measurements, and what became of the packets as a whole.
#[derive(Debug)]
pub struct Analysis {
    /// One per device that had started, in the order of the plan.
    pub devices: Vec<DeviceMeasurement>,
    /// Packets of no device.
    pub unattributed_packets: u64,
    /// How late the forwarder delivered, in nanoseconds, sorted.
    pub lateness_ns: Vec<u64>,
}

/// Analyses a run.
///
/// # Errors
/// The recording cannot be read back, or the sink refuses.
pub fn analyse(
    plan: &Plan,
    devices: Vec<DeviceReport<Sampler>>,
    flows: &[(u16, FlowReport)],
    recording: &mut Recording,
    sink: &mut dyn PacketSink,
) -> io::Result<Analysis> {
    let (delivered, mut lateness_ns) = deliveries(recording)?;
    lateness_ns.sort_unstable();
    let server_flows = ServerFlows::new(flows);
    let mut accounts: Vec<Account> = devices
        .into_iter()
        .map(|report| Account::new(plan, report, &server_flows))
        .collect();
    let mut unattributed_packets = 0;
    let mut spans = Buffer::new();
    let mut index = 0;
    let mut last_entered = Instant::from_nanos(0);
    for record in recording.records()? {
        let Record::Packet(packet) = record? else { continue };
        last_entered = packet.entered;
        let delivered = delivered.get(index).copied().flatten();
        index += 1;
        let account = packet.host.and_then(|host| accounts.get_mut(host as usize));
        let Some(account) = account else {
            unattributed_packets += u64::from(packet.host.is_none());
            sink.packet(&packet, delivered, None)?;
            continue;
        };
        spans.clear();
        let verdict = account.packet(&packet, delivered, &mut spans);
        sink.packet(&packet, delivered, Some((account.cell, &verdict, spans.spans())))?;
    }
    if recording.error.is_some() {
        accounts
            .iter_mut()
            .for_each(|account| account.distrust_after(last_entered));
    }
    let devices = accounts.into_iter().map(Account::finish).collect();
    Ok(Analysis {
        devices,
        unattributed_packets,
        lateness_ns,
    })
}

/// The first intact delivery of every packet by its index, and how late each delivery was.
pub(crate) fn deliveries(recording: &mut Recording) -> io::Result<(Vec<Option<Instant>>, Vec<u64>)> {
    let mut first: Vec<Option<Instant>> = Vec::new();
    let mut lateness = Vec::new();
    for record in recording.records()? {
        match record? {
            Record::Packet(_) => first.push(None),
            Record::Delivery(delivery) => {
                lateness.push(
                    delivery
                        .actual
                        .as_nanos()
                        .saturating_sub(delivery.planned.as_nanos()),
                );
                // A copy with a flipped bit is no arrival: its receiver drops it by the checksum.
                let slot = first.get_mut(delivery.packet as usize);
                if let Some(slot) = slot.filter(|_| delivery.intact) {
                    slot.get_or_insert(delivery.actual);
                }
            }
        }
    }
    Ok((first, lateness))
}

/// The built-in servers' flows by device address.
struct ServerFlows<'a> {
    by_peer: BTreeMap<(SocketAddr, u16, bool), &'a FlowReport>,
    by_address: BTreeMap<IpAddr, std::time::Duration>,
}

impl<'a> ServerFlows<'a> {
    fn new(flows: &'a [(u16, FlowReport)]) -> Self {
        let mut by_address = BTreeMap::new();
        for (_, flow) in flows {
            *by_address.entry(flow.peer.ip()).or_default() += flow.cpu;
        }
        let key = |(port, flow): &'a (u16, FlowReport)| {
            ((flow.peer, *port, flow.log.transport == Transport::Stream), flow)
        };
        Self {
            by_peer: flows.iter().map(key).collect(),
            by_address,
        }
    }
}

/// One device's books while its packets are read.
struct Account {
    cell: usize,
    /// Whether the response time of a message ends with its answer.
    answered: bool,
    /// Whether there is something to be done before the client may send.
    has_connect: bool,
    /// Whether a payload that is sent again has other bytes.
    is_sealed: bool,
    /// Of each message.
    payload_bytes: u64,
    measurement: DeviceMeasurement,
    ledger: DeviceLedger,
    arrivals: Arrivals,
    packets: Vec<SeenPacket>,
    /// The datagrams of the device in the order in which it sent them: their ids, by flow.
    datagram_ids: Vec<(Ports, Vec<DatagramId>)>,
}

impl Account {
    fn new(plan: &Plan, report: DeviceReport<Sampler>, servers: &ServerFlows<'_>) -> Self {
        let planned = plan.devices[report.host as usize];
        let cell = &plan.cells[planned.cell];
        let server_port = cell.stack.port();
        let mut ledger = DeviceLedger::with_describer(cell.stack.describer());
        let mut datagram_ids = Vec::new();
        let mut disagreements = 0;
        let mut server_cpu = std::time::Duration::ZERO;
        for (local, log) in &report.logs {
            let ports = Ports {
                client: local.port(),
                server: server_port,
            };
            let stream = log.transport == Transport::Stream;
            let server = servers.by_peer.get(&(*local, server_port, stream));
            server_cpu = servers.by_address.get(&local.ip()).copied().unwrap_or_default();
            let down = server.map_or(&log.down, |flow| &flow.log.down);
            if let Some(flow) = server {
                disagreements += disagreements_of(log, &flow.log, cell);
            }
            datagram_ids.push((ports, describe(&mut ledger, ports, Direction::Up, &log.up)));
            describe(&mut ledger, ports, Direction::Down, down);
        }
        let messages = report.script.notes().messages.len();
        let measurement = DeviceMeasurement {
            cell: planned.cell,
            sample: planned.sample,
            report,
            connect: Traffic::default(),
            messages: vec![Traffic::default(); messages],
            keep_alive: Traffic::default(),
            close: Traffic::default(),
            arrivals: Vec::new(),
            ticket: Traffic::default(),
            connect_round_trips: None,
            first_message_round_trips: None,
            message_round_trips: Vec::new(),
            unattributed_bytes: 0,
            server_cpu,
            disagreements,
        };
        Self {
            cell: planned.cell,
            answered: cell.stack.is_answered(),
            has_connect: cell.stack.has_connect(),
            is_sealed: cell.stack.is_sealed(),
            payload_bytes: cell.payload.len() as u64,
            measurement,
            ledger,
            arrivals: Arrivals::new(),
            packets: Vec::new(),
            datagram_ids,
        }
    }

    fn packet(
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
            traffic.packets[direction as usize] += 1;
        }
        // A packet is of its first span's phase, and so are its headers; its bytes are of their own: early data leaves
        // behind a ClientHello.
        for span in spans.spans() {
            match self.traffic_of(span.phase, packet.entered) {
                Some(traffic) => traffic.add(direction, span),
                // Bytes of a message that the device never sent belong to nothing.
                None => self.measurement.unattributed_bytes += u64::from(span.len),
            }
        }
        self.packets.push(SeenPacket {
            direction,
            entered: packet.entered,
            delivered,
            verdict,
        });
        verdict
    }

    /// Where a packet counts: in its phase, or in the message during whose window it entered.
    fn traffic_of(&mut self, phase: Phase, entered: Instant) -> Option<&mut Traffic> {
        let measurement = &mut self.measurement;
        if measurement.report.script.is_before_connect(entered) {
            return Some(&mut measurement.ticket);
        }
        match phase {
            Phase::Connect => Some(&mut measurement.connect),
            Phase::KeepAlive => Some(&mut measurement.keep_alive),
            Phase::Close => Some(&mut measurement.close),
            Phase::Message => {
                let marks = &measurement.report.script.notes().messages;
                let message = marks.iter().rposition(|mark| mark.actual <= entered).unwrap_or(0);
                measurement.messages.get_mut(message)
            }
        }
    }

    /// Counts the device as unfinished if it ended after the last packet of a recording that was cut short.
    fn distrust_after(&mut self, last_entered: Instant) {
        let report = &mut self.measurement.report;
        report.finished &= report
            .script
            .notes()
            .done
            .is_some_and(|done| done <= last_entered);
    }

    fn finish(mut self) -> DeviceMeasurement {
        let notes = self.measurement.report.script.notes().clone();
        let marks = &notes.messages;
        let arrivals: Vec<Option<Instant>> = (0..marks.len())
            .map(|index| self.arrival_of(marks, index))
            .collect();
        let connect = notes.connect_started.map(|(_, started)| started).zip(notes.ready);
        if let Some((started, ready)) = connect {
            let trips = self.round_trips(started, ready, Direction::Down);
            // Who may send at once has waited for nothing.
            let at_once = self.measurement.report.script.timing().sends_at_once();
            self.measurement.connect_round_trips = trips.or(at_once.then_some(0.0));
        }
        let trips = |(mark, arrival): (&Mark, &Option<Instant>)| match (mark.end, arrival) {
            (Some((end, _)), _) if self.answered => self.round_trips(mark.actual, end, Direction::Down),
            (_, Some(arrival)) => self.round_trips(mark.actual, *arrival, Direction::Up),
            _ => None,
        };
        let ended = |index: usize| marks[index].end.map(|(end, _)| end).max(arrivals[index]);
        // The flights of messages that overlap cannot be told apart.
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
        self.measurement.arrivals = arrivals;
        self.measurement
    }

    /// Round trips from the start of the connect to the end of the first message. A message that leaves with the first
    /// flight shares its round trip with the connect; any other one waits for the end of the settle, which is no part.
    fn first_message_round_trips(&self, notes: &Notes, arrivals: &[Option<Instant>]) -> Option<f64> {
        let first = notes.messages.first()?;
        let (end, direction) = match first.end {
            Some((end, End::Acknowledged)) if self.answered => (end, Direction::Down),
            _ if self.answered => return None,
            _ => ((*arrivals.first()?)?, Direction::Up),
        };
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

    /// Flights / 2 from `start` to the last packet that `direction` had delivered by `end`.
    fn round_trips(&self, start: Instant, end: Instant, direction: Direction) -> Option<f64> {
        let within = |packet: &&SeenPacket| packet.entered >= start && packet.entered <= end;
        let packets: Vec<&SeenPacket> = self.packets.iter().filter(within).collect();
        let last = packets.iter().rposition(|packet| {
            packet.direction == direction && packet.delivered.is_some_and(|delivered| delivered <= end)
        })?;
        let times: Vec<PacketTime> = packets[..=last].iter().map(|packet| packet.time()).collect();
        Some(round_trips(flights(&times)))
    }

    /// When the link had delivered the last payload byte that message `index` put into its flow; `None` where its
    /// payload was not sent in full.
    fn arrival_of(&self, marks: &[Mark], index: usize) -> Option<Instant> {
        let (_, log) = self.measurement.report.logs.last()?;
        let (ports, ids) = self.datagram_ids.last()?;
        let start = marks[index].transmitted_before;
        let end = marks
            .get(index + 1)
            .map_or(u64::MAX, |next| next.transmitted_before);
        match log.transport {
            Transport::Stream => {
                let end = message_end(&log.up.stream, start, end, self.payload_bytes)?;
                self.arrivals.of_stream(*ports, Direction::Up, start..end)
            }
            Transport::Datagram if self.is_sealed => self.sealed_arrival(*ports, ids, &log.up, start..end),
            Transport::Datagram => self.datagrams_arrival(*ports, ids, &log.up, start, end),
        }
    }

    /// When the last datagram of the message among those from `start` to `end` (in bytes handed out) had arrived;
    /// a payload that was sent more than once counts with its first arrival. It is the payload that tells: a
    /// non-confirmable message that is sent again has a message id of its own (RFC 7252, section 4.3).
    fn datagrams_arrival(
        &self,
        ports: Ports,
        ids: &[DatagramId],
        log: &DirectionLog,
        start: u64,
        end: u64,
    ) -> Option<Instant> {
        let (mut offset, mut sent) = (0, 0);
        let mut first_arrival: BTreeMap<&[u8], Option<Instant>> = BTreeMap::new();
        for (datagram, id) in log.datagrams.iter().zip(ids) {
            let within = (start..end).contains(&offset);
            offset += datagram.bytes.len() as u64 + 1;
            let payload: u64 = datagram.spans.iter().map(payload_of).sum();
            if !within || (payload == 0 && self.payload_bytes > 0) {
                continue;
            }
            let arrival = self.arrivals.of_datagram(ports, Direction::Up, *id);
            // The payload ends the datagram, whatever the protocol.
            let header = datagram.bytes.len().saturating_sub(payload as usize);
            let first = first_arrival.entry(&datagram.bytes[header..]).or_insert_with(|| {
                sent += payload;
                None
            });
            *first = [*first, arrival].into_iter().flatten().min();
        }
        let arrivals: Option<Vec<Instant>> = first_arrival.into_values().collect();
        arrivals.filter(|_| sent == self.payload_bytes)?.into_iter().max()
    }
}

impl Account {
    /// As [`Account::datagrams_arrival`], where a payload that is sent again has other bytes: its maker says so, and it is
    /// that of the last datagram with a new payload before it.
    fn sealed_arrival(
        &self,
        ports: Ports,
        ids: &[DatagramId],
        log: &DirectionLog,
        range: std::ops::Range<u64>,
    ) -> Option<Instant> {
        let (mut offset, mut sent) = (0, 0);
        let mut arrivals: Vec<Option<Instant>> = Vec::new();
        for (datagram, id) in log.datagrams.iter().zip(ids) {
            let within = range.contains(&offset);
            offset += datagram.bytes.len() as u64 + 1;
            let payload: u64 = datagram.spans.iter().map(payload_of).sum();
            let is_message = datagram.spans.iter().any(|span| span.phase == Phase::Message);
            if !within || !is_message || (payload == 0 && self.payload_bytes > 0) {
                continue;
            }
            let arrival = self.arrivals.of_datagram(ports, Direction::Up, *id);
            let is_new = |span: &Span| payload_of(span) > 0 && span.cause != Cause::Retransmission;
            match arrivals.last_mut() {
                Some(last) if payload > 0 && !datagram.spans.iter().any(is_new) => {
                    *last = [*last, arrival].into_iter().flatten().min();
                }
                // Of a message without payload the first datagram counts.
                Some(_) if payload == 0 => {}
                _ => {
                    arrivals.push(arrival);
                    sent += payload;
                }
            }
        }
        let arrivals: Option<Vec<Instant>> = arrivals.into_iter().collect();
        arrivals.filter(|_| sent == self.payload_bytes)?.into_iter().max()
    }
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

/// Tells a ledger what one direction's bytes are; returns the datagrams' ids in their order.
fn describe(
    ledger: &mut DeviceLedger,
    ports: Ports,
    direction: Direction,
    log: &DirectionLog,
) -> Vec<DatagramId> {
    ledger.stream_spans(ports, direction, &log.stream);
    let datagrams = log.datagrams.iter();
    datagrams
        .map(|datagram| ledger.datagram_spans(ports, direction, &datagram.bytes, &datagram.spans))
        .collect()
}

/// The offset after the last payload byte between `start` and `end`, where `payload_bytes` of them lie there; of a
/// message without payload, the offset after its last byte.
fn message_end(spans: &[Span], start: u64, end: u64, payload_bytes: u64) -> Option<u64> {
    let (mut offset, mut payload) = (0, 0);
    let mut found = None;
    for span in spans {
        let (from, to) = (start.max(offset), end.min(offset + u64::from(span.len)));
        offset += u64::from(span.len);
        let is_message = span.phase == Phase::Message && (payload_bytes == 0 || payload_of(span) > 0);
        if is_message && from < to {
            payload += if payload_of(span) > 0 { to - from } else { 0 };
            found = Some(to);
        }
    }
    found.filter(|_| payload == payload_bytes)
}

fn payload_of(span: &Span) -> u64 {
    match span.layer {
        Layer::Payload => u64::from(span.len),
        _ => 0,
    }
}

/// How often client and server said something else of the same bytes. To a server a protected object is payload: it is no
/// participant.
fn disagreements_of(client: &FlowLog, server: &FlowLog, cell: &PlannedCell) -> u64 {
    let same = if cell.stack.is_sealed() && !cell.in_order {
        is_hidden
    } else {
        is_same
    };
    let up = match cell.stack.object {
        true => disagreement(&as_payload(&server.up), &as_payload(&client.up), same),
        false => disagreement(&server.up, &client.up, same),
    };
    let down = disagreement(&client.down, &server.down, same);
    u64::from(up) + u64::from(down)
}

fn is_same(consumed: &[Run], made: &[Run]) -> bool {
    consumed == made
}

/// Whether what was consumed says the same, or less: a protected datagram that overtakes the end of the handshake cannot be
/// opened yet, and its receiver calls transport or application what it cannot see.
fn is_hidden(consumed: &[Run], made: &[Run]) -> bool {
    let mut made = made.iter();
    let mut covers = |run: &Run| {
        let (mut bytes, mut same) = (0, true);
        while bytes < run.2 {
            let Some(part) = made.next() else { return false };
            bytes += part.2;
            same &= part == run;
        }
        bytes == run.2 && (same || matches!(run.0, Layer::Transport | Layer::Application))
    };
    consumed.iter().all(&mut covers) && made.next().is_none()
}

/// The log with security taken for payload.
fn as_payload(log: &DirectionLog) -> DirectionLog {
    let mut log = log.clone();
    let datagrams = log
        .datagrams
        .iter_mut()
        .flat_map(|datagram| datagram.spans.iter_mut());
    for span in log.stream.iter_mut().chain(datagrams) {
        if span.layer == Layer::Security {
            span.layer = Layer::Payload;
        }
    }
    log
}

/// Whether what was consumed differs from what was made. A receiver cannot know a retransmission whose original
/// was lost, and may not have consumed everything.
fn disagreement(consumed: &DirectionLog, made: &DirectionLog, same: fn(&[Run], &[Run]) -> bool) -> bool {
    let (consumed_runs, made_runs) = (runs(&consumed.stream), runs(&made.stream));
    let complete = consumed_runs.len().saturating_sub(1);
    let agrees = |(index, (consumed, made)): (usize, (&Run, &Run))| {
        let (layer, phase, bytes) = *consumed;
        let fits = if index < complete {
            bytes == made.2
        } else {
            bytes <= made.2
        };
        (layer, phase) == (made.0, made.1) && fits
    };
    let mut pairs = consumed_runs.iter().zip(&made_runs).enumerate();
    let streams_agree = consumed_runs.len() <= made_runs.len() && pairs.all(agrees);
    let unlike = |datagram: &wirecost_live::driver::log::DatagramLog| {
        let twin = made.datagrams.iter().find(|other| other.bytes == datagram.bytes);
        twin.is_some_and(|twin| !same(&runs(&datagram.spans), &runs(&twin.spans)))
    };
    !streams_agree || consumed.datagrams.iter().any(unlike)
}

/// Bytes on end of one layer and phase.
type Run = (Layer, Phase, u64);

/// Spans without their causes, neighbours of one kind merged.
fn runs(spans: &[Span]) -> Vec<Run> {
    let mut merged: Vec<Run> = Vec::new();
    for span in spans {
        let len = u64::from(span.len);
        match merged.last_mut() {
            Some(last) if (last.0, last.1) == (span.layer, span.phase) => last.2 += len,
            _ => merged.push((span.layer, span.phase, len)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_live::recorder::{RecordedDelivery, Recorder};
    use wirecost_proto::Fate;

    #[test]
    fn a_receiver_without_the_keys_may_say_less_but_nothing_else() {
        let run = |layer, bytes| (layer, Phase::Message, bytes);
        let made = [
            run(Layer::Security, 5),
            run(Layer::Application, 17),
            run(Layer::Payload, 100),
        ];
        let opaque = [run(Layer::Security, 5), run(Layer::Application, 117)];
        assert!(is_hidden(&opaque, &made) && is_hidden(&made, &made) && !is_same(&opaque, &made));
        let wrong = [run(Layer::Security, 5), run(Layer::Payload, 117)];
        assert!(!is_hidden(&wrong, &made));
        assert!(!is_hidden(&opaque[..1], &made), "every byte is described");
        assert!(!is_hidden(
            &[run(Layer::Security, 6), run(Layer::Application, 116)],
            &made
        ));
    }

    #[test]
    fn a_copy_with_a_flipped_bit_is_no_arrival() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::create(folder.path()).expect("a recorder");
        let at = Instant::from_millis;
        for intact in [[false, true], [false, false]] {
            let packet = recorder.packet(Some(0), Direction::Up, at(0), Fate::Duplicated, b"packet");
            for (millis, intact) in (5..).zip(intact) {
                let (planned, actual) = (at(millis), at(millis));
                recorder.delivery(RecordedDelivery {
                    packet,
                    planned,
                    actual,
                    intact,
                });
            }
        }
        let (first, lateness) = deliveries(&mut recorder.finish()).expect("readable");
        assert_eq!(first, [Some(at(6)), None]);
        assert_eq!(lateness, [0; 4]);
    }
}
