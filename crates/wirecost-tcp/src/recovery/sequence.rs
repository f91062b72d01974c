//! Comparison of sequence numbers, which wrap (RFC 9293, section 3.4).

/// Whether `a` comes before `b`.
pub(crate) const fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether `a` comes after `b`.
pub(crate) const fn is_after(a: u32, b: u32) -> bool {
    is_before(b, a)
}
