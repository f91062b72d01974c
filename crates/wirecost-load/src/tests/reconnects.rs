//! Devices that lose their connections reconnect, at a pace that does not flood the server.

use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_link::nat::{NatPort, NatTimeouts};
use wirecost_proto::Instant;
use wirecost_scenario::options::load::{Arrivals, LoadOptions, LoadTarget, Offer, Phase, Who};
use wirecost_security::Start;
use wirecost_stack::Event;
use wirecost_stack::target::Target;

use crate::devices::population::FORGOTTEN;

use super::rig::{Answers, CONNECT, READY, Request, Rig, open};

const AT_ONCE: Duration = Duration::ZERO;

/// Two devices that connect and send ten messages a second for a minute.
fn load(target: LoadTarget, between: Option<Phase>) -> LoadOptions {
    let publish = Phase::Publish(open(10.0, Duration::from_secs(60)));
    LoadOptions {
        clients: 2,
        phases: [CONNECT].into_iter().chain(between).chain([publish]).collect(),
        ..LoadOptions::new("mqtt-qos1".parse().expect("a stack"), target)
    }
}

fn builtin() -> LoadTarget {
    LoadTarget::Started(Target::Builtin)
}

fn closed_after(after: Duration) -> (Duration, Event) {
    let reason = "connection reset".into();
    (after, Event::Lost { reason })
}

/// The server gives a reason, as in MQTT's DISCONNECT.
fn thrown_out_after(after: Duration) -> (Duration, Event) {
    let reason = "session taken over".into();
    (after, Event::Rejected { reason })
}

/// A server that answers every message, and ends the first connection of each device as given.
fn leaving_once(ended: (Duration, Event)) -> impl FnMut(usize, Request, Instant) -> Answers {
    let mut seen = [false; 2];
    move |device, request, _| match request {
        Request::Connect if !std::mem::replace(&mut seen[device], true) => {
            vec![(AT_ONCE, READY), ended.clone()]
        }
        Request::Connect => vec![(AT_ONCE, READY)],
        Request::Message(message) => vec![(AT_ONCE, Event::Acknowledged { message })],
    }
}

#[test]
fn a_device_that_is_lost_before_messages_are_sent_reconnects() {
    // While others connect, between two phases, and after the next phase has begun.
    for after in [0, 500, 1_500].map(Duration::from_millis) {
        for ended in [closed_after(after), thrown_out_after(after)] {
            let case = format!("{ended:?}");
            let mut rig = Rig::new(load(builtin(), None), leaving_once(ended));
            let lost = rig.phase(0).sum.connects.lost;
            let published = rig.phase(1).sum;
            assert_eq!(lost + published.connects.lost, 2, "{case}");
            assert_eq!(published.outcomes.acknowledged, 600, "{case}");
        }
    }
}

#[test]
fn a_hold_reconnects_devices_that_were_lost_before_it() {
    let hold = Phase::Hold {
        duration: Duration::from_secs(10),
    };
    let mut rig = Rig::new(load(builtin(), Some(hold)), leaving_once(closed_after(AT_ONCE)));
    rig.phase(0);
    let held = rig.phase(1).sum.connects;
    assert_eq!((held.attempted, held.established), (2, 2));
}

#[test]
fn a_lost_device_that_is_to_stay_away_does() {
    let drop_all = Phase::DropAll {
        who: Who::All,
        reset: false,
    };
    let options = load(builtin(), Some(drop_all));
    let mut rig = Rig::new(options, leaving_once(closed_after(AT_ONCE)));
    assert_eq!(rig.phase(0).sum.connects.lost, 2);
    rig.phase(1);
    let published = rig.phase(2).sum;
    assert_eq!(
        (published.connects.attempted, published.outcomes.acknowledged),
        (0, 0)
    );
}

/// A server that accepts every connection and ends it at once.
fn slamming(_: usize, request: Request, _: Instant) -> Answers {
    match request {
        Request::Connect => vec![(AT_ONCE, READY), closed_after(Duration::from_millis(1))],
        Request::Message(_) => vec![],
    }
}

#[test]
fn a_server_that_accepts_and_closes_is_not_flooded() {
    let mut rig = Rig::new(load(builtin(), None), slamming);
    rig.phase(0);
    let connects = rig.phase(1).sum.connects;
    // Waits are drawn from up to 1, 2, 4, 8, 16 and 30 s: about ten connects of each device in the minute and the
    // time-out.
    assert!((4..100).contains(&connects.attempted), "{connects:?}");
}

#[test]
fn a_server_that_closes_after_each_answer_is_reconnected_at_once() {
    let mut rig = Rig::new(load(builtin(), None), |_, request, _| match request {
        Request::Connect => vec![(AT_ONCE, READY)],
        Request::Message(message) => vec![
            (AT_ONCE, Event::Acknowledged { message }),
            closed_after(Duration::from_millis(1)),
        ],
    });
    rig.phase(0);
    let published = rig.phase(1).sum;
    assert_eq!(published.outcomes.acknowledged, 600);
    let slowest = published.response_time.expect("answers").max();
    assert!(slowest < 1_000_000, "nobody waited: {slowest} ns");
}

/// How many of 2,000 devices that a server drops together reconnect in the next nine seconds.
fn reconnects(host: &str, is_permitted: bool) -> u64 {
    let url: wirecost_stack::url::Url = format!("mqtt://{host}/x").parse().expect("a URL");
    let options = LoadOptions {
        clients: 2_000,
        is_permitted,
        phases: vec![
            Phase::Connect {
                who: Who::All,
                rate: Some(100.0),
            },
            Phase::Hold {
                duration: Duration::from_secs(10),
            },
        ],
        ..LoadOptions::new(url.scheme.stack(), LoadTarget::Url(url))
    };
    let all_are_there = Instant::START + Duration::from_secs(22);
    let all_are_lost = Instant::START + Duration::from_secs(23);
    let mut rig = Rig::new(options, |_, request, now| match request {
        Request::Connect if now < all_are_there => {
            vec![(AT_ONCE, READY), closed_after(all_are_lost.saturating_since(now))]
        }
        Request::Connect => vec![(AT_ONCE, READY)],
        Request::Message(_) => vec![],
    });
    rig.phase(0);
    rig.phase(1).sum.connects.attempted
}

#[test]
fn a_foreign_server_sees_no_more_reconnects_than_its_limit() {
    assert_eq!(reconnects("127.0.0.1", false), 2_000, "it is on this machine");
    assert_eq!(
        reconnects("192.0.2.1", true),
        2_000,
        "whoever owns it has said so"
    );
    let on_anothers = reconnects("192.0.2.1", false);
    assert!(
        (900..=1_101).contains(&on_anothers),
        "{on_anothers} in some nine seconds"
    );
}

/// Ten connects a second, each of which takes a second, for two seconds after a warm-up of one second.
#[test]
fn a_connect_that_begins_in_the_warm_up_belongs_to_it() {
    let handshakes = Phase::Handshakes {
        offer: Offer {
            warm_up: Duration::from_secs(1),
            ..open(10.0, Duration::from_secs(3))
        },
        start: Start::Cold,
    };
    let options = LoadOptions {
        clients: 100,
        phases: vec![handshakes],
        ..load(builtin(), None)
    };
    for is_taken in [true, false] {
        let mut rig = Rig::new(options.clone(), |_, _, _| {
            let refused = Event::Rejected {
                reason: "full".into(),
            };
            vec![(Duration::from_secs(1), if is_taken { READY } else { refused })]
        });
        let connects = rig.phase(0).measured.connects;
        let ended = [connects.established, connects.refused];
        let expected = if is_taken { [20, 0] } else { [0, 20] };
        assert_eq!((connects.attempted, ended), (20, expected));
    }
}

/// Two devices behind a NAT that gives another port after a minute, which send at `rate` for ten minutes.
fn behind_a_nat(stack: &str, arrivals: Arrivals) -> LoadOptions {
    let offer = Offer {
        arrivals,
        ..open(1.0, Duration::from_secs(600))
    };
    let link = LinkConfig {
        nat: NatTimeouts {
            udp: Some(Duration::from_secs(60)),
            tcp: None,
            port: NatPort::New,
        },
        ..LinkConfig::default()
    };
    let hold = Phase::Hold {
        duration: Duration::from_secs(90),
    };
    LoadOptions {
        clients: 2,
        link: Some(link),
        phases: vec![CONNECT, hold, Phase::Publish(offer)],
        ..LoadOptions::new(stack.parse().expect("a stack"), builtin())
    }
}

const fn every(seconds: u32) -> Arrivals {
    Arrivals::Open {
        rate: 1.0 / seconds as f64,
        per_client: true,
        poisson: false,
    }
}

/// A server that takes a second for a connect and answers a message in 100 ms.
fn answering(_: usize, request: Request, _: Instant) -> Answers {
    match request {
        Request::Connect => vec![(Duration::from_secs(1), READY)],
        Request::Message(message) => vec![(Duration::from_millis(100), Event::Acknowledged { message })],
    }
}

#[test]
fn a_device_that_its_nat_forgot_makes_a_new_session_before_it_sends() {
    let cases = [
        // Each message comes after a silence, the first one too.
        ("coap-con+dtls1.2", every(100), 12),
        ("coap-con+dtls1.3", every(100), 12),
        ("mqttsn-qos1", every(100), 12),
        // Only the first one does.
        ("coap-con+dtls1.2", every(30), 2),
        // A connection ID or a key ID names the device, whatever its port.
        ("coap-con+dtls1.2-cid", every(100), 0),
        ("coap-con+oscore", every(100), 0),
    ];
    for (stack, arrivals, sessions) in cases {
        let told = (stack, arrivals);
        let mut rig = Rig::new(behind_a_nat(stack, arrivals), answering);
        rig.phase(0);
        assert_eq!(rig.phase(1).sum.connects.attempted, 0, "{told:?}");
        let published = rig.phase(2).sum;
        let outcomes = published.outcomes;
        assert_eq!(outcomes.acknowledged, outcomes.offered, "{told:?}");
        let connects = published.connects;
        assert_eq!((connects.established, connects.lost), (sessions, 0), "{told:?}");
        let reason = published.reasons.get(FORGOTTEN).copied();
        assert_eq!(reason.unwrap_or_default(), sessions, "{told:?}");
        let lag = published.schedule_lag.expect("messages").max();
        assert_eq!(lag, 0, "{told:?}: a handshake is no lag of the generator");
        let slowest = published.response_time.expect("answers").max();
        assert_eq!(
            slowest > 1_000_000_000,
            sessions > 0,
            "{told:?}: it counts for the message"
        );
    }
}

#[test]
fn a_closed_loop_makes_new_sessions_for_its_first_messages_only() {
    let options = behind_a_nat("coap-con+dtls1.2", Arrivals::Closed);
    let mut rig = Rig::new(options, answering);
    (0..2).for_each(|phase| drop(rig.phase(phase)));
    let published = rig.phase(2).sum;
    assert_eq!(published.connects.established, 2);
    assert_eq!(published.outcomes.acknowledged, published.outcomes.offered);
    assert_eq!(published.schedule_lag.expect("messages").max(), 0);
}

/// What is open in a session that is left has no answer to come.
#[test]
fn a_message_that_is_open_in_a_forgotten_session_ends_as_unknown() {
    let mut rig = Rig::new(
        behind_a_nat("coap-con+dtls1.2", every(100)),
        |_, request, _| match request {
            Request::Connect => vec![(AT_ONCE, READY)],
            Request::Message(_) => vec![],
        },
    );
    (0..2).for_each(|phase| drop(rig.phase(phase)));
    let published = rig.phase(2).sum;
    let outcomes = published.outcomes;
    assert!(outcomes.add_up());
    assert_eq!((outcomes.offered, outcomes.unknown), (12, 12));
    assert_eq!(published.connects.established, 12);
}

/// The server is away for two minutes when a device makes its session anew, and the message that it was for is given up.
#[test]
fn a_session_that_came_too_late_for_its_message_is_forgotten_like_any_other() {
    let mut away_until = [None; 2];
    let mut has_connected = [false; 2];
    let options = behind_a_nat("coap-con+dtls1.2", every(300));
    let mut rig = Rig::new(options, move |device, request, now| match request {
        Request::Connect if !std::mem::replace(&mut has_connected[device], true) => vec![(AT_ONCE, READY)],
        Request::Connect if now < *away_until[device].get_or_insert(now + Duration::from_secs(120)) => vec![],
        Request::Connect => vec![(AT_ONCE, READY)],
        Request::Message(message) => vec![(AT_ONCE, Event::Acknowledged { message })],
    });
    (0..2).for_each(|phase| drop(rig.phase(phase)));
    let published = rig.phase(2).sum;
    let outcomes = published.outcomes;
    assert_eq!([outcomes.failed, outcomes.acknowledged], [2, 2], "{outcomes:?}");
    assert_eq!(published.reasons.get(FORGOTTEN), Some(&4));
}

/// MQTT sends a PUBLISH without PUBACK again in a session that outlives its connection (MQTT 5 and 3.1.1, section 4.4); in one that
/// the server has dropped, its client gives it up.
#[test]
fn a_message_that_met_the_end_of_its_connection_counts_once() {
    for (is_kept, ended) in [(true, [600, 0]), (false, [598, 2])] {
        let options = LoadOptions {
            session_expiry: Some(Duration::from_secs(60)),
            ..load(builtin(), None)
        };
        let mut open = [None; 2];
        let mut has_closed = [false; 2];
        let mut rig = Rig::new(options, move |device, request, _| match (request, open[device]) {
            (Request::Connect, None) => vec![(AT_ONCE, READY)],
            (Request::Connect, Some(message)) => {
                let end = match is_kept {
                    true => Event::Acknowledged { message },
                    false => Event::TimedOut { message },
                };
                vec![(AT_ONCE, READY), (Duration::from_millis(50), end)]
            }
            (Request::Message(message), _) if !std::mem::replace(&mut has_closed[device], true) => {
                open[device] = Some(message);
                vec![(Duration::from_millis(5), Event::Closed)]
            }
            (Request::Message(message), _) => vec![(AT_ONCE, Event::Acknowledged { message })],
        });
        rig.phase(0);
        let published = rig.phase(1).sum;
        let outcomes = published.outcomes;
        assert!(outcomes.add_up(), "{outcomes:?}");
        assert_eq!([outcomes.acknowledged, outcomes.unknown], ended, "{outcomes:?}");
        assert_eq!((published.sent, published.connects.lost), (600, 2));
    }
}
