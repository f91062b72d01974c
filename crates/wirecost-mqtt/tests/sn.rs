//! A client and a gateway of MQTT-SN over a path that loses, repeats and delays datagrams.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wirecost_mqtt::client::PublishTemplate;
use wirecost_mqtt::quality::QoS;
use wirecost_mqtt::sn::client::{Client, Command, Config, Event};
use wirecost_mqtt::sn::codec::{Message, MessageType, Quality, ReturnCode};
use wirecost_mqtt::sn::gateway::{self, Gateway};
use wirecost_mqtt::sn::{RETRIES, RETRY_TIME};
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::{FIRST_FLOW, Pair};
use wirecost_proto::{
    BothWays, Cause, Delivery, Direction, Endpoint, Fate, FlowId, Input, Instant, Path, Phase, Rng,
};

const DELAY: Duration = Duration::from_millis(50);

/// Loses the listed datagrams, counted per direction from 0, and a share of all others; repeats all others if asked to.
#[derive(Debug, Default)]
struct Lossy {
    up: Vec<usize>,
    down: Vec<usize>,
    share: f64,
    repeats: bool,
    rng: Option<Rng>,
    sent: BothWays<usize>,
}

impl Path for Lossy {
    fn offer(&mut self, direction: Direction, _: usize, now: Instant, out: &mut Vec<Delivery>) -> Fate {
        let place = self.sent[direction];
        self.sent[direction] += 1;
        let listed = match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        };
        let is_unlucky = self.rng.as_mut().is_some_and(|rng| rng.next_f64() < self.share);
        if listed.contains(&place) || is_unlucky {
            return Fate::Lost;
        }
        let (at, flip_bit) = (now + DELAY, None);
        out.push(Delivery { at, flip_bit });
        if self.repeats {
            let at = at + Duration::from_millis(1);
            out.push(Delivery { at, flip_bit });
        }
        Fate::Delivered
    }
}

type SnPair = Pair<Client, Gateway, Lossy>;

fn pair(path: Lossy, config: Config) -> SnPair {
    let gateway = Gateway::new(gateway::Config::default());
    let mut pair = Pair::new(Transport::Datagram, Client::new(config), gateway, path);
    pair.open();
    pair
}

fn config() -> Config {
    Config {
        registers: Some("test".into()),
        ..Config::new("wc-00001")
    }
}

fn publish(message: u64, topic: &str, qos: QoS) -> Command {
    let template = PublishTemplate::new(topic, qos, vec![7; 20]).expect("a message");
    Command::Publish {
        message,
        template: Arc::new(template),
        stamp: None,
    }
}

/// The types of the messages in order, those of the gateway with `<`.
fn conversation(pair: &SnPair) -> String {
    let names = pair.sent.iter().map(|sent| {
        let message = Message::parse(&sent.bytes).expect("a message");
        let arrow = if sent.direction == Direction::Up { ">" } else { "<" };
        format!("{arrow}{}", message.kind().name())
    });
    names.collect::<Vec<_>>().join(" ")
}

fn events(pair: &SnPair) -> Vec<Event> {
    pair.client_events.iter().map(|(_, event)| *event).collect()
}

fn published(pair: &SnPair) -> usize {
    let is_published = |event: &gateway::Event| matches!(event, gateway::Event::Published { .. });
    pair.server_events
        .iter()
        .filter(|(_, event)| is_published(event))
        .count()
}

fn bytes(pair: &SnPair, direction: Direction, phase: Phase) -> u32 {
    let sent = pair.sent.iter().filter(|sent| sent.direction == direction);
    let spans = sent
        .flat_map(|sent| &sent.spans)
        .filter(|span| span.phase == phase);
    spans.map(|span| span.len).sum()
}

#[test]
fn a_message_at_qos_1_costs_seven_bytes_each_way() {
    let mut pair = pair(Lossy::default(), config());
    pair.drive_for(Duration::from_secs(1));
    pair.command(publish(4, "test", QoS::AtLeastOnce));
    pair.drive_for(Duration::from_secs(1));
    pair.command(Command::Disconnect);
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(
        conversation(&pair),
        ">CONNECT <CONNACK >REGISTER <REGACK >PUBLISH <PUBACK >DISCONNECT <DISCONNECT"
    );
    let message = 4;
    assert_eq!(
        events(&pair),
        [
            Event::Connected,
            Event::Sent { message },
            Event::Acknowledged { message },
            Event::Closed
        ]
    );
    assert_eq!(bytes(&pair, Direction::Up, Phase::Message), 7 + 20);
    assert_eq!(bytes(&pair, Direction::Down, Phase::Message), 7);
    // CONNECT with 8 bytes of identifier and REGISTER with 4 of name; CONNACK and REGACK.
    assert_eq!(bytes(&pair, Direction::Up, Phase::Connect), 6 + 8 + 6 + 4);
    assert_eq!(bytes(&pair, Direction::Down, Phase::Connect), 3 + 7);
    assert_eq!(pair.server.clients(), 0);
}

#[test]
fn a_message_at_qos_minus_1_is_one_datagram() {
    let connectionless = Config {
        is_connectionless: true,
        ..config()
    };
    for topic in ["ab", "7", "test"] {
        let mut pair = pair(Lossy::default(), connectionless.clone());
        pair.command(publish(1, topic, QoS::AtMostOnce));
        pair.drive_for(Duration::from_secs(1));
        pair.command(Command::Disconnect);
        pair.drive_for(Duration::from_secs(100));
        assert_eq!(conversation(&pair), ">PUBLISH", "{topic}");
        assert_eq!(
            events(&pair),
            [Event::Connected, Event::Sent { message: 1 }, Event::Closed]
        );
        let quality = pair.server_events.iter().map(|(_, event)| match event {
            gateway::Event::Published { quality, .. } => *quality,
            other => panic!("{other:?}"),
        });
        assert_eq!(quality.collect::<Vec<_>>(), [Quality::Connectionless]);
    }
}

#[test]
fn qos_2_arrives_once_though_every_datagram_comes_twice() {
    let repeats = Lossy {
        repeats: true,
        ..Lossy::default()
    };
    let mut pair = pair(repeats, config());
    pair.drive_for(Duration::from_secs(1));
    pair.command(publish(0, "test", QoS::ExactlyOnce));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(published(&pair), 1);
    assert!(events(&pair).contains(&Event::Acknowledged { message: 0 }));
}

#[test]
fn a_lost_message_is_sent_again_after_t_retry_and_marked() {
    // CONNECT, REGISTER and PUBLISH are lost once, and the PUBACK too.
    let path = Lossy {
        up: vec![0, 2, 4],
        down: vec![2],
        ..Lossy::default()
    };
    let mut pair = pair(path, config());
    pair.command(publish(0, "test", QoS::AtLeastOnce));
    pair.drive_for(RETRY_TIME * 6);
    assert_eq!(
        conversation(&pair),
        ">CONNECT >CONNECT <CONNACK >REGISTER >REGISTER <REGACK >PUBLISH >PUBLISH <PUBACK >PUBLISH <PUBACK"
    );
    assert_eq!((published(&pair), pair.server.stats().duplicates), (1, 1));
    assert_eq!(pair.client.stats().retransmissions, 4);
    let again = pair.sent.iter().filter(|sent| {
        let mut causes = sent.spans.iter().map(|span| span.cause);
        causes.all(|cause| cause == Cause::Retransmission)
    });
    assert_eq!(again.count(), 4);
    let times: Vec<Instant> = pair.sent.iter().map(|sent| sent.at).collect();
    assert_eq!(times[1].saturating_since(times[0]), RETRY_TIME);
}

#[test]
fn a_silent_gateway_is_given_up_after_n_retry_messages() {
    let silent = Lossy {
        share: 1.0,
        rng: Some(Rng::new(1)),
        ..Lossy::default()
    };
    let mut pair = pair(silent, config());
    pair.command(publish(3, "test", QoS::AtLeastOnce));
    pair.drive_for(RETRY_TIME * (RETRIES + 2));
    assert_eq!(pair.sent.len() as u32, 1 + RETRIES);
    assert_eq!(
        events(&pair),
        [
            Event::Discarded { message: 3 },
            Event::TimedOut(MessageType::Connect)
        ]
    );
}

#[test]
fn every_message_ends_once_whatever_the_path_loses() {
    for seed in 0..60 {
        let path = Lossy {
            share: 0.3,
            repeats: seed % 2 == 1,
            rng: Some(Rng::new(seed)),
            ..Lossy::default()
        };
        let mut pair = pair(
            path,
            Config {
                keep_alive: 60,
                ..config()
            },
        );
        let qos = [QoS::AtLeastOnce, QoS::ExactlyOnce][seed as usize / 2 % 2];
        let topics = ["test", "ab", "another/topic"];
        for message in 0..9 {
            pair.command(publish(message, topics[message as usize % 3], qos));
        }
        pair.drive_for(Duration::from_secs(3_600));
        let mut ended = BTreeSet::new();
        for event in events(&pair) {
            if let Event::Acknowledged { message } | Event::Discarded { message } = event {
                assert!(ended.insert(message), "seed {seed}: {message} ended twice");
            }
        }
        assert_eq!(ended.len(), 9, "seed {seed}: {:?}", events(&pair));
        let acknowledged = events(&pair)
            .iter()
            .filter(|event| matches!(event, Event::Acknowledged { .. }))
            .count();
        // The gateway has what it acknowledged; of QoS 2 and without loss after that, nothing twice.
        assert!(published(&pair) >= acknowledged, "seed {seed}");
        if qos == QoS::ExactlyOnce {
            assert!(published(&pair) <= 9, "seed {seed}");
        }
    }
}

#[test]
fn a_silent_client_pings_and_its_gateway_forgets_a_dead_one() {
    let keep_alive = Config {
        keep_alive: 60,
        ..config()
    };
    let mut pair = pair(Lossy::default(), keep_alive);
    pair.drive_for(Duration::from_secs(200));
    assert!(conversation(&pair).ends_with(">PINGREQ <PINGRESP >PINGREQ <PINGRESP >PINGREQ <PINGRESP"));
    assert_eq!(pair.server.clients(), 1);
    // The client is gone without a word.
    pair.path.share = 1.0;
    pair.path.rng = Some(Rng::new(1));
    pair.drive_for(Duration::from_secs(200));
    assert_eq!(pair.server.clients(), 0);
    assert!(events(&pair).contains(&Event::TimedOut(MessageType::Pingreq)));
}

/// What a gateway sends for these datagrams of one flow.
fn answers(gateway: &mut Gateway, flow: u32, datagrams: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    for bytes in datagrams {
        let input = Input::Received {
            flow: FlowId(flow),
            bytes,
        };
        let Ok(()) = gateway.handle_input(input, Instant::START);
        let mut out = wirecost_proto::Buffer::new();
        loop {
            out.clear();
            match gateway.poll_output(&mut out) {
                wirecost_proto::Output::Transmit { .. } => sent.push(out.bytes().to_vec()),
                wirecost_proto::Output::Timeout(_) => break,
                _ => {}
            }
        }
    }
    sent
}

#[test]
fn a_client_that_is_not_connected_gets_a_disconnect() {
    let mut gateway = Gateway::new(gateway::Config::default());
    let sent = answers(&mut gateway, 0, &[b"\x09\x0c\x20\x00\x01\x00\x02hi", b"\x02\x16"]);
    assert_eq!(sent, [b"\x02\x18", b"\x02\x18"]);
    // A message at QoS -1 with a registered topic id means nothing.
    let sent = answers(&mut gateway, 0, &[b"\x09\x0c\x60\x00\x01\x00\x00hi", b"\xff"]);
    assert_eq!((sent.len(), gateway.stats().ignored), (0, 2));
}

#[test]
fn an_unknown_topic_id_is_refused_and_registered_again() {
    let mut gateway = Gateway::new(gateway::Config::default());
    let sent = answers(
        &mut gateway,
        0,
        &[b"\x08\x04\x04\x01\x00\x00ab", b"\x09\x0c\x20\x00\x05\x00\x02hi"],
    );
    assert_eq!(sent, [&b"\x03\x05\x00"[..], b"\x07\x0d\x00\x05\x00\x02\x02"]);
    let mut pair = pair(Lossy::default(), config());
    pair.drive_for(Duration::from_secs(1));
    let refusal = b"\x07\x0d\x00\x01\x00\x00\x02";
    let input = Input::Received {
        flow: FIRST_FLOW,
        bytes: refusal,
    };
    let Ok(()) = pair.client.handle_input(input, pair.now);
    while !matches!(
        pair.client.poll_output(&mut wirecost_proto::Buffer::new()),
        wirecost_proto::Output::Timeout(_)
    ) {}
    pair.command(publish(0, "test", QoS::AtLeastOnce));
    pair.drive_for(Duration::from_secs(1));
    assert!(conversation(&pair).ends_with(">REGISTER <REGACK >PUBLISH <PUBACK"));
}

#[test]
fn what_a_gateway_does_not_do_is_answered_not_supported() {
    let mut gateway = Gateway::new(gateway::Config::default());
    let with_will: &[u8] = b"\x08\x04\x0c\x01\x00\x00ab";
    let subscribe: &[u8] = b"\x09\x12\x20\x00\x03test";
    let sent = answers(
        &mut gateway,
        0,
        &[with_will, b"\x08\x04\x04\x01\x00\x00ab", subscribe],
    );
    let suback: &[u8] = b"\x08\x13\x00\x00\x00\x00\x03\x03";
    assert_eq!(sent, [&b"\x03\x05\x03"[..], b"\x03\x05\x00", suback]);
    assert_eq!(answers(&mut gateway, 0, &[b"\x03\x01\x00"]), [b"\x03\x02\x01"]);
}

#[test]
fn a_client_on_another_flow_takes_its_session_along() {
    let mut gateway = Gateway::new(gateway::Config::default());
    answers(&mut gateway, 0, &[b"\x08\x04\x04\x01\x00\x00ab"]);
    answers(&mut gateway, 1, &[b"\x08\x04\x04\x01\x00\x00ab"]);
    assert_eq!(gateway.clients(), 1);
    assert_eq!(answers(&mut gateway, 0, &[b"\x02\x16"]), [b"\x02\x18"]);
    assert_eq!(answers(&mut gateway, 1, &[b"\x02\x16"]), [b"\x02\x17"]);
}

#[test]
fn a_gateway_holds_no_more_than_its_limits() {
    let limits = gateway::Config {
        maximum_clients: 1,
        maximum_topics: 1,
        maximum_held_bytes: 100,
    };
    let mut gateway = Gateway::new(limits);
    let register = |name: &[u8]| [&[6 + name.len() as u8, 0x0a, 0, 0, 0, 1][..], name].concat();
    let connect: &[u8] = b"\x08\x04\x04\x01\x00\x00ab";
    let long = register(&[b'x'; 120]);
    let (one, two) = (register(b"one"), register(b"two"));
    let sent = answers(&mut gateway, 0, &[connect, &long, &one, &two, &one]);
    let codes: Vec<u8> = sent.iter().filter_map(|sent| sent.last().copied()).collect();
    let congestion = ReturnCode::CONGESTION.0;
    assert_eq!(codes, [0, congestion, 0, congestion, 0]);
    let sent = answers(&mut gateway, 1, &[b"\x08\x04\x04\x01\x00\x00cd"]);
    assert_eq!(sent, [[3, 5, congestion]]);
}

/// Section 5.2.1: a length has two bytes at most.
#[test]
fn a_message_that_mqtt_sn_cannot_frame_is_not_sent() {
    let mut pair = pair(Lossy::default(), config());
    pair.drive_for(Duration::from_secs(1));
    let message = |number, topic: &str, bytes: usize| {
        let template = PublishTemplate::new(topic, QoS::AtLeastOnce, vec![7; bytes]).expect("a message");
        Command::Publish {
            message: number,
            template: Arc::new(template),
            stamp: None,
        }
    };
    let before = pair.sent.len();
    pair.command(message(1, "test", 65_527));
    pair.command(message(2, &"t".repeat(65_530), 20));
    pair.drive_for(Duration::from_secs(1));
    let unsent = |message| Event::Unsent { message };
    assert!(
        events(&pair).ends_with(&[unsent(1), unsent(2)]),
        "{:?}",
        events(&pair)
    );
    assert_eq!(pair.sent.len(), before);
    pair.command(message(3, "test", 65_526));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(events(&pair).last(), Some(&Event::Acknowledged { message: 3 }));
    assert!(pair.sent.iter().any(|sent| sent.bytes.len() == 65_535));
    let client_id = "c".repeat(65_530);
    let pair = self::pair(Lossy::default(), Config::new(&client_id));
    assert_eq!(events(&pair).last(), Some(&Event::TooLong(MessageType::Connect)));
    assert!(pair.sent.is_empty());
}

/// Section 1.5.4 of MQTT 5, whose texts these are.
#[test]
fn a_gateway_takes_no_control_characters_in_names() {
    let mut gateway = Gateway::new(gateway::Config::default());
    let connect: &[u8] = b"\x08\x04\x04\x01\x00\x00a\x1b";
    assert_eq!(
        answers(&mut gateway, 0, &[connect]),
        [[3, 5, ReturnCode::NOT_SUPPORTED.0]]
    );
    let connect: &[u8] = b"\x08\x04\x04\x01\x00\x00ab";
    for name in [&b"\x00a"[..], b"a\x07", b"\xc2\x85", b"\xef\xbf\xbf"] {
        let register = [&[6 + name.len() as u8, 0x0a, 0, 0, 0, 1][..], name].concat();
        let sent = answers(&mut gateway, 0, &[connect, &register]);
        assert_eq!(
            sent.last().and_then(|sent| sent.last()),
            Some(&ReturnCode::NOT_SUPPORTED.0),
            "{name:?}"
        );
    }
}
