//! What processor and allocator are told about memory.

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

/// Has every allocation from `bytes` on come from the kernel, zeroed by it, and go back to it when it is freed (mallopt(3)).
pub(crate) fn map_from(bytes: libc::c_int) {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointers; the allocator locks itself.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}
