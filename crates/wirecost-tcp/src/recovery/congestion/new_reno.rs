//! Additive increase, multiplicative decrease (RFC 5681).

/// RFC 5681, equation 4: half of what is in flight, two segments at least.
pub(crate) const fn threshold_after_loss(cwnd: u32) -> u32 {
    let half = cwnd / 2;
    if half < 2 { 2 } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_halves_down_to_two_segments() {
        assert_eq!([10, 5, 4, 3, 1].map(threshold_after_loss), [5, 2, 2, 2, 2]);
    }
}
