//! The protection of a stack, and how its connections can start.

use wirecost_proto::Buffer;
use wirecost_proto::bare::Transport;
use wirecost_security::{Start, dtls};

use super::{Application, Stack};

/// The UDP payload that every path of QUIC must carry, in bytes (RFC 9000, section 14).
const QUIC_DATAGRAM_BYTES: u16 = 1_200;

/// The protection of a stack's channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// None. HTTP/3 has TLS 1.3 of its own.
    #[default]
    Plain,
    /// TLS 1.3 (RFC 8446).
    Tls13,
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// DTLS 1.3 (RFC 9147).
    Dtls13,
    /// DTLS 1.2 (RFC 6347) with a server certificate.
    Dtls12,
    /// DTLS 1.2 with a pre-shared key (RFC 4279).
    Dtls12Psk,
    /// The same with connection IDs (RFC 9146).
    Dtls12Cid,
    /// OSCORE (RFC 8613).
    Oscore,
}

impl Channel {
    /// Every channel with its name after the `+`.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("tls1.3", Self::Tls13),
        ("tls1.2", Self::Tls12),
        ("dtls1.3", Self::Dtls13),
        ("dtls1.2", Self::Dtls12),
        ("dtls1.2-psk", Self::Dtls12Psk),
        ("dtls1.2-cid", Self::Dtls12Cid),
        ("oscore", Self::Oscore),
    ];

    /// Whether it is TLS on a stream.
    pub const fn is_tls(self) -> bool {
        matches!(self, Self::Tls13 | Self::Tls12)
    }

    /// Whether it is DTLS on datagrams.
    pub const fn is_dtls(self) -> bool {
        self.dtls_version().is_some()
    }

    /// The version of DTLS on datagrams.
    pub const fn dtls_version(self) -> Option<dtls::Version> {
        match self {
            Self::Dtls13 => Some(dtls::Version::Dtls13),
            Self::Dtls12 => Some(dtls::Version::Dtls12),
            Self::Dtls12Psk => Some(dtls::Version::Dtls12Psk),
            Self::Dtls12Cid => Some(dtls::Version::Dtls12Cid),
            Self::Plain | Self::Tls13 | Self::Tls12 | Self::Oscore => None,
        }
    }

    /// Whether it is DTLS with a pre-shared key, and so without certificates.
    pub const fn has_psk(self) -> bool {
        matches!(self, Self::Dtls12Psk | Self::Dtls12Cid)
    }
}

impl Application {
    /// Whether the application protocol can run over a channel.
    pub const fn can_run_over(self, channel: Channel) -> bool {
        let is_stream = matches!(self.transport(), Transport::Stream);
        let is_coap = matches!(self, Self::CoapNon | Self::CoapCon);
        match channel {
            Channel::Plain => true,
            // A server of PostgreSQL 15 or MariaDB wants messages of its own before TLS, which wirecost does not have.
            Channel::Tls13 | Channel::Tls12 => is_stream && !matches!(self, Self::Store(_)),
            Channel::Dtls13 | Channel::Dtls12 | Channel::Dtls12Psk | Channel::Dtls12Cid => {
                is_coap || matches!(self, Self::Udp | Self::MqttSn(_))
            }
            Channel::Oscore => is_coap,
        }
    }
}

impl Stack {
    /// Whether a handshake comes before protected application data.
    pub const fn has_handshake(self) -> bool {
        self.channel.is_tls() || self.channel.is_dtls() || matches!(self.application, Application::Http3)
    }

    /// Whether bytes that are sent again are encrypted again, so that they differ.
    pub const fn is_sealed(self) -> bool {
        self.has_handshake() || matches!(self.channel, Channel::Oscore)
    }

    /// Returns the function that describes datagrams that no endpoint described: the link lost them, and another program sent
    /// them.
    pub fn describer(self) -> fn(&[u8], &mut Buffer) {
        match (self.application, self.channel) {
            (Application::Http3, _) => wirecost_http::http3::describe,
            (_, channel) if channel.has_psk() => dtls::describe_psk,
            (_, channel) if channel.is_dtls() => dtls::describe,
            (Application::MqttSn(_), _) => wirecost_mqtt::sn::describe,
            _ => wirecost_coap::describe,
        }
    }

    /// Why connections of the stack cannot have a start; `None` where they can.
    pub fn cannot_start(self, start: Start) -> Option<String> {
        if start == Start::Cold {
            return None;
        }
        if start.is_edhoc() {
            let why = self.cannot_start_by_edhoc()?;
            return Some(format!("{self} cannot start {start}: {why}"));
        }
        if let Some(version) = self.channel.dtls_version() {
            let why = version.cannot_start(start)?;
            return Some(format!("{self} cannot start {start}: {why}"));
        }
        let why = match (self.application, self.channel, start) {
            (Application::Http3, ..) | (_, Channel::Tls13, _) | (_, Channel::Tls12, Start::Resumed) => {
                return None;
            }
            (_, Channel::Tls12, _) => "TLS 1.2 has no 0-RTT (RFC 8446, section 2.3)".to_owned(),
            (_, Channel::Oscore, _) => "OSCORE has no handshake that could be resumed".to_owned(),
            _ => format!("{self} has no handshake that could be resumed"),
        };
        Some(format!("{self} cannot start {start}: {why}"))
    }

    /// Why no handshake of EDHOC comes before its messages; `None` where one can.
    const fn cannot_start_by_edhoc(self) -> Option<&'static str> {
        match (self.channel, self.application) {
            (Channel::Oscore, Application::CoapCon) => None,
            (Channel::Oscore, _) => Some(
                "the first request carries message_3 (RFC 9668), and the loss of a request that nothing answers is not seen",
            ),
            _ => Some("EDHOC agrees on a context of OSCORE (RFC 9528), and the stack has none"),
        }
    }

    /// Why a path whose IP packets have at most `mtu` bytes cannot carry the stack; `None` where it can.
    pub fn cannot_cross(self, mtu: u16, ipv6: bool) -> Option<String> {
        let headers = if ipv6 { 48 } else { 28 };
        let needed = QUIC_DATAGRAM_BYTES + headers;
        let is_short = self.application == Application::Http3 && mtu < needed;
        is_short.then(|| {
            format!("{self} needs an MTU of {needed} B: QUIC must not be fragmented (RFC 9000, section 14), got {mtu} B")
        })
    }

    /// Whether the first message of a connection leaves before the connect is over: as early data of a 0-RTT start, where the
    /// protocol needs no answer before it, or behind the request of a pipelined connect. A sender of AMQP waits for credit.
    pub const fn has_early_message(self, start: Start, pipelined_connect: bool) -> bool {
        match self.application {
            Application::Tcp | Application::CoapTcp | Application::Http1 | Application::Http3 => {
                matches!(start, Start::ZeroRtt) && self.has_handshake()
            }
            Application::Mqtt311(_) | Application::Mqtt5(_) => pipelined_connect,
            Application::Udp
            | Application::MqttSn(_)
            | Application::CoapNon
            | Application::CoapCon
            | Application::AmqpSettled
            | Application::AmqpUnsettled
            | Application::Store(_) => false,
        }
    }

    /// Whether a client can send behind its request to connect: a pipelined connect changes what it does.
    pub const fn pipelines(self) -> bool {
        matches!(
            self.application,
            Application::Mqtt311(_)
                | Application::Mqtt5(_)
                | Application::AmqpSettled
                | Application::AmqpUnsettled
        )
    }

    /// Why a client cannot send behind its request to connect; `None` if it can, or has no such request.
    pub fn cannot_pipeline(self) -> Option<String> {
        match self.application {
            Application::MqttSn(_) => Some(format!(
                "{self} has no pipelined connect: an MQTT-SN client waits for CONNACK, then for the number of its topic (1.2, 6.2, 6.5)"
            )),
            Application::Store(_) => Some(format!(
                "{self} has no pipelined connect: a database asks for the login before anything else"
            )),
            Application::Tcp
            | Application::Udp
            | Application::Mqtt311(_)
            | Application::Mqtt5(_)
            | Application::CoapNon
            | Application::CoapCon
            | Application::CoapTcp
            | Application::AmqpSettled
            | Application::AmqpUnsettled
            | Application::Http1
            | Application::Http3 => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(name: &str) -> Stack {
        name.parse().expect("a stack")
    }

    #[test]
    fn a_start_that_a_stack_has_not_is_refused_with_the_reason() {
        for name in ["http3", "mqtt-qos1+tls1.3", "tcp+tls1.3"] {
            for start in Start::ALL.into_iter().filter(|start| !start.is_edhoc()) {
                assert_eq!(stack(name).cannot_start(start), None, "{name} {start}");
            }
        }
        for name in ["amqp-settled+tls1.2", "coap-con+dtls1.2-psk", "udp+dtls1.2-cid"] {
            assert_eq!(stack(name).cannot_start(Start::Resumed), None, "{name}");
        }
        let refused = [
            ("amqp-settled+tls1.2", Start::ZeroRtt, "TLS 1.2 has no 0-RTT"),
            ("coap-con+dtls1.3", Start::Resumed, "resum"),
            ("coap-con+dtls1.2-cid", Start::ZeroRtt, "DTLS 1.2 has no 0-RTT"),
            ("coap-con+oscore", Start::ZeroRtt, "no handshake"),
            ("udp", Start::Resumed, "no handshake"),
            ("coap-con+dtls1.3", Start::Edhoc, "the stack has none"),
            ("coap-con", Start::EdhocByValue, "the stack has none"),
            ("coap-non+oscore", Start::Edhoc, "nothing answers"),
        ];
        for start in [Start::Edhoc, Start::EdhocByValue] {
            assert_eq!(stack("coap-con+oscore").cannot_start(start), None);
        }
        for (name, start, reason) in refused {
            let why = stack(name).cannot_start(start).expect("refused");
            assert!(why.contains(reason), "{why}");
        }
    }

    #[test]
    fn a_message_is_early_where_no_answer_comes_before_it() {
        let early = |name: &str, start, pipelined| stack(name).has_early_message(start, pipelined);
        for name in ["http1+tls1.3", "http3"] {
            assert!(
                early(name, Start::ZeroRtt, false) && !early(name, Start::Cold, true),
                "{name}"
            );
        }
        for name in ["mqtt-qos1+tls1.3", "mqtt5-qos0"] {
            assert!(
                early(name, Start::Cold, true) && !early(name, Start::ZeroRtt, false),
                "{name}"
            );
        }
        for name in ["http1", "amqp-settled", "mqttsn-qos1", "udp"] {
            assert!(!early(name, Start::ZeroRtt, true), "{name}");
        }
    }

    #[test]
    fn a_connect_is_pipelined_where_the_protocol_allows_it() {
        for name in [
            "mqtt-qos0",
            "mqtt5-qos2+tls1.3",
            "amqp-settled",
            "coap-con",
            "http3",
            "tcp",
        ] {
            assert_eq!(stack(name).cannot_pipeline(), None, "{name}");
        }
        for name in ["mqttsn-qos1", "postgres"] {
            assert!(stack(name).cannot_pipeline().is_some(), "{name}");
        }
    }
}
