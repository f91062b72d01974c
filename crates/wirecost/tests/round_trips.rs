//! Round trips until the first acknowledged message, counted in the capture: a flight is what one side sends before
//! it hears from the other, whatever the clock says. The flights of the standards and the summary must agree.

mod common;

use common::Run;
use common::frames::{Connection, Frame, frames, measured};
use common::tshark::{Body, Coap};

const FIELDS: [&str; 7] = [
    "tls.handshake.type",
    "dtls.handshake.type",
    "mqtt.msgtype",
    "amqp.performative",
    "http.request.method",
    "http.response.code",
    "quic.stream.stream_id",
];

/// Stack, start and round trips.
type Row = (&'static str, &'static str, f64);

/// TCP's handshake, TLS 1.3's (RFC 8446 section 2), CONNECT and PUBLISH: four. TLS 1.2 takes one more (RFC 5246
/// section 7.3), early data saves one (RFC 8446 section 2.3).
#[test]
#[ignore = "needs root and tshark"]
fn streams_take_the_flights_of_their_standards() {
    check(
        "mqtt-qos1+tls1.3,http1+tls1.3 --start cold,resumed,0rtt",
        &[
            ("mqtt-qos1+tls1.3", "cold", 4.0),
            ("mqtt-qos1+tls1.3", "resumed", 4.0),
            ("mqtt-qos1+tls1.3", "0rtt", 3.0),
            ("http1+tls1.3", "cold", 3.0),
            ("http1+tls1.3", "resumed", 3.0),
            ("http1+tls1.3", "0rtt", 2.0),
        ],
    );
    check(
        "mqtt-qos1+tls1.2,http1+tls1.2 --start cold,resumed",
        &[
            ("mqtt-qos1+tls1.2", "cold", 5.0),
            ("mqtt-qos1+tls1.2", "resumed", 4.0),
            ("http1+tls1.2", "cold", 4.0),
            ("http1+tls1.2", "resumed", 3.0),
        ],
    );
}

/// One each for TCP, for SASL's protocol header and the mechanisms, for the choice of one and the outcome (AMQP 1.0
/// part 5, section 5.3.2), for open, begin and attach until there is credit (part 2, section 2.6.7), and for the
/// transfer until its disposition.
#[test]
#[ignore = "needs root and tshark"]
fn amqp_takes_five_round_trips_and_one_more_for_tls_1_3() {
    check("amqp-unsettled", &[("amqp-unsettled", "cold", 5.0)]);
    check(
        "amqp-unsettled+tls1.3 --start cold,0rtt",
        &[
            ("amqp-unsettled+tls1.3", "cold", 6.0),
            ("amqp-unsettled+tls1.3", "0rtt", 5.0),
        ],
    );
}

/// MQTT 3.1.1 and 5, section 3.1.4: PUBLISH leaves behind CONNECT. AMQP 1.0, part 2, section 2.4.2: everything up to the attach leaves in
/// one flight, which saves two round trips, and the transfer waits for credit.
#[test]
#[ignore = "needs root and tshark"]
fn a_pipelined_connect_takes_the_flights_that_the_standards_leave() {
    check(
        "mqtt-qos1,mqtt5-qos1,amqp-unsettled --pipelined-connect",
        &[
            ("mqtt-qos1", "cold", 2.0),
            ("mqtt5-qos1", "cold", 2.0),
            ("amqp-unsettled", "cold", 3.0),
        ],
    );
    check(
        "mqtt5-qos1+tls1.3,amqp-unsettled+tls1.3 --start cold,0rtt --pipelined-connect",
        &[
            ("mqtt5-qos1+tls1.3", "cold", 3.0),
            ("mqtt5-qos1+tls1.3", "0rtt", 2.0),
            ("amqp-unsettled+tls1.3", "cold", 4.0),
            ("amqp-unsettled+tls1.3", "0rtt", 3.0),
        ],
    );
}

/// RFC 9147 section 5.8: one round trip, and one for the cookie; RFC 6347 section 4.2.4: two.
#[test]
#[ignore = "needs root and tshark"]
fn datagrams_take_the_flights_of_their_standards() {
    check(
        "coap-con+dtls1.3,coap-con+dtls1.2,coap-con+oscore,coap-con",
        &[
            ("coap-con+dtls1.3", "cold", 2.0),
            ("coap-con+dtls1.2", "cold", 3.0),
            ("coap-con+oscore", "cold", 1.0),
            ("coap-con", "cold", 1.0),
        ],
    );
}

/// RFC 5246 section 7.3: an abbreviated handshake takes one round trip less. A connection ID takes none.
#[test]
#[ignore = "needs root and tshark"]
fn a_session_of_dtls_saves_one_round_trip() {
    check(
        "coap-con+dtls1.2-psk,coap-con+dtls1.2-cid --start cold,resumed",
        &[
            ("coap-con+dtls1.2-psk", "cold", 3.0),
            ("coap-con+dtls1.2-psk", "resumed", 2.0),
            ("coap-con+dtls1.2-cid", "cold", 3.0),
            ("coap-con+dtls1.2-cid", "resumed", 2.0),
        ],
    );
}

#[test]
#[ignore = "needs root and tshark"]
fn a_cookie_takes_one_round_trip_more() {
    check(
        "coap-con+dtls1.3,coap-con+dtls1.2,coap-con+dtls1.2-psk --dtls-cookie",
        &[
            ("coap-con+dtls1.3", "cold", 3.0),
            ("coap-con+dtls1.2", "cold", 4.0),
            ("coap-con+dtls1.2-psk", "cold", 4.0),
        ],
    );
}

/// RFC 9001 section 4.1: the request leaves with the client's Finished, or with its first flight.
#[test]
#[ignore = "needs root and tshark"]
fn http_3_takes_two_round_trips_and_one_early() {
    check(
        "http3 --start cold,resumed,0rtt",
        &[
            ("http3", "cold", 2.0),
            ("http3", "resumed", 2.0),
            ("http3", "0rtt", 1.0),
        ],
    );
}

fn check(arguments: &str, rows: &[Row]) {
    let run = Run::undisturbed(|| Run::compare(&format!("{arguments} -n 2 --rtt 100ms --settle 300ms")));
    let connections = measured(frames(&run.file("capture/all.pcapng"), &FIELDS));
    assert_eq!(run.summary.cells.len(), rows.len());
    for (cell, (stack, start, expected)) in run.summary.cells.iter().zip(rows) {
        assert_eq!((cell.stack.as_str(), cell.start.as_str()), (*stack, *start));
        assert!(cell.valid, "{stack} {start}: {:?}", cell.warnings);
        assert_eq!(cell.first_message_round_trips, Some(*expected), "{stack} {start}");
        let name = match *start {
            "cold" => format!("{stack} 128 B"),
            start => format!("{stack} {start} 128 B"),
        };
        let devices: Vec<&Connection> = connections.iter().filter(|of| of.cell == name).collect();
        assert_eq!(devices.len(), 2, "devices of {name}");
        for device in devices {
            assert_eq!(round_trips(device), *expected, "{name} in the capture");
        }
    }
}

/// Half the flights until the client may send, and half those of its first message and the answer; all of them are one
/// path where the message leaves before the client has heard what it waits for.
fn round_trips(connection: &Connection) -> f64 {
    let frames = connection.frames.as_slice();
    let ready = frames.iter().rposition(|frame| is_ready(&connection.cell, frame));
    let message = frames
        .iter()
        .position(|frame| is_message(connection, ready, frame));
    let message = message.expect("a message");
    let answer = frames[message..]
        .iter()
        .position(|frame| is_answer(&connection.cell, frame));
    let answer = message + answer.expect("an answer");
    let flights = match ready {
        Some(ready) if ready < message => flights(&frames[..=ready]) + flights(&frames[message..=answer]),
        _ => flights(&frames[..=answer]),
    };
    flights as f64 / 2.0
}

/// Runs of packets of one direction.
fn flights(frames: &[Frame]) -> usize {
    let turns = frames
        .windows(2)
        .filter(|pair| pair[0].packet.way != pair[1].packet.way);
    1 + turns.count()
}

/// Whether a packet from the server holds the last thing that the client waits for: credit in AMQP, CONNACK in MQTT,
/// else the server's Finished, or its ServerHello where DTLS 1.3 hides the rest of the flight.
fn is_ready(cell: &str, frame: &Frame) -> bool {
    const FLOW: u64 = 0x13;
    const CONNACK: u64 = 2;
    const FINISHED: u64 = 20;
    const SERVER_HELLO: u64 = 2;
    let has = |field: &str, number: u64| frame.numbers(field).contains(&number);
    let is_it = match cell {
        cell if cell.starts_with("amqp") => has("amqp.performative", FLOW),
        cell if cell.starts_with("mqtt") => has("mqtt.msgtype", CONNACK),
        cell if cell.contains("+dtls1.3") => has("dtls.handshake.type", SERVER_HELLO),
        // tshark names an encrypted Finished only once it has decrypted it, and DTLS 1.2 follows it with nothing.
        cell if cell.contains("+dtls1.2") => !frame.texts("dtls.handshake.type").is_empty(),
        _ => has("tls.handshake.type", FINISHED),
    };
    is_it && frame.packet.way == 1
}

fn is_message(connection: &Connection, ready: Option<usize>, frame: &Frame) -> bool {
    const PUBLISH: u64 = 3;
    const TRANSFER: u64 = 0x14;
    let is_behind = ready.is_some_and(|ready| frame.packet.frame > connection.frames[ready].packet.frame);
    let is_it = match connection.cell.as_str() {
        cell if cell.starts_with("mqtt") => frame.numbers("mqtt.msgtype").contains(&PUBLISH),
        cell if cell.starts_with("amqp") => frame.numbers("amqp.performative").contains(&TRANSFER),
        cell if cell.starts_with("http1") => frame.has("http.request.method"),
        cell if cell.starts_with("http3") => frame.numbers("quic.stream.stream_id").contains(&0),
        // Sealed: the first datagram behind the handshake with room for the payload.
        cell if cell.contains("+dtls1.3") => is_behind && frame.packet.wire_bytes > 128 + 28,
        _ => coap(frame).is_some_and(|coap| coap.code < 32),
    };
    is_it && frame.packet.way == 0
}

fn is_answer(cell: &str, frame: &Frame) -> bool {
    const PUBACK: u64 = 4;
    const DISPOSITION: u64 = 0x15;
    let is_it = match cell {
        cell if cell.starts_with("mqtt") => frame.numbers("mqtt.msgtype").contains(&PUBACK),
        cell if cell.starts_with("amqp") => frame.numbers("amqp.performative").contains(&DISPOSITION),
        cell if cell.starts_with("http1") => frame.has("http.response.code"),
        cell if cell.starts_with("http3") => frame.numbers("quic.stream.stream_id").contains(&0),
        cell if cell.contains("+dtls1.3") => true,
        _ => coap(frame).is_some(),
    };
    is_it && frame.packet.way == 1
}

fn coap(frame: &Frame) -> Option<&Coap> {
    match &frame.packet.body {
        Body::Udp(datagram) => datagram.coap.as_ref(),
        _ => None,
    }
}
