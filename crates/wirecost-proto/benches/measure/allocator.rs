//! The allocator of benches and tests that count: what each thread allocates, and what it holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends has no counter any more, and nobody who reads it.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

fn hold(more: usize, less: usize) {
    let _ = HELD.try_with(|held| held.set(held.get() + more as i64 - less as i64));
}

/// Bytes that this thread has allocated and not given back.
#[allow(dead_code, reason = "most count allocations")]
pub(crate) fn held_bytes() -> i64 {
    HELD.get()
}

/// Allocations that this thread has made.
#[allow(dead_code, reason = "some look at what is held")]
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

#[allow(unsafe_code, reason = "a global allocator cannot be written without")]
// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        hold(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        hold(0, layout.size());
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        hold(size, layout.size());
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
