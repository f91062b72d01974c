//! The check of a link before a measurement: ICMP echo at a steady pace, answered by the other side's kernel.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Token};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::os::fd::{AsFd, AsRawFd};

use wirecost_proto::Instant;
use wirecost_wire::icmp;
use wirecost_wire::ip::{Addresses, Version};

use crate::clock::Clock;
use crate::priority::{self, Duty};
use crate::sys::{self, time::read_clock};
use crate::timerfd::TimerFd;

/// How a link is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoPlan {
    /// The device's address, from which the requests come.
    pub device: IpAddr,
    /// The server's address.
    pub server: IpAddr,
    /// The number of requests.
    pub count: u16,
    /// Time between requests.
    pub interval: Duration,
    /// How long to wait for the last reply.
    pub patience: Duration,
}

/// The IP bytes of a request, by version. They determine the serialisation time at a rate.
pub const fn echo_wire_bytes(ipv6: bool) -> u64 {
    (if ipv6 { 40 } else { 20 }) + icmp::HEADER_BYTES as u64
}

/// The delay of the path itself from one side to the other: half the lowest decile of the round-trip times over a link
/// without delay. Zero without replies.
///
/// The decile, not the median: nine in ten packets take longer, so hardly any packet arrives before its time.
pub fn head_start(round_trips: &[Duration]) -> Duration {
    let mut sorted = round_trips.to_vec();
    sorted.sort_unstable();
    sorted
        .get(sorted.len() / 10)
        .map_or(Duration::ZERO, |floor| *floor / 2)
}

const SOCKET_TOKEN: Token = Token(0);
const TIMER_TOKEN: Token = Token(1);
const IDENTIFIER: u16 = 0x7763;
/// How often a waiting check tests its stop flag.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// The round-trip times of the received replies, in the order of the requests. Call it in the device's namespace, on
/// its own thread, whose priority it raises. Returns early once `stop` is set.
///
/// # Errors
/// A raw socket is refused, or sending fails.
pub fn echo(plan: &EchoPlan, clock: &Clock, stop: &AtomicBool) -> io::Result<Vec<Duration>> {
    priority::raise(Duty::Host);
    let mut probe = Probe::open(plan)?;
    let (mut poll, timer) = TimerFd::with_poll(TIMER_TOKEN)?;
    poll.registry().register(
        &mut SourceFd(&probe.socket.as_raw_fd()),
        SOCKET_TOKEN,
        Interest::READABLE,
    )?;
    let mut events = Events::with_capacity(4);
    let mut next = clock.now() + plan.interval;
    while !stop.load(Ordering::Relaxed) {
        // The wait for the next echo may take seconds on a slow link: the flag must be looked at in between.
        timer.arm(clock, next.min(clock.now() + STOP_INTERVAL))?;
        match poll.poll(&mut events, None) {
            // A signal that this process catches ends poll(2) with EINTR. It says nothing about the sockets.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        }
        timer.take_expiry()?;
        probe.receive(clock)?;
        if probe.is_complete() {
            break;
        }
        if clock.now() < next {
            continue;
        }
        if probe.sent.len() == usize::from(plan.count) {
            break;
        }
        probe.send(plan, clock)?;
        let last = probe.sent.len() == usize::from(plan.count);
        // After the last request its reply may still be on the way.
        next += if last { plan.patience } else { plan.interval };
    }
    Ok(probe.into_round_trips())
}

struct Probe {
    socket: Socket,
    version: Version,
    addresses: Addresses,
    count: usize,
    sent: Vec<(Instant, Option<Instant>)>,
    packet: Vec<u8>,
}

impl Probe {
    fn open(plan: &EchoPlan) -> io::Result<Self> {
        let local = SocketAddr::new(plan.device, 0);
        let protocol = if plan.device.is_ipv6() {
            Protocol::ICMPV6
        } else {
            Protocol::ICMPV4
        };
        let socket = Socket::new(Domain::for_address(local), Type::RAW, Some(protocol))?;
        socket.set_nonblocking(true)?;
        // The kernel's time of arrival: with our own, the time until this thread is scheduled would be in the round trip.
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        if local.is_ipv6() {
            // The address of a device is in a local prefix, but on no interface (IPV6_FREEBIND).
            socket.set_freebind_v6(true)?;
        }
        socket.bind(&SockAddr::from(local))?;
        let addresses = Addresses::new(plan.device, plan.server).map_err(io::Error::other)?;
        let version = addresses.version();
        let count = usize::from(plan.count);
        Ok(Self {
            socket,
            version,
            addresses,
            count,
            sent: Vec::with_capacity(count),
            packet: Vec::new(),
        })
    }

    fn send(&mut self, plan: &EchoPlan, clock: &Clock) -> io::Result<()> {
        let sequence_number = self.sent.len() as u16;
        let request = icmp::Repr::EchoRequest(icmp::Echo {
            id: IDENTIFIER,
            sequence_number,
            payload: &[],
        });
        self.packet.clear();
        request.emit(&self.addresses, &mut self.packet);
        self.sent.push((clock.now(), None));
        self.socket
            .send_to(&self.packet, &SockAddr::from(SocketAddr::new(plan.server, 0)))
            .map(drop)
    }

    fn receive(&mut self, clock: &Clock) -> io::Result<()> {
        let mut buffer = [0; 256];
        loop {
            let (len, stamp) = match sys::receive_stamped(self.socket.as_fd(), &mut buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            // The kernel's time stamp leaves out how late this thread was woken.
            let arrived = stamp.map_or(clock.now(), |stamp| arrival(clock, stamp));
            if let Some(sequence) = self.reply(&buffer[..len])
                && let Some((_, answered)) = self.sent.get_mut(usize::from(sequence))
            {
                // A link that duplicates packets brings a reply twice: the first one is the round trip.
                answered.get_or_insert(arrived);
            }
        }
    }

    /// The sequence number of a reply to this check. A raw IPv4 socket includes the IP header (raw(7)).
    fn reply(&self, bytes: &[u8]) -> Option<u16> {
        let message = match self.version {
            Version::V4 => wirecost_wire::ip::Packet::new(bytes).ok()?.payload(),
            Version::V6 => bytes,
        };
        match icmp::Message::new(self.version, message).ok()?.repr() {
            icmp::Repr::EchoReply(echo) if echo.id == IDENTIFIER => Some(echo.sequence_number),
            _ => None,
        }
    }

    fn is_complete(&self) -> bool {
        self.sent.len() == self.count && self.sent.iter().all(|(_, answered)| answered.is_some())
    }

    fn into_round_trips(self) -> Vec<Duration> {
        let answered = self
            .sent
            .into_iter()
            .filter_map(|(sent, answered)| Some((sent, answered?)));
        answered
            .map(|(sent, answered)| answered.saturating_since(sent))
            .collect()
    }
}

/// When the kernel received a packet: the link ends there, not where this thread wakes.
fn arrival(clock: &Clock, realtime_nanos: u64) -> Instant {
    let age = read_clock(libc::CLOCK_REALTIME).saturating_sub(realtime_nanos);
    Instant::from_nanos(clock.now().as_nanos().saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_start_is_half_of_the_lowest_decile() {
        let times: Vec<Duration> = (1..=100).rev().map(Duration::from_micros).collect();
        assert_eq!(head_start(&times), Duration::from_nanos(5_500));
        assert_eq!(head_start(&[]), Duration::ZERO);
    }
}
