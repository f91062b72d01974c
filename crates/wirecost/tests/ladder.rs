//! The ladders of real runs: the name and the flight of each packet, compared with the standards and with the round
//! trips that the summary counts in another way.

mod common;

use wirecost_results::{Cell, Ladder, LadderPacket};

use common::Run;

/// Stack, start, what the first message's answer is called, and the flight it comes with.
const ANSWERS: [(&str, &str, &str, u32); 13] = [
    ("mqtt-qos1", "cold", "PUBACK", 6),
    ("mqtt-qos1+tls1.3", "cold", "TLS data 26 B", 8),
    ("mqtt-qos1+tls1.3", "resumed", "TLS data 26 B", 8),
    ("mqtt-qos1+tls1.3", "0rtt", "TLS data 26 B", 6),
    ("amqp-unsettled", "cold", "disposition", 10),
    ("http1+tls1.3", "cold", "TLS data 49 B", 6),
    (
        "http1+tls1.3",
        "0rtt",
        "ServerHello, ChangeCipherSpec, handshake (encrypted), TLS data 49 B",
        4,
    ),
    ("http3", "cold", "1-RTT data", 4),
    ("http3", "0rtt", "Initial+Handshake+1-RTT data", 2),
    ("coap-tcp", "cold", "2.04", 4),
    ("coap-con+oscore", "cold", "ACK 2.04 OSCORE", 2),
    ("coap-con+dtls1.3", "cold", "DTLS data 28 B", 4),
    ("coap-con+dtls1.2", "cold", "DTLS data 43 B", 6),
];

/// The packets that carry the handshake of a stack, in their order, by name.
const HANDSHAKES: [(&str, &[&str]); 4] = [
    (
        "mqtt-qos1+tls1.3",
        &[
            "ClientHello",
            "ServerHello, ChangeCipherSpec, handshake (encrypted)",
            "ChangeCipherSpec, handshake (encrypted), TLS data 44 B",
            "ticket",
        ],
    ),
    (
        "coap-con+dtls1.2",
        &[
            "ClientHello",
            "ServerHello, Certificate, ServerKeyExchange, ServerHelloDone",
            "ClientKeyExchange, ChangeCipherSpec, Finished (encrypted)",
            "ChangeCipherSpec, Finished (encrypted)",
        ],
    ),
    (
        "coap-con+dtls1.3",
        &[
            "ClientHello",
            "ServerHello, handshake (encrypted)",
            "handshake (encrypted)",
            "ACK (encrypted)",
        ],
    ),
    (
        "http3",
        &[
            "Initial",
            "Initial+Handshake+1-RTT",
            "Initial ACK+Handshake+1-RTT data",
            "1-RTT ticket data",
        ],
    ),
];

struct Ladders {
    run: Run,
    ladders: Vec<Ladder>,
}

impl Ladders {
    fn of_a_run() -> Self {
        let mut stacks = ANSWERS.map(|(stack, ..)| stack).to_vec();
        stacks.dedup();
        let stacks = stacks.join(",");
        let arguments = format!("{stacks} --start cold,resumed,0rtt --rtt 30ms -n 1 --settle 300ms");
        let run = Run::undisturbed(|| Run::compare(&arguments));
        let text = std::fs::read_to_string(run.file("ladder.json")).expect("ladder.json");
        let ladders = serde_json::from_str(&text).expect("ladders");
        Self { run, ladders }
    }

    fn packets(&self, stack: &str, start: &str) -> &[LadderPacket] {
        let found = self
            .ladders
            .iter()
            .find(|ladder| (&*ladder.stack, &*ladder.start) == (stack, start));
        &found
            .unwrap_or_else(|| panic!("{stack} {start} has no ladder"))
            .packets
    }

    fn cell(&self, stack: &str, start: &str) -> &Cell {
        let mut cells = self.run.summary.cells.iter();
        let cell = cells.find(|cell| (&*cell.stack, &*cell.start) == (stack, start));
        cell.unwrap_or_else(|| panic!("{stack} {start} is no cell"))
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn packets_have_their_names_and_their_flights() {
    let ladders = Ladders::of_a_run();
    for (stack, start, label, flight) in ANSWERS {
        let packets = ladders.packets(stack, start);
        let is_answer = |packet: &&LadderPacket| packet.direction == "down" && packet.label == label;
        let answer = packets.iter().rfind(is_answer);
        let answer = answer.unwrap_or_else(|| panic!("{stack} {start}: no {label:?} in {packets:#?}"));
        assert_eq!(answer.flight, flight, "{stack} {start}: {packets:#?}");
        let trips = ladders.cell(stack, start).first_message_round_trips;
        assert_eq!(trips, Some(f64::from(flight) / 2.0), "{stack} {start}");
    }
    for (stack, labels) in HANDSHAKES {
        let of_handshake = ladders
            .packets(stack, "cold")
            .iter()
            .filter(|packet| packet.security > 22);
        let found: Vec<&str> = of_handshake
            .map(|packet| packet.label.as_str())
            .take(labels.len())
            .collect();
        assert_eq!(found, *labels, "{stack}");
    }
    for ladder in &ladders.ladders {
        let alternates = |packet: &LadderPacket| (packet.direction == "up") == (packet.flight % 2 == 1);
        assert!(
            ladder.packets.iter().all(alternates),
            "{} {}",
            ladder.stack,
            ladder.start
        );
    }
}
