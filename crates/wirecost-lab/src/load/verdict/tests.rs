use std::time::Duration;

use super::*;
use crate::load::coordinator::PhaseTimes;
use crate::load::figures::{Deliveries, Interval};
use crate::load::options::{LoadTarget, Offer, Subscribers, Who};
use crate::load::roles::subscriber::SUBSCRIPTION_REFUSED;
use crate::results::summary::{Outcomes, Times};
use crate::target::Target;

const MILLISECOND: u64 = 1_000_000;

/// A load of connect, publish and close, of which everything was carried and nothing was late.
struct Case {
    options: LoadOptions,
    phases: Vec<PhaseFigures>,
    outcome: Outcome,
    steal: f64,
}

impl Case {
    fn new(stack: &str, arrivals: Arrivals) -> Self {
        let stack = stack.parse().expect("a stack");
        let offer = Offer {
            arrivals,
            duration: Some(Duration::from_secs(10)),
            count: None,
            warm_up: Duration::ZERO,
            ramp: Duration::ZERO,
        };
        let connect = Phase::Connect {
            who: Who::All,
            rate: None,
        };
        let phases = vec![connect, Phase::Publish(offer), Phase::Close];
        let figures = |phase: &Phase| PhaseFigures {
            name: phase.name().into(),
            ..PhaseFigures::default()
        };
        let mut case = Self {
            phases: phases.iter().map(figures).collect(),
            outcome: Outcome {
                phases: vec![PhaseTimes::default(); phases.len()],
                ..Outcome::default()
            },
            options: LoadOptions {
                phases,
                ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
            },
            steal: 0.0,
        };
        case.cpu(0.3, 0.2);
        case.publish(|publish| {
            publish.outcomes = outcomes(10_000, 10_000);
            publish.sent = 10_000;
            publish.response_time_ns = Some(times(|times| times.p50 = Some(MILLISECOND)));
            publish.schedule_lag_ns = Some(times(|times| times.p99 = Some(MILLISECOND)));
        });
        case
    }

    fn open() -> Self {
        Self::new("mqtt-qos1", OPEN)
    }

    fn closed() -> Self {
        Self::new("mqtt-qos1", Arrivals::Closed)
    }

    fn publish(&mut self, change: impl FnOnce(&mut PhaseFigures)) {
        change(&mut self.phases[1]);
    }

    fn lag(&mut self, response_p50_ns: u64, lag_p99_ns: u64) {
        self.publish(|publish| {
            publish.response_time_ns = Some(times(|times| times.p50 = Some(response_p50_ns)));
            publish.schedule_lag_ns = Some(times(|times| times.p99 = Some(lag_p99_ns)));
        });
    }

    /// What the busiest threads of both sides used of a CPU.
    fn cpu(&mut self, generator: f64, target: f64) {
        let spent = |share| Spent {
            telling_share: Some(share),
            ..Spent::default()
        };
        self.outcome.generator = spent(generator);
        self.outcome.target = Some(spent(target));
    }

    fn verdict(&self) -> Verdict {
        of(&Evidence {
            options: &self.options,
            phases: &self.phases,
            outcome: &self.outcome,
            steal: self.steal,
            link: None,
        })
    }

    fn bottleneck(&self) -> String {
        self.verdict().bottleneck.expect("a bottleneck").who
    }

    fn why(&self) -> String {
        self.verdict().bottleneck.expect("a bottleneck").why
    }

    /// Kinds of what is said of the phases and of the load; what invalidates has a mark.
    fn kinds(&self) -> (Vec<String>, Vec<String>) {
        let kinds = |warnings: &[Warning]| -> Vec<String> {
            let kind = |warning: &Warning| match warning.invalidates {
                true => format!("!{}", warning.kind),
                false => warning.kind.clone(),
            };
            warnings.iter().map(kind).collect()
        };
        let verdict = self.verdict();
        (kinds(&verdict.phases.concat()), kinds(&verdict.warnings))
    }

    fn of_phases(&self) -> Vec<String> {
        self.kinds().0
    }
}

const OPEN: Arrivals = Arrivals::Open {
    rate: 1_000.0,
    per_client: false,
    poisson: false,
};

fn outcomes(offered: u64, acknowledged: u64) -> Outcomes {
    Outcomes {
        offered,
        acknowledged,
        unknown: offered - acknowledged,
        ..Outcomes::default()
    }
}

fn times(change: impl FnOnce(&mut Times)) -> Times {
    let mut times = Times {
        n: 10_000,
        ..Times::default()
    };
    change(&mut times);
    times
}

#[test]
fn a_backlog_that_is_worked_off_in_the_drain_is_not_carried() {
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
fn a_load_that_kept_its_schedule_has_nothing_against_it() {
    let case = Case::open();
    assert_eq!(case.kinds(), (Vec::new(), Vec::new()));
    assert_eq!(case.bottleneck(), "none");
}

#[test]
fn the_lag_may_be_a_tenth_of_the_median_response_and_a_millisecond() {
    for (response_p50_ns, lag_p99_ns, is_valid) in [
        (100_000, MILLISECOND, true),
        (100_000, MILLISECOND + 1, false),
        (50 * MILLISECOND, 5 * MILLISECOND, true),
        (50 * MILLISECOND, 5 * MILLISECOND + 1, false),
    ] {
        let mut case = Case::open();
        case.lag(response_p50_ns, lag_p99_ns);
        let expected: &[&str] = if is_valid { &[] } else { &["!schedule-lag"] };
        assert_eq!(case.of_phases(), expected, "{response_p50_ns} {lag_p99_ns}");
    }
}

#[test]
fn an_invalid_phase_invalidates_no_other_one() {
    let mut case = Case::open();
    case.lag(MILLISECOND, 9 * MILLISECOND);
    let verdict = case.verdict();
    let invalid = |warnings: &Vec<Warning>| warnings.iter().any(|warning| warning.invalidates);
    let phases: Vec<bool> = verdict.phases.iter().map(invalid).collect();
    assert_eq!((phases, verdict.warnings), (vec![false, true, false], Vec::new()));
}

#[test]
fn what_the_generator_could_not_send_invalidates() {
    let mut case = Case::open();
    case.cpu(0.95, 0.5);
    case.publish(|publish| {
        publish.outcomes = outcomes(10_000, 9_890);
        publish.sent = 9_899;
    });
    assert_eq!(case.bottleneck(), "generator");
    assert_eq!(case.of_phases(), ["!generator-saturated"]);
    case.publish(|publish| {
        publish.outcomes = outcomes(10_000, 9_900);
        publish.sent = 9_900;
    });
    assert_eq!(case.of_phases(), [""; 0], "99 % is enough");
}

#[test]
fn a_late_generator_that_works_harder_than_its_target_is_the_bottleneck() {
    let mut case = Case::open();
    case.cpu(0.4, 0.3);
    case.lag(MILLISECOND, 9 * MILLISECOND);
    assert_eq!(case.bottleneck(), "generator");
    let why = case.verdict().bottleneck.expect("a bottleneck").why;
    assert!(why.starts_with("it was late by 9.00 ms"), "{why}");
}

#[test]
fn only_what_was_carried_is_said_to_have_been() {
    let mut case = Case::open();
    assert!(case.why().starts_with("all that was offered was carried"));
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
fn a_lag_of_milliseconds_loses_nothing_that_is_missing() {
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
    // What makes figures invalid has a name, also where the target works harder.
    let mut case = Case::open();
    case.cpu(0.1, 0.9);
    case.lag(MILLISECOND, 4 * MILLISECOND);
    assert_eq!(case.of_phases(), ["!schedule-lag"]);
    assert_eq!(case.bottleneck(), "generator");
}

#[test]
fn a_target_that_carries_less_than_is_offered_is_saturated_and_not_invalid() {
    let mut case = Case::open();
    case.publish(|publish| publish.outcomes = outcomes(10_000, 6_000));
    for (target, lag_p99_ns) in [(0.2, MILLISECOND), (0.97, 900 * MILLISECOND)] {
        case.cpu(0.3, target);
        case.lag(MILLISECOND, lag_p99_ns);
        assert_eq!(case.bottleneck(), "target");
        assert_eq!(case.of_phases(), ["saturation"]);
    }
}

/// Nobody knows what became of messages that nothing answers, where nobody counts them.
#[test]
fn what_nobody_counts_falls_short_of_nothing() {
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

/// Response times that grow are warned of where messages wait, however many of them are carried in the end.
#[test]
fn what_waits_is_told_from_what_is_gone() {
    let mut case = Case::open();
    case.publish(|publish| {
        publish.measured_s = 10.0;
        publish.carried_rate = Some(700.0);
    });
    assert_eq!(case.of_phases(), ["saturation"]);
    let mut case = Case::open();
    case.publish(|publish| {
        publish.connects.lost = 10;
        publish.outcomes = Outcomes {
            offered: 10_000,
            acknowledged: 5_000,
            failed: 4_800,
            unknown: 200,
            ..Outcomes::default()
        };
    });
    assert_eq!(case.of_phases(), [""; 0]);
    case.publish(|publish| {
        publish.connects.lost = 0;
        publish.outcomes = Outcomes {
            offered: 10_000,
            refused: 9_990,
            acknowledged: 10,
            ..Outcomes::default()
        };
    });
    assert_eq!(case.of_phases(), [""; 0]);
}

/// What prepares a load makes no other load of it.
#[test]
fn one_message_is_no_closed_loop() {
    let mut case = Case::closed();
    case.publish(|publish| {
        publish.outcomes = Outcomes {
            offered: 1,
            acknowledged: 1,
            ..Outcomes::default()
        };
    });
    assert_eq!(case.of_phases(), [""; 0]);
}

#[test]
fn a_closed_loop_is_labelled_and_exempt() {
    let mut case = Case::closed();
    case.lag(MILLISECOND, 900 * MILLISECOND);
    case.publish(|publish| {
        publish.sent = 10;
        publish.outcomes = Outcomes {
            unknown: 0,
            failed: 9_990,
            ..outcomes(10_000, 10)
        };
    });
    assert_eq!(case.of_phases(), ["closed-loop"]);
    assert_eq!(case.bottleneck(), "none");
    case.cpu(0.3, 0.9);
    assert_eq!(case.bottleneck(), "target");
    case.cpu(0.95, 0.9);
    assert_eq!(case.bottleneck(), "generator");
}

#[test]
fn a_clock_that_was_set_invalidates_its_phase() {
    let mut case = Case::open();
    case.outcome.phases[0].clock_stepped = true;
    let verdict = case.verdict();
    let kinds = |index: usize| verdict.phases[index].iter().map(|warning| warning.kind.as_str());
    assert_eq!(kinds(0).collect::<Vec<_>>(), ["clock-stepped"]);
    assert_eq!(kinds(1).count(), 0);
}

#[test]
fn stolen_time_and_busy_threads_are_warnings() {
    let mut case = Case::open();
    case.steal = 0.05;
    case.cpu(0.81, 0.85);
    assert_eq!(
        case.kinds(),
        (
            Vec::new(),
            vec!["steal".into(), "generator-cpu".into(), "target-cpu".into()]
        )
    );
    case.steal = 0.01;
    case.cpu(0.8, 0.8);
    assert_eq!(case.kinds(), (Vec::new(), Vec::new()));
}

#[test]
fn a_target_that_nobody_can_look_into_is_named_so() {
    let mut case = Case::open();
    case.outcome.target = None;
    let bottleneck = case.verdict().bottleneck.expect("a bottleneck");
    assert_eq!(bottleneck.who, "none");
    assert!(bottleneck.why.ends_with("the target's is not known"));
}

#[test]
fn few_messages_are_a_warning() {
    let mut case = Case::open();
    case.publish(|publish| {
        publish.outcomes = outcomes(99, 99);
        publish.sent = 99;
    });
    assert_eq!(case.of_phases(), ["few-messages"]);
}

#[test]
fn a_load_that_failed_has_an_invalid_last_phase() {
    let mut case = Case::open();
    case.outcome.failure = Some("a worker ended".into());
    case.outcome.phases.pop();
    case.phases.pop();
    let verdict = case.verdict();
    assert!(verdict.phases[0].is_empty());
    assert_eq!(verdict.phases[1][0].text, "a worker ended");
    assert!(verdict.phases[1][0].invalidates);
}

#[test]
fn datagrams_that_never_left_invalidate_their_phase() {
    let mut case = Case::open();
    let drops = |phase, warm_up, dropped_datagrams| Interval {
        dropped_datagrams,
        ..Interval::new(phase, 0, warm_up)
    };
    case.outcome.intervals = vec![drops(0, false, 0), drops(1, true, 9), drops(2, false, 1)];
    assert_eq!(case.of_phases(), ["!generator-dropped"]);
    assert!(
        case.verdict().phases[2][0]
            .text
            .contains("no room for 1 datagrams")
    );
    case.outcome.intervals.push(drops(1, false, 2));
    assert_eq!(case.of_phases(), ["!generator-dropped", "!generator-dropped"]);
}

#[test]
fn a_missing_socket_is_told() {
    let mut case = Case::open();
    case.outcome.socket_error = Some("EMFILE".into());
    assert_eq!(case.kinds(), (Vec::new(), vec!["no-socket".into()]));
}

#[test]
fn what_was_over_too_soon_has_no_bottleneck() {
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
fn where_a_subscription_was_refused_nothing_could_be_delivered() {
    let mut case = Case::open();
    case.options.subscribers = Some(Subscribers {
        devices: 2,
        filter: "#".into(),
        shared: None,
        qos: 1,
    });
    case.phases[0].deliveries = Some(Deliveries {
        subscriptions_refused: 1,
        ..Deliveries::default()
    });
    let reason = format!("{SUBSCRIPTION_REFUSED}SUBACK 0x87 not authorized");
    case.phases[0].reasons = [(reason, 1), ("reset by peer".into(), 9)].into();
    let verdict = case.verdict();
    assert!(verdict.phases[0].is_empty(), "its connects are what they are");
    let [warning] = verdict.phases[1].as_slice() else {
        panic!("{:?}", verdict.phases);
    };
    assert!(warning.invalidates);
    assert_eq!(
        warning.text,
        "the server refused 1 of 2 subscriptions (SUBACK 0x87 not authorized): nothing could be delivered there"
    );
}

#[test]
fn where_nothing_is_offered_connections_tell_who_could_give_no_more() {
    let mut case = Case::open();
    case.options.phases.remove(1);
    case.phases.remove(1);
    case.outcome.phases.remove(1);
    case.phases[0].connects.attempted = 100;
    case.phases[0].connects.established = 100;
    assert_eq!(case.bottleneck(), "none");
    assert_eq!(case.kinds(), (Vec::new(), Vec::new()));
    // Of ten devices that were to come back, one has not, after many attempts.
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
fn a_target_that_ends_its_connections_is_the_one_that_could_give_no_more() {
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
            .starts_with("it ended 20 connections and carried 30 % of what was offered")
    );
    assert_eq!(
        case.of_phases(),
        [""; 0],
        "they did not wait, and the lag lost nothing"
    );
    // A generator without a free CPU may have lost them itself.
    case.cpu(0.99, 0.1);
    assert_eq!(case.bottleneck(), "generator");
}
