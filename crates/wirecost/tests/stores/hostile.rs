//! Devices that send what a database refuses, cannot hold, or takes for commands.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant as Moment};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use tempfile::TempDir;
use wirecost_proto::{Buffer, Content, Endpoint as _, FlowId, Input, Instant, Output};
use wirecost_store::client::{self, Client, Config, Event, Key};
use wirecost_store::{Column, Store};

use crate::common::mqtt::{connected, publish};
use crate::common::{eventually, wirecost};
use crate::database::{Database, Login, Sql};
use crate::keep::{Storing, broker};
use crate::refused::serve;

/// A client on a socket.
struct Session {
    client: Client,
    stream: TcpStream,
    events: Vec<Event>,
}

const FLOW: FlowId = FlowId(0);

impl Session {
    fn open(config: Config, server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).expect("a connection");
        let patience = Some(Duration::from_millis(50));
        stream.set_read_timeout(patience).expect("an open socket");
        let mut session = Self {
            client: Client::new(config),
            stream,
            events: Vec::new(),
        };
        session.input(Input::Opened {
            flow: FLOW,
            peer: server,
        });
        session.until(|event| *event == Event::Opened);
        session
    }

    fn input(&mut self, input: Input<'_, client::Command>) {
        let Ok(()) = self.client.handle_input(input, Instant::START);
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.client.poll_output(&mut out) {
                // A server may stop to read.
                Output::Transmit { .. } => drop(self.stream.write_all(out.bytes())),
                Output::Event(event) => self.events.push(event),
                Output::Close { .. } => drop(self.stream.shutdown(Shutdown::Write)),
                Output::Timeout(_) => return,
                Output::Consumed { .. } => {}
            }
        }
    }

    /// Reads until an event, or the end of the connection.
    fn until(&mut self, is_it: impl Fn(&Event) -> bool) {
        let began = Moment::now();
        let mut bytes = [0; 4096];
        while !self.events.iter().any(&is_it) {
            assert!(began.elapsed() < Duration::from_secs(40), "{:?}", self.events);
            match self.stream.read(&mut bytes) {
                Ok(0) => return,
                Ok(len) => self.input(Input::Received {
                    flow: FLOW,
                    bytes: &bytes[..len],
                }),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    fn insert(&mut self, message: u64, sender: &str, payload: Vec<u8>) {
        let key = Some(Key {
            sender: Arc::from(sender),
            number: message,
        });
        let content = Content::from(payload);
        self.input(Input::Command(client::Command::Insert {
            message,
            key,
            content,
        }));
        self.until(|event| match event {
            Event::Acknowledged { message: one } | Event::Refused { message: one, .. } => *one == message,
            _ => false,
        });
    }
}

/// Framed by a length of 24 bits that is cut off, this insert would end after 11 bytes. Its next bytes would be the header of a packet,
/// and the topic behind them the begin of a COM_QUERY, whose comment ends before the end of the payload.
#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn what_follows_16_mib_of_a_reading_is_no_command_to_mariadb() {
    const TOPIC: usize = 255;
    const HEAD: usize = 1 + 4 + 1 + 4 + 1 + 1 + 3 + TOPIC + 8 + 4;
    let database = Database::from_store(Sql::Mariadb, Login::Trust, false);
    database.sql("CREATE TABLE precious (x INT)");
    let config = Config {
        setup: Store::Mariadb.create_table(Column::Json).into_iter().collect(),
        column: Column::Json,
        ..Config::new(Store::Mariadb, "readings", "device")
    };
    let address = SocketAddr::from(([127, 0, 0, 1], database.port));
    let mut session = Session::open(config, address);
    session.insert(0, "warm/up", b"1".to_vec());
    let payload_len = (1 << 24) + 11 - HEAD;
    let mut payload = vec![b'a'; payload_len];
    payload[0] = b'"';
    payload[payload_len - 1] = b'"';
    let smuggled = 0xfc << 8 | TOPIC << 16;
    let end = 15 + smuggled - HEAD;
    payload[end - 2..end].copy_from_slice(b"*/");
    let topic = format!("{:x<TOPIC$}", "\u{3}DROP TABLE precious/*");
    session.insert(1, &topic, payload);
    drop(session);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(
        database.sql("SHOW TABLES LIKE 'precious'"),
        "precious",
        "the topic was a command"
    );
}

/// A file of readings that were set aside.
fn aside(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn bytes_of(line: &Value) -> Vec<u8> {
    BASE64
        .decode(line["base64"].as_str().expect("bytes"))
        .expect("base64")
}

/// `wirecost store` from a broker into this store, with its file of readings that are set aside at `aside.jsonl`.
fn storing(home: &TempDir, broker: u16, store: &str, more: &[&str]) -> Storing {
    let mut command: Command = wirecost(home.path());
    let broker = format!("mqtt://127.0.0.1:{broker}/sensors/%23");
    command
        .args(["store", &broker, store, "--set-aside", "aside.jsonl"])
        .args(more);
    Storing::from_command(command)
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn a_reading_above_mariadbs_largest_packet_is_set_aside_and_those_behind_it_are_stored() {
    let home = TempDir::new().expect("a folder");
    let database = Database::from_store(Sql::Mariadb, Login::Trust, false);
    let (_broker, port) = broker(&home);
    let storing = storing(&home, port, &database.url(), &[]);
    let mut device = connected(SocketAddr::from(([127, 0, 0, 1], port)), 1);
    let long = format!("\"{}\"", "a".repeat(17_000_000));
    for payload in [&b"1"[..], long.as_bytes(), b"2", b"3"] {
        publish(&mut device, "sensors/a", payload);
    }
    storing.hears("store: a reading is set aside in aside.jsonl: ");
    eventually("the others are rows", || database.rows() == 3);
    let [received, stored, refused, lost, held, _, set_aside, _] = storing.counts();
    assert_eq!((received, stored, lost, held), (4, 3, 0, 0));
    assert_eq!(refused + set_aside, 1);
    let lines = aside(&home.path().join("aside.jsonl"));
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["sender"], "sensors/a");
    assert!(bytes_of(&lines[0]) == long.as_bytes());
}

#[test]
fn a_reading_above_mongodbs_largest_document_is_set_aside_at_once() {
    let home = TempDir::new().expect("a folder");
    let (_broker, port) = broker(&home);
    let (_store, store) = serve(&home, "mongodb");
    let storing = storing(&home, port, &format!("mongodb://{store}/readings"), &[]);
    let mut device = connected(SocketAddr::from(([127, 0, 0, 1], port)), 1);
    let long = vec![b'7'; 17_000_000];
    for payload in [&b"1"[..], &long, b"2"] {
        publish(&mut device, "sensors/a", payload);
    }
    // A name with a zero byte has no form in BSON.
    publish(&mut device, "sensors/a", b"{\"a\\u0000b\": 1}");
    storing.hears(
        "store: a reading is set aside in aside.jsonl: a document of this MongoDB has at most 16777216 B",
    );
    thread::sleep(Duration::from_millis(500));
    assert_eq!(storing.counts(), [4, 3, 1, 0, 0, 0, 0, 0]);
    let lines = aside(&home.path().join("aside.jsonl"));
    assert!(lines.len() == 1 && bytes_of(&lines[0]) == long);
}

/// A way to a server that ends each connection on which `word` passes.
fn cutting(server: SocketAddr, word: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(server).expect("a server");
            let ends = [&client, &server].map(|end| end.try_clone().expect("a socket"));
            thread::spawn(move || carry(client, server, word));
            let [client, server] = ends;
            thread::spawn(move || carry(server, client, b"never"));
        }
    });
    address
}

fn carry(mut from: TcpStream, mut to: TcpStream, word: &[u8]) {
    let mut bytes = [0; 65_536];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        let has_word = bytes[..len].windows(word.len()).any(|bytes| bytes == word);
        if has_word || to.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    for end in [from, to] {
        drop(end.shutdown(Shutdown::Both));
    }
}

#[test]
fn a_reading_that_ends_every_connection_is_set_aside_after_its_attempts() {
    let home = TempDir::new().expect("a folder");
    let (_broker, port) = broker(&home);
    let (_store, store) = serve(&home, "postgres");
    let store = cutting(store, b"poison");
    let storing = storing(&home, port, &format!("postgres://{store}/readings"), &[]);
    let mut device = connected(SocketAddr::from(([127, 0, 0, 1], port)), 1);
    for payload in [&b"1"[..], b"\"poison\"", b"2", b"3"] {
        publish(&mut device, "sensors/a", payload);
    }
    storing.hears("store: a reading is set aside in aside.jsonl: given up after 5 attempts");
    for _ in 0..100 {
        publish(&mut device, "sensors/b", b"4");
    }
    thread::sleep(Duration::from_secs(1));
    let [received, stored, refused, lost, held, _, set_aside, _] = storing.counts();
    assert_eq!((received, stored, refused, lost, held), (104, 103, 0, 0, 0));
    assert_eq!(set_aside, 1);
    let lines = aside(&home.path().join("aside.jsonl"));
    assert!(lines.len() == 1 && bytes_of(&lines[0]) == b"\"poison\"");
}

#[test]
fn what_cannot_be_set_aside_is_held_until_it_can() {
    let home = TempDir::new().expect("a folder");
    let (_broker, port) = broker(&home);
    let (_store, store) = serve(&home, "postgres");
    let url = format!("postgres://{store}/readings");
    let more = ["--max-held", "1kB", "--set-aside", "later/aside.jsonl"];
    let mut command = wirecost(home.path());
    command.args(["store", &format!("mqtt://127.0.0.1:{port}/sensors/%23"), &url]);
    command.args(more);
    let storing = Storing::from_command(command);
    let mut device = connected(SocketAddr::from(([127, 0, 0, 1], port)), 1);
    publish(&mut device, "sensors/a", &[b'1'; 2000]);
    storing.hears("cannot set a reading aside in later/aside.jsonl: No such file or directory");
    fs::create_dir(home.path().join("later")).expect("a folder");
    storing.hears(
        "store: a reading is set aside in later/aside.jsonl: it takes 2129 B, and --max-held is 1000 B",
    );
    assert_eq!(storing.counts(), [1, 0, 0, 0, 0, 0, 1, 0]);
    assert_eq!(aside(&home.path().join("later/aside.jsonl")).len(), 1);
}

/// What columns of JSON refuse, or keep as something else.
const ODD: [&[u8]; 9] = [
    b"caf\xe9",
    b"\"caf\xe9\"",
    b"\"\\u0000\"",
    b"{\"a\\u0000b\": 1}",
    b"\"\\ud83d\"",
    b"1e999999999",
    b"[1e-999999999]",
    b"\x00",
    b"",
];

#[test]
#[ignore = "needs root and postgresql"]
fn what_jsonb_of_postgresql_refuses_is_kept_as_bytes() {
    odd_readings_are_kept(Sql::Postgres);
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn what_json_of_mariadb_refuses_is_kept_as_bytes() {
    odd_readings_are_kept(Sql::Mariadb);
}

fn odd_readings_are_kept(store: Sql) {
    let home = TempDir::new().expect("a folder");
    let database = Database::from_store(store, Login::Trust, false);
    let (_broker, port) = broker(&home);
    let storing = storing(&home, port, &database.url(), &[]);
    let mut device = connected(SocketAddr::from(([127, 0, 0, 1], port)), 1);
    let [deep, deepest] = [31, 30].map(|levels| format!("{}1{}", "[".repeat(levels), "]".repeat(levels)));
    let kept: Vec<&[u8]> = ODD.into_iter().chain([deep.as_bytes()]).collect();
    for payload in &kept {
        publish(&mut device, "sensors/a", payload);
    }
    // Long topics, and characters that Latin-1 does not have.
    let topics = [
        format!("sensors/{}", "t".repeat(600)),
        format!("sensors/{}", "\u{2603}\u{1f321}".repeat(200)),
    ];
    for topic in &topics {
        publish(&mut device, topic, deepest.as_bytes());
    }
    let all = (kept.len() + topics.len()) as u64;
    eventually("every reading is a row", || database.rows() == all);
    assert_eq!(storing.counts(), [all, all, 0, 0, 0, 0, 0, 0]);
    let (text, count) = match store {
        Sql::Postgres => ("payload->>'base64'", "char_length(sender)"),
        Sql::Mariadb => ("JSON_VALUE(payload, '$.base64')", "CHAR_LENGTH(sender)"),
    };
    let stored = database.sql(&format!(
        "SELECT CONCAT('=', {text}) FROM readings WHERE sender = 'sensors/a' ORDER BY number"
    ));
    let stored: Vec<Vec<u8>> = stored
        .lines()
        .map(|line| BASE64.decode(line.trim_start_matches('=')).expect("base64"))
        .collect();
    assert_eq!(stored, kept);
    let lengths = format!("SELECT {count} FROM readings WHERE sender <> 'sensors/a' ORDER BY number");
    assert_eq!(database.sql(&lengths), "608\n408");
    assert!(!home.path().join("aside.jsonl").exists());
}
