//! The properties of stacks: transport, answers, limits, ports.

use std::time::Duration;

use wirecost_coap::parameters::TransmissionParameters;
use wirecost_mqtt::sn;
use wirecost_proto::bare::Transport;
use wirecost_security::Start;
use wirecost_store::Store;

use super::Channel;

/// A stack: the protocols of a device, from the application to the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stack {
    /// The application protocol with its reliability.
    pub application: Application,
    /// Whether the payload travels as a protected object (RFC 9052).
    pub object: bool,
    /// The protection of the channel.
    pub channel: Channel,
}

/// An application protocol with its reliability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Application {
    /// Bare payload on TCP behind a length prefix.
    Tcp,
    /// Bare payload in a UDP datagram.
    Udp,
    /// MQTT 3.1.1 at this QoS.
    Mqtt311(u8),
    /// MQTT 5 at this QoS.
    Mqtt5(u8),
    /// MQTT-SN 1.2 at this QoS, -1 to 2.
    MqttSn(i8),
    /// CoAP PUT, non-confirmable, no response wanted (RFC 7967).
    CoapNon,
    /// CoAP PUT, confirmable.
    CoapCon,
    /// CoAP PUT over TCP (RFC 8323).
    CoapTcp,
    /// AMQP 1.0, settled by the sender.
    AmqpSettled,
    /// AMQP 1.0, settled by the receiver.
    AmqpUnsettled,
    /// HTTP/1.1 POST.
    Http1,
    /// HTTP/3 POST.
    Http3,
    /// A row inserted into the table of a database.
    Store(Store),
}

/// An upper bound of the bytes that a protected object adds to a payload.
const OBJECT_ALLOWANCE: u64 = 1_024;

/// Payload above which CoAP goes block-wise, in bytes.
const COAP_BLOCK_BYTES: usize = 1_024;

/// Largest payload of a UDP datagram over IPv4: 65,535 less the IPv4 and UDP headers (RFC 768, RFC 791).
pub const UDP_PAYLOAD_LIMIT: u64 = 65_507;

/// The header of a large PUBLISH of MQTT-SN, in bytes.
const SN_HEADER_BYTES: u64 = sn::LARGEST_PUBLISH_HEADER_BYTES as u64;

impl Application {
    /// The transport of its flow.
    pub const fn transport(self) -> Transport {
        match self {
            Self::Tcp
            | Self::Mqtt311(_)
            | Self::Mqtt5(_)
            | Self::CoapTcp
            | Self::AmqpSettled
            | Self::AmqpUnsettled
            | Self::Http1
            | Self::Store(_) => Transport::Stream,
            Self::Udp | Self::MqttSn(_) | Self::CoapNon | Self::CoapCon | Self::Http3 => Transport::Datagram,
        }
    }

    /// The largest number of unanswered messages that the protocol allows.
    pub const fn most_in_flight(self) -> u32 {
        match self {
            // RFC 9112, section 9.3.2: requests that change something are not pipelined. RFC 7252, section 4.7: NSTART.
            // MQTT-SN 1.2, section 6.6: one message of QoS 1 or 2.
            Self::Http1 | Self::MqttSn(1..) | Self::CoapCon => 1,
            // MQTT 5, section 4.9: as many as there are packet identifiers, or fewer where the server says so.
            Self::Mqtt311(1..) | Self::Mqtt5(1..) => 65_535,
            // RFC 8323, section 3.3: tokens tell requests apart, and wirecost's have 2 B.
            Self::CoapTcp => 65_535,
            Self::Http3 => 100,
            // There are no answers, or the AMQP window limits the unanswered messages. A database takes any number of commands and
            // answers in their order.
            Self::Tcp
            | Self::Udp
            | Self::Mqtt311(0)
            | Self::Mqtt5(0)
            | Self::MqttSn(..=0)
            | Self::CoapNon
            | Self::AmqpSettled
            | Self::AmqpUnsettled
            | Self::Store(_) => u32::MAX,
        }
    }

    /// Whether all devices share what the server keeps: sessions and subscriptions, queues, or a table.
    pub const fn has_broker(self) -> bool {
        match self {
            Self::Mqtt311(_) | Self::Mqtt5(_) | Self::MqttSn(_) => true,
            Self::AmqpSettled | Self::AmqpUnsettled | Self::Store(_) => true,
            Self::Tcp
            | Self::Udp
            | Self::CoapNon
            | Self::CoapCon
            | Self::CoapTcp
            | Self::Http1
            | Self::Http3 => false,
        }
    }

    /// The QoS of a subscription to MQTT's messages of this stack; 0 of others.
    pub const fn subscription_qos(self) -> u8 {
        match self {
            Self::Mqtt311(qos) | Self::Mqtt5(qos) => qos,
            Self::Tcp
            | Self::Udp
            | Self::MqttSn(_)
            | Self::CoapNon
            | Self::CoapCon
            | Self::CoapTcp
            | Self::AmqpSettled
            | Self::AmqpUnsettled
            | Self::Http1
            | Self::Http3
            | Self::Store(_) => 0,
        }
    }

    /// How long a message id of CoAP stays taken (RFC 7252, section 4.8.2); of others that of a confirmable message.
    pub fn message_id_lifetime(self, parameters: &TransmissionParameters) -> Duration {
        match self {
            Self::CoapNon => parameters.non_lifetime(),
            Self::CoapCon
            | Self::CoapTcp
            | Self::Tcp
            | Self::Udp
            | Self::Mqtt311(_)
            | Self::Mqtt5(_)
            | Self::MqttSn(_)
            | Self::AmqpSettled
            | Self::AmqpUnsettled
            | Self::Http1
            | Self::Http3
            | Self::Store(_) => parameters.exchange_lifetime(),
        }
    }
}

impl Stack {
    /// An application protocol without protection.
    pub const fn plain(application: Application) -> Self {
        Self {
            application,
            object: false,
            channel: Channel::Plain,
        }
    }

    /// The transport of the stack's flow.
    pub const fn transport(self) -> Transport {
        self.application.transport()
    }

    /// Whether it speaks MQTT.
    pub const fn is_mqtt(self) -> bool {
        matches!(self.application, Application::Mqtt311(_) | Application::Mqtt5(_))
    }

    /// Whether it speaks MQTT-SN.
    pub const fn is_mqtt_sn(self) -> bool {
        matches!(self.application, Application::MqttSn(_))
    }

    /// Whether its messages are PUBLISH messages to a topic: those of MQTT and of MQTT-SN.
    pub const fn publishes(self) -> bool {
        self.is_mqtt() || self.is_mqtt_sn()
    }

    /// Whether it speaks CoAP.
    pub const fn is_coap(self) -> bool {
        matches!(
            self.application,
            Application::CoapNon | Application::CoapCon | Application::CoapTcp
        )
    }

    /// Whether it speaks AMQP.
    pub const fn is_amqp(self) -> bool {
        matches!(
            self.application,
            Application::AmqpSettled | Application::AmqpUnsettled
        )
    }

    /// Whether it speaks HTTP.
    pub const fn is_http(self) -> bool {
        matches!(self.application, Application::Http1 | Application::Http3)
    }

    /// The kind of database that it inserts into.
    pub const fn store(self) -> Option<Store> {
        match self.application {
            Application::Store(store) => Some(store),
            Application::Tcp
            | Application::Udp
            | Application::Mqtt311(_)
            | Application::Mqtt5(_)
            | Application::MqttSn(_)
            | Application::CoapNon
            | Application::CoapCon
            | Application::CoapTcp
            | Application::AmqpSettled
            | Application::AmqpUnsettled
            | Application::Http1
            | Application::Http3 => None,
        }
    }

    /// Whether its clients have a user name and a password: those of MQTT, AMQP and databases.
    pub const fn has_login(self) -> bool {
        self.is_mqtt() || self.is_amqp() || self.store().is_some()
    }

    /// Whether anything answers a message.
    pub const fn is_answered(self) -> bool {
        matches!(
            self.application,
            Application::Mqtt311(1..)
                | Application::Mqtt5(1..)
                | Application::MqttSn(1..)
                | Application::CoapCon
                | Application::CoapTcp
                | Application::AmqpUnsettled
                | Application::Http1
                | Application::Http3
                | Application::Store(_)
        )
    }

    /// Whether a device learns that a message of `payload_bytes` has ended: from its answer, or from the answers to the blocks of a
    /// non-confirmable body (RFC 7959, section 2.9.1).
    pub const fn awaits_answer(self, payload_bytes: usize) -> bool {
        let is_body = matches!(self.application, Application::CoapNon) && payload_bytes > COAP_BLOCK_BYTES;
        self.is_answered() || is_body
    }

    /// Whether a message of `payload_bytes` on a connection that is there, or without one, is a single packet of CoAP, UDP or MQTT-SN, with
    /// one packet at most that answers it.
    pub const fn is_one_exchange(self, payload_bytes: usize) -> bool {
        let is_coap = matches!(self.application, Application::CoapNon | Application::CoapCon);
        let is_datagram = matches!(self.application, Application::Udp | Application::MqttSn(..=1));
        is_datagram || (is_coap && payload_bytes <= COAP_BLOCK_BYTES)
    }

    /// Whether the client must connect before it may send, where its connections have this start.
    pub const fn has_connect(self, start: Start) -> bool {
        let greets = matches!(self.application, Application::MqttSn(0..)) || start.is_edhoc();
        matches!(self.transport(), Transport::Stream) || greets || self.has_handshake()
    }

    /// Whether its server knows a device by its UDP port alone, so that a session ends where the port changes on the way: a session of
    /// DTLS without connection ID (RFC 9146 section 1), and one with a gateway of MQTT-SN. A request of CoAP has no session, and
    /// OSCORE's context is found by its key ID (RFC 8613 section 8.2).
    pub const fn is_known_by_port(self) -> bool {
        match self.channel {
            Channel::Dtls13 | Channel::Dtls12 | Channel::Dtls12Psk => true,
            // A connection of QUIC has an ID too (RFC 9000 section 9).
            Channel::Plain => matches!(self.application, Application::MqttSn(0..)),
            Channel::Tls13 | Channel::Tls12 | Channel::Dtls12Cid | Channel::Oscore => false,
        }
    }

    /// After which time without a request the reference server ends a connection; `None`: never.
    pub fn server_idle_timeout(self) -> Option<Duration> {
        match self.application {
            Application::Http1 => Some(wirecost_http::http1::ServerConfig::default().idle_timeout),
            Application::Http3 => Some(wirecost_http::http3::Transport::default().idle_timeout),
            Application::Tcp
            | Application::Udp
            | Application::Mqtt311(_)
            | Application::Mqtt5(_)
            | Application::MqttSn(_)
            | Application::CoapNon
            | Application::CoapCon
            | Application::CoapTcp
            | Application::AmqpSettled
            | Application::AmqpUnsettled
            | Application::Store(_) => None,
        }
    }

    /// How long the application protocol repeats its own messages before it gives up to connect; zero where it repeats none.
    /// MQTT-SN repeats CONNECT and REGISTER, CoAP the request with message_1 of EDHOC.
    pub fn connect_retry_time(self, start: Start) -> Duration {
        match self.application {
            Application::CoapNon | Application::CoapCon if start.is_edhoc() => {
                TransmissionParameters::default().max_transmit_wait()
            }
            Application::MqttSn(0..) => sn::RETRY_TIME * (sn::RETRIES + 1) * 2,
            Application::Tcp
            | Application::Udp
            | Application::Mqtt311(_)
            | Application::Mqtt5(_)
            | Application::MqttSn(_)
            | Application::CoapNon
            | Application::CoapCon
            | Application::CoapTcp
            | Application::AmqpSettled
            | Application::AmqpUnsettled
            | Application::Http1
            | Application::Http3
            | Application::Store(_) => Duration::ZERO,
        }
    }

    /// The event that ends the response time of a message.
    pub const fn response_kind(self) -> &'static str {
        if self.is_answered() {
            "to_ack"
        } else {
            "to_arrival"
        }
    }

    /// Why a payload of this many bytes cannot be sent; `None` where it can.
    pub fn refuses(self, payload_bytes: u64) -> Option<String> {
        let (limit, why) = match self.application {
            Application::Udp if self.channel.is_dtls() => (
                wirecost_security::dtls::MAX_PLAINTEXT_BYTES as u64,
                "the most that a DTLS record carries in a datagram",
            ),
            Application::Udp => (UDP_PAYLOAD_LIMIT, "the most that a UDP datagram carries"),
            Application::MqttSn(_) if self.channel.is_dtls() => (
                wirecost_security::dtls::MAX_PLAINTEXT_BYTES as u64 - SN_HEADER_BYTES,
                "the most that a PUBLISH in a DTLS record carries",
            ),
            Application::MqttSn(_) => (
                UDP_PAYLOAD_LIMIT - SN_HEADER_BYTES,
                "the most that a PUBLISH in a UDP datagram carries",
            ),
            // A remaining length of 268,435,455 less topic and properties (MQTT 3.1.1, section 2.2.3).
            Application::Mqtt311(_) | Application::Mqtt5(_) => {
                (268_000_000, "about the most that a PUBLISH carries")
            }
            // 2^20 blocks (RFC 7959, section 2.2).
            Application::CoapNon | Application::CoapCon | Application::CoapTcp => {
                (1_073_741_824, "2^20 blocks of 1,024 B")
            }
            Application::Tcp => (u64::from(u32::MAX), "the most that the length prefix can say"),
            Application::AmqpSettled
            | Application::AmqpUnsettled
            | Application::Http1
            | Application::Http3
            | Application::Store(Store::Postgres) => (1_000_000_000, "the most that wirecost sends"),
            // maxBsonObjectSize, less the other fields.
            Application::Store(Store::Mongodb) => (16_000_000, "about the most that a document has"),
            // max_allowed_packet, less the other fields.
            Application::Store(Store::Mariadb) => (
                16_000_000,
                "about the most that a server takes by default (max_allowed_packet)",
            ),
        };
        let limit = limit.saturating_sub(if self.object { OBJECT_ALLOWANCE } else { 0 });
        (payload_bytes > limit).then(|| format!("{payload_bytes} B are more than {limit} B, {why}"))
    }

    /// The port of the stack's server.
    pub const fn port(self) -> u16 {
        let secured = self.channel.is_tls() || self.channel.is_dtls();
        match (self.application, secured) {
            // The discard service accepts everything and sends nothing (RFC 863).
            (Application::Tcp | Application::Udp, false) => 9,
            // No port is registered for bare payloads in TLS or DTLS.
            (Application::Tcp | Application::Udp, true) => 10_009,
            (Application::Mqtt311(_) | Application::Mqtt5(_), false) => 1883,
            (Application::Mqtt311(_) | Application::Mqtt5(_), true) => 8883,
            // IANA has registered the ports of MQTT for UDP too.
            (Application::MqttSn(_), false) => 1883,
            (Application::MqttSn(_), true) => 8883,
            (Application::CoapNon | Application::CoapCon | Application::CoapTcp, false) => 5683,
            (Application::CoapNon | Application::CoapCon | Application::CoapTcp, true) => 5684,
            (Application::AmqpSettled | Application::AmqpUnsettled, false) => 5672,
            (Application::AmqpSettled | Application::AmqpUnsettled, true) => 5671,
            (Application::Http1, false) => 80,
            (Application::Http1, true) | (Application::Http3, _) => 443,
            (Application::Store(store), _) => store.port(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_non_confirmable_body_is_over_when_its_last_block_is_answered() {
        let coap: Stack = "coap-non".parse().expect("a stack");
        assert!(!coap.awaits_answer(1_024) && coap.awaits_answer(1_025));
        assert_eq!(coap.response_kind(), "to_arrival");
    }

    #[test]
    fn mqtt_sn_has_a_connect_and_an_answer_by_its_quality() {
        for (name, connects, answers) in [
            ("mqttsn-qos-1", false, false),
            ("mqttsn-qos0", true, false),
            ("mqttsn-qos1", true, true),
            ("mqttsn-qos2", true, true),
        ] {
            let stack: Stack = name.parse().expect("a stack");
            assert_eq!(
                (stack.has_connect(Start::Cold), stack.is_answered()),
                (connects, answers),
                "{name}"
            );
        }
    }

    #[test]
    fn a_datagram_holds_no_more_than_65507_bytes() {
        let udp: Stack = "udp".parse().expect("a stack");
        assert_eq!(udp.refuses(65_507), None);
        assert!(udp.refuses(65_508).is_some_and(|why| why.contains("65507")));
    }
}
