//! Caddy, the web server.

use super::folder::{Afterwards, ServerFolder};
use super::{Launch, Readiness, TlsFiles, exchange, find, plain_environment, readiness, version_of};
use crate::error::EnvironmentError;

use std::net::SocketAddr;
use std::time::Duration;

const PROGRAM: &str = "caddy";
const PACKAGE: &str = "caddy";
/// The port of HTTPS and HTTP/3, if the server has a certificate.
pub const SECURE_PORT: u16 = 443;
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
const REQUEST: &[u8] = b"HEAD / HTTP/1.1\r\nHost: ready\r\nConnection: close\r\n\r\n";
const ANSWER: &[u8; 12] = b"HTTP/1.1 204";

/// How to start the server on `address`, with its configuration and data in `folder`. It answers every request
/// with 204. With `tls` it serves HTTPS and HTTP/3 at [`SECURE_PORT`], too.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] if it is not installed, or `folder` cannot be written.
pub fn launch(
    folder: &mut ServerFolder,
    address: SocketAddr,
    tls: Option<&TlsFiles>,
) -> Result<Launch, EnvironmentError> {
    let program = find(PROGRAM, PACKAGE)?;
    let path = folder.write("Caddyfile", &configuration(address, tls), Afterwards::Kept)?;
    let path = path.to_string_lossy().into_owned();
    let arguments = ["run", "--config", &path, "--adapter", "caddyfile"].map(String::from);
    Ok(Launch {
        program,
        arguments: arguments.to_vec(),
        // The server keeps its state below HOME.
        environment: plain_environment(folder.home()),
        log: folder.log(),
    })
}

/// No administration endpoint, no redirects, no log line per request.
fn configuration(address: SocketAddr, tls: Option<&TlsFiles>) -> String {
    let bind = address.ip();
    let global = "{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\n";
    let site = |scheme: &str, port: u16, tls: &str| {
        format!("{scheme}://:{port} {{\n\tbind {bind}\n{tls}\trespond 204\n}}\n")
    };
    let plain = site("http", address.port(), "");
    let secure = tls.map(|files| {
        let (certificate, key) = (files.certificate.display(), files.private_key.display());
        site("https", SECURE_PORT, &format!("\ttls {certificate} {key}\n"))
    });
    [global, &plain, &secure.unwrap_or_default()].concat()
}

/// Whether the server on `address` answers a request.
pub fn probe(address: SocketAddr) -> Readiness {
    let answer = exchange(address, PROBE_TIMEOUT, REQUEST).map(|(_, answer)| answer);
    readiness(answer, *ANSWER)
}

/// The installed version, such as `2.6.2`.
pub fn version() -> Option<String> {
    version_of(&find(PROGRAM, PACKAGE).ok()?, "version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_adds_a_site_for_https() {
        let address = "10.78.0.1:80".parse().unwrap();
        assert!(!configuration(address, None).contains("https://"));
        let files = TlsFiles {
            certificate: "c.pem".into(),
            private_key: "k.pem".into(),
            authority: "a.pem".into(),
        };
        let text = configuration(address, Some(&files));
        assert!(
            text.contains("https://:443 {\n\tbind 10.78.0.1\n\ttls c.pem k.pem\n"),
            "{text}"
        );
    }
}
