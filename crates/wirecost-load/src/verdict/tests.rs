mod bottleneck;
mod so_far;

use std::time::Duration;

use wirecost_results::figures::{Deliveries, Interval};
use wirecost_results::summary::{Outcomes, Times};
use wirecost_scenario::options::load::{LoadTarget, Offer, Subscribers, Who};
use wirecost_stack::target::Target;

use super::*;
use crate::devices::roles::subscriber::SUBSCRIPTION_REFUSED;
use crate::parts::outcome::GeneratorError;
use crate::parts::outcome::PhaseTimes;

const MILLISECOND: u64 = 1_000_000;

/// A load of connect, publish and close, in which everything was carried and nothing was late.
struct Case {
    options: LoadOptions,
    phases: Vec<PhaseFigures>,
    outcome: LoadOutcome,
    taken: Taken,
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
            spread: None,
        };
        let connect = Phase::Connect {
            who: Who::All,
            rate: None,
        };
        let phases = vec![connect, Phase::Publish(offer), Phase::Close { rate: None }];
        let figures = |phase: &Phase| PhaseFigures {
            name: phase.name().into(),
            ..PhaseFigures::default()
        };
        let mut case = Self {
            phases: phases.iter().map(figures).collect(),
            outcome: LoadOutcome {
                phases: vec![PhaseTimes::default(); phases.len()],
                ..LoadOutcome::default()
            },
            options: LoadOptions {
                phases,
                ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
            },
            taken: Taken::default(),
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

    /// Sets the CPU share of the busiest threads of both sides.
    fn cpu(&mut self, generator: f64, target: f64) {
        let spent = |share| Spent {
            telling_share: Some(share),
            ..Spent::default()
        };
        self.outcome.generator = spent(generator);
        self.outcome.target = Some(spent(target));
    }

    fn verdict(&self) -> Verdict {
        judge(&Evidence {
            options: &self.options,
            phases: &self.phases,
            outcome: &self.outcome,
            taken: self.taken,
            link: None,
        })
    }

    fn bottleneck(&self) -> String {
        self.verdict().bottleneck.expect("a bottleneck").who
    }

    fn why(&self) -> String {
        self.verdict().bottleneck.expect("a bottleneck").why
    }

    /// The kinds of the warnings about the phases and about the load. A mark shows those that invalidate.
    fn kinds(&self) -> (Vec<String>, Vec<String>) {
        let kinds = |warnings: &[Warning]| -> Vec<String> {
            let kind = |warning: &Warning| match warning.invalidates {
                true => format!("!{}", warning.kind),
                false => warning.kind.name().to_owned(),
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
fn a_load_that_kept_its_schedule_has_no_warning() {
    let case = Case::open();
    assert_eq!(case.kinds(), (Vec::new(), Vec::new()));
    assert_eq!(case.bottleneck(), "none");
}

#[test]
fn a_lag_of_milliseconds_is_harmless_in_a_delay_of_seconds() {
    let mut case = Case::new("mqtt-qos0", OPEN);
    case.publish(|publish| {
        publish.response_time_ns = None;
        publish.schedule_lag_ns = Some(times(|times| times.p99 = Some(3 * MILLISECOND)));
    });
    for (delay_p50_ns, is_valid) in [(MILLISECOND, false), (30 * MILLISECOND, true)] {
        case.publish(|publish| {
            publish.one_way_delay_ns = Some(times(|times| times.p50 = Some(delay_p50_ns)));
        });
        let expected: &[&str] = if is_valid { &[] } else { &["!schedule-lag"] };
        assert_eq!(case.of_phases(), expected, "{delay_p50_ns}");
    }
}

#[test]
fn the_lag_limit_is_a_tenth_of_the_median_plus_1_ms() {
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
fn an_invalid_phase_invalidates_no_other() {
    let mut case = Case::open();
    case.lag(MILLISECOND, 9 * MILLISECOND);
    let verdict = case.verdict();
    let invalid = |warnings: &Vec<Warning>| warnings.iter().any(|warning| warning.invalidates);
    let phases: Vec<bool> = verdict.phases.iter().map(invalid).collect();
    assert_eq!((phases, verdict.warnings), (vec![false, true, false], Vec::new()));
}

#[test]
fn messages_that_the_generator_could_not_send_invalidate() {
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

/// Growing response times cause a warning if messages wait, however many are carried in the end.
#[test]
fn waiting_messages_are_told_from_lost_ones() {
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

/// A phase that prepares a load does not change the kind of the load.
#[test]
fn a_single_message_is_not_a_closed_loop() {
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
fn a_clock_that_was_set_invalidates_the_phase() {
    let mut case = Case::open();
    case.outcome.phases[0].clock_stepped = true;
    let verdict = case.verdict();
    let kinds = |index: usize| verdict.phases[index].iter().map(|warning| warning.kind.name());
    assert_eq!(kinds(0).collect::<Vec<_>>(), ["clock-stepped"]);
    assert_eq!(kinds(1).count(), 0);
}

#[test]
fn stolen_time_and_busy_threads_are_warnings() {
    let mut case = Case::open();
    case.taken = Taken {
        by_hypervisor: 0.05,
        by_programs: 0.25,
    };
    case.cpu(0.81, 0.85);
    assert_eq!(
        case.kinds(),
        (
            Vec::new(),
            ["steal", "other-programs", "generator-cpu", "target-cpu"]
                .map(String::from)
                .to_vec()
        )
    );
    case.taken = Taken {
        by_hypervisor: 0.01,
        by_programs: 0.1,
    };
    case.cpu(0.8, 0.8);
    assert_eq!(case.kinds(), (Vec::new(), Vec::new()));
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
fn a_phase_without_a_single_success_is_invalid() {
    let mut case = Case::open();
    case.publish(|publish| publish.outcomes = outcomes(1_000, 0));
    assert!(case.of_phases().contains(&"!no-samples".into()));
    case.publish(|publish| publish.outcomes = outcomes(1_000, 1));
    assert!(!case.of_phases().contains(&"!no-samples".into()));
    // If nothing answers and no target counts, no times are expected.
    let mut silent = Case::new("mqtt-qos0", OPEN);
    silent.publish(|publish| publish.outcomes = outcomes(1_000, 0));
    assert!(!silent.of_phases().contains(&"!no-samples".into()));
    silent.publish(|publish| {
        publish.outcomes = Outcomes {
            offered: 1_000,
            lost: 1_000,
            ..Outcomes::default()
        };
    });
    assert!(silent.of_phases().contains(&"!no-samples".into()));
}

#[test]
fn a_load_that_failed_has_an_invalid_last_phase() {
    let mut case = Case::open();
    case.outcome.failure = Some(GeneratorError::Part("a worker ended".into()));
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
            .contains("no room for 1 datagram")
    );
    case.outcome.intervals.push(drops(1, false, 2));
    assert_eq!(case.of_phases(), ["!generator-dropped", "!generator-dropped"]);
}

#[test]
fn a_missing_socket_is_reported() {
    let mut case = Case::open();
    case.outcome.socket_error = Some("EMFILE".into());
    assert_eq!(case.kinds(), (Vec::new(), vec!["no-socket".into()]));
}

#[test]
fn a_refused_subscription_cannot_have_deliveries() {
    let mut case = Case::open();
    case.options.subscribers = Some(Subscribers {
        devices: 2,
        filter: "#".into(),
        poll: None,
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
fn connections_that_do_not_last_cause_a_warning() {
    let case = |lost| {
        let mut case = Case::open();
        case.publish(|publish| publish.connects.lost = lost);
        case
    };
    let devices = u64::from(Case::open().options.clients);
    assert_eq!(
        case(devices).of_phases(),
        Vec::<String>::new(),
        "each may lose one"
    );
    assert_eq!(case(devices + 1).of_phases(), ["connections-lost"]);
    let mut on_anothers = case(devices + 1);
    let ours = on_anothers.verdict().phases[1][0].text.clone();
    let url = "mqtt://192.0.2.1/x".parse().expect("a URL");
    on_anothers.options.target = LoadTarget::Url(url);
    let theirs = on_anothers.verdict().phases[1][0].text.clone();
    assert!(
        theirs.starts_with(&ours) && theirs.contains("--client-id"),
        "{theirs}"
    );
    let mut unknown = case(devices + 1);
    unknown.publish(|publish| {
        publish.outcomes = Outcomes {
            offered: 10_000,
            acknowledged: 9_990,
            unknown: 10,
            ..Outcomes::default()
        };
    });
    let text = |case: &Case| case.verdict().phases[1][0].text.clone();
    assert!(
        text(&unknown).contains("10 messages without an answer"),
        "{}",
        text(&unknown)
    );
    unknown.options.session_expiry = Some(std::time::Duration::from_secs(60));
    assert_eq!(text(&unknown), ours, "they are sent again");
    let mut dropped = case(0);
    dropped.phases[0].connects.lost = 999;
    assert_eq!(dropped.of_phases(), Vec::<String>::new(), "no phase keeps them");
}
