//! Simulated cells by their keys: those that somebody waits for, and of the others those that were used last, within a number of bytes.
//!
//! They are kept once, whoever asks for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::commands::choose::question::Simulated;

/// The most bytes of all cells, unless somebody waits for more.
const MOST: usize = 64 << 20;
/// The most bytes of the cells that somebody waits for.
pub(super) const MOST_WANTED: usize = 128 << 20;
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
    simulated: Arc<Simulated>,
    bytes: usize,
    /// The number of its last use.
    used: u64,
}

impl Cache {
    /// A cell.
    pub(super) fn get(&self, key: &str) -> Option<&Arc<Simulated>> {
        self.cells.get(key).map(|entry| &entry.simulated)
    }

    /// Whether a cell is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.cells.contains_key(key)
    }

    /// The bytes of a cell; 0 where it is not there.
    pub(super) fn bytes(&self, key: &str) -> usize {
        self.cells.get(key).map_or(0, |entry| entry.bytes)
    }

    /// Cells are used: they are the last to go.
    pub(super) fn touch<'a>(&mut self, keys: impl Iterator<Item = &'a String>) {
        for key in keys {
            if let Some(entry) = self.cells.get_mut(key) {
                self.uses += 1;
                entry.used = self.uses;
            }
        }
    }

    /// Takes a cell.
    pub(super) fn put(&mut self, key: &str, simulated: Arc<Simulated>) {
        self.uses += 1;
        let entry = Entry {
            bytes: bytes_of(&simulated),
            used: self.uses,
            simulated,
        };
        self.bytes += entry.bytes;
        let before = self.cells.insert(key.to_owned(), entry);
        self.bytes -= before.map_or(0, |before| before.bytes);
    }

    /// Whether there are more bytes than are kept without need.
    pub(super) const fn is_large(&self) -> bool {
        self.bytes > MOST
    }

    /// Drops cells that are not wanted, those first that nobody has used for longest, until the others are few enough. Returns whether
    /// what is wanted is more than is kept at all.
    pub(super) fn trim(&mut self, is_wanted: impl Fn(&str) -> bool) -> bool {
        let others = self.cells.iter().filter(|(key, _)| !is_wanted(key));
        let mut others: Vec<(u64, String)> = others.map(|(key, entry)| (entry.used, key.clone())).collect();
        others.sort_unstable();
        for (_, key) in others {
            if !self.is_large() {
                break;
            }
            self.bytes -= self.cells.remove(&key).map_or(0, |entry| entry.bytes);
        }
        self.bytes > MOST_WANTED
    }
}

fn bytes_of(simulated: &Simulated) -> usize {
    let traffic = simulated.traffic.as_ref().map_or(0, |traffic| {
        let devices = traffic.devices.iter();
        let packets = devices.map(|device| device.packets.len() + device.lost.len());
        traffic.shapes.len() * SHAPE + packets.sum::<usize>() * PACKET
    });
    CELL + traffic
}

#[cfg(test)]
pub(super) mod tests {
    use wirecost_results::traffic::{CellTraffic, Shape};

    use super::*;

    /// A cell without packets.
    pub(in crate::commands::ui) fn nothing() -> Arc<Simulated> {
        Arc::new(Simulated {
            cell: wirecost_results::Cell::default(),
            traffic: None,
        })
    }

    /// A cell that has more bytes than all may have.
    pub(in crate::commands::ui) fn too_much() -> Arc<Simulated> {
        let shape = Shape {
            direction: String::new(),
            phase: String::new(),
            cause: String::new(),
            spans: Vec::new(),
        };
        Arc::new(Simulated {
            cell: wirecost_results::Cell::default(),
            traffic: Some(CellTraffic {
                shapes: vec![shape; MOST_WANTED / SHAPE],
                devices: Vec::new(),
            }),
        })
    }

    #[test]
    fn what_is_wanted_or_was_used_last_stays_within_the_bytes() {
        let mut cache = Cache::default();
        let fits = MOST / CELL;
        let cell = nothing();
        for number in 0..fits {
            cache.put(&number.to_string(), Arc::clone(&cell));
        }
        assert!(!cache.is_large());
        cache.touch([&"0".to_owned()].into_iter());
        cache.put("another", nothing());
        cache.put("another", nothing());
        assert!(cache.is_large() && !cache.trim(|key| key == "1"));
        let has = ["0", "1", "2", "3", "another"].map(|key| cache.has(key));
        assert_eq!(has, [true, true, false, true, true]);
        assert_eq!((cache.cells.len(), cache.bytes), (fits, fits * CELL));
    }

    #[test]
    fn more_than_is_kept_at_all_is_told() {
        let mut cache = Cache::default();
        let cell = nothing();
        for number in 0..=MOST_WANTED / CELL {
            cache.put(&number.to_string(), Arc::clone(&cell));
        }
        assert!(cache.trim(|_| true) && cache.cells.len() > MOST_WANTED / CELL);
        assert!(!cache.trim(|key| key != "7") && !cache.has("7"));
    }
}
