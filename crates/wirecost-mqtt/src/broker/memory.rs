//! How much a broker holds for all its clients together, and who holds it (section 4.1 leaves the bound to the server).
//!
//! A message is counted once, however many sessions it waits for. A client that must wait may hold as much as is free at that
//! moment, so that somebody who takes nothing leaves room for the others: dynamic thresholds, as for the queues of a switch
//! (Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that are held.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<AtomicUsize>);

impl Memory {
    pub(super) fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The bytes that are free of `maximum`.
    pub(super) fn free(&self, maximum: usize) -> usize {
        maximum.saturating_sub(self.held())
    }

    /// A holder of `bytes`.
    pub(super) fn share(&self, bytes: usize) -> Share {
        let mut share = Share {
            memory: self.clone(),
            bytes: 0,
        };
        share.set(bytes);
        share
    }
}

/// What one holder holds; free again when this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    memory: Memory,
    bytes: usize,
}

impl Share {
    /// Holds `bytes` from here on.
    pub(super) fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            // A broker and all that it holds change on one thread: nothing comes between reading and writing.
            let others = self.memory.held() - self.bytes;
            self.memory.0.store(others + bytes, Ordering::Relaxed);
            self.bytes = bytes;
        }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_holder_held_is_free_when_it_is_gone() {
        let memory = Memory::default();
        let mut one = memory.share(10);
        let other = memory.share(5);
        one.set(20);
        assert_eq!((memory.held(), memory.free(100), memory.free(7)), (25, 75, 0));
        drop(other);
        one.set(1);
        assert_eq!((memory.held(), one.bytes()), (1, 1));
        drop(one);
        assert_eq!(memory.held(), 0);
    }
}
