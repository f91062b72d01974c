//! The servers' loop: one thread, one poll instance, any number of services with any number of flows.

mod budget;
mod connections;
mod flows;
mod listening;
pub(super) use listening::listen_at;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Token, Waker};
use wirecost_proto::driver::{FlowReport, Service, ServiceObserver, Writing};
use wirecost_proto::{Buffer, Congestion, Direction, Endpoint, FlowId, Input, Instant, Output};

use super::READ_BYTES;
use super::calls::{self, SocketCalls};
use super::datagram::{MOST_WAITING, Received};
use super::stream::Stream;
use super::wakes::Wakes;
use crate::clock::{Clock, thread_cpu_time};
use crate::timerfd::TimerFd;
use budget::{Budget, STALL};
use connections::Lingering;
use flows::Flows;
use listening::{Listener, Port, Running, listen};

/// The result of a stopped loop.
#[derive(Debug)]
pub struct Finished<E, O> {
    /// The services, with their endpoints.
    pub services: Vec<Service<E>>,
    /// The observer.
    pub observer: O,
    /// All flows, if logs were enabled.
    pub flows: Vec<FlowReport>,
    /// System calls on connections and on datagram services' sockets.
    pub calls: SocketCalls,
}

/// Runs services until it is stopped.
pub struct ServerLoop<E: Endpoint, O> {
    clock: Clock,
    poll: Poll,
    timer: TimerFd,
    /// When the timer fires; `None` if it is not armed.
    armed: Option<Instant>,
    stop: Arc<Waker>,
    on_link: bool,
    writing: Writing,
    services: Vec<Running<E>>,
    flows: Flows,
    /// Connections that may have unread data, because something has arrived.
    unread: Vec<FlowId>,
    /// Connections whose turn ended before everything was read. They share [`BACKLOG_TIME`] of each turn of the loop.
    backlog: VecDeque<FlowId>,
    /// When the turn of the connection that is being read ends.
    turn_ends: Option<Instant>,
    budget: Budget,
    /// Flows that have ended for want of room, and whose endpoints do not know it yet.
    doomed: Vec<FlowId>,
    /// Services that may have new connections or datagrams.
    unheard: Vec<usize>,
    /// Connections with queued output that the kernel has not received.
    unflushed: Vec<FlowId>,
    /// The connection that is being read off the link, and its collected output.
    at_hand: Option<FlowId>,
    answer: Vec<u8>,
    /// Services with connections that wait for a descriptor.
    starved: BTreeSet<usize>,
    /// The thread's CPU time when it was last charged.
    lap: Duration,
    reports: Vec<FlowReport>,
    observer: O,
    wakes: Wakes,
    /// Connections that this side has closed, in the order of their next check.
    lingering: VecDeque<Lingering>,
    linger: Duration,
    /// How long nothing may move on a flow on which something is unfinished, if there is a budget.
    stall: Duration,
    max_peers: usize,
    out: Buffer,
    /// The receive buffer of datagrams; `None` while its datagrams are handled, and before the first.
    received: Option<Box<Received>>,
    /// The thread's system calls before the loop ran.
    calls_before: SocketCalls,
}

const TIMER_TOKEN: Token = Token(usize::MAX - 1);
const STOP_TOKEN: Token = Token(usize::MAX - 2);
/// Tokens from here on are listeners. Lower tokens are connections.
const LISTENERS: usize = usize::MAX / 2;
/// The most reads of one socket before other sockets, the timers and the stopper have their turn.
const READS_PER_TURN: usize = 64;
/// How long one connection is read off the link before others have their turn. The pieces of a read may cause any number of
/// answers, so that a number of reads limits nothing.
const TURN_TIME: Duration = Duration::from_micros(250);
/// How long connections are read, within a turn of the loop, that had a turn before and have more.
const BACKLOG_TIME: Duration = Duration::from_millis(5);
/// How long connections are read, within a turn of the loop, on which something has just arrived: what one of them may wait for
/// the others. They share it equally, but none has less than [`LEAST_TURN_TIME`].
const ARRIVED_TIME: Duration = Duration::from_millis(10);
/// One read of [`FEW_BYTES`] and the handling of some messages.
const LEAST_TURN_TIME: Duration = Duration::from_micros(20);
/// The most bytes that one read takes in a turn shorter than [`TURN_TIME`]. What the turn does not handle of them takes memory until the
/// connection's next turn.
const FEW_BYTES: usize = 8_192;
/// The default number of peers that a datagram service remembers.
const MAX_PEERS: usize = 65_536;
/// The default time that a client may leave its side open after the server has closed.
const LINGER: Duration = Duration::from_secs(60);

/// How long the turn of each connection is when `connections` of them have news.
fn turn_of(connections: usize) -> Duration {
    let share = ARRIVED_TIME / u32::try_from(connections.max(1)).unwrap_or(u32::MAX);
    share.clamp(LEAST_TURN_TIME, TURN_TIME)
}

impl<E, O> ServerLoop<E, O>
where
    E: Endpoint<Error: std::fmt::Display>,
    O: ServiceObserver<E>,
{
    /// A loop whose services listen when this returns. On the emulated link (`on_link`) the log of every flow is kept
    /// until the end and TCP uses cubic. Elsewhere there is no log, and the machine's settings apply.
    ///
    /// # Errors
    /// An address is taken or cannot be bound. The error's text names it.
    pub fn new(services: Vec<Service<E>>, clock: Clock, observer: O, on_link: bool) -> io::Result<Self> {
        Self::listening(services, clock, observer, on_link, Port::Alone)
    }

    /// A loop off the link that shares its ports with other such processes: the kernel assigns each connection, and
    /// each peer's datagrams, to one of them (socket(7), `SO_REUSEPORT`).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn sharing_ports(services: Vec<Service<E>>, clock: Clock, observer: O) -> io::Result<Self> {
        Self::listening(services, clock, observer, false, Port::Shared)
    }

    fn listening(
        services: Vec<Service<E>>,
        clock: Clock,
        observer: O,
        on_link: bool,
        port: Port,
    ) -> io::Result<Self> {
        let (poll, timer) = TimerFd::with_poll(TIMER_TOKEN)?;
        let stop = Arc::new(Waker::new(poll.registry(), STOP_TOKEN)?);
        let services = services.into_iter().enumerate();
        let services = services.map(|(index, service)| listen(&poll, index, service, port));
        let server = Self {
            clock,
            services: services.collect::<io::Result<_>>()?,
            poll,
            timer,
            armed: None,
            stop,
            on_link,
            writing: Writing::default(),
            flows: Flows::default(),
            unread: Vec::new(),
            backlog: VecDeque::new(),
            turn_ends: None,
            budget: Budget::new(None),
            doomed: Vec::new(),
            unheard: Vec::new(),
            unflushed: Vec::new(),
            at_hand: None,
            answer: Vec::new(),
            starved: BTreeSet::new(),
            lap: Duration::ZERO,
            reports: Vec::new(),
            observer,
            wakes: Wakes::default(),
            lingering: VecDeque::new(),
            linger: LINGER,
            stall: STALL,
            max_peers: MAX_PEERS,
            out: Buffer::new(),
            received: None,
            calls_before: SocketCalls::default(),
        };
        Ok(server.with_congestion(Congestion::default()))
    }

    /// Leaves Nagle's algorithm on at the sockets of accepted connections.
    #[must_use]
    pub fn with_nagle(mut self, nagle: bool) -> Self {
        self.writing.nagle = nagle;
        self
    }

    /// The congestion control of connections on the emulated link, even if the machine's default is another one; elsewhere the machine's
    /// setting applies. Call it before a client connects.
    #[must_use]
    pub fn with_congestion(self, congestion: Congestion) -> Self {
        for service in self.services.iter().filter(|_| self.on_link) {
            service.listener.choose(congestion);
        }
        self
    }

    /// Sets how long the loop waits for clients that neither close their side after the server has, nor read the rest
    /// of its data. Then it leaves the connection to the kernel. The default is a minute, and no limit on the emulated
    /// link, where nothing may happen that no protocol caused.
    #[must_use]
    pub fn with_linger(self, linger: Duration) -> Self {
        Self { linger, ..self }
    }

    /// Sets how many peers a datagram service remembers off the link. Beyond that, a new peer replaces the oldest. The
    /// default is 65,536.
    #[must_use]
    pub fn with_max_peers(self, max_peers: usize) -> Self {
        Self { max_peers, ..self }
    }

    /// The address of the first service. If you asked for port 0, the kernel has chosen the port.
    pub fn address(&self) -> Option<SocketAddr> {
        self.services.first().map(|running| running.service.address)
    }

    /// Stops the loop from any thread.
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
        self.calls_before = calls::so_far();
        let (mut reading, mut hearing) = (Vec::new(), Vec::new());
        loop {
            self.run_due()?;
            // Answers of one turn leave together, in one system call per connection.
            self.flush_queued()?;
            for service in 0..self.services.len() {
                self.send_datagrams(service);
            }
            let timeout = self.arm()?;
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                match event.token() {
                    STOP_TOKEN => return Ok(self.into_finished()),
                    TIMER_TOKEN => self.armed = None,
                    Token(token) => self.note(token, event)?,
                }
            }
            std::mem::swap(&mut self.unread, &mut reading);
            let turn = turn_of(reading.len());
            for flow in reading.drain(..) {
                self.read(flow, turn, &mut buffer)?;
                self.end_doomed()?;
            }
            // After those that have just arrived: one busy connection must not keep the others waiting.
            self.read_backlog(&mut buffer)?;
            std::mem::swap(&mut self.unheard, &mut hearing);
            for service in hearing.drain(..) {
                self.hear(service)?;
            }
            self.end_doomed()?;
        }
    }

    fn into_finished(mut self) -> Finished<E, O> {
        let flows = self.flows.drain();
        self.reports.extend(flows.filter_map(flows::Flow::into_report));
        Finished {
            services: self.services.into_iter().map(|running| running.service).collect(),
            observer: self.observer,
            flows: self.reports,
            calls: calls::so_far().since(self.calls_before),
        }
    }

    fn run_due(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        self.lap();
        while let Some(owner) = self.wakes.due(now) {
            // The owners after the last service handle closed and stalled connections.
            if owner < self.services.len() {
                self.input(owner, None, Input::Timeout, &[])?;
            } else if owner > self.services.len() {
                self.end_stalled(now);
            }
        }
        self.end_doomed()?;
        self.end_lingering(now)
    }

    /// Sets the timer to the next deadline. Returns how long the poll may last.
    fn arm(&mut self) -> io::Result<Option<Duration>> {
        let is_busy = !self.unread.is_empty() || !self.backlog.is_empty();
        if is_busy || !self.unheard.is_empty() || !self.unflushed.is_empty() {
            return Ok(Some(Duration::ZERO));
        }
        // An early timer costs less than setting it for each message.
        if let Some(next) = self.wakes.next()
            && self.armed.is_none_or(|armed| next < armed)
        {
            self.timer.arm(&self.clock, next)?;
            self.armed = Some(next);
        }
        Ok(None)
    }

    fn note(&mut self, token: usize, event: &Event) -> io::Result<()> {
        if let Some(service) = token.checked_sub(LISTENERS) {
            self.hear_later(service);
            return Ok(());
        }
        self.note_connection(FlowId(token as u32), event)
    }

    fn hear_later(&mut self, service: usize) {
        if !std::mem::replace(&mut self.services[service].is_unheard, true) {
            self.unheard.push(service);
        }
    }

    /// Passes an input to an endpoint, handles its events, and charges the CPU time to the flow.
    fn input(
        &mut self,
        service: usize,
        flow: Option<FlowId>,
        input: Input<'_, E::Command>,
        received: &[u8],
    ) -> io::Result<()> {
        let now = self.clock.now();
        let peer = flow.and_then(|flow| self.flows.get(flow)).map(|flow| flow.peer);
        let endpoint = &mut self.services[service].service.endpoint;
        endpoint.handle_input(input, now).map_err(ended)?;
        // Taken out and put back, so that it is not allocated for each input.
        let mut out = std::mem::take(&mut self.out);
        loop {
            out.clear();
            match self.services[service].service.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => {
                    if self.transmit(flow, &out) {
                        self.tell_congested(service, flow, now)?;
                    }
                }
                Output::Consumed { flow } => self.note_consumed(flow, received, &out),
                Output::Close { flow, reset } => self.close_flow(flow, reset),
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
        if let Some(flow) = flow {
            self.charge(flow);
            self.weigh(flow);
        }
        Ok(())
    }

    fn tell_congested(&mut self, service: usize, flow: FlowId, now: Instant) -> io::Result<()> {
        let endpoint = &mut self.services[service].service.endpoint;
        endpoint
            .handle_input(Input::Congested { flow }, now)
            .map_err(ended)
    }

    fn note_consumed(&mut self, flow: FlowId, received: &[u8], out: &Buffer) {
        let Some(flow) = self.flows.get_mut(flow) else {
            return;
        };
        flow.holding.has_spoken |= !out.spans().is_empty();
        if let Some(account) = flow.account.as_mut() {
            account.log.consumed(Direction::Up, received, out);
        }
    }

    /// Sends an endpoint's output. Returns whether the unsent output has become so large that the endpoint must be
    /// notified.
    fn transmit(&mut self, id: FlowId, out: &Buffer) -> bool {
        let Some(flow) = self.flows.get_mut(id) else {
            return false;
        };
        if let Some(account) = &mut flow.account {
            account.log.transmitted(Direction::Down, out);
        }
        if flow.connection.is_some() {
            return self.transmit_stream(id, out);
        }
        let (service, peer) = (flow.service, flow.peer);
        if let Listener::Udp(_, batch) = &mut self.services[service].listener {
            batch.push_to(out.bytes(), peer);
            // On a link each datagram has a time of its own; elsewhere one system call sends many.
            if self.on_link || batch.len() >= MOST_WAITING {
                self.send_datagrams(service);
            }
        }
        false
    }

    fn close_flow(&mut self, id: FlowId, reset: bool) {
        match self.flows.get(id).map(|flow| flow.connection.is_some()) {
            Some(true) => self.close_connection(id, reset),
            Some(false) => self.forget_peer(id),
            None => {}
        }
    }

    /// Charges a flow that still exists with the CPU time since the last charge.
    fn charge(&mut self, flow: FlowId) {
        let spent = self.lap();
        if !spent.is_zero()
            && let Some(account) = self.flows.get_mut(flow).and_then(|flow| flow.account.as_mut())
        {
            account.cpu += spent;
        }
    }

    /// The CPU time of the thread since the last call; zero if it is not charged to flows.
    fn lap(&mut self) -> Duration {
        if !self.on_link {
            return Duration::ZERO;
        }
        let before = std::mem::replace(&mut self.lap, thread_cpu_time());
        self.lap.saturating_sub(before)
    }
}

fn ended(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_connections_on_which_something_has_arrived_share_a_time() {
        assert_eq!([turn_of(0), turn_of(1), turn_of(40)], [TURN_TIME; 3]);
        assert_eq!(turn_of(200) * 200, ARRIVED_TIME);
        assert_eq!(turn_of(100_000), LEAST_TURN_TIME);
    }
}
