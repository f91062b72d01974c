//! What a load costs beneath everything that it counts: MQTT clients on the loop of a load, in a closed loop or idle.
//!
//! ```text
//! load_floor sink ADDRESS:PORT                                                a broker, until it is killed
//! load_floor send ADDRESS:PORT QOS CONNECTIONS MESSAGES PAYLOAD_BYTES WINDOW
//! load_floor idle ADDRESS:PORT CONNECTIONS
//! ```
//!
//! `send` ends with a line of JSON: messages, seconds, and CPU seconds of the loop's thread. `idle` connects, and says what
//! a connection takes of this process's memory, and how much of that is the client itself.

#![allow(clippy::disallowed_macros, reason = "an example prints what it finds")]

use std::env;
use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use wirecost_live::Clock;
use wirecost_live::driver::client::{ClientLoop, LoadDevice};
use wirecost_live::driver::server::ServerLoop;
use wirecost_live::driver::sources::Sources;
use wirecost_live::environment::OpenFiles;
use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{Client, Command, Config, Event, PublishTemplate};
use wirecost_mqtt::codec::ReasonCode;
use wirecost_mqtt::quality::QoS;
use wirecost_proto::bare::Transport;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::driver::{Service, ServiceObserver};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Endpoint, Instant, ResetReason};

fn main() -> Result<(), Box<dyn Error>> {
    OpenFiles::raise()?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["sink", address] => sink(address.parse()?),
        ["send", address, qos, connections, messages, payload_bytes, window] => {
            let director = Closed {
                template: Arc::new(template(qos.parse()?, payload_bytes.parse()?)?),
                left: messages.parse()?,
                window: window.parse()?,
                ..Closed::default()
            };
            run(address.parse()?, connections.parse()?, director)
        }
        ["idle", address, connections] => run(address.parse()?, connections.parse()?, Closed::default()),
        _ => Err("expected sink, send or idle; see the head of load_floor.rs".into()),
    }
}

struct Nobody;

impl<E: Endpoint> ServiceObserver<E> for Nobody {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, _: E::Event, _: Instant) {}
}

fn sink(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let service = Service {
        address,
        transport: Transport::Stream,
        endpoint: Broker::new(broker::Config::default()),
    };
    ServerLoop::new(vec![service], Clock::start(), Nobody, false)?.run()?;
    Ok(())
}

fn template(qos: usize, payload_bytes: usize) -> Result<PublishTemplate, Box<dyn Error>> {
    let levels = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce];
    let qos = *levels.get(qos).ok_or("QoS is 0, 1 or 2")?;
    Ok(PublishTemplate::new("test", qos, vec![b'x'; payload_bytes])?)
}

fn run(remote: SocketAddr, connections: u32, mut director: Closed) -> Result<(), Box<dyn Error>> {
    let resident_before = resident_bytes()?;
    let messages = director.left;
    director.devices = vec![Progress::default(); connections as usize];
    let devices = (0..connections).map(|number| LoadDevice {
        endpoint: client(number),
        transport: Transport::Stream,
        remote,
    });
    let clock = Clock::start();
    let sources = Sources::for_target(remote, connections);
    let report = ClientLoop::for_load(devices, director, clock, sources)?.run()?;
    let taken = report
        .director
        .resident_when_connected
        .saturating_sub(resident_before);
    println!(
        "{{\"messages\": {messages}, \"seconds\": {:.3}, \"cpu_seconds\": {:.3}, \"sent_bytes\": {}, \
         \"received_bytes\": {}, \"resident_before\": {resident_before}, \"resident_per_connection\": {}, \
         \"client_bytes\": {}}}",
        clock.now().saturating_since(report.director.began).as_secs_f64(),
        report.cpu.as_secs_f64(),
        report.counted.sent_bytes,
        report.counted.received_bytes,
        taken / u64::from(connections),
        size_of::<Client>(),
    );
    Ok(())
}

fn client(number: u32) -> Client {
    let client_id = format!("wc-{number:05}").parse().expect("a short text");
    Client::new(Config {
        client_id,
        ..Config::default()
    })
}

/// Memory of this process that is in RAM.
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("no VmRSS")?;
    Ok(kilobytes.parse::<u64>()? * 1_024)
}

/// Connections that are being made at a time: less than a listener's backlog.
const CONNECTING: usize = 256;

/// All connect; then every device has `window` messages under way until all are sent.
struct Closed {
    template: Arc<PublishTemplate>,
    left: u64,
    window: u32,
    devices: Vec<Progress>,
    /// Devices that were named to connect, then again to send.
    named: usize,
    connected: usize,
    began: Instant,
    resident_when_connected: u64,
}

#[derive(Clone, Copy, Default)]
struct Progress {
    has_begun: bool,
    under_way: u32,
    is_closing: bool,
    is_closed: bool,
}

impl Default for Closed {
    fn default() -> Self {
        Self {
            template: Arc::new(template(0, 0).expect("an empty message")),
            left: 0,
            window: 0,
            devices: Vec::new(),
            named: 0,
            connected: 0,
            began: Instant::START,
            resident_when_connected: 0,
        }
    }
}

impl Director<Client> for Closed {
    fn event(&mut self, device: usize, event: Event, now: Instant) {
        let progress = &mut self.devices[device];
        match event {
            Event::Connected { .. } => {
                self.connected += 1;
                if self.connected == self.devices.len() {
                    self.began = now;
                    self.resident_when_connected = resident_bytes().unwrap_or(0);
                }
            }
            Event::Acknowledged { .. } => progress.under_way -= 1,
            Event::Closed | Event::Reset(_) => progress.is_closed = true,
            _ => {}
        }
    }

    fn failed(&mut self, device: usize, reason: ResetReason, _: Instant) {
        eprintln!("device {device}: {reason}");
    }

    fn flushed(&mut self, device: usize, _: Instant) -> bool {
        let is_over = self.template.qos() == QoS::AtMostOnce;
        if is_over {
            self.devices[device].under_way = 0;
        }
        is_over
    }

    fn next(&mut self, device: usize, context: Context) -> Step<Command> {
        let all_connected = self.connected == self.devices.len();
        let progress = &mut self.devices[device];
        if !std::mem::replace(&mut progress.has_begun, true) {
            return Step::Connect;
        }
        if progress.is_closed {
            if all_connected {
                return Step::Finished;
            }
            // The broker was too busy to answer in time.
            progress.is_closed = false;
            return Step::Connect;
        }
        if !all_connected || context.congested {
            return Step::Wait(None);
        }
        if self.left > 0 && progress.under_way < self.window {
            self.left -= 1;
            progress.under_way += 1;
            return Step::Command(Command::Publish(Arc::clone(&self.template)));
        }
        let is_done = self.left == 0 && progress.under_way == 0;
        if is_done && !std::mem::replace(&mut progress.is_closing, true) {
            return Step::Command(Command::Disconnect(ReasonCode::Success));
        }
        Step::Wait(None)
    }

    fn due(&mut self, _: Instant) -> Due {
        let all = self.devices.len();
        let may_connect = self.named < all && self.named < self.connected + CONNECTING;
        let is_anybody_due = may_connect || self.connected == all && self.named < 2 * all;
        if !is_anybody_due {
            return Due::Later(None);
        }
        self.named += 1;
        Due::Device((self.named - 1) % all)
    }
}
