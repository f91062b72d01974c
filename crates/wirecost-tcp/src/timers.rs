//! When a timer fires on a host with a coarse clock.

use core::time::Duration;

use wirecost_proto::Instant;
use wirecost_proto::time::nanos;

/// How a host rounds the expiry of its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// On time.
    Exact,
    /// Linux's timer wheel (kernel/time/timer.c, `calc_index`) with this jiffy: a level of 64 buckets of one jiffy, and
    /// each further level eight times as coarse. Never early, up to an eighth late.
    Wheel(Duration),
    /// Ticks of this period: a delay of n periods ends at the n-th tick from now.
    Ticks(Duration),
}

/// Each level of the wheel is this many bits coarser than the one below (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;

/// Delays below this many units of a level are kept on it (`LVL_SIZE` - 1): at 250 Hz, 252 ms are late by up to 36 ms.
const LEVEL_UNITS: u64 = 63;

/// Levels of the wheel at 250 Hz and below (`LVL_DEPTH`).
const LEVELS: u32 = 8;

impl Granularity {
    /// When a timer set at `now` to expire after `delay` fires.
    pub fn deadline(self, now: Instant, delay: Duration) -> Instant {
        match self {
            Self::Exact => now + delay,
            Self::Wheel(jiffy) => {
                let jiffy = nanos(jiffy).max(1);
                wheel_deadline(jiffy, now, nanos(delay).div_ceil(jiffy))
            }
            Self::Ticks(period) => {
                let period = nanos(period).max(1);
                let ticks = nanos(delay).div_ceil(period);
                Instant::from_nanos(
                    (now.as_nanos() / period)
                        .saturating_add(ticks)
                        .saturating_mul(period),
                )
            }
        }
    }
}

/// When a timer on a wheel with a jiffy of `jiffy` nanoseconds fires, set at `now` to expire after `delay` jiffies.
pub(crate) fn wheel_deadline(jiffy: u64, now: Instant, delay: u64) -> Instant {
    let expires = (now.as_nanos() / jiffy).saturating_add(delay);
    let is_on = |level: &u32| delay < LEVEL_UNITS << (LEVEL_SHIFT * level);
    let shift = LEVEL_SHIFT * (0..LEVELS).find(is_on).unwrap_or(LEVELS - 1);
    // The bucket after the one of the expiry: the wheel never fires early.
    let bucket = ((expires >> shift) + 1) << shift;
    Instant::from_nanos(bucket.saturating_mul(jiffy))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JIFFY: Duration = Duration::from_millis(4);

    fn wheel_ms(now_us: u64, delay_ms: u64) -> u64 {
        let now = Instant::from_nanos(now_us * 1_000);
        let deadline = Granularity::Wheel(JIFFY).deadline(now, Duration::from_millis(delay_ms));
        deadline.as_nanos() / 1_000_000
    }

    #[test]
    fn the_wheel_is_one_jiffy_late_at_most_for_short_delays() {
        assert_eq!(wheel_ms(0, 40), 44);
        assert_eq!(wheel_ms(3_999, 40), 44);
        assert_eq!(wheel_ms(4_000, 40), 48);
        assert_eq!([0, 1].map(|delay| wheel_ms(0, delay)), [4, 8]);
        // 62 jiffies: the last delay of the finest level.
        assert_eq!(wheel_ms(4_000, 248), 256);
        assert_eq!(wheel_ms(4_000, 252), 288);
    }

    #[test]
    fn the_wheel_is_coarser_for_longer_delays() {
        // 250 jiffies stand on the second level, in units of 8 jiffies: 250 / 8 = 31.25, bucket 32.
        assert_eq!(wheel_ms(0, 1_000), 32 * 8 * 4);
        assert_eq!(wheel_ms(24_000, 1_000), 33 * 8 * 4);
        // 750 jiffies stand on the third, in units of 64: bucket 12.
        assert_eq!(wheel_ms(0, 3_000), 12 * 64 * 4);
    }

    #[test]
    fn ticks_count_from_the_last_one() {
        let ticks = Granularity::Ticks(Duration::from_millis(500));
        let at = |now, delay| ticks.deadline(Instant::from_millis(now), Duration::from_millis(delay));
        assert_eq!(at(0, 3_000), Instant::from_millis(3_000));
        assert_eq!(at(499, 3_000), Instant::from_millis(3_000));
        assert_eq!(at(500, 3_000), Instant::from_millis(3_500));
    }
}
