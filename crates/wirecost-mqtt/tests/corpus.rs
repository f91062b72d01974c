//! Every parser on every message of its corpus and on thousands of seeded mutations of them: nothing panics, and
//! what is held stays within limits.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self, Client, Command, PublishTemplate};
use wirecost_mqtt::codec::{Footprint, Frame, Framer, Packet, SubscriptionOptions, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer, Rng};

const MUTATIONS: u64 = 300;
const LIMIT: u32 = 1_000;

/// The files of `fuzz/corpus/<parser>`, in the order of their names.
fn corpus(parser: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(parser);
    let entries = std::fs::read_dir(&folder).expect("the corpus is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
        .iter()
        .map(|path| std::fs::read(path).expect("readable"))
        .collect()
}

/// Calls `feed` with every message and with mutations of it; `feed` gets a generator of its own.
fn replay(parser: &str, mut feed: impl FnMut(&[u8], &mut Rng)) {
    let messages = corpus(parser);
    for (number, message) in messages.iter().enumerate() {
        let mut random = Rng::new(number as u64);
        feed(message, &mut random);
        for _ in 0..MUTATIONS {
            let mut bytes = message.clone();
            for _ in 0..=random.next_below(3) {
                mutate(&mut bytes, &messages, &mut random);
            }
            feed(&bytes, &mut random);
        }
    }
}

fn mutate(bytes: &mut Vec<u8>, messages: &[Vec<u8>], random: &mut Rng) {
    let place = random.next_below(bytes.len() as u64 + 1) as usize;
    match random.next_below(6) {
        0 => bytes.truncate(place),
        1 => bytes.insert(place, random.next_u64() as u8),
        2 => {
            let other = &messages[random.next_below(messages.len() as u64) as usize];
            bytes.splice(place..place, other.iter().copied());
        }
        kind => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = match kind {
                    3 => *byte ^ 1 << random.next_below(8),
                    4 => [0, 1, 0x7f, 0x80, 0xff][random.next_below(5) as usize],
                    _ => byte.wrapping_add(1),
                };
            }
        }
    }
}

#[test]
fn packets() {
    replay("packet", |bytes, _| {
        let mut framer = Framer::new(LIMIT);
        let mut left = bytes;
        while let Ok(Some(frame)) = framer.next(&mut left) {
            Version::ALL.iter().for_each(|version| decode(frame, *version));
        }
        assert!(framer.held() <= bytes.len());
        Version::ALL
            .iter()
            .for_each(|version| decode(Frame::new(bytes), *version));
    });
}

/// Whatever decodes is emitted, and that decodes to the same.
fn decode(frame: Frame<'_>, version: Version) {
    let Ok(packet) = Packet::decode(frame, version) else {
        return;
    };
    let mut out = Buffer::new();
    Footprint::of(frame, &packet).cover(&mut out);
    assert_eq!(out.covered(), frame.bytes().len() as u64);
    out.clear();
    packet.emit(version, &mut out);
    assert_eq!(Packet::decode(Frame::new(out.bytes()), version), Ok(packet));
}

#[test]
fn the_streams_to_the_broker_are_real() {
    for stream in corpus("broker") {
        let mut broker = Broker::new(broker::Config::default());
        feed(&mut broker, &stream, &mut Rng::new(0));
        let stats = broker.stats();
        assert_eq!((stats.faults, stats.ignored_bytes), (0, 0));
        assert!(stats.published > 0);
    }
}

#[test]
fn streams_to_the_broker() {
    replay("broker", |bytes, random| {
        let mut broker = Broker::new(broker::Config {
            maximum_packet_size: Some(LIMIT),
            maximum_queued: 10,
            maximum_sessions: 3,
            maximum_retained: 2,
            topic_alias_maximum: 2,
            ..broker::Config::default()
        });
        feed(&mut broker, bytes, random);
        assert!(broker.sessions() <= 3 && broker.retained() <= 2);
    });
}

#[test]
fn streams_to_the_client() {
    replay("client", |bytes, random| {
        for version in Version::ALL {
            let mut client = Client::new(client::Config {
                version,
                maximum_packet_size: Some(LIMIT),
                topic_alias_maximum: 2,
                ..client::Config::default()
            });
            for qos in QoS::ALL {
                let template = PublishTemplate::new("a", qos, *b"hi").expect("a message");
                let _ =
                    client.handle_input(Input::Command(Command::Publish(template.into())), Instant::START);
            }
            let subscribe = Command::subscribe("a", SubscriptionOptions::default()).expect("a filter");
            let _ = client.handle_input(Input::Command(subscribe), Instant::START);
            feed(&mut client, bytes, random);
        }
    });
}

proptest! {
    /// Whatever follows a CONNECT, in whatever chunks.
    #[test]
    fn any_bytes_to_the_broker(bytes in proptest::collection::vec(any::<u8>(), 0..200), v5: bool, seed: u64) {
        let connect: &[u8] = if v5 {
            b"\x10\x0e\0\x04MQTT\x05\x02\0\x0a\0\0\x01a"
        } else {
            b"\x10\x0d\0\x04MQTT\x04\x02\0\x0a\0\x01a"
        };
        let stream = [connect, &bytes].concat();
        feed(&mut Broker::new(broker::Config::default()), &stream, &mut Rng::new(seed));
    }
}

/// Opens a flow, feeds `bytes` in random chunks with time in between, and breaks the flow. No more bytes may be
/// reported as consumed than came, and every byte sent has a span.
fn feed<E: Endpoint>(endpoint: &mut E, bytes: &[u8], random: &mut Rng) {
    let flow = FlowId(0);
    let peer: Peer = "10.0.0.1:1".parse().expect("an address");
    let mut now = Instant::START;
    let _ = endpoint.handle_input(Input::Opened { flow, peer }, now);
    let mut consumed = drain(endpoint);
    let mut left = bytes;
    while !left.is_empty() {
        let len = 1 + random.next_below(left.len() as u64) as usize;
        let (chunk, rest) = left.split_at(len);
        left = rest;
        let _ = endpoint.handle_input(Input::Received { flow, bytes: chunk }, now);
        consumed += drain(endpoint);
        now += Duration::from_secs(random.next_below(3));
        let _ = endpoint.handle_input(Input::Timeout, now);
        drain(endpoint);
    }
    assert!(consumed <= bytes.len() as u64);
    let reason = wirecost_proto::ResetReason::ByPeer;
    let _ = endpoint.handle_input(Input::Reset { flow, reason }, now);
    drain(endpoint);
}

fn drain<E: Endpoint>(endpoint: &mut E) -> u64 {
    let mut consumed = 0;
    let mut out = Buffer::new();
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            Output::Transmit { .. } => assert_eq!(out.covered(), out.bytes().len() as u64),
            Output::Consumed { .. } => consumed += out.covered(),
            Output::Timeout(_) => return consumed,
            Output::Close { .. } | Output::Event(_) => {}
        }
    }
}
