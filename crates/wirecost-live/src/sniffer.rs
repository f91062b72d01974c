//! Captures every IP packet on the machine's interfaces (packet(7)), to observe a connection over a link other than the
//! emulated one.
//!
//! The socket's buffer keeps the packets until they are drained, each with the kernel's time stamp, so no thread is
//! needed. A packet between two addresses of this machine passes the loopback interface twice, on its way out and on
//! its way in: [`Sniffed::outgoing`] tells the two apart.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use wirecost_proto::Instant;

use crate::clock::Clock;
use crate::packet_socket::{grow_receive_buffer, link_address};
use crate::sys;

/// The largest IP packet of an interface, including packets merged by segmentation offload.
const LARGEST_PACKET_BYTES: usize = 65_536 + 256;

/// Bytes of memory for packets: more than a usual connection has.
pub const KEPT_BYTES: usize = 32 << 20;

/// The index that means all interfaces (packet(7)).
const EVERY_INTERFACE: u32 = 0;

/// After this time the kernel stamps received packets.
const STAMPS_BEGIN: Duration = Duration::from_millis(10);

/// Captures on every interface of the calling thread's namespace.
#[derive(Debug)]
pub struct Sniffer {
    fd: OwnedFd,
    clock: Clock,
}

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// When the kernel saw it.
    pub at: Instant,
    /// The interface's index.
    pub interface: u32,
    /// Whether it was on its way out.
    pub outgoing: bool,
    /// The IP packet.
    pub bytes: Vec<u8>,
}

/// The packets of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catch {
    /// The packets, in the order of their time stamps.
    pub packets: Vec<Sniffed>,
    /// Packets that the buffer had no room for.
    pub dropped: u32,
    /// Wanted packets that exceeded the memory limit.
    pub unkept: u64,
}

impl Catch {
    /// Keeps a packet if its bytes fit into `room`, and counts it otherwise.
    fn keep(&mut self, packet: Sniffed, room: &mut usize) {
        match room.checked_sub(size_of::<Sniffed>() + packet.bytes.len()) {
            Some(left) => {
                *room = left;
                self.packets.push(packet);
            }
            None => self.unkept += 1,
        }
    }
}

impl AsFd for Sniffer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Sniffer {
    /// Starts to capture.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW.
    pub fn open(clock: Clock) -> io::Result<Self> {
        // Protocol 0: the socket receives nothing before its buffer and its time stamps are set up.
        let fd = sys::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
        sys::set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        grow_receive_buffer(&fd)?;
        // The kernel stamps packets a moment after the request. Until then they have the time of reading.
        thread::sleep(STAMPS_BEGIN);
        sys::bind(fd.as_fd(), &link_address(EVERY_INTERFACE, libc::ETH_P_ALL, None))?;
        Ok(Self { fd, clock })
    }

    /// Drains the captured packets, and keeps those that are `wanted` in [`KEPT_BYTES`] of memory.
    ///
    /// # Errors
    /// The kernel refuses to read.
    pub fn drain(&self, mut wanted: impl FnMut(&Sniffed) -> bool) -> io::Result<Catch> {
        let mut buffer = vec![0; LARGEST_PACKET_BYTES];
        let mut catch = Catch::default();
        let begun = self.clock.utc_nanos(Instant::START);
        // The kernel stamps with a clock that may have been set since the run began.
        let drift = u64::try_from(self.clock.realtime_drift_nanos()).unwrap_or(0);
        let (end, mut room) = (self.clock.now() + Duration::from_nanos(drift), KEPT_BYTES);
        loop {
            let frame = match sys::receive_frame(self.fd.as_fd(), &mut buffer) {
                Ok(frame) => frame,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An interface somewhere on the machine went down. The socket goes on with the others (packet(7)).
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => continue,
                Err(error) => return Err(error),
            };
            let nanos = frame.stamp.map_or(0, |stamp| stamp.saturating_sub(begun));
            let sniffed = Sniffed {
                at: Instant::from_nanos(nanos),
                interface: frame.interface,
                outgoing: frame.kind == libc::PACKET_OUTGOING,
                bytes: buffer.get(..frame.length).unwrap_or_default().to_vec(),
            };
            // Otherwise a busy interface could keep this loop running forever. The packet is taken: no later drain sees it.
            let is_last = sniffed.at > end;
            if wanted(&sniffed) {
                catch.keep(sniffed, &mut room);
            }
            if is_last {
                break;
            }
        }
        in_order(&mut catch.packets);
        catch.dropped = sys::packet_socket_drops(self.fd.as_fd())?;
        Ok(catch)
    }
}

/// Corrects packets without a kernel stamp, whose time is later than that of the packets after them.
fn in_order(packets: &mut [Sniffed]) {
    let mut latest = None;
    for packet in packets.iter_mut().rev() {
        packet.at = latest.map_or(packet.at, |latest| packet.at.min(latest));
        latest = Some(packet.at);
    }
}

/// The name and MTU in bytes of an interface of the calling thread's namespace; `None` if it is gone.
pub fn interface_of(index: u32) -> Option<(String, u32)> {
    // Any socket of the namespace works.
    let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0).ok()?;
    let (name, mtu) = sys::interface_name_and_mtu(fd.as_fd(), index).ok()?;
    Some((name, u32::try_from(mtu).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn no_packet_is_later_than_the_next_ones() {
        let sniffed = |millis| Sniffed {
            at: Instant::from_millis(millis),
            interface: 1,
            outgoing: true,
            bytes: Vec::new(),
        };
        let mut packets = [9, 9, 3, 4].map(sniffed);
        in_order(&mut packets);
        assert_eq!(packets, [3, 3, 3, 4].map(sniffed));
    }

    #[test]
    fn packets_beyond_the_memory_limit_are_counted() {
        let packet = Sniffed {
            at: Instant::START,
            interface: 1,
            outgoing: false,
            bytes: vec![0; 60_000],
        };
        let (mut catch, mut room) = (Catch::default(), KEPT_BYTES);
        for _ in 0..1_000 {
            catch.keep(packet.clone(), &mut room);
        }
        let kept = catch.packets.len();
        assert!((500..560).contains(&kept), "{kept}");
        assert_eq!(catch.unkept, 1_000 - kept as u64);
        let small = Sniffed {
            bytes: Vec::new(),
            ..packet
        };
        catch.keep(small, &mut room);
        assert_eq!(
            catch.packets.len(),
            kept + 1,
            "what is small finds the room that is left"
        );
    }

    #[test]
    #[ignore = "needs root"]
    fn no_packet_is_lost_between_two_drains() {
        let sniffer = Sniffer::open(Clock::start()).expect("CAP_NET_RAW, which root has");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = socket.local_addr().expect("its address");
        let sender = thread::spawn(move || {
            for _ in 0..2_000 {
                socket.send_to(b"wirecost drains", to).expect("sent");
                // Each packet meets the drain at another moment.
                thread::sleep(Duration::from_micros(20));
            }
        });
        let mut outgoing = 0;
        let mut drain = || {
            let catch = sniffer
                .drain(|packet| packet.bytes.ends_with(b"wirecost drains"))
                .expect("drained");
            assert_eq!(catch.dropped, 0);
            outgoing += catch.packets.iter().filter(|packet| packet.outgoing).count();
        };
        while !sender.is_finished() {
            drain();
        }
        drain();
        assert_eq!(outgoing, 2_000);
    }

    #[test]
    #[ignore = "needs root"]
    fn a_datagram_to_this_machine_is_captured_twice() {
        let clock = Clock::start();
        let sniffer = Sniffer::open(clock).expect("CAP_NET_RAW, which root has");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = socket.local_addr().expect("its address");
        socket.send_to(b"wirecost sniffer", to).expect("sent");
        let ends_so = |packet: &Sniffed| packet.bytes.ends_with(b"wirecost sniffer");
        let catch = sniffer.drain(ends_so).expect("drained");
        let ways: Vec<bool> = catch.packets.iter().map(|packet| packet.outgoing).collect();
        assert_eq!(ways, [true, false]);
        let first = &catch.packets[0];
        assert!(first.at <= clock.now() && first.bytes.len() == 28 + 16);
        let (name, mtu) = interface_of(first.interface).expect("it is still there");
        assert!(name == "lo" && mtu >= 1_500);
    }
}
