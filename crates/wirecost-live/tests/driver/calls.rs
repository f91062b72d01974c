//! How many system calls a message takes, and in which order its steps are stamped, independent of time.

use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::thread;

use wirecost_live::Clock;
use wirecost_live::driver::calls::SocketCalls;
use wirecost_live::driver::client::{ClientLoop, LoadDevice};
use wirecost_live::driver::server::ServerLoop;
use wirecost_live::driver::sources::Sources;
use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{Client, Command, Config, Event, PublishTemplate};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::bare::Transport;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::driver::{Service, ServiceObserver};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Instant, ResetReason};

use crate::crowd::{Told, What, run};
use crate::rig::{free_address, loopback, watch};

const MESSAGES: u64 = 500;
/// The most calls for connecting and closing.
const AROUND: u64 = 4;

/// One device that publishes a message when the previous one is acknowledged.
struct OneByOne {
    template: Arc<PublishTemplate>,
    has_begun: bool,
    may_send: bool,
    acknowledged: u64,
    /// When each message left.
    left: Vec<Instant>,
    owes_message: bool,
}

impl Director<Client> for OneByOne {
    fn event(&mut self, _: usize, event: Event, _: Instant) {
        self.owes_message |= matches!(event, Event::Sent { .. });
        self.acknowledged += u64::from(matches!(event, Event::Acknowledged { .. }));
        self.may_send |= matches!(event, Event::Connected { .. } | Event::Acknowledged { .. });
    }

    fn failed(&mut self, _: usize, reason: ResetReason, _: Instant) {
        panic!("{reason}");
    }

    fn flushed(&mut self, _: usize, now: Instant) -> bool {
        if std::mem::take(&mut self.owes_message) {
            self.left.push(now);
        }
        false
    }

    fn next(&mut self, _: usize, _: Context) -> Step<Command> {
        if self.acknowledged == MESSAGES {
            return Step::Finished;
        }
        match std::mem::take(&mut self.may_send) {
            true => Step::Command(Command::Publish(Arc::clone(&self.template))),
            false if self.has_begun => Step::Wait(None),
            false => {
                self.has_begun = true;
                Step::Connect
            }
        }
    }

    fn due(&mut self, _: Instant) -> Due {
        match self.has_begun {
            true => Due::Later(None),
            false => Due::Device(0),
        }
    }

    fn woken(&mut self, _: Instant) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// Reads the clock when a message arrives.
struct Arrivals(Clock, Arc<Mutex<Vec<Instant>>>);

impl ServiceObserver<Broker> for Arrivals {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: broker::Event, _: Instant) {
        if matches!(event, broker::Event::Published { .. }) {
            self.1.lock().expect("no panic").push(self.0.now());
        }
    }
}

/// What a device and its broker did for messages that were published one by one.
struct Published {
    left: Vec<Instant>,
    arrived: Vec<Instant>,
    acknowledged: u64,
    calls: [SocketCalls; 2],
}

fn publish_one_by_one() -> Published {
    let (address, transport) = (free_address(Transport::Stream), Transport::Stream);
    let service = Service {
        address,
        transport,
        endpoint: Broker::new(broker::Config::default()),
    };
    let (clock, arrived) = (Clock::start(), Arc::default());
    let observer = Arrivals(clock, Arc::clone(&arrived));
    let server = ServerLoop::new(vec![service], clock, observer, false).expect("listens");
    let stop = server.stopper();
    let serving = thread::spawn(move || server.run().expect("no poll fails").calls);
    let template = PublishTemplate::new("test", QoS::AtLeastOnce, [7; 128]).expect("a message");
    let director = OneByOne {
        template: Arc::new(template),
        has_begun: false,
        may_send: false,
        acknowledged: 0,
        left: Vec::new(),
        owes_message: false,
    };
    let device = LoadDevice {
        endpoint: Client::new(Config::default()),
        transport,
        remote: address,
    };
    let devices = ClientLoop::for_load([device], director, clock, Sources::any()).expect("a loop");
    let done = watch(devices.waker());
    let report = devices.run().expect("no poll fails");
    drop(done);
    stop.wake().expect("the loop runs");
    let calls = [report.calls, serving.join().expect("no panic")];
    let arrived = std::mem::take(&mut *arrived.lock().expect("no panic"));
    Published {
        left: report.director.left,
        arrived,
        acknowledged: report.director.acknowledged,
        calls,
    }
}

#[test]
fn a_message_of_qos_1_takes_one_read_and_one_write_on_either_side() {
    let published = publish_one_by_one();
    assert_eq!(published.acknowledged, MESSAGES);
    for SocketCalls { reads, writes } in published.calls {
        let expected = MESSAGES..=MESSAGES + AROUND;
        assert!(
            expected.contains(&reads) && expected.contains(&writes),
            "{reads} reads, {writes} writes"
        );
    }
}

/// The broker may run before the call that sends returns, most of all where both share a CPU. A stamp after that call would make the
/// time between sending and answer too short.
#[test]
fn a_message_leaves_before_it_arrives() {
    let published = publish_one_by_one();
    let each: Vec<_> = published.left.iter().zip(&published.arrived).collect();
    assert_eq!(each.len() as u64, MESSAGES);
    let early = each.iter().filter(|(left, arrived)| arrived < left).count();
    assert_eq!(early, 0, "messages that arrived before they had left");
}

#[test]
fn a_server_receives_and_answers_datagrams_together() {
    const DATAGRAMS: u64 = 100;
    let transport = Transport::Datagram;
    let service = Service {
        address: loopback(),
        transport,
        endpoint: crate::unread::Echo::default(),
    };
    let server = ServerLoop::new(vec![service], Clock::start(), crate::unread::Resets(0), false);
    let server = server.expect("listens");
    let address = server.address().expect("one service");
    // From two peers, before the server reads.
    let peers = [(); 2].map(|()| UdpSocket::bind(loopback()).expect("a port is free"));
    for number in 0..DATAGRAMS {
        let peer = &peers[number as usize % 2];
        peer.send_to(&[number as u8], address).expect("loopback");
    }
    let stop = server.stopper();
    let serving = thread::spawn(move || server.run().expect("no poll fails").calls);
    for number in 0..DATAGRAMS {
        let mut answer = [0; 2];
        let (len, from) = peers[number as usize % 2]
            .recv_from(&mut answer)
            .expect("an answer");
        assert_eq!((&answer[..len], from), (&[number as u8][..], address));
    }
    stop.wake().expect("the loop runs");
    let calls = serving.join().expect("no panic");
    assert_eq!((calls.reads, calls.writes), (7, 7), "16 datagrams each, and 4");
}

#[test]
fn devices_that_share_a_socket_send_and_receive_together() {
    const DEVICES: usize = 64;
    let peer = UdpSocket::bind(loopback()).expect("a port is free");
    let address = peer.local_addr().expect("bound");
    let mut sent = 0;
    // The peer answers on the loop's own thread after all have sent: the datagrams are there before the loop reads.
    let answer_all = move || {
        for _ in 0..DEVICES {
            let mut datagram = [0; 2];
            let (len, from) = peer.recv_from(&mut datagram).expect("a datagram");
            peer.send_to(&datagram[..len], from).expect("loopback");
        }
    };
    let sources = Sources::any().with_shared_sockets(1);
    let report = run(
        DEVICES,
        Transport::Datagram,
        address,
        sources,
        |device, what, _| match what {
            What::Begin => Step::Connect,
            What::Told(Told::Opened) => Step::Command(vec![device as u8]),
            What::Sent => {
                sent += 1;
                if sent == DEVICES {
                    answer_all();
                }
                Step::Wait(None)
            }
            What::Told(Told::Received(_)) => Step::Finished,
            _ => Step::Wait(None),
        },
    );
    for (device, seen) in report.director.devices.iter().enumerate() {
        assert_eq!(seen.received(), [device as u8]);
    }
    // Four calls of 16 datagrams each way, and one that finds nothing more.
    assert_eq!((report.calls.writes, report.calls.reads), (4, 5));
}
