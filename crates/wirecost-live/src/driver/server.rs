//! The servers' loop: one thread, one poll instance, any number of services with any number of flows.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, UdpSocket};
use mio::{Events, Interest, Poll, Token, Waker};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Buffer, Direction, Endpoint, FlowId, Input, Instant, Output, ResetReason};

use super::log::FlowLog;
use super::stream::{CONGESTION_CONTROL, Readable, Stream};
use super::wakes::Wakes;
use super::{READ_BYTES, datagram};
use crate::clock::{Clock, thread_cpu_time};
use crate::congestion::set_congestion_control;
use crate::timerfd::TimerFd;

/// A server endpoint and where it listens.
#[derive(Debug)]
pub struct Service<E> {
    /// Address and port.
    pub address: SocketAddr,
    /// What its flows run on.
    pub transport: Transport,
    /// The endpoint.
    pub endpoint: E,
}

/// Takes what the endpoints report.
pub trait Observer<E: Endpoint> {
    /// Takes an event of a service, by its index, caused by input from `peer` (none for a timer's).
    fn event(&mut self, service: usize, peer: Option<SocketAddr>, event: E::Event, now: Instant);
}

/// What a flow has left.
#[derive(Debug)]
pub struct FlowReport {
    /// The service, by index.
    pub service: usize,
    /// The other side.
    pub peer: SocketAddr,
    /// What the endpoint said of the bytes; empty unless it was asked for.
    pub log: FlowLog,
    /// CPU time of endpoint and socket calls.
    pub cpu: Duration,
}

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
    reports: Vec<FlowReport>,
    observer: O,
    wakes: Wakes,
    out: Buffer,
}

struct Running<E> {
    service: Service<E>,
    listener: Listener,
    next_flow: u32,
    /// Where a flow's socket is: a connection's index, or a peer's address.
    flows: BTreeMap<FlowId, FlowPlace>,
    peers: BTreeMap<SocketAddr, FlowId>,
}

enum Listener {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

enum FlowPlace {
    Connection(usize),
    Peer {
        address: SocketAddr,
        log: FlowLog,
        cpu: Duration,
    },
}

struct Connection {
    stream: Stream,
    service: usize,
    flow: FlowId,
    peer: SocketAddr,
    congested: bool,
    log: FlowLog,
    cpu: Duration,
}

const TIMER_TOKEN: Token = Token(usize::MAX - 1);
const STOP_TOKEN: Token = Token(usize::MAX - 2);
/// Tokens from here on are listeners; below are connections.
const LISTENERS: usize = usize::MAX / 2;

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
            reports: Vec::new(),
            observer,
            wakes: Wakes::default(),
            out: Buffer::new(),
        })
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
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            self.timer.take_expiry()?;
            for event in &events {
                match event.token() {
                    STOP_TOKEN => return Ok(self.into_finished()),
                    TIMER_TOKEN => {}
                    Token(token) if token >= LISTENERS => {
                        self.handle_listener(token - LISTENERS, &mut buffer)?
                    }
                    Token(index) => self.handle_connection(index, event, &mut buffer)?,
                }
            }
        }
    }

    fn into_finished(mut self) -> Finished<E, O> {
        for index in 0..self.connections.len() {
            self.drop_connection(index);
        }
        for (index, running) in self.services.iter_mut().enumerate() {
            for place in std::mem::take(&mut running.flows).into_values() {
                if let FlowPlace::Peer { address, log, cpu } = place {
                    self.reports.push(FlowReport {
                        service: index,
                        peer: address,
                        log,
                        cpu,
                    });
                }
            }
        }
        Finished {
            services: self.services.into_iter().map(|running| running.service).collect(),
            observer: self.observer,
            flows: self.reports,
        }
    }

    fn run_due(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        while let Some(service) = self.wakes.due(now) {
            self.input(service, None, Input::Timeout, &[])?;
        }
        Ok(())
    }

    fn handle_listener(&mut self, service: usize, buffer: &mut [u8]) -> io::Result<()> {
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
            let Ok((socket, peer)) = listener.accept() else {
                return Ok(());
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
        loop {
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
            let known = running.peers.get(&peer).copied();
            let flow = known.unwrap_or_else(|| running.new_peer(peer));
            if known.is_none() {
                self.input(service, Some(flow), Input::Opened { flow, peer }, &[])?;
            }
            let bytes = &buffer[..len];
            self.input(service, Some(flow), Input::Received { flow, bytes }, bytes)?;
        }
    }

    fn handle_connection(&mut self, index: usize, event: &Event, buffer: &mut [u8]) -> io::Result<()> {
        if event.is_writable() {
            self.flush(index)?;
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.read(index, buffer)?;
        }
        Ok(())
    }

    fn read(&mut self, index: usize, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            let Some(Some(connection)) = self.connections.get_mut(index) else {
                return Ok(());
            };
            if connection.stream.fin_received {
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
        if self.on_link {
            let Connection {
                service,
                peer,
                log,
                cpu,
                ..
            } = connection;
            self.reports.push(FlowReport {
                service,
                peer,
                log,
                cpu,
            });
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
        let before = if self.on_link {
            thread_cpu_time()
        } else {
            Duration::ZERO
        };
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
        if let Some(flow) = flow
            && self.on_link
        {
            let spent = thread_cpu_time().saturating_sub(before);
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
        if connection.stream.flush().is_err() {
            return self.drop_connection(index);
        }
        self.drop_closed(index);
    }

    fn forget_peer(&mut self, service: usize, flow: FlowId) {
        let running = &mut self.services[service];
        let Some(FlowPlace::Peer { address, log, cpu }) = running.flows.remove(&flow) else {
            return;
        };
        running.peers.remove(&address);
        if self.on_link {
            self.reports.push(FlowReport {
                service,
                peer: address,
                log,
                cpu,
            });
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
            let (service, flow) = (connection.service, connection.flow);
            self.input(service, Some(flow), Input::Writable { flow }, &[])?;
        }
        self.drop_closed(index);
        Ok(())
    }
}

impl<E> Running<E> {
    fn new_flow(&mut self) -> FlowId {
        self.next_flow += 1;
        FlowId(self.next_flow - 1)
    }

    fn new_peer(&mut self, address: SocketAddr) -> FlowId {
        let flow = self.new_flow();
        let log = FlowLog::new(Transport::Datagram);
        self.flows.insert(
            flow,
            FlowPlace::Peer {
                address,
                log,
                cpu: Duration::ZERO,
            },
        );
        self.peers.insert(address, flow);
        flow
    }
}

fn listen<E>(
    poll: &Poll,
    index: usize,
    service: Service<E>,
    congestion_control: Option<&str>,
) -> io::Result<Running<E>> {
    let token = Token(LISTENERS + index);
    let address = service.address;
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
    let listener = match service.transport {
        Transport::Stream => {
            let mut listener = TcpListener::bind(address).map_err(named)?;
            if let Some(name) = congestion_control {
                // Accepted connections inherit it; where it is refused, the run has said so.
                let _ = set_congestion_control(listener.as_fd(), name);
            }
            poll.registry()
                .register(&mut listener, token, Interest::READABLE)?;
            Listener::Tcp(listener)
        }
        Transport::Datagram => {
            let mut socket = datagram::bind(address).map_err(named)?;
            poll.registry().register(&mut socket, token, Interest::READABLE)?;
            Listener::Udp(socket)
        }
    };
    Ok(Running {
        service,
        listener,
        next_flow: 0,
        flows: BTreeMap::new(),
        peers: BTreeMap::new(),
    })
}
