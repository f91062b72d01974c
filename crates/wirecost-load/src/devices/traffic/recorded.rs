//! What the first devices of a live load did on its link, read from the recording of the link.
//!
//! ```text
//! recorded packets -> dissector: layer, phase and cause of bytes -> time at the device -> DeviceKeeper
//! ```

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use wirecost_cost::{DeviceEvent, ObservedPacket, Observer};
use wirecost_dissect::{Dissector, Sightings};
use wirecost_live::recorder::Recorded;
use wirecost_proto::hosts::{HostIndex, device_address};
use wirecost_proto::record::{Record, RecordedPacket};
use wirecost_proto::{Direction, Instant};
use wirecost_results::traffic::LoadTraffic;
use wirecost_wire::capture::Packet;

use super::{DeviceKeeper, Kept, MAX_PACKETS, observed};

/// The link type of packets that begin with an IP header (LINKTYPE_RAW of the pcap formats).
const RAW_IP: u16 = 101;

/// What the first devices of a load with `clients` devices did, which took from the first to the second of `times`. `keys` has
/// the secrets of their connections (key log). `None` if they sent and received nothing.
///
/// # Errors
/// The recording cannot be read.
pub fn read(
    recorded: &mut impl Recorded,
    keys: &str,
    clients: u32,
    times: [Instant; 2],
) -> io::Result<Option<LoadTraffic>> {
    read_at_most(MAX_PACKETS, recorded, keys, (clients, times))
}

fn read_at_most(
    most_packets: usize,
    recorded: &mut impl Recorded,
    keys: &str,
    (clients, times): (u32, [Instant; 2]),
) -> io::Result<Option<LoadTraffic>> {
    let mut passed = Passed::new(keys, observed(clients), most_packets);
    for record in recorded.entries()? {
        // What arrives after the last packet that is kept is no part of the observation.
        if passed.is_cut_short {
            break;
        }
        match record?.as_ref() {
            Record::Packet(packet) => passed.packet(packet),
            Record::Delivery(delivery) => passed.arrive(delivery.packet, delivery.actual),
        }
    }
    passed.is_cut_short |= recorded.is_cut_short();
    Ok(passed.finish(clients, times))
}

/// The packets of the observed devices in the order in which they entered the link.
struct Passed {
    dissector: Dissector,
    devices: HostIndex,
    most_packets: usize,
    /// Of each packet that was recorded, its index among those of the observed devices.
    indices: Vec<Option<usize>>,
    /// Each packet of the observed devices.
    at_device: Vec<Times>,
    last_entered: Instant,
    is_cut_short: bool,
}

/// When a packet entered the link, and when it was at its device: once if it was sent there, otherwise as often as it arrived.
struct Times {
    direction: Direction,
    entered: Instant,
    at_device: Vec<Instant>,
}

impl Passed {
    fn new(keys: &str, devices: HostIndex, most_packets: usize) -> Self {
        let mut dissector = Dissector::observing();
        dissector.add_secrets(keys);
        Self {
            dissector,
            devices,
            most_packets,
            indices: Vec::new(),
            at_device: Vec::new(),
            last_entered: Instant::START,
            is_cut_short: false,
        }
    }

    fn packet(&mut self, packet: &RecordedPacket) {
        let is_observed = packet.host.is_some_and(|host| host < self.devices);
        self.is_cut_short |= is_observed && self.at_device.len() >= self.most_packets;
        if !is_observed || self.is_cut_short {
            self.indices.push(None);
            return;
        }
        let index = self.at_device.len();
        self.indices.push(Some(index));
        // The dissector tells each packet with the time that it got. The index finds the times at the device.
        self.dissector
            .packet(&Packet::whole(RAW_IP, Some(index as u64), &packet.bytes));
        let sent = (packet.direction == Direction::Up).then_some(packet.entered);
        self.at_device.push(Times {
            direction: packet.direction,
            entered: packet.entered,
            at_device: sent.into_iter().collect(),
        });
        self.last_entered = packet.entered;
    }

    fn arrive(&mut self, packet: u64, at: Instant) {
        let index = self.indices.get(packet as usize).copied().flatten();
        let packet = index.and_then(|index| self.at_device.get_mut(index));
        if let Some(packet) = packet.filter(|packet| packet.direction == Direction::Down) {
            packet.at_device.push(at);
        }
    }

    fn finish(self, clients: u32, times: [Instant; 2]) -> Option<LoadTraffic> {
        let (_, packets) = self.dissector.finish_kept();
        let kept = Rc::new(RefCell::new(Kept {
            most_packets: usize::MAX,
            full: self.is_cut_short.then_some(self.last_entered),
            ..Kept::default()
        }));
        for host in 0..self.devices {
            tell(&packets.sightings, host, &kept, &self.at_device);
        }
        Rc::into_inner(kept)?.into_inner().finish(clients, times)
    }
}

/// Tells what one device did, whichever version of IP it used.
fn tell(sightings: &Sightings, host: HostIndex, kept: &Rc<RefCell<Kept>>, at_device: &[Times]) {
    let addresses = [false, true].map(|ipv6| device_address(host, ipv6));
    for address in addresses.into_iter().flatten() {
        let keeper = DeviceKeeper {
            device: host.into(),
            kept: Rc::clone(kept),
        };
        sightings.tell(address, &mut AtDevice { keeper, at_device });
    }
}

/// Gives the keeper of a device the times of each packet there, in place of the packet's index.
struct AtDevice<'a> {
    keeper: DeviceKeeper,
    at_device: &'a [Times],
}

impl Observer for AtDevice<'_> {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        let Some(times) = self.at_device.get(packet.at.as_nanos() as usize) else {
            return;
        };
        for at in times.at_device.iter().copied() {
            self.keeper.packet(&ObservedPacket { at, ..*packet });
        }
        if times.at_device.is_empty() {
            let at = times.entered;
            self.keeper.lost(&ObservedPacket { at, ..*packet });
        }
    }

    fn event(&mut self, index: Instant, event: DeviceEvent) {
        let times = self.at_device.get(index.as_nanos() as usize);
        if let Some(at) = times.and_then(|times| times.at_device.first()) {
            self.keeper.event(*at, event);
        }
    }
}

#[cfg(test)]
mod tests;
