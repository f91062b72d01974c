//! Counts packets and bytes to and from a server on the real path, without keeping them.
//!
//! Packets count between this machine and the server's address and port: those of the run's own sockets if they are known, or else
//! every one, whichever program sent it.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use wirecost_proto::{BothWays, Direction, Instant};

use crate::clock::Clock;
use crate::driver::Stopper;
use crate::emulation::Meter;
use crate::observer::direction_of;
use crate::own_sockets::OwnSockets;
use crate::sniffer::{Sniffed, Sniffer};

const PACKETS: Token = Token(0);
const STOP: Token = Token(1);
/// How long the last packets may take from the socket to the interface.
const LINGER: Duration = Duration::from_millis(50);
/// How long a packet waits for the note of its socket.
const HELD: Duration = Duration::from_secs(1);
/// The most packets that wait: another program may send any number.
const MOST_HELD: usize = 65_536;

/// A running count. Dropping it stops it.
#[derive(Debug)]
pub struct WireMeter {
    meter: Arc<Meter>,
    stop: Stopper,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

impl WireMeter {
    /// Begins to count the packets of `own` sockets to and from `server`, or else all of them, in the calling thread's namespace.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW.
    pub fn start(server: SocketAddr, own: Option<Arc<OwnSockets>>, clock: Clock) -> io::Result<Self> {
        let sniffer = Sniffer::open(clock)?;
        let poll = Poll::new()?;
        let fd = sniffer.as_fd().as_raw_fd();
        poll.registry()
            .register(&mut SourceFd(&fd), PACKETS, Interest::READABLE)?;
        let stop = Arc::new(Waker::new(poll.registry(), STOP)?);
        let meter = Arc::<Meter>::default();
        let counting = Counting {
            sniffer,
            servers: BTreeSet::from([server]),
            interfaces: BothWays::default(),
            own,
            held: VecDeque::new(),
            meter: Arc::clone(&meter),
        };
        Ok(Self {
            meter,
            stop,
            thread: Some(thread::spawn(move || counting.run(poll))),
        })
    }

    /// The counters.
    pub const fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Ends the count. Returns how many packets the machine did not show, because it was too busy.
    ///
    /// # Errors
    /// The packets could not be read.
    pub fn stop(mut self) -> io::Result<u64> {
        self.wake();
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(dropped)) => dropped,
            _ => Err(io::Error::other("the counting thread panicked")),
        }
    }

    fn wake(&self) {
        // A loop that has ended cannot be woken and need not be.
        drop(self.stop.wake());
    }
}

impl Drop for WireMeter {
    fn drop(&mut self) {
        self.wake();
    }
}

/// The state of the counting thread.
struct Counting {
    sniffer: Sniffer,
    servers: BTreeSet<SocketAddr>,
    /// The interface of each direction.
    interfaces: BothWays<Option<u32>>,
    /// The run's own sockets; `None` counts packets of every program.
    own: Option<Arc<OwnSockets>>,
    /// Packets of sockets that are not known to be the run's, the oldest first: the first packet of a socket may be seen before the
    /// loop has noted its address.
    held: VecDeque<Seen>,
    meter: Arc<Meter>,
}

/// A packet to or from the server.
#[derive(Clone, Copy, Debug)]
struct Seen {
    way: Direction,
    local: SocketAddr,
    interface: u32,
    bytes: usize,
    at: Instant,
}

impl Counting {
    fn run(mut self, mut poll: Poll) -> io::Result<u64> {
        let mut events = Events::with_capacity(2);
        let mut dropped = 0;
        loop {
            match poll.poll(&mut events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            let is_over = events.iter().any(|event| event.token() == STOP);
            if is_over {
                // Packets that were sent before the end may still be in the kernel's queue.
                thread::sleep(LINGER);
            }
            dropped += self.take()?;
            if is_over {
                return Ok(dropped);
            }
        }
    }

    /// Counts the waiting packets. Returns how many were dropped.
    fn take(&mut self) -> io::Result<u64> {
        let mut seen = Vec::new();
        let look = |packet: &Sniffed| {
            seen.extend(seen_of(&self.servers, packet));
            false
        };
        let dropped = u64::from(self.sniffer.drain(look)?.dropped);
        for packet in seen {
            if !self.counts(&packet) {
                self.held.push_back(packet);
            }
        }
        self.look_again();
        Ok(dropped)
    }

    /// Counts the held packets whose sockets are known by now, and forgets those that have been held for long.
    fn look_again(&mut self) {
        let Some(newest) = self.held.back().map(|packet| packet.at) else {
            return;
        };
        for packet in std::mem::take(&mut self.held) {
            let is_old = newest.saturating_since(packet.at) >= HELD;
            if !self.counts(&packet) && !is_old {
                self.held.push_back(packet);
            }
        }
        let surplus = self.held.len().saturating_sub(MOST_HELD);
        self.held.drain(..surplus);
    }

    /// Counts a packet of the run, on the first interface of its direction. Returns whether its socket is the run's.
    fn counts(&mut self, packet: &Seen) -> bool {
        if self.own.as_ref().is_some_and(|own| !own.have(packet.local)) {
            return false;
        }
        let interface = self.interfaces[packet.way].get_or_insert(packet.interface);
        if *interface == packet.interface {
            self.meter.count(packet.way, packet.bytes, packet.at);
        }
        true
    }
}

/// A packet to or from a server, where it counts: packets up as they leave, packets down as they arrive.
fn seen_of(servers: &BTreeSet<SocketAddr>, packet: &Sniffed) -> Option<Seen> {
    let (way, local) = direction_of(servers, &packet.bytes)?;
    (packet.outgoing == (way == Direction::Up)).then_some(Seen {
        way,
        local,
        interface: packet.interface,
        bytes: packet.bytes.len(),
        at: packet.at,
    })
}
