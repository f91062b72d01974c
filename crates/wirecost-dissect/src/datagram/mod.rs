//! Protocols in datagrams.
//!
//! - [`coap`]: CoAP, with repetitions marked as retransmissions
//! - [`mqtt_sn`]: MQTT-SN, with repetitions marked as retransmissions
//! - [`dtls`]: DTLS records and the datagrams inside
//! - [`quic`]: QUIC packets, decrypted

mod coap;
mod dtls;
mod mqtt_sn;
mod quic;

use wirecost_cost::ledger::Describer;
use wirecost_proto::{Buffer, Cause, Direction, Layer, Phase};

use crate::handshakes::TlsHandshake;
use crate::sender::Sender;
use crate::span_list::{Purpose, SpanList};
use crate::stream::{Context, UNKNOWN, not_read};
use coap::Coap;
use dtls::Dtls;
use mqtt_sn::MqttSn;
use quic::Quic;

/// Ports whose datagrams are not recognized by their content.
const PORTS_ALONE: [u16; 7] = [9, 53, 67, 68, 123, 1883, 5353];

/// Who sends a datagram, if it tells, and the ports of its protocol's servers.
pub(crate) fn sender(ports: [u16; 2], bytes: &[u8]) -> (Option<Sender>, &'static [u16]) {
    if ports.iter().any(|port| PORTS_ALONE.contains(port)) {
        return (None, &[]);
    }
    if dtls::is_record(bytes) {
        return (dtls::sender(bytes), &[443, 4433, 5684, 8443, 8883, 10_009]);
    }
    if quic::version(bytes).is_some() {
        return (quic::sender(bytes), &[80, 443, 4433, 8443]);
    }
    if coap::looks_alike(bytes) {
        return (coap::sender(bytes), &[5683, 5684]);
    }
    (None, &[])
}

/// The protocol that a flow's datagrams carry.
#[derive(Debug)]
pub(crate) enum Datagrams {
    Bare,
    Coap(Box<Coap>),
    MqttSn(Box<MqttSn>),
    Dtls(Box<Dtls>),
    Quic(Box<Quic>),
    /// A secure channel whose inner protocol is not known yet.
    Undecided,
    Unknown(&'static str),
}

impl Datagrams {
    /// The protocol of a flow to `server_port` that starts with the datagram `bytes`.
    pub(crate) fn detect(server_port: u16, bytes: &[u8]) -> Self {
        match server_port {
            // Discard (RFC 863).
            9 => Self::Bare,
            // IANA has registered the port of MQTT for UDP too, and gateways of MQTT-SN use it.
            1883 => Self::MqttSn(Box::default()),
            5683 => Self::Coap(Box::default()),
            _ if dtls::is_record(bytes) => Self::Dtls(Box::new(Dtls::new(server_port))),
            53 | 5353 => Self::Unknown("DNS"),
            67 | 68 => Self::Unknown("DHCP"),
            123 => Self::Unknown("NTP"),
            _ => Self::by_content(bytes),
        }
    }

    fn by_content(bytes: &[u8]) -> Self {
        if let Some(version) = quic::version(bytes) {
            return Self::Quic(Box::new(Quic::new(version)));
        }
        if coap::looks_alike(bytes) {
            return Self::Coap(Box::default());
        }
        Self::Unknown("unknown")
    }

    /// The protocol inside a secure channel to `server_port`.
    fn inside(server_port: u16) -> Self {
        match server_port {
            8883 => Self::MqttSn(Box::default()),
            5684 => Self::Coap(Box::default()),
            // No port is registered for bare messages inside DTLS.
            10_009 => Self::Bare,
            _ => Self::Undecided,
        }
    }

    /// Describes a truncated datagram by its first bytes, if the protocol allows that.
    pub(crate) const fn describer(&self) -> Option<Describer> {
        match self {
            Self::Bare => Some(bare_datagram),
            Self::MqttSn(_) => Some(wirecost_mqtt::sn::describe),
            Self::Coap(_) => Some(wirecost_coap::describe),
            Self::Dtls(_) | Self::Quic(_) | Self::Undecided | Self::Unknown(_) => None,
        }
    }

    /// Describes a whole datagram.
    pub(crate) fn describe(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) {
        if matches!(self, Self::Undecided) {
            *self = Self::detect(0, bytes);
        }
        match self {
            Self::Bare if direction == Direction::Up => {
                out.push(bytes.len(), Layer::Payload, Purpose::MESSAGE);
            }
            Self::MqttSn(sn) => sn.describe(direction, bytes, out),
            Self::Coap(coap) => coap.describe(direction, bytes, out),
            Self::Dtls(dtls) => dtls.describe(direction, bytes, context, out),
            Self::Quic(quic) => quic.describe(direction, bytes, context.secrets, out),
            Self::Bare | Self::Undecided | Self::Unknown(_) => out.leave_out(bytes.len() as u64),
        }
    }

    /// What the handshake of DTLS or QUIC had, if there was one.
    pub(crate) fn handshake(&self) -> Option<TlsHandshake> {
        match self {
            Self::Dtls(dtls) => dtls.handshake(),
            Self::Quic(quic) => quic.handshake(),
            Self::Bare | Self::Coap(_) | Self::MqttSn(_) | Self::Undecided | Self::Unknown(_) => None,
        }
    }

    /// The protocol's name.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Bare => "bare".to_owned(),
            Self::MqttSn(_) => "MQTT-SN".to_owned(),
            Self::Coap(coap) => coap.label().to_owned(),
            Self::Dtls(dtls) => dtls.label(),
            Self::Quic(quic) => quic.label().to_owned(),
            Self::Undecided => "no data".to_owned(),
            Self::Unknown(name) => (*name).to_owned(),
        }
    }

    /// Why bytes were left out.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Bare => "a response to a bare message",
            Self::MqttSn(_) => "not an MQTT-SN message",
            Self::Coap(coap) => coap.reason(),
            Self::Dtls(dtls) => dtls.reason(),
            Self::Quic(quic) => quic.reason(),
            Self::Undecided => UNKNOWN,
            Self::Unknown(name) => not_read(name),
        }
    }
}

fn bare_datagram(bytes: &[u8], out: &mut Buffer) {
    out.cover(bytes.len(), Layer::Payload, Phase::Message, Cause::Original);
}
