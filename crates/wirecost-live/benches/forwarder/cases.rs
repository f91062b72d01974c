//! The cases of the forwarder's bench: echo, floods of datagrams, a TCP stream.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use wirecost_link::Medium;
use wirecost_live::check::{self, EchoPlan};
use wirecost_live::forwarder::Finished;
use wirecost_live::recorder::Recorder;
use wirecost_live::timerfd::minimize_timer_slack;
use wirecost_live::{Topology, TopologyConfig};
use wirecost_proto::hosts::{HostIndex, device_address, server_address};
use wirecost_proto::record::RecordedDelivery;
use wirecost_proto::{Direction, Fate};

use crate::link::{DEVICE, Link, TwoLinks, UNDELAYED};

/// The length of cases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Long enough for figures.
    Full,
    /// Once, to check that it works.
    Smoke,
}

impl Effort {
    fn time(self) -> Duration {
        Duration::from_millis(if self == Self::Full { 2_000 } else { 20 })
    }

    fn echoes(self) -> u16 {
        if self == Self::Full { 1_000 } else { 10 }
    }
}

/// The packets on the link.
#[derive(Clone, Copy)]
enum Traffic {
    /// Nothing.
    Idle,
    /// ICMP echo every 2 ms over a link of this RTT.
    Echo { rtt: Duration },
    /// Datagrams as fast as they can be sent, of this many bytes of payload.
    Flood { payload_bytes: usize },
    /// One TCP connection as fast as it goes.
    Stream,
}

/// Some traffic over some medium.
pub(crate) struct Case {
    medium: Medium,
    traffic: Traffic,
}

/// The header of the columns.
pub(crate) const HEADER: &str =
    "case                        packets/s   Mbit/s  CPU ns/packet   CPU %   added RTT us: p50    p99";

const MEDIA: [Medium; 2] = [Medium::Tun, Medium::Veth];

impl Case {
    /// Every case, over both media.
    pub(crate) fn all() -> Vec<Self> {
        let echo = |millis| Traffic::Echo {
            rtt: Duration::from_millis(millis),
        };
        let flood = |payload_bytes| Traffic::Flood { payload_bytes };
        let traffic = [
            Traffic::Idle,
            echo(0),
            echo(1),
            echo(5),
            echo(25),
            echo(100),
            flood(64),
            flood(1_400),
            Traffic::Stream,
        ];
        let over = |medium| traffic.map(|traffic| Self { medium, traffic });
        MEDIA.into_iter().flat_map(over).collect()
    }

    /// Medium and traffic in words.
    pub(crate) fn name(&self) -> String {
        let medium = if self.medium == Medium::Tun { "tun" } else { "veth" };
        match self.traffic {
            Traffic::Idle => format!("{medium}, idle"),
            Traffic::Echo { rtt } => format!("{medium}, echo, RTT {} ms", rtt.as_millis()),
            Traffic::Flood { payload_bytes } => format!("{medium}, UDP {payload_bytes} B"),
            Traffic::Stream => format!("{medium}, TCP stream"),
        }
    }

    /// Runs the case in this process, which must have one thread. An error names the refusal of the machine.
    pub(crate) fn run(&self, effort: Effort) -> Result<Row, String> {
        let config = TopologyConfig {
            medium: Some(self.medium),
            ..TopologyConfig::default()
        };
        let topology = Topology::create(&config).map_err(|error| error.to_string())?;
        let delay = match self.traffic {
            Traffic::Echo { rtt } => rtt / 2,
            _ => Duration::ZERO,
        };
        let link = Link::start(topology, delay)?;
        let began = Instant::now();
        let added = match self.traffic {
            Traffic::Idle => {
                std::thread::sleep(effort.time());
                None
            }
            Traffic::Echo { rtt } => Some(added(&link, rtt, effort)),
            Traffic::Flood { payload_bytes } => flood(&link, payload_bytes, effort),
            Traffic::Stream => stream(&link, effort),
        };
        let took = began.elapsed();
        let finished = link.stop();
        Ok(Row {
            name: self.name(),
            took,
            finished,
            added,
        })
    }
}

/// The cost of recording a packet and its delivery, as text. The forwarder always records.
pub(crate) fn recorder(effort: Effort) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::create(folder.path()).expect("a recorder");
    let packets = if effort == Effort::Full { 200_000 } else { 100 };
    let (bytes, at, clock) = ([7; 1_428], wirecost_proto::Instant::START, Instant::now());
    for _ in 0..packets {
        let packet = recorder.packet(Some(DEVICE), Direction::Up, at, Fate::Delivered, &bytes);
        recorder.delivery(RecordedDelivery {
            packet,
            planned: at,
            actual: at,
            intact: true,
        });
    }
    drop(recorder.finish());
    let nanos = clock.elapsed().as_nanos() / packets;
    format!("of which the recorder, 1428 B:                {nanos:>5} ns/packet")
}

/// The result of a case.
pub(crate) struct Row {
    name: String,
    took: Duration,
    finished: Finished<TwoLinks>,
    added: Option<Vec<f64>>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.finished.statistics;
        let per_second = statistics.delivered as f64 / self.took.as_secs_f64();
        let megabits = self.finished.links.delayed.bytes as f64 * 8e-6 / self.took.as_secs_f64();
        let share = 100.0 * statistics.cpu.as_secs_f64() / self.took.as_secs_f64();
        let per_packet = match statistics.entered {
            0 => "-".to_owned(),
            packets => format!("{:.0}", statistics.cpu.as_nanos() as f64 / packets as f64),
        };
        write!(
            f,
            "{:<26} {per_second:>10.0} {megabits:>8.0} {per_packet:>14} {share:>7.1}",
            self.name
        )?;
        match &self.added {
            Some(added) => write!(
                f,
                " {:>19.1} {:>6.1}",
                quantile(added, 0.5),
                quantile(added, 0.99)
            ),
            None => Ok(()),
        }
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Round-trip times beyond the configured one, in microseconds, sorted.
fn added(link: &Link, rtt: Duration, effort: Effort) -> Vec<f64> {
    if !rtt.is_zero() {
        let floor = check::head_start(&echo(link, UNDELAYED, effort));
        link.activity.set_head_start(floor);
    }
    let times = echo(link, DEVICE, effort);
    let mut added: Vec<f64> = times
        .iter()
        .map(|time| (time.as_secs_f64() - rtt.as_secs_f64()) * 1e6)
        .collect();
    added.sort_by(f64::total_cmp);
    added
}

fn echo(link: &Link, host: HostIndex, effort: Effort) -> Vec<Duration> {
    let plan = EchoPlan {
        device: device_address(host, false).expect("a device"),
        server: server_address(false),
        count: effort.echoes(),
        interval: Duration::from_millis(2),
        patience: Duration::from_millis(300),
    };
    std::thread::scope(|scope| {
        let probe = scope.spawn(|| {
            link.device.enter().expect("a namespace to enter");
            minimize_timer_slack().expect("a slack to set");
            check::echo(&plan, &link.clock, &AtomicBool::new(false)).expect("an echo")
        });
        probe.join().expect("the probe ends")
    })
}

fn flood(link: &Link, payload_bytes: usize, effort: Effort) -> Option<Vec<f64>> {
    let (sink, source) = (link.server.clone(), link.device.clone());
    let address = SocketAddr::new(server_address(false), 9);
    std::thread::scope(|scope| {
        let (ready, readiness) = std::sync::mpsc::channel();
        let receiver = scope.spawn(move || {
            sink.enter().expect("a namespace to enter");
            let socket = UdpSocket::bind(address).expect("a port");
            socket
                .set_read_timeout(Some(Duration::from_millis(100)))
                .expect("a time-out");
            ready.send(()).expect("somebody waits");
            let mut buffer = [0; 2_048];
            while socket.recv(&mut buffer).is_ok() {}
        });
        readiness.recv().expect("a receiver");
        scope.spawn(move || {
            source.enter().expect("a namespace to enter");
            let socket =
                UdpSocket::bind((device_address(DEVICE, false).expect("a device"), 0)).expect("a port");
            let (payload, end) = (vec![7; payload_bytes], Instant::now() + effort.time());
            while Instant::now() < end {
                // A flood also fills the queue of the interface.
                let _ = socket.send_to(&payload, address);
            }
        });
        receiver.join().expect("the receiver ends");
    });
    None
}

fn stream(link: &Link, effort: Effort) -> Option<Vec<f64>> {
    let (sink, source) = (link.server.clone(), link.device.clone());
    let address = SocketAddr::new(server_address(false), 9);
    std::thread::scope(|scope| {
        let (ready, readiness) = std::sync::mpsc::channel();
        scope.spawn(move || {
            sink.enter().expect("a namespace to enter");
            let listener = TcpListener::bind(address).expect("a port");
            ready.send(()).expect("somebody waits");
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut buffer = vec![0; 1 << 18];
            while !matches!(stream.read(&mut buffer), Ok(0) | Err(_)) {}
        });
        readiness.recv().expect("a receiver");
        scope.spawn(move || {
            source.enter().expect("a namespace to enter");
            let mut stream = connect_from_device(address);
            let (bytes, end) = (vec![7; 1 << 16], Instant::now() + effort.time());
            while Instant::now() < end {
                stream.write_all(&bytes).expect("a stream that holds");
            }
        });
    });
    None
}

/// A connection from the first device's address, which std cannot bind.
fn connect_from_device(to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    let local = SocketAddr::new(device_address(DEVICE, false).expect("a device"), 0);
    socket.bind(&local.into()).expect("a local address");
    loop {
        match socket.connect(&to.into()) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => {
                result.expect("a connection");
                return socket.into();
            }
        }
    }
}
