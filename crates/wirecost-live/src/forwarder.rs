//! Runs the link: reads packets from one port, passes them through the device's link object, writes them to the other
//! port, and records them at entry.
//!
//! A packet enters (is time-stamped, decided upon and recorded) when it is read from its port. It is written to the
//! other port at the time that its link has decided. Deadlines use an absolute timerfd, set earlier than the deadline
//! by `SPIN`. The loop spins for the rest, because a sleeping thread wakes tens of microseconds late.
//!
//! The path itself takes time: a packet waits until the forwarder wakes and stamps it, and once handed over it passes
//! through the other side's stack. The least time of the path is measured ([`crate::check::head_start`]) and subtracted
//! from the link's delay, as far as it has any.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use wirecost_proto::bare::Transport;
use wirecost_proto::hosts::{HostIndex, device_of, site_of};
use wirecost_proto::path::Links;
use wirecost_proto::record::RecordedDelivery;
use wirecost_proto::{Delivery, Direction, Fate, Instant, Path};
use wirecost_stats::Histogram;
use wirecost_wire::ip::{self, Protocol};
use wirecost_wire::port::{self, Port};

use crate::activity::Activity;
use crate::clock::{Clock, thread_cpu_time};
use crate::idle::{IdleCpus, KeepAwake};
use crate::port::PacketPort;
use crate::priority::{self, Duty, Priority};
use crate::recorder::{Recorder, Recording};
use crate::timerfd::TimerFd;

/// How long before a deadline the forwarder stops sleeping: more than a wake-up takes on a busy machine.
pub(crate) const SPIN: Duration = Duration::from_micros(60);

/// The same if the hosts share the forwarder's CPU: no reader takes a socket between two packets of a burst whose
/// sender was delayed by less. Packets with a smaller gap at the link's rate keep the hosts off the CPU.
const SHARED_SPIN: Duration = Duration::from_micros(300);

/// The most packets read from one port before due deliveries have their turn.
const BATCH: usize = 32;
/// The most turns of reading, delivering and spinning before the loop polls other events.
const ROUNDS: usize = 1_024;
/// Larger than any IP packet.
const PACKET_BYTES: usize = 65_536;

/// The tokens of ports count from 0.
const TIMER_TOKEN: Token = Token(1_000);
const STOP_TOKEN: Token = Token(1_001);
/// The devices' port. Those of the servers' sites follow it.
const DEVICES: usize = 0;

/// Two sites whose servers exchange packets, and the hosts whose links these packets cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// The sites. The first one's packets go up.
    pub sites: [u8; 2],
    /// The host whose link the packets cross.
    pub host: HostIndex,
    /// The host whose link the packets of the check cross.
    pub check: HostIndex,
}

/// Carries packets between the devices' and the server's side until it is stopped.
pub struct Forwarder<L> {
    /// The devices' port, then one for each site of servers.
    ports: Vec<PacketPort>,
    /// The links between sites of servers.
    between: Vec<Between>,
    links: L,
    recorder: Recorder,
    clock: Clock,
    activity: Arc<Activity>,
    poll: Poll,
    timer: TimerFd,
    stop: Arc<Waker>,
    pending: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    order: u64,
    slots: Vec<Slot>,
    free: Vec<usize>,
    deliveries: Vec<Delivery>,
    statistics: Statistics,
    lateness: Histogram,
    shares_one_cpu: bool,
}

/// A packet in transit.
struct Slot {
    bytes: Vec<u8>,
    /// The port that it leaves by.
    to: usize,
    record: u64,
    /// Whether none of its bits was flipped.
    intact: bool,
}

/// The end of a turn.
enum Pause {
    /// No work until a port, the timer or the stopper wakes the loop.
    UntilWoken,
    /// More work at once, after a poll.
    Glance,
}

/// The forwarder's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that entered.
    pub entered: u64,
    /// Copies that left.
    pub delivered: u64,
    /// Copies that the other port refused.
    pub refused: u64,
    /// CPU time of the forwarder's thread.
    pub cpu: Duration,
}

/// The result of a stopped forwarder.
pub struct Finished<L> {
    /// The packets.
    pub recording: Recording,
    /// The links, with their counters.
    pub links: L,
    /// The forwarder's counters.
    pub statistics: Statistics,
    /// How late packets were handed over, in nanoseconds.
    pub lateness: Histogram,
    /// The ports, with their drop counters.
    pub ports: Vec<PacketPort>,
    /// The priority that the machine granted to the forwarder's thread.
    pub priority: Priority,
    /// What idle CPUs did during the run.
    pub idle_cpus: IdleCpus,
    /// How long before their time packets were handed over, to compensate for the path itself.
    pub head_start: Duration,
}

impl<L> Finished<L> {
    /// Packets that an interface dropped or refused, which the figures lack.
    ///
    /// # Errors
    /// The interfaces' counters cannot be read.
    pub fn dropped(&self) -> io::Result<u64> {
        let mut dropped = self.statistics.refused;
        for port in &self.ports {
            let drops = port.drops()?;
            dropped += drops.transmitted + drops.received;
        }
        Ok(dropped)
    }
}

impl<L: Links + Send> Forwarder<L> {
    /// A forwarder between the devices' port, which is the first, and the ports of the servers' sites.
    ///
    /// # Errors
    /// The kernel has no poll instance, timer or event left.
    pub fn new(
        ports: impl Into<Vec<PacketPort>>,
        links: L,
        recorder: Recorder,
        clock: Clock,
        activity: Arc<Activity>,
    ) -> io::Result<Self> {
        let (poll, timer) = TimerFd::with_poll(TIMER_TOKEN)?;
        let ports = ports.into();
        for (number, port) in ports.iter().enumerate() {
            poll.registry().register(
                &mut SourceFd(&port.as_raw_fd()),
                Token(number),
                Interest::READABLE,
            )?;
        }
        let stop = Arc::new(Waker::new(poll.registry(), STOP_TOKEN)?);
        Ok(Self {
            ports,
            between: Vec::new(),
            links,
            recorder,
            clock,
            activity,
            poll,
            timer,
            stop,
            pending: BinaryHeap::new(),
            order: 0,
            slots: Vec::new(),
            free: Vec::new(),
            deliveries: Vec::new(),
            statistics: Statistics::default(),
            lateness: Histogram::new(),
            shares_one_cpu: false,
        })
    }

    /// Runs the forwarder on the CPU of the hosts if `shares_one_cpu` ([`priority::share_one_cpu`]).
    #[must_use]
    pub fn on_one_cpu(self, shares_one_cpu: bool) -> Self {
        Self {
            shares_one_cpu,
            ..self
        }
    }

    /// Carries the packets between servers of these sites.
    #[must_use]
    pub fn with_links_between(self, between: Vec<Between>) -> Self {
        Self { between, ..self }
    }

    /// Stops the forwarder from any thread.
    pub fn stopper(&self) -> Arc<Waker> {
        Arc::clone(&self.stop)
    }

    /// Forwards until the stopper wakes it, at the highest priority that the calling thread may have. Packets in
    /// transit are dropped at the end.
    ///
    /// # Errors
    /// Polling or reading a port failed.
    pub fn run(mut self) -> io::Result<Finished<L>> {
        let priority = priority::raise(Duty::Link);
        // A CPU that sleeps deeply takes up to a hundred microseconds to wake (docs/decisions/0026).
        let vigil = KeepAwake::hold();
        if self.shares_one_cpu {
            priority::share_one_cpu()?;
        }
        let mut events = Events::with_capacity(8);
        let mut buffer = vec![0; PACKET_BYTES];
        loop {
            let timeout = match self.carry(&mut buffer)? {
                Pause::UntilWoken => None,
                // Traffic without end: only a glance at the stop, then on.
                Pause::Glance => Some(Duration::ZERO),
            };
            self.poll.poll(&mut events, timeout).or_else(ignore_interrupt)?;
            if events.iter().any(|event| event.token() == STOP_TOKEN) {
                break;
            }
            self.timer.take_expiry()?;
        }
        self.statistics.cpu = thread_cpu_time();
        Ok(Finished {
            recording: self.recorder.finish(),
            links: self.links,
            statistics: self.statistics,
            lateness: self.lateness,
            ports: self.ports,
            priority,
            idle_cpus: vigil.idle_cpus(),
            head_start: self.activity.head_start(),
        })
    }

    /// Reads and delivers until nothing is readable and nothing is due within [`SPIN`], then sets the timer. Returns
    /// after [`ROUNDS`] turns at the latest, so that endless traffic does not delay the stop.
    fn carry(&mut self, buffer: &mut [u8]) -> io::Result<Pause> {
        let spin = if self.shares_one_cpu { SHARED_SPIN } else { SPIN };
        for _ in 0..ROUNDS {
            let mut any = false;
            for port in 0..self.ports.len() {
                any |= self.receive(port, buffer)?;
            }
            self.deliver_due();
            // While packets come, reading and delivering take turns. The timer, a system call, is for when nothing does.
            if any {
                continue;
            }
            match self.pending.peek() {
                // To sleep and wake takes longer than what is left.
                Some(Reverse((due, ..))) if *due <= self.clock.now() + spin => std::hint::spin_loop(),
                Some(Reverse((due, ..))) => {
                    self.timer.arm(&self.clock, *due - spin)?;
                    return Ok(Pause::UntilWoken);
                }
                None => return Ok(Pause::UntilWoken),
            }
        }
        Ok(Pause::Glance)
    }

    /// Reads up to a batch of packets from one port. Returns whether there were any.
    fn receive(&mut self, from: usize, buffer: &mut [u8]) -> io::Result<bool> {
        for taken in 0..BATCH {
            let port = &mut self.ports[from];
            let Some(len) = port.receive(buffer)? else {
                return Ok(taken > 0);
            };
            self.enter(from, &mut buffer[..len]);
        }
        Ok(true)
    }

    /// Decides upon a packet. It is recorded with the device's own port: up before the address translator, down after it.
    fn enter(&mut self, from: usize, bytes: &mut [u8]) {
        let now = self.clock.now();
        self.deliveries.clear();
        let Way { host, direction, to } = self.way(from, bytes);
        // An address of the devices' prefix without a device, as of another program, has no link.
        let mut link = host.and_then(|host| self.links.link(host));
        let host = link.as_ref().and(host);
        let leaves_from = match &mut link {
            Some(link) => match translated(*link, direction, bytes, now) {
                Ok(seen) => seen,
                Err(NoMapping) => return,
            },
            None => None,
        };
        self.statistics.entered += 1;
        let fate = match link {
            Some(link) => link.offer(direction, bytes.len(), now, &mut self.deliveries),
            None => {
                self.deliveries.push(Delivery {
                    at: now,
                    flip_bit: None,
                });
                Fate::Delivered
            }
        };
        // Before the translation: the capture shows what the device sent.
        let record = self.recorder.packet(host, direction, now, fate, bytes);
        // A run whose disk is full ends early instead of measuring what it cannot keep.
        if self.recorder.has_failed() {
            self.activity.fail_recording();
        }
        if let Some(host) = host {
            // A host is quiet only when its last packet has arrived, not when it was sent.
            let last = self.deliveries.iter().map(|delivery| delivery.at).max();
            self.activity.note(host, last.unwrap_or(now).max(now));
        }
        if let Some(seen) = leaves_from {
            port::replace(bytes, Port::Source, seen);
        }
        let head_start = self.activity.head_start();
        for copy in 0..self.deliveries.len() {
            let Delivery { at, flip_bit } = self.deliveries[copy];
            // The path itself takes `head_start`: a packet that leaves so much earlier arrives when it should (docs/decisions/0009).
            let at = now + at.saturating_since(now).saturating_sub(head_start);
            self.schedule(to, record, Delivery { at, flip_bit }, bytes);
        }
    }

    /// Where a packet goes, by its addresses.
    fn way(&self, from: usize, bytes: &[u8]) -> Way {
        let direction = if from == DEVICES {
            Direction::Up
        } else {
            Direction::Down
        };
        let host = device_host(direction, bytes);
        // With one server there is no choice, and no header need be read.
        if self.ports.len() == 2 {
            let to = 1 - from;
            return Way { host, direction, to };
        }
        let packet = ip::Packet::new(bytes).ok();
        let ends = packet.map(|packet| [packet.source(), packet.destination()].map(site_of));
        let port = |site: u8| 1 + usize::from(site);
        match ends {
            Some([_, Some((site, _))]) if from == DEVICES && port(site) < self.ports.len() => Way {
                host,
                direction,
                to: port(site),
            },
            Some([Some((own, own_checks)), Some((other, other_checks))])
                if port(other) < self.ports.len() =>
            {
                let is_up = self.between.iter().find(|link| link.sites == [own, other]);
                let is_down = self.between.iter().find(|link| link.sites == [other, own]);
                let host = is_up.or(is_down).map(|link| match own_checks || other_checks {
                    true => link.check,
                    false => link.host,
                });
                Way {
                    host,
                    direction: if is_up.is_some() {
                        Direction::Up
                    } else {
                        Direction::Down
                    },
                    to: port(other),
                }
            }
            _ => Way {
                host,
                direction,
                to: if from == DEVICES { port(0) } else { DEVICES },
            },
        }
    }

    fn schedule(&mut self, to: usize, record: u64, delivery: Delivery, bytes: &[u8]) {
        // Slots are used again, so that a packet in steady state allocates nothing.
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                bytes: Vec::new(),
                to,
                record,
                intact: true,
            });
            self.slots.len() - 1
        });
        let held = &mut self.slots[slot];
        held.bytes.clear();
        held.bytes.extend_from_slice(bytes);
        held.to = to;
        held.record = record;
        held.intact = delivery.flip_bit.is_none();
        if let Some(bit) = delivery.flip_bit
            && let Some(byte) = held.bytes.get_mut(bit as usize / 8)
        {
            *byte ^= 0x80 >> (bit % 8);
            // A port refuses packets of another IP version, and would count them as dropped by the machine.
            if bit < 4 && !matches!(held.bytes[0] >> 4, 4 | 6) {
                return self.free.push(slot);
            }
        }
        self.order += 1;
        // The order of arrival decides between equal times: a binary heap alone would swap packets of a burst.
        self.pending.push(Reverse((delivery.at, self.order, slot)));
    }

    fn deliver_due(&mut self) {
        while let Some(&Reverse((planned, _, slot))) = self.pending.peek() {
            // Read for each packet: sending takes microseconds, and a burst would have the time of its first one.
            let actual = self.clock.now();
            if planned > actual {
                return;
            }
            self.pending.pop();
            let Slot {
                bytes,
                to,
                record,
                intact,
            } = &self.slots[slot];
            match self.ports[*to].send(bytes) {
                Ok(()) => {
                    self.statistics.delivered += 1;
                    let late = actual.saturating_since(planned).as_nanos();
                    self.lateness.record(u64::try_from(late).unwrap_or(u64::MAX));
                    self.recorder.delivery(RecordedDelivery {
                        packet: *record,
                        planned,
                        actual,
                        intact: *intact,
                    });
                }
                // A full queue of the interface. It is counted as dropped by the machine, which makes cells invalid.
                Err(_) => self.statistics.refused += 1,
            }
            self.free.push(slot);
        }
    }
}

/// Where a packet goes.
struct Way {
    /// The host whose link the packet crosses; `None` if it is neither of a device nor between two sites of servers.
    host: Option<HostIndex>,
    direction: Direction,
    /// The port that it leaves by.
    to: usize,
}

/// A packet to a device for which the address translator has no mapping.
struct NoMapping;

/// Passes a packet through its link's address translator. A packet to the device gets the device's own port at once. Returns
/// the port that the server sees of a packet from the device, if it is another one.
fn translated(
    link: &mut dyn Path,
    direction: Direction,
    bytes: &mut [u8],
    now: Instant,
) -> Result<Option<u16>, NoMapping> {
    let Ok(packet) = ip::Packet::new(bytes) else {
        return Ok(None);
    };
    let Some((source, destination)) = packet.ports() else {
        return Ok(None);
    };
    let transport = if packet.protocol() == Protocol::Tcp {
        Transport::Stream
    } else {
        Transport::Datagram
    };
    let (address, port) = match direction {
        Direction::Up => (packet.source(), source),
        Direction::Down => (packet.destination(), destination),
    };
    let other = link.translate(direction, (transport, address), port, now);
    // A NAT drops what comes from outside without a mapping (RFC 4787, section 5).
    let other = other.ok_or(NoMapping)?;
    if other == port {
        return Ok(None);
    }
    if direction == Direction::Down {
        port::replace(bytes, Port::Destination, other);
        return Ok(None);
    }
    Ok(Some(other))
}

/// The device that a packet comes from (up) or goes to (down).
fn device_host(direction: Direction, bytes: &[u8]) -> Option<HostIndex> {
    let packet = ip::Packet::new(bytes).ok()?;
    device_of(match direction {
        Direction::Up => packet.source(),
        Direction::Down => packet.destination(),
    })
}

fn ignore_interrupt(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::Interrupted {
        Ok(())
    } else {
        Err(error)
    }
}
