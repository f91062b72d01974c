//! The content of a message: plain payload, or an object that protects the payload.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::{Buffer, Cause, Layer, Phase};

/// The content of a message, and which of its bytes are payload.
///
/// In plain content, every byte is payload. A protected object (RFC 9052) adds bytes around the payload. These bytes belong
/// to the security layer; the endpoint that sends the object marks them with [`Content::push`] or [`Content::relabel`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    bytes: Arc<[u8]>,
    /// Runs of one layer, end to end over the bytes; `None` if every byte is payload.
    parts: Option<Arc<[Part]>>,
}

/// A run of a content's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes covered.
    pub len: usize,
    /// [`Layer::Payload`] or [`Layer::Security`].
    pub layer: Layer,
}

impl Content {
    /// A protected object: `parts` lie end to end over its bytes; bytes after the last part are payload.
    pub fn protected(bytes: impl Into<Arc<[u8]>>, parts: &[Part]) -> Self {
        Self {
            bytes: bytes.into(),
            parts: Some(parts.into()),
        }
    }

    /// The bytes on the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes for changes in place; `None` while another `Content` shares them.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Arc::get_mut(&mut self.bytes)
    }

    /// The number of bytes on the wire.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends the bytes in `range`, each run with its own layer. Ignores the part of `range` beyond the end.
    pub fn push(&self, range: Range<usize>, phase: Phase, cause: Cause, out: &mut Buffer) {
        let end = range.end.min(self.bytes.len());
        let Some(bytes) = self.bytes.get(range.start..end) else {
            return;
        };
        if self.parts.is_none() {
            out.push(bytes, Layer::Payload, phase, cause);
            return;
        }
        for (layer, run) in self.runs(range.start..end) {
            out.push(&self.bytes[run], layer, phase, cause);
        }
    }

    /// Replaces the payload spans in `out`, after its first `since` spans, by spans with the layers of this content. The
    /// payload there starts at byte `offset` of the content. For codecs that handle payload as plain bytes.
    pub fn relabel(&self, out: &mut Buffer, since: usize, offset: usize) {
        if self.parts.is_none() {
            return;
        }
        let mut offset = offset;
        for span in out.split_off_spans(since) {
            if span.layer != Layer::Payload {
                out.cover_span(span);
                continue;
            }
            let end = offset + span.len as usize;
            let mut covered = 0;
            for (layer, run) in self.runs(offset..end) {
                covered += run.len();
                out.cover(run.len(), layer, span.phase, span.cause);
            }
            out.cover(
                span.len as usize - covered,
                Layer::Payload,
                span.phase,
                span.cause,
            );
            offset = end;
        }
    }

    /// The runs of one layer within `range`.
    fn runs(&self, range: Range<usize>) -> impl Iterator<Item = (Layer, Range<usize>)> {
        let mut start = 0;
        let mut ends: Vec<(Layer, Range<usize>)> = Vec::new();
        for part in self.parts.iter().flat_map(|parts| parts.iter()) {
            ends.push((part.layer, start..start + part.len));
            start += part.len;
        }
        ends.push((Layer::Payload, start..self.bytes.len().max(start)));
        ends.into_iter().filter_map(move |(layer, run)| {
            let cut = run.start.max(range.start)..run.end.min(range.end);
            (cut.start < cut.end).then_some((layer, cut))
        })
    }
}

impl From<Arc<[u8]>> for Content {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self { bytes, parts: None }
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Arc::<[u8]>::from(bytes))
    }
}

impl<const N: usize> From<[u8; N]> for Content {
    fn from(bytes: [u8; N]) -> Self {
        Self::from(Arc::<[u8]>::from(bytes))
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        Self::from(Arc::<[u8]>::from(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    fn layers(out: &Buffer) -> Vec<(u32, Layer)> {
        let of = |span: &Span| (span.len, span.layer);
        out.spans().iter().map(of).collect()
    }

    fn object() -> Content {
        let part = |len, layer| Part { len, layer };
        let parts = [
            part(2, Layer::Security),
            part(3, Layer::Payload),
            part(1, Layer::Security),
        ];
        Content::protected(b"hhpppt".as_slice(), &parts)
    }

    #[test]
    fn a_part_of_an_object_has_the_layers_of_its_bytes() {
        let mut out = Buffer::new();
        object().push(1..6, Phase::Message, Cause::Original, &mut out);
        assert_eq!(out.bytes(), b"hpppt");
        assert_eq!(
            layers(&out),
            [(1, Layer::Security), (3, Layer::Payload), (1, Layer::Security)]
        );
    }

    #[test]
    fn relabelling_changes_only_payload() {
        let mut out = Buffer::new();
        out.push(b"head", Layer::Application, Phase::Message, Cause::Original);
        let since = out.spans().len();
        out.push(b"topic", Layer::Application, Phase::Message, Cause::Original);
        out.push(object().bytes(), Layer::Payload, Phase::Message, Cause::Original);
        object().relabel(&mut out, since, 0);
        let expected = [
            (9, Layer::Application),
            (2, Layer::Security),
            (3, Layer::Payload),
            (1, Layer::Security),
        ];
        assert_eq!(layers(&out), expected);
        assert_eq!(out.covered(), out.bytes().len() as u64);
    }

    #[test]
    fn a_plain_content_is_payload() {
        let mut out = Buffer::new();
        let content = Content::from(b"abc".as_slice());
        content.push(0..9, Phase::Message, Cause::Original, &mut out);
        content.relabel(&mut out, 0, 0);
        assert_eq!(layers(&out), [(3, Layer::Payload)]);
    }
}
