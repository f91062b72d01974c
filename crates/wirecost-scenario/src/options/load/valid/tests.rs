use wirecost_link::LinkConfig;
use wirecost_stack::target::Target;

use super::*;
use crate::options::load::{Arrivals, Backoff, Subscribers, Will};
use crate::options::refusal::Refusal;

fn load(stack: &str) -> LoadOptions {
    let stack = stack.parse().expect("a stack");
    LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
}

/// What is asked for instead of the default.
type Change = fn(&mut LoadOptions);

const OFFER: Offer = Offer {
    arrivals: Arrivals::Open {
        rate: 10.0,
        per_client: false,
        poisson: false,
    },
    duration: None,
    count: Some(10),
    warm_up: Duration::ZERO,
    ramp: Duration::ZERO,
    spread: None,
};

fn refusal(stack: &str, change: impl FnOnce(&mut LoadOptions)) -> (About, String) {
    let mut options = load(stack);
    change(&mut options);
    let Refusal { about, why } = options.validate().expect_err(stack);
    (about, why)
}

#[test]
fn what_a_protocol_does_not_have_is_refused_by_its_key() {
    let subscribers = |filter: &str, shared: Option<&str>| {
        Some(Subscribers {
            devices: 2,
            filter: filter.into(),
            poll: None,
            shared: shared.map(str::to_owned),
            qos: 1,
        })
    };
    let cases: [(&str, Change, &str, &str); 13] = [
        ("http1", |load| load.retain = true, "retain", "MQTT's"),
        (
            "coap-con",
            |load| load.session_expiry = Some(Duration::from_secs(1)),
            "session_expiry",
            "MQTT's",
        ),
        (
            "mqtt-qos1",
            |load| load.session_expiry = Some(Duration::from_millis(1_500)),
            "session_expiry",
            "whole seconds",
        ),
        (
            "tcp",
            |load| {
                load.will = Some(Will {
                    topic: "w".into(),
                    payload: String::new(),
                });
            },
            "will",
            "MQTT's",
        ),
        (
            "coap-con",
            |load| load.login = Some(("user".into(), String::new())),
            "login",
            "AMQP's",
        ),
        (
            "mqtt-qos1",
            |load| load.start = Start::Resumed,
            "start",
            "no handshake",
        ),
        (
            "mqtt-qos1+tls1.3",
            |load| load.start = Start::Resumed,
            "start",
            "connects once",
        ),
        (
            "coap-con+oscore",
            |load| load.clients = 65_536,
            "stack",
            "65536 devices need an OSCORE context each",
        ),
        (
            "mqtt-qos1",
            |load| load.target = LoadTarget::Started(Target::Caddy),
            "target",
            "caddy does not speak mqtt-qos1",
        ),
        ("mqtt-qos1", |load| load.inflight = Some(0), "inflight", "above 0"),
        (
            "mqtt-qos1",
            |load| {
                load.ipv6 = true;
                load.target = LoadTarget::Url("mqtt://127.0.0.1".parse().expect("a URL"));
            },
            "ipv6",
            "mqtt://[::1]",
        ),
        (
            "mqtt-qos1",
            |load| load.target = LoadTarget::Url("mqtt://127.0.0.1/dev/%d/up".parse().expect("a URL")),
            "target",
            "\"%d\", which is no encoded",
        ),
        (
            "mqtt-qos1",
            |load| {
                load.ipv6 = true;
                let mut link = LinkConfig::default();
                link.down.mtu = 1_279;
                load.link = Some(link);
            },
            "link",
            "1280",
        ),
    ];
    for (stack, change, key, reason) in cases {
        let (about, why) = refusal(stack, change);
        assert_eq!(about, About::Key(key), "{why}");
        assert!(why.contains(reason), "{why}");
    }
    let subscribed = |stack: &str, filter: &str, shared: Option<&str>| {
        let subscribers = subscribers(filter, shared);
        refusal(stack, |load| load.subscribers = subscribers)
    };
    let about = About::Key("subscribers");
    let asks = "http1 pushes nothing: say how often each subscriber asks, by poll, like 500ms";
    assert_eq!(subscribed("http1", "x", None), (about, asks.into()));
    assert!(subscribed("coap-con", "x", Some("g")).1.contains("shared"));
    assert!(subscribed("mqtt-qos1", "a/#/b", None).1.contains("ill-formed"));
}

#[test]
fn names_that_cannot_be_sent_are_refused() {
    for (change, key, reason) in [
        (
            (|load| load.resource = "t/#".into()) as Change,
            "resource",
            "wildcard",
        ),
        (|load| load.resource = "t/%y".into(), "resource", "%"),
        (|load| load.client_id = "c-%n".into(), "client_id", "%d"),
        (|load| load.client_id = "c".into(), "client_id", "%d"),
        (
            |load| load.payload = Payload::Template("%y".into()),
            "payload",
            "%",
        ),
    ] {
        let (about, why) = refusal("mqtt-qos1", change);
        assert_eq!(about, About::Key(key), "{why}");
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn impossible_phases_are_refused_by_index() {
    let who = Who::Subscribers;
    let backoff = Backoff {
        first: Duration::ZERO,
        max: Duration::ZERO,
        full_jitter: false,
    };
    let timeout = Duration::from_secs(1);
    let cold = |offer| Phase::Handshakes {
        offer,
        start: Start::Cold,
    };
    let short = Offer {
        warm_up: Duration::from_secs(2),
        duration: Some(Duration::from_secs(2)),
        count: None,
        ..OFFER
    };
    for (stack, phase, reason) in [
        ("mqtt-qos1", Phase::Request(OFFER), "CoAP's and HTTP's"),
        ("udp", cold(OFFER), "no connections"),
        ("mqtt-qos1", Phase::AwaitReplay { timeout }, "no subscribers"),
        (
            "mqtt-qos1",
            Phase::Reconnect {
                who,
                backoff,
                timeout,
            },
            "no subscribers",
        ),
        (
            "coap-con",
            Phase::DropAll {
                who: Who::All,
                reset: true,
            },
            "no connections",
        ),
        ("tcp", Phase::Publish(short), "warm-up"),
        (
            "tcp",
            Phase::Publish(Offer {
                count: Some(0),
                ..OFFER
            }),
            "above 0",
        ),
        (
            "mqtt-qos1+tls1.3",
            Phase::Handshakes {
                offer: OFFER,
                start: Start::Resumed,
            },
            "start: resumed",
        ),
    ] {
        let hold = Phase::Hold { duration: timeout };
        let (about, why) = refusal(stack, |load| load.phases = vec![hold, phase]);
        assert_eq!(about, About::Phase(1), "{why}");
        assert!(why.contains(reason), "{why}");
    }
    let early = refusal("http1+tls1.3", |load| {
        load.start = Start::ZeroRtt;
        load.phases = vec![Phase::Handshakes {
            offer: OFFER,
            start: Start::ZeroRtt,
        }];
    });
    assert!(early.1.contains("early data"), "{}", early.1);
}

#[test]
fn every_stack_can_be_run() {
    for stack in [
        "tcp",
        "udp",
        "mqtt-qos0",
        "mqtt5-qos2+tls1.3",
        "coap-con+oscore",
        "coap-non+cose",
        "amqp-settled",
        "http1+tls1.2",
        "http3",
    ] {
        let mut options = load(stack);
        options.phases = vec![Phase::Publish(OFFER), Phase::Close { rate: None }];
        assert_eq!(options.validate(), Ok(()), "{stack}");
    }
}

#[test]
fn what_can_be_run_is_not_refused() {
    let mut options = load("mqtt5-qos1+tls1.3");
    options.phases = vec![
        Phase::Publish(Offer {
            warm_up: Duration::from_millis(500),
            ..OFFER
        }),
        Phase::Close { rate: None },
    ];
    assert_eq!(options.validate(), Ok(()));
}
