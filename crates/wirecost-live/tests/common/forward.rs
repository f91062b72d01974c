//! A forwarder without a link model: carries packets both ways and inspects each.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use wirecost_live::PacketPort;

/// The carried packets.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    pub(crate) packets: u64,
    pub(crate) longest: usize,
    pub bad_checksums: u64,
    pub(crate) first: Vec<Vec<u8>>,
    pub(crate) drops: u64,
}

/// A running forwarder.
pub(crate) struct Forwarder {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Carried>,
}

impl Forwarder {
    pub(crate) fn start(device: PacketPort, server: PacketPort) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let thread = std::thread::spawn(move || carry(&device, &server, &until));
        Self { stop, thread }
    }

    pub(crate) fn stop(self) -> Carried {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the forwarder runs to its end")
    }
}

fn carry(device: &PacketPort, server: &PacketPort, stop: &AtomicBool) -> Carried {
    let mut carried = Carried::default();
    while !stop.load(Ordering::Relaxed) {
        wait(device, server);
        drain(device, server, &mut carried);
        drain(server, device, &mut carried);
    }
    for port in [device, server] {
        let drops = port.drops().expect("counters");
        carried.drops += drops.received + drops.transmitted;
    }
    carried
}

fn wait(device: &PacketPort, server: &PacketPort) {
    let readable = |port: &PacketPort| libc::pollfd {
        fd: port.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut descriptors = [readable(device), readable(server)];
    // SAFETY: the pointer and count describe `descriptors`.
    unsafe { libc::poll(descriptors.as_mut_ptr(), 2, 20) };
}

fn drain(from: &PacketPort, to: &PacketPort, carried: &mut Carried) {
    let mut buffer = vec![0; 70_000];
    while let Some(length) = from.receive(&mut buffer).expect("a packet") {
        let packet = &buffer[..length];
        carried.packets += 1;
        carried.longest = carried.longest.max(length);
        carried.bad_checksums += u64::from(!has_right_checksums(packet));
        if carried.first.len() < 8 {
            carried.first.push(packet.to_vec());
        }
        to.send(packet).expect("room for a packet");
    }
}

/// Whether the checksums of IPv4 and of TCP or UDP are correct (RFC 1071).
pub(crate) fn has_right_checksums(packet: &[u8]) -> bool {
    let (addresses, protocol, transport) = match packet[0] >> 4 {
        4 => {
            let header = usize::from(packet[0] & 0xf) * 4;
            if sum(&packet[..header], 0) != 0xffff {
                return false;
            }
            (&packet[12..20], packet[9], &packet[header..])
        }
        6 => (&packet[8..40], packet[6], &packet[40..]),
        _ => return false,
    };
    let pseudo = u32::from(protocol) + transport.len() as u32;
    let partial = sum(addresses, pseudo);
    matches!(protocol, 6 | 17) && sum(transport, u32::from(partial)) == 0xffff
}

fn sum(bytes: &[u8], start: u32) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut total = bytes.chunks(2).map(word).sum::<u32>() + start;
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}
