//! The packets of simulated cells: during the run in one file per cell, at the end in one capture that begins with the
//! secrets.

use std::io;
use std::path::{Path, PathBuf};

use wirecost_files::Input;
use wirecost_live::capture::{flush, way, writer};
use wirecost_proto::Instant;
use wirecost_results::folder::CELLS;
use wirecost_results::{ResultsError, RunFolder};
use wirecost_scenario::plan::PlannedCell;
use wirecost_stack::credentials::VIRTUAL_EPOCH;
use wirecost_wire::pcapng::{Block, Reader, SECRETS_TLS_KEY_LOG};

use crate::compare::capture::{Described, describe};
use crate::compare::simulated::{CellResult, SimulatedPacket};

/// The packets of all simulated cells.
const CAPTURE: &str = "capture/sim.pcapng";

/// Writes the recorded packets of a cell, ordered by time.
pub(super) fn write_part(
    folder: &RunFolder,
    planned: &PlannedCell,
    result: &CellResult,
) -> Result<(), ResultsError> {
    if result.packets.is_empty() {
        return Ok(());
    }
    let path = folder.file(&part(&result.cell.key));
    write_packets(&path, planned, result).map_err(|source| ResultsError::Io {
        action: "write",
        path,
        source,
    })
}

fn write_packets(path: &Path, planned: &PlannedCell, result: &CellResult) -> io::Result<()> {
    let mut packets: Vec<&SimulatedPacket> = result.packets.iter().collect();
    // Samples are simulated one after the other, each with a start of its own: by device, times would jump back.
    packets.sort_by_key(|packet| packet.packet.entered);
    let mut capture = writer(path, &result.keys)?;
    let mut comment = String::new();
    for SimulatedPacket {
        packet,
        delivered,
        counted,
        cause,
        air,
    } in packets
    {
        let described = Described {
            planned,
            counted,
            cause: *cause,
            air: *air,
        };
        describe(&mut comment, packet, *delivered, Some(described));
        let (way, at) = (way(packet.direction), utc_nanos(packet.entered));
        capture
            .packet(way, at, &packet.bytes, Some(&comment))
            .map_err(io::Error::other)?;
    }
    capture.finish().map_err(io::Error::other).map(drop)
}

/// Virtual time in nanoseconds since 1970 UTC.
fn utc_nanos(at: Instant) -> u64 {
    (VIRTUAL_EPOCH.as_nanos() as u64).saturating_add(at.as_nanos())
}

/// Appends the packets of cells, by their keys, to the capture, and removes the cells' own files.
pub(super) fn merge(folder: &RunFolder, cells: impl Iterator<Item = String>) -> io::Result<()> {
    let parts = cells.map(|key| folder.file(&part(&key)));
    let parts: Vec<PathBuf> = parts.filter(|path| path.exists()).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let (capture, partial) = (folder.file(CAPTURE), folder.file("capture/sim.pcapng.partial"));
    let earlier = Some(capture.clone()).filter(|path| path.exists());
    let sources: Vec<&PathBuf> = earlier.iter().chain(&parts).collect();
    copy(&sources, &partial)?;
    std::fs::rename(&partial, &capture)?;
    parts.iter().try_for_each(std::fs::remove_file)
}

/// Copies captures into one, with all secrets before the packets: otherwise Wireshark decrypts nothing.
fn copy(sources: &[&PathBuf], to: &Path) -> io::Result<()> {
    let mut keys = Vec::new();
    for source in sources {
        each_block(source, |block| {
            if let Block::Secrets(secrets) = block
                && secrets.secrets_type == SECRETS_TLS_KEY_LOG
            {
                keys.extend(secrets.data);
            }
            Ok(())
        })?;
    }
    let mut capture = writer(to, &String::from_utf8_lossy(&keys))?;
    for source in sources {
        each_block(source, |block| {
            let Block::Packet(packet) = block else {
                return Ok(());
            };
            let at = packet.timestamp_ns.unwrap_or_default();
            let written = capture.packet(packet.way, at, &packet.bytes, packet.comment.as_deref());
            written.map_err(io::Error::other)
        })?;
    }
    flush(capture)
}

fn each_block(path: &Path, mut take: impl FnMut(Block) -> io::Result<()>) -> io::Result<()> {
    Reader::new(Input::Capture.open(path)?).try_for_each(|block| take(block.map_err(io::Error::other)?))
}

fn part(key: &str) -> String {
    format!("{CELLS}/{key}.pcapng")
}
