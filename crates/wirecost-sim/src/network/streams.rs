//! TCP: connections over the links, and the segments between them.

use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::driver::Writing;
use wirecost_proto::{Buffer, Direction, Instant, ResetReason};
use wirecost_tcp::config::FastOpen;
use wirecost_tcp::fast_open::Cookie;
use wirecost_tcp::{Connection, ConnectionStart, Segment, Transmit};
use wirecost_wire::tcp::Flags;

use super::flow::{Body, Flow};
use super::in_flight::{Content, InFlight};
use super::socket::{Readable, Socket};
use super::{Entering, Network};
use crate::awake::{Entry, Sleeper};
use crate::carrier::Carrier;
use crate::queue::Event;
use crate::settings::Wake;
use crate::tap::ip_header_bytes;
use crate::tap::{Tap, Transport};

/// The random stream of a host's initial sequence numbers (RFC 9293 section 3.4.1).
const INITIAL_SEQUENCES: u64 = 0x7369_6d31;
/// The random stream of the phase of the machine's ticks when a connection opens.
const CLOCK_PHASES: u64 = 0x7369_6d32;
/// The period of the coarsest ticks to which timers of interest are rounded, in nanoseconds.
const CLOCK_PERIOD: u64 = 1_024_000_000_000;

impl<L: Carrier, T: Tap> Network<L, T> {
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

    /// What an end of a connection has of its own. Both ends are on one machine, as on the emulated link. The phase of its
    /// ticks is random when they open.
    fn start(&self, flow: &Flow, direction: Direction) -> ConnectionStart {
        let phases = self.settings.rng.host(u64::from(flow.host)).purpose(CLOCK_PHASES);
        let phase = phases.at(u64::from(flow.client.port())) % CLOCK_PERIOD;
        let server = self.servers.get(flow.server as usize);
        ConnectionStart {
            sequence: self.initial_sequence(flow, direction),
            clock_phase: Duration::from_nanos(phase),
            fast_open: self.settings.fast_open.map(|key| FastOpen {
                cookie: server.map(|server| Cookie::compute(key, flow.client.ip(), server.ip())),
            }),
        }
    }

    /// Opens a connection from the device's side.
    pub(crate) fn connect(&mut self, flow: u32) {
        let now = self.now;
        let Some(entry) = self.flows.get(flow) else {
            return;
        };
        let start = self.start(entry, Direction::Up);
        let connection = Connection::connect(Arc::clone(&self.tcp.up), start, now);
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.place(Direction::Up, Socket::connecting(connection), start.sequence);
        }
        self.pump(flow, Direction::Up);
    }

    /// Handles the arrival of a segment.
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
        if direction == Direction::Up && entry.is_unknown_to_server() {
            return self.refuse(flow, receiver, segment, payload.len());
        }
        if segment.flags.contains(Flags::ACK)
            && let Some(stream) = entry.spans_mut(receiver)
        {
            stream.release(segment.acknowledgment);
        }
        if let Some(socket) = entry.socket_mut(receiver) {
            if !payload.is_empty() {
                socket.note_data(now);
            }
            socket.connection.handle_segment(segment, payload, now);
        } else if self.can_answer(flow, direction, segment) {
            self.answer(flow, segment, payload);
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

    fn answer(&mut self, flow: u32, syn: &Segment, data: &[u8]) {
        let now = self.now;
        let Some(entry) = self.flows.get(flow) else {
            return;
        };
        let start = self.start(entry, Direction::Down);
        let connection = Connection::accept(Arc::clone(&self.tcp.down), syn, data, start, now);
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.place(Direction::Down, Socket::answering(connection), start.sequence);
        }
    }

    /// Answers a segment that belongs to no connection (RFC 9293 section 3.10.7.1).
    fn refuse(&mut self, flow: u32, receiver: Direction, segment: &Segment, payload_bytes: usize) {
        let Some(reset) = segment.reset(payload_bytes) else {
            return;
        };
        let transmit = Transmit {
            segment: reset,
            offset: 0,
            payload_bytes: 0,
        };
        let packet = self.take_outgoing();
        self.send_segment(flow, receiver, &transmit, packet);
    }

    /// Handles the timer of a connection.
    pub(crate) fn transport_timeout(&mut self, flow: u32, direction: Direction) {
        let now = self.now;
        let Some(socket) = self.socket(flow, direction) else {
            return;
        };
        // A later `push` has replaced this wake-up by an earlier one.
        if socket.wakes != Some(now) {
            return;
        }
        socket.wakes = None;
        match socket.connection.next_timeout() {
            Some(at) if at <= now => {
                socket.connection.handle_timeout(now);
                self.pump(flow, direction);
            }
            // The time-out was postponed after this wake-up was queued.
            Some(at) => {
                socket.wakes = Some(at);
                self.queue.push(
                    at,
                    Event::Transport {
                        flow,
                        sends: direction,
                    },
                );
            }
            None => {}
        }
    }

    /// Sends the segments of a connection, handles its events, and sets its timer.
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
            let packet = self.take_outgoing();
            self.send_segment(flow, direction, &transmit, packet);
        };
        let is_followed = wake == Wake::Beside && socket.is_followed(now);
        let wakes_application = socket.take_events() && (is_followed || !socket.wakes_application);
        socket.wakes_application |= wakes_application;
        let timer = earlier(&mut socket.wakes, socket.connection.next_timeout());
        let is_over = socket.is_over();
        let sleeper = Sleeper::Socket {
            flow,
            sends: direction,
        };
        if !is_over {
            self.awake.note(sleeper, &mut socket.activity, now);
        }
        if wakes_application {
            self.wake_application(flow, direction, is_followed);
        }
        if let Some(at) = timer {
            let sends = direction;
            self.queue.push(at.max(now), Event::Transport { flow, sends });
        }
        if is_over {
            self.let_go(flow, direction);
        }
    }

    /// Lets an end of a connection that has handled nothing lately keep less, if nothing is on its way.
    pub(crate) fn rest(&mut self, flow: u32, sends: Direction, entry: Entry) {
        let Some(Body::Stream(streams)) = self.flows.get_mut(flow).map(|flow| &mut flow.body) else {
            return;
        };
        if let Some(socket) = &mut streams.sockets[sends]
            && self.awake.falls_asleep(entry, &mut socket.activity, self.now)
            && socket.rest(&mut self.at_rest[sends])
        {
            streams.spans[sends].rest();
        }
    }

    fn wake_application(&mut self, flow: u32, sends: Direction, is_followed: bool) {
        let event = Event::Application { flow, sends };
        match self.settings.wake {
            Wake::EachSegment => self.queue.push_at_once(event),
            Wake::Beside if is_followed => self.queue.push_at_once(event),
            Wake::AfterBurst | Wake::Beside => self.queue.push(self.now, event),
        }
    }

    /// A connection with unacknowledged segments, if there is one. The search begins at the flow `first`.
    pub(crate) fn unsettled_from(&self, first: u32) -> Option<u32> {
        let mut flows = self.flows.iter_from(first);
        flows.find_map(|(number, flow)| flow.is_unsettled().then_some(number))
    }

    /// Whether a connection has unacknowledged segments.
    pub(crate) fn is_unsettled(&self, flow: u32) -> bool {
        self.flows.get(flow).is_some_and(Flow::is_unsettled)
    }

    /// Removes an end that is unused, and the flow if neither end is left.
    fn let_go(&mut self, flow: u32, direction: Direction) {
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.remove_if_over(direction);
        }
        self.release(flow);
    }

    /// Closes the socket of an end's application, as `close` does; TCP continues without it.
    pub(crate) fn close(&mut self, flow: u32, direction: Direction, now: Instant) {
        if let Some(socket) = self.socket(flow, direction) {
            socket.is_owned = false;
            socket.connection.close(now);
        }
        self.pump(flow, direction);
    }

    /// Queues the bytes that an application sends.
    pub(crate) fn queue_bytes(&mut self, flow: u32, direction: Direction, out: &Buffer) {
        let Some(entry) = self.flows.get_mut(flow) else {
            return;
        };
        if let Some(socket) = entry.socket_mut(direction) {
            socket.queue(out.bytes());
        }
        if let Some(stream) = entry.spans_mut(direction) {
            stream.describe(out.spans());
        }
    }

    /// Writes as many queued bytes to TCP as it accepts; returns whether the queue is now empty.
    ///
    /// # Errors
    /// The connection is gone, and unsent bytes or a FIN are left.
    pub(crate) fn flush(&mut self, flow: u32, direction: Direction) -> Result<bool, ResetReason> {
        let now = self.now;
        match self.socket(flow, direction) {
            Some(socket) if !socket.has_nothing_to_give() => {}
            _ => return Ok(true),
        }
        let writing = match direction {
            Direction::Up => self.settings.device_writing,
            Direction::Down => Writing::default(),
        };
        // A write is sent before the next one, and before the socket is shut down: data and FIN do not share a segment if the
        // window has room.
        let mut is_flushed = false;
        while !is_flushed {
            let Some(socket) = self.socket(flow, direction) else {
                return Ok(true);
            };
            let is_taken = socket.flush(writing, now)?;
            is_flushed = socket.is_flushed();
            self.pump(flow, direction);
            if !is_taken {
                break;
            }
        }
        let socket = self.socket(flow, direction);
        if socket.is_some_and(|socket| socket.finish(now)) {
            self.pump(flow, direction);
        }
        Ok(is_flushed)
    }

    /// Reads the bytes of an end. TCP may acknowledge them or open its window before the application handles them.
    pub(crate) fn read(&mut self, flow: u32, direction: Direction, buffer: &mut Vec<u8>) -> Readable {
        let now = self.now;
        buffer.clear();
        let Some(socket) = self.socket(flow, direction) else {
            return Readable::Nothing;
        };
        let readable = socket.read(buffer, now);
        match &readable {
            Readable::Bytes if socket.connection.acknowledges_now() => self.pump(flow, direction),
            Readable::Bytes => {}
            Readable::Nothing | Readable::PeerClosed | Readable::Reset(_) => {}
        }
        readable
    }

    fn send_segment(
        &mut self,
        flow: u32,
        direction: Direction,
        transmit: &Transmit,
        mut packet: Box<InFlight>,
    ) {
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        let Some(entry) = self.flows.get_mut(flow) else {
            return;
        };
        let identification = entry.next_identification(direction);
        let header_bytes = ip_header_bytes(&entry.client) + transmit.segment.header_bytes();
        let reverse = entry.spans_mut(direction.reverse());
        let acknowledges = reverse.and_then(|stream| stream.acknowledge(&transmit.segment));
        let Some(stream) = entry.spans_mut(direction) else {
            return;
        };
        let placement = stream.send(&transmit.segment, transmit.payload_bytes);
        if transmit.payload_bytes > 0 {
            let end = transmit.offset + u64::from(transmit.payload_bytes);
            stream.cover(transmit.offset..end, &mut spans);
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
            wire_bytes: header_bytes + packet.payload.len(),
            payload: &packet.payload,
            spans: &spans,
        });
        self.spans = spans;
        packet.content = Content::Segment(transmit.segment);
        self.schedule_arrivals(flow, direction, packet);
    }
}

/// The wake-up at `wanted`, unless the queue already has one that is not later.
pub(crate) fn earlier(pending: &mut Option<Instant>, wanted: Option<Instant>) -> Option<Instant> {
    let wanted = wanted?;
    if pending.is_some_and(|pending| pending <= wanted) {
        return None;
    }
    *pending = Some(wanted);
    Some(wanted)
}
