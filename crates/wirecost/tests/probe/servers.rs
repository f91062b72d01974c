//! Servers of other makers with certificates, on free ports.

use std::fs;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::common::{WIRECOST, need_program};
use crate::peers::{Server, own_port, path};

/// Mosquitto with a configuration behind its listener; with certificate and key where given.
pub(crate) fn mosquitto(files: Option<&[PathBuf; 2]>, more: &str) -> Server {
    need_program("mosquitto", "mosquitto");
    let port = own_port();
    let folder = TempDir::new().expect("a temporary folder");
    let tls = files.map_or_else(String::new, |[certificate, key]| {
        format!("certfile {}\nkeyfile {}\n", certificate.display(), key.display())
    });
    let text = format!("user root\nlistener {port} 127.0.0.1\n{tls}{more}");
    let configuration = folder.path().join("mosquitto.conf");
    fs::write(&configuration, text).expect("a configuration");
    let mut command = Command::new("mosquitto");
    command.arg("-c").arg(configuration).env("PATH", path());
    listening(Server::start_in(folder, command, port))
}

/// Mosquitto that lets everyone in.
pub(crate) fn open_mosquitto(files: Option<&[PathBuf; 2]>) -> Server {
    mosquitto(files, "allow_anonymous true\n")
}

/// Caddy that answers 204, and 401 below /secret; over HTTPS and HTTP/3 where there is a certificate.
pub(crate) fn caddy(files: Option<&[PathBuf; 2]>) -> Server {
    need_program("caddy", "caddy");
    let port = own_port();
    let folder = TempDir::new().expect("a temporary folder");
    let (scheme, tls) = match files {
        Some([certificate, key]) => (
            "https",
            format!("tls {} {}", certificate.display(), key.display()),
        ),
        None => ("http", String::new()),
    };
    let text = format!(
        "{{\n admin off\n auto_https off\n}}\n{scheme}://:{port} {{\n bind 127.0.0.1\n {tls}\n respond /secret 401\n \
         respond 204\n}}\n"
    );
    let configuration = folder.path().join("Caddyfile");
    fs::write(&configuration, text).expect("a configuration");
    let mut command = Command::new("caddy");
    command
        .args(["run", "--adapter", "caddyfile", "--config"])
        .arg(configuration)
        .env("HOME", folder.path());
    listening(Server::start_in(folder, command, port))
}

/// libcoap's server with a pre-shared key: DTLS at the next port.
pub(crate) fn libcoap(key: &str) -> Server {
    need_program("coap-server-openssl", "libcoap3-bin");
    let port = own_port();
    let mut command = Command::new("coap-server-openssl");
    command.args([
        "-A",
        "127.0.0.1",
        "-p",
        &port.to_string(),
        "-d",
        "8",
        "-k",
        key,
        "-h",
        "hint",
    ]);
    let server = Server::start(command, port);
    server.wait(answers_ping);
    server
}

/// `wirecost serve` with arguments that are separated by blanks.
pub(crate) fn serve(arguments: &str) -> Server {
    let port = own_port();
    let mut command = Command::new(WIRECOST);
    let listen = format!("127.0.0.1:{port}");
    command
        .arg("serve")
        .args(arguments.split(' '))
        .args(["--listen", &listen]);
    let server = Server::start(command, port);
    server.wait(|server| server.log().contains("serving"));
    server
}

fn listening(server: Server) -> Server {
    server.wait(|server| TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).is_ok());
    server
}

/// A CoAP ping is answered by a reset (RFC 7252, section 4.3).
fn answers_ping(server: &Server) -> bool {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let patience = Duration::from_millis(200);
    socket.set_read_timeout(Some(patience)).expect("a time-out");
    socket
        .connect((Ipv4Addr::LOCALHOST, server.port))
        .expect("connected");
    let sent = socket.send(&[0x40, 0, 0x12, 0x34]);
    sent.is_ok() && socket.recv(&mut [0; 16]).is_ok()
}
