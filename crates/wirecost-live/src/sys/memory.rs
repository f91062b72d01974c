//! Settings of the allocator.

/// Makes every allocation from `bytes` on come from the kernel, zeroed, and return to it when it is freed (mallopt(3)).
pub(crate) fn map_from(bytes: libc::c_int) {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointers; the allocator locks itself.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}
