//! Messages that are not over yet: a slab with two linked lists through it, so that neither list allocates.
//!
//! Every record is in the list of all records, in the order of their intended times, and in at most one of its device's
//! lists. A handle names a record for as long as it lives, and no other record after that.

use wirecost_proto::Instant;
use wirecost_results::figures::IntervalKey;

/// No record.
const NONE: u32 = u32::MAX;

/// Unused slots beyond this number are freed when no record is left.
const KEPT_SLOTS: usize = 65_536;

/// A message that is not over yet. It fits one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Record {
    /// Its intended time.
    pub(super) intended: Instant,
    /// Its stage.
    pub(super) stage: Stage,
    /// The interval that it counts in.
    pub(super) interval: IntervalKey,
    /// The device that sends it, by its number in the part.
    pub(super) device: u32,
    /// Its number among the device's messages.
    pub(super) number: u32,
    /// Whether the device could not take it at its intended time.
    pub(super) held_back: bool,
    generation: u32,
    /// The links of the list of all records.
    all: Links,
    /// The links of the device's list.
    own: Links,
}

/// The stage of a message on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The message waits for its device.
    Waiting,
    /// The protocol holds the message.
    Held,
    /// The protocol handed out its last byte at this time. The loop has it.
    Leaving(Instant),
    /// Its last byte left the loop's buffer at this time.
    Sent(Instant),
}

#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    behind: u32,
}

const UNLINKED: Links = Links {
    before: NONE,
    behind: NONE,
};

/// The two ends of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl List {
    /// Nothing in it.
    pub(super) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    /// The first record.
    pub(super) fn first(self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
}

/// All records of a part.
#[derive(Debug)]
pub(super) struct Records {
    slots: Vec<Record>,
    free: Vec<u32>,
    all: List,
    /// The generation of new slots.
    generation: u32,
}

impl Records {
    /// No records.
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            all: List::EMPTY,
            generation: 0,
        }
    }

    /// The number of messages that are not over.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Adds a record at the end of the list of all records and of its device's list.
    pub(super) fn insert(&mut self, record: Record, own: &mut List) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                let generation = self.slots[slot as usize].generation;
                self.slots[slot as usize] = Record { generation, ..record };
                slot
            }
            None => {
                let generation = self.generation;
                self.slots.push(Record { generation, ..record });
                (self.slots.len() - 1) as u32
            }
        };
        let mut all = self.all;
        push(&mut self.slots, &mut all, slot, |record| &mut record.all);
        self.all = all;
        push(&mut self.slots, own, slot, |record| &mut record.own);
        slot
    }

    /// Removes a record from its device's list.
    pub(super) fn leave(&mut self, slot: u32, list: &mut List) {
        unlink(&mut self.slots, list, slot, |record| &mut record.own);
    }

    /// Adds a record that is in none of its device's lists to the end of one.
    pub(super) fn join(&mut self, slot: u32, list: &mut List) {
        push(&mut self.slots, list, slot, |record| &mut record.own);
    }

    /// Ends a record that is in none of its device's lists. Its handle becomes invalid.
    pub(super) fn remove(&mut self, slot: u32) {
        let mut all = self.all;
        unlink(&mut self.slots, &mut all, slot, |record| &mut record.all);
        self.all = all;
        let record = &mut self.slots[slot as usize];
        record.generation = record.generation.wrapping_add(1);
        self.free.push(slot);
        if self.free.len() == self.slots.len() {
            self.release();
        }
    }

    /// Frees the memory of a past backlog.
    fn release(&mut self) {
        if self.slots.len() > KEPT_SLOTS {
            // A new slot must not reuse an earlier handle.
            let used = self.slots.iter().map(|record| record.generation).max();
            self.generation = used.unwrap_or(0).wrapping_add(1);
            self.slots = Vec::new();
            self.free = Vec::new();
        }
    }

    /// The protocol's handle of the message.
    pub(super) fn handle(&self, slot: u32) -> u64 {
        u64::from(self.slots[slot as usize].generation) << 32 | u64::from(slot)
    }

    /// The record of a handle; `None` if the message is over.
    pub(super) fn slot_of(&self, handle: u64) -> Option<u32> {
        let slot = handle as u32;
        let record = self.slots.get(slot as usize)?;
        (record.generation == (handle >> 32) as u32 && record.is_linked(slot, self.all)).then_some(slot)
    }

    /// The record with the earliest intended time.
    pub(super) fn oldest(&self) -> Option<u32> {
        self.all.first()
    }

    /// The record after another one in its device's list.
    #[cfg(test)]
    fn behind(&self, slot: u32) -> Option<u32> {
        let behind = self.slots[slot as usize].own.behind;
        (behind != NONE).then_some(behind)
    }

    /// A record.
    pub(super) fn at(&self, slot: u32) -> &Record {
        &self.slots[slot as usize]
    }

    /// A record, for changes.
    pub(super) fn at_mut(&mut self, slot: u32) -> &mut Record {
        &mut self.slots[slot as usize]
    }
}

impl Record {
    /// A message that has only been intended.
    pub(super) const fn new(device: u32, number: u32, intended: Instant, interval: IntervalKey) -> Self {
        Self {
            intended,
            stage: Stage::Waiting,
            interval,
            device,
            number,
            held_back: false,
            generation: 0,
            all: UNLINKED,
            own: UNLINKED,
        }
    }

    fn is_linked(&self, slot: u32, all: List) -> bool {
        self.all.before != NONE || all.first == slot
    }
}

fn push(slots: &mut [Record], list: &mut List, slot: u32, links: fn(&mut Record) -> &mut Links) {
    *links(&mut slots[slot as usize]) = Links {
        before: list.last,
        behind: NONE,
    };
    match list.last {
        NONE => list.first = slot,
        last => links(&mut slots[last as usize]).behind = slot,
    }
    list.last = slot;
}

fn unlink(slots: &mut [Record], list: &mut List, slot: u32, links: fn(&mut Record) -> &mut Links) {
    let Links { before, behind } = std::mem::replace(links(&mut slots[slot as usize]), UNLINKED);
    match before {
        NONE => list.first = behind,
        before => links(&mut slots[before as usize]).behind = behind,
    }
    match behind {
        NONE => list.last = before,
        behind => links(&mut slots[behind as usize]).before = before,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use wirecost_proto::Rng;

    use super::*;

    fn order(records: &Records, list: List) -> Vec<u32> {
        std::iter::successors(list.first(), |slot| records.behind(*slot)).collect()
    }

    #[test]
    fn lists_are_queues_with_removal_at_any_place() {
        let mut rng = Rng::new(3);
        let (mut records, mut waiting, mut flying) = (Records::new(), List::EMPTY, List::EMPTY);
        let (mut first, mut second): (VecDeque<u32>, VecDeque<u32>) = (VecDeque::new(), VecDeque::new());
        let mut over = Vec::new();
        for number in 0..20_000 {
            match rng.next_below(3) {
                0 => {
                    let record = Record::new(0, number, Instant::START, IntervalKey::default());
                    first.push_back(records.insert(record, &mut waiting));
                }
                1 => {
                    if let Some(slot) = waiting.first() {
                        records.leave(slot, &mut waiting);
                        records.join(slot, &mut flying);
                        assert_eq!(first.pop_front(), Some(slot));
                        second.push_back(slot);
                    }
                }
                _ => {
                    let at = rng.next_below(second.len() as u64) as usize;
                    if let Some(slot) = second.remove(at) {
                        over.push(records.handle(slot));
                        records.leave(slot, &mut flying);
                        records.remove(slot);
                    }
                }
            }
            assert_eq!(records.len(), first.len() + second.len());
        }
        assert_eq!(order(&records, waiting), Vec::from(first));
        assert_eq!(order(&records, flying), Vec::from(second));
        assert!(over.iter().all(|handle| records.slot_of(*handle).is_none()));
    }

    #[test]
    fn a_backlog_frees_its_memory_and_its_handles_stay_invalid() {
        let (mut records, mut list) = (Records::new(), List::EMPTY);
        let slots: Vec<u32> = (0..100_000)
            .map(|number| {
                records.insert(
                    Record::new(0, number, Instant::START, IntervalKey::default()),
                    &mut list,
                )
            })
            .collect();
        let handles: Vec<u64> = slots.iter().map(|slot| records.handle(*slot)).collect();
        for slot in slots {
            records.leave(slot, &mut list);
            records.remove(slot);
        }
        assert_eq!((records.len(), records.oldest()), (0, None));
        assert!(records.slots.capacity() < 100_000);
        for number in 0..100_000 {
            let again = records.insert(
                Record::new(0, number, Instant::START, IntervalKey::default()),
                &mut list,
            );
            assert_eq!(records.slot_of(records.handle(again)), Some(again));
        }
        assert!(handles.iter().all(|handle| records.slot_of(*handle).is_none()));
    }
}
