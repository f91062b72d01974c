//! The example server of libcoap.

use super::folder::{Afterwards, ServerFolder};
use super::user::secret;
use super::{Launch, Readiness, TlsFiles, find, plain_environment, readiness, version_of};
use crate::error::EnvironmentError;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;
use wirecost_proto::hosts::any_port;

/// The port of CoAP over DTLS: the server adds 1 to its port.
pub const SECURE_PORT: u16 = 5684;
const PACKAGE: &str = "libcoap3-bin";
const PROBE_TIMEOUT: Duration = Duration::from_millis(200);
const DYNAMIC_RESOURCES: &str = "100";
/// The hint of the server, and the identity of its clients.
const HINT: &str = "wirecost";
const IDENTITY: &str = "wc";

// A "CoAP ping" is an empty confirmable message, answered by a reset (RFC 7252 section 4.3).
const PING: [u8; 4] = [0x40, 0x00, 0x77, 0x63];
const RESET: [u8; 4] = [0x70, 0x00, 0x77, 0x63];

/// The DTLS library of a build of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// OpenSSL.
    Openssl,
    /// GnuTLS.
    Gnutls,
}

impl Build {
    const fn program(self) -> &'static str {
        match self {
            Self::Openssl => "coap-server-openssl",
            Self::Gnutls => "coap-server-gnutls",
        }
    }
}

/// The credentials of the server and of its clients.
#[derive(Clone, Copy, Debug)]
pub struct Dtls<'a> {
    /// Its certificate.
    pub files: &'a TlsFiles,
    /// The pre-shared key of the identity `wc`, printable.
    pub psk: &'a str,
}

/// How to start the server on `address`, with its keys in `folder`. A PUT to a missing path creates it. With `dtls` it
/// serves DTLS at the next port, too.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] if it is not installed, or `folder` cannot be written.
pub fn launch(
    folder: &mut ServerFolder,
    address: SocketAddr,
    build: Build,
    dtls: Option<Dtls<'_>>,
) -> Result<Launch, EnvironmentError> {
    let program = find(build.program(), PACKAGE)?;
    let (ip, port) = (address.ip().to_string(), address.port().to_string());
    let mut arguments: Vec<String> = ["-A", &ip, "-p", &port, "-d", DYNAMIC_RESOURCES]
        .map(String::from)
        .to_vec();
    if let Some(Dtls { files, psk }) = dtls {
        let file = |path: &Path| path.to_string_lossy().into_owned();
        arguments.extend([
            "-c".into(),
            file(&files.certificate),
            "-j".into(),
            file(&files.private_key),
        ]);
        // Everybody reads the command lines of this machine: the key is in a file, and that of the command line opens nothing.
        let line = format!("{HINT},{IDENTITY},{psk}\n");
        let keys = folder.write("keys", &line, Afterwards::Removed)?;
        // -n: a client certificate is optional; -h: the hint that makes a client use a key.
        arguments.extend(["-n", "-h", HINT, "-i", &file(&keys), "-k", &secret()?].map(String::from));
    }
    Ok(Launch {
        program,
        arguments,
        environment: plain_environment(folder.home()),
        log: folder.log(),
    })
}

/// Whether the server on `address` answers a CoAP ping.
pub fn probe(address: SocketAddr) -> Readiness {
    readiness(ping(address), RESET)
}

fn ping(address: SocketAddr) -> std::io::Result<[u8; 4]> {
    let socket = UdpSocket::bind(any_port(address))?;
    socket.connect(address)?;
    socket.set_read_timeout(Some(PROBE_TIMEOUT))?;
    socket.send(&PING)?;
    let mut answer = [0; RESET.len()];
    socket.recv(&mut answer)?;
    Ok(answer)
}

/// The installed version, such as `4.3.1`.
pub fn version(build: Build) -> Option<String> {
    version_of(&find(build.program(), PACKAGE).ok()?, "-h")
}
