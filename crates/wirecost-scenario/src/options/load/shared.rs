//! Shared CoAP endpoints, hence UDP sockets: the stacks that can share them, and how many a load needs.

use std::time::Duration;

use wirecost_coap::parameters::TransmissionParameters;
use wirecost_proto::bare::Transport;
use wirecost_stack::{Application, Pattern, Stack};

use super::{LoadOptions, Offer, Phase};

/// Message ids of an endpoint that are certainly free again when they are needed (RFC 7252 section 4.4): there are 64
/// runs, one of which is in use.
const USABLE_IDS: f64 = 63.0 * 1_024.0;
/// The largest content of one message, in bytes. Larger content is sent in blocks, each in a message.
const BLOCK_BYTES: u64 = 1_024;
/// The number of sockets if the rate is unknown.
const MOST_WITHOUT_RATE: usize = 64;

/// The number of UDP sockets that `devices` devices of a load share in one loop; 0 if each device has its own.
///
/// For the server a socket is one endpoint. It must not reuse a message id within 247 s of a confirmable message or 145
/// s of a non-confirmable one. The number of sockets follows from the ids that the load needs in that time.
pub fn sockets(options: &LoadOptions, devices: u32) -> usize {
    if !options.shared_socket {
        return 0;
    }
    let all = options.clients.saturating_add(options.receivers()).max(1);
    let share = f64::from(devices) / f64::from(all);
    // A content of no bytes is one message too.
    let blocks = options.payload.bytes().div_ceil(BLOCK_BYTES).max(1) as f64;
    let messages: f64 = options
        .phases
        .iter()
        .map(|phase| in_a_lifetime(options, phase))
        .sum();
    let needed = (messages * share * blocks / USABLE_IDS).ceil();
    // A closed loop has no rate, and so an infinite need.
    let needed = if needed.is_finite() {
        needed as usize
    } else {
        MOST_WITHOUT_RATE
    };
    needed.clamp(1, (devices as usize).max(1))
}

/// The largest number of messages of a phase within the lifetime of a message id; infinite without a limit.
fn in_a_lifetime(options: &LoadOptions, phase: &Phase) -> f64 {
    let (Phase::Publish(offer) | Phase::Request(offer)) = phase else {
        return 0.0;
    };
    let Offer { duration, count, .. } = offer;
    let parameters = TransmissionParameters::default();
    let lifetime = options.stack.application.message_id_lifetime(&parameters);
    let time = duration.map_or(lifetime, |duration| duration.min(lifetime));
    let rate = offer.rate(options.emulated()).unwrap_or(f64::INFINITY);
    let by_rate = rate * time.max(Duration::from_secs(1)).as_secs_f64();
    count.map_or(by_rate, |count| by_rate.min(count as f64))
}

/// Why the devices of a load cannot share sockets; `None` if they can.
pub(super) fn refusal(options: &LoadOptions) -> Option<String> {
    refusal_of_stack(options.stack).or_else(|| refusal_of_blocks(options))
}

/// A server cannot tell apart two block-wise uploads from one endpoint to one resource (RFC 7959, section 2.5).
fn refusal_of_blocks(options: &LoadOptions) -> Option<String> {
    let is_own = |resource: Pattern| resource.differs_by_device();
    if options.payload.bytes() <= BLOCK_BYTES || options.resource.parse().is_ok_and(is_own) {
        return None;
    }
    Some(format!(
        "devices that share sockets cannot send more than {BLOCK_BYTES} B to one resource: it goes in blocks, which the \
         server would mix up; give each device a resource of its own by %d"
    ))
}

fn refusal_of_stack(stack: Stack) -> Option<String> {
    let reason = match stack.transport() {
        Transport::Stream => "each TCP connection has a socket of its own",
        Transport::Datagram if stack.application == Application::Http3 => {
            "each QUIC connection has a socket of its own here"
        }
        Transport::Datagram if stack.is_mqtt_sn() => "a gateway tells its clients apart by address and port",
        Transport::Datagram if !stack.is_coap() => "a bare datagram does not say which device it is from",
        Transport::Datagram if stack.has_handshake() => {
            "without connection IDs a DTLS server tells devices apart by address and port"
        }
        Transport::Datagram => return None,
    };
    Some(format!(
        "{stack} cannot share sockets: {reason}; coap-con and coap-non can, also with +oscore and +cose"
    ))
}

#[cfg(test)]
mod tests {
    use wirecost_proto::ByteSize;
    use wirecost_stack::target::Target;

    use super::*;
    use crate::options::load::{Arrivals, LoadTarget, Payload};

    fn load(stack: &str, offer: Offer) -> LoadOptions {
        LoadOptions {
            clients: 1_000,
            shared_socket: true,
            phases: vec![Phase::Publish(offer)],
            ..LoadOptions::new(
                stack.parse().expect("a stack"),
                LoadTarget::Started(Target::Builtin),
            )
        }
    }

    fn open(rate: f64, seconds: u64) -> Offer {
        Offer {
            arrivals: Arrivals::Open {
                rate,
                per_client: false,
                poisson: false,
            },
            duration: Some(Duration::from_secs(seconds)),
            count: None,
            warm_up: Duration::ZERO,
            ramp: Duration::ZERO,
            spread: None,
        }
    }

    #[test]
    fn the_number_of_sockets_follows_from_message_ids() {
        let closed = Offer {
            arrivals: Arrivals::Closed,
            ..open(1.0, 60)
        };
        let counted = Offer {
            count: Some(200_000),
            ..closed
        };
        let of = |stack, offer| sockets(&load(stack, offer), 1_000);
        assert_eq!(of("coap-con", open(1_000.0, 10)), 1);
        // 247,000 ids of 64,512 each.
        assert_eq!(of("coap-con", open(1_000.0, 3_600)), 4);
        assert_eq!(of("coap-non", open(1_000.0, 3_600)), 3);
        assert_eq!(of("coap-con", counted), 4);
        assert_eq!(of("coap-con", closed), MOST_WITHOUT_RATE);
        // A part has its share of the messages, and no more sockets than devices.
        let fast = load("coap-con", open(1_000.0, 3_600));
        assert_eq!(sockets(&fast, 500), 2);
        assert_eq!(sockets(&load("coap-con", closed), 3), 3);
        let own = LoadOptions {
            shared_socket: false,
            ..fast
        };
        assert_eq!(sockets(&own, 1_000), 0);
    }

    #[test]
    fn stacks_that_cannot_share_say_why() {
        let of = |stack| refusal(&load(stack, open(1.0, 1)));
        for stack in ["coap-con", "coap-non", "coap-con+oscore", "coap-non+cose"] {
            assert_eq!(of(stack), None);
        }
        for (stack, reason) in [
            ("mqtt-qos1", "TCP"),
            ("http3", "QUIC"),
            ("udp", "bare"),
            ("coap-con+dtls1.3", "connection IDs"),
            ("udp+dtls1.2", "bare"),
        ] {
            let refusal = of(stack).unwrap_or_default();
            assert!(
                refusal.starts_with(stack) && refusal.contains(reason),
                "{stack}: {refusal}"
            );
        }
    }

    #[test]
    fn blocks_go_to_a_resource_of_the_devices_own_or_not_at_all() {
        let of = |bytes, resource: &str| {
            refusal(&LoadOptions {
                payload: Payload::Size(ByteSize::from_bytes(bytes)),
                resource: resource.into(),
                ..load("coap-con", open(1.0, 1))
            })
        };
        assert_eq!(of(1_024, "test"), None);
        assert_eq!(of(3_000, "test/%d"), None);
        assert!(of(1_025, "test").is_some_and(|reason| reason.contains("%d")));
        assert!(of(1_025, "test/%n").is_some());
    }
}
