//! The relay on loopback: both of its sides are in one namespace.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

/// A free address for a listener of the relay.
fn free(transport: Transport) -> SocketAddr {
    let at = (Ipv4Addr::LOCALHOST, 0);
    let address = match transport {
        Transport::Stream => TcpListener::bind(at).and_then(|socket| socket.local_addr()),
        Transport::Datagram => UdpSocket::bind(at).and_then(|socket| socket.local_addr()),
    };
    address.expect("a free port")
}

/// A relay to `target`, and its address.
fn relay_to(target: SocketAddr, transport: Transport) -> (Relay, SocketAddr) {
    let relay = Relay::start().expect("a relay");
    let route = Route {
        listen: free(transport),
        target,
        transport,
    };
    relay
        .listen(&Side::here().expect("a side"), &[route])
        .expect("it listens");
    (relay, route.listen)
}

#[test]
fn a_stream_passes_both_ways_until_its_end() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let (relay, at) = relay_to(server.local_addr().expect("an address"), Transport::Stream);
    let mut device = TcpStream::connect(at).expect("connected");
    let (mut accepted, _) = server.accept().expect("accepted");
    device.write_all(b"question").expect("written");
    device.shutdown(std::net::Shutdown::Write).expect("ended");
    let mut heard = Vec::new();
    accepted.read_to_end(&mut heard).expect("read");
    assert_eq!(heard, b"question");
    let answer = vec![7; 3_000_000];
    let writing = thread::spawn(move || accepted.write_all(&answer));
    let mut heard = Vec::new();
    device.read_to_end(&mut heard).expect("read");
    writing.join().expect("no panic").expect("written");
    assert_eq!(heard, vec![7; 3_000_000]);
    let expected = Relayed {
        connections: 1,
        ..Relayed::default()
    };
    assert_eq!(relay.relayed(), expected);
    assert_eq!(relay.relayed().shortfall(), None);
}

#[test]
fn a_refused_connection_is_reset_and_counted() {
    let (relay, at) = relay_to(free(Transport::Stream), Transport::Stream);
    let mut device = TcpStream::connect(at).expect("the relay accepts");
    device.set_read_timeout(Some(PATIENCE)).expect("set");
    let error = device.read(&mut [0; 1]).expect_err("a reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    let said = relay.relayed().shortfall().expect("a refusal is said");
    assert_eq!(said, "relay: the target did not accept 1 of 1 connections");
}

#[test]
fn datagrams_pass_one_by_one_to_the_device_they_answer() {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let target = server.local_addr().expect("an address");
    let (relay, at) = relay_to(target, Transport::Datagram);
    let devices = [(); 2].map(|()| {
        let device = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        device.connect(at).expect("connected");
        device.set_read_timeout(Some(PATIENCE)).expect("set");
        device
    });
    server.set_read_timeout(Some(PATIENCE)).expect("set");
    let mut buffer = [0; 64];
    for (device, text) in devices.iter().zip(["one", "two!"]) {
        device.send(text.as_bytes()).expect("sent");
        let (len, from) = server.recv_from(&mut buffer).expect("received");
        assert_eq!(&buffer[..len], text.as_bytes());
        server.send_to(&buffer[..len], from).expect("answered");
    }
    for (device, text) in devices.iter().zip(["one", "two!"]) {
        let len = device.recv(&mut buffer).expect("received");
        assert_eq!(&buffer[..len], text.as_bytes());
    }
    assert_eq!(relay.relayed(), Relayed::default());
}
