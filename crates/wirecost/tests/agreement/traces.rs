//! The traces of a comparison, from kernel sockets and from virtual time, by cell.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use wirecost_proto::Direction;
use wirecost_wire::ip;
use wirecost_wire::pcapng::{Block, Reader};

use crate::common::Run;
use crate::trace::Trace;

/// The traces of devices by what a capture's comments call their cell.
pub(crate) type Traces = BTreeMap<String, Vec<Trace>>;

/// How many repeats must be as in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// Each of them.
    All,
}

impl Repeats {
    /// What is wrong with the repeats of a cell, with the first packet that differs.
    pub(crate) fn difference(self, cell: &str, live: &[Trace], simulated: &[Trace]) -> Option<String> {
        let expected = simulated.first().expect("a simulated device");
        let apart = simulated.iter().find_map(|trace| trace.difference(expected));
        if let Some(text) = apart {
            return Some(format!("{cell}: two simulated devices differ: {text}"));
        }
        let differences: Vec<String> = live.iter().filter_map(|trace| trace.difference(expected)).collect();
        let first = differences.first()?;
        let (count, of) = (differences.len(), live.len());
        Some(format!("{cell}: {count} of {of} repeats differ; the first: {first}"))
    }
}

/// Runs both engines.
pub(crate) fn both(arguments: &str) -> (Traces, Traces) {
    let live = Run::compare(&format!("--engine live --one-cpu {arguments}"));
    let simulated = Run::compare(&format!("--engine sim {arguments}"));
    (
        read(&live.file("capture/all.pcapng")),
        read(&simulated.file("capture/sim.pcapng")),
    )
}

/// The traces of a capture.
pub(crate) fn read(capture: &Path) -> Traces {
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
        let direction = [Direction::Up, Direction::Down][packet.interface as usize];
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
