//! What the protocols' clients and their layers report, as events of a probe.

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_coap::code::Code;
use wirecost_coap::option::{Format, OptionNumber, OptionValue};
use wirecost_http::client as http;
use wirecost_http::message::Status;
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_proto::{PeerText, bare};
use wirecost_security::layer;

use super::event::{Fact, ProbeEvent, ProtocolEvent, Refusal, RefusalKind};

impl From<mqtt::Event> for ProbeEvent {
    fn from(event: mqtt::Event) -> Self {
        Self::ProtocolEvent(match event {
            mqtt::Event::Connected {
                session_present,
                server,
            } => ProtocolEvent::Ready(connack(session_present, &server)),
            mqtt::Event::Refused { reason } => ProtocolEvent::Rejected(reason_code("CONNACK", reason)),
            mqtt::Event::Disconnected { reason } => {
                ProtocolEvent::Rejected(reason_code("DISCONNECT", reason))
            }
            mqtt::Event::Acknowledged { reason, .. } if reason.is_failure() => {
                ProtocolEvent::Refused(reason_code("PUBACK", reason))
            }
            mqtt::Event::Acknowledged { reason, .. } => {
                ProtocolEvent::Answered(vec![Fact::new("message", named(reason))])
            }
            mqtt::Event::Rejected { reason, .. } => ProtocolEvent::Refused(reason_code("PUBLISH", reason)),
            mqtt::Event::Sent { .. } => ProtocolEvent::Sent,
            mqtt::Event::Failed(error) => ProtocolEvent::Foreign(error.to_string()),
            mqtt::Event::Closed => ProtocolEvent::Closed,
            mqtt::Event::Reset(reason) => ProtocolEvent::Broken(reason),
            mqtt::Event::Discarded { .. }
            | mqtt::Event::TimedOut(_)
            | mqtt::Event::MessageReceived(_)
            | mqtt::Event::DigestReceived(_)
            | mqtt::Event::Subscribed { .. }
            | mqtt::Event::Unsubscribed { .. }
            | mqtt::Event::Pong => ProtocolEvent::Other,
        })
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

/// MQTT 5, section 2.4; the codes of 3.1.1 are read as their counterparts.
fn reason_code(packet: &str, reason: ReasonCode) -> Refusal {
    let kind = match reason {
        ReasonCode::BadUserNameOrPassword
        | ReasonCode::NotAuthorized
        | ReasonCode::Banned
        | ReasonCode::BadAuthenticationMethod => RefusalKind::Authentication,
        ReasonCode::UnsupportedProtocolVersion => RefusalKind::Version,
        _ => RefusalKind::Other,
    };
    Refusal::new(kind, format!("{packet} {}", named(reason)))
}

impl From<coap::Event> for ProbeEvent {
    fn from(event: coap::Event) -> Self {
        Self::ProtocolEvent(match event {
            coap::Event::Opened => ProtocolEvent::Ready(Vec::new()),
            coap::Event::Response(response) if response.code.is_success() => {
                ProtocolEvent::Answered(vec![Fact::new("message", coap_response(&response))])
            }
            coap::Event::Response(response) => {
                let kind = match response.code {
                    // 4.01 and 4.03 (RFC 7252, section 5.9.2).
                    code if [(4, 1), (4, 3)].contains(&(code.class_digit(), code.detail())) => {
                        RefusalKind::Authentication
                    }
                    _ => RefusalKind::Other,
                };
                ProtocolEvent::Refused(Refusal::new(kind, coap_response(&response)))
            }
            coap::Event::TimedOut { transmissions, .. } => ProtocolEvent::GaveUp { transmissions },
            coap::Event::Reset { .. } => ProtocolEvent::Refused(Refusal::new(RefusalKind::Other, "RST")),
            // Why it ended is said next.
            coap::Event::Failed {
                failure: coap::Failure::FlowEnded,
                ..
            } => ProtocolEvent::Other,
            coap::Event::Failed { failure, .. } => ProtocolEvent::Foreign(failure.to_string()),
            coap::Event::FlowReset(reason) => ProtocolEvent::Broken(reason),
            coap::Event::Closed => ProtocolEvent::Closed,
            coap::Event::Sent { .. } => ProtocolEvent::Sent,
            // RFC 7252, section 5.2.2.
            coap::Event::Acknowledged { .. } => {
                ProtocolEvent::Ignored("an empty ACK, which says that the response comes later".to_owned())
            }
            coap::Event::Notification(_) | coap::Event::Pong { .. } => ProtocolEvent::Other,
        })
    }
}

fn coap_response(response: &coap::Response) -> String {
    let options = response.options.view().into_iter().map(option);
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
        Self::ProtocolEvent(match event {
            amqp::Event::Opened => {
                ProtocolEvent::Ready(vec![Fact::new("AMQP", "link attached, with credit")])
            }
            amqp::Event::Sent { .. } => ProtocolEvent::Sent,
            amqp::Event::Acknowledged { .. } => {
                ProtocolEvent::Answered(vec![Fact::new("message", "accepted")])
            }
            amqp::Event::Refused { reason, .. } => {
                ProtocolEvent::Refused(Refusal::new(RefusalKind::Other, reason))
            }
            amqp::Event::Failed(failure) => amqp_failure(&failure),
            amqp::Event::Closed { error: None } => ProtocolEvent::Closed,
            amqp::Event::Closed { error: Some(error) } => {
                ProtocolEvent::Rejected(condition(&error.to_string()))
            }
            amqp::Event::Reset(reason) => ProtocolEvent::Broken(reason),
            amqp::Event::Discarded { .. } => ProtocolEvent::Other,
        })
    }
}

fn amqp_failure(failure: &amqp::Failure) -> ProtocolEvent {
    match failure {
        // AMQP 1.0, section 5.3.3.6.
        amqp::Failure::Authentication(code) => ProtocolEvent::Rejected(Refusal::new(
            RefusalKind::Authentication,
            format!("SASL outcome {code}"),
        )),
        amqp::Failure::Mechanism(name) => ProtocolEvent::Rejected(Refusal::new(
            RefusalKind::Authentication,
            format!("SASL mechanism {name} is not offered"),
        )),
        amqp::Failure::Detached(Some(error)) | amqp::Failure::Ended(Some(error)) => {
            ProtocolEvent::Rejected(condition(&error.to_string()))
        }
        failure => ProtocolEvent::Foreign(failure.to_string()),
    }
}

/// A no by an error condition (AMQP 1.0, section 2.8.15).
fn condition(text: &str) -> Refusal {
    let kind = if text.contains("unauthorized-access") {
        RefusalKind::Authentication
    } else {
        RefusalKind::Other
    };
    Refusal::new(kind, text)
}

impl From<http::Event> for ProbeEvent {
    fn from(event: http::Event) -> Self {
        Self::ProtocolEvent(match event {
            http::Event::Opened => ProtocolEvent::Ready(Vec::new()),
            http::Event::Sent { .. } => ProtocolEvent::Sent,
            http::Event::Response {
                status, body_bytes, ..
            } => response(status, body_bytes),
            http::Event::Failed { reason, .. } => match reason {
                http::Failure::Malformed(malformed) => ProtocolEvent::Foreign(malformed.to_string()),
                http::Failure::Fault(_) | http::Failure::OurTransport(_) => {
                    ProtocolEvent::Foreign(reason.to_string())
                }
                http::Failure::Code(_) | http::Failure::Transport(_) | http::Failure::NotProcessed => {
                    ProtocolEvent::Refused(Refusal::new(RefusalKind::Other, reason))
                }
                http::Failure::Reset(reason) => ProtocolEvent::Broken(reason),
                http::Failure::Closed | http::Failure::Abandoned => ProtocolEvent::Closed,
            },
            http::Event::GoneAway => ProtocolEvent::Rejected(Refusal::new(
                RefusalKind::Other,
                "it takes no request on this connection (GOAWAY)",
            )),
            http::Event::TimedOut { .. } => ProtocolEvent::Other,
            http::Event::Closed => ProtocolEvent::Closed,
            http::Event::Reset(reason) => ProtocolEvent::Broken(reason),
        })
    }
}

fn response(status: Status, body_bytes: u64) -> ProtocolEvent {
    let status_line = status.to_string();
    let text = format!("{}, {body_bytes} B of content", status_line.trim_end());
    match status.code() {
        200..300 => ProtocolEvent::Answered(vec![Fact::new("message", text)]),
        // RFC 9110, sections 15.5.2 and 15.5.4; a proxy's is 407.
        401 | 403 | 407 => ProtocolEvent::Refused(Refusal::new(RefusalKind::Authentication, text)),
        _ => ProtocolEvent::Refused(Refusal::new(RefusalKind::Other, text)),
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
            layer::Event::EarlyData { .. } => Self::ProtocolEvent(ProtocolEvent::Other),
            layer::Event::Failed { fault, .. } => Self::Insecure(fault),
        }
    }
}

impl From<bare::ClientEvent> for ProbeEvent {
    /// A bare client only looks at a certificate: what it reports says nothing.
    fn from(_: bare::ClientEvent) -> Self {
        Self::ProtocolEvent(ProtocolEvent::Other)
    }
}
