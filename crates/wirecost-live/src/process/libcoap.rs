//! The example server of libcoap.

use super::{Launch, Readiness, find, plain_environment, version_of};
use crate::error::EnvironmentError;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

const PROGRAM: &str = "coap-server-notls";
const PACKAGE: &str = "libcoap3-bin";
const PROBE_TIMEOUT: Duration = Duration::from_millis(200);
const DYNAMIC_RESOURCES: &str = "100";

// A "CoAP ping" is an empty confirmable message, answered by a reset (RFC 7252 section 4.3).
const PING: [u8; 4] = [0x40, 0x00, 0x77, 0x63];
const RESET: [u8; 4] = [0x70, 0x00, 0x77, 0x63];

/// How to start the server on `address`, with its log in `folder`. A PUT to a path that does not exist creates it.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] where it is not installed.
pub fn launch(folder: &Path, address: SocketAddr) -> Result<Launch, EnvironmentError> {
    let program = find(PROGRAM, PACKAGE)?;
    let (ip, port) = (address.ip().to_string(), address.port().to_string());
    let arguments = ["-A", &ip, "-p", &port, "-d", DYNAMIC_RESOURCES];
    Ok(Launch {
        program,
        arguments: arguments.map(String::from).to_vec(),
        environment: plain_environment(folder),
        log: folder.join("libcoap.log"),
    })
}

/// Whether the server on `address` answers a CoAP ping.
pub fn probe(address: SocketAddr) -> Readiness {
    match ping(address) {
        Ok(RESET) => Readiness::Ready,
        _ => Readiness::NotYet,
    }
}

fn ping(address: SocketAddr) -> std::io::Result<[u8; 4]> {
    let socket = match address {
        SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
    };
    socket.connect(address)?;
    socket.set_read_timeout(Some(PROBE_TIMEOUT))?;
    socket.send(&PING)?;
    let mut answer = [0; RESET.len()];
    socket.recv(&mut answer)?;
    Ok(answer)
}

/// The installed version, such as `4.3.1`.
pub fn version() -> Option<String> {
    version_of(&find(PROGRAM, PACKAGE).ok()?, "-h")
}
