//! What the protocols' clients and their layers report, as events of a probe.

use wirecost_amqp::client as amqp;
use wirecost_amqp::codec::condition::OwnedCondition;
use wirecost_coap::client as coap;
use wirecost_coap::code::Code;
use wirecost_coap::option::{Format, OptionNumber, OptionValue};
use wirecost_http::client as http;
use wirecost_http::message::Status;
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_mqtt::sn::client as sn;
use wirecost_proto::{PeerText, bare};
use wirecost_security::layer;
use wirecost_store::client as store;

use super::event::{Fact, ProbeEvent, Refusal, RefusalKind, Trouble};

impl From<Trouble> for ProbeEvent {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<mqtt::Event> for ProbeEvent {
    fn from(event: mqtt::Event) -> Self {
        match event {
            mqtt::Event::Connected {
                session_present,
                server,
            } => ProbeEvent::Ready(connack(session_present, &server)),
            mqtt::Event::Rejected { reason } => Trouble::Rejected(server_reason("CONNACK", &reason)).into(),
            mqtt::Event::Disconnected { reason } => {
                Trouble::Rejected(server_reason("DISCONNECT", &reason)).into()
            }
            mqtt::Event::Acknowledged { reason, .. } if reason.is_failure() => {
                ProbeEvent::Refused(reason_code("PUBACK", reason))
            }
            mqtt::Event::Acknowledged { reason, .. } => {
                ProbeEvent::Answered(vec![Fact::new("message", named(reason))])
            }
            mqtt::Event::Refused { reason, .. } => ProbeEvent::Refused(reason_code("PUBLISH", reason)),
            mqtt::Event::Sent { .. } => ProbeEvent::Sent,
            mqtt::Event::Failed(error) => Trouble::Foreign(error.to_string()).into(),
            mqtt::Event::Closed => Trouble::Closed.into(),
            mqtt::Event::Reset(reason) => Trouble::Broken(reason).into(),
            mqtt::Event::MaySend
            | mqtt::Event::Unprocessed { .. }
            | mqtt::Event::Discarded { .. }
            | mqtt::Event::TimedOut(_)
            | mqtt::Event::MessageReceived(_)
            | mqtt::Event::DigestReceived(_)
            | mqtt::Event::Subscribed { .. }
            | mqtt::Event::Unsubscribed { .. }
            | mqtt::Event::Pong => ProbeEvent::Other,
        }
    }
}

fn connack(session_present: bool, server: &mqtt::ServerProperties) -> Vec<Fact> {
    let session = if session_present { "present" } else { "new" };
    let mut words = vec![format!("session {session}")];
    words.push(format!("receive maximum {}", server.receive_maximum));
    words.push(format!("maximum QoS {}", server.maximum_qos as u8));
    let optional = [
        (
            "maximum packet size",
            server.maximum_packet_size.map(u64::from),
            " B",
        ),
        ("keep-alive", server.keep_alive.map(u64::from), " s"),
        ("session expiry", server.session_expiry.map(u64::from), " s"),
    ];
    for (name, value, unit) in optional {
        words.extend(value.map(|value| format!("{name} {value}{unit}")));
    }
    if server.topic_alias_maximum > 0 {
        words.push(format!("topic alias maximum {}", server.topic_alias_maximum));
    }
    vec![Fact::new("CONNACK", words.join(", "))]
}

fn named(reason: ReasonCode) -> String {
    format!("{:#04x} {}", reason.code(), reason.name())
}

/// Why the server refused or ended the connection, as it says it.
fn server_reason(packet: &str, reason: &mqtt::ServerReason) -> Refusal {
    Refusal {
        reference: reason.shown_reference(),
        ..Refusal::new(kind_of(reason.code), format!("{packet} {reason}"))
    }
}

/// Why the server refused a message (MQTT 5, section 2.4).
fn reason_code(packet: &str, reason: ReasonCode) -> Refusal {
    Refusal::new(kind_of(reason), format!("{packet} {}", named(reason)))
}

fn kind_of(reason: ReasonCode) -> RefusalKind {
    match reason {
        ReasonCode::BadUserNameOrPassword
        | ReasonCode::NotAuthorized
        | ReasonCode::Banned
        | ReasonCode::BadAuthenticationMethod => RefusalKind::Authentication,
        ReasonCode::UnsupportedProtocolVersion => RefusalKind::Version,
        ReasonCode::UseAnotherServer | ReasonCode::ServerMoved => RefusalKind::Elsewhere,
        _ => RefusalKind::Other,
    }
}

impl From<sn::Event> for ProbeEvent {
    fn from(event: sn::Event) -> Self {
        match event {
            sn::Event::Connected => ProbeEvent::Ready(vec![Fact::new("CONNACK", "accepted")]),
            sn::Event::Rejected { by, code } => {
                let reason = format!("{} {code}", by.name());
                Trouble::Rejected(Refusal::new(RefusalKind::Other, reason)).into()
            }
            sn::Event::Sent { .. } => ProbeEvent::Sent,
            sn::Event::Acknowledged { .. } => ProbeEvent::Answered(vec![Fact::new("message", "accepted")]),
            sn::Event::Refused { code, .. } => ProbeEvent::Refused(Refusal::new(RefusalKind::Other, code)),
            sn::Event::Unsent { .. } => {
                let reason = "the message is longer than MQTT-SN can frame, 65,535 B";
                ProbeEvent::Refused(Refusal::new(RefusalKind::Other, reason))
            }
            sn::Event::TooLong(kind) => {
                let reason = format!("{} would be longer than 65,535 B", kind.name());
                Trouble::TooLong(reason).into()
            }
            // The next event says why the connection ended.
            sn::Event::Discarded { .. } => ProbeEvent::Other,
            sn::Event::TimedOut(_) => Trouble::GaveUp {
                transmissions: 1 + wirecost_mqtt::sn::RETRIES,
            }
            .into(),
            sn::Event::Disconnected | sn::Event::Closed => Trouble::Closed.into(),
            sn::Event::Reset(reason) => Trouble::Broken(reason).into(),
        }
    }
}

impl From<coap::Event> for ProbeEvent {
    fn from(event: coap::Event) -> Self {
        match event {
            coap::Event::Opened => ProbeEvent::Ready(Vec::new()),
            coap::Event::Response(response) if response.code.is_success() => {
                ProbeEvent::Answered(vec![Fact::new("message", coap_response(&response))])
            }
            coap::Event::Response(response) => {
                let kind = match response.code {
                    // 4.01 and 4.03 (RFC 7252, section 5.9.2).
                    code if [(4, 1), (4, 3)].contains(&(code.class_digit(), code.detail())) => {
                        RefusalKind::Authentication
                    }
                    _ => RefusalKind::Other,
                };
                ProbeEvent::Refused(Refusal::new(kind, coap_response(&response)))
            }
            coap::Event::TimedOut { transmissions, .. } => Trouble::GaveUp { transmissions }.into(),
            coap::Event::Reset { .. } => ProbeEvent::Refused(Refusal::new(RefusalKind::Other, "RST")),
            // The next event says why the flow ended.
            coap::Event::Failed {
                failure: coap::Failure::FlowEnded,
                ..
            } => ProbeEvent::Other,
            coap::Event::Failed { failure, .. } => Trouble::Foreign(failure.to_string()).into(),
            coap::Event::FlowReset(reason) => Trouble::Broken(reason).into(),
            coap::Event::Closed | coap::Event::PeerClosed => Trouble::Closed.into(),
            // RFC 8323, section 5.6.
            coap::Event::Aborted(reason) => {
                ProbeEvent::Refused(Refusal::new(RefusalKind::Other, format!("Abort {reason}")))
            }
            coap::Event::Faulted(fault) => Trouble::Foreign(fault.to_string()).into(),
            coap::Event::NotAgreed(failure) => Trouble::Foreign(failure.to_string()).into(),
            coap::Event::Sent { .. } => ProbeEvent::Sent,
            // RFC 7252, section 5.2.2.
            coap::Event::Acknowledged { .. } => {
                ProbeEvent::Ignored("an empty ACK, which says that the response comes later".to_owned())
            }
            coap::Event::Notification(_) | coap::Event::Pong { .. } => ProbeEvent::Other,
        }
    }
}

fn coap_response(response: &coap::Response) -> String {
    let options = response.options.view().iter().map(option);
    let mut words = vec![code(response.code)];
    words.extend(options);
    words.push(format!("{} B of payload", response.payload.len()));
    words.join(", ")
}

fn code(code: Code) -> String {
    format!("{code} {}", code.name().unwrap_or_default())
        .trim_end()
        .to_owned()
}

fn option(option: OptionValue<'_>) -> String {
    let OptionNumber(number) = option.number;
    let Some(definition) = option.number.definition() else {
        return format!("option {number} {}", hex(option.value));
    };
    let value = match definition.format {
        Format::String => option.text().map(|text| PeerText::new(text).to_string()),
        Format::Uint => option.uint().map(|value| value.to_string()),
        Format::Empty | Format::Opaque => None,
    };
    let value = value.unwrap_or_else(|| hex(option.value));
    format!("{} {value}", definition.name).trim_end().to_owned()
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl From<amqp::Event> for ProbeEvent {
    fn from(event: amqp::Event) -> Self {
        match event {
            amqp::Event::Opened => ProbeEvent::Ready(vec![Fact::new("AMQP", "link attached, with credit")]),
            amqp::Event::Sent { .. } => ProbeEvent::Sent,
            amqp::Event::Acknowledged { .. } => ProbeEvent::Answered(vec![Fact::new("message", "accepted")]),
            amqp::Event::Refused { reason, .. } => {
                ProbeEvent::Refused(Refusal::new(RefusalKind::Other, reason))
            }
            amqp::Event::Failed(failure) => amqp_failure(&failure),
            amqp::Event::Closed { error: None } => Trouble::Closed.into(),
            amqp::Event::Closed { error: Some(error) } => Trouble::Rejected(condition(&error)).into(),
            amqp::Event::Reset(reason) => Trouble::Broken(reason).into(),
            amqp::Event::Discarded { .. } => ProbeEvent::Other,
        }
    }
}

fn amqp_failure(failure: &amqp::Failure) -> ProbeEvent {
    match failure {
        // AMQP 1.0, section 5.3.3.6.
        amqp::Failure::Authentication(code) => Trouble::Rejected(Refusal::new(
            RefusalKind::Authentication,
            format!("SASL outcome {code}"),
        ))
        .into(),
        amqp::Failure::Mechanism(name) => Trouble::Rejected(Refusal::new(
            RefusalKind::Authentication,
            format!("SASL mechanism {name} is not offered"),
        ))
        .into(),
        amqp::Failure::Detached(Some(error)) | amqp::Failure::Ended(Some(error)) => {
            Trouble::Rejected(condition(error)).into()
        }
        amqp::Failure::FrameTooLarge(_) => Trouble::TooLong(failure.to_string()).into(),
        failure => Trouble::Foreign(failure.to_string()).into(),
    }
}

/// A refusal by an error condition (AMQP 1.0, section 2.8.15).
fn condition(error: &OwnedCondition) -> Refusal {
    let kind = match error.name.as_str() {
        "amqp:unauthorized-access" => RefusalKind::Authentication,
        _ => RefusalKind::Other,
    };
    Refusal::new(kind, error)
}

impl From<store::Event> for ProbeEvent {
    fn from(event: store::Event) -> Self {
        match event {
            store::Event::Opened => ProbeEvent::Ready(vec![Fact::new("statement", "prepared")]),
            store::Event::Sent { .. } => ProbeEvent::Sent,
            store::Event::Acknowledged { .. } => ProbeEvent::Answered(vec![Fact::new("message", "stored")]),
            store::Event::Refused { refusal, .. } => {
                ProbeEvent::Refused(Refusal::new(RefusalKind::Other, refusal))
            }
            store::Event::Failed(failure) => store_failure(failure).into(),
            store::Event::Closed => Trouble::Closed.into(),
            store::Event::Reset(reason) => Trouble::Broken(reason).into(),
            store::Event::Discarded { .. } => ProbeEvent::Other,
        }
    }
}

fn store_failure(failure: store::Failure) -> Trouble {
    let kind = match failure {
        store::Failure::Refused(_) | store::Failure::TooLong(_) => RefusalKind::Other,
        store::Failure::NoPassword | store::Failure::Method(_) | store::Failure::Scram(_) => {
            RefusalKind::Authentication
        }
        store::Failure::TimedOut(_) => return Trouble::TimedOut,
        store::Failure::Malformed(_) | store::Failure::OtherProtocol(_) => {
            return Trouble::Foreign(failure.to_string());
        }
    };
    Trouble::Rejected(Refusal::new(kind, failure))
}

impl From<http::Event> for ProbeEvent {
    fn from(event: http::Event) -> Self {
        match event {
            http::Event::Opened => ProbeEvent::Ready(Vec::new()),
            http::Event::Sent { .. } => ProbeEvent::Sent,
            http::Event::Response {
                status, body_bytes, ..
            } => response(status, body_bytes),
            http::Event::Failed { reason, .. } => match reason {
                http::Failure::Malformed(malformed) => Trouble::Foreign(malformed.to_string()).into(),
                http::Failure::Fault(_) | http::Failure::OurTransport(_) => {
                    Trouble::Foreign(reason.to_string()).into()
                }
                http::Failure::Code(_) | http::Failure::Transport(_) | http::Failure::NotProcessed => {
                    ProbeEvent::Refused(Refusal::new(RefusalKind::Other, reason))
                }
                http::Failure::Reset(reason) => Trouble::Broken(reason).into(),
                http::Failure::Closed | http::Failure::Abandoned | http::Failure::Unanswered => {
                    Trouble::Closed.into()
                }
            },
            http::Event::GoneAway => Trouble::Rejected(Refusal::new(
                RefusalKind::Other,
                "it takes no request on this connection (GOAWAY)",
            ))
            .into(),
            http::Event::TimedOut { .. } => ProbeEvent::Other,
            http::Event::Closed => Trouble::Closed.into(),
            http::Event::Reset(reason) => Trouble::Broken(reason).into(),
        }
    }
}

fn response(status: Status, body_bytes: u64) -> ProbeEvent {
    let status_line = status.to_string();
    let text = format!("{}, {body_bytes} B of content", status_line.trim_end());
    match status.code() {
        200..300 => ProbeEvent::Answered(vec![Fact::new("message", text)]),
        // RFC 9110, sections 15.5.2 and 15.5.4; a proxy's is 407.
        401 | 403 | 407 => ProbeEvent::Refused(Refusal::new(RefusalKind::Authentication, text)),
        _ => ProbeEvent::Refused(Refusal::new(RefusalKind::Other, text)),
    }
}

impl<E> From<layer::Event<E>> for ProbeEvent
where
    Self: From<E>,
{
    fn from(event: layer::Event<E>) -> Self {
        match event {
            layer::Event::Inner(event) => event.into(),
            layer::Event::Established { start, .. } => Self::Established {
                start,
                negotiated: None,
            },
            layer::Event::EarlyData { .. } => ProbeEvent::Other,
            layer::Event::Failed { fault, .. } => Trouble::Insecure(fault).into(),
        }
    }
}

impl From<bare::ClientEvent> for ProbeEvent {
    /// A bare client only fetches a certificate: its events have no meaning for a probe.
    fn from(_: bare::ClientEvent) -> Self {
        ProbeEvent::Other
    }
}
