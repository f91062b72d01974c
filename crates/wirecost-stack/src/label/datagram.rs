//! Names datagrams: messages of MQTT-SN and CoAP, records of DTLS, packets of QUIC.

use wirecost_coap::edhoc;
use wirecost_coap::message::{Repr, View};
use wirecost_coap::option::OptionNumber;
use wirecost_http::http3::quic::packet::{self, Packet, Type};
use wirecost_mqtt::sn::codec::Message;
use wirecost_proto::{Cause, Layer, Phase};
use wirecost_security::dtls::record::{self, Form, Record, content};

use super::{Content, handshake, push_new};
use crate::{Application, Stack};

/// The name of a datagram of a stack.
pub(super) fn name(stack: Stack, content: &Content<'_>) -> String {
    if stack.channel.is_dtls() {
        return records(content);
    }
    match stack.application {
        Application::CoapNon | Application::CoapCon => coap(content.bytes).unwrap_or_else(|| "UDP".into()),
        Application::MqttSn(_) => mqtt_sn(content.bytes).unwrap_or_else(|| "UDP".into()),
        Application::Http3 => quic(content),
        Application::Tcp
        | Application::Udp
        | Application::Mqtt311(_)
        | Application::Mqtt5(_)
        | Application::CoapTcp
        | Application::AmqpSettled
        | Application::AmqpUnsettled
        | Application::Http1
        | Application::Store(_) => "message".into(),
    }
}

/// The type of the message.
fn mqtt_sn(bytes: &[u8]) -> Option<String> {
    let message = Message::parse(bytes).ok()?;
    Some(message.kind().name().to_owned())
}

/// Type and code, and the message of EDHOC in it. A message with OSCORE has its outer code (RFC 8613 section 4.2).
fn coap(bytes: &[u8]) -> Option<String> {
    let view = View::new(bytes);
    let (kind, code) = (view.kind()?, view.code()?);
    let name = code.name().filter(|_| code.is_request());
    let name = name.map_or(code.to_string(), str::to_owned);
    let message = Repr::parse(bytes).ok();
    let is_protected = |message: &Repr<'_>| message.options.first(OptionNumber::OSCORE).is_some();
    let oscore = if message.as_ref().is_some_and(is_protected) {
        " OSCORE"
    } else {
        ""
    };
    let edhoc = message.as_ref().and_then(edhoc::message_name);
    let edhoc = edhoc.map_or(String::new(), |(name, bytes)| format!(" {name} {bytes} B"));
    Some(format!("{} {name}{oscore}{edhoc}", kind.name()))
}

fn records(content: &Content<'_>) -> String {
    let mut names = Vec::new();
    let mut at = 0;
    for record in record::records(content.bytes) {
        let end = at + record.bytes.len();
        push_new(&mut names, record_name(&record, content, at..end));
        at = end;
    }
    names.join(", ")
}

fn record_name(record: &Record<'_>, content: &Content<'_>, range: std::ops::Range<usize>) -> String {
    let data = || format!("DTLS data {} B", record.bytes.len());
    let is_ack = || {
        content
            .spans_of(range.clone())
            .any(|span| span.cause == Cause::Acknowledgement)
    };
    let is_handshake = || {
        content
            .spans_of(range.clone())
            .any(|span| span.phase == Phase::Connect)
    };
    let name = match record.form {
        Form::Plaintext { content } => plaintext_name(content, record.handshake_type()),
        Form::Protected12 {
            content: content::APPLICATION_DATA,
        } => return data(),
        Form::Protected12 {
            content: content::HANDSHAKE,
        } => handshake::FINISHED,
        Form::Protected12 { .. } => "alert",
        // The type is encrypted (RFC 9146 section 4): the endpoints know what is in it.
        Form::ConnectionId if is_handshake() => handshake::FINISHED,
        Form::ConnectionId if content.has_data(range.clone()) => return data(),
        Form::ConnectionId => "alert",
        Form::Protected13 { .. } if content.has_data(range.clone()) => return data(),
        // Records of the handshake have epoch 2, later records a higher one (RFC 9147 section 6.1).
        Form::Protected13 { epoch: 2 } => handshake::ENCRYPTED,
        Form::Protected13 { .. } if is_ack() => "ACK (encrypted)",
        Form::Protected13 { .. } => "DTLS record",
        Form::Unknown => "no record",
    };
    name.to_owned()
}

fn plaintext_name(content: u8, handshake_type: Option<u8>) -> &'static str {
    match content {
        content::CHANGE_CIPHER_SPEC => handshake::CHANGE_CIPHER_SPEC,
        content::ALERT => "alert",
        content::ACK => "ACK",
        _ => handshake_type
            .and_then(handshake::name)
            .unwrap_or(handshake::ENCRYPTED),
    }
}

/// The packets of a datagram (RFC 9000 section 12.2), joined by `+`.
fn quic(content: &Content<'_>) -> String {
    let packets = packet::split(content.bytes, packet::CONNECTION_ID_BYTES);
    let names: Vec<String> = packets.map(|packet| packet_name(&packet, content)).collect();
    names.join("+")
}

fn packet_name(packet: &Packet, content: &Content<'_>) -> String {
    let kind = match packet.kind {
        Type::Initial => "Initial",
        Type::ZeroRtt => "0-RTT",
        Type::Handshake => "Handshake",
        Type::Retry => return "Retry".into(),
        Type::VersionNegotiation => return "Version Negotiation".into(),
        Type::OneRtt => "1-RTT",
    };
    let spans = || content.spans_of(packet.range.clone());
    let has_crypto = spans().any(|span| span.layer == Layer::Security);
    let is_one_rtt = packet.kind == Type::OneRtt;
    let carried = [
        // The only handshake message of a finished handshake that QUIC allows (RFC 9001 sections 4.1.3 and 6).
        (has_crypto && is_one_rtt, " ticket"),
        (content.has_data(packet.range.clone()), " data"),
        (
            spans().all(|span| span.layer == Layer::Transport)
                && spans().any(|span| span.cause == Cause::Acknowledgement),
            " ACK",
        ),
    ];
    let carried = carried.iter().filter(|(holds, _)| *holds);
    kind.to_owned() + &carried.map(|(_, name)| *name).collect::<String>()
}
