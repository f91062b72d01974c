//! Records in their order, and what their content was. A record is told when its content has been described, because its
//! header belongs to the phase of what it carries.

use std::collections::VecDeque;

use wirecost_proto::{Layer, Span};

use crate::span_list::{Piece, Purpose, SpanList};

/// A record of a secured stream, or of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// All of it is the security layer's.
    Whole { bytes: usize, purpose: Purpose },
    /// What is behind the header cannot be read.
    LeftOut { header: usize, rest: usize },
    /// Content between what protects it.
    Data {
        header: usize,
        plain: usize,
        trailer: usize,
    },
}

impl Record {
    pub(crate) const fn whole(bytes: usize, purpose: Purpose) -> Self {
        Self::Whole { bytes, purpose }
    }

    pub(crate) const fn left_out(header: usize, rest: usize) -> Self {
        Self::LeftOut { header, rest }
    }

    pub(crate) const fn data(header: usize, plain: usize, trailer: usize) -> Self {
        Self::Data {
            header,
            plain,
            trailer,
        }
    }

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
    /// What the content of the records was, as far as it has been described.
    content: VecDeque<Piece>,
    content_bytes: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, record: Record) {
        self.records.push_back(record);
    }

    /// Takes what content was; the spans is empty then.
    pub(crate) fn content(&mut self, spans: &mut SpanList) {
        self.content.extend(spans.pieces());
        self.content_bytes += spans.bytes();
        spans.clear();
    }

    /// Tells of the records whose content has been described.
    pub(crate) fn tell(&mut self, out: &mut SpanList) {
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
                    self.tell_content(plain, out);
                    out.push(trailer, Layer::Security, purpose);
                }
            }
        }
    }

    /// Tells of all records as left out.
    pub(crate) fn abandon(&mut self, out: &mut SpanList) {
        let bytes: usize = self.records.iter().map(Record::bytes).sum();
        out.leave_out(bytes as u64);
        *self = Self::default();
    }

    /// The purpose of a record's first content; that of a message where it has none.
    fn purpose_of(&self, plain: usize) -> Purpose {
        let first = self.content.front().filter(|_| plain > 0);
        first.map_or(Purpose::MESSAGE, |piece| Purpose {
            phase: piece.span.phase,
            cause: piece.span.cause,
        })
    }

    fn tell_content(&mut self, bytes: usize, out: &mut SpanList) {
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
        queue.push(Record::data(5, 4, 17));
        queue.push(Record::whole(7, Purpose::CLOSE));
        content.push(3, Layer::Application, Purpose::KEEP_ALIVE);
        queue.content(&mut content);
        queue.tell(&mut out);
        assert_eq!(out.bytes(), 0);
        content.push(3, Layer::Payload, Purpose::MESSAGE);
        queue.content(&mut content);
        queue.tell(&mut out);
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
