//! Devices of a load: peers that close, refuse or hang, shared sockets, and fairness between devices.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use wirecost_live::driver::sources::Sources;
use wirecost_proto::ResetReason;
use wirecost_proto::bare::Transport;
use wirecost_proto::script::{Context, Step};

use crate::crowd::{Told, What, run};
use crate::rig::{free_address, loopback};

/// Accepts this many connections and does `work` with each, one after the other.
fn peer(connections: usize, work: impl Fn(TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind(loopback()).expect("a port is free");
    let address = listener.local_addr().expect("bound");
    let peer = thread::spawn(move || {
        for _ in 0..connections {
            work(listener.accept().expect("a device connects").0);
        }
    });
    (address, peer)
}

#[test]
fn all_data_before_a_close_is_read() {
    // Below, at and above the size of one read, followed by the FIN.
    const SIZES: [usize; 6] = [0, 1, 65_535, 65_536, 65_537, 3 * 65_536];
    const DEVICES: usize = 4 * SIZES.len();
    let (address, peer) = peer(DEVICES, |mut socket| {
        let mut size = [0; 4];
        socket.read_exact(&mut size).expect("the device says how much");
        let size = u32::from_be_bytes(size) as usize;
        socket.write_all(&vec![7; size]).expect("the device reads");
    });
    let size_of = |device: usize| SIZES[device % SIZES.len()];
    let sources = Sources::any();
    let report = run(
        DEVICES,
        Transport::Stream,
        address,
        sources,
        |device, what, _| match what {
            What::Begin => Step::Connect,
            What::Told(Told::Opened) => Step::Command((size_of(device) as u32).to_be_bytes().to_vec()),
            What::Told(Told::Closed) => Step::Finished,
            _ => Step::Wait(None),
        },
    );
    peer.join().expect("no panic");
    for (device, seen) in report.director.devices.iter().enumerate() {
        assert_eq!(seen.received().len(), size_of(device), "device {device}");
        assert_eq!(seen.count(&What::Sent), 1);
    }
    assert_eq!(
        report.counted.received_bytes,
        (0..DEVICES).map(|device| size_of(device) as u64).sum::<u64>()
    );
    assert_eq!(report.counted.sent_bytes, 4 * DEVICES as u64);
}

#[test]
fn a_device_reconnects_as_often_as_its_director_wants() {
    const TIMES: u32 = 300;
    let (address, peer) = peer(TIMES as usize, |mut socket| {
        let mut number = [0; 4];
        socket.read_exact(&mut number).expect("the device sends");
        socket.write_all(&number).expect("the device waits for it");
        // It closes in order or with a reset.
        let _ = socket.read(&mut [0]);
    });
    let mut times = 0_u32;
    let report = run(
        1,
        Transport::Stream,
        address,
        Sources::any(),
        |_, what, _| match what {
            What::Begin => Step::Connect,
            What::Told(Told::Opened) => {
                times += 1;
                Step::Command(times.to_be_bytes().to_vec())
            }
            What::Told(Told::Received(_)) => Step::Abort {
                reset: times.is_multiple_of(2),
            },
            What::Told(Told::Reset(ResetReason::Local)) if times < TIMES => Step::Connect,
            What::Told(Told::Reset(_)) => Step::Finished,
            _ => Step::Wait(None),
        },
    );
    peer.join().expect("no panic");
    let expected: Vec<u8> = (1..=TIMES).flat_map(u32::to_be_bytes).collect();
    assert_eq!(report.director.devices[0].received(), expected);
}

#[test]
fn the_loop_waits_busily_for_close_deadlines() {
    const TIMES: u32 = 1_000;
    let mut times = 0;
    let wait = |_, _, context: Context| {
        times += 1;
        match times {
            TIMES => Step::Finished,
            _ => Step::Wait(Some(context.now + Duration::from_micros(10))),
        }
    };
    let remote = free_address(Transport::Datagram);
    let report = run(1, Transport::Datagram, remote, Sources::any(), wait);
    assert!(report.counted.awake > Duration::ZERO);
    assert!(report.counted.awake <= Duration::from_micros(20) * TIMES);
}

#[test]
fn each_refused_connect_is_reported_once() {
    const TIMES: u32 = 50;
    let address = free_address(Transport::Stream);
    let mut times = 0;
    let report = run(
        1,
        Transport::Stream,
        address,
        Sources::any(),
        |_, what, _| match what {
            What::Begin => Step::Connect,
            What::Told(Told::Reset(_)) => {
                times += 1;
                if times < TIMES {
                    Step::Connect
                } else {
                    Step::Finished
                }
            }
            _ => Step::Wait(None),
        },
    );
    let seen = &report.director.devices[0];
    assert_eq!(seen.count(&What::Failed(ResetReason::Refused)), TIMES as usize);
    assert_eq!(
        seen.count(&What::Told(Told::Reset(ResetReason::Refused))),
        TIMES as usize
    );
}

#[test]
fn a_connect_without_an_answer_can_be_given_up() {
    // A full backlog: the kernel drops further SYNs (listen(2)).
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    listener.bind(&loopback().into()).expect("a port is free");
    listener.listen(0).expect("bound");
    let address = listener
        .local_addr()
        .expect("bound")
        .as_socket()
        .expect("an IP address");
    let waiting: Vec<Socket> = (0..4)
        .map(|_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_nonblocking(true).expect("an open socket");
            let _ = socket.connect(&address.into());
            socket
        })
        .collect();
    let mut began = None;
    let report = run(
        1,
        Transport::Stream,
        address,
        Sources::any(),
        |_, what, context| match what {
            What::Begin => {
                began = Some(context.now);
                Step::Connect
            }
            What::Told(Told::Reset(_)) => Step::Finished,
            _ => {
                let give_up = began.expect("it began") + Duration::from_millis(30);
                if context.now < give_up {
                    Step::Wait(Some(give_up))
                } else {
                    Step::Abort { reset: false }
                }
            }
        },
    );
    drop(waiting);
    let expected = [What::Begin, What::Told(Told::Reset(ResetReason::Local))];
    assert_eq!(report.director.devices[0].all, expected);
}

#[test]
fn data_that_a_slow_peer_leaves_is_sent_later() {
    const COMMANDS: usize = 300;
    const LEN: usize = 50_000;
    let (is_congested, told) = mpsc::channel();
    let (address, peer) = peer(1, move |mut socket| {
        told.recv().expect("the kernel does not take everything at once");
        let mut total = 0;
        let mut buffer = vec![0; 9_000];
        while total < COMMANDS * LEN {
            match socket.read(&mut buffer).expect("connected") {
                0 => panic!("{total} B arrived"),
                len => total += len,
            }
        }
        socket.write_all(b"all").expect("connected");
    });
    let (mut given, mut is_open) = (0, false);
    let report = run(
        1,
        Transport::Stream,
        address,
        Sources::any(),
        |_, what, context| match what {
            What::Begin => Step::Connect,
            What::Told(Told::Received(_)) => Step::Finished,
            what => {
                is_open |= what == What::Told(Told::Opened);
                if context.congested {
                    // Once it reads, the receiver is gone.
                    let _ = is_congested.send(());
                }
                if !is_open || context.congested || given == COMMANDS {
                    return Step::Wait(None);
                }
                given += 1;
                Step::Command(vec![given as u8; LEN])
            }
        },
    );
    peer.join().expect("no panic");
    assert_eq!(report.counted.sent_bytes, (COMMANDS * LEN) as u64);
}

#[test]
fn a_device_with_endless_output_does_not_starve_another() {
    let (address, peer) = peer(2, |mut socket| {
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok(1..) = socket.read(&mut buffer) {
                if socket.write_all(&[1]).is_err() {
                    return;
                }
            }
        });
    });
    let mut answers = 0;
    let mut is_open = [false; 2];
    run(
        2,
        Transport::Stream,
        address,
        Sources::any(),
        |device, what, context| {
            let is_flood = device == 0;
            let may_send = match what {
                What::Begin => return Step::Connect,
                What::Told(Told::Opened) => {
                    is_open[device] = true;
                    true
                }
                What::Told(Told::Received(_)) if !is_flood => {
                    answers += 1;
                    true
                }
                _ => is_flood && is_open[device] && !context.congested,
            };
            match answers {
                100 => Step::Finished,
                _ if may_send => Step::Command(vec![device as u8; 100]),
                _ => Step::Wait(None),
            }
        },
    );
    peer.join().expect("no panic");
}

#[test]
fn devices_that_share_sockets_get_their_own_datagrams() {
    [1, 3].into_iter().for_each(share_sockets);
}

fn share_sockets(sockets: usize) {
    const DEVICES: usize = 100;
    const ROUNDS: usize = 20;
    let server = UdpSocket::bind(loopback()).expect("a port is free");
    let address = server.local_addr().expect("bound");
    let echo = thread::spawn(move || {
        let mut peers = std::collections::BTreeSet::new();
        let mut buffer = [0; 64];
        for _ in 0..DEVICES * ROUNDS {
            let (len, from) = server.recv_from(&mut buffer).expect("a datagram");
            peers.insert(from);
            server.send_to(&buffer[..len], from).expect("loopback");
        }
        peers.len()
    });
    let mut rounds = [0; DEVICES];
    let sources = Sources::any().with_shared_sockets(sockets);
    let report = run(
        DEVICES,
        Transport::Datagram,
        address,
        sources,
        |device, what, _| match what {
            What::Begin => Step::Connect,
            What::Told(Told::Opened | Told::Received(_)) if rounds[device] == ROUNDS => Step::Finished,
            What::Told(Told::Opened | Told::Received(_)) => {
                rounds[device] += 1;
                Step::Command(vec![device as u8, rounds[device] as u8])
            }
            _ => Step::Wait(None),
        },
    );
    assert_eq!(echo.join().expect("no panic"), sockets);
    for (device, seen) in report.director.devices.iter().enumerate() {
        let expected: Vec<u8> = (1..=ROUNDS)
            .flat_map(|round| [device as u8, round as u8])
            .collect();
        assert_eq!(seen.received(), expected);
        assert_eq!(seen.count(&What::Sent), ROUNDS);
    }
    assert_eq!(report.counted.dropped_datagrams, 0);
}

#[test]
fn datagrams_of_one_turn_and_their_answers_keep_their_order() {
    const TOGETHER: u8 = 40;
    let server = UdpSocket::bind(loopback()).expect("a port is free");
    let address = server.local_addr().expect("bound");
    let echo = thread::spawn(move || {
        let mut buffer = [0; 64];
        let mut datagrams = Vec::new();
        for _ in 0..TOGETHER {
            let (len, from) = server.recv_from(&mut buffer).expect("a datagram");
            datagrams.push((buffer[..len].to_vec(), from));
        }
        for (datagram, from) in datagrams {
            server.send_to(&datagram, from).expect("loopback");
        }
    });
    let (mut given, mut is_open) = (0, false);
    let mut received = 0;
    let report = run(1, Transport::Datagram, address, Sources::any(), |_, what, _| {
        match what {
            What::Begin => return Step::Connect,
            What::Told(Told::Opened) => is_open = true,
            What::Told(Told::Received(_)) => received += 1,
            _ => {}
        }
        if received == TOGETHER {
            return Step::Finished;
        }
        if !is_open || given == TOGETHER {
            return Step::Wait(None);
        }
        given += 1;
        Step::Command(vec![given; usize::from(given)])
    });
    echo.join().expect("no panic");
    let expected: Vec<u8> = (1..=TOGETHER)
        .flat_map(|len| vec![len; usize::from(len)])
        .collect();
    assert_eq!(report.director.devices[0].received(), expected);
    assert_eq!(report.counted.sent_bytes, expected.len() as u64);
}

#[test]
fn devices_connect_from_their_given_addresses() {
    let listener = TcpListener::bind(loopback()).expect("a port is free");
    let address = listener.local_addr().expect("bound");
    let peer = thread::spawn(move || {
        let accepted = (0..4).map(|_| listener.accept().expect("a device connects").1.ip());
        let mut from: Vec<_> = accepted.collect();
        from.sort();
        from
    });
    let addresses = [2, 3].map(|last| Ipv4Addr::new(127, 0, 0, last).into());
    let sources = Sources::new(addresses.to_vec());
    run(4, Transport::Stream, address, sources, |_, what, _| match what {
        What::Begin => Step::Connect,
        What::Told(Told::Opened) => Step::Finished,
        _ => Step::Wait(None),
    });
    let [first, second] = addresses;
    assert_eq!(peer.join().expect("no panic"), [first, first, second, second]);
}
