//! The phases of each load shape, for a command line that names a shape instead of phases.

use std::time::Duration;

use wirecost_scenario::options::load::{Arrivals, Backoff, LoadOptions, LoadTarget, Offer, Phase, Who};
use wirecost_security::Start;

/// The behaviour of devices in a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Connect, send messages, close.
    Messages(Offer),
    /// Connect, request the resource's payload (CoAP, HTTP), close.
    Requests(Offer),
    /// Connect and close, again and again.
    Handshakes(Offer),
    /// Connect, hold, lose all connections at one instant, and reconnect.
    Storm {
        /// How long connections are held before the loss.
        hold: Duration,
        /// How devices reconnect.
        backoff: Backoff,
        /// When devices are given up.
        timeout: Duration,
    },
    /// Send messages while subscribers are away and the server keeps their sessions.
    Replay(Offer),
    /// Send retained messages, then subscribe.
    Retained(Offer),
}

/// A shape that lacks an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The shape needs another option.
    #[error("{shape} needs {option}")]
    Needs {
        /// The shape.
        shape: &'static str,
        /// The missing option.
        option: &'static str,
    },
}

/// How long connections stay open so that later ones can resume from their tickets.
const TICKET_HOLD: Duration = Duration::from_millis(500);
/// The one message that exists before the following phases.
const FIRST: Offer = Offer {
    arrivals: Arrivals::Closed,
    duration: None,
    count: Some(1),
    warm_up: Duration::ZERO,
    ramp: Duration::ZERO,
    spread: None,
};
/// Devices that have been away reconnect at once.
const AT_ONCE: Backoff = Backoff {
    first: Duration::from_millis(100),
    max: Duration::from_secs(1),
    full_jitter: true,
};

/// The phases of a load with these `options`, at `connect_rate` connects per second.
///
/// # Errors
/// The shape needs an option that `options` lack.
pub fn phases(
    shape: &Shape,
    connect_rate: Option<f64>,
    options: &LoadOptions,
) -> Result<Vec<Phase>, ShapeError> {
    check(shape, options)?;
    let connect = |who| Phase::Connect {
        who,
        rate: connect_rate,
    };
    let arrive = Phase::AwaitReplay {
        timeout: options.timeout,
    };
    let mut phases = match shape {
        Shape::Messages(offer) => messages(*offer, connect, arrive, options),
        Shape::Requests(offer) => requests(*offer, connect(Who::All), options),
        Shape::Handshakes(offer) => handshakes(*offer, connect(Who::Senders), options.start),
        Shape::Storm {
            hold,
            backoff,
            timeout,
        } => {
            let willed = options.will.is_some() && options.subscribers.is_some();
            // Subscribers that receive the wills must keep their connections.
            let who = if willed { Who::Senders } else { Who::All };
            let hold = Phase::Hold { duration: *hold };
            let drop_all = Phase::DropAll { who, reset: true };
            let (backoff, timeout) = (*backoff, *timeout);
            [connect(Who::All), hold, drop_all]
                .into_iter()
                .chain(willed.then_some(arrive))
                .chain([Phase::Reconnect {
                    who,
                    backoff,
                    timeout,
                }])
                .collect()
        }
        Shape::Replay(offer) => replay(*offer, connect(Who::All), arrive, options.timeout),
        // Subscribers come last: what they then receive can only be from the server's store.
        Shape::Retained(offer) => vec![
            connect(Who::Senders),
            Phase::Publish(*offer),
            connect(Who::Subscribers),
            arrive,
        ],
    };
    phases.push(Phase::Close { rate: None });
    Ok(phases)
}

fn messages(
    offer: Offer,
    connect: impl Fn(Who) -> Phase,
    arrive: Phase,
    options: &LoadOptions,
) -> Vec<Phase> {
    let publish = Phase::Publish(offer);
    match options.subscribers {
        None => vec![connect(Who::All), publish],
        // A change of the format ends observations (RFC 7641, section 4.2), so the first message precedes them.
        Some(_) if options.stack.is_coap() => vec![
            connect(Who::Senders),
            Phase::Publish(FIRST),
            connect(Who::Subscribers),
            publish,
            arrive,
        ],
        Some(_) => vec![connect(Who::All), publish, arrive],
    }
}

fn replay(offer: Offer, connect: Phase, arrive: Phase, timeout: Duration) -> Vec<Phase> {
    let who = Who::Subscribers;
    vec![
        connect,
        Phase::DropAll { who, reset: false },
        Phase::Publish(offer),
        Phase::Reconnect {
            who,
            backoff: AT_ONCE,
            timeout,
        },
        arrive,
    ]
}

/// A server that wirecost starts is empty: one message precedes the requests.
fn requests(offer: Offer, connect: Phase, options: &LoadOptions) -> Vec<Phase> {
    let prepare = matches!(options.target, LoadTarget::Started(_)).then_some(Phase::Publish(FIRST));
    [connect]
        .into_iter()
        .chain(prepare)
        .chain([Phase::Request(offer)])
        .collect()
}

fn handshakes(offer: Offer, connect: Phase, start: Start) -> Vec<Phase> {
    let handshakes = Phase::Handshakes { offer, start };
    if !start.needs_earlier() {
        return vec![handshakes];
    }
    let hold = Phase::Hold {
        duration: TICKET_HOLD,
    };
    vec![connect, hold, Phase::Close { rate: None }, handshakes]
}

fn check(shape: &Shape, options: &LoadOptions) -> Result<(), ShapeError> {
    let needs = |shape, option| Err(ShapeError::Needs { shape, option });
    match shape {
        Shape::Replay(_) | Shape::Retained(_) if options.subscribers.is_none() => {
            needs("what subscribers receive later", "--subscribers")
        }
        Shape::Replay(_) if options.session_expiry.is_none() => {
            needs("what is queued for subscribers that are away", "--session-expiry")
        }
        Shape::Retained(_) if !options.retain => needs("what late subscribers receive", "--retain"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use wirecost_scenario::options::load::{Subscribers, Will};
    use wirecost_stack::target::Target;

    use super::*;

    fn options(stack: &str) -> LoadOptions {
        let stack = stack.parse().expect("a stack");
        LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
    }

    fn subscribed(stack: &str) -> LoadOptions {
        LoadOptions {
            subscribers: Some(Subscribers {
                devices: 2,
                filter: "#".into(),
                poll: None,
                shared: None,
                qos: 1,
            }),
            ..options(stack)
        }
    }

    const OFFER: Offer = Offer {
        arrivals: Arrivals::Closed,
        duration: None,
        count: Some(10),
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        spread: None,
    };
    const STORM: Shape = Shape::Storm {
        hold: Duration::from_secs(1),
        backoff: AT_ONCE,
        timeout: Duration::from_secs(60),
    };

    /// The first letters of the phases and of their devices.
    fn plan(shape: &Shape, options: &LoadOptions) -> String {
        let phases = phases(shape, None, options).expect("phases");
        let whom = |who: &Who| match who {
            Who::All => "a",
            Who::Senders => "s",
            Who::Subscribers => "r",
        };
        let name = |phase: &Phase| match phase {
            Phase::Connect { who, .. } => format!("C{}", whom(who)),
            Phase::Publish(_) => "P".into(),
            Phase::Request(_) => "R".into(),
            Phase::Handshakes { .. } => "H".into(),
            Phase::Hold { .. } => "-".into(),
            Phase::DropAll { who, .. } => format!("D{}", whom(who)),
            Phase::Reconnect { who, .. } => format!("B{}", whom(who)),
            Phase::AwaitReplay { .. } => "A".into(),
            Phase::Close { .. } => "X".into(),
        };
        phases.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_shape_is_a_sequence_of_phases() {
        let mqtt = || options("mqtt-qos1");
        assert_eq!(plan(&Shape::Messages(OFFER), &mqtt()), "Ca P X");
        assert_eq!(
            plan(&Shape::Messages(OFFER), &subscribed("mqtt-qos1")),
            "Ca P A X"
        );
        assert_eq!(
            plan(&Shape::Messages(OFFER), &subscribed("coap-con")),
            "Cs P Cr P A X"
        );
        assert_eq!(plan(&Shape::Requests(OFFER), &options("http1")), "Ca P R X");
        assert_eq!(plan(&Shape::Handshakes(OFFER), &mqtt()), "H X");
        let resumed = LoadOptions {
            start: Start::Resumed,
            ..options("mqtt-qos1+tls1.3")
        };
        assert_eq!(plan(&Shape::Handshakes(OFFER), &resumed), "Cs - X H X");
        assert_eq!(plan(&STORM, &mqtt()), "Ca - Da Ba X");
        let willed = LoadOptions {
            will: Some(Will {
                topic: "w/%d".into(),
                payload: "gone".into(),
            }),
            ..subscribed("mqtt-qos1")
        };
        assert_eq!(plan(&STORM, &willed), "Ca - Ds A Bs X");
        let queued = LoadOptions {
            session_expiry: Some(Duration::from_secs(60)),
            ..subscribed("mqtt-qos1")
        };
        assert_eq!(plan(&Shape::Replay(OFFER), &queued), "Ca Dr P Br A X");
        let retained = LoadOptions {
            retain: true,
            ..subscribed("mqtt-qos1")
        };
        assert_eq!(plan(&Shape::Retained(OFFER), &retained), "Cs P Cr A X");
    }

    #[test]
    fn a_shape_names_the_option_that_it_needs() {
        let error = |shape: Shape, options: LoadOptions| {
            phases(&shape, None, &options).expect_err("an error").to_string()
        };
        assert!(error(Shape::Replay(OFFER), options("mqtt-qos1")).contains("--subscribers"));
        assert!(error(Shape::Replay(OFFER), subscribed("mqtt-qos1")).contains("--session-expiry"));
        assert!(error(Shape::Retained(OFFER), subscribed("mqtt-qos1")).contains("--retain"));
    }
}
