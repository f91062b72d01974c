//! The spans of one direction of a flow, by offset.

use std::collections::VecDeque;
use std::ops::Range;

use wirecost_proto::{Buffer, Cause, Layer, Phase, Span};

/// Layer, phase and cause of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) layer: Layer,
    pub(super) phase: Phase,
    pub(super) cause: Cause,
}

impl Kind {
    /// The kind of a byte that no endpoint described. Such a byte also counts as unattributed.
    pub(super) const UNDESCRIBED: Self = Self {
        layer: Layer::Application,
        phase: Phase::Message,
        cause: Cause::Original,
    };

    pub(super) fn cover(self, len: u64, out: &mut Buffer) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        out.cover_span(Span {
            len,
            layer: self.layer,
            phase: self.phase,
            cause: self.cause,
        });
    }
}

/// The spans of a stream from its first byte on, or of datagrams end to end. Equal neighbours share one entry.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanLog {
    entries: VecDeque<Entry>,
    /// Offset of the first entry; the entries before it are dropped.
    start: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    end: u64,
    /// `None` if no endpoint described the bytes.
    kind: Option<Kind>,
}

impl SpanLog {
    /// The number of entries that are kept before the byte acknowledged last: a sender that missed acknowledgements resends
    /// bytes that are acknowledged in the capture.
    const KEPT_ENTRIES: usize = 1_024;

    /// The offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.entries.back().map_or(self.start, |entry| entry.end)
    }

    #[cfg(test)]
    pub(super) fn entry_count(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn append(&mut self, span: Span) {
        let kind = Kind {
            layer: span.layer,
            phase: span.phase,
            cause: span.cause,
        };
        self.append_kind(u64::from(span.len), Some(kind));
    }

    /// Appends exactly `len` bytes. Truncates spans that reach further; bytes without a span are undescribed.
    pub(super) fn append_exactly(&mut self, len: u64, spans: &[Span]) {
        let end = self.end() + len;
        for span in spans {
            let left = end - self.end();
            let len = span.len.min(u32::try_from(left).unwrap_or(u32::MAX));
            self.append(Span { len, ..*span });
        }
        self.append_kind(end - self.end(), None);
    }

    /// Appends `len` bytes that no endpoint describes.
    pub(super) fn append_undescribed(&mut self, len: u64) {
        self.append_kind(len, None);
    }

    fn append_kind(&mut self, len: u64, kind: Option<Kind>) {
        if len == 0 {
            return;
        }
        let end = self.end() + len;
        match self.entries.back_mut() {
            Some(last) if last.kind == kind => last.end = end,
            _ => self.entries.push_back(Entry { end, kind }),
        }
    }

    /// The kind of the byte at `offset`.
    pub(super) fn at(&self, offset: u64) -> Option<Kind> {
        if offset < self.start {
            return None;
        }
        self.entries.get(self.entry_of(offset))?.kind
    }

    fn entry_of(&self, offset: u64) -> usize {
        self.entries.partition_point(|entry| entry.end <= offset)
    }

    /// Appends to `out` the spans of the bytes in `range`, with `cause` instead of their own if it is given. Returns how many
    /// of the bytes no endpoint described.
    pub(super) fn cover(&self, range: Range<u64>, cause: Option<Cause>, out: &mut Buffer) -> u64 {
        let mut at = range.start;
        let mut undescribed = 0;
        let mut piece = |until: u64, kind: Option<Kind>| {
            let len = until.min(range.end).saturating_sub(at);
            let shown = kind.unwrap_or(Kind::UNDESCRIBED);
            let cause = cause.unwrap_or(shown.cause);
            Kind { cause, ..shown }.cover(len, out);
            at += len;
            if kind.is_none() {
                undescribed += len;
            }
        };
        piece(self.start, None);
        let first = self.entry_of(range.start);
        let inside = self.entries.range(first..);
        for entry in inside.take_while(|entry| entry.end < range.end) {
            piece(entry.end, entry.kind);
        }
        let last = self.entries.get(self.entry_of(range.end.saturating_sub(1)));
        piece(range.end, last.and_then(|entry| entry.kind));
        undescribed
    }

    /// Drops most of the entries before `offset`.
    pub(super) fn release_before(&mut self, offset: u64) {
        while self.is_spare(offset) {
            let Some(released) = self.entries.pop_front() else {
                return;
            };
            self.start = released.end;
        }
    }

    /// Whether enough entries remain before `offset` without the first one.
    fn is_spare(&self, offset: u64) -> bool {
        let kept = self.entries.get(Self::KEPT_ENTRIES);
        kept.is_some_and(|entry| entry.end <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: Span = Span {
        len: 4,
        layer: Layer::Application,
        phase: Phase::Message,
        cause: Cause::Original,
    };
    const PAYLOAD: Span = Span {
        len: 6,
        layer: Layer::Payload,
        ..PREFIX
    };

    type Runs = &'static [(u32, Layer)];

    fn covered(log: &SpanLog, range: Range<u64>) -> (Vec<(u32, Layer)>, u64) {
        let mut out = Buffer::new();
        let undescribed = log.cover(range, None, &mut out);
        let spans = out.spans().iter().map(|span| (span.len, span.layer));
        (spans.collect(), undescribed)
    }

    #[test]
    fn any_range_is_covered_by_the_entries_under_it() {
        use Layer::{Application, Payload};
        let mut log = SpanLog::default();
        log.append(PREFIX);
        log.append(PAYLOAD);
        log.append(PREFIX);
        let table: &[(Range<u64>, Runs, u64)] = &[
            (0..14, &[(4, Application), (6, Payload), (4, Application)], 0),
            (0..4, &[(4, Application)], 0),
            (3..5, &[(1, Application), (1, Payload)], 0),
            (4..10, &[(6, Payload)], 0),
            (9..10, &[(1, Payload)], 0),
            (5..5, &[], 0),
            // Beyond the end no endpoint described anything.
            (12..20, &[(8, Application)], 6),
            (20..25, &[(5, Application)], 5),
        ];
        for (range, spans, undescribed) in table {
            assert_eq!(
                covered(&log, range.clone()),
                (spans.to_vec(), *undescribed),
                "{range:?}"
            );
        }
    }

    #[test]
    fn a_datagram_is_covered_to_its_length_whatever_its_spans_say() {
        let mut log = SpanLog::default();
        log.append_exactly(5, &[PREFIX, PAYLOAD]);
        log.append_exactly(12, &[PREFIX, PAYLOAD]);
        assert_eq!(log.end(), 17);
        assert_eq!(covered(&log, 0..5).1, 0);
        assert_eq!(covered(&log, 5..17).1, 2);
    }

    #[test]
    fn what_was_acknowledged_long_ago_is_forgotten() {
        let mut log = SpanLog::default();
        for _ in 0..SpanLog::KEPT_ENTRIES {
            log.append(PREFIX);
            log.append(PAYLOAD);
        }
        let end = log.end();
        log.release_before(end);
        assert_eq!(log.entries.len(), SpanLog::KEPT_ENTRIES);
        assert_eq!(covered(&log, end - 10..end).1, 0);
        assert_eq!(covered(&log, 0..10), (vec![(10, Layer::Application)], 10));
        assert_eq!(log.at(0), None);
    }

    #[test]
    fn equal_neighbours_share_an_entry() {
        let mut log = SpanLog::default();
        for _ in 0..1_000 {
            log.append(PAYLOAD);
        }
        assert_eq!(log.entries.len(), 1);
        assert_eq!(log.end(), 6_000);
    }
}
