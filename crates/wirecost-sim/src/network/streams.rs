//! TCP: connections over the links, and the segments between them.

use std::time::Duration;

use wirecost_proto::path::Links;
use wirecost_proto::{Buffer, Direction, Instant, ResetReason};
use wirecost_tcp::receive::Reader;
use wirecost_tcp::{Config, Connection, Segment, Transmit};
use wirecost_wire::tcp::Flags;

use super::described::Described;
use super::flight::{Content, Flight};
use super::flow::{Body, Flow};
use super::socket::{Readable, Socket};
use super::{Entering, Network};
use crate::queue::What;
use crate::settings::Wake;
use crate::tap::ip_header_bytes;
use crate::tap::{Tap, Transport};

/// The two ends of a connection, by the direction that they send in.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    described: [Described; 2],
    sockets: [Option<Box<Socket>>; 2],
}

impl Streams {
    /// Whether neither end is left.
    pub(crate) fn is_over(&self) -> bool {
        self.sockets.iter().all(Option::is_none)
    }
}

impl Flow {
    /// The end that sends in `direction`.
    pub(crate) fn socket_mut(&mut self, direction: Direction) -> Option<&mut Socket> {
        let Body::Stream(streams) = &mut self.body else {
            return None;
        };
        streams.sockets[direction as usize].as_deref_mut()
    }

    pub(crate) fn described_mut(&mut self, direction: Direction) -> Option<&mut Described> {
        match &mut self.body {
            Body::Stream(streams) => Some(&mut streams.described[direction as usize]),
            Body::Datagram { .. } => None,
        }
    }

    /// Whether one of the ends has something to send that has not arrived, as far as it knows.
    fn is_unsettled(&self) -> bool {
        let Body::Stream(streams) = &self.body else {
            return false;
        };
        let mut sockets = streams.sockets.iter().flatten();
        sockets.any(|socket| socket.is_unsettled())
    }

    fn place(&mut self, direction: Direction, socket: Socket, initial: u32) {
        if let Body::Stream(streams) = &mut self.body {
            streams.described[direction as usize].sequence.initial = initial;
            streams.sockets[direction as usize] = Some(Box::new(socket));
        }
    }

    fn remove_if_over(&mut self, direction: Direction) {
        let Body::Stream(streams) = &mut self.body else {
            return;
        };
        let place = &mut streams.sockets[direction as usize];
        if place.as_ref().is_some_and(|socket| socket.is_over()) {
            *place = None;
        }
    }
}

/// Which of a host's random numbers are initial sequence numbers (RFC 9293 section 3.4.1).
const INITIAL_SEQUENCES: u64 = 0x7369_6d31;
/// Which of a host's random numbers say where the ticks of the machine stand when a connection opens.
const CLOCK_PHASES: u64 = 0x7369_6d32;
/// The period of the coarsest ticks by which timers of interest are rounded, in nanoseconds.
const CLOCK_PERIOD: u64 = 1_024_000_000_000;

impl<L: Links, T: Tap> Network<L, T> {
    /// The end of a flow that sends in `direction`.
    pub(crate) fn socket(&mut self, flow: u32, direction: Direction) -> Option<&mut Socket> {
        self.flows.get_mut(flow)?.socket_mut(direction)
    }

    fn initial_sequence(&self, flow: &Flow, direction: Direction) -> u32 {
        let stream = self.settings.rng.host(u64::from(flow.host)).direction(direction);
        stream
            .purpose(INITIAL_SEQUENCES)
            .at(u64::from(flow.client.port())) as u32
    }

    /// The configuration of an end of a connection. Both ends are on one machine, as on the emulated link, and the phase
    /// of its ticks is not known when they open.
    fn config(&self, config: &Config, flow: &Flow) -> Config {
        let phases = self.settings.rng.host(u64::from(flow.host)).purpose(CLOCK_PHASES);
        let phase = phases.at(u64::from(flow.client.port())) % CLOCK_PERIOD;
        let mut config = config.clone();
        config.clock_phase = Duration::from_nanos(phase);
        config.receive.reader = match self.settings.wake {
            Wake::AfterBurst => Reader::After,
            Wake::EachSegment | Wake::Beside => Reader::Beside,
        };
        config
    }

    /// Opens a connection from the device's side.
    pub(crate) fn connect(&mut self, flow: u32) {
        let now = self.now;
        let Some(entry) = self.flows.get(flow) else {
            return;
        };
        let initial = self.initial_sequence(entry, Direction::Up);
        let config = self.config(&self.settings.device_tcp, entry);
        let connection = Connection::connect(config, initial, now);
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.place(Direction::Up, Socket::connecting(connection), initial);
        }
        self.pump(flow, Direction::Up);
    }

    /// Takes a segment that has arrived.
    pub(crate) fn segment_arrived(
        &mut self,
        flow: u32,
        direction: Direction,
        segment: &Segment,
        payload: &[u8],
    ) {
        let now = self.now;
        let receiver = direction.reverse();
        let Some(entry) = self.flows.get_mut(flow) else {
            return;
        };
        if segment.flags.contains(Flags::ACK)
            && let Some(described) = entry.described_mut(receiver)
        {
            described.release(segment.acknowledgment);
        }
        if let Some(socket) = entry.socket_mut(receiver) {
            if !payload.is_empty() {
                socket.note_data(now);
            }
            socket.connection.handle_segment(segment, payload, now);
        } else if self.can_answer(flow, direction, segment) {
            self.answer(flow, segment);
        } else {
            return self.refuse(flow, receiver, segment, payload.len());
        }
        self.pump(flow, receiver);
    }

    /// Whether a segment opens a connection at a service.
    fn can_answer(&self, flow: u32, direction: Direction, segment: &Segment) -> bool {
        let has_service = self.flows.get(flow).is_some_and(|flow| flow.service.is_some());
        let is_syn = segment.flags.contains(Flags::SYN) && !segment.flags.intersects(Flags::ACK | Flags::RST);
        has_service && is_syn && direction == Direction::Up
    }

    fn answer(&mut self, flow: u32, syn: &Segment) {
        let now = self.now;
        let Some(entry) = self.flows.get(flow) else {
            return;
        };
        let initial = self.initial_sequence(entry, Direction::Down);
        let config = self.config(&self.settings.server_tcp, entry);
        let connection = Connection::accept(config, syn, initial, now);
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.place(Direction::Down, Socket::answering(connection), initial);
        }
    }

    /// Answers a segment for which there is no connection (RFC 9293 section 3.10.7.1).
    fn refuse(&mut self, flow: u32, receiver: Direction, segment: &Segment, payload_bytes: usize) {
        let Some(reset) = segment.reset(payload_bytes) else {
            return;
        };
        let transmit = Transmit {
            segment: reset,
            offset: 0,
            payload_bytes: 0,
        };
        let flight = self.take_outgoing();
        self.send_segment(flow, receiver, &transmit, flight);
    }

    /// Lets a connection do what is due.
    pub(crate) fn transport_timeout(&mut self, flow: u32, direction: Direction) {
        let now = self.now;
        let Some(socket) = self.socket(flow, direction) else {
            return;
        };
        // An earlier wake-up has replaced this one.
        if socket.wakes != Some(now) {
            return;
        }
        socket.wakes = None;
        match socket.connection.next_timeout() {
            Some(at) if at <= now => {
                socket.connection.handle_timeout(now);
                self.pump(flow, direction);
            }
            // It was put off after this wake-up had been queued for it.
            Some(at) => {
                socket.wakes = Some(at);
                self.queue.push(
                    at,
                    What::Transport {
                        flow,
                        sends: direction,
                    },
                );
            }
            None => {}
        }
    }

    /// Sends what a connection has to send, takes note of what it has to say, and sets its timer.
    pub(crate) fn pump(&mut self, flow: u32, direction: Direction) {
        let (now, wake) = (self.now, self.settings.wake);
        let socket = loop {
            let Some(socket) = self
                .flows
                .get_mut(flow)
                .and_then(|flow| flow.socket_mut(direction))
            else {
                return;
            };
            let Some(transmit) = socket.connection.poll_transmit(&mut self.outgoing.payload, now) else {
                break socket;
            };
            let flight = self.take_outgoing();
            self.send_segment(flow, direction, &transmit, flight);
        };
        let is_followed = wake == Wake::Beside && socket.is_followed(now);
        let wakes_application = socket.take_events() && (is_followed || !socket.wakes_application);
        socket.wakes_application |= wakes_application;
        let timer = earlier(&mut socket.wakes, socket.connection.next_timeout());
        let is_over = socket.is_over();
        if wakes_application {
            self.wake_application(flow, direction, is_followed);
        }
        if let Some(at) = timer {
            let sends = direction;
            self.queue.push(at.max(now), What::Transport { flow, sends });
        }
        if is_over {
            self.let_go(flow, direction);
        }
    }

    fn wake_application(&mut self, flow: u32, sends: Direction, is_followed: bool) {
        let what = What::Application { flow, sends };
        match self.settings.wake {
            Wake::EachSegment => self.queue.push_at_once(what),
            Wake::Beside if is_followed => self.queue.push_at_once(what),
            Wake::AfterBurst | Wake::Beside => self.queue.push(self.now, what),
        }
    }

    /// A connection that has something on its way, if there is one.
    pub(crate) fn first_unsettled(&self) -> Option<u32> {
        let mut flows = self.flows.iter();
        flows.find_map(|(number, flow)| flow.is_unsettled().then_some(number))
    }

    /// Whether a connection has something on its way.
    pub(crate) fn is_unsettled(&self, flow: u32) -> bool {
        self.flows.get(flow).is_some_and(Flow::is_unsettled)
    }

    /// Removes an end that is not used any more, and the flow with it where it was the last.
    fn let_go(&mut self, flow: u32, direction: Direction) {
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.remove_if_over(direction);
        }
        self.release(flow);
    }

    /// Lets an end's application go, as `close` does; TCP goes on alone.
    pub(crate) fn close(&mut self, flow: u32, direction: Direction, now: Instant) {
        if let Some(socket) = self.socket(flow, direction) {
            socket.is_owned = false;
            socket.connection.close(now);
        }
        self.pump(flow, direction);
    }

    /// Queues what an application has to send.
    pub(crate) fn queue_bytes(&mut self, flow: u32, direction: Direction, out: &Buffer) {
        let Some(entry) = self.flows.get_mut(flow) else {
            return;
        };
        if let Some(socket) = entry.socket_mut(direction) {
            socket.queue(out.bytes());
        }
        if let Some(described) = entry.described_mut(direction) {
            described.describe(out.spans());
        }
    }

    /// Gives TCP what it takes of what is queued; whether that is all.
    ///
    /// # Errors
    /// The connection is gone, and something was left to be sent.
    pub(crate) fn flush(&mut self, flow: u32, direction: Direction) -> Result<bool, ResetReason> {
        let now = self.now;
        let Some(socket) = self.socket(flow, direction) else {
            return Ok(true);
        };
        if socket.has_nothing_to_give() {
            return Ok(true);
        }
        socket.flush(now)?;
        let is_flushed = socket.is_flushed();
        // A write is sent before the socket is shut down: the two never share a segment that the window has room for.
        self.pump(flow, direction);
        let socket = self.socket(flow, direction);
        if socket.is_some_and(|socket| socket.finish(now)) {
            self.pump(flow, direction);
        }
        Ok(is_flushed)
    }

    /// Reads what an end has; TCP may acknowledge it or open its window before the application sees it.
    pub(crate) fn read(&mut self, flow: u32, direction: Direction, buffer: &mut Vec<u8>) -> Readable {
        let now = self.now;
        buffer.clear();
        let Some(socket) = self.socket(flow, direction) else {
            return Readable::Nothing;
        };
        let readable = socket.read(buffer, now);
        if matches!(readable, Readable::Bytes) && socket.connection.acknowledges_now() {
            self.pump(flow, direction);
        }
        readable
    }

    fn send_segment(
        &mut self,
        flow: u32,
        direction: Direction,
        transmit: &Transmit,
        mut flight: Box<Flight>,
    ) {
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        let Some(entry) = self.flows.get_mut(flow) else {
            return;
        };
        let identification = entry.next_identification(direction);
        let header_bytes = ip_header_bytes(&entry.client) + transmit.segment.header_bytes();
        let reverse = entry.described_mut(direction.reverse());
        let acknowledges = reverse.and_then(|described| described.acknowledge(&transmit.segment));
        let Some(described) = entry.described_mut(direction) else {
            return;
        };
        let placement = described.send(&transmit.segment, transmit.payload_bytes);
        if transmit.payload_bytes > 0 {
            let end = transmit.offset + u64::from(transmit.payload_bytes);
            described.cover(transmit.offset..end, &mut spans);
        }
        self.enter(&Entering {
            flow,
            direction,
            identification,
            transport: Transport::Tcp {
                segment: &transmit.segment,
                offset: transmit.offset,
                placement,
                acknowledges,
            },
            wire_bytes: header_bytes + flight.payload.len(),
            payload: &flight.payload,
            spans: &spans,
        });
        self.spans = spans;
        flight.content = Content::Segment(transmit.segment);
        self.fly(flow, direction, flight);
    }
}

/// The wake-up at `wanted` that the queue lacks, if it lacks one.
pub(crate) fn earlier(pending: &mut Option<Instant>, wanted: Option<Instant>) -> Option<Instant> {
    let wanted = wanted?;
    if pending.is_some_and(|pending| pending <= wanted) {
        return None;
    }
    *pending = Some(wanted);
    Some(wanted)
}
