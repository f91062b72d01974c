//! How long a CoAP server takes to answer a peer while others hold many observations that they never acknowledge.
//!
//! ```text
//! observers ADDR:PORT PATH [OBSERVATIONS] [PER_PEER] [PID]
//! ```
//!
//! Peers register OBSERVATIONS observations of PATH, PER_PEER each, and acknowledge nothing. After the first notifications
//! one of them sends 200 pings a second; another one, which observes nothing, asks for PATH 10 times a second for 15 s.
//! With the server's PID, its CPU time in these seconds is read from /proc.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Seconds of the measurement.
const SECONDS: u64 = 15;
/// Datagrams per second of a peer that observes.
const PINGS: u64 = 200;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| arguments.get(at).map_or(Ok(default), |text| text.parse());
    let (Some(server), Some(path)) = (arguments.first(), arguments.get(1)) else {
        return Err("expected ADDR:PORT PATH [OBSERVATIONS] [PER_PEER] [PID]".into());
    };
    let (observations, per_peer) = (number(2, 10_000)?, number(3, 100)?);
    let pid = arguments.get(4);
    let mut peers = Vec::new();
    let mut taken = 0;
    while peers.len() * per_peer < observations {
        let peer = connected(server)?;
        taken += (0..per_peer)
            .filter(|token| registers(&peer, path, *token as u16))
            .count();
        peers.push(peer);
    }
    let alone = measure(server, path, None)?;
    println!("{taken} of {observations} observations are held by {} peers", peers.len());
    println!("idle, no datagrams of theirs:  {}", shown(alone));
    let before = pid.map(|pid| cpu_time(pid)).transpose()?;
    let beside = measure(server, path, peers.first())?;
    println!("beside {PINGS} pings/s of one:     {}", shown(beside));
    if let (Some(pid), Some(before)) = (pid, before) {
        let spent = (cpu_time(pid)? - before) / SECONDS as f64;
        println!("CPU of the server:             {:.1} %", spent * 100.0);
    }
    Ok(())
}

fn connected(server: &str) -> Result<UdpSocket, Failure> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// A confirmable GET with a token of two bytes; with Observe 0 where it registers.
fn get(path: &str, number: u16, registers: bool) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let mut bytes = vec![0x42, 0x01, high, low, high, low];
    let head = path.len().min(12) as u8;
    match registers {
        true => bytes.extend([0x60, 0x50 | head]),
        false => bytes.push(0xb0 | head),
    }
    bytes.extend(path.as_bytes().iter().take(12));
    bytes
}

/// Whether the server takes an observation: its response has Observe, option 6, in front.
fn registers(peer: &UdpSocket, path: &str, number: u16) -> bool {
    let request = get(path, number, true);
    let mut response = [0; 1500];
    let began = Instant::now();
    if peer.send(&request).is_err() {
        return false;
    }
    while began.elapsed() < PATIENCE {
        let Ok(len) = peer.recv(&mut response) else {
            return false;
        };
        // Notifications of other observations come in between.
        if len > 6 && response[0] == 0x62 && response[2..4] == request[2..4] {
            let behind_etag = if response[6] >> 4 == 4 { 7 + usize::from(response[6] & 15) } else { 6 };
            let delta = response.get(behind_etag).map_or(0, |byte| byte >> 4);
            return delta == 6 || (behind_etag > 6 && delta == 2);
        }
    }
    false
}

/// Times of answers in milliseconds, ascending, and how many did not come.
struct Measured {
    times: Vec<f64>,
    missing: usize,
}

/// Waits until the first notifications have gone out, then asks again and again; `busy` sends pings meanwhile.
fn measure(server: &str, path: &str, busy: Option<&UdpSocket>) -> Result<Measured, Failure> {
    std::thread::sleep(Duration::from_secs(if busy.is_none() { 6 } else { 0 }));
    let idle = connected(server)?;
    let mut measured = Measured {
        times: Vec::new(),
        missing: 0,
    };
    let pings = busy.map(UdpSocket::try_clone).transpose()?;
    let sender = pings.map(|socket| std::thread::spawn(move || ping(&socket)));
    let began = Instant::now();
    for number in 0..SECONDS * 10 {
        let due = began + Duration::from_millis(100 * number);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        match answer_time(&idle, path, number as u16) {
            Some(time) => measured.times.push(time.as_secs_f64() * 1e3),
            None => measured.missing += 1,
        }
        if began.elapsed() > Duration::from_secs(SECONDS + 5) {
            break;
        }
    }
    if let Some(sender) = sender {
        sender.join().map_err(|_| "the sender of pings ended")?;
    }
    measured.times.sort_by(f64::total_cmp);
    Ok(measured)
}

fn ping(socket: &UdpSocket) {
    let began = Instant::now();
    for number in 0..SECONDS * PINGS {
        let due = began + Duration::from_nanos(1_000_000_000 / PINGS * number);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let [.., high, low] = number.to_be_bytes();
        // A full buffer or an ICMP error is no matter here.
        drop(socket.send(&[0x40, 0, high, low]));
    }
}

fn answer_time(idle: &UdpSocket, path: &str, number: u16) -> Option<Duration> {
    let request = get(path, 0x8000 | number, false);
    let began = Instant::now();
    idle.send(&request).ok()?;
    let mut response = [0; 1500];
    loop {
        let len = idle.recv(&mut response).ok()?;
        if len >= 4 && response[2..4] == request[2..4] {
            return Some(began.elapsed());
        }
    }
}

fn shown(Measured { times, missing }: Measured) -> String {
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    };
    format!(
        "median {:.2} ms, p95 {:.2} ms, max {:.2} ms, {missing} of {} not answered in 5 s",
        at(0.5),
        at(0.95),
        at(1.0),
        times.len() + missing
    )
}

/// CPU time of a process in seconds (proc(5): fields 14 and 15 of `stat`, in ticks of 10 ms).
fn cpu_time(pid: &str) -> Result<f64, Failure> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let field = |at: usize| {
        let ticks = fields.get(at).and_then(|text| text.parse::<f64>().ok());
        ticks.ok_or_else(|| format!("/proc/{pid}/stat has no CPU times"))
    };
    Ok((field(11)? + field(12)?) / 100.0)
}
