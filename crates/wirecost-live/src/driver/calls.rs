//! Counts system calls that carry data.

use std::cell::Cell;

/// System calls on sockets, including those that moved no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCalls {
    /// Calls that receive: from a stream, or any number of datagrams.
    pub reads: u64,
    /// Calls that send: on a stream, or any number of datagrams.
    pub writes: u64,
}

impl SocketCalls {
    /// The calls since an earlier count.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
        }
    }
}

thread_local! {
    static CALLS: Cell<SocketCalls> = const { Cell::new(SocketCalls { reads: 0, writes: 0 }) };
}

/// Counts a call that receives.
pub(super) fn note_read() {
    change(|calls| calls.reads += 1);
}

/// Counts a call that sends.
pub(super) fn note_write() {
    change(|calls| calls.writes += 1);
}

/// The calls of this thread so far. Each loop runs on one thread.
pub(super) fn so_far() -> SocketCalls {
    CALLS.get()
}

fn change(work: impl FnOnce(&mut SocketCalls)) {
    let mut calls = CALLS.get();
    work(&mut calls);
    CALLS.set(calls);
}
