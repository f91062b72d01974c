//! The traces of a comparison, from kernel sockets and from virtual time, by cell.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use wirecost_proto::Direction;
use wirecost_wire::ip;
use wirecost_wire::pcapng::{Block, Reader, Way};

use crate::common::Run;
use crate::trace::Trace;

/// How long a device waits after each step on a link of 31 ms: seven times the longest that an acknowledgement takes there. Cells run one
/// after the other, and are little else than these pauses.
pub(crate) const SETTLE: &str = "--settle 500ms";

/// The traces of devices by the name of their cell in a capture's comments.
pub(crate) type Traces = BTreeMap<String, Vec<Trace>>;

/// The CPUs of link and hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cpus {
    /// One CPU, on which the link runs before the hosts: no application reads during a burst.
    One,
    /// All CPUs, as in any run: a reader takes a long burst while it arrives.
    All,
}

impl Cpus {
    const fn flag(self) -> &'static str {
        match self {
            Self::One => " --one-cpu",
            Self::All => "",
        }
    }
}

/// The traces over the kernel.
pub(crate) fn live(arguments: &str, cpus: Cpus) -> Traces {
    let run = Run::compare(&format!("--engine live {arguments}{}", cpus.flag()));
    read(&run.file("capture/all.pcapng"))
}

/// The traces in virtual time.
pub(crate) fn simulated(arguments: &str, cpus: Cpus) -> Traces {
    let run = Run::compare(&format!("--engine sim {arguments}{}", cpus.flag()));
    read(&run.file("capture/sim.pcapng"))
}

/// The traces of a capture.
fn read(capture: &Path) -> Traces {
    let file = std::fs::File::open(capture).expect("a capture");
    let mut by_device: BTreeMap<(String, IpAddr), Trace> = BTreeMap::new();
    for block in Reader::new(file) {
        let Block::Packet(packet) = block.expect("a block") else {
            continue;
        };
        let comment = packet.comment.expect("a comment");
        let (cell, rest) = comment.split_once(" | ").expect("a cell");
        if cell == "link check" || cell == "no cell" {
            continue;
        }
        assert!(rest.contains("delivered"), "nothing is lost: {comment}");
        let direction = match packet.way {
            Way::Outbound => Direction::Up,
            Way::Inbound => Direction::Down,
            Way::Unknown => panic!("a packet of no direction: {comment}"),
        };
        let addresses = ip::Packet::new(&packet.bytes).expect("an IP packet").addresses();
        let device = match direction {
            Direction::Up => addresses.source(),
            Direction::Down => addresses.destination(),
        };
        let trace = by_device.entry((cell.to_owned(), device)).or_default();
        trace.push(direction, &packet.bytes);
    }
    let mut traces = Traces::new();
    for ((cell, _), trace) in by_device {
        traces.entry(cell).or_default().push(trace);
    }
    traces
}
