//! The memory of a broker for all its clients (section 4.1 leaves the limit to the server).
//!
//! A message counts once, however many sessions it is queued for. A session that must wait may hold as many bytes as
//! are free at that moment, so that a client that reads nothing leaves room for the others: dynamic thresholds, as for
//! the queues of a switch (Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The number of bytes in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<AtomicUsize>);

impl Memory {
    pub(super) fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Reserves `bytes`.
    pub(super) fn reserve(&self, bytes: usize) -> Reservation {
        let mut reservation = Reservation {
            memory: self.clone(),
            bytes: 0,
        };
        reservation.set(bytes);
        reservation
    }
}

/// A number of reserved bytes. They are free again when it is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    memory: Memory,
    bytes: usize,
}

impl Reservation {
    /// Changes the number of reserved bytes.
    pub(super) fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            // A broker with all its reservations is used by one thread, so nothing changes between the load and the
            // store.
            let others = self.memory.held() - self.bytes;
            self.memory.0.store(others + bytes, Ordering::Relaxed);
            self.bytes = bytes;
        }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_reservations_are_free_again() {
        let memory = Memory::default();
        let mut one = memory.reserve(10);
        let other = memory.reserve(5);
        one.set(20);
        assert_eq!(memory.held(), 25);
        drop(other);
        one.set(1);
        assert_eq!((memory.held(), one.bytes()), (1, 1));
        drop(one);
        assert_eq!(memory.held(), 0);
    }
}
