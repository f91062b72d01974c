//! TLS 1.2 and 1.3: records and the stream inside.
//!
//! - `session`: the current keys, and the kind of each record
//! - `queue`: records that wait for the description of their content
//!
//! | bytes | layer | phase and cause |
//! |---|---|---|
//! | handshake, ChangeCipherSpec, tickets | security | connect |
//! | alerts | security | close |
//! | record header, nonce, tag, content type and padding | security | those of the record's first content |
//! | content | that of the inner stream | |

mod queue;
mod session;

use wirecost_proto::{BothWays, Direction};

use super::{Context, Stream, Unreadable};
use crate::handshakes::TlsHandshake;
use crate::span_list::{Purpose, SpanList};
use queue::{Queue, Record};
use session::{Opened, Session};

/// Bytes of a record's header (RFC 8446 section 5.1).
const HEADER_BYTES: usize = 5;

/// The most bytes of a record after its header: 2^14 plus the expansion that TLS 1.2 allows (RFC 5246 section 6.2.3).
const MAX_RECORD_BYTES: usize = (1 << 14) + 2_048;

/// A TLS stream and the stream inside.
#[derive(Debug)]
pub(crate) struct Tls {
    server_port: u16,
    session: Session,
    inner: Stream,
    spans: SpanList,
    queues: BothWays<Queue>,
    opaque: Option<&'static str>,
}

/// Whether bytes look like the start of a record, or `None` if there are too few.
pub(crate) fn is_record(bytes: &[u8]) -> Option<bool> {
    // RFC 8446 section 5.1: content types 20 to 23; major version 3.
    match *bytes {
        [kind, major, minor, high, low, ..] => {
            let length = usize::from(u16::from_be_bytes([high, low]));
            Some((20..=23).contains(&kind) && major == 3 && minor <= 4 && length <= MAX_RECORD_BYTES)
        }
        [kind, ..] if !(20..=23).contains(&kind) => Some(false),
        [_, major, ..] if major != 3 => Some(false),
        _ => None,
    }
}

impl Tls {
    pub(crate) fn new(server_port: u16) -> Self {
        Self {
            server_port,
            session: Session::default(),
            inner: Stream::new(server_port),
            spans: SpanList::default(),
            queues: BothWays::default(),
            opaque: None,
        }
    }

    pub(crate) fn take(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) -> Result<usize, Unreadable> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(0);
        };
        if is_record(header) == Some(false) {
            return Err(Unreadable("not a TLS record"));
        }
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        let Some(body) = rest.get(..length) else {
            return Ok(0);
        };
        let mut plain = std::mem::take(context.scratch);
        plain.clear();
        plain.extend_from_slice(body);
        self.record(direction, header, &mut plain, context);
        *context.scratch = plain;
        self.queues[direction].flush(out);
        Ok(HEADER_BYTES + length)
    }

    /// Leaves out all records that still wait.
    pub(crate) fn abandon(&mut self, direction: Direction, out: &mut SpanList) {
        self.queues[direction].abandon(out);
    }

    /// Bytes kept of the inner stream.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.inner.kept_bytes()
    }

    /// The protocol inside and the TLS version.
    pub(crate) fn label(&self) -> String {
        let version = self.session.version();
        if self.inner.is_undecided() {
            version.to_owned()
        } else {
            format!("{} over {version}", self.inner.label())
        }
    }

    /// What the handshake had, if there was one.
    pub(crate) fn handshake(&self) -> Option<TlsHandshake> {
        self.session.seen()
    }

    /// Why bytes were left out.
    pub(crate) fn reason(&self) -> &'static str {
        self.opaque.unwrap_or_else(|| self.inner.reason())
    }

    fn record(
        &mut self,
        direction: Direction,
        header: &[u8; HEADER_BYTES],
        body: &mut [u8],
        context: &mut Context<'_>,
    ) {
        let bytes = HEADER_BYTES + body.len();
        let record = match self.session.record(direction, header, body, context.secrets) {
            Opened::Handshake => Record::Whole {
                bytes,
                purpose: Purpose::CONNECT,
            },
            Opened::Alert => Record::Whole {
                bytes,
                purpose: Purpose::CLOSE,
            },
            Opened::Opaque(why) => {
                self.opaque = Some(why);
                Record::LeftOut {
                    header: HEADER_BYTES,
                    rest: body.len(),
                }
            }
            Opened::Data { start, end } => {
                let plain = body.get(start..end).unwrap_or_default();
                self.inner.feed(direction, plain, context, &mut self.spans);
                self.queues[direction].content(&mut self.spans);
                Record::Data {
                    header: HEADER_BYTES + start,
                    plain: end - start,
                    trailer: body.len() - end,
                }
            }
        };
        self.queues[direction].push(record);
        if self.session.has_refused_early_data() {
            // RFC 8446 section 4.2.10: the client sends its early data again, as if for the first time.
            self.inner = Stream::new(self.server_port);
        }
    }
}
