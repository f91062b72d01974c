//! Maps keys to numbers by open addressing with linear probing. Steady state allocates nothing, and no result depends
//! on the order of iteration.

use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    key: u64,
    number: u64,
    taken: bool,
}

/// A map from keys to numbers. At most half of its slots are in use.
#[derive(Debug, Default)]
pub(super) struct Index {
    slots: Vec<Slot>,
    taken: usize,
    /// Randomizes the hash. Peers do not know it, so they cannot choose ids that collide.
    seed: u64,
}

impl Index {
    pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

    pub(super) const fn new(seed: u64) -> Self {
        Self {
            slots: Vec::new(),
            taken: 0,
            seed,
        }
    }

    pub(super) fn find(&self, key: u64) -> Option<u64> {
        let old = self.slot_of(key)?;
        self.slots.get(old).map(|slot| slot.number)
    }

    /// Adds a key that is not in the map.
    pub(super) fn insert(&mut self, key: u64, number: u64) {
        if (self.taken + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let taken = true;
        self.taken += 1;
        self.put(Slot { key, number, taken });
    }

    pub(super) fn remove(&mut self, key: u64) {
        let Some(mut hole) = self.slot_of(key) else {
            return;
        };
        self.taken -= 1;
        let mut at = hole;
        // Backward shift: an entry moves into the hole unless that is before its home slot.
        loop {
            at = self.after(at);
            let Some(slot) = self.slots.get(at).copied().filter(|slot| slot.taken) else {
                break;
            };
            let from_home = at.wrapping_sub(self.home(slot.key)) & self.mask();
            let from_hole = at.wrapping_sub(hole) & self.mask();
            if from_home >= from_hole {
                self.set(hole, slot);
                hole = at;
            }
        }
        self.set(hole, Slot::default());
    }

    fn slot_of(&self, key: u64) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = self.home(key);
        while let Some(slot) = self.slots.get(at).filter(|slot| slot.taken) {
            if slot.key == key {
                return Some(at);
            }
            at = self.after(at);
        }
        None
    }

    fn put(&mut self, new: Slot) {
        let mut at = self.home(new.key);
        while self.slots.get(at).is_some_and(|slot| slot.taken) {
            at = self.after(at);
        }
        self.set(at, new);
    }

    fn grow(&mut self) {
        let larger = vec![Slot::default(); (self.slots.len() * 2).max(16)];
        let old = core::mem::replace(&mut self.slots, larger);
        for slot in old.into_iter().filter(|slot| slot.taken) {
            self.put(slot);
        }
    }

    fn set(&mut self, at: usize, slot: Slot) {
        if let Some(old) = self.slots.get_mut(at) {
            *old = slot;
        }
    }

    /// The slot of a key in an empty map.
    #[cfg(test)]
    pub(super) fn home_slot(&self, key: u64) -> usize {
        self.home(key)
    }

    /// The longest run of slots in use.
    #[cfg(test)]
    pub(super) fn longest_run(&self) -> usize {
        let runs = self.slots.split(|slot| !slot.taken);
        runs.map(<[Slot]>::len).max().unwrap_or(0)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & self.mask()
    }

    fn mask(&self) -> usize {
        self.slots.len().saturating_sub(1)
    }

    fn home(&self, key: u64) -> usize {
        // The high bits of a product spread consecutive ids. The fold in between makes the result depend on the seed.
        let product = (key ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as usize & self.mask()
    }
}
