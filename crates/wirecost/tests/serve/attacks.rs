//! How clients of each protocol on a stream leave a message unfinished, and what they ask without reading the answer: for the tests of
//! `held.rs` and for `scripts/bench-unread`.

/// Bytes that each client sends of a message: more than three times the limit in all.
pub(crate) const PART_BYTES: usize = 900_000;
/// The announced length of such a message.
pub(crate) const WHOLE_BYTES: u32 = 1_000_000;

/// A protocol on a stream, and how its clients misbehave.
pub(crate) struct Attack {
    pub(crate) protocol: &'static str,
    /// What comes before a message.
    pub(crate) hello: &'static [u8],
    /// The start of a message of [`WHOLE_BYTES`].
    pub(crate) begun: fn() -> Vec<u8>,
    /// The bytes of such a message that its announced length does not count; `None` where it has many frames.
    pub(crate) uncounted: Option<usize>,
    /// A request, and what its answer contains.
    pub(crate) asks: &'static [u8],
    pub(crate) answer: &'static [u8],
}

const MQTT_CONNECT: &[u8] = b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00";
const COAP_CSM: &[u8] = b"\x00\xe1";
const AMQP_ATTACHED: &[u8] = b"AMQP\x00\x01\x00\x00\
    \x00\x00\x00\x11\x02\x00\x00\x00\x00\x53\x10\xc0\x04\x01\xa1\x01x\
    \x00\x00\x00\x1a\x02\x00\x00\x00\x00\x53\x11\xc0\x0d\x04\x40\x43\x70\x00\x00\x10\x00\x70\x00\x00\x10\x00\
    \x00\x00\x00\x22\x02\x00\x00\x00\x00\x53\x12\xc0\x15\x0a\xa1\x01l\x43\x42\x40\x40\x40\x00\x53\x29\xc0\x04\x01\xa1\x01q\
    \x40\x40\x43";
pub(crate) const POSTGRES_STARTUP: &[u8] = b"\x00\x00\x00\x13\x00\x03\x00\x00user\x00me\x00\x00\x00\x00";

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        protocol: "mqtt",
        hello: MQTT_CONNECT,
        begun: || b"\x30\xc0\x84\x3d\x00\x01t".to_vec(),
        uncounted: Some(4),
        asks: b"\xc0\x00",
        answer: b"\xd0\x00",
    },
    Attack {
        protocol: "amqp",
        hello: AMQP_ATTACHED,
        begun: || {
            // Each frame says that more of the message follows.
            let part = vec![b'x'; 60_000];
            let frame = |fields: &[u8], content: &[u8]| {
                let list = [b"\x00\x53\x14\xc0", &[fields.len() as u8 + 1, 6][..], fields].concat();
                let length = (8 + list.len() + content.len()) as u32;
                [&length.to_be_bytes(), &b"\x02\x00\x00\x00"[..], &list, content].concat()
            };
            let section = [b"\x00\x53\x75\xb0", &WHOLE_BYTES.to_be_bytes()[..], &part].concat();
            let mut frames = frame(b"\x43\x43\xa0\x01\x01\x43\x42\x41", &section);
            (0..PART_BYTES / part.len()).for_each(|_| frames.extend(frame(b"\x43\x40\x40\x40\x42\x41", &part)));
            frames
        },
        uncounted: None,
        // A flow frame of the session that asks for another one.
        asks: b"\x00\x00\x00\x23\x02\x00\x00\x00\x00\x53\x13\xc0\x16\x0a\x43\x70\x00\x00\x10\x00\x43\x70\x00\x00\x10\x00\
            \x40\x40\x40\x40\x42\x41",
        answer: b"\x00\x53\x13",
    },
    Attack {
        protocol: "http1",
        hello: b"",
        begun: || format!("POST /test HTTP/1.1\r\nHost: x\r\nContent-Length: {WHOLE_BYTES}\r\n\r\n").into_bytes(),
        uncounted: Some(57),
        asks: b"GET /test HTTP/1.1\r\nHost: x\r\n\r\n",
        answer: b"HTTP/1.1 ",
    },
    Attack {
        protocol: "coap-tcp",
        hello: COAP_CSM,
        begun: || [&[0xf0][..], &(WHOLE_BYTES - 65_805).to_be_bytes(), b"\x03\xb4test\xff"].concat(),
        uncounted: Some(6),
        asks: b"\x60\x01\xb5large",
        answer: b"\x45",
    },
    Attack {
        protocol: "tcp",
        hello: b"",
        begun: || WHOLE_BYTES.to_be_bytes().to_vec(),
        uncounted: Some(4),
        asks: b"",
        answer: b"",
    },
    Attack {
        protocol: "postgres",
        hello: POSTGRES_STARTUP,
        begun: || [b"B", &WHOLE_BYTES.to_be_bytes()[..]].concat(),
        uncounted: Some(1),
        asks: b"S\x00\x00\x00\x04",
        answer: b"Z\x00\x00\x00\x05",
    },
    Attack {
        protocol: "mariadb",
        hello: b"\x01\x00\x00\x01x",
        begun: || b"\x40\x42\x0f\x00\x17".to_vec(),
        uncounted: Some(4),
        asks: b"\x01\x00\x00\x00\x0e",
        answer: b"\x00\x00\x00\x02\x00",
    },
    Attack {
        protocol: "mongodb",
        hello: b"",
        begun: || [&WHOLE_BYTES.to_le_bytes()[..], &[0; 8], &[0xdd, 7, 0, 0]].concat(),
        uncounted: Some(0),
        asks: b"\x24\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00\x00\x00\x00\x00\x00\
            \x0f\x00\x00\x00\x10hello\x00\x01\x00\x00\x00",
        answer: b"maxWireVersion",
    },
];
