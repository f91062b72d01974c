//! DTLS 1.2 and OSCORE from tshark's fields, decrypted.

use std::collections::BTreeSet;

use crate::books::{Books, Step, Sums};
use crate::common::frames::{Connection, Frame};
use crate::common::tshark::{Body, Coap};

/// The fields that [`dtls`] reads.
pub(crate) const FIELDS: [&str; 5] = [
    "dtls.record.content_type",
    "dtls.record.length",
    "dtls.record.connection_id",
    "dtls.handshake.type",
    "dtls.handshake.ciphersuite",
];

/// Record types (RFC 5246, section 6.2.1).
const ALERT: u64 = 21;
const APPLICATION_DATA: u64 = 23;
/// A record's type, version, epoch, number and length (RFC 6347, section 4.1).
const HEADER_BYTES: u64 = 13;
const SERVER_HELLO: u64 = 2;

/// The books of one DTLS 1.2 connection.
pub(crate) fn dtls(connection: &Connection) -> Books {
    let protection = protection(connection);
    let (mut books, mut messages) = (Books::default(), Messages::default());
    for frame in &connection.frames {
        let (types, lengths) = (
            frame.numbers("dtls.record.content_type"),
            frame.numbers("dtls.record.length"),
        );
        let ids: Vec<u64> = ids(frame).collect();
        let records: u64 = lengths.iter().map(|length| HEADER_BYTES + length).sum();
        let records = records + ids.iter().sum::<u64>();
        let mut sums = headers(frame);
        assert_eq!(
            records,
            frame.packet.wire_bytes - sums.wire(),
            "frame {}: records",
            frame.packet.frame
        );
        sums.security = records;
        let step = match types.as_slice() {
            [APPLICATION_DATA] => {
                // RFC 9146 section 4: the type is encrypted behind the content.
                let type_bytes = u64::from(!ids.is_empty());
                data(frame, lengths[0] - protection - type_bytes, &mut sums);
                messages.step(frame)
            }
            [ALERT] => Step::Close,
            types => {
                assert!(!types.contains(&APPLICATION_DATA), "frame {}", frame.packet.frame);
                Step::Connect
            }
        };
        books.enter(step, frame.packet.way, &sums);
    }
    books
}

/// Bytes of the connection IDs in a frame's records.
fn ids(frame: &Frame) -> impl Iterator<Item = u64> {
    let texts = frame.texts("dtls.record.connection_id");
    let digits = |text: &&str| text.bytes().filter(u8::is_ascii_hexdigit).count() as u64;
    let bytes: Vec<u64> = texts.iter().map(|text| digits(text) / 2).collect();
    bytes.into_iter().filter(|bytes| *bytes > 0)
}

fn headers(frame: &Frame) -> Sums {
    Sums {
        packets: 1,
        ip: frame.packet.ip_bytes,
        transport: frame.transport_bytes(),
        ..Sums::default()
    }
}

/// Moves what a record holds from the security layer to those above; CoAP's length is by tshark's decrypted fields.
fn data(frame: &Frame, inner: u64, sums: &mut Sums) {
    let application = coap(frame).map_or(0, |coap| coap.application_bytes);
    sums.security -= inner;
    sums.application = application;
    sums.payload = inner - application;
}

fn coap(frame: &Frame) -> Option<&Coap> {
    match &frame.packet.body {
        Body::Udp(datagram) => datagram.coap.as_ref(),
        other => panic!("frame {}: {other:?} among datagrams", frame.packet.frame),
    }
}

/// The messages of a connection so far.
#[derive(Default)]
struct Messages {
    begun: u64,
    /// Message ids of requests: one that is sent again keeps its own (RFC 7252, section 4.2).
    seen: BTreeSet<u16>,
}

impl Messages {
    /// A request begins a message, unless it is a later block of one (RFC 7959, section 2.2) or sent again.
    fn step(&mut self, frame: &Frame) -> Step {
        let begins = coap(frame).is_none_or(|coap| {
            coap.code < 32 && coap.block.unwrap_or(0) == 0 && self.seen.insert(coap.message_id)
        });
        self.begun += u64::from(frame.packet.way == 0 && begins);
        Step::Message(self.begun)
    }
}

/// What the negotiated suite adds to a record of application data.
fn protection(connection: &Connection) -> u64 {
    let hello = |frame: &&Frame| frame.numbers("dtls.handshake.type").contains(&SERVER_HELLO);
    let frame = connection.frames.iter().find(hello).expect("a server hello");
    match frame.numbers("dtls.handshake.ciphersuite").as_slice() {
        // AES-GCM (RFC 5288, section 3) and AES-CCM with a tag of 8 bytes (RFC 6655, section 4).
        [0xc02b | 0xc02c | 0xc02f | 0xc030] => 8 + 16,
        [0xc0a8 | 0xc0ae] => 8 + 8,
        other => panic!("cipher suites {other:x?}"),
    }
}

/// The fields that [`oscore`] reads.
pub(crate) const OSCORE_FIELDS: [&str; 4] = [
    "coap.opt.name",
    "coap.opt.length",
    "oscore.code",
    "oscore.payload_length",
];

/// The books of the OSCORE exchanges of a device, decrypted.
pub(crate) fn oscore(connection: &Connection) -> Books {
    /// Of AES-CCM-16-64-128 (RFC 9053, section 4.2).
    const TAG_BYTES: u64 = 8;
    let (mut books, mut messages) = (Books::default(), 0);
    for frame in &connection.frames {
        assert!(
            frame.has("oscore.code"),
            "frame {}: decrypted",
            frame.packet.frame
        );
        let mut sums = headers(frame);
        sums.security = option_bytes(frame) + TAG_BYTES;
        sums.payload = frame.numbers("oscore.payload_length").iter().sum();
        sums.application = frame.packet.wire_bytes - sums.wire();
        messages += u64::from(frame.packet.way == 0);
        books.enter(Step::Message(messages), frame.packet.way, &sums);
    }
    books
}

/// The OSCORE option (RFC 8613, section 6.1): one byte before its value, because no option stands long before it.
fn option_bytes(frame: &Frame) -> u64 {
    let names = frame.texts("coap.opt.name");
    let lengths = frame.numbers("coap.opt.length");
    let place = names
        .iter()
        .position(|name| name.contains("OSCORE") || name.contains("Object-Security"));
    1 + lengths[place.expect("an OSCORE option")]
}
