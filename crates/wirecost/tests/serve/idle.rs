//! What idle connections cost a server's memory.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};

use wirecost_live::environment::OpenFiles;

use crate::common::mqtt::connected;
use crate::serve;

const CONNECTIONS: usize = 10_000;
/// Of each connection, the broker's session with it.
const BYTES_PER_CONNECTION: usize = 4 << 10;

/// Resident memory of a process in bytes (proc_pid_status(5)).
fn resident(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok());
    kibibytes.expect("a number") << 10
}

#[test]
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
