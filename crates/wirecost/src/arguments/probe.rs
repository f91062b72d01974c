//! The arguments of `wirecost probe`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use wirecost_proto::ByteSize;
use wirecost_proto::units::parse_duration;
use wirecost_security::Start;
use wirecost_security::dtls::Psk;
use wirecost_security::provider::{Cipher, Groups};
use wirecost_stack::url::Url;

use super::login::LoginArguments;
use super::serve::parse_psk;

/// `wirecost probe`.
#[derive(Debug, Args)]
#[command(
    after_help = "URL is mqtt:// mqtts:// mqttsn:// mqttsns:// coap:// coaps:// coap+tcp:// coaps+tcp:// amqp:// amqps:// http:// https:// or h3://, with the topic, path or \
    address after the host. Packet headers are counted only with root or CAP_NET_RAW, which let wirecost see packets.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, 11 server unreachable, 12 TLS, authentication or protocol refused."
)]
pub struct ProbeArguments {
    /// URL of the server: mqtts://broker.example/topic
    #[arg(value_name = "URL")]
    pub url: Url,

    /// Payload size of the message
    #[arg(
        short,
        long,
        value_name = "SIZE",
        default_value = "128B",
        help_heading = "Message"
    )]
    pub size: ByteSize,

    /// QoS of MQTT; 0 also sends a settled AMQP message
    #[arg(long, value_name = "QOS", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2), help_heading = "Message")]
    pub qos: u8,

    /// Version of MQTT
    #[arg(long, value_enum, default_value_t = MqttVersion::V5, help_heading = "Message", hide_short_help = true)]
    pub mqtt: MqttVersion,

    /// Fetch the resource with GET, instead of sending with PUT (CoAP) or POST (HTTP)
    #[arg(long, help_heading = "Message")]
    pub get: bool,

    /// Version of TLS or DTLS [default: the newest that both sides support; DTLS 1.2]
    #[arg(long, value_enum, help_heading = "Security")]
    pub tls_version: Option<TlsVersion>,

    /// Groups of the key exchange of TLS and QUIC, the best first: x25519, p256, p384, x25519mlkem768, mlkem768, mlkem1024; the first
    /// one has the key share, and a server that lacks it asks for another [default: all that the library has]
    #[arg(
        long,
        value_name = "GROUP,...",
        help_heading = "Security",
        hide_short_help = true
    )]
    pub group: Option<Groups>,

    /// Cipher of the records of TLS and QUIC: aes128-gcm, aes256-gcm or chacha20-poly1305 [default: all that the library has]
    #[arg(long, value_name = "NAME", help_heading = "Security", hide_short_help = true)]
    pub cipher: Option<Cipher>,

    /// Write the certificates that the server sends to FILE, in PEM: --chain FILE of compare, choose and load takes their sizes
    #[arg(long, value_name = "FILE", help_heading = "Results", hide_short_help = true)]
    pub save_chain: Option<PathBuf>,

    /// File with the CA certificates to trust, or with the server's raw public key, in PEM [default: those of the system]
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    pub cacert: Option<PathBuf>,

    /// Certificate of the client in PEM, if the server requires one
    #[arg(
        long,
        value_name = "FILE",
        requires = "key",
        help_heading = "Security",
        hide_short_help = true
    )]
    pub cert: Option<PathBuf>,

    /// Private key of the client in PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "cert",
        help_heading = "Security",
        hide_short_help = true
    )]
    pub key: Option<PathBuf>,

    /// Accept any certificate of the server, for tests only
    #[arg(long, conflicts_with = "cacert", help_heading = "Security")]
    pub insecure: bool,

    /// Pre-shared key for coaps://; KEY is text, or hex after 0x; @FILE reads both from a file
    #[arg(long, value_name = "IDENTITY:KEY", value_parser = parse_psk, conflicts_with_all = ["cacert", "insecure", "tls_version", "cert"], help_heading = "Security")]
    pub psk: Option<Psk>,

    /// Ask for a connection ID (RFC 9146); the probe fails if the server grants none
    #[arg(long, requires = "psk", help_heading = "Security", hide_short_help = true)]
    pub connection_id: bool,

    #[command(flatten, next_help_heading = "Connection")]
    pub login: LoginArguments,

    /// MQTT client identifier and AMQP container id [default: four characters, other ones for each probe]
    #[arg(long, value_name = "ID", help_heading = "Message", hide_short_help = true)]
    pub client_id: Option<String>,

    /// Time limit of each step
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, help_heading = "Connection")]
    pub timeout: Duration,

    /// How the connection starts: cold, resumed or 0rtt. The last two open a first connection for the ticket, and with
    /// 0rtt you accept that the message can be replayed
    #[arg(
        long,
        value_name = "START",
        default_value = "cold",
        help_heading = "Connection"
    )]
    pub start: Start,

    /// Do not try resumption and early data after a cold connection on TLS, QUIC or DTLS with a key; each of them sends the message once more
    #[arg(long, help_heading = "Security", hide_short_help = true)]
    pub no_resumption: bool,

    /// Use IPv4 only
    #[arg(
        short = '4',
        long,
        conflicts_with = "ipv6",
        help_heading = "Connection",
        hide_short_help = true
    )]
    pub ipv4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long, help_heading = "Connection", hide_short_help = true)]
    pub ipv6: bool,

    /// Write the packets to FILE (pcapng), with the secrets that decrypt them
    #[arg(short, long, value_name = "FILE", help_heading = "Results")]
    pub out: Option<PathBuf>,

    /// Leave the secrets of the connection out of the capture, for a capture that you share
    #[arg(long, help_heading = "Results", hide_short_help = true)]
    pub no_keys: bool,

    /// Also write the report as JSON to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,
}

/// A version of MQTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MqttVersion {
    /// MQTT 3.1.1
    #[value(name = "3.1.1")]
    V311,
    /// MQTT 5
    #[value(name = "5")]
    V5,
}

/// A version of TLS or DTLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TlsVersion {
    /// 1.2
    #[value(name = "1.2")]
    V12,
    /// 1.3
    #[value(name = "1.3")]
    V13,
}
