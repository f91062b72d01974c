//! Layer, phase and cause of a datagram's bytes.
//!
//! | record | phase | cause |
//! |---|---|---|
//! | handshake, ChangeCipherSpec | connect | original; retransmission if the fragment was seen before |
//! | padding at the end of a ClientHello | connect | probe |
//! | ACK of DTLS 1.3 | connect | acknowledgement |
//! | alert | close | original |
//! | application data | the inner endpoint's | the inner endpoint's |
//! | anything else | message | original |
//!
//! All bytes belong to the security layer except the plaintext of application data. Header and trailer take phase and
//! cause of the first plaintext byte.

use wirecost_proto::{Buffer, Cause, Layer, Phase, Span};

use super::provider::Note;
use super::record::{Form, Piece, Record, content, records};

/// Bytes of the explicit part of a DTLS 1.2 nonce, both for GCM (RFC 5288 section 3) and for CCM (RFC 6655 section
/// 3).
const EXPLICIT_NONCE_BYTES: usize = 8;
/// Bytes of a tag of AES-GCM.
pub(super) const GCM_TAG_BYTES: usize = 16;
/// Bytes of a tag of AES-CCM-8 (RFC 6655 section 4).
pub(super) const CCM_8_TAG_BYTES: usize = 8;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Handshake {
        cause: Cause,
        /// Bytes of padding at its end.
        padding: usize,
    },
    Acknowledgement,
    Alert,
    ApplicationData {
        /// Bytes before the plaintext.
        before: usize,
        /// Bytes of plaintext.
        plaintext: usize,
    },
    Unknown,
}

/// A record of a datagram and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Classified {
    len: usize,
    kind: Kind,
}

/// Classifies `record`. `note` holds its decrypted content, if it was decrypted. `is_new` returns whether a handshake
/// fragment is seen for the first time.
pub(super) fn classify(
    record: &Record<'_>,
    note: Option<&Note>,
    tag_bytes: usize,
    is_new: impl FnOnce(Piece) -> bool,
) -> Classified {
    let len = record.bytes.len();
    let content = match (note, record.form) {
        (Some(note), _) => note.content,
        (None, Form::Plaintext { content } | Form::Protected12 { content }) => content,
        // RFC 9147 section 6.1: epoch 2 protects the handshake, later epochs protect application data.
        (None, Form::Protected13 { epoch: 2 }) => content::HANDSHAKE,
        (None, Form::ConnectionId | Form::Protected13 { .. }) => content::APPLICATION_DATA,
        (None, Form::Unknown) => {
            let kind = Kind::Unknown;
            return Classified { len, kind };
        }
    };
    let kind = match content {
        content::HANDSHAKE | content::CHANGE_CIPHER_SPEC => {
            let piece = match note {
                Some(note) => note.piece,
                None => plaintext_piece(record, content),
            };
            let again = piece.is_some_and(|piece| !is_new(piece));
            Kind::Handshake {
                cause: if again {
                    Cause::Retransmission
                } else {
                    Cause::Original
                },
                padding: record.message().map_or(0, |message| message.padding()),
            }
        }
        content::ACK => Kind::Acknowledgement,
        content::ALERT => Kind::Alert,
        content::APPLICATION_DATA => application_data(record, note, tag_bytes),
        _ => Kind::Unknown,
    };
    Classified { len, kind }
}

/// The handshake fragment in an unprotected record. The fragment in a protected record is unknown.
fn plaintext_piece(record: &Record<'_>, content: u8) -> Option<Piece> {
    match record.form {
        Form::Plaintext { .. } => Piece::from_content(content, record.body()),
        _ => None,
    }
}

fn application_data(record: &Record<'_>, note: Option<&Note>, tag_bytes: usize) -> Kind {
    let (before, behind) = match record.form {
        Form::Protected12 { .. } => (record.header + EXPLICIT_NONCE_BYTES, tag_bytes),
        // RFC 9146 section 4: likewise.
        Form::ConnectionId => (record.header + EXPLICIT_NONCE_BYTES, tag_bytes + 1),
        // RFC 9147 section 4: the content type follows the content.
        _ => (record.header, tag_bytes + 1),
    };
    let before = before.min(record.bytes.len());
    let rest = record.bytes.len() - before;
    let plaintext = note.map_or(rest.saturating_sub(behind), |note| note.plaintext.min(rest));
    Kind::ApplicationData { before, plaintext }
}

/// Appends the spans of a datagram's records. `inner` holds the spans of their plaintext.
pub(super) fn cover(classified: &[Classified], inner: &[Span], out: &mut Buffer) {
    let mut inner = Reader {
        spans: inner,
        used: 0,
    };
    for record in classified {
        cover_record(record, &mut inner, out);
    }
}

fn cover_record(record: &Classified, inner: &mut Reader<'_>, out: &mut Buffer) {
    let mut security = |len, phase, cause| out.cover(len, Layer::Security, phase, cause);
    match record.kind {
        Kind::Handshake { cause, padding } => {
            security(record.len.saturating_sub(padding), Phase::Connect, cause);
            let cause = match cause {
                Cause::Original => Cause::Probe,
                again => again,
            };
            security(padding.min(record.len), Phase::Connect, cause);
        }
        Kind::Acknowledgement => security(record.len, Phase::Connect, Cause::Acknowledgement),
        Kind::Alert => security(record.len, Phase::Close, Cause::Original),
        Kind::Unknown => security(record.len, Phase::Message, Cause::Original),
        Kind::ApplicationData { before, plaintext } => {
            let first = inner.next_span();
            security(before, first.phase, first.cause);
            inner.take(plaintext, out);
            let behind = record.len.saturating_sub(before + plaintext);
            out.cover(behind, Layer::Security, first.phase, first.cause);
        }
    }
}

/// Reads spans in pieces of any length.
struct Reader<'a> {
    spans: &'a [Span],
    /// Bytes of the first span that have been read.
    used: u32,
}

impl Reader<'_> {
    /// The span of the next byte. Bytes without a description are application data of a message.
    fn next_span(&self) -> Span {
        self.spans.first().copied().unwrap_or(Span {
            len: u32::MAX,
            layer: Layer::Application,
            phase: Phase::Message,
            cause: Cause::Original,
        })
    }

    /// Appends the spans of the next `len` bytes.
    fn take(&mut self, len: usize, out: &mut Buffer) {
        let mut left = u32::try_from(len).unwrap_or(u32::MAX);
        while left > 0 {
            let span = self.next_span();
            let taken = left.min(span.len - self.used);
            out.cover_span(Span { len: taken, ..span });
            left -= taken;
            self.used += taken;
            if self.used == span.len {
                self.spans = self.spans.get(1..).unwrap_or_default();
                self.used = 0;
            }
        }
    }
}

/// Appends the spans of a DTLS datagram that no endpoint described, because the link lost it. Repetitions count as
/// originals. The epoch determines the kind of a protected record. The length of application data is known (in DTLS
/// 1.2 with AES-GCM), its content is not.
///
/// ```
/// use wirecost_proto::{Buffer, Layer};
///
/// let mut out = Buffer::new();
/// let mut record = vec![23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 1, 0, 8 + 5 + 16];
/// record.resize(13 + 8 + 5 + 16, 0);
/// wirecost_security::dtls::describe(&record, &mut out);
/// let spans: Vec<_> = out.spans().iter().map(|span| (span.len, span.layer)).collect();
/// assert_eq!(spans, [(21, Layer::Security), (5, Layer::Application), (16, Layer::Security)]);
/// ```
pub fn describe(datagram: &[u8], out: &mut Buffer) {
    describe_with(GCM_TAG_BYTES, datagram, out);
}

/// Like [`describe`], for DTLS 1.2 with a pre-shared key. AES-CCM-8 has a shorter tag.
pub fn describe_psk(datagram: &[u8], out: &mut Buffer) {
    describe_with(CCM_8_TAG_BYTES, datagram, out);
}

fn describe_with(tag_bytes: usize, datagram: &[u8], out: &mut Buffer) {
    let mut changes_cipher = false;
    for record in records(datagram) {
        let mut classified = classify(&record, None, tag_bytes, |_| true);
        if changes_cipher && record.form == Form::ConnectionId {
            // The Finished follows ChangeCipherSpec in its datagram. Its type is encrypted.
            classified.kind = Kind::Handshake {
                cause: Cause::Original,
                padding: 0,
            };
        }
        changes_cipher = matches!(
            record.form,
            Form::Plaintext {
                content: content::CHANGE_CIPHER_SPEC
            }
        );
        cover(&[classified], &[], out);
    }
}

/// The records of a datagram that belongs to no connection.
pub(super) fn classify_all(datagram: &[u8]) -> impl Iterator<Item = Classified> {
    records(datagram).map(|record| classify(&record, None, GCM_TAG_BYTES, |_| true))
}
