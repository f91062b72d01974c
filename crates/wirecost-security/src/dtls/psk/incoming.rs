//! Puts the peer's handshake messages together from fragments, in their order (RFC 6347 section 4.2.3).

use std::collections::BTreeMap;

use super::message::kind;
use crate::dtls::fields::{HEADER_BYTES, header};

/// The largest message that is put together. The largest of our handshakes, a ClientHello with a long list of suites,
/// has a few hundred bytes.
const MAX_MESSAGE_BYTES: usize = 4096;
/// How many messages ahead of the next one are kept.
const AHEAD: u16 = 8;

/// The peer's messages that are not complete or not due yet.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// The number of the next message.
    next: u16,
    partial: BTreeMap<u16, Partial>,
}

#[derive(Debug)]
struct Partial {
    kind: u8,
    bytes: Vec<u8>,
    /// Which bytes have arrived.
    has: Vec<bool>,
}

/// A complete message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: u8,
    /// Header and body as one fragment, as the Finished hashes them (RFC 6347 section 4.2.6).
    pub(super) whole: Vec<u8>,
}

impl Message {
    pub(super) fn body(&self) -> &[u8] {
        self.whole.get(HEADER_BYTES..).unwrap_or_default()
    }
}

impl Incoming {
    /// Takes the fragments of a record. Returns whether one of them belongs to a message that was complete before: the
    /// peer repeats itself. Epoch 1 carries the Finished alone.
    pub(super) fn take(&mut self, epoch: u8, mut record: &[u8]) -> bool {
        let mut is_repeated = false;
        while let Some((head, behind)) = record.split_first_chunk::<HEADER_BYTES>() {
            let number = |at: usize| {
                usize::from(head[at]) << 16 | usize::from(head[at + 1]) << 8 | usize::from(head[at + 2])
            };
            let (length, offset, fragment) = (number(1), number(6), number(9));
            let Some((bytes, rest)) = behind.split_at_checked(fragment) else {
                break;
            };
            record = rest;
            if (head[0] == kind::FINISHED) != (epoch == 1) {
                continue;
            }
            let sequence = u16::from_be_bytes([head[4], head[5]]);
            is_repeated |= sequence < self.next;
            if length <= MAX_MESSAGE_BYTES && (self.next..self.next.saturating_add(AHEAD)).contains(&sequence)
            {
                self.put(sequence, head[0], length, offset, bytes);
            }
        }
        is_repeated
    }

    fn put(&mut self, sequence: u16, kind: u8, length: usize, offset: usize, bytes: &[u8]) {
        let partial = self.partial.entry(sequence).or_insert_with(|| Partial {
            kind,
            bytes: vec![0; length],
            has: vec![false; length],
        });
        let range = offset..offset + bytes.len();
        if partial.kind != kind || partial.bytes.len() != length {
            return;
        }
        if let (Some(to), Some(has)) = (partial.bytes.get_mut(range.clone()), partial.has.get_mut(range)) {
            to.copy_from_slice(bytes);
            has.fill(true);
        }
    }

    /// The next message, if it is complete.
    pub(super) fn pop(&mut self) -> Option<Message> {
        let entry = self.partial.first_entry()?;
        if *entry.key() != self.next || entry.get().has.contains(&false) {
            return None;
        }
        let (number, partial) = entry.remove_entry();
        self.next = self.next.saturating_add(1);
        let length = partial.bytes.len();
        let mut whole = header(partial.kind, length, number, 0, length).to_vec();
        whole.extend_from_slice(&partial.bytes);
        Some(Message {
            kind: partial.kind,
            whole,
        })
    }
}
