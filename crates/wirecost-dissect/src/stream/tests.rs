use wirecost_proto::Direction::{self, Down, Up};
use wirecost_proto::Layer;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

/// Describes the bytes, fed `step` at a time: length, layer, phase, cause. The layer of bytes that were left out is
/// `?`.
fn told(port: u16, step: usize, talk: &[(Direction, Vec<u8>)]) -> (String, Vec<String>) {
    let mut stream = Stream::new(port);
    let (secrets, mut scratch) = (Secrets::default(), Vec::new());
    let mut context = Context {
        secrets: &secrets,
        scratch: &mut scratch,
    };
    let mut lines = Vec::new();
    for (direction, bytes) in talk {
        let mut out = SpanList::default();
        for part in bytes.chunks(step) {
            stream.feed(*direction, part, &mut context, &mut out);
        }
        let pieces = out.pieces().iter().map(|piece| {
            let span = piece.span;
            let layer = if piece.known { span.layer.name() } else { "?" };
            let (phase, cause) = (span.phase.name(), span.cause.name());
            format!("{} {layer} {phase} {cause}", span.len)
        });
        lines.extend(pieces);
    }
    (stream.label(), lines)
}

/// Checks that the description is `lines`, wherever the stream is cut.
fn assert_told(port: u16, label: &str, talk: &[(Direction, Vec<u8>)], lines: &[&str]) {
    for step in [1, 2, 3, 7, 1_000] {
        let told = told(port, step, talk);
        assert_eq!(told.0, label, "{step}");
        assert_eq!(told.1, lines, "{step}");
    }
}

#[test]
fn the_packet_type_classifies_mqtt() {
    let talk = [
        // CONNECT, PUBLISH of QoS 1 to "t" with 3 B, the same again with DUP, PINGREQ, DISCONNECT.
        (Up, hex("10 0d 0004 4d515454 04 02 003c 0001 61")),
        (Down, hex("20 02 0000")),
        (Up, hex("32 08 0001 74 0001 616263")),
        (Down, hex("40 02 0001")),
        (Up, hex("3a 08 0001 74 0001 616263 c0 00")),
        (Down, hex("d0 00")),
        (Up, hex("e0 00")),
    ];
    let lines = [
        "15 application connect original",
        "4 application connect original",
        "7 application message original",
        "3 payload message original",
        "4 application message acknowledgement",
        "7 application message retransmission",
        "3 payload message retransmission",
        "2 application keep_alive original",
        "2 application keep_alive original",
        "2 application close original",
    ];
    assert_told(1883, "MQTT 3.1.1", &talk, &lines);
}

#[test]
fn mqtt_5_properties_are_not_payload() {
    let talk = [
        (Up, hex("10 0e 0004 4d515454 05 02 003c 00 0001 61")),
        // PUBLISH of QoS 0 to "t" with a payload format indicator and 2 B.
        (Up, hex("30 08 0001 74 02 0101 6869")),
    ];
    let lines = [
        "16 application connect original",
        "8 application message original",
        "2 payload message original",
    ];
    assert_told(10_000, "MQTT 5", &talk, &lines);
}

#[test]
fn a_bare_message_is_prefix_and_payload() {
    let talk = [(Up, hex("00000003 616263 00000001 64")), (Down, hex("61"))];
    let lines = [
        "4 application message original",
        "3 payload message original",
        "4 application message original",
        "1 payload message original",
        "1 ? message original",
    ];
    assert_told(9, "bare", &talk, &lines);
}

#[test]
fn http_content_is_payload_in_every_framing() {
    let talk = [
        (
            Up,
            b"POST /test HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello".to_vec(),
        ),
        (Down, b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        (Up, b"GET /a HTTP/1.1\r\n\r\n".to_vec()),
        (
            Down,
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec(),
        ),
        (Up, b"HEAD /a HTTP/1.1\r\n\r\n".to_vec()),
        (Down, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_vec()),
    ];
    let lines = [
        "42 application message original",
        "5 payload message original",
        "27 application message original",
        "19 application message original",
        "50 application message original",
        "3 payload message original",
        "7 application message original",
        "20 application message original",
        "38 application message original",
    ];
    assert_told(80, "HTTP/1.1", &talk, &lines);
}

#[test]
fn the_performative_classifies_amqp() {
    let transfer = "0000001a 02 00 0000 00 53 14 c0 03 01 43 40 00 53 75 a0 05 68 65 6c 6c 6f";
    let talk = [
        (Up, hex("41 4d 51 50 00 01 00 00")),
        (Up, hex("0000000c 02 00 0000 00 53 10 45")),
        (Up, hex(transfer)),
        (Down, hex("0000000c 02 00 0000 00 53 15 45")),
        (Down, hex("00000008 02 00 0000")),
        (Up, hex("0000000c 02 00 0000 00 53 18 45")),
    ];
    let lines = [
        "8 application connect original",
        "12 application connect original",
        "21 application message original",
        "5 payload message original",
        "12 application message acknowledgement",
        "8 application keep_alive original",
        "12 application close original",
    ];
    assert_told(5672, "AMQP 1.0", &talk, &lines);
}

#[test]
fn unknown_protocols_are_left_out_by_name() {
    let talk = [(Down, b"SSH-2.0-x\r\n".to_vec()), (Up, b"anything".to_vec())];
    assert_told(
        22,
        "SSH",
        &talk,
        &["11 ? message original", "8 ? message original"],
    );
}

#[test]
fn a_gap_ends_the_description_unless_it_is_inside_a_payload() {
    let (secrets, mut scratch) = (Secrets::default(), Vec::new());
    let mut context = Context {
        secrets: &secrets,
        scratch: &mut scratch,
    };
    let mut stream = Stream::new(9);
    let mut out = SpanList::default();
    stream.feed(Up, &hex("00000005 61"), &mut context, &mut out);
    stream.gap(Up, 3, &mut out);
    stream.feed(Up, &hex("62 00000001"), &mut context, &mut out);
    assert!(out.pieces().iter().all(|piece| piece.known));
    assert_eq!(out.bytes(), 13);
    out.clear();
    stream.gap(Up, 3, &mut out);
    stream.feed(Up, &hex("62"), &mut context, &mut out);
    let known = |piece: &crate::span_list::Piece| piece.known && piece.span.layer == Layer::Payload;
    assert!(!out.pieces().iter().any(known));
    assert_eq!(
        (out.bytes(), stream.reason()),
        (4, "bytes that were not captured")
    );
}

/// A record of TLS with a body of zeros.
fn closed_record(bytes: usize) -> Vec<u8> {
    let length = (bytes as u16).to_be_bytes();
    [&[23, 3, 3], &length[..], &vec![0; bytes]].concat()
}

/// A ServerHello of TLS 1.3 with TLS_AES_128_GCM_SHA256.
fn server_hello_1_3() -> Vec<u8> {
    let tail = [
        0x00, 0x13, 0x01, 0x00, 0x00, 0x06, 0x00, 0x2b, 0x00, 0x02, 0x03, 0x04,
    ];
    let body = [&[3, 3], &[9; 32][..], &tail].concat();
    let length = body.len() as u8;
    [&[22, 3, 3, 0, length + 4, 2, 0, 0, length], &body[..]].concat()
}

#[test]
fn without_secrets_the_handshake_of_tls_1_3_ends_with_finished() {
    let hello = [&[22, 3, 1, 0, 38, 1, 0, 0, 34, 3, 3][..], &[7; 32]].concat();
    let talk = [
        (Up, hello),
        (Down, server_hello_1_3()),
        (Down, closed_record(600)),
        // Header 4, hash 32, content type 1, tag 16.
        (Up, closed_record(53)),
        (Up, closed_record(75)),
        // The same length as Finished, after it.
        (Up, closed_record(53)),
        (Down, closed_record(21)),
    ];
    let lines = [
        "43 security connect original",
        "55 security connect original",
        "605 security connect original",
        "58 security connect original",
        "5 security message original",
        "75 ? message original",
        "5 security message original",
        "53 ? message original",
        "5 security message original",
        "21 ? message original",
    ];
    assert_told(443, "TLS 1.3", &talk, &lines);
}

/// A client's certificate may share its record with Finished.
#[test]
fn what_the_server_sends_next_ends_the_handshake_too() {
    let hello = [&[22, 3, 1, 0, 38, 1, 0, 0, 34, 3, 3][..], &[7; 32]].concat();
    let talk = [
        (Up, hello),
        (Down, server_hello_1_3()),
        (Up, closed_record(700)),
        (Down, closed_record(21)),
        (Up, closed_record(75)),
    ];
    let lines = [
        "43 security connect original",
        "55 security connect original",
        "705 security connect original",
        "5 security message original",
        "21 ? message original",
        "5 security message original",
        "75 ? message original",
    ];
    assert_told(443, "TLS 1.3", &talk, &lines);
}
