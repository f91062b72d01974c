//! What a message of a stream consists of, known before its payload has arrived.

use wirecost_proto::{Cause, Phase};

use super::Fault;
use super::frame::Header;
use crate::describe::Kind;
use crate::layout;
use crate::message::PAYLOAD_MARKER;
use crate::option::{OptionError, split_option};

/// The parts of a message, and its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Header, token, options and payload marker in bytes.
    pub head_bytes: usize,
    /// Payload in bytes.
    pub payload_bytes: u64,
    /// The phase of all of it.
    pub phase: Phase,
    /// The cause of all of it.
    pub cause: Cause,
}

impl Outline {
    /// The outline of the message at the start of `bytes`, or `None` until all that precedes its payload has arrived.
    ///
    /// # Errors
    /// `bytes` do not begin with a message.
    pub fn from_bytes(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let Some(header) = Header::parse(bytes)? else {
            return Ok(None);
        };
        let total = header.message_bytes();
        let end = usize::try_from(total).unwrap_or(usize::MAX).min(bytes.len());
        let is_whole = end as u64 == total;
        let Some(options) = bytes.get(header.len + header.token..end) else {
            return Ok(None);
        };
        let (mut rest, mut number) = (options, 0);
        let head_bytes = loop {
            match rest.first() {
                None if is_whole => break end,
                None => return Ok(None),
                Some(&PAYLOAD_MARKER) => break end - rest.len() + 1,
                Some(_) => {}
            }
            match split_option(rest, number) {
                Ok((option, after)) => (rest, number) = (after, option.number.0),
                Err(OptionError::Truncated { .. }) if !is_whole => return Ok(None),
                Err(error) => return Err(crate::message::MessageError::from(error).into()),
            }
        };
        let payload_bytes = total - head_bytes as u64;
        let payload = usize::try_from(payload_bytes).unwrap_or(usize::MAX);
        let Kind { phase, cause } = Kind::of_code(header.code, layout::bytes(payload));
        Ok(Some(Self {
            head_bytes,
            payload_bytes,
            phase,
            cause,
        }))
    }
}
