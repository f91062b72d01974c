//! Finds the datagram that a UDP packet carries by its length and first bytes, so that loss, duplication and reordering do
//! not shift the match.

use std::collections::VecDeque;
use std::ops::Range;

use wirecost_proto::{Buffer, Span};

use super::span_log::SpanLog;

/// The number of a datagram of one flow and direction, in the order in which they were described to the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatagramId(pub u64);

/// The number of bytes at the start of a datagram that distinguish it from others of the same length: enough for the
/// sequence number of a DTLS record and for the message id and token of a CoAP message.
const FINGERPRINT_BYTES: usize = 32;

/// The datagrams of one flow and direction: the unsent ones, and those sent last.
#[derive(Clone, Debug, Default)]
pub(super) struct DatagramLog {
    records: VecDeque<Record>,
    /// Number of the first record.
    first_id: u64,
    /// Index of the first record that may still be unsent.
    next: usize,
    spans: SpanLog,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    head: [u8; FINGERPRINT_BYTES],
    bytes: u32,
    /// The position of its first byte in the span log.
    offset: u64,
    sent: bool,
}

impl Record {
    /// Whether it can be the datagram of `bytes` bytes that starts with `content`. A first fragment may be shorter than the
    /// fingerprint.
    fn matches(&self, bytes: u32, content: &[u8]) -> bool {
        let known = content.len().min(FINGERPRINT_BYTES).min(bytes as usize);
        self.bytes == bytes && self.head.get(..known) == content.get(..known)
    }
}

impl DatagramLog {
    /// The number of sent datagrams that are kept for duplicates.
    const KEPT_RECORDS: usize = 1_024;
    /// The length of the search window from the first unsent datagram on. A datagram is given up if half as many later ones
    /// were sent.
    const LOOKAHEAD: usize = 4_096;

    /// Adds a datagram that will be sent.
    pub(super) fn describe(&mut self, bytes: &[u8], spans: &[Span]) -> DatagramId {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.push(len, bytes, spans, false)
    }

    /// Adds a datagram of `len` bytes that was sent without a description. If `content` is only its first fragment, the last
    /// of `spans` reaches to the end.
    pub(super) fn describe_sent(&mut self, len: u32, content: &[u8], spans: &mut Buffer) -> DatagramId {
        let fragmented = content.len() < len as usize;
        if let (true, Some(last)) = (fragmented, spans.spans().last().copied()) {
            spans.cover_span(Span { len, ..last });
        }
        self.push(len, content, spans.spans(), true)
    }

    fn push(&mut self, bytes: u32, content: &[u8], spans: &[Span], sent: bool) -> DatagramId {
        self.release();
        let mut head = [0; FINGERPRINT_BYTES];
        head.iter_mut().zip(content).for_each(|(to, from)| *to = *from);
        let offset = self.spans.end();
        self.spans.append_exactly(u64::from(bytes), spans);
        self.records.push_back(Record {
            head,
            bytes,
            offset,
            sent,
        });
        DatagramId(self.first_id + self.records.len() as u64 - 1)
    }

    /// Finds the datagram that a packet carries by its length and first bytes: the first match that was not sent yet,
    /// otherwise the last match that was.
    pub(super) fn send(&mut self, bytes: u32, content: &[u8]) -> Option<DatagramId> {
        let matches = |record: &Record| record.matches(bytes, content);
        let window_end = self.records.len().min(self.next + Self::LOOKAHEAD);
        let mut window = self.records.range(self.next..window_end);
        let unsent = window.position(|record| !record.sent && matches(record));
        let Some(ahead) = unsent else {
            let sent = |record: &Record| record.sent && matches(record);
            let index = self.records.range(..window_end).rposition(sent)?;
            return Some(DatagramId(self.first_id + index as u64));
        };
        let index = self.next + ahead;
        if let Some(record) = self.records.get_mut(index) {
            record.sent = true;
        }
        self.advance(index);
        Some(DatagramId(self.first_id + index as u64))
    }

    fn advance(&mut self, sent_index: usize) {
        self.next = self.next.max(sent_index.saturating_sub(Self::LOOKAHEAD / 2));
        while self.records.get(self.next).is_some_and(|record| record.sent) {
            self.next += 1;
        }
    }

    /// Drops the oldest records that were sent, and their spans.
    fn release(&mut self) {
        while self.next > Self::KEPT_RECORDS {
            self.records.pop_front();
            self.next -= 1;
            self.first_id += 1;
        }
        if let Some(first) = self.records.front() {
            self.spans.release_before(first.offset);
        }
    }

    /// Appends to `out` the spans of the bytes in `range` of a datagram; returns how many bytes no endpoint described. Ignores
    /// bytes outside the datagram, and a datagram whose record was dropped.
    pub(super) fn cover(&self, id: DatagramId, range: Range<u32>, out: &mut Buffer) -> u64 {
        let Some(record) = self.record(id) else {
            return 0;
        };
        let at = |offset: u32| record.offset + u64::from(offset.min(record.bytes));
        self.spans.cover(at(range.start)..at(range.end), None, out)
    }

    fn record(&self, id: DatagramId) -> Option<&Record> {
        let index = id.0.checked_sub(self.first_id)?;
        self.records.get(usize::try_from(index).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use wirecost_proto::{Cause, Layer, Phase};

    use super::*;

    #[test]
    fn memory_does_not_grow_with_what_was_sent() {
        let span = |len, layer| Span {
            len,
            layer,
            phase: Phase::Message,
            cause: Cause::Original,
        };
        let spans = [span(1, Layer::Application), span(3, Layer::Payload)];
        let mut log = DatagramLog::default();
        for number in 0..10_000_u32 {
            let content = number.to_be_bytes();
            let id = log.describe(&content, &spans);
            assert_eq!(log.send(4, &content), Some(id));
        }
        assert_eq!(log.records.len(), DatagramLog::KEPT_RECORDS + 1);
        let entries = log.spans.entry_count();
        assert!(
            entries <= 2 * DatagramLog::KEPT_RECORDS + 1_026,
            "{entries} entries"
        );
    }
}
