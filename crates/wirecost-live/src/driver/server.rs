//! The servers' loop: one thread, one poll instance, any number of services with any number of flows.

mod flows;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Interest, Poll, Token, Waker};
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{FlowReport, Observer, Service};
use wirecost_proto::log::FlowLog;
use wirecost_proto::{Buffer, Direction, Endpoint, FlowId, Input, Instant, Output, ResetReason};

use super::READ_BYTES;
use super::stream::{CONGESTION_CONTROL, Readable, Stream};
use super::wakes::Wakes;
use crate::clock::{Clock, thread_cpu_time};
use crate::timerfd::TimerFd;
use flows::{Connection, FlowPlace, Lingering, Listener, Running, listen};

/// What a stopped loop has left.
#[derive(Debug)]
pub struct Finished<E, O> {
    /// The services, with their endpoints.
    pub services: Vec<Service<E>>,
    /// The observer.
    pub observer: O,
    /// Every flow there was, where logs were asked for.
    pub flows: Vec<FlowReport>,
}

/// Runs services until it is stopped.
pub struct ServerLoop<E: Endpoint, O> {
    clock: Clock,
    poll: Poll,
    timer: TimerFd,
    stop: Arc<Waker>,
    on_link: bool,
    services: Vec<Running<E>>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// Tokens of sockets that had more to give than one turn takes.
    unread: BTreeSet<Token>,
    /// Services with connections that wait for a descriptor.
    starved: BTreeSet<usize>,
    /// The thread's CPU time when it was last charged.
    lap: Duration,
    reports: Vec<FlowReport>,
    observer: O,
    wakes: Wakes,
    /// Connections that are closed on this side, in the order in which they are looked at again.
    lingering: VecDeque<Lingering>,
    linger: Duration,
    out: Buffer,
}

const TIMER_TOKEN: Token = Token(usize::MAX - 1);
const STOP_TOKEN: Token = Token(usize::MAX - 2);
/// Tokens from here on are listeners; below are connections.
const LISTENERS: usize = usize::MAX / 2;
/// Reads of one socket before the others, the timers and the stopper get their turn.
const READS_PER_TURN: usize = 64;
/// Peers of a datagram service that it remembers at a time where nobody bounds them.
const MAX_PEERS: usize = 65_536;
/// How long a client may leave its side open after the server has closed, where nobody says otherwise.
const LINGER: Duration = Duration::from_secs(60);

impl<E, O> ServerLoop<E, O>
where
    E: Endpoint<Error: std::fmt::Display>,
    O: Observer<E>,
{
    /// A loop whose services listen when this returns. On the emulated link (`on_link`) every flow's log is kept
    /// until the end and TCP uses cubic; elsewhere the log is nobody's and the machine's settings hold.
    ///
    /// # Errors
    /// An address is taken or cannot be bound; the error's text names it.
    pub fn new(services: Vec<Service<E>>, clock: Clock, observer: O, on_link: bool) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut timer = TimerFd::new().map_err(io::Error::other)?;
        poll.registry()
            .register(&mut timer, TIMER_TOKEN, Interest::READABLE)?;
        let stop = Arc::new(Waker::new(poll.registry(), STOP_TOKEN)?);
        let congestion_control = on_link.then_some(CONGESTION_CONTROL);
        let services = services.into_iter().enumerate();
        let services = services.map(|(index, service)| listen(&poll, index, service, congestion_control));
        Ok(Self {
            clock,
            services: services.collect::<io::Result<_>>()?,
            poll,
            timer,
            stop,
            on_link,
            connections: Vec::new(),
            free: Vec::new(),
            unread: BTreeSet::new(),
            starved: BTreeSet::new(),
            lap: Duration::ZERO,
            reports: Vec::new(),
            observer,
            wakes: Wakes::default(),
            lingering: VecDeque::new(),
            linger: LINGER,
            out: Buffer::new(),
        })
    }

    /// The same with another patience with clients that neither close their side after the server has, nor take what is
    /// still to be sent: they are left to the kernel then. It is a minute unless told otherwise, and without end on the
    /// emulated link, where nothing may happen that no protocol asked for.
    #[must_use]
    pub fn with_linger(self, linger: Duration) -> Self {
        Self { linger, ..self }
    }

    /// Where the first service listens; its port is the kernel's choice where it was asked for port 0.
    pub fn address(&self) -> Option<SocketAddr> {
        self.services.first().map(|running| running.service.address)
    }

    /// Wakes the loop to stop it, from any thread.
    pub fn stopper(&self) -> Arc<Waker> {
        Arc::clone(&self.stop)
    }

    /// Serves until the stopper wakes it.
    ///
    /// # Errors
    /// Polling failed, or an endpoint ended.
    pub fn run(mut self) -> io::Result<Finished<E, O>> {
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            self.run_due()?;
            if let Some(next) = self.wakes.next() {
                self.timer.arm(&self.clock, next)?;
            }
            let timeout = (!self.unread.is_empty()).then_some(Duration::ZERO);
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            self.timer.take_expiry()?;
            for event in &events {
                match event.token() {
                    STOP_TOKEN => return Ok(self.into_finished()),
                    TIMER_TOKEN => {}
                    token => self.handle_event(token, event)?,
                }
            }
            for token in std::mem::take(&mut self.unread) {
                self.handle_readable(token, &mut buffer)?;
            }
        }
    }

    fn into_finished(mut self) -> Finished<E, O> {
        self.lap();
        for index in 0..self.connections.len() {
            self.drop_connection(index);
        }
        let logged = self.services.iter_mut().filter(|_| self.on_link);
        for (index, running) in logged.enumerate() {
            let places = std::mem::take(&mut running.flows).into_values();
            self.reports
                .extend(places.filter_map(|place| place.into_report(index)));
        }
        Finished {
            services: self.services.into_iter().map(|running| running.service).collect(),
            observer: self.observer,
            flows: self.reports,
        }
    }

    /// The CPU time of the thread since it was last asked for; none where nobody is charged.
    fn lap(&mut self) -> Duration {
        if !self.on_link {
            return Duration::ZERO;
        }
        let before = std::mem::replace(&mut self.lap, thread_cpu_time());
        self.lap.saturating_sub(before)
    }

    fn run_due(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        self.lap();
        while let Some(owner) = self.wakes.due(now) {
            // Behind the services, there is one who looks after closed connections.
            if owner < self.services.len() {
                self.input(owner, None, Input::Timeout, &[])?;
            }
        }
        self.end_lingering(now)
    }

    /// Leaves the connections to the kernel that their clients have not closed in time: it delivers what it has, and
    /// resets what comes.
    fn end_lingering(&mut self, now: Instant) -> io::Result<()> {
        while let Some(lingering) = self.lingering.front().copied() {
            let Lingering {
                until, index, unsent, ..
            } = lingering;
            if until > now {
                self.wakes.want(self.services.len(), until);
                break;
            }
            self.lingering.pop_front();
            let connection = self.connections.get(index).and_then(Option::as_ref);
            let is_it = |it: &&Connection| (it.service, it.flow) == (lingering.service, lingering.flow);
            match connection.filter(is_it) {
                Some(connection) if connection.stream.unsent() < unsent => self.linger(index),
                Some(_) => self.lost(index, ResetReason::TimedOut)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Bears for a while that a connection is closed on this side only.
    fn linger(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get(index) else {
            return;
        };
        let until = self.clock.now() + self.linger;
        self.lingering.push_back(Lingering {
            until,
            index,
            service: connection.service,
            flow: connection.flow,
            unsent: connection.stream.unsent(),
        });
        self.wakes.want(self.services.len(), until);
    }

    /// Writes at once; reading is left until every event of the turn is known.
    fn handle_event(&mut self, token: Token, event: &Event) -> io::Result<()> {
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.unread.insert(token);
        }
        let Token(index) = token;
        if index >= LISTENERS || !event.is_writable() {
            return Ok(());
        }
        self.lap();
        self.flush(index)?;
        self.charge_connection(index);
        Ok(())
    }

    fn handle_readable(&mut self, Token(token): Token, buffer: &mut [u8]) -> io::Result<()> {
        self.lap();
        let Some(service) = token.checked_sub(LISTENERS) else {
            self.read(token, buffer)?;
            self.charge_connection(token);
            return Ok(());
        };
        match self.services[service].listener {
            Listener::Tcp(_) => self.accept(service),
            Listener::Udp(_) => self.receive_datagrams(service, buffer),
        }
    }

    fn accept(&mut self, service: usize) -> io::Result<()> {
        loop {
            let running = &mut self.services[service];
            let Listener::Tcp(listener) = &running.listener else {
                return Ok(());
            };
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // This one is gone already (accept(2)); the next may not be.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // No descriptor is left: the poll has said so once, and says no more until another one comes.
                Err(_) => {
                    self.starved.insert(service);
                    return Ok(());
                }
            };
            let flow = running.new_flow();
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let mut stream = Stream::accepted(socket);
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll
                .registry()
                .register(&mut stream.socket, Token(index), interest)?;
            running.flows.insert(flow, FlowPlace::Connection(index));
            let log = FlowLog::new(Transport::Stream);
            let cpu = Duration::ZERO;
            self.connections[index] = Some(Connection {
                stream,
                service,
                flow,
                peer,
                congested: false,
                log,
                cpu,
            });
            self.input(service, Some(flow), Input::Opened { flow, peer }, &[])?;
        }
    }

    fn receive_datagrams(&mut self, service: usize, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let running = &mut self.services[service];
            let Listener::Udp(socket) = &running.listener else {
                return Ok(());
            };
            let (len, peer) = match socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // An ICMP error of an earlier answer: the peer is gone, the socket is not.
                Err(_) => continue,
            };
            let flow = match running.peers.get(&peer) {
                Some(flow) => *flow,
                None => self.open_peer(service, peer)?,
            };
            let bytes = &buffer[..len];
            self.input(service, Some(flow), Input::Received { flow, bytes }, bytes)?;
        }
        self.unread.insert(Token(LISTENERS + service));
        Ok(())
    }

    /// A flow for a new peer. Anyone can send from any number of addresses: off the link the oldest peer makes room.
    fn open_peer(&mut self, service: usize, peer: SocketAddr) -> io::Result<FlowId> {
        let running = &mut self.services[service];
        let oldest = running.flows.keys().next().copied();
        if let Some(flow) = oldest.filter(|_| !self.on_link && running.peers.len() >= MAX_PEERS) {
            self.forget_peer(service, flow);
            let reason = ResetReason::TimedOut;
            self.input(service, Some(flow), Input::Reset { flow, reason }, &[])?;
        }
        let flow = self.services[service].new_peer(peer);
        self.input(service, Some(flow), Input::Opened { flow, peer }, &[])?;
        Ok(flow)
    }

    fn read(&mut self, index: usize, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let Some(Some(connection)) = self.connections.get_mut(index) else {
                return Ok(());
            };
            // Who does not read what it is sent is not read either: its requests would fill the memory with answers.
            if connection.stream.fin_received || connection.congested {
                return Ok(());
            }
            let (service, flow) = (connection.service, connection.flow);
            match connection.stream.read(buffer) {
                Readable::Bytes(len) => {
                    let bytes = &buffer[..len];
                    self.input(service, Some(flow), Input::Received { flow, bytes }, bytes)?;
                }
                Readable::Nothing => return Ok(()),
                Readable::PeerClosed => {
                    self.input(service, Some(flow), Input::PeerClosed { flow }, &[])?;
                    self.drop_closed(index);
                }
                Readable::Reset(reason) => return self.lost(index, reason),
            }
        }
        self.unread.insert(Token(index));
        Ok(())
    }

    fn lost(&mut self, index: usize, reason: ResetReason) -> io::Result<()> {
        let Some(Some(connection)) = self.connections.get(index) else {
            return Ok(());
        };
        let (service, flow) = (connection.service, connection.flow);
        self.drop_connection(index);
        self.input(service, Some(flow), Input::Reset { flow, reason }, &[])
    }

    fn drop_closed(&mut self, index: usize) {
        let closed = |connection: &Connection| connection.stream.is_closed();
        if self
            .connections
            .get(index)
            .and_then(Option::as_ref)
            .is_some_and(closed)
        {
            self.drop_connection(index);
        }
    }

    fn drop_connection(&mut self, index: usize) {
        let Some(mut connection) = self.connections.get_mut(index).and_then(Option::take) else {
            return;
        };
        // Deregistering can only fail for a socket that is not registered.
        drop(self.poll.registry().deregister(&mut connection.stream.socket));
        self.services[connection.service].flows.remove(&connection.flow);
        self.free.push(index);
        // Its descriptor is free for one that waits.
        let starved = std::mem::take(&mut self.starved).into_iter();
        self.unread
            .extend(starved.map(|service| Token(LISTENERS + service)));
        if self.on_link {
            connection.cpu += self.lap();
            self.reports.push(connection.into_report());
        }
    }

    /// Gives an endpoint an input and carries out what it says; the CPU time is the flow's.
    fn input(
        &mut self,
        service: usize,
        flow: Option<FlowId>,
        input: Input<'_, E::Command>,
        received: &[u8],
    ) -> io::Result<()> {
        let now = self.clock.now();
        let peer = flow.and_then(|flow| self.peer_of(service, flow));
        let endpoint = &mut self.services[service].service.endpoint;
        endpoint
            .handle_input(input, now)
            .map_err(|error| io::Error::other(error.to_string()))?;
        let mut out = std::mem::take(&mut self.out);
        loop {
            out.clear();
            match self.services[service].service.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => self.transmit(service, flow, &out),
                Output::Consumed { flow } => self.note_consumed(service, flow, received, &out),
                Output::Close { flow, reset } => self.close_flow(service, flow, reset),
                Output::Event(event) => self.observer.event(service, peer, event, now),
                Output::Timeout(at) => {
                    if let Some(at) = at {
                        self.wakes.want(service, at);
                    }
                    break;
                }
            }
        }
        self.out = out;
        let spent = self.lap();
        if let Some(flow) = flow {
            self.charge(service, flow, spent);
        }
        Ok(())
    }

    fn peer_of(&self, service: usize, flow: FlowId) -> Option<SocketAddr> {
        match self.services[service].flows.get(&flow)? {
            FlowPlace::Connection(index) => self.connections[*index]
                .as_ref()
                .map(|connection| connection.peer),
            FlowPlace::Peer { address, .. } => Some(*address),
        }
    }

    /// Charges a connection, if it is still there, with what has been spent since the last charge.
    fn charge_connection(&mut self, index: usize) {
        let spent = self.lap();
        if let Some(Some(connection)) = self.connections.get_mut(index) {
            connection.cpu += spent;
        }
    }

    fn charge(&mut self, service: usize, flow: FlowId, spent: Duration) {
        match self.services[service].flows.get_mut(&flow) {
            Some(FlowPlace::Connection(index)) => {
                if let Some(connection) = &mut self.connections[*index] {
                    connection.cpu += spent;
                }
            }
            Some(FlowPlace::Peer { cpu, .. }) => *cpu += spent,
            None => {}
        }
    }

    fn note_consumed(&mut self, service: usize, flow: FlowId, received: &[u8], out: &Buffer) {
        if !self.on_link {
            return;
        }
        match self.services[service].flows.get_mut(&flow) {
            Some(FlowPlace::Connection(index)) => {
                if let Some(connection) = &mut self.connections[*index] {
                    connection.log.consumed(Direction::Up, received, out);
                }
            }
            Some(FlowPlace::Peer { log, .. }) => log.consumed(Direction::Up, received, out),
            None => {}
        }
    }

    fn transmit(&mut self, service: usize, flow: FlowId, out: &Buffer) {
        let on_link = self.on_link;
        let running = &mut self.services[service];
        match running.flows.get_mut(&flow) {
            Some(FlowPlace::Connection(index)) => {
                let index = *index;
                let Some(connection) = &mut self.connections[index] else {
                    return;
                };
                if on_link {
                    connection.log.transmitted(Direction::Down, out);
                }
                connection.stream.queue(out.bytes());
                // A failed flush shows when the socket is read.
                let _ = connection.stream.flush();
                connection.congested |= connection.stream.is_congested();
            }
            Some(FlowPlace::Peer { address, log, .. }) => {
                if on_link {
                    log.transmitted(Direction::Down, out);
                }
                if let Listener::Udp(socket) = &running.listener {
                    // A datagram that the kernel refuses is lost; the protocol's own repair applies.
                    let _ = socket.send_to(out.bytes(), *address);
                }
            }
            None => {}
        }
    }

    fn close_flow(&mut self, service: usize, flow: FlowId, reset: bool) {
        let Some(place) = self.services[service].flows.get(&flow) else {
            return;
        };
        let FlowPlace::Connection(index) = *place else {
            return self.forget_peer(service, flow);
        };
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        if reset {
            connection.stream.abort();
            return self.drop_connection(index);
        }
        connection.stream.request_fin();
        let is_lost = connection.stream.flush().is_err();
        if self.on_link && is_lost {
            return self.drop_connection(index);
        }
        if !self.on_link {
            // The endpoint, which is being asked what to do, hears of a failure when the socket is read or given up.
            self.unread.insert(Token(index));
            self.linger(index);
        }
        self.drop_closed(index);
    }

    fn forget_peer(&mut self, service: usize, flow: FlowId) {
        let running = &mut self.services[service];
        let Some(place) = running.flows.remove(&flow) else {
            return;
        };
        if let FlowPlace::Peer { address, .. } = &place {
            running.peers.remove(address);
        }
        if self.on_link {
            self.reports.extend(place.into_report(service));
        }
    }

    fn flush(&mut self, index: usize) -> io::Result<()> {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return Ok(());
        };
        if let Err(reason) = connection.stream.flush() {
            return self.lost(index, reason);
        }
        if connection.congested && !connection.stream.is_congested() {
            connection.congested = false;
            self.unread.insert(Token(index));
            let (service, flow) = (connection.service, connection.flow);
            self.input(service, Some(flow), Input::Writable { flow }, &[])?;
        }
        self.drop_closed(index);
        Ok(())
    }
}
