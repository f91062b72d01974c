//! A server of several processes, where one may not open as many files as there are connections.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::common::mqtt::connected;
use crate::common::{WIRECOST, said};
use crate::peers::{Server, own_port};
use crate::said as has_said;

/// Open files per process in these tests.
const FILES: u32 = 300;
const CONNECTIONS: usize = 500;

/// A server that may open [`FILES`] files in each process.
fn serve(options: &str) -> Server {
    let port = own_port();
    let line = format!("ulimit -n {FILES}; exec {WIRECOST} serve {options} --listen 127.0.0.1:{port}");
    let mut command = Command::new("sh");
    command.args(["-c", &line]);
    let server = Server::start(command, port);
    server.wait(|server| server.log().contains("serving"));
    server
}

/// The processes that `parent` has started and that run.
fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

fn is_there(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // proc_pid_stat(5): the state is behind the name; Z has ended.
    state
        .rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn more_connections_than_one_process_holds_are_held_by_several() {
    let server = serve(&format!("mqtt --connections {CONNECTIONS}"));
    has_said(
        &server,
        &[
            "serving MQTT on",
            "processes share the port",
            "sessions, subscriptions and retained messages are not shared",
        ],
    );
    let workers = children(server.id());
    assert!(workers.len() >= 3, "{workers:?}");
    let address = (Ipv4Addr::LOCALHOST, server.port).into();
    let clients: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|number| connected(address, number))
        .collect();
    assert_eq!(clients.len(), CONNECTIONS);
    drop(server);
    for pid in workers {
        let began = std::time::Instant::now();
        while is_there(pid) && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_there(pid), "{pid} outlives a server that was killed");
    }
}

#[test]
#[ignore = "needs openssl"]
fn processes_have_one_certificate() {
    let server = serve("tcp --tls --connections 500");
    has_said(&server, &["clients trust", "processes share the port"]);
    let log = server.log();
    let authority = log
        .split_once("clients trust ")
        .and_then(|(_, rest)| rest.split_once(": "))
        .map(|(path, _)| path.to_owned());
    let authority = authority.expect("a file");
    // By chance, one of sixteen connections comes to each process.
    for _ in 0..16 {
        let line = format!(
            "s_client -brief -verify_return_error -CAfile {authority} -connect 127.0.0.1:{}",
            server.port
        );
        let seen = said(
            Command::new("openssl")
                .args(line.split(' '))
                .stdin(std::process::Stdio::null()),
        );
        assert!(seen.stderr.contains("Verification: OK"), "{}", seen.stderr);
    }
}

#[test]
fn a_server_without_room_for_a_connection_does_not_start() {
    let line = format!("ulimit -n 100; exec {WIRECOST} serve mqtt --connections 5");
    let refused = said(Command::new("sh").args(["-c", &line]));
    assert_eq!(refused.code, Some(10), "{}", refused.stderr);
    let reason = "5 connections need as many open files, and 0 are possible (hard limit 100,";
    assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    assert!(!refused.stderr.contains("serving"), "{}", refused.stderr);
}
