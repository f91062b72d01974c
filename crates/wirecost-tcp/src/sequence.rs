//! Comparison of sequence numbers, which wrap (RFC 9293, section 3.4).

/// Whether `a` comes before `b`.
pub(crate) const fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether `a` comes after `b`.
pub(crate) const fn is_after(a: u32, b: u32) -> bool {
    is_before(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap() {
        assert!(is_before(u32::MAX, 0) && is_after(0, u32::MAX));
        assert!(!is_before(0, u32::MAX));
        assert!(!is_before(5, 5) && !is_after(5, 5));
    }
}
