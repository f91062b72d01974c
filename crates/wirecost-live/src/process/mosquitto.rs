//! Mosquitto, the MQTT broker.

use super::folder::{Afterwards, ServerFolder};
use super::{Launch, Readiness, TlsFiles, exchange, find, plain_environment, readiness, version_of};
use crate::error::EnvironmentError;
use crate::process::setup::{BridgeTo, Setup};
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

const PROGRAM: &str = "mosquitto";
const PACKAGE: &str = "mosquitto";
/// The port of MQTT over TLS, if the broker has a certificate.
pub const SECURE_PORT: u16 = 8883;
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

// MQTT 3.1.1 section 3.1: protocol name and level 4, clean session, keep-alive 10 s, client id "wc-ready".
const CONNECT: &[u8] = b"\x10\x14\x00\x04MQTT\x04\x02\x00\x0a\x00\x08wc-ready";
const CONNACK_ACCEPTED: [u8; 4] = [0x20, 0x02, 0x00, 0x00]; // section 3.2
const DISCONNECT: [u8; 2] = [0xe0, 0x00]; // section 3.14

/// How to start the broker on `address`, with its configuration in `folder`. With `tls` it accepts TLS 1.2 and
/// 1.3 at [`SECURE_PORT`], too.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] if it is not installed, or `folder` cannot be written.
pub fn launch(
    folder: &mut ServerFolder,
    address: SocketAddr,
    tls: Option<&TlsFiles>,
    setup: &Setup,
) -> Result<Launch, EnvironmentError> {
    let program = find(PROGRAM, PACKAGE)?;
    let text = configuration(address, tls, setup);
    let path = folder.write("mosquitto.conf", &text, Afterwards::Kept)?;
    Ok(Launch {
        program,
        arguments: vec!["-c".into(), path.to_string_lossy().into_owned()],
        environment: plain_environment(folder.home()),
        log: folder.log(),
    })
}

/// These settings change nothing on the wire: limits that the client can see keep the broker's defaults.
fn configuration(address: SocketAddr, tls: Option<&TlsFiles>, setup: &Setup) -> String {
    let settings = setup
        .settings
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    let mut lines = vec![
        "allow_anonymous true".into(),
        // Writing its database to disk would be CPU time that no message needs.
        "persistence false".into(),
        "log_dest stdout".into(),
        "log_type error".into(),
        "log_type warning".into(),
        "log_type notice".into(),
        "connection_messages false".into(), // a line per connection would be CPU time of ours
        // No $SYS messages: they are sent to whoever subscribes to `#`.
        "sys_interval 0".into(),
    ];
    lines.extend(settings);
    lines.push(format!("listener {} {}", address.port(), address.ip()));
    if let Some(files) = tls {
        lines.push(format!("listener {SECURE_PORT} {}", address.ip()));
        lines.push(format!("certfile {}", files.certificate.display()));
        lines.push(format!("keyfile {}", files.private_key.display()));
        // The lowest accepted version.
        lines.push("tls_version tlsv1.2".into());
    }
    // A bridge connects as soon as the broker starts, and again after a second.
    for BridgeTo {
        name,
        address,
        topic,
        qos,
    } in &setup.bridges
    {
        lines.push(format!("connection {name}"));
        lines.push(format!("address {address}"));
        lines.push(format!("topic {topic} out {qos}"));
        lines.push("restart_timeout 1".into());
    }
    lines.join("\n") + "\n"
}

/// Whether the broker on `address` answers a CONNECT with an accepting CONNACK.
pub fn probe(address: SocketAddr) -> Readiness {
    let answer = exchange(address, PROBE_TIMEOUT, CONNECT).and_then(|(mut stream, answer)| {
        stream.write_all(&DISCONNECT)?;
        Ok(answer)
    });
    readiness(answer, CONNACK_ACCEPTED)
}

/// The installed version, such as `2.0.11`.
pub fn version() -> Option<String> {
    version_of(&find(PROGRAM, PACKAGE).ok()?, "-h")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_stack::target::Target;

    #[test]
    fn listens_on_the_given_address_and_port() {
        let text = configuration("[fd78::1]:1883".parse().unwrap(), None, &Setup::default());
        assert!(text.ends_with("\nlistener 1883 fd78::1\n"));
    }

    #[test]
    fn settings_and_bridges_are_in_the_configuration() {
        let setup = Setup {
            bridges: vec![BridgeTo {
                name: "region".into(),
                address: "10.78.1.1:1883".parse().unwrap(),
                topic: "sensors/#".into(),
                qos: 1,
            }],
            ..Setup::from_target(Target::Mosquitto)
        };
        let text = configuration("10.78.0.1:1883".parse().unwrap(), None, &setup);
        assert!(
            text.contains("\nmax_inflight_messages 20\nmax_queued_messages 0\n"),
            "{text}"
        );
        let bridge = "\nconnection region\naddress 10.78.1.1:1883\ntopic sensors/# out 1\n";
        assert!(text.contains(bridge), "{text}");
    }

    #[test]
    fn listens_for_tls_with_a_certificate() {
        let files = TlsFiles {
            certificate: "c.pem".into(),
            private_key: "k.pem".into(),
            authority: "a.pem".into(),
        };
        let text = configuration("10.78.0.1:1883".parse().unwrap(), Some(&files), &Setup::default());
        assert!(
            text.contains("\nlistener 8883 10.78.0.1\ncertfile c.pem\nkeyfile k.pem\n"),
            "{text}"
        );
    }

    #[test]
    fn the_probe_is_a_complete_connect() {
        assert_eq!(usize::from(CONNECT[1]), CONNECT.len() - 2);
    }
}
