//! Which side is the bottleneck, and what is reported of a load that fell short.

use wirecost_results::link_use::{DirectionUse, LinkUse};

use super::*;

#[test]
fn a_backlog_of_the_drain_is_not_acknowledged_in_time() {
    let mut case = Case::new("coap-con", OPEN);
    case.publish(|publish| {
        publish.measured_s = 10.0;
        publish.carried_rate = Some(80.0);
    });
    let bottleneck = case.verdict().bottleneck.expect("a bottleneck");
    assert_eq!(bottleneck.who, "target", "{}", bottleneck.why);
    assert!(
        bottleneck
            .why
            .starts_with("92 % of what was offered was answered only when"),
        "{}",
        bottleneck.why
    );
}

#[test]
fn unanswered_messages_that_arrive_too_late_are_worked_off() {
    let mut case = Case::new("mqtt-qos0", OPEN);
    case.publish(|publish| {
        publish.outcomes = Outcomes {
            offered: 10_000,
            delivered: 10_000,
            ..Outcomes::default()
        };
        publish.measured_s = 10.0;
        publish.carried_rate = Some(1_000.0);
    });
    assert_eq!(case.of_phases(), [""; 0]);
    case.publish(|publish| publish.carried_rate = Some(80.0));
    assert_eq!(case.of_phases(), ["saturation"]);
    let said = "92 % of what was offered arrived only when nothing was offered any more";
    assert!(case.why().starts_with(said), "{}", case.why());
    let warning = &case.verdict().phases[1][0].text;
    assert!(warning.starts_with(said), "{warning}");
    assert!(
        warning.ends_with("delays grow with the length of such a run"),
        "{warning}"
    );
}

#[test]
fn a_machine_without_ports_is_the_bottleneck_and_invalidates_the_phase() {
    let mut case = Case::open();
    case.publish(|publish| {
        publish.connects.attempted = 200;
        publish.reasons = [("no local port left".into(), 3)].into();
        publish.outcomes = outcomes(10_000, 7_000);
    });
    assert_eq!(case.bottleneck(), "generator");
    assert_eq!(case.why(), "it had no local port left for 3 of 200 connections");
    assert!(
        case.of_phases().contains(&"!generator-sockets".into()),
        "{:?}",
        case.of_phases()
    );
    case.outcome.socket_error = Some("EADDRNOTAVAIL".into());
    assert!(case.kinds().1.is_empty(), "one sentence about it is enough");
    case.publish(|publish| publish.reasons = [("no local port left".into(), 2)].into());
    assert_eq!(case.bottleneck(), "target", "not above 1 %");
}

#[test]
fn a_late_generator_that_works_harder_is_the_bottleneck() {
    let mut case = Case::open();
    case.cpu(0.4, 0.3);
    case.lag(MILLISECOND, 9 * MILLISECOND);
    assert_eq!(case.bottleneck(), "generator");
    let why = case.verdict().bottleneck.expect("a bottleneck").why;
    assert!(why.starts_with("it was late by 9.00 ms"), "{why}");
}

#[test]
fn only_acknowledged_messages_are_reported_as_such() {
    let mut case = Case::open();
    assert!(case.why().starts_with("all that was offered was acknowledged"));
    let mut lossy = Case::open();
    lossy.publish(|publish| {
        publish.outcomes = Outcomes {
            offered: 10_000,
            acknowledged: 9_920,
            late: 10,
            unknown: 70,
            ..Outcomes::default()
        };
    });
    let (who, why) = (lossy.bottleneck(), lossy.why());
    assert_eq!(who, "none");
    let said = "of 10,000 messages all but these were acknowledged: 10 late, 70 unknown; the busiest";
    assert!(why.starts_with(said), "{why}");
    for refused in [10_000, 101] {
        case.publish(|publish| {
            publish.outcomes = Outcomes {
                offered: 10_000,
                acknowledged: 10_000 - refused,
                refused,
                ..Outcomes::default()
            };
        });
        assert_eq!(case.bottleneck(), "target");
        assert!(case.why().starts_with("it refused 1"), "{}", case.why());
    }
    case.options = Case::closed().options;
    assert_eq!(case.bottleneck(), "target", "in a closed loop as well");
}

#[test]
fn a_lag_of_milliseconds_does_not_explain_missing_messages() {
    let mut case = Case::open();
    case.cpu(0.3, 0.1);
    case.lag(MILLISECOND, 3 * MILLISECOND);
    case.publish(|publish| publish.outcomes = outcomes(10_000, 4_800));
    assert_eq!(case.bottleneck(), "target");
    assert!(
        case.why()
            .starts_with("it left 52 % of what was offered without an answer"),
        "{}",
        case.why()
    );
    assert_eq!(case.of_phases(), ["saturation"]);
    let timeout_ns = u64::try_from(case.options.timeout.as_nanos()).expect("a time-out");
    case.lag(MILLISECOND, timeout_ns);
    assert_eq!(case.bottleneck(), "generator");
    // A cause of invalid figures is named even if the target works harder.
    let mut case = Case::open();
    case.cpu(0.1, 0.9);
    case.lag(MILLISECOND, 4 * MILLISECOND);
    assert_eq!(case.of_phases(), ["!schedule-lag"]);
    assert_eq!(case.bottleneck(), "generator");
}

#[test]
fn a_target_that_answers_less_is_saturated_and_valid() {
    let mut case = Case::open();
    case.publish(|publish| publish.outcomes = outcomes(10_000, 6_000));
    for (target, lag_p99_ns) in [(0.2, MILLISECOND), (0.97, 900 * MILLISECOND)] {
        case.cpu(0.3, target);
        case.lag(MILLISECOND, lag_p99_ns);
        assert_eq!(case.bottleneck(), "target");
        assert_eq!(case.of_phases(), ["saturation"]);
    }
}

/// The end of unanswered messages is unknown if no target counts them.
#[test]
fn uncounted_messages_do_not_fall_short() {
    let mut case = Case::new("mqtt-qos0", OPEN);
    case.publish(|publish| publish.outcomes = outcomes(10_000, 0));
    assert_eq!((case.bottleneck(), case.of_phases()), ("none".into(), Vec::new()));
    assert!(
        case.why().starts_with("no answer came to 100 % of "),
        "{}",
        case.why()
    );
    case.publish(|publish| {
        publish.outcomes = Outcomes {
            offered: 10_000,
            delivered: 9_000,
            lost: 1_000,
            ..Outcomes::default()
        };
    });
    assert_eq!(case.of_phases(), [""; 0], "what is lost has not waited");
}

#[test]
fn a_target_without_cpu_figures_is_named_as_unknown() {
    let mut case = Case::open();
    case.outcome.target = None;
    let bottleneck = case.verdict().bottleneck.expect("a bottleneck");
    assert_eq!(bottleneck.who, "none");
    assert!(bottleneck.why.ends_with("the target's is not known"));
}

#[test]
fn a_load_that_is_over_too_soon_has_no_bottleneck() {
    let mut case = Case::open();
    for spent in [Some(&mut case.outcome.generator), case.outcome.target.as_mut()] {
        let spent = spent.expect("both sides");
        (spent.busiest_share, spent.telling_share) = (Some(0.9), None);
    }
    let bottleneck = case.verdict().bottleneck.expect("a bottleneck");
    assert_eq!(bottleneck.who, "none");
    assert!(bottleneck.why.contains("over too soon"), "{}", bottleneck.why);
    assert_eq!(case.kinds(), (Vec::new(), Vec::new()));
}

#[test]
fn without_an_offer_connections_show_the_bottleneck() {
    let mut case = Case::open();
    case.options.phases.remove(1);
    case.phases.remove(1);
    case.outcome.phases.remove(1);
    case.phases[0].connects.attempted = 100;
    case.phases[0].connects.established = 100;
    assert_eq!(case.bottleneck(), "none");
    assert_eq!(case.kinds(), (Vec::new(), Vec::new()));
    // Of ten devices that were to reconnect, one has not, after many attempts.
    case.phases[1].outcomes = outcomes(10, 9);
    case.phases[1].connects.attempted = 50;
    assert_eq!(case.bottleneck(), "target");
    let why = case.verdict().bottleneck.expect("a bottleneck").why;
    assert!(why.starts_with("9 of 10 connections came about"), "{why}");
    case.cpu(0.95, 0.5);
    assert_eq!(case.bottleneck(), "generator");
    case.cpu(0.5, 0.9);
    assert_eq!(case.bottleneck(), "target");
}

#[test]
fn a_target_that_ends_its_connections_is_the_bottleneck() {
    let mut case = Case::open();
    case.lag(MILLISECOND, 4 * MILLISECOND);
    case.outcome.target = None;
    case.publish(|publish| {
        publish.outcomes = outcomes(10_000, 3_000);
        publish.sent = 3_000;
        publish.connects.lost = 20;
    });
    let found = case.verdict().bottleneck.expect("a bottleneck");
    assert_eq!(found.who, "target");
    assert!(
        found
            .why
            .starts_with("it ended 20 connections, and 30 % of what was offered was acknowledged")
    );
    assert_eq!(
        case.of_phases(),
        ["connections-lost"],
        "messages did not wait, and the lag lost nothing"
    );
    // A generator without a free CPU may have lost them itself.
    case.cpu(0.99, 0.1);
    assert_eq!(case.bottleneck(), "generator");
}

#[test]
fn a_target_that_is_started_again_is_the_bottleneck_even_if_every_message_was_acknowledged() {
    let mut case = Case::open();
    case.lag(MILLISECOND, 9 * MILLISECOND);
    let devices = u64::from(case.options.clients);
    case.publish(|publish| {
        publish.connects.lost = devices;
        publish.reasons = [("connection refused".into(), 7)].into();
        // What fell due meanwhile was answered behind the last message.
        publish.measured_s = 10.0;
        publish.carried_rate = Some(900.0);
    });
    let heard = [(0, 500), (1, 20), (5, 700), (6, 80), (8, 1)];
    case.outcome.intervals = heard
        .map(|(second, messages)| Interval {
            phase: 1,
            second,
            acknowledged_then: Some(messages),
            ..Interval::default()
        })
        .into();
    assert_eq!(case.bottleneck(), "target");
    let away = format!("it ended {devices} connections, and nobody listened for 7 connects");
    assert!(case.why().starts_with(&away), "{}", case.why());
    assert_eq!(
        case.of_phases(),
        ["!schedule-lag", "connections-lost"],
        "it was late all the same"
    );
    let warnings = case.verdict().phases.remove(1);
    let told = &warnings[1].text;
    let expected = format!("the target was away: {away}; for at least 3 s no message was acknowledged");
    assert!(told.starts_with(&expected), "{told}");
    // Not because of one device among hundreds, nor of devices that found it at once.
    case.options.clients = 200;
    case.publish(|publish| publish.connects.lost = 2);
    assert_eq!(case.bottleneck(), "generator");
    case.publish(|publish| {
        publish.connects.lost = 200;
        publish.reasons.clear();
    });
    assert_eq!(case.bottleneck(), "generator");
}

/// Ten devices with one message in flight each send 250 messages a second over 40 ms, whatever the target could do.
#[test]
fn devices_that_wait_for_answers_are_the_bottleneck() {
    let mut case = Case::new("coap-con", OPEN);
    let service = |p50: u64| {
        times(|times| {
            (times.mean, times.p50, times.min) = (p50 as f64, Some(p50), 40 * MILLISECOND);
        })
    };
    case.publish(|publish| {
        publish.measured_s = 10.0;
        publish.asked_rate = Some(1_000.0);
        publish.carried_rate = Some(249.0);
        publish.service_time_ns = Some(service(40 * MILLISECOND));
    });
    assert_eq!(case.bottleneck(), "devices", "{}", case.why());
    let said = "one message in flight each, and an answer takes 40 ms on average: 10 x 1 / 40 ms = 250/s at most, of 1000/s \
                offered; for more, raise --clients: coap-con allows a device 1 message in flight; the busiest";
    assert!(case.why().starts_with(said), "{}", case.why());
    case.publish(|publish| publish.service_time_ns = Some(service(400 * MILLISECOND)));
    assert_eq!(case.bottleneck(), "target", "messages wait there: {}", case.why());
    let mut case = Case::new("mqtt-qos1", OPEN);
    case.options.inflight = Some(2);
    case.publish(|publish| {
        publish.measured_s = 10.0;
        publish.asked_rate = Some(1_000.0);
        publish.carried_rate = Some(490.0);
        publish.service_time_ns = Some(service(40 * MILLISECOND));
    });
    assert!(
        case.why().contains(
            "10 x 2 / 40 ms = 500/s at most, of 1000/s offered; for more, raise --inflight or --clients"
        ),
        "{}",
        case.why()
    );
}

#[test]
fn a_link_that_drops_packets_of_a_closed_loop_is_the_bottleneck() {
    let dropped = |packets, queue_dropped| {
        let mut case = Case::closed();
        case.publish(|publish| {
            publish.link = Some(LinkUse {
                up: DirectionUse {
                    packets,
                    queue_dropped,
                    utilisation: Some(0.4),
                    ..DirectionUse::default()
                },
                ..LinkUse::default()
            });
        });
        case
    };
    let case = dropped(626_218, 23_738);
    assert_eq!(
        (case.bottleneck().as_str(), case.why().as_str()),
        (
            "link",
            "up: 626,218 packets, its rate in use 40 % of the time, 23,738 dropped by its full queue"
        )
    );
    assert_eq!(dropped(626_218, 20).bottleneck(), "none", "too few to tell");
}
