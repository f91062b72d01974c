//! State that the server keeps per peer: a few entries each, with an expiry time.

use alloc::collections::{BTreeMap, BTreeSet};

use wirecost_proto::{FlowId, Instant};

/// The peer of an entry, and the entry's number in the order of creation.
pub(super) type EntryKey = (FlowId, u64);

/// Entries with expiry times. A query about one peer visits only that peer's entries.
#[derive(Debug)]
pub(super) struct Kept<T> {
    entries: BTreeMap<EntryKey, (Instant, T)>,
    expiries: BTreeSet<(Instant, EntryKey)>,
    /// The number of entries created so far.
    made: u64,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            expiries: BTreeSet::new(),
            made: 0,
        }
    }
}

impl<T> Kept<T> {
    /// Removes expired entries.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(&(at, key)) = self.expiries.first() {
            if at > now {
                return;
            }
            self.remove(key);
        }
    }

    /// The first entry of a peer for which `is_wanted` is true.
    pub(super) fn find(&self, flow: FlowId, is_wanted: impl Fn(&T) -> bool) -> Option<EntryKey> {
        let mut of_peer = self.of_peer(flow);
        of_peer
            .find(|(_, (_, entry))| is_wanted(entry))
            .map(|(key, _)| *key)
    }

    /// The entry with this key.
    pub(super) fn get_mut(&mut self, key: EntryKey) -> Option<&mut T> {
        self.entries.get_mut(&key).map(|(_, entry)| entry)
    }

    /// Adds an entry of a peer. If the peer has `most` entries, the oldest is dropped.
    pub(super) fn push(&mut self, flow: FlowId, entry: T, expires: Instant, most: usize) -> EntryKey {
        while self.of_peer(flow).count() >= most.max(1) {
            let oldest = self.of_peer(flow).next().map(|(key, _)| *key);
            oldest.and_then(|key| self.remove(key));
        }
        let key = (flow, self.made);
        self.made += 1;
        self.entries.insert(key, (expires, entry));
        self.expiries.insert((expires, key));
        key
    }

    /// Changes the expiry time of an entry.
    pub(super) fn postpone(&mut self, key: EntryKey, expires: Instant) {
        if let Some((at, _)) = self.entries.get_mut(&key) {
            let before = core::mem::replace(at, expires);
            self.expiries.remove(&(before, key));
            self.expiries.insert((expires, key));
        }
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, key: EntryKey) -> Option<T> {
        let (expires, entry) = self.entries.remove(&key)?;
        self.expiries.remove(&(expires, key));
        Some(entry)
    }

    /// Removes all entries of a peer.
    pub(super) fn forget(&mut self, flow: FlowId) {
        while let Some(key) = self.find(flow, |_| true) {
            self.remove(key);
        }
    }

    /// Bytes of a peer's entries, each of which has `bytes`.
    pub(super) fn held(&self, flow: FlowId, bytes: impl Fn(&T) -> usize) -> usize {
        self.of_peer(flow).map(|(_, (_, entry))| bytes(entry)).sum()
    }

    /// The number of entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn of_peer(&self, flow: FlowId) -> impl Iterator<Item = (&EntryKey, &(Instant, T))> {
        self.entries.range((flow, 0)..=(flow, u64::MAX))
    }
}
