//! Client and server in virtual time, on a stream whose harness compares the spans of both ends.

use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::pair::Pair;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Buffer, Content, Endpoint, FlowId, Input, Instant, Layer, Output, Phase};
use wirecost_store::client::{Client, Command, Config, Event, Failure};
use wirecost_store::server::{self, Server};
use wirecost_store::{Column, Store};

const STORES: [Store; 3] = [Store::Postgres, Store::Mariadb, Store::Mongodb];

fn config(store: Store) -> Config {
    Config {
        setup: store.create_table(Column::Bytes).into_iter().collect(),
        ..Config::new(store, "readings", "device-1")
    }
}

fn pair(store: Store) -> Pair<Client, Server, FixedDelay> {
    let mut pair = Pair::new(
        Transport::Stream,
        Client::new(config(store)),
        Server::new(store),
        FixedDelay(Duration::from_millis(10)),
    );
    pair.open();
    pair
}

fn insert(message: u64, payload: &[u8]) -> Command {
    Command::Insert {
        message,
        key: None,
        content: Content::from(payload),
    }
}

fn events(pair: &Pair<Client, Server, FixedDelay>) -> Vec<Event> {
    pair.client_events
        .iter()
        .map(|(_, event)| event.clone())
        .collect()
}

#[test]
fn every_insert_is_acknowledged_in_order_and_described_alike_at_both_ends() {
    for store in STORES {
        let mut pair = pair(store);
        let payloads: Vec<Vec<u8>> = [0, 1, 128, 70_000].map(|len| vec![0xa5; len]).into();
        for (message, payload) in payloads.iter().enumerate() {
            pair.command(insert(message as u64, payload));
        }
        pair.drive_for(Duration::from_secs(1));
        pair.command(Command::Close);
        pair.drive_for(Duration::from_secs(1));
        let acknowledged: Vec<u64> = events(&pair)
            .into_iter()
            .filter_map(|event| match event {
                Event::Acknowledged { message } => Some(message),
                _ => None,
            })
            .collect();
        assert_eq!(acknowledged, [0, 1, 2, 3], "{store}: {:?}", events(&pair));
        let stored: Vec<u64> = pair
            .server_events
            .iter()
            .filter_map(|(_, event)| match event {
                server::Event::Inserted { payload_bytes, .. } => Some(*payload_bytes),
                server::Event::Faulted { .. } => None,
            })
            .collect();
        assert_eq!(stored, [0, 1, 128, 70_000], "{store}");
        assert_eq!(pair.unconsumed(), 0, "{store}");
        let payload: u32 = spans(&pair, Layer::Payload, Phase::Message);
        assert_eq!(payload, 70_129, "{store}");
        // MongoDB's clients end the stream without a word.
        let says_goodbye = spans(&pair, Layer::Application, Phase::Close) > 0;
        assert_eq!(says_goodbye, store != Store::Mongodb, "{store}");
    }
}

/// The harness compares the spans of both ends: which bytes are headers of further packets, and which are payload.
#[test]
fn an_insert_in_several_packets_is_described_alike_at_both_ends() {
    const LARGEST: usize = 0xff_ffff;
    // The head of the first insert has 37 bytes, that of a later one 31.
    for len in [LARGEST - 37, LARGEST - 36, LARGEST + 7, 2 * LARGEST - 30] {
        let mut pair = pair(Store::Mariadb);
        for message in 0..2 {
            pair.command(insert(message, &vec![0xa5; len]));
        }
        pair.drive_for(Duration::from_secs(1));
        let sizes = pair.server_events.iter().map(|(_, event)| match event {
            server::Event::Inserted { payload_bytes, .. } => *payload_bytes,
            server::Event::Faulted { reason, .. } => panic!("{reason}"),
        });
        let sizes: Vec<u64> = sizes.collect();
        assert_eq!(sizes, [len as u64; 2]);
        assert_eq!(pair.unconsumed(), 0);
        assert_eq!(spans(&pair, Layer::Payload, Phase::Message) as usize, 2 * len);
    }
}

fn spans(pair: &Pair<Client, Server, FixedDelay>, layer: Layer, phase: Phase) -> u32 {
    let spans = pair.sent.iter().flat_map(|sent| &sent.spans);
    let wanted = spans.filter(|span| span.layer == layer && span.phase == phase);
    wanted.map(|span| span.len).sum()
}

/// A client whose server sends `bytes` as soon as the flow opens, in chunks of one byte; returns its events.
fn answered_by(store: Store, bytes: &[u8]) -> Vec<Event> {
    let mut client = Client::new(config(store));
    let (flow, peer) = (FlowId(0), "192.0.2.1:5432".parse().expect("an address"));
    let mut events = Vec::new();
    let mut drain = |client: &mut Client| {
        loop {
            match client.poll_output(&mut Buffer::new()) {
                Output::Timeout(_) => break,
                Output::Event(event) => events.push(event),
                Output::Transmit { .. } | Output::Consumed { .. } | Output::Close { .. } => {}
            }
        }
    };
    let Ok(()) = client.handle_input(Input::Opened { flow, peer }, Instant::START);
    drain(&mut client);
    for byte in bytes {
        let bytes = std::slice::from_ref(byte);
        let Ok(()) = client.handle_input(Input::Received { flow, bytes }, Instant::START);
        drain(&mut client);
    }
    events
}

#[test]
fn a_server_of_another_protocol_is_recognized() {
    for store in STORES {
        let events = answered_by(store, b"HTTP/1.1 400 Bad Request\r\n");
        assert_eq!(events, [Event::Failed(Failure::OtherProtocol(store))]);
    }
}

#[test]
fn a_refused_login_is_reported_in_the_servers_words() {
    let fields = b"VFATAL\0C3D000\0Mdatabase \"nowhere\" does not exist\0\0";
    let mut message = vec![b'E'];
    message.extend((fields.len() as u32 + 4).to_be_bytes());
    message.extend(fields);
    let events = answered_by(Store::Postgres, &message);
    let [Event::Failed(Failure::Refused(words))] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(words.as_str(), "database \"nowhere\" does not exist (3D000)");
}

#[test]
fn a_server_that_wants_a_password_gets_none_that_was_not_given() {
    let events = answered_by(Store::Postgres, b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0");
    assert_eq!(events, [Event::Failed(Failure::NoPassword)]);
    let events = answered_by(Store::Postgres, b"R\0\0\0\x08\0\0\0\x03");
    assert!(
        matches!(events[..], [Event::Failed(Failure::Method(_))]),
        "{events:?}"
    );
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time() {
    let mut client = Client::new(Config {
        answer_timeout: Duration::from_secs(3),
        ..config(Store::Postgres)
    });
    let (flow, peer) = (FlowId(0), "192.0.2.1:5432".parse().expect("an address"));
    let Ok(()) = client.handle_input(Input::Opened { flow, peer }, Instant::START);
    let mut out = Buffer::new();
    assert_eq!(client.poll_output(&mut out), Output::Transmit { flow });
    let at = Instant::START + Duration::from_secs(3);
    assert_eq!(client.poll_output(&mut Buffer::new()), Output::Timeout(Some(at)));
    let Ok(()) = client.handle_input(Input::Timeout, at);
    let event = client.poll_output(&mut Buffer::new());
    assert_eq!(event, Output::Event(Event::Failed(Failure::TimedOut("login"))));
    assert_eq!(
        client.poll_output(&mut Buffer::new()),
        Output::Close { flow, reset: false }
    );
}

#[test]
fn what_was_in_flight_when_the_server_ended_is_discarded() {
    for store in STORES {
        let mut pair = pair(store);
        pair.drive_for(Duration::from_secs(1));
        pair.command(insert(7, b"x"));
        pair.reset(FlowId(0), wirecost_proto::ResetReason::ByPeer);
        pair.drive_for(Duration::from_secs(1));
        assert!(
            events(&pair).contains(&Event::Discarded { message: 7 }),
            "{:?}",
            events(&pair)
        );
    }
}
