//! Servers: foreign clients that close one side, reset, flood, or send the largest datagram.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::driver::server::ServerLoop;
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::driver::Service;

use crate::rig::{Arrived, Serving, free_address, loopback};

/// The largest payload of a UDP datagram over IPv4.
const LARGEST_DATAGRAM: usize = 65_507;

fn message(len: usize) -> Vec<u8> {
    let mut bytes = (len as u32).to_be_bytes().to_vec();
    bytes.resize(4 + len, 0);
    bytes
}

#[test]
fn a_half_closed_client_is_served_to_the_end_and_closed() {
    let server = Serving::start(Transport::Stream, free_address(Transport::Stream), true);
    let mut client = TcpStream::connect(server.address).expect("the server listens");
    client.write_all(&message(70_000)).expect("connected");
    client.shutdown(Shutdown::Write).expect("connected");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("the server closes too");
    assert!(rest.is_empty());
    let finished = server.stop();
    assert_eq!(finished.observer.payload_bytes, [70_000]);
    assert_eq!(finished.flows.len(), 1);
    assert_eq!(finished.flows[0].log.up.bytes, 70_004);
}

#[test]
fn a_client_that_resets_ends_its_own_flow_only() {
    let server = Serving::start(Transport::Stream, free_address(Transport::Stream), true);
    let mut rude = TcpStream::connect(server.address).expect("the server listens");
    rude.write_all(&message(1_000)[..500]).expect("connected");
    let rude = socket2::Socket::from(rude);
    rude.set_linger(Some(Duration::ZERO)).expect("an open socket");
    drop(rude);
    let mut polite = TcpStream::connect(server.address).expect("the server still listens");
    polite.write_all(&message(10)).expect("connected");
    assert_eq!(server.arrival(), 10);
    let finished = server.stop();
    assert_eq!(finished.observer.payload_bytes, [10]);
    assert_eq!(finished.flows.len(), 2);
}

#[test]
fn the_largest_datagram_arrives_in_one_piece() {
    let server = Serving::start(Transport::Datagram, free_address(Transport::Datagram), true);
    let client = UdpSocket::bind(loopback()).expect("a port is free");
    for len in [LARGEST_DATAGRAM, 0, 1] {
        client
            .send_to(&vec![0; len], server.address)
            .expect("loopback takes it");
        assert_eq!(server.arrival(), len as u64);
    }
    let flows = server.stop().flows;
    assert_eq!(flows.len(), 1, "one peer is one flow");
    assert!(flows[0].cpu > Duration::ZERO);
}

#[test]
fn a_flood_of_datagrams_does_not_keep_a_server_from_stopping() {
    let server = Serving::start(Transport::Datagram, free_address(Transport::Datagram), false);
    let (address, end) = (server.address, Arc::new(AtomicBool::new(false)));
    let floods: Vec<_> = (0..2)
        .map(|_| {
            let end = Arc::clone(&end);
            thread::spawn(move || {
                let client = UdpSocket::bind(loopback()).expect("a port is free");
                while !end.load(Ordering::Relaxed) {
                    // The kernel may refuse some datagrams of a flood.
                    drop(client.send_to(&[0; 8], address));
                }
            })
        })
        .collect();
    server.arrival();
    let finished = server.stop();
    end.store(true, Ordering::Relaxed);
    floods
        .into_iter()
        .for_each(|flood| flood.join().expect("no panic"));
    assert!(finished.flows.is_empty(), "nobody asked for logs");
}

#[test]
fn a_server_on_port_0_reports_the_port_of_the_kernel() {
    for transport in [Transport::Stream, Transport::Datagram] {
        let service = Service {
            address: loopback(),
            transport,
            endpoint: bare::Server::new(transport),
        };
        let server =
            ServerLoop::new(vec![service], Clock::start(), Arrived::default(), false).expect("listens");
        let address = server.address().expect("a service");
        assert_ne!(address.port(), 0);
        assert_eq!(address.ip(), loopback().ip());
    }
}
