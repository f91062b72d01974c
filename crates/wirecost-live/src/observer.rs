//! Records the packets of devices on the real path: what the forwarder does on an emulated link, without carrying anything.
//!
//! A packet to the server is recorded as it leaves this machine, and nothing is known of its arrival. A packet from the server
//! is recorded as it arrives, and nothing is known of its departure. The flows that the devices opened tell which device a
//! packet belongs to. Packets of other programs are not recorded.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::record::{Record, RecordedDelivery, RecordedPacket};
use wirecost_proto::{BothWays, Direction, Fate, Instant};
use wirecost_wire::ip;

use crate::activity::{Activity, OpenedFlow};
use crate::clock::Clock;
use crate::driver::Stopper;
use crate::recorder::{Recorder, Recording};
use crate::sniffer::{Sniffed, Sniffer, interface_of};

const PACKETS: Token = Token(0);
const STOP: Token = Token(1);
/// How long the last packets may take from the socket to the interface.
const LINGER: Duration = Duration::from_millis(50);

/// Records the packets between devices and servers.
#[derive(Debug)]
pub struct Observer {
    sniffer: Sniffer,
    servers: BTreeSet<SocketAddr>,
    clock: Clock,
    activity: Arc<Activity>,
    poll: Poll,
    stop: Stopper,
    recorder: Recorder,
    /// The recorder of the packets with their devices.
    sorted: Recorder,
    /// The interface of each direction, and the largest packet.
    interfaces: BothWays<Option<u32>>,
    largest_packet: usize,
    dropped: u64,
}

/// The result of a stopped observer.
#[derive(Debug)]
pub struct Observed {
    /// The packets of the devices.
    pub recording: Recording,
    /// Packets that the machine did not show, because it was too busy, and fragments that belong to no known flow.
    pub dropped: u64,
    /// The interface of the packets, if there were any.
    pub interface: Option<String>,
    /// Largest recorded packet and the interface's MTU in bytes, if some packet is larger: the interface divides it.
    pub divided: Option<(usize, u32)>,
}

impl Observer {
    /// An observer of packets to and from `servers` in the calling thread's namespace. It records into `folder`.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW; the folder's file system refuses.
    pub fn new(
        servers: BTreeSet<SocketAddr>,
        folder: &Path,
        clock: Clock,
        activity: Arc<Activity>,
    ) -> io::Result<Self> {
        let sniffer = Sniffer::open(clock)?;
        let poll = Poll::new()?;
        let fd = sniffer.as_fd().as_raw_fd();
        poll.registry()
            .register(&mut SourceFd(&fd), PACKETS, Interest::READABLE)?;
        let stop = Arc::new(Waker::new(poll.registry(), STOP)?);
        Ok(Self {
            sniffer,
            servers,
            clock,
            activity,
            poll,
            stop,
            recorder: Recorder::create(folder)?,
            sorted: Recorder::create(folder)?,
            interfaces: BothWays::default(),
            largest_packet: 0,
            dropped: 0,
        })
    }

    /// Stops the observer from any thread.
    pub fn stopper(&self) -> Stopper {
        Arc::clone(&self.stop)
    }

    /// Records until the stopper wakes it.
    ///
    /// # Errors
    /// Polling failed, packets cannot be read, or the recording cannot be read back.
    pub fn run(mut self) -> io::Result<Observed> {
        let mut events = Events::with_capacity(2);
        let mut is_over = false;
        while !is_over {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            is_over = events.iter().any(|event| event.token() == STOP);
            if is_over {
                thread::sleep(LINGER);
            }
            self.take()?;
        }
        self.finish()
    }

    /// Takes the captured packets.
    fn take(&mut self) -> io::Result<()> {
        let servers = &self.servers;
        let mut fragments = 0;
        let catch = self.sniffer.drain(|packet| {
            fragments += u64::from(is_later_fragment(servers, &packet.bytes));
            direction_of(servers, &packet.bytes).is_some()
        })?;
        // A later fragment has no ports, so that its flow is unknown: its bytes are missing as if it had been dropped.
        self.dropped += u64::from(catch.dropped) + catch.unkept + fragments;
        let now = self.clock.now();
        for packet in catch.packets {
            if let Some((direction, local)) = self.seen_once(&packet) {
                let known = self.activity.with_flows(|flows| opener(flows, local, packet.at));
                known.inspect(|host| self.activity.note(*host, now));
                self.largest_packet = self.largest_packet.max(packet.bytes.len());
                self.recorder
                    // Whose it is may be known only later: a SYN leaves before the loop notes the socket's port.
                    .packet(None, direction, packet.at, Fate::Delivered, &packet.bytes);
            }
        }
        if self.recorder.has_failed() {
            self.activity.fail_recording();
        }
        Ok(())
    }

    /// Direction and device's address of a packet that is seen where it counts: packets up as they leave, packets down as they
    /// arrive, each on the first interface of its direction. A packet to this machine itself is captured twice.
    fn seen_once(&mut self, packet: &Sniffed) -> Option<(Direction, SocketAddr)> {
        let (direction, local) = direction_of(&self.servers, &packet.bytes)?;
        if packet.outgoing != (direction == Direction::Up) {
            return None;
        }
        let interface = self.interfaces[direction].get_or_insert(packet.interface);
        (*interface == packet.interface).then_some((direction, local))
    }

    /// Gives every recorded packet its device.
    fn finish(self) -> io::Result<Observed> {
        let mut recording = self.recorder.finish();
        let mut sorted = self.sorted;
        for record in recording.records()? {
            let Record::Packet(packet) = record? else {
                continue;
            };
            let flow = direction_of(&self.servers, &packet.bytes);
            let find = |(_, local)| {
                self.activity
                    .with_flows(|flows| opener(flows, local, packet.entered))
            };
            // Other programs of this machine may use the same server.
            if let Some(host) = flow.and_then(find) {
                record_packet(&mut sorted, host, &packet);
            }
        }
        let error = recording.error.take();
        let mut sorted = sorted.finish();
        sorted.error = sorted.error.or(error);
        let interface = self
            .interfaces
            .into_iter()
            .flatten()
            .next()
            .and_then(interface_of);
        Ok(Observed {
            recording: sorted,
            dropped: self.dropped,
            divided: interface
                .as_ref()
                .map(|(_, mtu)| (self.largest_packet, *mtu))
                .filter(|(largest, mtu)| *largest > *mtu as usize),
            interface: interface.map(|(name, _)| name),
        })
    }
}

/// Records a packet of a device. Only of a packet from the server the arrival is known.
fn record_packet(recorder: &mut Recorder, host: HostIndex, packet: &RecordedPacket) {
    let RecordedPacket {
        direction,
        entered: at,
        ..
    } = *packet;
    let number = recorder.packet(Some(host), direction, at, packet.fate, &packet.bytes);
    if direction == Direction::Down {
        recorder.delivery(RecordedDelivery {
            packet: number,
            planned: at,
            actual: at,
            intact: true,
        });
    }
}

/// The direction of a packet to or from one of the servers, and the other address.
pub(crate) fn direction_of(servers: &BTreeSet<SocketAddr>, packet: &[u8]) -> Option<(Direction, SocketAddr)> {
    let packet = ip::Packet::new(packet).ok()?;
    let (from, to) = packet.ports()?;
    let source = SocketAddr::new(packet.source(), from);
    let destination = SocketAddr::new(packet.destination(), to);
    match (servers.contains(&destination), servers.contains(&source)) {
        (true, _) => Some((Direction::Up, source)),
        (false, true) => Some((Direction::Down, destination)),
        (false, false) => None,
    }
}

/// Whether a packet is a fragment without ports, to or from a server: it cannot be told which device it belongs to.
fn is_later_fragment(servers: &BTreeSet<SocketAddr>, packet: &[u8]) -> bool {
    let Ok(packet) = ip::Packet::new(packet) else {
        return false;
    };
    let ends = [packet.source(), packet.destination()];
    let is_servers = || servers.iter().any(|server| ends.contains(&server.ip()));
    packet.fragment().is_some() && packet.ports().is_none() && is_servers()
}

/// The device that had opened a flow from `local` at the time of a packet. The first packet may precede the note of its flow.
fn opener(flows: &[OpenedFlow], local: SocketAddr, at: Instant) -> Option<HostIndex> {
    let same = || flows.iter().filter(|flow| flow.local == local);
    let latest = same().rfind(|flow| flow.at <= at);
    latest.or_else(|| same().next()).map(|flow| flow.host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_belongs_to_the_device_that_opened_its_flow_last() {
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let flow = |millis, host, port| OpenedFlow {
            at: Instant::from_millis(millis),
            host,
            local: address(port),
        };
        let flows = [flow(10, 0, 1_000), flow(20, 1, 1_001), flow(30, 2, 1_000)];
        let of = |port, millis| opener(&flows, address(port), Instant::from_millis(millis));
        assert_eq!(of(1_000, 15), Some(0));
        assert_eq!(of(1_000, 35), Some(2));
        assert_eq!(of(1_001, 19), Some(1), "its first packet came before the note");
        assert_eq!(of(1_002, 15), None);
    }
}
