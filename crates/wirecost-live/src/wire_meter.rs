//! Counts packets and bytes to and from a server on the real path, without keeping them.
//!
//! Every packet between this machine and the server's address and port counts, whichever program sent it.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use wirecost_proto::Direction;

use crate::clock::Clock;
use crate::driver::Stopper;
use crate::emulation::Meter;
use crate::observer::direction_of;
use crate::sniffer::{Sniffed, Sniffer};

const PACKETS: Token = Token(0);
const STOP: Token = Token(1);
/// How long the last packets may take from the socket to the interface.
const LINGER: Duration = Duration::from_millis(50);

/// A running count. Dropping it stops it.
#[derive(Debug)]
pub struct WireMeter {
    meter: Arc<Meter>,
    stop: Stopper,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

impl WireMeter {
    /// Begins to count the packets to and from `server` in the calling thread's namespace.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW.
    pub fn start(server: SocketAddr, clock: Clock) -> io::Result<Self> {
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
            interfaces: [None; 2],
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
    interfaces: [Option<u32>; 2],
    meter: Arc<Meter>,
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
        let Self {
            sniffer,
            servers,
            interfaces,
            meter,
        } = self;
        let count = |packet: &Sniffed| {
            if let Some(way) = way_of(servers, interfaces, packet) {
                meter.count(way, packet.bytes.len(), packet.at);
            }
            false
        };
        Ok(u64::from(sniffer.drain(count)?.dropped))
    }
}

/// The direction of a packet that is seen where it counts: packets up as they leave, packets down as they arrive, each on the
/// first interface of its direction.
fn way_of(
    servers: &BTreeSet<SocketAddr>,
    interfaces: &mut [Option<u32>; 2],
    packet: &Sniffed,
) -> Option<Direction> {
    let (way, _) = direction_of(servers, &packet.bytes)?;
    if packet.outgoing != (way == Direction::Up) {
        return None;
    }
    let interface = interfaces[way as usize].get_or_insert(packet.interface);
    (*interface == packet.interface).then_some(way)
}
