//! What the processor is told about memory that is about to be used.

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// Starts to fetch a value into the caches, where the processor has an instruction for it, and does not wait.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "no such instruction is used there")
)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        let start = std::ptr::from_ref(value).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(LINE_BYTES) {
            // SAFETY: prefetching is part of the baseline (SSE), changes nothing and faults at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
        }
    }
}
