//! Checks whether an unresponsive target speaks TLS although its URL says that it does not, or the other way round. The
//! check opens one more connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wirecost_probe::answer::Answer;
use wirecost_probe::failure::did_you_mean;
use wirecost_proto::bare::Transport;
use wirecost_results::load::Load;
use wirecost_results::summary::Outcomes;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{LoadOptions, LoadTarget};

/// How long the target has for its first bytes.
const PATIENCE: Duration = Duration::from_secs(2);

/// The protocol that the port of the target's URL speaks instead, and the corrected URL; `None` if it speaks the URL's
/// protocol, or if this is unknown.
pub(super) fn meant(options: &LoadOptions, address: SocketAddr) -> Option<String> {
    let LoadTarget::Url(url) = &options.target else {
        return None;
    };
    let (scheme, other) = (url.scheme, url.scheme.counterpart());
    let has_other = scheme != other && scheme.stack().transport() == Transport::Stream;
    if !has_other || speaks_tls(address)? == scheme.is_secure() {
        return None;
    }
    let what = match scheme.is_secure() {
        true => "does not speak TLS",
        false => "speaks TLS",
    };
    Some(format!("its port {what}: {}", did_you_mean(url, other)))
}

/// The warning of a load that got no answer from a target that speaks another protocol: HTTP connections succeed there
/// all the same.
pub(super) fn warning(options: &LoadOptions, address: SocketAddr, load: &Load) -> Option<Warning> {
    let offered = load
        .phases
        .iter()
        .map(|phase| phase.outcomes.offered)
        .sum::<u64>();
    // An answer of another protocol counts as refused.
    let answered = |outcomes: &Outcomes| outcomes.acknowledged + outcomes.late > 0;
    let is_silent = !load.phases.iter().any(|phase| answered(&phase.outcomes));
    if offered == 0 || !is_silent || !options.is_answered() || load.interrupted {
        return None;
    }
    let meant = meant(options, address)?;
    let text = format!("{} answered nothing, and {meant}", options.target);
    Some(Warning::note(WarningKind::OtherProtocol, text))
}

/// Whether the listener at `address` accepts a ClientHello; `None` if there is no listener, or if it sends nothing.
fn speaks_tls(address: SocketAddr) -> Option<bool> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(&client_hello()).ok()?;
    let mut first = [0; 2];
    match stream.read_exact(&mut first) {
        Ok(()) => Some(matches!(
            Answer::of(&first),
            Answer::TlsAlert | Answer::TlsHandshake
        )),
        Err(error) => {
            use std::io::ErrorKind::{ConnectionReset, UnexpectedEof};
            matches!(error.kind(), ConnectionReset | UnexpectedEof).then_some(false)
        }
    }
}

/// A ClientHello without extensions (RFC 5246, section 7.4.1.2): a TLS server answers with a ServerHello or an alert.
fn client_hello() -> Vec<u8> {
    const RANDOM: [u8; 32] = [0x5a; 32];
    // ECDHE with AES-GCM, RSA with AES: suites that most servers know.
    const SUITES: [u8; 8] = [0xc0, 0x2f, 0xc0, 0x2b, 0x00, 0x9c, 0x00, 0x2f];
    let body = [
        &[0x03, 0x03][..],
        &RANDOM,
        &[0, 0, SUITES.len() as u8],
        &SUITES,
        &[1, 0],
    ]
    .concat();
    let message = [&[0x01, 0, 0, body.len() as u8][..], &body].concat();
    [&[0x16, 0x03, 0x01, 0, message.len() as u8][..], &message].concat()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Accepts one connection, reads once, sends these bytes and closes.
    fn answering(bytes: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut hello = [0; 56];
            stream.read_exact(&mut hello).expect("a ClientHello");
            stream.write_all(bytes).expect("an answer");
        });
        address
    }

    fn said(url: &str, address: SocketAddr) -> Option<String> {
        let url: wirecost_stack::url::Url = url.parse().expect(url);
        meant(
            &LoadOptions::new(url.scheme.stack(), LoadTarget::Url(url)),
            address,
        )
    }

    #[test]
    fn the_other_scheme_is_suggested_if_the_target_speaks_it() {
        let (alert, hello): (&[u8], &[u8]) = (&[21, 3, 3, 0, 2, 2, 40], &[22, 3, 3, 0, 80]);
        for answer in [alert, hello] {
            assert_eq!(
                said("mqtt://127.0.0.1:8883/t", answering(answer)).as_deref(),
                Some("its port speaks TLS: did you mean mqtts://127.0.0.1:8883 ?")
            );
            assert_eq!(said("https://127.0.0.1:8443/", answering(answer)), None);
        }
        for answer in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b""] {
            assert_eq!(
                said("https://127.0.0.1:8080/", answering(answer)).as_deref(),
                Some("its port does not speak TLS: did you mean http://127.0.0.1:8080 ?")
            );
            assert_eq!(said("mqtt://127.0.0.1:1883/t", answering(answer)), None);
        }
    }

    #[test]
    fn silent_ports_and_datagrams_suggest_nothing() {
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = free.local_addr().expect("its address");
        drop(free);
        assert_eq!(said("mqtt://127.0.0.1:1/t", address), None);
        assert_eq!(said("coap://127.0.0.1:1/t", address), None);
        assert_eq!(said("tcp://127.0.0.1:1", address), None);
    }
}
