//! Bytes as hex, what their spans say, and what they are called.

use wirecost_proto::{Cause, Direction, Layer, Phase, Span};
use wirecost_wire::tcp::Flags;

use super::{Content, Labeller, datagram, flag_names, handshake, stream};

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn span(len: u32, layer: Layer) -> Span {
    Span {
        len,
        layer,
        phase: Phase::Connect,
        cause: Cause::Original,
    }
}

/// A labeller of the stack, given one segment after another.
fn named(labeller: &mut Labeller, direction: Direction, bytes: &str, spans: &[(u32, Layer)]) -> String {
    let (bytes, spans) = (
        hex(bytes),
        spans
            .iter()
            .map(|(len, layer)| span(*len, *layer))
            .collect::<Vec<_>>(),
    );
    let content = Content::at_end(&bytes, &bytes, &spans);
    labeller.segment(direction, Flags::ACK, &content)
}

fn datagram_of(stack: &str, bytes: &str, spans: &[Span]) -> String {
    let bytes = hex(bytes);
    datagram::name(stack.parse().unwrap(), &Content::at_end(&bytes, &bytes, spans))
}

#[test]
fn segments_are_named_by_flags_and_packets_that_begin_there() {
    assert_eq!(flag_names(Flags::from_bits(0x12), true), ["SYN", "ACK"]);
    assert_eq!(flag_names(Flags::from_bits(0x10), true), ["ACK"]);
    assert_eq!(flag_names(Flags::from_bits(0x18), false), [""; 0]);
    assert_eq!(flag_names(Flags::from_bits(0x11), true), ["FIN"]);
    // PUBACK of packet 1, PINGRESP, and a PUBLISH that goes on in the next segment.
    let bytes = [0x40, 2, 0, 1, 0xd0, 0, 0x30, 200, 1, 0];
    assert_eq!(stream::mqtt_packets(&bytes), ["PUBACK", "PINGRESP", "PUBLISH"]);
}

#[test]
fn messages_of_databases_are_named_in_their_direction() {
    let startup = hex("00 00 00 09 00 03 00 00 00");
    assert_eq!(
        stream::postgres_messages(Direction::Up, &startup),
        ["StartupMessage"]
    );
    // The same letters mean other messages in the other direction.
    let both = hex("45 00 00 00 09 00 00 00 00 00  53 00 00 00 04");
    assert_eq!(
        stream::postgres_messages(Direction::Up, &both),
        ["Execute", "Sync"]
    );
    assert_eq!(
        stream::postgres_messages(Direction::Down, &both),
        ["ErrorResponse", "ParameterStatus"]
    );
    let commands = hex("05 00 00 00 17 01 00 00 00  01 00 00 00 01");
    assert_eq!(
        stream::mariadb_packets(Direction::Up, &commands),
        ["COM_STMT_EXECUTE", "COM_QUIT"]
    );
    let answers = hex("01 00 00 00 0a  01 00 00 02 00  01 00 00 03 fe");
    assert_eq!(
        stream::mariadb_packets(Direction::Down, &answers),
        ["handshake", "OK", "EOF"]
    );
}

#[test]
fn performatives_and_protocol_headers_are_named() {
    let table: &[(&str, &[&str])] = &[
        ("41 4d 51 50 03 01 00 00", &["SASL header"]),
        // The header of the connection, and the begin of a session behind it.
        (
            "41 4d 51 50 00 01 00 00  00 00 00 1a 02 00 00 00  00 53 11 c0 0d 04 40 43 70 ff ff ff ff 70 ff ff ff ff",
            &["AMQP header", "begin"],
        ),
        // The outcome ok, and an empty frame.
        (
            "00 00 00 10 02 01 00 00  00 53 44 c0 03 01 50 00  00 00 00 08 02 00 00 00",
            &["sasl-outcome", "empty frame"],
        ),
        ("01 02 03", &[]),
    ];
    for (bytes, names) in table {
        assert_eq!(stream::amqp_frames(&hex(bytes)), *names, "{bytes}");
    }
}

#[test]
fn messages_of_mqtt_sn_are_named_by_their_type() {
    for (bytes, name) in [
        ("0a 0a 00 00 00 01 74 65 73 74", "REGISTER"),
        ("09 0c 62 61 62 00 00 68 69", "PUBLISH"),
        ("07 0d 00 01 00 02 00", "PUBACK"),
        ("07 0d", "UDP"),
    ] {
        assert_eq!(datagram_of("mqttsn-qos1", bytes, &[]), name);
    }
}

#[test]
fn start_lines_lose_their_version() {
    let line = |text: &str| stream::start_line(text.as_bytes()).unwrap();
    assert_eq!(line("POST /test HTTP/1.1\r\nhost: a\r\n"), "POST /test");
    assert_eq!(line("HTTP/1.1 204 No Content\r\n\r\n"), "204 No Content");
}

#[test]
fn what_goes_on_with_an_earlier_message_says_so() {
    let mut labeller = Labeller::new("mqtt-qos1".parse().unwrap());
    assert_eq!(
        named(&mut labeller, Direction::Up, "40 02", &[(2, Layer::Payload)]),
        "more of it"
    );
    let mut labeller = Labeller::new("mqtt-qos1+tls1.3".parse().unwrap());
    assert_eq!(
        named(&mut labeller, Direction::Up, "99 88 77", &[(3, Layer::Payload)]),
        "more of it"
    );
}

#[test]
fn records_of_tls_1_3_are_named_by_their_spans() {
    let mut labeller = Labeller::new("mqtt-qos1+tls1.3".parse().unwrap());
    let mut name = |direction, bytes, spans| named(&mut labeller, direction, bytes, spans);
    // A ClientHello and early data.
    assert_eq!(
        name(
            Direction::Up,
            "16 03 01 00 05 01 00 00 01 aa  17 03 03 00 03 bb bb bb",
            &[
                (15, Layer::Security),
                (1, Layer::Application),
                (2, Layer::Security)
            ]
        ),
        "ClientHello, 0-RTT data 8 B"
    );
    assert_eq!(
        name(
            Direction::Down,
            "16 03 03 00 05 02 00 00 01 aa  14 03 03 00 01 01  17 03 03 00 01 bb  17 03 03 00 01 bb",
            &[(28, Layer::Security)]
        ),
        "ServerHello, ChangeCipherSpec, handshake (encrypted)"
    );
    assert_eq!(
        name(
            Direction::Up,
            "17 03 03 00 01 bb  17 03 03 00 02 bb bb",
            &[(11, Layer::Security), (2, Layer::Application)]
        ),
        "handshake (encrypted), TLS data 7 B"
    );
    assert_eq!(
        name(Direction::Down, "17 03 03 00 01 bb", &[(6, Layer::Security)]),
        "ticket"
    );
}

#[test]
fn another_connection_begins_with_another_handshake() {
    let mut labeller = Labeller::new("http1+tls1.3".parse().unwrap());
    let record = ("17 03 03 00 01 bb", [(6, Layer::Security)]);
    named(&mut labeller, Direction::Up, record.0, &record.1);
    assert_eq!(
        named(&mut labeller, Direction::Down, record.0, &record.1),
        "ticket"
    );
    labeller.segment(Direction::Up, Flags::SYN, &Content::at_end(&[], &[], &[]));
    assert_eq!(
        named(&mut labeller, Direction::Down, record.0, &record.1),
        handshake::ENCRYPTED
    );
}

#[test]
fn tls_1_2_shows_its_handshake_up_to_the_finished() {
    let mut labeller = Labeller::new("http1+tls1.2".parse().unwrap());
    let mut name = |bytes, len| named(&mut labeller, Direction::Up, bytes, &[(len, Layer::Security)]);
    assert_eq!(
        name("16 03 03 00 09 02 00 00 01 aa 0e 00 00 00", 14),
        "ServerHello, ServerHelloDone"
    );
    assert_eq!(
        name(
            "16 03 03 00 05 10 00 00 01 aa  14 03 03 00 01 01  16 03 03 00 04 00 00 00 00",
            25
        ),
        "ClientKeyExchange, ChangeCipherSpec, Finished (encrypted)"
    );
    // The server's alone, its ChangeCipherSpec in the segment before.
    assert_eq!(name("16 03 03 00 04 00 00 00 00", 9), "handshake (encrypted)");
    assert_eq!(name("15 03 03 00 01 00", 6), "alert");
}

#[test]
fn records_of_dtls_are_named() {
    let finished = "2e 00 01 00 02 aa aa";
    assert_eq!(
        datagram_of("coap-con+dtls1.3", finished, &[span(7, Layer::Security)]),
        "handshake (encrypted)"
    );
    let ack = Span {
        cause: Cause::Acknowledgement,
        ..span(7, Layer::Security)
    };
    let later = "2f 00 01 00 02 aa aa";
    assert_eq!(datagram_of("coap-con+dtls1.3", later, &[ack]), "ACK (encrypted)");
    assert_eq!(
        datagram_of("coap-con+dtls1.3", later, &[span(7, Layer::Application)]),
        "DTLS data 7 B"
    );
    let flight = "16 fe fd 00 00 00 00 00 00 00 00 00 0c  10 00 00 00 00 00 00 00 00 00 00 00
        14 fe fd 00 00 00 00 00 00 00 01 00 01 01  16 fe fd 00 01 00 00 00 00 00 00 00 01 aa";
    assert_eq!(
        datagram_of("coap-con+dtls1.2", flight, &[]),
        "ClientKeyExchange, ChangeCipherSpec, Finished (encrypted)"
    );
    assert_eq!(datagram_of("coap-con+dtls1.2", "00 01", &[]), "no record");
    // The connection ID 61 62 63 64 65 66 (RFC 9146 section 4).
    let record = "19 fe fd 00 01 00 00 00 00 00 00 61 62 63 64 65 66 00 01 aa";
    for (content, expected) in [
        ((Layer::Security, Phase::Connect), "Finished (encrypted)"),
        ((Layer::Application, Phase::Message), "DTLS data 20 B"),
        ((Layer::Security, Phase::Close), "alert"),
    ] {
        let (layer, phase) = content;
        let span = Span {
            phase,
            ..span(20, layer)
        };
        assert_eq!(datagram_of("coap-con+dtls1.2-cid", record, &[span]), expected);
    }
}

#[test]
fn packets_of_quic_are_joined() {
    // An Initial without ids and token and a Handshake, both of 2 bytes, and a short header.
    let datagram =
        "c0 00 00 00 01 00 00 00 02 aa aa  e0 00 00 00 01 00 00 02 aa aa  40 11 11 11 11 11 11 11 11 aa";
    let ack = Span {
        cause: Cause::Acknowledgement,
        ..span(11, Layer::Transport)
    };
    let spans = [
        ack,
        span(10, Layer::Security),
        span(9, Layer::Transport),
        span(1, Layer::Payload),
    ];
    assert_eq!(
        datagram_of("http3", datagram, &spans),
        "Initial ACK+Handshake+1-RTT data"
    );
    assert_eq!(
        datagram_of("http3", "40 11", &[span(2, Layer::Security)]),
        "1-RTT ticket"
    );
}

#[test]
fn a_protected_message_of_coap_says_so() {
    // CON POST, token of 1 byte, option 9 with a partial IV and a key id.
    assert_eq!(
        datagram_of("coap-con+oscore", "41 02 00 01 aa 92 09 01 ff bb", &[]),
        "CON POST OSCORE"
    );
    assert_eq!(datagram_of("coap-con", "41 03 00 01 aa", &[]), "CON PUT");
    assert_eq!(datagram_of("coap-con", "60 44 00 01", &[]), "ACK 2.04");
}

#[test]
fn any_bytes_have_a_name() {
    let stacks = [
        "tcp",
        "mqtt5-qos1",
        "amqp-settled",
        "http1",
        "http3",
        "mqtt-qos0+tls1.3",
        "http1+tls1.2",
        "coap-non+dtls1.3",
        "udp+dtls1.2",
        "coap-con+oscore",
    ];
    let starts: [&[u8]; 6] = [
        &[],
        &[22, 3, 3, 0],
        &[23, 3, 3, 0],
        &[22, 254, 253, 0, 0],
        &[0xc0, 0, 0, 0, 1],
        b"AMQP",
    ];
    let mut random = wirecost_proto::Rng::new(11);
    for round in 0..4_000 {
        let mut bytes = starts[round % starts.len()].to_vec();
        let mut more = [0; 40];
        random.fill(&mut more);
        let [len, covered, ..] = more.map(usize::from);
        bytes.extend_from_slice(&more[..len % 41]);
        let spans = [
            span(covered as u32 % 30, Layer::Security),
            span(9, Layer::Application),
        ];
        let stack = stacks[round % stacks.len()].parse().unwrap();
        let content = Content::at_end(&bytes, &bytes, &spans);
        let names = [
            Labeller::new(stack).segment(Direction::Down, Flags::ACK, &content),
            datagram::name(stack, &content),
        ];
        assert!(
            names.iter().all(|name| name.len() <= 80 + bytes.len() * 16),
            "{names:?}"
        );
    }
}
