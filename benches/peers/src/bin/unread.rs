//! How long a client of `wirecost serve` waits for its answers while others leave messages unfinished, or read no answers.
//!
//!     unread HOST:PORT PROTOCOL unfinished|unread CLIENTS PID

#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../../../crates/wirecost/tests/serve/attacks.rs"]
mod attacks;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use attacks::{ATTACKS, Attack, PART_BYTES};

const REQUESTS: usize = 200;
const BETWEEN: Duration = Duration::from_millis(10);
/// Bytes of requests of a client that reads no answer.
const ASKED_BYTES: usize = 700_000;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, protocol, kind, clients, pid] = arguments.as_slice() else {
        panic!("usage: unread HOST:PORT PROTOCOL unfinished|unread CLIENTS PID");
    };
    let address: SocketAddr = address.parse().expect("HOST:PORT");
    let attack = ATTACKS.iter().find(|attack| attack.protocol == protocol);
    let attack = attack.expect("a protocol on a stream");
    let flood = match kind.as_str() {
        "unfinished" => [attack.hello, &(attack.begun)(), &vec![b'x'; PART_BYTES]].concat(),
        _ => [attack.hello, &attack.asks.repeat(ASKED_BYTES / attack.asks.len())].concat(),
    };
    let quiet = waits(address, attack);
    let count: usize = clients.parse().expect("a number");
    let flooding = thread::spawn(move || {
        let mut streams: Vec<TcpStream> = (0..count)
            .map(|_| TcpStream::connect(address).expect("the server listens"))
            .collect();
        let mut written = vec![0; count];
        for _ in 0..100 {
            for (stream, written) in streams.iter_mut().zip(&mut written) {
                stream.set_nonblocking(true).expect("an open socket");
                while *written < flood.len() {
                    match stream.write(&flood[*written..]) {
                        Ok(taken) => *written += taken,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                        Err(_) => *written = flood.len(),
                    }
                }
            }
            thread::sleep(Duration::from_millis(30));
        }
        streams
    });
    let busy = waits(address, attack);
    let streams = flooding.join().expect("no panic");
    let after = waits(address, attack);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!(
        "{protocol}, {count} {kind}: median, p95, longest of {REQUESTS} in ms: before {quiet}; while they come {busy}; while they \
         wait {after}; memory at most {}",
        peak.unwrap_or_default().trim()
    );
    drop(streams);
}

/// Asks again and again, each time on a new connection: the median, the 95th percentile and the longest time to the answer.
fn waits(address: SocketAddr, attack: &Attack) -> String {
    let mut times: Vec<f64> = (0..REQUESTS)
        .map(|_| {
            let began = Instant::now();
            let mut stream = TcpStream::connect(address).expect("the server listens");
            stream
                .set_read_timeout(Some(Duration::from_secs(30)))
                .expect("an open socket");
            let asks = [attack.hello, attack.asks].concat();
            stream.write_all(&asks).expect("the server reads");
            let (mut answer, mut chunk) = (Vec::new(), [0; 4_096]);
            let is_there = |answer: &[u8]| {
                answer
                    .windows(attack.answer.len())
                    .any(|part| part == attack.answer)
            };
            while !is_there(&answer) {
                let read = stream.read(&mut chunk).expect("an answer");
                assert_ne!(read, 0, "the server has closed");
                answer.extend_from_slice(&chunk[..read]);
            }
            let waited = began.elapsed();
            thread::sleep(BETWEEN);
            waited.as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    format!("{:.2}, {:.2}, {:.2}", at(0.5), at(0.95), at(1.0))
}
