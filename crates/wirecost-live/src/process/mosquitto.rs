//! Mosquitto, the MQTT broker.

use super::{Launch, Readiness, find, plain_environment, version_of, write_configuration};
use crate::error::EnvironmentError;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

const PROGRAM: &str = "mosquitto";
const PACKAGE: &str = "mosquitto";
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

// MQTT 3.1.1 section 3.1: protocol name and level 4, clean session, keep-alive 10 s, client id "wc-ready".
const CONNECT: &[u8] = b"\x10\x14\x00\x04MQTT\x04\x02\x00\x0a\x00\x08wc-ready";
const CONNACK_ACCEPTED: [u8; 4] = [0x20, 0x02, 0x00, 0x00]; // section 3.2
const DISCONNECT: [u8; 2] = [0xe0, 0x00]; // section 3.14

/// How to start the broker on `address`, with its configuration and log in `folder`.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] where it is not installed; when `folder` cannot be written.
pub fn launch(folder: &Path, address: SocketAddr) -> Result<Launch, EnvironmentError> {
    let program = find(PROGRAM, PACKAGE)?;
    let path = folder.join("mosquitto.conf");
    write_configuration(&path, &configuration(address))?;
    Ok(Launch {
        program,
        arguments: vec!["-c".into(), path.to_string_lossy().into_owned()],
        environment: plain_environment(folder),
        log: folder.join("mosquitto.log"),
    })
}

/// What is set changes nothing on the wire: limits that the client can see keep the broker's defaults.
fn configuration(address: SocketAddr) -> String {
    [
        format!("listener {} {}", address.port(), address.ip()),
        "allow_anonymous true".into(),
        "user root".into(), // the broker cannot become another user within a user namespace
        "persistence false".into(),
        "log_dest stdout".into(),
        "log_type error".into(),
        "log_type warning".into(),
        "log_type notice".into(),
        "connection_messages false".into(), // a line per connection would be CPU time of ours
        "sys_interval 0".into(),
        "max_queued_messages 0".into(), // no limit: a slow subscriber shall not lose messages unseen
        String::new(),
    ]
    .join("\n")
}

/// Whether the broker on `address` answers a CONNECT with an accepting CONNACK.
pub fn probe(address: SocketAddr) -> Readiness {
    match connect(address) {
        Ok(CONNACK_ACCEPTED) => Readiness::Ready,
        _ => Readiness::NotYet,
    }
}

fn connect(address: SocketAddr) -> std::io::Result<[u8; 4]> {
    let mut stream = TcpStream::connect_timeout(&address, PROBE_TIMEOUT)?;
    stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
    stream.write_all(CONNECT)?;
    let mut answer = [0; CONNACK_ACCEPTED.len()];
    stream.read_exact(&mut answer)?;
    stream.write_all(&DISCONNECT)?;
    Ok(answer)
}

/// The installed version, such as `2.0.11`.
pub fn version() -> Option<String> {
    version_of(&find(PROGRAM, PACKAGE).ok()?, "-h")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listens_on_the_address_and_port_given() {
        let text = configuration("[fd78::1]:1883".parse().unwrap());
        assert!(text.starts_with("listener 1883 fd78::1\n"));
    }

    #[test]
    fn the_probe_is_a_whole_connect() {
        assert_eq!(usize::from(CONNECT[1]), CONNECT.len() - 2);
    }
}
