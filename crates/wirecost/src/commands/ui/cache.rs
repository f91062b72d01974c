//! Simulated cells by their keys: those that were used last, within a number of bytes.

use std::collections::BTreeMap;

use crate::commands::choose::question::Found as Outcome;

/// The most bytes of all cells.
const MOST: usize = 64 << 20;
/// Bytes of a cell without its packets, and of a packet and of a shape of packets, roughly.
const CELL: usize = 24 << 10;
const PACKET: usize = 16;
const SHAPE: usize = 1 << 10;

/// The cells.
#[derive(Default)]
pub(super) struct Cache {
    cells: BTreeMap<String, Entry>,
    bytes: usize,
    uses: u64,
}

struct Entry {
    outcome: Outcome,
    bytes: usize,
    /// The number of its last use.
    used: u64,
}

impl Cache {
    /// What is known of a cell.
    pub(super) fn get(&mut self, key: &str) -> Option<Outcome> {
        let entry = self.cells.get_mut(key)?;
        self.uses += 1;
        entry.used = self.uses;
        Some(entry.outcome.clone())
    }

    /// Keeps what came of a cell, instead of those that nobody has used for longest.
    pub(super) fn put(&mut self, key: &str, outcome: Outcome) {
        self.uses += 1;
        let entry = Entry {
            bytes: bytes_of(&outcome),
            used: self.uses,
            outcome,
        };
        self.bytes += entry.bytes;
        let before = self.cells.insert(key.to_owned(), entry);
        self.bytes -= before.map_or(0, |before| before.bytes);
        while self.bytes > MOST {
            let oldest = self.cells.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.bytes -= self.cells.remove(&oldest).map_or(0, |entry| entry.bytes);
        }
    }
}

fn bytes_of(outcome: &Outcome) -> usize {
    let traffic = outcome
        .as_ref()
        .ok()
        .and_then(|simulated| simulated.traffic.as_ref());
    let traffic = traffic.map_or(0, |traffic| {
        let devices = traffic.devices.iter();
        let packets = devices.map(|device| device.packets.len() + device.lost.len());
        traffic.shapes.len() * SHAPE + packets.sum::<usize>() * PACKET
    });
    CELL + traffic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays_within_the_bytes() {
        let mut cache = Cache::default();
        let fits = MOST / CELL;
        let nothing = || Err("nothing".into());
        for number in 0..fits {
            cache.put(&number.to_string(), nothing());
        }
        assert!(cache.get("0").is_some());
        cache.put("another", nothing());
        assert!(cache.get("0").is_some() && cache.get("1").is_none() && cache.get("another").is_some());
        cache.put("another", nothing());
        assert_eq!((cache.cells.len(), cache.bytes), (fits, fits * CELL));
    }
}
