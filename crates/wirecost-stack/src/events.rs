//! What a device's client reports, in one form for every stack.

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_coap::edhoc;
use wirecost_http::client as http;
use wirecost_http::resource::Page;
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::sn::client as sn;
use wirecost_proto::bare;
use wirecost_security::layer;
use wirecost_store::client as store;

use super::{Arrival, Event, Polled, Stamp};

/// The number under which a CoAP client observes, and an HTTP client polls. No message has it.
pub(super) const SUBSCRIPTION: u64 = u64::MAX;

/// An event that can be made of the events of every protocol's client, and of the layers around it.
pub trait ClientEvent:
    From<bare::ClientEvent>
    + From<mqtt::Event>
    + From<sn::Event>
    + From<coap::Event>
    + From<amqp::Event>
    + From<http::Event>
    + From<store::Event>
    + From<layer::Event<http::Event>>
    + From<layer::Event<Self>>
{
}

impl<T> ClientEvent for T where
    T: From<bare::ClientEvent>
        + From<mqtt::Event>
        + From<sn::Event>
        + From<coap::Event>
        + From<amqp::Event>
        + From<http::Event>
        + From<store::Event>
        + From<layer::Event<http::Event>>
        + From<layer::Event<T>>
{
}

impl<E> From<layer::Event<E>> for Event
where
    Self: From<E>,
{
    fn from(event: layer::Event<E>) -> Self {
        match event {
            layer::Event::Inner(event) => event.into(),
            layer::Event::Established { start, .. } => Event::Established { start },
            layer::Event::EarlyData { .. } => Event::Other,
            layer::Event::Failed {
                fault: layer::Fault::Start { granted, .. },
                ..
            } => Event::Established { start: granted },
            layer::Event::Failed { fault, .. } => match fault {
                layer::Fault::TimedOut { .. } | layer::Fault::Other(_) => Event::lost(fault),
                layer::Fault::Certificate(_)
                | layer::Fault::Alert(_)
                | layer::Fault::Protocol { .. }
                | layer::Fault::Start { .. }
                | layer::Fault::CutOff(_) => Event::rejected(fault),
            },
        }
    }
}

impl Event {
    fn lost(reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::Lost { reason }
    }

    fn rejected(reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::Rejected { reason }
    }

    fn refused(message: u64, reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::Refused { message, reason }
    }

    fn subscription_refused(reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::SubscriptionRefused { reason }
    }
}

/// The event of a protocol that has no sessions.
const READY: Event = Event::Ready {
    session_present: false,
};

impl From<bare::ClientEvent> for Event {
    fn from(event: bare::ClientEvent) -> Self {
        match event {
            bare::ClientEvent::Opened => READY,
            bare::ClientEvent::Sent { message } => Event::Sent { message },
            bare::ClientEvent::TooLong { message } => {
                Event::refused(message, "longer than its length prefix can say, 4294967295 B")
            }
            bare::ClientEvent::Closed => Event::Closed,
            bare::ClientEvent::Reset(reason) => Event::lost(reason),
        }
    }
}

impl From<mqtt::Event> for Event {
    fn from(event: mqtt::Event) -> Self {
        match event {
            mqtt::Event::MaySend => Event::MaySend,
            mqtt::Event::Unprocessed { message, reason } => {
                Event::refused(message, format!("CONNACK {reason}"))
            }
            mqtt::Event::Connected { session_present, .. } => Event::Ready { session_present },
            mqtt::Event::Rejected { reason } => Event::rejected(format!("CONNACK {reason}")),
            mqtt::Event::Acknowledged { message, reason } if reason.is_failure() => {
                Event::refused(message, reason)
            }
            mqtt::Event::Acknowledged { message, .. } => Event::Acknowledged { message },
            mqtt::Event::Refused { message, reason } => Event::refused(message, reason),
            mqtt::Event::Discarded { message } => Event::TimedOut { message },
            mqtt::Event::Disconnected { reason } => Event::rejected(format!("DISCONNECT {reason}")),
            mqtt::Event::Failed(error) => Event::rejected(error),
            mqtt::Event::TimedOut(mqtt::Awaited::Connack) => Event::lost("no CONNACK in time"),
            mqtt::Event::TimedOut(mqtt::Awaited::Pingresp) => Event::lost("no PINGRESP in time"),
            mqtt::Event::Closed => Event::Closed,
            mqtt::Event::Reset(reason) => Event::lost(reason),
            mqtt::Event::DigestReceived(digest) => Event::Received(Arrival {
                stamp: Stamp::read(&digest.head[..digest.head.len().min(digest.payload_bytes)]),
                payload_bytes: digest.payload_bytes as u64,
                duplicate: digest.dup,
                retained: digest.retain,
            }),
            mqtt::Event::Subscribed { codes } => match codes.iter().find(|code| code.is_failure()) {
                Some(reason) => Event::subscription_refused(format!("SUBACK {reason}")),
                None => Event::Subscribed,
            },
            mqtt::Event::Sent { message } => Event::Sent { message },
            mqtt::Event::MessageReceived(_) | mqtt::Event::Unsubscribed { .. } | mqtt::Event::Pong => {
                Event::Other
            }
        }
    }
}

impl From<sn::Event> for Event {
    fn from(event: sn::Event) -> Self {
        match event {
            sn::Event::Connected => READY,
            sn::Event::Rejected { by, code } => Event::rejected(format!("{} {code}", by.name())),
            sn::Event::Sent { message } => Event::Sent { message },
            sn::Event::Acknowledged { message } => Event::Acknowledged { message },
            sn::Event::Refused { message, code } => Event::refused(message, code),
            sn::Event::Unsent { message } => {
                Event::refused(message, "longer than a message of MQTT-SN, 65,535 B")
            }
            sn::Event::TooLong(kind) => Event::lost(format!(
                "{} is longer than a message of MQTT-SN, 65,535 B",
                kind.name()
            )),
            sn::Event::Discarded { message } => Event::TimedOut { message },
            sn::Event::TimedOut(kind) => Event::lost(format!("no answer to {}", kind.name())),
            sn::Event::Disconnected => Event::lost("the gateway sent DISCONNECT"),
            sn::Event::Closed => Event::Closed,
            sn::Event::Reset(reason) => Event::lost(reason),
        }
    }
}

impl From<coap::Event> for Event {
    fn from(event: coap::Event) -> Self {
        match event {
            coap::Event::Opened => READY,
            coap::Event::Response(response) if response.message == SUBSCRIPTION => observed(&response),
            // RFC 7641, section 4.2: an error ends the observation.
            coap::Event::Notification(response) if !response.code.is_success() => {
                Event::subscription_refused(format!("the observation ended with {}", response.code))
            }
            coap::Event::Notification(response) => Event::Received(Arrival {
                stamp: Stamp::read(&response.payload),
                payload_bytes: response.payload.len() as u64,
                duplicate: false,
                retained: false,
            }),
            coap::Event::Response(response) if response.code.is_success() => Event::Acknowledged {
                message: response.message,
            },
            coap::Event::Response(response) => Event::refused(response.message, response.code),
            coap::Event::TimedOut { message, .. } => Event::TimedOut { message },
            coap::Event::Reset { message } => Event::refused(message, "RST"),
            coap::Event::Failed {
                message,
                failure: coap::Failure::FlowEnded,
            } => Event::TimedOut { message },
            coap::Event::Failed { message, failure } => Event::refused(message, failure),
            coap::Event::FlowReset(reason) => Event::lost(reason),
            coap::Event::Sent { message } => Event::Sent { message },
            coap::Event::PeerClosed => Event::Closed,
            coap::Event::Aborted(reason) => Event::rejected(format!("Abort {reason}")),
            coap::Event::Faulted(fault) => Event::rejected(fault),
            coap::Event::NotAgreed(failure @ edhoc::Failure::Unanswered) => Event::lost(failure),
            coap::Event::NotAgreed(failure) => Event::rejected(failure),
            coap::Event::Closed | coap::Event::Acknowledged { .. } | coap::Event::Pong { .. } => Event::Other,
        }
    }
}

/// What the answer to a registration says (RFC 7641, section 3.1).
fn observed(response: &coap::Response) -> Event {
    match response.options.view().observe() {
        Some(_) if response.code.is_success() => Event::Subscribed,
        None if response.code.is_success() => Event::subscription_refused("the resource cannot be observed"),
        _ => Event::subscription_refused(response.code),
    }
}

impl From<amqp::Event> for Event {
    fn from(event: amqp::Event) -> Self {
        match event {
            amqp::Event::Opened => READY,
            amqp::Event::Sent { message } => Event::Sent { message },
            amqp::Event::Acknowledged { message } => Event::Acknowledged { message },
            amqp::Event::Refused { message, reason } => Event::refused(message, reason),
            amqp::Event::Discarded { message } => Event::TimedOut { message },
            amqp::Event::Failed(failure @ amqp::Failure::TimedOut(_)) => Event::lost(failure),
            amqp::Event::Failed(failure) => Event::rejected(failure),
            amqp::Event::Closed { error: None } => Event::Closed,
            amqp::Event::Closed { error: Some(error) } => Event::rejected(error),
            amqp::Event::Reset(reason) => Event::lost(reason),
        }
    }
}

impl From<http::Event> for Event {
    fn from(event: http::Event) -> Self {
        match event {
            http::Event::Opened => READY,
            http::Event::Response {
                message: SUBSCRIPTION,
                status,
                body,
                ..
            } => match status.is_success() {
                true => polled(&body),
                false => Event::subscription_refused(status),
            },
            // The end of the connection is an event of its own, and the subscriber polls again on the next one.
            http::Event::Sent {
                message: SUBSCRIPTION,
            }
            | http::Event::TimedOut {
                message: SUBSCRIPTION,
            }
            | http::Event::Failed {
                message: SUBSCRIPTION,
                reason:
                    http::Failure::Closed
                    | http::Failure::Unanswered
                    | http::Failure::Abandoned
                    | http::Failure::Reset(_)
                    | http::Failure::NotProcessed,
            } => Event::Other,
            http::Event::Failed {
                message: SUBSCRIPTION,
                reason,
            } => Event::subscription_refused(reason),
            http::Event::Sent { message } => Event::Sent { message },
            http::Event::Response { message, status, .. } if status.is_success() => {
                Event::Acknowledged { message }
            }
            http::Event::Response { message, status, .. } => Event::refused(message, status),
            http::Event::Failed {
                message,
                reason: http::Failure::Closed | http::Failure::Abandoned | http::Failure::Reset(_),
            }
            | http::Event::TimedOut { message } => Event::TimedOut { message },
            http::Event::Failed {
                message,
                reason: http::Failure::Unanswered,
            } => Event::Unanswered { message },
            http::Event::Failed { message, reason } => Event::refused(message, reason),
            http::Event::Closed | http::Event::GoneAway => Event::Closed,
            http::Event::Reset(reason) => Event::lost(reason),
        }
    }
}

impl From<store::Event> for Event {
    fn from(event: store::Event) -> Self {
        match event {
            store::Event::Opened => READY,
            store::Event::Sent { message } => Event::Sent { message },
            store::Event::Acknowledged { message } => Event::Acknowledged { message },
            store::Event::Refused { message, refusal } => Event::refused(message, refusal),
            store::Event::Discarded { message } => Event::TimedOut { message },
            store::Event::Failed(failure @ store::Failure::TimedOut(_)) => Event::lost(failure),
            store::Event::Failed(failure) => Event::rejected(failure),
            store::Event::Closed => Event::Closed,
            store::Event::Reset(reason) => Event::lost(reason),
        }
    }
}

/// What the answer to a poll brought.
fn polled(content: &[u8]) -> Event {
    let Some(page) = Page::read(content) else {
        return Event::subscription_refused("the answer is not a page of messages");
    };
    let arrival = |bytes: &Vec<u8>| Arrival {
        stamp: Stamp::read(bytes),
        payload_bytes: bytes.len() as u64,
        duplicate: false,
        retained: false,
    };
    Event::Polled(Polled {
        arrivals: page.messages.iter().map(arrival).collect(),
        next_key: page.next_key,
    })
}
