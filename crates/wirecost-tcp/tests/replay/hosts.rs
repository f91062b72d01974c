//! Two hosts and the link between them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_tcp::config::FastOpen;
use wirecost_tcp::fast_open::Cookie;
use wirecost_tcp::recovery::CongestionControl;
use wirecost_tcp::{Config, Connection, ConnectionStart, Event, RestPattern, Segment};
use wirecost_wire::tcp::{Flags, SackBlocks};

use super::format::{Act, Fault, Packet, Side, Trace};

/// The largest segment on a path of 1,500 bytes.
const MAXIMUM_SEGMENT_SIZE: u16 = 1_460;
/// An IPv4 header without options.
const IP_HEADER_BYTES: usize = 20;
/// Each side's first sequence number: near the end, so that every trace wraps.
const INITIAL_SEQUENCE: [u32; 2] = [u32::MAX - 50, u32::MAX - 500];
/// What the server gives the client.
const COOKIE: [u8; 8] = [7; 8];
/// Events after which a replay is taken to be endless.
const MAX_EVENTS: usize = 100_000;

/// The segments that two connections send where a trace's applications and its link are around them.
pub(crate) fn replay(trace: &Trace) -> Vec<Packet> {
    let mut replay = Replay {
        trace,
        now: Instant::START,
        hosts: Side::ALL.map(|side| Host::new(trace, side)),
        flying: BTreeMap::new(),
        entered: [0; 2],
        departures: [Instant::START; 2],
        packets: Vec::new(),
    };
    for _ in 0..MAX_EVENTS {
        if !replay.step() {
            return replay.packets;
        }
    }
    panic!(
        "endless: the last packets are {:#?}",
        replay.packets.iter().rev().take(4)
    );
}

struct Host {
    config: Arc<Config>,
    start: ConnectionStart,
    /// The connections so far, each with its number as port; the application holds the last.
    connections: Vec<Connection>,
    pattern: RestPattern,
    has_let_go: bool,
    is_open: bool,
    is_lazy: bool,
    unwritten: usize,
}

impl Host {
    fn new(trace: &Trace, side: Side) -> Self {
        let mut config = Config::linux(MAXIMUM_SEGMENT_SIZE);
        config.nagle = trace.nagle;
        if trace.reno {
            config.recovery.congestion_control = CongestionControl::NewReno;
        }
        Self {
            config: Arc::new(config),
            start: ConnectionStart {
                sequence: INITIAL_SEQUENCE[side as usize],
                clock_phase: trace.phase,
                fast_open: trace.fast_open.then_some(FastOpen {
                    cookie: match side {
                        Side::Client => None,
                        Side::Server => Cookie::read(&COOKIE),
                    },
                }),
            },
            connections: Vec::new(),
            pattern: RestPattern::default(),
            has_let_go: true,
            is_open: false,
            is_lazy: trace.lazy.contains(&side),
            unwritten: 0,
        }
    }

    fn connection(&mut self) -> &mut Connection {
        self.connections.last_mut().expect("a connection")
    }

    fn connect(&mut self, now: Instant) {
        if let Some(fast_open) = &mut self.start.fast_open {
            let granted = self.connections.iter().rev().find_map(Connection::cookie);
            fast_open.cookie = granted.or(fast_open.cookie);
        }
        let connection = Connection::connect(Arc::clone(&self.config), self.start, now);
        self.connections.push(connection);
        self.has_let_go = false;
        self.is_open = false;
    }

    fn write(&mut self, now: Instant) {
        if self.unwritten > 0 && self.is_open {
            let bytes = vec![b'x'; self.unwritten];
            self.unwritten -= self.connection().write(&bytes, now);
        }
    }

    fn read(&mut self, limit: usize, now: Instant) -> usize {
        self.connection().read(&mut Vec::new(), limit, now)
    }

    /// Reads all there is, as a process does that runs after the interrupt, and writes what did not fit before.
    fn turn(&mut self, now: Instant) {
        let mut may_write = false;
        if let Some(connection) = self.connections.last_mut() {
            while let Some(event) = connection.poll_event() {
                self.is_open |= event == Event::Opened;
                may_write |= matches!(event, Event::Opened | Event::Writable);
            }
        }
        if self.has_let_go {
            return;
        }
        if may_write {
            self.write(now);
        }
        while !self.is_lazy && self.read(65_536, now) > 0 {}
    }

    fn act(&mut self, act: Act, now: Instant) {
        match act {
            Act::Connect => self.connect(now),
            Act::Write(bytes) => {
                let is_blocked = self.unwritten > 0;
                self.unwritten += bytes;
                if !is_blocked {
                    self.write(now);
                }
            }
            Act::Read(limit) => {
                self.read(limit, now);
            }
            Act::Eager => self.is_lazy = false,
            Act::Shutdown => self.connection().shutdown(now),
            Act::Close => self.connection().close(now),
            Act::Abort => self.connection().abort(now),
        }
        self.has_let_go |= matches!(act, Act::Close | Act::Abort);
    }
}

/// A packet on its way: to whom, on which port.
struct Flying {
    to: Side,
    port: usize,
    segment: Segment,
    payload: Vec<u8>,
}

struct Replay<'a> {
    trace: &'a Trace,
    now: Instant,
    hosts: [Host; 2],
    flying: BTreeMap<(Instant, usize), Flying>,
    entered: [usize; 2],
    /// When the last bit of each side's packets so far leaves.
    departures: [Instant; 2],
    packets: Vec<Packet>,
}

impl Replay<'_> {
    /// Goes on to the next instant at which something is due; whether there is one.
    fn step(&mut self) -> bool {
        let Some(now) = self
            .next()
            .filter(|next| *next < Instant::START + self.trace.until)
        else {
            return false;
        };
        self.now = now.max(self.now);
        self.deliver();
        self.turn();
        self.run_actions();
        self.run_timers();
        true
    }

    fn next(&self) -> Option<Instant> {
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        let action = self
            .actions_from_now()
            .next()
            .map(|(at, ..)| Instant::START + *at);
        let connections = self.hosts.iter().flat_map(|host| &host.connections);
        let timers = connections.filter_map(Connection::next_timeout);
        timers.chain(arrival).chain(action).min()
    }

    fn actions_from_now(&self) -> impl Iterator<Item = &(Duration, Side, Act)> {
        let is_ahead = |(at, ..): &&(Duration, Side, Act)| {
            Instant::START + *at > self.now || self.now == Instant::START && self.packets.is_empty()
        };
        self.trace.actions.iter().filter(is_ahead)
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let Flying {
                to,
                port,
                segment,
                payload,
            } = entry.remove();
            let host = &mut self.hosts[to as usize];
            if let Some(connection) = host.connections.get_mut(port) {
                connection.handle_segment(&segment, &payload, self.now);
            } else {
                let config = Arc::clone(&host.config);
                let accepted = Connection::accept(config, &segment, &payload, host.start, self.now);
                host.connections.push(accepted);
                host.has_let_go = false;
                host.is_open = false;
            }
            self.transmit(to);
            if self.trace.beside {
                self.turn();
            }
        }
    }

    fn turn(&mut self) {
        for side in Side::ALL {
            self.hosts[side as usize].turn(self.now);
            self.transmit(side);
        }
    }

    fn run_actions(&mut self) {
        let due = |(at, ..): &&(Duration, Side, Act)| Instant::START + *at == self.now;
        let due: Vec<_> = self.trace.actions.iter().filter(due).copied().collect();
        for (_, side, act) in due {
            self.hosts[side as usize].act(act, self.now);
            self.transmit(side);
            self.turn();
        }
    }

    fn run_timers(&mut self) {
        for side in Side::ALL {
            for connection in &mut self.hosts[side as usize].connections {
                if connection.next_timeout().is_some_and(|at| at <= self.now) {
                    connection.handle_timeout(self.now);
                }
            }
            self.transmit(side);
        }
    }

    /// Takes what a host has to send.
    fn transmit(&mut self, from: Side) {
        for port in 0..self.hosts[from as usize].connections.len() {
            loop {
                let mut payload = Vec::new();
                let host = &mut self.hosts[from as usize];
                let connection = &mut host.connections[port];
                let Some(transmit) = connection.poll_transmit(&mut payload, self.now) else {
                    // As often as it can: what follows must not depend on it.
                    connection.rest(&mut host.pattern);
                    break;
                };
                self.enter(from, port, transmit.segment, payload);
            }
        }
    }

    fn enter(&mut self, from: Side, port: usize, segment: Segment, payload: Vec<u8>) {
        self.packets.push(self.describe(from, &segment, payload.len()));
        self.entered[from as usize] += 1;
        let key = (from, self.entered[from as usize]);
        let faults = self.trace.faults.get(&key).map_or(&[][..], Vec::as_slice);
        if faults.contains(&Fault::Drop) {
            return;
        }
        let wire_bytes = IP_HEADER_BYTES + segment.header_bytes() + payload.len();
        let mut at = self.depart(from, wire_bytes) + self.trace.delay;
        let mut copies = Vec::new();
        for fault in faults {
            match *fault {
                Fault::Drop | Fault::Lose => return,
                Fault::Hold(time) => at += time,
                Fault::Again(time) => copies.push(at + time),
            }
        }
        copies.push(at);
        for at in copies {
            let order = self.packets.len();
            let (to, payload) = (from.other(), payload.clone());
            self.flying.insert(
                (at, order),
                Flying {
                    to,
                    port,
                    segment,
                    payload,
                },
            );
        }
    }

    fn depart(&mut self, from: Side, wire_bytes: usize) -> Instant {
        let departure = &mut self.departures[from as usize];
        if let Some(rate) = self.trace.rate {
            let serialisation = Duration::from_secs_f64(8.0 * wire_bytes as f64 / rate);
            *departure = self.now.max(*departure) + serialisation;
        }
        self.now.max(*departure)
    }

    fn describe(&self, from: Side, segment: &Segment, bytes: usize) -> Packet {
        let relative = |number: u32, of: Side| number.wrapping_sub(INITIAL_SEQUENCE[of as usize]);
        let has_ack = segment.flags.contains(Flags::ACK);
        let acknowledgment = relative(segment.acknowledgment, from.other());
        Packet {
            at: self.now.saturating_since(Instant::START),
            from,
            flags: flags(segment.flags),
            sequence: relative(segment.sequence, from),
            bytes: u32::try_from(bytes).expect("a segment's length"),
            acknowledgment: if has_ack { acknowledgment } else { 0 },
            window: segment.window,
            options: options(segment, |edge| relative(edge, from.other())),
        }
    }
}

fn flags(flags: Flags) -> String {
    let names = [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ACK, 'A'),
    ];
    let set = names.iter().filter(|(flag, _)| flags.contains(*flag));
    set.map(|(_, name)| *name).collect()
}

fn options(segment: &Segment, relative: impl Fn(u32) -> u32) -> String {
    let mut text = String::new();
    if let Some(bytes) = segment.maximum_segment_size {
        text += &format!(" mss {bytes}");
    }
    if segment.sack_permitted {
        text += " sack-permitted";
    }
    if segment.timestamps.is_some() && segment.flags.contains(Flags::SYN) {
        text += " timestamps";
    }
    if let Some(scale) = segment.window_scale {
        text += &format!(" scale {scale}");
    }
    if let Some(cookie) = segment.fast_open {
        text += &format!(" cookie {}", cookie.as_bytes().len());
    }
    text + &sack(&segment.sack, relative)
}

fn sack(blocks: &SackBlocks, relative: impl Fn(u32) -> u32) -> String {
    let edges =
        |block: &wirecost_wire::tcp::SackBlock| format!("{}-{}", relative(block.left), relative(block.right));
    let blocks: Vec<String> = blocks.iter().map(|block| edges(&block)).collect();
    if blocks.is_empty() {
        return String::new();
    }
    format!(" sack {}", blocks.join(","))
}
