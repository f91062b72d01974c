//! What the peers share: their arguments, and what they say at their end.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// `ADDRESS:PORT CONNECTIONS MESSAGES PAYLOAD_BYTES`
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// The sink.
    pub address: SocketAddr,
    /// Connections, each with the same share of the messages.
    pub connections: u64,
    /// Messages of all connections.
    pub messages: u64,
    /// Payload of a message in bytes.
    pub payload: usize,
}

impl Arguments {
    /// The arguments of this process; panics with what is wrong.
    pub fn read() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [address, connections, messages, payload] = words.as_slice() else {
            panic!("usage: ADDRESS:PORT CONNECTIONS MESSAGES PAYLOAD_BYTES");
        };
        Self {
            address: address.parse().expect("an address and port"),
            connections: connections.parse().expect("connections"),
            messages: messages.parse().expect("messages"),
            payload: payload.parse().expect("bytes"),
        }
    }

    /// Messages of each connection.
    pub const fn each(&self) -> u64 {
        self.messages / self.connections
    }
}

/// The time and CPU time since a moment.
#[derive(Debug)]
pub struct Meter {
    began: Instant,
    cpu: [Duration; 2],
}

impl Meter {
    /// Begins now.
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            cpu: cpu(),
        }
    }

    /// Prints what was needed for so many messages, as the C loop does.
    pub fn finish(self, messages: u64) {
        let [user, system] = cpu();
        println!(
            "{{\"messages\": {messages}, \"seconds\": {:.6}, \"user\": {:.6}, \"system\": {:.6}}}",
            self.began.elapsed().as_secs_f64(),
            (user - self.cpu[0]).as_secs_f64(),
            (system - self.cpu[1]).as_secs_f64(),
        );
    }
}

/// CPU time of this process: user, system.
fn cpu() -> [Duration; 2] {
    // SAFETY: the structure is plain integers, and the call fills it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let duration = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1_000);
    [usage.ru_utime, usage.ru_stime].map(duration)
}
