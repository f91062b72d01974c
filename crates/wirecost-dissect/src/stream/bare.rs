//! Bare messages on TCP: a length prefix of four bytes, counted as application, then the payload.

use wirecost_proto::Direction;
use wirecost_proto::bare::LENGTH_PREFIX_BYTES;

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

/// Reads the length prefix at the start of `bytes`. Bare messages have no response.
pub(crate) fn message(direction: Direction, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
    if direction == Direction::Down {
        return Err(Unreadable("a response to a bare message"));
    }
    Ok(bytes.first_chunk().map(|prefix| {
        let payload = u64::from(u32::from_be_bytes(*prefix));
        Rest::new([LENGTH_PREFIX_BYTES as u64, payload, 0], Purpose::MESSAGE)
    }))
}
