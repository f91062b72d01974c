//! Segments between two connections with nothing between, and the memory of an open connection.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
#[allow(dead_code, reason = "there are no endpoints here")]
mod measure;

use std::time::Duration;

use measure::{Bench, PAYLOAD, held_bytes};
use wirecost_proto::Instant;
use wirecost_tcp::{Config, Connection};

/// Between two messages: acknowledgments that wait have left by then.
const INTERVAL: Duration = Duration::from_secs(1);

fn main() {
    let mut bench = Bench::from_arguments();
    for (preset, config) in [("linux", Config::linux(1460)), ("larmo", Config::larmo(1460))] {
        let mut ends = Ends::connected(&config);
        bench.ours(&format!("{preset}: 128 B and an answer"), || {
            ends.message(&PAYLOAD);
        });
        let mut ends = Ends::connected(&config);
        // What holds more than a small message is given back when it is empty: idle hosts are many.
        bench.peer(&format!("{preset}: 10 kB and an answer"), || {
            ends.message(&[7; 10_000]);
        });
    }
    print_memory();
}

fn print_memory() {
    const CONNECTIONS: usize = 1_000;
    let before = held_bytes();
    let config = Config::linux(1460);
    let ends: Vec<Ends> = (0..CONNECTIONS).map(|_| Ends::connected(&config)).collect();
    let fresh = (held_bytes() - before) as usize / CONNECTIONS / 2;
    drop(ends);
    let before = held_bytes();
    let used = (0..CONNECTIONS).map(|_| {
        let mut ends = Ends::connected(&config);
        ends.message(&[7; 10_000]);
        ends.payload = Vec::new();
        ends
    });
    let ends: Vec<Ends> = used.collect();
    let idle = (held_bytes() - before) as usize / CONNECTIONS / 2;
    println!("{fresh} B per open connection, {idle} B after 10 kB");
    drop(ends);
}

/// Two connections, and what flies between them.
struct Ends {
    ends: [Connection; 2],
    now: Instant,
    payload: Vec<u8>,
    segments: u64,
}

impl Ends {
    fn connected(config: &Config) -> Self {
        let (now, mut payload) = (Instant::START, Vec::new());
        let mut client = Connection::connect(config.clone(), 1, now);
        let syn = client
            .poll_transmit(&mut payload, now)
            .expect("a SYN is due")
            .segment;
        let server = Connection::accept(config.clone(), &syn, &[], 2, now);
        let mut both = Self {
            ends: [client, server],
            now,
            payload,
            segments: 1,
        };
        both.exchange(1);
        both
    }

    /// Lets the client send `message`, and the server answer with four bytes once it has it all.
    fn message(&mut self, message: &[u8]) {
        self.give(0, message);
        self.give(1, &[1; 4]);
        self.now += INTERVAL;
        for end in &mut self.ends {
            end.handle_timeout(self.now);
        }
        self.exchange(0);
        self.exchange(1);
    }

    fn give(&mut self, from: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let written = self.ends[from].write(bytes, self.now);
            bytes = &bytes[written..];
            self.exchange(from);
            if written == 0 {
                self.now += Duration::from_millis(250);
                self.ends[0].handle_timeout(self.now);
                self.ends[1].handle_timeout(self.now);
                self.exchange(1 - from);
            }
        }
    }

    /// Lets everything fly that `first` has to send, and what that causes.
    fn exchange(&mut self, first: usize) {
        let mut from = first;
        while self.deliver(from) {
            from = 1 - from;
        }
    }

    fn deliver(&mut self, from: usize) -> bool {
        let now = self.now;
        let [client, server] = &mut self.ends;
        let (sender, receiver) = if from == 0 {
            (client, server)
        } else {
            (server, client)
        };
        let mut is_any = false;
        while let Some(transmit) = sender.poll_transmit(&mut self.payload, now) {
            receiver.handle_segment(&transmit.segment, &self.payload, now);
            self.payload.clear();
            self.segments += 1;
            is_any = true;
        }
        receiver.read(&mut self.payload, usize::MAX, now);
        self.payload.clear();
        while receiver.poll_event().is_some() {}
        is_any
    }
}
