//! What idle connections cost a server's memory.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use wirecost_live::environment::OpenFiles;

use crate::common::mqtt::connected;
use crate::serve;

const CONNECTIONS: usize = 10_000;
/// Of each connection, the broker's session with it.
const BYTES_PER_CONNECTION: usize = 4 << 10;

/// Resident memory of a process in bytes.
fn resident(pid: u32) -> usize {
    memory(pid, "VmRSS:")
}

/// A figure of the memory of a process in bytes (proc_pid_status(5)).
pub(crate) fn memory(pid: u32, name: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok());
    kibibytes.expect("a number") << 10
}

#[test]
#[ignore = "needs openssl"]
fn ten_thousand_idle_mqtt_connections_take_four_kibibytes_each() {
    OpenFiles::raise().expect("limits");
    let server = serve("mqtt");
    let before = resident(server.id());
    let address = (Ipv4Addr::LOCALHOST, server.port).into();
    let clients: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|number| connected(address, number))
        .collect();
    let after = resident(server.id());
    let each = (after - before) / clients.len();
    println!("{before} B without connections, {after} B with {CONNECTIONS}: {each} B each");
    assert!(each <= BYTES_PER_CONNECTION, "{each} B each");
}

/// Publishes messages of QoS 0 to the topic `t`, and waits until the broker has them all.
fn publish(address: SocketAddr, count: usize, bytes: usize) {
    let mut publisher = connected(address, 1_000);
    let length = [(bytes + 3) as u8 & 0x7f | 0x80, ((bytes + 3) >> 7) as u8];
    let packet = [&[0x30, length[0], length[1], 0, 1, b't'][..], &vec![b'x'; bytes]].concat();
    for _ in 0..count {
        publisher.write_all(&packet).expect("the broker reads");
    }
    publisher.write_all(&[0xc0, 0]).expect("the broker reads");
    publisher.read_exact(&mut [0; 2]).expect("PINGRESP");
}

#[test]
#[ignore = "needs openssl"]
fn subscribers_that_read_nothing_share_waiting_messages() {
    let server = serve("mqtt");
    let address = (Ipv4Addr::LOCALHOST, server.port).into();
    let silent: Vec<TcpStream> = (0..20)
        .map(|number| {
            let mut client = connected(address, number);
            client
                .write_all(&[0x82, 6, 0, 1, 0, 1, b't', 0])
                .expect("SUBSCRIBE");
            client.read_exact(&mut [0; 5]).expect("SUBACK");
            client
        })
        .collect();
    let before = resident(server.id());
    publish(address, 28_000, 1_000);
    let grown = resident(server.id()) - before;
    println!("{grown} B for 28 MB published to {}", silent.len());
    // 28 MB once at most; for each subscriber 10,000 places, and 64 KiB and a message that its connection has. The kernel's buffers
    // take some 8 MB for each, and then the limit of a session is reached.
    assert!(grown < 100 << 20, "{grown} B");
    let dropping = "Dropping { client_id: \"";
    server.wait(|server| server.log().matches(dropping).count() == silent.len());
}
