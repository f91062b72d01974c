//! The servers of a run: the built-in servers, or programs that wirecost starts.

pub mod setting;

use std::fmt;
use std::str::FromStr;

use wirecost_store::Store;

use crate::{Application, Channel, Stack};

/// The server of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The built-in servers.
    Builtin,
    /// Mosquitto, an MQTT broker.
    Mosquitto,
    /// RabbitMQ with its plug-ins for AMQP 1.0 and MQTT.
    Rabbitmq,
    /// Caddy, a web server.
    Caddy,
    /// Apache, a web server with a process for each connection, and PHP in it.
    Apache,
    /// libcoap's coap-server on OpenSSL.
    Libcoap,
    /// libcoap's coap-server on GnuTLS.
    LibcoapGnutls,
    /// PostgreSQL.
    Postgresql,
    /// MariaDB.
    Mariadb,
    /// A server that runs already, which a URL names.
    Running,
}

impl Target {
    /// Every target that wirecost starts, with its name.
    pub const ALL: [(&'static str, Self); 9] = [
        ("builtin", Self::Builtin),
        ("mosquitto", Self::Mosquitto),
        ("rabbitmq", Self::Rabbitmq),
        ("caddy", Self::Caddy),
        ("apache", Self::Apache),
        ("libcoap", Self::Libcoap),
        ("libcoap-gnutls", Self::LibcoapGnutls),
        ("postgresql", Self::Postgresql),
        ("mariadb", Self::Mariadb),
    ];

    /// Whether the target is the built-in servers.
    pub const fn is_builtin(self) -> bool {
        matches!(self, Self::Builtin)
    }

    /// Whether the target supports a stack.
    pub const fn speaks(self, stack: Stack) -> bool {
        let is_plain_or_tls = matches!(stack.channel, Channel::Plain) || stack.channel.is_tls();
        match self {
            // The URL says what it speaks.
            Self::Builtin | Self::Running => true,
            Self::Mosquitto => stack.is_mqtt() && is_plain_or_tls,
            // Its MQTT plug-in supports 3.1.1, and handles QoS 2 as QoS 1.
            Self::Rabbitmq => {
                let mqtt = matches!(stack.application, Application::Mqtt311(0 | 1));
                (mqtt || stack.is_amqp()) && is_plain_or_tls
            }
            Self::Caddy => stack.is_http() && is_plain_or_tls,
            Self::Apache => {
                matches!(stack.application, Application::Http1) && matches!(stack.channel, Channel::Plain)
            }
            Self::Postgresql => matches!(stack.application, Application::Store(Store::Postgres)),
            Self::Mariadb => matches!(stack.application, Application::Store(Store::Mariadb)),
            Self::Libcoap | Self::LibcoapGnutls => {
                let channel = matches!(stack.channel, Channel::Dtls12 | Channel::Dtls12Psk);
                stack.is_coap() && (channel || is_plain_or_tls)
            }
        }
    }

    /// Whether clients of TLS leave out the signature schemes of ML-DSA: Erlang/OTP 25, on which Debian's RabbitMQ runs, resumes no
    /// session for a client that offers schemes that it does not know.
    pub const fn needs_classical_signatures(self) -> bool {
        matches!(self, Self::Rabbitmq)
    }

    /// The stacks that the target supports, as text.
    pub const fn spoken(self) -> &'static str {
        match self {
            Self::Builtin => "every stack",
            Self::Running => "the stacks of its URL",
            Self::Mosquitto => "the mqtt and mqtt5 stacks, plain, +tls1.2 and +tls1.3",
            Self::Rabbitmq => "the amqp stacks, mqtt-qos0 and mqtt-qos1, plain, +tls1.2 and +tls1.3",
            Self::Postgresql => "postgres, plain and +cose",
            Self::Mariadb => "mariadb, plain and +cose",
            Self::Caddy => "http1, plain, +tls1.2 and +tls1.3, and http3",
            Self::Apache => "http1, plain and +cose",
            Self::Libcoap | Self::LibcoapGnutls => {
                "the coap stacks, plain, +dtls1.2 and +dtls1.2-psk, and coap-tcp, plain, +tls1.2 and +tls1.3"
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, target)| target == self);
        f.write_str(name.map_or("a running server", |(name, _)| name))
    }
}

/// A text that is not the name of a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown target {name:?}; the targets are {}", Target::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownTarget {
    /// The text.
    name: String,
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Self, UnknownTarget> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, target)| *target).ok_or_else(|| UnknownTarget {
            name: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_speaks_what_its_programs_speak() {
        let speaks = |target: Target, name: &str| target.speaks(name.parse().expect("a stack"));
        assert!(speaks(Target::Mosquitto, "mqtt5-qos2+tls1.2") && !speaks(Target::Mosquitto, "amqp-settled"));
        assert!(speaks(Target::Rabbitmq, "amqp-unsettled+tls1.3") && !speaks(Target::Rabbitmq, "mqtt-qos2"));
        assert!(speaks(Target::Caddy, "http3") && !speaks(Target::Caddy, "tcp"));
        assert!(speaks(Target::Apache, "http1") && !speaks(Target::Apache, "http1+tls1.3"));
        assert!(
            speaks(Target::Libcoap, "coap-con+dtls1.2-psk") && !speaks(Target::Libcoap, "coap-con+dtls1.3")
        );
        assert!(speaks(Target::Libcoap, "coap-tcp+tls1.3") && !speaks(Target::Mosquitto, "coap-tcp"));
        assert!(speaks(Target::Mariadb, "mariadb+cose") && !speaks(Target::Mariadb, "postgres"));
        assert!(!speaks(Target::LibcoapGnutls, "coap-con+oscore"));
    }
}
