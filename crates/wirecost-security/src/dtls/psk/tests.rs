use super::message::{self, kind};
use super::prf::prf;
use super::protection::KeyPair;
use super::*;
use crate::dtls::fields::{HEADER_BYTES, header};
use crate::dtls::record::content;

#[test]
fn the_function_gives_the_published_bytes() {
    // The vector for P_SHA256 that the IETF's TLS working group published on its list in 2008.
    let secret = 0x9bbe436b_a940f017_b1765284_9a71db35_u128.to_be_bytes();
    let seed = 0xa0ba9f93_6cda3118_27a6f796_ffd5198c_u128.to_be_bytes();
    let mut out = [0; 100];
    prf(&secret, "test label", &[&seed], &mut out);
    assert_eq!(out[..4], [0xe3, 0xf2, 0x29, 0xba]);
    assert_eq!(out[32..36], [0x6b, 0x30, 0x17, 0x91]);
    assert_eq!(out[92..], [0x10, 0xff, 0xf7, 0x01, 0x87, 0x34, 0x7b, 0x66]);
}

#[test]
fn a_record_opens_with_its_number_and_id_alone() {
    let keys = KeyPair::derive(&[7; 48], &[1; 32], &[2; 32]);
    let number = 1 << 48 | 5;
    for id in [&[][..], b"abcdef"] {
        let mut record = Vec::new();
        keys.client
            .seal(content::APPLICATION_DATA, number, id, b"21.5", &mut record);
        let type_bytes = usize::from(!id.is_empty());
        assert_eq!(record.len(), 13 + id.len() + 8 + 4 + type_bytes + 8);
        let outer = record[0];
        let body = record[13 + id.len()..].to_vec();
        let open = |outer, number, id: &[u8], body: &[u8]| {
            let mut body = body.to_vec();
            let content = keys.client.open(outer, number, id, &mut body);
            content.map(|content| (content, body))
        };
        let expected = (content::APPLICATION_DATA, b"21.5".to_vec());
        assert_eq!(open(outer, number, id, &body), Some(expected));
        assert_eq!(open(outer, number + 1, id, &body), None, "another number");
        assert_eq!(open(content::ALERT, number, id, &body), None, "another type");
        if !id.is_empty() {
            assert_eq!(open(outer, number, b"abcdeg", &body), None, "another ID");
        }
        for cut in 0..body.len() {
            assert_eq!(open(outer, number, id, &body[..cut]), None, "{cut} bytes");
        }
    }
}

#[test]
fn messages_of_any_fragments_are_put_together_in_order() {
    let body: Vec<u8> = (0..200).collect();
    let fragment = |number: u16, from: usize, to: usize| {
        let head = header(kind::CLIENT_HELLO, body.len(), number, from, to - from);
        [&head[..], &body[from..to]].concat()
    };
    let mut incoming = incoming::Incoming::default();
    assert!(!incoming.take(0, &fragment(1, 0, 200)));
    assert!(incoming.pop().is_none(), "message 0 comes first");
    assert!(!incoming.take(0, &fragment(0, 90, 200)));
    assert!(!incoming.take(0, &fragment(0, 0, 50)));
    assert!(incoming.pop().is_none());
    // Fragments may overlap, and one record may hold two.
    let both = [fragment(0, 40, 100), fragment(2, 0, 200)].concat();
    assert!(!incoming.take(0, &both));
    for _ in 0..3 {
        assert_eq!(incoming.pop().expect("a message").body(), body);
    }
    assert!(incoming.pop().is_none());
    assert!(incoming.take(0, &fragment(0, 0, 50)), "a repetition");
    // The Finished alone is in epoch 1.
    assert!(!incoming.take(1, &fragment(3, 0, 200)));
    assert!(incoming.pop().is_none());
}

#[test]
fn hellos_survive_their_bytes_and_cuts_are_refused() {
    let body = message::client_hello(&[9; 32], b"session", b"cookie", Some(b""));
    let hello = message::ClientHello::parse(&body).expect("a hello");
    assert!(hello.is_acceptable() && hello.has_renegotiation_info());
    assert_eq!(
        (hello.session_id, hello.cookie),
        (&b"session"[..], &b"cookie"[..])
    );
    assert_eq!(hello.extensions.connection_id, Some(&[][..]));
    let answer = message::server_hello(&hello, &[8; 32], b"session", Some(b"abcdef"));
    let parsed = message::ServerHello::parse(&answer).expect("a hello");
    assert!(parsed.is_acceptable() && parsed.extensions.extended_master_secret);
    assert_eq!(parsed.extensions.connection_id, Some(&b"abcdef"[..]));
    // The extensions are optional: a hello may end before them.
    let optional = 2 + 32 + 1 + 7 + 2 + 1;
    for cut in (0..answer.len()).filter(|cut| *cut != optional) {
        assert_eq!(message::ServerHello::parse(&answer[..cut]), None, "{cut} bytes");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Lengths of 16 bits in records and of 24 bits in messages (RFC 6347 sections 4.1 and 4.2.2).
    #[test]
    fn records_and_messages_are_as_long_as_they_say(
        mtu in proptest::prop_oneof![64usize..2_000, 16_000usize..17_000, 65_000usize..140_000],
        body in proptest::prop_oneof![0usize..300, 16_000usize..17_000, 65_500usize..65_600],
        data in proptest::prop_oneof![0usize..300, 16_300usize..=16_384],
    ) {
        let mut layer = record_layer::RecordLayer::new(mtu);
        let mut flight = flight::Flight::default();
        let part = flight::Part::Message { epoch: 0, kind: kind::CLIENT_KEY_EXCHANGE, number: 3, body: vec![7; body] };
        flight.send(vec![part], std::time::Duration::ZERO, false, wirecost_proto::Instant::START, &mut layer);
        layer.set_keys(KeyPair::derive(&[7; 48], &[1; 32], &[2; 32]), true);
        layer.append(1, content::APPLICATION_DATA, &vec![9; data]);
        layer.flush();
        let (mut seen, mut protected) = (0, 0);
        for out in layer.ready.drain(..) {
            let record_layer::Out::Datagram(datagram) = out else {
                continue;
            };
            let mut covered = 0;
            for record in crate::dtls::record::records(&datagram) {
                covered += record.bytes.len();
                match record.message() {
                    Some(message) => {
                        let said = message.piece.offset as usize;
                        assert_eq!(said, seen, "fragments are in order");
                        seen += message.body.len();
                        assert!(message.body.len() + HEADER_BYTES <= 1 << 14);
                    }
                    None => protected += record.body().len(),
                }
            }
            assert_eq!(covered, datagram.len(), "records cover the datagram");
        }
        assert_eq!((seen, protected), (body, 8 + data + 8));
    }
}
