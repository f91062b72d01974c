//! The flows of a layer: the common part of clients and servers.

mod begin;
mod drain;
mod receive;
mod routes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Output, Peer, ResetReason};

use self::routes::Routes;
use super::connection::Connection;
use super::cover::Classified;
use super::inner::{Inner, InnerRequest, Ready};
use super::psk::Session;
use super::record::MAX_PLAINTEXT_BYTES;
use super::role::Role;
use super::version::Version;
use crate::layer::{Event, Fault};

/// How long a client that closes a DTLS 1.2 connection waits for the peer's close_notify (RFC 5246 section 7.2.1). If the
/// client closed its socket at once, an ICMP error would answer the close_notify.
const LINGER: Duration = Duration::from_secs(1);

/// The most clients that have yet to return a cookie and of which an engine is kept, because a cookie cannot say enough about
/// them: their ClientHello is in fragments, or what they send next is another one.
pub(super) const MOST_UNPROVEN: usize = 64;

/// Counts what the layer ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Datagrams on a flow without a connection that do not open one.
    pub ignored_datagrams: u64,
    /// Datagrams of the inner endpoint on a flow without a connection, or above [`MAX_PLAINTEXT_BYTES`].
    pub unsent_datagrams: u64,
    /// Handshakes that failed while an older connection of the flow continued.
    pub failed_restarts: u64,
    /// How often a connection continued from another address of its peer (RFC 9146 section 6).
    pub moves: u64,
}

/// The state of a flow.
enum Stage {
    /// A server's flow before the first ClientHello.
    AwaitClientHello,
    Handshake(Box<Connection>),
    Established {
        connection: Box<Connection>,
        /// The connection of a further ClientHello on the flow. It takes over once its handshake is complete (RFC
        /// 6347 section 4.2.8).
        successor: Option<Box<Connection>>,
    },
    /// Our close_notify is sent, the peer's is awaited.
    AwaitCloseNotify {
        connection: Box<Connection>,
        until: Instant,
    },
}

impl Stage {
    /// What is held of incomplete handshakes.
    fn held(&self) -> Held {
        match self {
            Self::Handshake(connection)
            | Self::Established {
                successor: Some(connection),
                ..
            } => Held::incomplete(connection.handshake_bytes()),
            Self::AwaitClientHello | Self::Established { .. } | Self::AwaitCloseNotify { .. } => {
                Held::default()
            }
        }
    }

    /// Whether an engine is kept whose client has yet to return its cookie.
    fn is_unproven(&self) -> bool {
        match self {
            Self::Handshake(connection)
            | Self::Established {
                successor: Some(connection),
                ..
            } => connection.is_unproven(),
            Self::AwaitClientHello | Self::Established { .. } | Self::AwaitCloseNotify { .. } => false,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::AwaitClientHello => None,
            Self::Handshake(connection) => connection.wakes(),
            Self::Established {
                connection,
                successor,
            } => {
                let successor = successor.as_ref().and_then(|successor| successor.wakes());
                [connection.wakes(), successor].into_iter().flatten().min()
            }
            Self::AwaitCloseNotify { until, .. } => Some(*until),
        }
    }
}

struct Flow {
    peer: Peer,
    stage: Stage,
    deadline: Option<Instant>,
    /// Whether the inner endpoint knows the flow.
    is_open: bool,
}

/// The state of a connection after an input.
enum Status {
    Alive,
    /// The peer sent close_notify.
    Closed,
    Failed(Fault),
}

/// DTLS around a datagram endpoint, either a client or a server for any number of clients.
///
/// A client starts a handshake when its flow opens. The inner endpoint receives the flow and earlier commands when the
/// handshake is complete. If the handshake fails, the commands are dropped and [`Event::Failed`] has the reason. Each flow is a
/// new connection.
///
/// At a server, the ClientHello determines the protocol: DTLS 1.3 if the client offers it, otherwise DTLS 1.2 with the client's
/// first suite for which the server has credentials. The inner endpoint receives a flow when its handshake is complete. A
/// ClientHello on a flow with a connection begins another one beside it, which takes over when it is complete (RFC 6347
/// section 4.2.8). The inner endpoint then sees the flow reset and opened again.
pub struct Flows<E: Endpoint> {
    inner: Inner<E>,
    stats: Stats,
    role: Role,
    flows: BTreeMap<FlowId, Flow>,
    deadlines: BTreeSet<(Instant, FlowId)>,
    /// Commands that wait for a client's connection.
    held: VecDeque<E::Command>,
    /// Number of connections so far.
    connections: u64,
    /// Flows with an engine whose client has yet to return its cookie, the oldest first, and some that had one.
    unproven: VecDeque<FlowId>,
    /// Whether a client has opened a flow before.
    has_connected: bool,
    /// What a client keeps of its last handshake.
    session: Option<Session>,
    routes: Routes,
    /// The flow of the datagram that is being received.
    arrived: FlowId,
    /// Output bytes of the engine.
    scratch: Vec<u8>,
    /// The records of the current datagram.
    classified: Vec<Classified>,
    spans: Buffer,
    /// The inner endpoint's datagram that is being protected.
    protecting: Buffer,
}

/// DTLS around a client.
pub type Client<E> = Flows<E>;

/// DTLS around a server.
pub type Server<E> = Flows<E>;

impl<E: Endpoint> Endpoint for Flows<E> {
    type Command = E::Command;
    type Event = Event<E::Event>;
    type Error = E::Error;

    fn handle_input(&mut self, input: Input<'_, E::Command>, now: Instant) -> Result<(), E::Error> {
        match input {
            Input::Opened { flow, peer } => self.open(flow, peer, now)?,
            Input::Received { flow, bytes } => self.receive(flow, bytes, now)?,
            Input::Reset { flow, reason } => self.reset(flow, reason, now)?,
            Input::Timeout => self.wake(now)?,
            Input::Command(command) => self.command(command, now)?,
            // Datagram flows have neither.
            Input::Congested { .. } | Input::Writable { .. } | Input::PeerClosed { .. } => {}
        }
        self.settle(now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event<E::Event>> {
        if let Some(output) = self.inner.poll(out) {
            return output;
        }
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        Output::Timeout([deadline, self.inner.wakes()].into_iter().flatten().min())
    }

    fn held(&self, flow: FlowId) -> Held {
        let layer = self
            .flows
            .get(&flow)
            .map_or(Held::default(), |flow| flow.stage.held());
        layer.and(self.inner.endpoint.held(flow))
    }

    fn stored_bytes(&self) -> usize {
        self.inner.endpoint.stored_bytes()
    }
}

impl<E: Endpoint> Flows<E> {
    /// The layer around `endpoint`. Its configuration determines whether it is a client or a server.
    pub fn new(config: impl Into<Role>, endpoint: E) -> Self {
        Self {
            inner: Inner::new(endpoint),
            stats: Stats::default(),
            role: config.into(),
            flows: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            held: VecDeque::new(),
            connections: 0,
            unproven: VecDeque::new(),
            has_connected: false,
            session: None,
            routes: Routes::default(),
            arrived: FlowId(0),
            scratch: Vec::new(),
            classified: Vec::new(),
            spans: Buffer::new(),
            protecting: Buffer::new(),
        }
    }

    /// The inner endpoint.
    pub fn inner(&self) -> &E {
        &self.inner.endpoint
    }

    /// The counters of ignored datagrams.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// A client's commands wait for the connection. A server's commands do not.
    fn command(&mut self, command: E::Command, now: Instant) -> Result<(), E::Error> {
        let is_established = |flow: &Flow| !matches!(flow.stage, Stage::Handshake(_));
        if self.role.is_server() || (!self.flows.is_empty() && self.flows.values().all(is_established)) {
            return self.inner.input(Input::Command(command), now);
        }
        self.held.push_back(command);
        Ok(())
    }

    fn open(&mut self, flow: FlowId, peer: Peer, now: Instant) -> Result<(), E::Error> {
        let (index, is_first, session) = (self.connections, !self.has_connected, self.session.clone());
        self.has_connected = true;
        let stage = match self.role.first_connection(index, is_first, session, now) {
            None => Stage::AwaitClientHello,
            Some(Ok(connection)) => {
                self.connections += 1;
                Stage::Handshake(Box::new(connection))
            }
            Some(Err(fault)) => {
                self.held.clear();
                self.report(Event::Failed { flow, fault });
                self.inner.ready.push_back(Ready::Close(flow, false));
                return Ok(());
            }
        };
        self.forget(flow);
        self.routes.release(flow);
        let opened = Flow {
            peer,
            stage,
            deadline: None,
            is_open: false,
        };
        self.flows.insert(flow, opened);
        self.wake_flow(flow, now)
    }

    fn reset(&mut self, arrived: FlowId, reason: ResetReason, now: Instant) -> Result<(), E::Error> {
        let flow = self.routes.owner(arrived);
        if self.routes.current(flow) != arrived {
            // The connection continues elsewhere.
            self.routes.release(arrived);
            if arrived != flow {
                self.forget(arrived);
            }
            return Ok(());
        }
        for other in self.routes.forget(flow) {
            self.forget(other);
        }
        match self.forget(flow) {
            Some(Stage::Established { .. }) => self.inner.input(Input::Reset { flow, reason }, now),
            Some(Stage::Handshake(_)) => {
                self.held.clear();
                let fault = Fault::CutOff(reason);
                self.report(Event::Failed { flow, fault });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Carries out the inner endpoint's requests until there are none.
    fn settle(&mut self, now: Instant) -> Result<(), E::Error> {
        while let Some(requests) = self.inner.requests.pop_front() {
            match requests {
                InnerRequest::Datagram(flow, datagram) => self.protect(flow, datagram, now)?,
                InnerRequest::Close(flow, reset) => self.close(flow, reset, now)?,
            }
        }
        Ok(())
    }

    fn protect(&mut self, flow: FlowId, datagram: Buffer, now: Instant) -> Result<(), E::Error> {
        match self.take_stage(flow) {
            Some(Stage::Established {
                mut connection,
                successor,
            }) if datagram.bytes().len() <= MAX_PLAINTEXT_BYTES => {
                let taken = connection.protect(datagram.bytes(), now);
                self.protecting = datagram;
                let status = self.drain(flow, &mut connection, taken, now)?;
                let protected = std::mem::take(&mut self.protecting);
                self.inner.give_back(protected);
                self.conclude(flow, connection, successor, status, now)
            }
            other => {
                self.stats.unsent_datagrams += 1;
                self.inner.give_back(datagram);
                if let Some(stage) = other {
                    self.put_stage(flow, stage);
                }
                Ok(())
            }
        }
    }

    /// Sends close_notify if the flow has a connection, and closes the flow.
    fn close(&mut self, flow: FlowId, reset: bool, now: Instant) -> Result<(), E::Error> {
        let stage = self.take_stage(flow);
        if let Some(Stage::Established { mut connection, .. }) = stage
            && !reset
        {
            let said = connection.close();
            self.drain(flow, &mut connection, said, now)?;
            if !self.role.is_server() && connection.version() != Some(Version::Dtls13) {
                let until = now + LINGER;
                self.put_stage(flow, Stage::AwaitCloseNotify { connection, until });
                return Ok(());
            }
        }
        self.forget_and_close(flow, reset);
        Ok(())
    }

    /// Wakes every connection that is due, and the inner endpoint.
    fn wake(&mut self, now: Instant) -> Result<(), E::Error> {
        let due: Vec<FlowId> = self
            .deadlines
            .iter()
            .take_while(|(at, _)| *at <= now)
            .map(|(_, flow)| *flow)
            .collect();
        for flow in due {
            self.wake_flow(flow, now)?;
        }
        self.inner.input(Input::Timeout, now)
    }

    fn wake_flow(&mut self, flow: FlowId, now: Instant) -> Result<(), E::Error> {
        match self.take_stage(flow) {
            Some(Stage::Handshake(mut connection)) => {
                let woken = connection.wake(now);
                let status = self.drain(flow, &mut connection, woken, now)?;
                self.conclude(flow, connection, None, status, now)
            }
            Some(Stage::Established {
                mut connection,
                mut successor,
            }) => {
                let woken = connection.wake(now);
                let status = self.drain(flow, &mut connection, woken, now)?;
                if let Some(mut waiting) = successor.take() {
                    let woken = waiting.wake(now);
                    let status = self.drain(flow, &mut waiting, woken, now)?;
                    successor = matches!(status, Status::Alive).then_some(waiting);
                    self.stats.failed_restarts += u64::from(successor.is_none());
                }
                self.conclude(flow, connection, successor, status, now)
            }
            Some(Stage::AwaitCloseNotify { until, .. }) if until <= now => {
                self.forget_and_close(flow, false);
                Ok(())
            }
            Some(stage) => {
                self.put_stage(flow, stage);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn report(&mut self, event: Event<E::Event>) {
        self.inner.ready.push_back(Ready::Event(event));
    }

    /// Takes the stage of a flow. The caller puts it back or forgets the flow.
    fn take_stage(&mut self, flow: FlowId) -> Option<Stage> {
        let state = self.flows.get_mut(&flow)?;
        Some(std::mem::replace(&mut state.stage, Stage::AwaitClientHello))
    }

    fn put_stage(&mut self, flow: FlowId, stage: Stage) {
        let Some(state) = self.flows.get_mut(&flow) else {
            return;
        };
        let deadline = stage.deadline();
        state.stage = stage;
        if let Some(earlier) = std::mem::replace(&mut state.deadline, deadline)
            && Some(earlier) != deadline
        {
            self.deadlines.remove(&(earlier, flow));
        }
        if let Some(at) = deadline {
            self.deadlines.insert((at, flow));
        }
    }

    /// Forgets a connection and closes every flow on which it was.
    fn forget_and_close(&mut self, flow: FlowId, reset: bool) {
        let others = self.routes.forget(flow);
        for flow in others.into_iter().chain([flow]) {
            self.forget(flow);
            self.inner.ready.push_back(Ready::Close(flow, reset));
        }
    }

    fn forget(&mut self, flow: FlowId) -> Option<Stage> {
        let state = self.flows.remove(&flow)?;
        if let Some(at) = state.deadline {
            self.deadlines.remove(&(at, flow));
        }
        Some(state.stage)
    }
}
