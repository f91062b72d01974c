//! A resource that the client observes (RFC 7641).

use alloc::sync::Arc;
use core::time::Duration;

use wirecost_proto::Instant;

use super::RequestTemplate;
use crate::token::Token;

/// After this time any sequence number is newer (RFC 7641 section 3.4).
const REORDERING_TIME: Duration = Duration::from_secs(128);
/// Half of the range of sequence numbers.
const HALF_RANGE: u32 = 1 << 23;

#[derive(Debug)]
pub(super) struct Observation {
    pub(super) message: u64,
    pub(super) token: Token,
    pub(super) template: Arc<RequestTemplate>,
    pub(super) sequence: u32,
    pub(super) at: Instant,
    /// When the client registers again, unless a notification arrives first.
    pub(super) expires: Instant,
}

impl Observation {
    /// Whether a notification is newer than all earlier ones. If so, it becomes the last one.
    pub(super) fn advance(&mut self, sequence: u32, now: Instant) -> bool {
        let (v1, v2) = (self.sequence, sequence);
        // RFC 7641 section 3.4: the three conditions.
        let newer = (v1 < v2 && v2 - v1 < HALF_RANGE)
            || (v1 > v2 && v1 - v2 > HALF_RANGE)
            || now > self.at + REORDERING_TIME;
        if newer {
            (self.sequence, self.at) = (sequence, now);
        }
        newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Request;

    #[test]
    fn freshness_follows_the_sequence_number_and_the_clock() {
        for (last, new, seconds, fresh) in [
            (1, 2, 0, true),
            (2, 2, 0, false),
            (2, 1, 0, false),
            (0xff_ffff, 0, 0, true),
            (0, 0xff_ffff, 0, false),
            (5, 1, 129, true),
            (5, 1, 128, false),
        ] {
            let mut observation = Observation {
                message: 0,
                token: Token::EMPTY,
                template: Arc::new(RequestTemplate::new(Request::get("/obs")).expect("the path is short")),
                sequence: last,
                at: Instant::START,
                expires: Instant::START,
            };
            let now = Instant::from_millis(seconds * 1000);
            assert_eq!(
                observation.advance(new, now),
                fresh,
                "{last} then {new} after {seconds} s"
            );
        }
    }
}
