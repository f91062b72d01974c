//! The reference container: it accepts clients, stores messages in queues and delivers them to receivers.
//!
//! ```text
//! client                                   container
//!   SASL header              -->
//!                            <--  SASL header, mechanisms       AwaitInit
//!   sasl-init                -->
//!                            <--  sasl-outcome                  AwaitHeader
//!   AMQP header              -->
//!                            <--  AMQP header                   AwaitOpen
//!   open, begin, attach      -->
//!                            <--  open, begin, attach, flow     Opened
//!   transfer                 -->
//!                            <--  disposition (accepted)
//!   close                    -->
//!                            <--  close, FIN
//! ```
//!
//! Every address is a queue, which is created when a link first names it. A queue is bounded: when it is full, the
//! oldest message is dropped. The container answers another protocol version with the header of AMQP 1.0, and closes
//! (section 2.2).

mod config;
mod connection;
mod event;
mod fault;
mod link;
mod queue;
mod receive;
mod session;
mod transfer;
mod transmit;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::convert::Infallible;

use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Output};

pub use config::Config;
pub use event::{Event, Stats};

use crate::codec::{Condition, OwnedCondition};
use crate::frames::Timer;
use connection::{Connection, SessionState, State};
use fault::{CONNECTION_FORCED, RESOURCE_LIMIT_EXCEEDED};
use link::Link;
use queue::{LinkKey, QueueId, Queues};

/// A command to the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Close every connection.
    Shutdown,
}

/// The state that all connections share.
#[derive(Debug)]
struct Shared {
    config: Config,
    queues: Queues,
    /// Queues that may have a message for a receiver.
    waiting: VecDeque<QueueId>,
    events: VecDeque<Event>,
    stats: Stats,
    now: Instant,
    /// Holds the head of a transfer frame until the frame's size is known.
    scratch: Vec<u8>,
}

/// An AMQP 1.0 container with queues.
#[derive(Debug)]
pub struct Container {
    shared: Shared,
    connections: BTreeMap<FlowId, Connection>,
    /// Flows that may have output.
    touched: VecDeque<FlowId>,
    /// When each flow's timers are due, or earlier.
    wakes: BTreeSet<(Instant, FlowId)>,
}

impl Container {
    /// A container without connections or queues.
    pub fn new(config: Config) -> Self {
        Self {
            shared: Shared {
                queues: Queues::new(config.queues, config.queue_messages, config.stored_bytes),
                config,
                waiting: VecDeque::new(),
                events: VecDeque::new(),
                stats: Stats::default(),
                now: Instant::START,
                scratch: Vec::new(),
            },
            connections: BTreeMap::new(),
            touched: VecDeque::new(),
            wakes: BTreeSet::new(),
        }
    }

    /// The counters.
    pub const fn stats(&self) -> Stats {
        self.shared.stats
    }

    /// The number of messages in the queue at `address`.
    pub fn queued(&self, address: &str) -> usize {
        self.shared.queues.len(address)
    }

    /// The number of connections in any state.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    fn open(&mut self, flow: FlowId) {
        let connection = Connection::new(flow, &self.shared.config, self.shared.now);
        self.connections.insert(flow, connection);
        self.touch(flow);
    }

    /// Records that a flow may have output.
    fn touch(&mut self, flow: FlowId) {
        if let Some(connection) = self.connections.get_mut(&flow)
            && !core::mem::replace(&mut connection.is_touched, true)
        {
            self.touched.push_back(flow);
        }
    }

    /// Keeps messages in their queues, where other receivers can take them, while the transport is full.
    fn congested(&mut self, flow: FlowId) {
        if let Some(connection) = self.connections.get_mut(&flow) {
            connection.is_congested = true;
        }
    }

    fn writable(&mut self, flow: FlowId) {
        let Some(connection) = self.connections.get_mut(&flow) else {
            return;
        };
        connection.is_congested = false;
        for (queue, key) in connection.senders() {
            self.shared.wake(queue, key);
        }
        self.touch(flow);
        self.deliver();
    }

    fn receive(&mut self, flow: FlowId, bytes: &[u8]) {
        match self.connections.get_mut(&flow) {
            Some(connection) => receive::receive(connection, &mut self.shared, bytes),
            None => self.shared.stats.foreign_inputs += 1,
        }
        self.touch(flow);
        self.deliver();
    }

    fn peer_closed(&mut self, flow: FlowId) {
        let Some(connection) = self.connections.get_mut(&flow) else {
            return;
        };
        if matches!(connection.state, State::Finished) {
            return self.forget(flow);
        }
        self.shared.disconnect(connection, None);
        connection.finish();
        connection.state = State::Finishing { is_peer_closed: true };
        self.touch(flow);
        self.deliver();
    }

    fn reset(&mut self, flow: FlowId) {
        if let Some(connection) = self.connections.get_mut(&flow) {
            self.shared.disconnect(connection, None);
        }
        self.forget(flow);
        self.deliver();
    }

    /// Drops the state of a flow.
    fn forget(&mut self, flow: FlowId) {
        let connection = self.connections.remove(&flow);
        if let Some(noted) = connection.and_then(|connection| connection.noted) {
            self.wakes.remove(&(noted, flow));
        }
    }

    fn shutdown(&mut self) {
        let flows: Vec<FlowId> = self.connections.keys().copied().collect();
        for flow in flows {
            if let Some(connection) = self.connections.get_mut(&flow) {
                let forced = Condition::new(CONNECTION_FORCED);
                self.shared
                    .disconnect(connection, Some(OwnedCondition::from(forced)));
                connection.close(forced, &self.shared.config, self.shared.now);
            }
            self.touch(flow);
        }
    }

    fn expire_timers(&mut self) {
        while let Some(&(at, flow)) = self.wakes.first() {
            if at > self.shared.now {
                break;
            }
            self.wakes.pop_first();
            let Some(connection) = self.connections.get_mut(&flow) else {
                continue;
            };
            connection.noted = None;
            if matches!(connection.state, State::Finished) {
                self.forget(flow);
                continue;
            }
            if let Some(Timer::Answer | Timer::Idle) = connection.frames.expire_timer(self.shared.now) {
                self.shared
                    .fail(connection, Condition::new(RESOURCE_LIMIT_EXCEEDED));
            }
            self.touch(flow);
        }
        self.deliver();
    }

    /// Gives queued messages to receivers with credit.
    fn deliver(&mut self) {
        while let Some(id) = self.shared.waiting.pop_front() {
            let most = self.shared.config.queue_messages;
            let connections = &mut self.connections;
            while let Some((key, message)) = self
                .shared
                .queues
                .next(id, |key| is_ready(connections, key, most))
            {
                let Some(connection) = connections.get_mut(&key.flow) else {
                    break;
                };
                if let Some((_, sending)) = connection.sending(key.channel, key.handle) {
                    sending.take(message);
                }
                connection.activate(key.channel, key.handle);
                if !core::mem::replace(&mut connection.is_touched, true) {
                    self.touched.push_back(key.flow);
                }
            }
        }
    }

    /// Updates the wake-up list with the next timer of a flow.
    fn update_wake_up(&mut self, flow: FlowId) {
        let Some(connection) = self.connections.get_mut(&flow) else {
            return;
        };
        let Some(next) = connection.frames.timers.next() else {
            return;
        };
        if connection.noted.is_some_and(|noted| noted <= next) {
            return;
        }
        if let Some(noted) = connection.noted.replace(next) {
            self.wakes.remove(&(noted, flow));
        }
        self.wakes.insert((next, flow));
    }
}

/// Whether a receiver can take another message: it has credit, its transport is not full, and not too many of its
/// deliveries are unfinished.
fn is_ready(connections: &mut BTreeMap<FlowId, Connection>, key: LinkKey, most: usize) -> bool {
    let connection = connections.get_mut(&key.flow);
    let sending = connection
        .filter(|connection| !connection.is_congested)
        .and_then(|connection| connection.sending(key.channel, key.handle));
    sending.is_some_and(|(_, sending)| sending.credit.left > 0 && !sending.is_full(most))
}

impl Shared {
    /// Puts a message into its queue.
    fn enqueue(&mut self, queue: QueueId, message: Vec<u8>) {
        self.stats.overflowed += self.queues.push(queue, message);
        self.wait(queue);
    }

    fn put_back(&mut self, queue: QueueId, message: Vec<u8>) {
        self.stats.requeued += 1;
        self.queues.put_back(queue, message);
        self.wait(queue);
    }

    /// Records that a receiver may take another message from a queue.
    fn wake(&mut self, queue: QueueId, key: LinkKey) {
        self.queues.wake(queue, key);
        self.wait(queue);
    }

    /// Records that a queue may have a message for a receiver.
    fn wait(&mut self, queue: QueueId) {
        if self.waiting.back() != Some(&queue) {
            self.waiting.push_back(queue);
        }
    }

    /// Sends close with the error and ends the connection.
    fn fail(&mut self, connection: &mut Connection, error: Condition<'_>) {
        self.stats.faults += 1;
        self.disconnect(connection, Some(error.into()));
        connection.fail(error, &self.config);
    }

    /// Reports the end of an open connection, and puts its unfinished messages back into their queues.
    fn disconnect(&mut self, connection: &mut Connection, error: Option<OwnedCondition>) {
        let flow = connection.frames.flow;
        for (channel, session) in core::mem::take(&mut connection.sessions) {
            self.unmap(flow, channel, session);
        }
        if matches!(connection.state, State::Opened) {
            self.events.push_back(Event::Disconnected { flow, error });
        }
    }

    /// Puts the unfinished messages of a session back into their queues.
    fn unmap(&mut self, flow: FlowId, channel: u16, session: SessionState) {
        let SessionState::Mapped(_, links) = session else {
            return;
        };
        for (handle, link) in links {
            let key = LinkKey::new(flow, channel, handle);
            self.detach(key, link);
        }
    }

    /// Puts the unfinished messages of a link back into their queue.
    fn detach(&mut self, key: LinkKey, link: Link) {
        if let Link::Sending(sending) = link {
            let queue = sending.queue;
            self.queues.unsubscribe(queue, key);
            for message in sending.into_unfinished() {
                self.put_back(queue, message);
            }
        }
    }
}

impl Endpoint for Container {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.shared.now = now;
        match input {
            Input::Opened { flow, .. } => self.open(flow),
            Input::Received { flow, bytes } => self.receive(flow, bytes),
            Input::Congested { flow } => self.congested(flow),
            Input::Writable { flow } => self.writable(flow),
            Input::PeerClosed { flow } => self.peer_closed(flow),
            Input::Reset { flow, .. } => self.reset(flow),
            Input::Command(Command::Shutdown) => self.shutdown(),
            Input::Timeout => self.expire_timers(),
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        if let Some(event) = self.shared.events.pop_front() {
            return Output::Event(event);
        }
        while let Some(&flow) = self.touched.front() {
            if let Some(output) = self.transmit(flow, out) {
                return output;
            }
            self.touched.pop_front();
            if let Some(connection) = self.connections.get_mut(&flow) {
                connection.is_touched = false;
            }
            self.update_wake_up(flow);
            // The transfer may have made room for another message.
            self.deliver();
        }
        Output::Timeout(self.wakes.first().map(|(at, _)| *at))
    }

    fn held(&self, flow: FlowId) -> Held {
        let connection = self.connections.get(&flow);
        connection.map_or(Held::default(), Connection::held)
    }

    fn stored_bytes(&self) -> usize {
        self.shared.queues.bytes()
    }
}
