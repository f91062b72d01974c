//! Checks whether an unresponsive target speaks another protocol than its URL says, and whether it speaks TLS although its URL
//! says that it does not, or the other way round. Each check opens one more connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wirecost_probe::answer::{Answer, did_you_mean, of_another_protocol};
use wirecost_proto::bare::Transport;
use wirecost_results::load::Load;
use wirecost_results::summary::Outcomes;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{LoadOptions, LoadTarget};
use wirecost_stack::url::Protocol;

/// How long the target has for its first bytes.
const PATIENCE: Duration = Duration::from_secs(2);

/// CONNECT of MQTT 3.1.1 with a clean session and no client identifier (section 3.1).
const CONNECT: [u8; 14] = *b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00";
/// The protocol header of AMQP 1.0 (part 2, section 2.2).
const AMQP_HEADER: [u8; 8] = *b"AMQP\x00\x01\x00\x00";

/// The protocol that the port of the target's URL speaks instead, and the corrected URL; `None` if it speaks the URL's
/// protocol, or if this is unknown.
pub(crate) fn meant(options: &LoadOptions, address: SocketAddr) -> Option<String> {
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
pub(crate) fn warning(options: &LoadOptions, address: SocketAddr, load: &Load) -> Option<Warning> {
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

/// What the target answers to the first message of its URL's protocol, if that is another protocol without TLS, and what to do.
pub(crate) fn otherwise(options: &LoadOptions, address: SocketAddr) -> Option<[String; 2]> {
    let LoadTarget::Url(url) = &options.target else {
        return None;
    };
    let first: &[u8] = match url.scheme.protocol() {
        _ if url.scheme.is_secure() => return None,
        Protocol::Mqtt => &CONNECT,
        Protocol::Amqp => &AMQP_HEADER,
        _ => return None,
    };
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(first).ok()?;
    let mut answer = [0; 128];
    let bytes = stream.read(&mut answer).ok()?;
    of_another_protocol(url, address.port(), &Answer::from_bytes(answer.get(..bytes)?))
}

/// Whether the listener at `address` accepts a ClientHello; `None` if there is no listener, or if it sends nothing.
fn speaks_tls(address: SocketAddr) -> Option<bool> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(&client_hello()).ok()?;
    let mut first = [0; 2];
    match stream.read_exact(&mut first) {
        Ok(()) => Some(matches!(
            Answer::from_bytes(&first),
            Answer::TlsAlert | Answer::TlsHandshake
        )),
        Err(error) => {
            use std::io::ErrorKind::{ConnectionReset, UnexpectedEof};
            // A server without TLS ends a connection that begins with a ClientHello; silence may be a slow one.
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

    /// Accepts one connection, reads a ClientHello, sends these bytes and closes.
    fn answering(bytes: &'static [u8]) -> SocketAddr {
        answering_after(56, bytes)
    }

    /// Accepts one connection, reads its first bytes, sends these bytes and closes.
    fn first_answered(bytes: &'static [u8]) -> SocketAddr {
        answering_after(AMQP_HEADER.len(), bytes)
    }

    fn answering_after(read: usize, bytes: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut first = vec![0; read];
            stream.read_exact(&mut first).expect("the first bytes");
            stream.write_all(bytes).expect("an answer");
            // What was not read would turn the close into a reset, which could overtake the answer.
            drop(stream.shutdown(std::net::Shutdown::Write));
            drop(stream.read_to_end(&mut Vec::new()));
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
    fn the_protocol_of_the_answer_is_named() {
        let told = |url: &str, answer| {
            let url: wirecost_stack::url::Url = url.parse().expect(url);
            let options = LoadOptions::new(url.scheme.stack(), LoadTarget::Url(url));
            otherwise(&options, first_answered(answer))
        };
        let [cause, _] = told("mqtt://127.0.0.1/t", b"HTTP/1.0 403 Forbidden\r\n\r\n").expect("no MQTT");
        assert!(
            cause.ends_with("answered an MQTT CONNECT with an HTTP answer (\"HTTP/1.0 403 Forbidden\")"),
            "{cause}"
        );
        let [cause, hint] = told("amqp://127.0.0.1/q", &[0x20, 2, 0, 0]).expect("no AMQP");
        assert!(
            cause.ends_with("answered an AMQP header with an MQTT CONNACK"),
            "{cause}"
        );
        assert!(hint.starts_with("did you mean mqtt://127.0.0.1"), "{hint}");
        assert_eq!(told("mqtt://127.0.0.1/t", &[0x20, 2, 0, 5]), None);
        assert_eq!(
            told("mqtts://127.0.0.1/t", b"HTTP/1.0 403 Forbidden\r\n\r\n"),
            None
        );
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
