//! Bare messages on TCP: a length prefix of four bytes, counted as application, then the payload.

use wirecost_proto::Direction;
use wirecost_proto::bare::LENGTH_PREFIX_BYTES;

use super::Unreadable;
use crate::span_list::{Purpose, Rest, SpanList};

/// Bare messages have no response.
#[derive(Debug, Default)]
pub(crate) struct Bare(Rest);

impl Bare {
    pub(crate) fn take(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        out: &mut SpanList,
    ) -> Result<usize, Unreadable> {
        if direction == Direction::Down {
            return Err(Unreadable("a response to a bare message"));
        }
        if self.0.is_empty() {
            let Some(prefix) = bytes.first_chunk() else {
                return Ok(0);
            };
            let payload = u64::from(u32::from_be_bytes(*prefix));
            self.0 = Rest::new([LENGTH_PREFIX_BYTES as u64, payload, 0], Purpose::MESSAGE);
        }
        Ok(self.0.take(bytes.len(), out))
    }

    pub(crate) const fn rest(&mut self, _: Direction) -> &mut Rest {
        &mut self.0
    }
}
