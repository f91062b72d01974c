//! Devices: connects, resets, half-closes, and a peer that does not read.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use wirecost_proto::bare::{ClientCommand, ClientEvent, LENGTH_PREFIX_BYTES, Transport};
use wirecost_proto::driver::UNSENT_LIMIT;
use wirecost_proto::script::Step;
use wirecost_proto::{Instant, ResetReason};

use crate::rig::{Serving, free_address, loopback, run_device, send};

#[test]
fn a_message_far_above_the_unsent_limit_arrives_whole() {
    const LEN: usize = 10_000_000;
    let address = free_address(Transport::Stream);
    let server = Serving::start(Transport::Stream, address, true);
    let mut step = 0;
    let report = run_device(Transport::Stream, address, move |context, seen| {
        step += 1;
        match step {
            1 => Step::Connect,
            _ if seen.events.is_empty() || context.congested => Step::Wait(None),
            _ if context.transmitted == 0 => send(LEN),
            _ if seen.sent == 0 => Step::Wait(None),
            _ => Step::Finished,
        }
    });
    assert_eq!(server.arrival(), LEN as u64);
    assert_eq!(report.logs[0].1.up.bytes, (LEN + LENGTH_PREFIX_BYTES) as u64);
    let finished = server.stop();
    let flow = &finished.flows[0];
    assert_eq!(
        flow.log.up.bytes, report.logs[0].1.up.bytes,
        "both sides count alike"
    );
    assert!(flow.cpu > Duration::ZERO && report.cpu > Duration::ZERO);
}

#[test]
fn a_refused_connect_fails_the_script() {
    let mut step = 0;
    let report = run_device(
        Transport::Stream,
        free_address(Transport::Stream),
        move |_, seen| {
            step += 1;
            match (step, seen.failed) {
                (1, _) => Step::Connect,
                (_, None) => Step::Wait(None),
                (_, Some(_)) => Step::Finished,
            }
        },
    );
    assert_eq!(report.script.seen.failed, Some(ResetReason::Refused));
    assert_eq!(report.script.seen.sent, 0);
}

#[test]
fn a_reset_by_the_peer_reaches_the_endpoint_and_sends_nothing_more() {
    let listener = TcpListener::bind(loopback()).expect("a port is free");
    let address = listener.local_addr().expect("bound");
    let (opened, reset_now) = mpsc::channel();
    let peer = thread::spawn(move || {
        let (socket, _) = listener.accept().expect("the device connects");
        // If the reset arrived before the device polls its socket, the connect would have failed.
        reset_now.recv().expect("the device sees its connection open");
        let socket = socket2::Socket::from(socket);
        socket.set_linger(Some(Duration::ZERO)).expect("an open socket");
    });
    let mut step = 0;
    let report = run_device(Transport::Stream, address, move |_, seen| {
        step += 1;
        if seen.events == [ClientEvent::Opened] {
            // Called again after the reset, when the receiver is gone.
            let _ = opened.send(());
        }
        match step {
            1 => Step::Connect,
            _ if seen.events.len() < 2 => Step::Wait(None),
            _ => Step::Finished,
        }
    });
    peer.join().expect("no panic");
    assert_eq!(
        report.script.seen.events,
        [ClientEvent::Opened, ClientEvent::Reset(ResetReason::ByPeer)]
    );
}

#[test]
fn after_the_peers_fin_a_device_still_sends() {
    let listener = TcpListener::bind(loopback()).expect("a port is free");
    let address = listener.local_addr().expect("bound");
    let peer = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the device connects");
        socket.shutdown(std::net::Shutdown::Write).expect("connected");
        let mut received = Vec::new();
        socket
            .read_to_end(&mut received)
            .expect("the device closes in order");
        received.len()
    });
    let (mut step, mut closed) = (0, false);
    run_device(Transport::Stream, address, move |context, seen| {
        step += 1;
        match step {
            1 => Step::Connect,
            _ if !seen.events.contains(&ClientEvent::Closed) => Step::Wait(None),
            _ if context.transmitted == 0 => send(1_000),
            _ if !std::mem::replace(&mut closed, true) => Step::Command(ClientCommand::Close),
            _ => Step::Finished,
        }
    });
    assert_eq!(peer.join().expect("no panic"), 1_000 + LENGTH_PREFIX_BYTES);
}

#[test]
fn commands_wait_while_the_peer_does_not_read() {
    const MESSAGES: u64 = 400;
    const LEN: usize = UNSENT_LIMIT;
    let listener = TcpListener::bind(loopback()).expect("a port is free");
    let address = listener.local_addr().expect("bound");
    let (congested, read_now) = mpsc::channel();
    let peer = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the device connects");
        read_now.recv().expect("the device fills what the kernel holds");
        let (mut total, mut buffer) = (0, vec![0; 1 << 16]);
        loop {
            match socket.read(&mut buffer).expect("the device closes in order") {
                0 => return total,
                len => total += len as u64,
            }
        }
    });
    let (mut step, mut given, mut closed) = (0, 0, false);
    run_device(Transport::Stream, address, move |context, seen| {
        step += 1;
        if context.congested {
            // Once it reads, the receiver is gone.
            let _ = congested.send(());
            return Step::Wait(None);
        }
        match step {
            1 => Step::Connect,
            _ if seen.events.is_empty() => Step::Wait(None),
            _ if given < MESSAGES => {
                given += 1;
                send(LEN)
            }
            _ if !std::mem::replace(&mut closed, true) => Step::Command(ClientCommand::Close),
            _ if seen.events.contains(&ClientEvent::Closed) => Step::Finished,
            _ => Step::Wait(Some(context.now + Duration::from_millis(20))),
        }
        // The peer closes only after our FIN, which follows the last byte.
    });
    assert_eq!(
        peer.join().expect("no panic"),
        MESSAGES * (LEN + LENGTH_PREFIX_BYTES) as u64
    );
}

#[test]
fn the_loop_ends_with_its_last_device_before_stale_deadlines() {
    let peer = UdpSocket::bind(loopback()).expect("a port is free");
    let address = peer.local_addr().expect("bound");
    let echo = thread::spawn(move || {
        let (len, from) = peer.recv_from(&mut [0; 16]).expect("a datagram");
        peer.send_to(&[0; 16][..len], from).expect("loopback");
    });
    let mut step = 0;
    let report = run_device(Transport::Datagram, address, move |context, _| {
        step += 1;
        match step {
            1 => Step::Connect,
            2 => send(8),
            // Far beyond the watchdog. The echo comes first, and the script sets an earlier time.
            3 => Step::Wait(Some(Instant::from_millis(3_600_000))),
            4 => Step::Wait(Some(context.now + Duration::from_millis(5))),
            _ => Step::Finished,
        }
    });
    echo.join().expect("no panic");
    assert_eq!(report.logs.len(), 1);
}
