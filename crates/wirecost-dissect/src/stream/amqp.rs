//! AMQP 1.0: describes frames by performative. In a transfer, the content of data sections is payload.
//!
//! | frame | phase | cause |
//! |---|---|---|
//! | protocol header, SASL, open, begin, attach, flow before the first transfer | connect | original |
//! | transfer, later flow | message | original |
//! | disposition | message | acknowledgement |
//! | empty frame | keep_alive | original |
//! | detach, end, close | close | original |

use wirecost_proto::{BothWays, Direction};

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

/// Bytes of a frame header, and of a protocol header (AMQP 1.0 part 2 sections 2.2 and 2.3.1).
pub(super) const HEADER_BYTES: usize = 8;

/// Descriptor codes of performatives (part 2 section 2.7) and of the data section (part 3 section 3.2.6).
mod code {
    pub(super) const FLOW: u8 = 0x13;
    pub(super) const TRANSFER: u8 = 0x14;
    pub(super) const DISPOSITION: u8 = 0x15;
    pub(super) const DETACH: u8 = 0x16;
    pub(super) const CLOSE: u8 = 0x18;
    pub(super) const DATA: u8 = 0x75;
}

#[derive(Debug, Default)]
pub(crate) struct Amqp {
    /// Bytes of a data section that continue in the next transfer of its delivery.
    data_left: BothWays<u64>,
    transferred: bool,
}

impl Amqp {
    /// The frame at the start of `bytes`, or `None` if too little of it has arrived.
    pub(crate) fn frame(&mut self, direction: Direction, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        if header.starts_with(b"AMQP") {
            return Ok(Some(Rest::new([HEADER_BYTES as u64, 0, 0], Purpose::CONNECT)));
        }
        let [a, b, c, d, offset, kind, ..] = *header;
        let size = u32::from_be_bytes([a, b, c, d]) as usize;
        let body_start = usize::from(offset) * 4;
        // Part 2 section 2.3.1: the data offset counts words of four bytes, header included.
        if body_start < HEADER_BYTES || size < body_start || kind > 1 {
            return Err(Unreadable("not an AMQP frame"));
        }
        if size == body_start {
            return Ok(Some(Rest::new([size as u64, 0, 0], Purpose::KEEP_ALIVE)));
        }
        let whole = bytes.len() >= size;
        let body = bytes.get(body_start..size.min(bytes.len())).unwrap_or_default();
        let Some(code) = descriptor(body) else {
            return if whole {
                Err(Unreadable("not an AMQP performative"))
            } else {
                Ok(None)
            };
        };
        if kind == 0 && code == code::TRANSFER {
            self.transferred = true;
            return self.transfer(direction, size, body_start, body, whole);
        }
        Ok(Some(Rest::new([size as u64, 0, 0], self.purpose(kind, code))))
    }

    const fn purpose(&self, kind: u8, code: u8) -> Purpose {
        match code {
            // Part 5 section 5.3.1: frames of type 1 are SASL's.
            _ if kind == 1 => Purpose::CONNECT,
            code::FLOW if self.transferred => Purpose::MESSAGE,
            code::DISPOSITION => Purpose::ACKNOWLEDGEMENT,
            code::DETACH..=code::CLOSE => Purpose::CLOSE,
            _ => Purpose::CONNECT,
        }
    }

    /// A transfer with one data section or part of one. The sections before it are application bytes.
    fn transfer(
        &mut self,
        direction: Direction,
        size: usize,
        body_start: usize,
        body: &[u8],
        whole: bool,
    ) -> Result<Option<Rest>, Unreadable> {
        let Some(performative) = described_bytes(body) else {
            return if whole {
                Err(Unreadable("not an AMQP transfer"))
            } else {
                Ok(None)
            };
        };
        let data_left = &mut self.data_left[direction];
        let mut head = body_start + performative;
        let mut data = *data_left;
        if data == 0 {
            match data_section(body.get(performative..).unwrap_or_default()) {
                Some((before, length)) => {
                    head += before;
                    data = length;
                }
                None if whole => head = size,
                None => return Ok(None),
            }
        }
        let head = head.min(size);
        let payload = data.min((size - head) as u64);
        *data_left = data - payload;
        let tail = (size - head) as u64 - payload;
        Ok(Some(Rest::new([head as u64, payload, tail], Purpose::MESSAGE)))
    }
}

/// The code of the described type at the start of `bytes`: a small or a full unsigned long (part 1 section 1.6.10).
fn descriptor(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [0x00, 0x53, code, ..] => Some(*code),
        [0x00, 0x80, 0, 0, 0, 0, 0, 0, 0, code, ..] => Some(*code),
        _ => None,
    }
}

/// Length of the described list, map or binary at the start of `bytes`, or `None` if there is none or it is
/// incomplete.
fn described_bytes(bytes: &[u8]) -> Option<usize> {
    let (before, length) = described_header(bytes)?;
    Some(before + usize::try_from(length).ok()?)
}

/// Bytes before the content of the described value, and bytes of the content (part 1 sections 1.2 and 1.6).
fn described_header(bytes: &[u8]) -> Option<(usize, u64)> {
    let constructor = if bytes.get(1) == Some(&0x80) { 10 } else { 3 };
    let value = bytes.get(constructor..)?;
    match value {
        // list0.
        [0x45, ..] => Some((constructor + 1, 0)),
        // bin8, str8, list8, map8: a size of one byte.
        [0xa0 | 0xa1 | 0xa3 | 0xc0 | 0xc1, size, ..] => Some((constructor + 2, u64::from(*size))),
        // bin32, str32, list32, map32: a size of four bytes.
        [0xb0 | 0xb1 | 0xb3 | 0xd0 | 0xd1, a, b, c, d, ..] => {
            Some((constructor + 5, u64::from(u32::from_be_bytes([*a, *b, *c, *d]))))
        }
        _ => None,
    }
}

/// Bytes before the content of the first data section, and bytes of the content.
fn data_section(sections: &[u8]) -> Option<(usize, u64)> {
    let mut at = 0;
    loop {
        let section = sections.get(at..)?;
        let code = descriptor(section)?;
        let (before, length) = described_header(section)?;
        if code == code::DATA {
            return Some((at + before, length));
        }
        at = at
            .checked_add(before)?
            .checked_add(usize::try_from(length).ok()?)?;
    }
}
