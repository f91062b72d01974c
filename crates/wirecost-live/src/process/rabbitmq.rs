//! RabbitMQ with its AMQP 1.0 and MQTT plugins.

use super::folder::{Afterwards, ServerFolder};
use super::user::secret;
use super::{Launch, Readiness, TlsFiles, exchange, find, plain_environment, readiness, version_in};
use crate::error::EnvironmentError;
use std::fs;

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The script on Debian's PATH insists on the system's user and folders. This one accepts others.
const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const COMMAND: &str = "rabbitmq-server";
const PACKAGE: &str = "rabbitmq-server";

/// The port of AMQP.
pub const AMQP_PORT: u16 = 5672;
/// The port of AMQP over TLS.
pub const SECURE_AMQP_PORT: u16 = 5671;
/// The port of MQTT.
pub(crate) const MQTT_PORT: u16 = 1883;
/// The port of MQTT over TLS.
pub(crate) const SECURE_MQTT_PORT: u16 = 8883;

/// How long the broker may take to become ready: it boots a virtual machine, which takes seconds on an idle computer.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// The secret between Erlang's nodes: Erlang finds it below HOME.
const COOKIE: &str = ".erlang.cookie";
const PLUGINS: &str = "[rabbitmq_amqp1_0,rabbitmq_mqtt].\n";
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

// The protocol headers of SASL and of AMQP 1.0.0 (AMQP 1.0 sections 5.3.1 and 2.2); the server echoes the first.
const SASL_HEADER: [u8; 8] = *b"AMQP\x03\x01\x00\x00";

/// How to start the broker on `ip`, with its configuration and data in `folder`: AMQP at [`AMQP_PORT`] and MQTT at
/// `MQTT_PORT`, with `tls` also at [`SECURE_AMQP_PORT`] and `SECURE_MQTT_PORT`.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] if it is not installed, or `folder` cannot be written.
pub fn launch(
    folder: &mut ServerFolder,
    ip: IpAddr,
    tls: Option<&TlsFiles>,
) -> Result<Launch, EnvironmentError> {
    let program = program()?;
    let text = configuration(ip, tls.is_some());
    let configuration_path = folder.write("rabbitmq.conf", &text, Afterwards::Kept)?;
    let plugins_path = folder.write("enabled_plugins", PLUGINS, Afterwards::Kept)?;
    let advanced_path = folder.write("advanced.config", &tls_configuration(tls), Afterwards::Kept)?;
    // Who knows it may give the node orders. Erlang would make one from the time.
    folder.write_cookie(COOKIE, &secret()?)?;
    let mut environment = plain_environment(folder.home());
    let paths = [
        ("RABBITMQ_MNESIA_BASE", folder.seen("mnesia")),
        ("RABBITMQ_LOG_BASE", folder.seen("log")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", plugins_path),
        ("RABBITMQ_CONFIG_FILE", configuration_path),
        ("RABBITMQ_ADVANCED_CONFIG_FILE", advanced_path),
        // A file that does not exist: settings in /etc/rabbitmq must not change the broker.
        ("RABBITMQ_CONF_ENV_FILE", folder.seen("none")),
    ];
    let path = |(name, path): (&str, PathBuf)| (name.into(), path.to_string_lossy().into_owned());
    environment.extend(paths.map(path));
    // The node and its registrar communicate over the namespace's own loopback.
    let names = [
        ("RABBITMQ_NODENAME", "wirecost@localhost"),
        ("ERL_EPMD_ADDRESS", "127.0.0.1"),
        (
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            "-kernel inet_dist_use_interface {127,0,0,1}",
        ),
    ];
    environment.extend(names.map(|(name, value)| (name.into(), value.into())));
    Ok(Launch {
        program,
        arguments: Vec::new(),
        environment,
        log: folder.log(),
    })
}

/// The broker is installed if its command is on PATH, as for every other server.
fn program() -> Result<PathBuf, EnvironmentError> {
    let command = find(COMMAND, PACKAGE)?;
    let program = PathBuf::from(PROGRAM);
    Ok(if program.is_file() { program } else { command })
}

/// Any client may connect from any address. A log line per connection would cost CPU time.
fn configuration(ip: IpAddr, tls: bool) -> String {
    let mut lines = vec![
        format!("listeners.tcp.1 = {ip}:{AMQP_PORT}"),
        format!("mqtt.listeners.tcp.1 = {ip}:{MQTT_PORT}"),
        // By default `guest` may log in from loopback alone, and devices come from other addresses.
        "loopback_users = none".into(),
        "amqp1_0.default_user = guest".into(),
        "mqtt.allow_anonymous = true".into(),
        "log.file = false".into(),
        "log.console = true".into(),
        "log.console.level = warning".into(),
    ];
    if tls {
        lines.extend([
            format!("listeners.ssl.1 = {ip}:{SECURE_AMQP_PORT}"),
            format!("mqtt.listeners.ssl.1 = {ip}:{SECURE_MQTT_PORT}"),
        ]);
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The options of TLS as Erlang terms. Erlang's TLS sends session tickets only with `session_tickets`; without a ticket no connection
/// with TLS 1.3 is resumed. `rabbitmq.conf` has no key for this option. The list of this file replaces that of `rabbitmq.conf`, so it
/// has all options. A stateless ticket holds its own state; the server keeps at most 1,000 stateful ones.
fn tls_configuration(tls: Option<&TlsFiles>) -> String {
    let Some(files) = tls else {
        return "[].\n".into();
    };
    let certificate = erlang_string(&files.certificate);
    let private_key = erlang_string(&files.private_key);
    let authority = erlang_string(&files.authority);
    format!(
        "[{{rabbit, [{{ssl_options, [\n  {{certfile, {certificate}}},\n  {{keyfile, {private_key}}},\n  \
         {{cacertfile, {authority}}},\n  {{verify, verify_none}},\n  {{versions, ['tlsv1.3', 'tlsv1.2']}},\n  \
         {{session_tickets, stateless}}\n]}}]}}].\n"
    )
}

fn erlang_string(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// Whether the broker on `ip` echoes the SASL header of AMQP 1.0 and accepts MQTT connections.
pub fn probe(ip: IpAddr) -> Readiness {
    let (amqp, mqtt) = (SocketAddr::new(ip, AMQP_PORT), SocketAddr::new(ip, MQTT_PORT));
    let answer = exchange(amqp, PROBE_TIMEOUT, &SASL_HEADER).and_then(|(_, answer)| {
        TcpStream::connect_timeout(&mqtt, PROBE_TIMEOUT)?;
        Ok(answer)
    });
    readiness(answer, SASL_HEADER)
}

/// The installed version, such as `3.10.8`, from the folder of the script: asking the program takes seconds.
pub fn version() -> Option<String> {
    let folder = fs::canonicalize(program().ok()?).ok()?;
    let mut names = folder.components().map(|part| part.as_os_str().to_string_lossy());
    let name = names.find(|name| name.starts_with("rabbitmq_server-"))?;
    version_in(name.trim_start_matches("rabbitmq_server-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listens_on_the_given_ports() {
        let text = configuration("10.77.1.1".parse().unwrap(), false);
        assert!(text.contains("listeners.tcp.1 = 10.77.1.1:5672\nmqtt.listeners.tcp.1 = 10.77.1.1:1883\n"));
        assert!(!text.contains("ssl"));
    }

    #[test]
    fn configures_given_certificates() {
        let files = TlsFiles {
            certificate: "/run/a \"b\"/cert.pem".into(),
            private_key: "/run/key.pem".into(),
            authority: "/run/ca.pem".into(),
        };
        let text = configuration("fd77::1".parse().unwrap(), true);
        assert!(text.contains("listeners.ssl.1 = fd77::1:5671\nmqtt.listeners.ssl.1 = fd77::1:8883\n"));
        let text = tls_configuration(Some(&files));
        assert!(
            text.contains("{certfile, \"/run/a \\\"b\\\"/cert.pem\"},\n  {keyfile, \"/run/key.pem\"},\n")
        );
        assert!(text.contains("{session_tickets, stateless}"));
    }

    #[test]
    fn configures_no_tls_without_certificates() {
        assert_eq!(tls_configuration(None), "[].\n");
    }
}
