//! Records in order, and the description of their content. A record is described together with its content, because
//! its header takes the phase of the content.

use std::collections::VecDeque;

use wirecost_proto::{Layer, Span};

use crate::span_list::{Piece, Purpose, SpanList};

/// The layout of a TLS record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// All bytes belong to the security layer.
    Whole { bytes: usize, purpose: Purpose },
    /// The bytes after the header cannot be decrypted.
    LeftOut { header: usize, rest: usize },
    /// Content with the security layer's bytes before and after it.
    Data {
        header: usize,
        plain: usize,
        trailer: usize,
    },
}

impl Record {
    const fn plain_bytes(&self) -> u64 {
        match self {
            Self::Data { plain, .. } => *plain as u64,
            _ => 0,
        }
    }

    const fn bytes(&self) -> usize {
        match self {
            Self::Whole { bytes, .. } => *bytes,
            Self::LeftOut { header, rest } => *header + *rest,
            Self::Data {
                header,
                plain,
                trailer,
            } => *header + *plain + *trailer,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    records: VecDeque<Record>,
    /// The description of the records' content, as far as it is known.
    content: VecDeque<Piece>,
    content_bytes: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, record: Record) {
        self.records.push_back(record);
    }

    /// Appends a description of content and clears `spans`.
    pub(crate) fn content(&mut self, spans: &mut SpanList) {
        self.content.extend(spans.pieces());
        self.content_bytes += spans.bytes();
        spans.clear();
    }

    /// Describes the records whose content is described.
    pub(crate) fn flush(&mut self, out: &mut SpanList) {
        while let Some(record) = self.records.front().copied() {
            if record.plain_bytes() > self.content_bytes {
                return;
            }
            self.records.pop_front();
            match record {
                Record::Whole { bytes, purpose } => out.push(bytes, Layer::Security, purpose),
                Record::LeftOut { header, rest } => {
                    out.push(header, Layer::Security, Purpose::MESSAGE);
                    out.leave_out(rest as u64);
                }
                Record::Data {
                    header,
                    plain,
                    trailer,
                } => {
                    let purpose = self.purpose_of(plain);
                    out.push(header, Layer::Security, purpose);
                    self.flush_content(plain, out);
                    out.push(trailer, Layer::Security, purpose);
                }
            }
        }
    }

    /// Leaves out all records.
    pub(crate) fn abandon(&mut self, out: &mut SpanList) {
        let bytes: usize = self.records.iter().map(Record::bytes).sum();
        out.leave_out(bytes as u64);
        *self = Self::default();
    }

    /// Phase and cause of the record's first content byte. An empty record counts as a message.
    fn purpose_of(&self, plain: usize) -> Purpose {
        let first = self.content.front().filter(|_| plain > 0);
        first.map_or(Purpose::MESSAGE, Piece::purpose)
    }

    fn flush_content(&mut self, bytes: usize, out: &mut SpanList) {
        let mut left = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.content_bytes -= u64::from(left);
        while left > 0 {
            let Some(first) = self.content.front_mut() else {
                return;
            };
            let len = first.span.len.min(left);
            let span = Span { len, ..first.span };
            out.push_piece(Piece { span, ..*first });
            left -= len;
            first.span.len -= len;
            if first.span.len == 0 {
                self.content.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_waits_for_its_content_and_takes_its_purpose() {
        let mut queue = Queue::default();
        let (mut content, mut out) = (SpanList::default(), SpanList::default());
        queue.push(Record::Data {
            header: 5,
            plain: 4,
            trailer: 17,
        });
        queue.push(Record::Whole {
            bytes: 7,
            purpose: Purpose::CLOSE,
        });
        content.push(3, Layer::Application, Purpose::KEEP_ALIVE);
        queue.content(&mut content);
        queue.flush(&mut out);
        assert_eq!(out.bytes(), 0);
        content.push(3, Layer::Payload, Purpose::MESSAGE);
        queue.content(&mut content);
        queue.flush(&mut out);
        let told = out
            .pieces()
            .iter()
            .map(|piece| (piece.span.len, piece.span.layer, piece.span.phase));
        use wirecost_proto::Phase::{Close, KeepAlive, Message};
        let expected = [
            (5, Layer::Security, KeepAlive),
            (3, Layer::Application, KeepAlive),
            (1, Layer::Payload, Message),
            (17, Layer::Security, KeepAlive),
            (7, Layer::Security, Close),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
