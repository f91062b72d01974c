//! What is written is framed as long as it is, or refused: read by readers of the test's own.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::Config as Cases;
use wirecost_proto::{Buffer, Content, Endpoint, FlowId, Input, Instant, Output};
use wirecost_store::client::{Client, Command, Config, Event, Key};
use wirecost_store::server::Server;
use wirecost_store::{Column, Store};

const FLOW: FlowId = FlowId(0);
const NUMBER: u64 = 0x0102_0304_0506_0708;
/// The largest content of a packet of MariaDB, and the largest document of MongoDB.
const LARGEST: usize = 0xff_ffff;
const LARGEST_DOCUMENT: usize = 0x100_0000;

/// A client and a server, and what each has sent.
struct Wire {
    client: Client,
    server: Server,
    up: Vec<u8>,
    down: Vec<u8>,
    events: Vec<Event>,
}

impl Wire {
    /// A client that is connected. What it has sent until then is checked by the server.
    fn open(store: Store) -> Self {
        let mut wire = Self {
            client: Client::new(Config {
                setup: store.create_table(Column::Bytes).into_iter().collect(),
                ..Config::new(store, "readings", "device")
            }),
            server: Server::new(store),
            up: Vec::new(),
            down: Vec::new(),
            events: Vec::new(),
        };
        let peer = "192.0.2.1:1".parse().expect("an address");
        let Ok(()) = wire
            .client
            .handle_input(Input::Opened { flow: FLOW, peer }, Instant::START);
        let Ok(()) = wire
            .server
            .handle_input(Input::Opened { flow: FLOW, peer }, Instant::START);
        wire.talk();
        assert_eq!(wire.events, [Event::Opened], "{store}");
        wire.up.clear();
        wire.events.clear();
        wire
    }

    /// Carries bytes until neither has more.
    fn talk(&mut self) {
        loop {
            let down = drain(&mut self.server, |_| {});
            let Ok(()) = self.client.handle_input(received(&down), Instant::START);
            let events = &mut self.events;
            let up = drain(&mut self.client, |event| events.push(event));
            let Ok(()) = self.server.handle_input(received(&up), Instant::START);
            if up.is_empty() && down.is_empty() {
                return;
            }
            self.up.extend(up);
            self.down.extend(down);
        }
    }

    fn insert(&mut self, sender: &str, payload: &[u8]) {
        let key = Key {
            sender: Arc::from(sender),
            number: NUMBER,
        };
        let command = Command::Insert {
            message: 0,
            key: Some(key),
            content: Content::from(payload),
        };
        let Ok(()) = self.client.handle_input(Input::Command(command), Instant::START);
        self.talk();
    }
}

const fn received<C>(bytes: &[u8]) -> Input<'_, C> {
    Input::Received { flow: FLOW, bytes }
}

fn drain<E: Endpoint>(endpoint: &mut E, mut event: impl FnMut(E::Event)) -> Vec<u8> {
    let mut sent = Vec::new();
    let mut out = Buffer::new();
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            Output::Transmit { .. } => {
                assert_eq!(out.covered(), out.bytes().len() as u64);
                sent.extend_from_slice(out.bytes());
            }
            Output::Event(one) => event(one),
            Output::Timeout(_) => return sent,
            Output::Consumed { .. } | Output::Close { .. } => {}
        }
    }
}

/// Fields at the front of bytes.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }

    fn be32(&mut self) -> usize {
        u32::from_be_bytes(self.take(4).try_into().expect("4 bytes")) as usize
    }

    fn le32(&mut self) -> usize {
        u32::from_le_bytes(self.take(4).try_into().expect("4 bytes")) as usize
    }

    fn le(&mut self, bytes: usize) -> usize {
        let low_first = self.take(bytes).iter().rev();
        low_first.fold(0, |value, byte| value << 8 | usize::from(*byte))
    }

    fn length_encoded(&mut self) -> usize {
        match self.le(1) {
            0xfc => self.le(2),
            0xfd => self.le(3),
            0xfe => self.le(8),
            small => small,
        }
    }
}

/// The messages of PostgreSQL, each with its type. They end where the bytes do.
fn postgres_messages(bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut fields = Fields(bytes);
    let mut messages = Vec::new();
    while !fields.0.is_empty() {
        let kind = fields.take(1)[0];
        let len = fields.be32();
        messages.push((kind, fields.take(len - 4)));
    }
    messages
}

/// The contents of MariaDB's packets, each with the number of packets it came in.
fn mariadb_contents(bytes: &[u8]) -> Vec<(Vec<u8>, usize)> {
    let mut fields = Fields(bytes);
    let mut contents = Vec::new();
    while !fields.0.is_empty() {
        let (mut content, mut packets, mut first) = (Vec::new(), 0, None);
        loop {
            let len = fields.le(3);
            let sequence = fields.le(1);
            let first = *first.get_or_insert(sequence);
            assert_eq!(sequence, (first + packets) % 256, "packets are in sequence");
            content.extend_from_slice(fields.take(len));
            packets += 1;
            if len < LARGEST {
                break;
            }
        }
        contents.push((content, packets));
    }
    contents
}

fn postgres_row(up: &[u8]) -> (String, u64, Vec<u8>) {
    let messages = postgres_messages(up);
    let kinds: Vec<u8> = messages.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, *b"BES");
    let mut bind = Fields(messages[0].1);
    assert_eq!(bind.take(14), b"\0insert\0\0\x01\0\x01\0\x03");
    let mut value = || {
        let len = bind.be32();
        bind.take(len).to_vec()
    };
    let row = (value(), value(), value());
    assert_eq!(bind.0, [0, 0], "no formats of results, and nothing else");
    let number = row.1.try_into().expect("8 bytes");
    (
        String::from_utf8(row.0).expect("text"),
        u64::from_be_bytes(number),
        row.2,
    )
}

fn mariadb_row(up: &[u8]) -> (String, u64, Vec<u8>) {
    let contents = mariadb_contents(up);
    let [(content, packets)] = &contents[..] else {
        panic!("{} commands for one insert", contents.len());
    };
    assert_eq!(*packets, content.len() / LARGEST + 1);
    let mut fields = Fields(content);
    assert_eq!(fields.take(1), [0x17], "COM_STMT_EXECUTE");
    fields.take(4 + 1 + 4 + 1 + 1 + 6);
    let len = fields.length_encoded();
    let sender = String::from_utf8(fields.take(len).to_vec()).expect("text");
    let number = fields.le(8) as u64;
    let len = fields.length_encoded();
    let payload = fields.take(len).to_vec();
    assert!(fields.0.is_empty());
    (sender, number, payload)
}

/// The document of an insert, and its length.
fn mongodb_row(up: &[u8]) -> ((String, u64, Vec<u8>), usize) {
    let mut fields = Fields(up);
    assert_eq!(fields.le32(), up.len(), "one message");
    fields.take(12 + 4);
    assert_eq!(fields.take(1), [0]);
    let body = fields.le32();
    fields.take(body - 4);
    assert_eq!(fields.take(1), [1]);
    assert_eq!(fields.le32(), fields.0.len() + 4, "the sequence is the rest");
    assert_eq!(fields.take(10), b"documents\0");
    let bytes = fields.0;
    let document = bson::Document::from_reader(bytes).expect("a document");
    assert_eq!(fields.le32(), bytes.len(), "one document");
    let row = (
        document.get_str("sender").expect("a text").to_owned(),
        document.get_i64("number").expect("a number").cast_unsigned(),
        document.get_binary_generic("payload").expect("bytes").clone(),
    );
    (row, bytes.len())
}

/// Lengths of payloads: short ones, those around each width of a length, and those around the end of a packet or a document.
fn payload_len() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..600_usize,
        (LARGEST - 200)..(LARGEST + 200),
        (0x1_0000 - 20)..(0x1_0000 + 20_usize),
        (2 * LARGEST - 200)..(2 * LARGEST + 20),
    ]
}

fn sender_len() -> impl Strategy<Value = usize> {
    prop_oneof![1..300_usize, 65_000..65_536_usize]
}

proptest! {
    #![proptest_config(Cases { cases: 24, max_shrink_iters: 40, ..Cases::default() })]

    #[test]
    fn an_insert_is_framed_as_long_as_it_is_or_refused(
        payload in payload_len(), sender in sender_len(), byte: u8,
    ) {
        let (payload, sender) = (vec![byte; payload], "s".repeat(sender));
        let row = (sender, NUMBER, payload);
        for store in [Store::Postgres, Store::Mariadb, Store::Mongodb] {
            let mut wire = Wire::open(store);
            wire.insert(&row.0, &row.2);
            let is_sent = wire.events.contains(&Event::Acknowledged { message: 0 });
            let is_refused = wire.events.iter().any(|event| matches!(event, Event::Refused { .. }));
            prop_assert!(is_sent != is_refused, "{store}: {:?}", wire.events);
            if is_refused {
                prop_assert!(store == Store::Mongodb && wire.up.is_empty());
                prop_assert!(row.0.len() + row.2.len() + 200 > LARGEST_DOCUMENT);
                continue;
            }
            let written = match store {
                Store::Postgres => postgres_row(&wire.up),
                Store::Mariadb => mariadb_row(&wire.up),
                Store::Mongodb => {
                    let (row, len) = mongodb_row(&wire.up);
                    prop_assert!(len <= LARGEST_DOCUMENT);
                    row
                }
            };
            prop_assert!(written == row, "{store}");
            match store {
                Store::Postgres => drop(postgres_messages(&wire.down)),
                Store::Mariadb => drop(mariadb_contents(&wire.down)),
                Store::Mongodb => {
                    let mut fields = Fields(&wire.down);
                    while !fields.0.is_empty() {
                        let len = fields.le32();
                        fields.take(len - 4);
                    }
                }
            }
        }
    }
}

/// A statement is as long as a person likes: in MariaDB it needs more than one packet.
#[test]
fn a_long_statement_is_split_as_the_protocol_says() {
    let statement = format!("SELECT '{}'", "a".repeat(LARGEST));
    let mut wire = Wire::open(Store::Mariadb);
    let command = Command::Execute {
        message: 1,
        statement: statement.as_str().into(),
    };
    let Ok(()) = wire.client.handle_input(Input::Command(command), Instant::START);
    wire.talk();
    let contents = mariadb_contents(&wire.up);
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0].1, 2);
    assert_eq!(contents[0].0[1..], *statement.as_bytes());
    assert!(wire.events.contains(&Event::Acknowledged { message: 1 }));
}

/// A server that takes less than MongoDB's usual limit says so in its answer to `hello`.
#[test]
fn a_reading_above_the_limit_of_the_protocol_says_its_length_and_the_limit() {
    let mut wire = Wire::open(Store::Mongodb);
    wire.insert("s", &vec![0; LARGEST_DOCUMENT]);
    let [Event::Refused { refusal, .. }] = &wire.events[..] else {
        panic!("{:?}", wire.events);
    };
    let words = refusal.words.as_str();
    assert!(
        words.starts_with("a document of this MongoDB has at most 16777216 B, got 16777"),
        "{words}"
    );
}
