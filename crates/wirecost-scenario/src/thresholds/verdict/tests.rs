use wirecost_results::figures::Deliveries;
use wirecost_results::repeat::RunOf;
use wirecost_results::summary::{Outcomes, Times};
use wirecost_results::warning::{Warning, WarningKind};

use super::*;
use crate::load::ScenarioInputs;
use crate::options::load::Phase;
use crate::{Edits, Scenario, Work};

/// The verdict on one demand of a load of two rates whose publish phase has these figures.
fn verdict(name: &str, expression: &str, change: impl Fn(usize, &mut Load)) -> Threshold {
    let text = format!(
        "wirecost: 1\nstack: mqtt-qos1\nrate: [10/s, 20/s]\nlink: {{rtt: 40ms}}\nphases: [{{do: publish, duration: 1s}}]\n\
         thresholds: {{{name:?}: {expression:?}}}\n"
    );
    let scenario = Scenario::read(&text, Edits::default(), ScenarioInputs::NONE).expect(&text);
    let Work::Loads(options) = &scenario.work else {
        panic!("a comparison");
    };
    let mut summary = summary(options.iter().map(load).collect());
    for (index, load) in summary.loads.iter_mut().enumerate() {
        change(index, load);
    }
    let mut verdicts = scenario.thresholds.of_loads(options, &summary);
    assert_eq!(verdicts.len(), 1);
    verdicts.remove(0)
}

fn summary(loads: Vec<Load>) -> LoadSummary {
    LoadSummary {
        schema: 1,
        kind: "load".into(),
        version: String::new(),
        command: String::new(),
        name: String::new(),
        seed: 42,
        interrupted: false,
        loads,
        thresholds: Vec::new(),
        searches: Vec::new(),
        repeats: Vec::new(),
    }
}

fn load(options: &LoadOptions) -> Load {
    let publish = PhaseFigures {
        name: "publish".into(),
        valid: true,
        outcomes: Outcomes {
            offered: 1_000,
            acknowledged: 990,
            unknown: 10,
            ..Outcomes::default()
        },
        carried_rate: Some(9.9),
        response_time_ns: Some(Times {
            n: 990,
            mean: 50e6,
            p50: Some(45_000_000),
            p99: Some(119_000_000),
            ..Times::default()
        }),
        ..PhaseFigures::default()
    };
    let connect = PhaseFigures {
        name: "connect".into(),
        valid: true,
        ..PhaseFigures::default()
    };
    Load {
        key: identity::key(options),
        valid: true,
        phases: vec![connect, publish],
        ..Load::default()
    }
}

#[test]
fn demands_are_judged_by_their_expression() {
    for (name, expression, pass, actual) in [
        ("response_time", "p(99)<120ms", true, Some(0.119)),
        ("response_time", "p(99)<119ms", false, Some(0.119)),
        ("response_time", "p(99)<=119ms", true, Some(0.119)),
        ("response_time", "p(99) < 3*link.rtt", true, Some(0.119)),
        ("response_time", "p(99)<link.rtt*2", false, Some(0.119)),
        ("response_time", "avg==50ms", true, Some(0.05)),
        ("response_time", "p(99.9)<1s", false, None),
        ("messages_lost", "count==0", false, Some(10.0)),
        ("messages_lost", "count!=0", true, Some(10.0)),
        ("acknowledged", "rate>=99%", true, Some(0.99)),
        ("acknowledged", "rate>99%", false, Some(0.99)),
        ("carried_rate", "value>=9.9/s", true, Some(9.9)),
        ("valid", "rate==100%", true, Some(1.0)),
    ] {
        let threshold = verdict(name, expression, |_, _| {});
        assert_eq!(
            (threshold.pass, threshold.actual),
            (pass, actual),
            "{name} {expression}"
        );
    }
}

#[test]
fn a_demand_holds_in_every_load_and_shows_the_worst() {
    let slow = |index: usize, load: &mut Load| {
        if let Some(times) = load.phases[1].response_time_ns.as_mut().filter(|_| index == 1) {
            times.p99 = Some(500_000_000);
        }
    };
    let all = verdict("response_time", "p(99)<150ms", slow);
    assert_eq!((all.pass, all.actual), (false, Some(0.5)));
    let one = verdict("response_time{rate=10/s}", "p(99)<150ms", slow);
    assert_eq!((one.pass, one.actual), (true, Some(0.119)));
}

#[test]
fn a_repeated_load_is_judged_by_the_mean_of_its_runs() {
    let runs = |valid: bool| {
        move |index: usize, load: &mut Load| {
            load.run_of = Some(RunOf {
                load: "k".into(),
                run: index as u32 + 1,
                runs: 2,
            });
            load.phases[1].carried_rate = Some([9.0, 11.0][index]);
            load.phases[1].valid = valid || index == 0;
        }
    };
    let both = verdict("carried_rate", "value>=10/s", runs(true));
    assert_eq!((both.pass, both.actual), (true, Some(10.0)));
    let [low, high] = both.interval.expect("an interval");
    // t(1) = 12.706, and the standard error is 1.
    assert!((low + 2.706).abs() < 1e-3 && (high - 22.706).abs() < 1e-3);
    assert!(!verdict("carried_rate", "value>=10/s", runs(false)).pass);
}

#[test]
fn invalid_loads_never_pass() {
    let invalid = |_: usize, load: &mut Load| load.phases[1].valid = false;
    let threshold = verdict("response_time", "p(99)<10s", invalid);
    assert_eq!((threshold.pass, threshold.actual), (false, None));
    assert_eq!(verdict("valid", "rate==100%", invalid).actual, Some(0.0));
    let refused = |_: usize, load: &mut Load| load.not_run = Some("no".into());
    let threshold = verdict("response_time", "p(99)<10s", refused);
    assert_eq!((threshold.pass, threshold.actual), (false, None));
}

#[test]
fn a_late_generator_limits_what_its_lateness_can_falsify_alone() {
    let late = |_: usize, load: &mut Load| {
        let text = "the generator was late".to_owned();
        load.phases[1].valid = false;
        load.phases[1].warnings = vec![Warning::invalid(WarningKind::ScheduleLag, text)];
        load.phases[1].service_time_ns = load.phases[1].response_time_ns.clone();
    };
    for (name, expression, pass, actual) in [
        ("acknowledged", "rate>=99%", true, Some(0.99)),
        ("messages_lost", "count==10", true, Some(10.0)),
        ("response_time", "p(99)<120ms", true, Some(0.119)),
        // The time is at most 119 ms.
        ("response_time", "p(99)<119ms", false, None),
        ("response_time", "p(99)>1ms", false, None),
        ("service_time", "p(99)<120ms", false, None),
        ("carried_rate", "value>=9.9/s", true, Some(9.9)),
        ("carried_rate", "value<100/s", false, Some(9.9)),
        ("valid", "rate==100%", false, Some(0.0)),
    ] {
        let threshold = verdict(name, expression, late);
        assert_eq!(
            (threshold.pass, threshold.actual),
            (pass, actual),
            "{name} {expression}"
        );
    }
}

#[test]
fn a_stack_without_a_connect_has_no_time_of_it() {
    let read = |stacks: &str| {
        let text = format!(
            "wirecost: 1\nstack: {stacks}\nphases: [{{do: publish, rate: 10/s, duration: 1s}}]\n\
             thresholds: {{connect_time: \"p(50)<1s\"}}\n"
        );
        Scenario::read(&text, Edits::default(), ScenarioInputs::NONE)
    };
    let refused = read("coap-con").expect_err("nothing to look at").to_string();
    assert!(
        refused.contains("connect_time: what it names has no such metric"),
        "{refused}"
    );
    for stacks in ["coap-con+dtls1.3", "[coap-con, mqtt-qos1]"] {
        read(stacks).expect(stacks);
    }
}

/// What ends a load whose publish phase has these figures after so many seconds.
fn ends(demand: &str, seconds: u64, change: impl Fn(&mut PhaseFigures)) -> Option<Threshold> {
    let text = format!(
        "wirecost: 1\nstack: mqtt-qos1\nrate: 10/s\nlink: {{rtt: 40ms}}\nphases: [{{do: publish, duration: 1s}}]\n\
         thresholds: {{{demand}}}\n"
    );
    let scenario = Scenario::read(&text, Edits::default(), ScenarioInputs::NONE).expect(&text);
    let Work::Loads(options) = &scenario.work else {
        panic!("a comparison");
    };
    let mut publish = load(&options[0]).phases.remove(1);
    publish.response_kind = Some("to_ack".into());
    change(&mut publish);
    let lasted = std::time::Duration::from_secs(seconds);
    scenario
        .thresholds
        .failing_early(&options[0], 1, &publish, lasted)
}

#[test]
fn demands_end_a_load_when_their_time_has_come() {
    let demand = "response_time: {expr: \"p(99)<2*link.rtt\", abort_on_fail: true, after: 5s}";
    assert_eq!(ends(demand, 4, |_| {}), None);
    let ended = ends(demand, 5, |_| {}).expect("an end");
    assert_eq!(
        (ended.metric.as_str(), ended.actual),
        ("response_time", Some(0.119))
    );
    let patient = "response_time: \"p(99)<2*link.rtt\"";
    assert_eq!(ends(patient, 5, |_| {}), None, "it does not ask for it");
}

#[test]
fn a_count_that_may_still_grow_ends_nothing() {
    let abort = |metric: &str, expression: &str| {
        ends(
            &format!("{metric}: {{expr: \"{expression}\", abort_on_fail: true}}"),
            1,
            |publish| {
                publish.outcomes.offered = 5_000;
                publish.outcomes.late = 10;
            },
        )
        .is_some()
    };
    assert!(!abort("acknowledged", "count>=4000"), "it grows");
    assert!(!abort("acknowledged", "count==4000"), "it grows");
    assert!(abort("late", "count==0") && abort("late", "count<5"));
    assert!(
        !abort("acknowledged", "rate>=98%"),
        "what is on its way is no failure"
    );
    assert!(abort("acknowledged", "rate>=99%"));
    assert!(!abort("valid", "rate==100%"), "known at the end");
    assert!(abort("carried_rate", "value>=10/s") && !abort("carried_rate", "value>=9/s"));
}

#[test]
fn where_nothing_answers_the_end_of_the_phase_is_waited_for() {
    let unanswered = |publish: &mut PhaseFigures| publish.response_kind = None;
    let abort = |demand: &str| ends(demand, 1, unanswered).is_some();
    assert!(!abort("messages_lost: {expr: \"count==0\", abort_on_fail: true}"));
    assert!(!abort(
        "carried_rate: {expr: \"value>=10/s\", abort_on_fail: true}"
    ));
}

#[test]
fn a_demand_that_ended_a_load_has_failed() {
    let aborted = verdict("response_time", "p(99)<120ms", |index, load| {
        load.aborted = (index == 1).then(|| Threshold {
            metric: "response_time".into(),
            expression: "p(99)<120ms".into(),
            actual: Some(0.3),
            interval: None,
            pass: false,
        });
    });
    assert_eq!((aborted.pass, aborted.actual), (false, Some(0.3)));
}

#[test]
fn a_demand_does_not_apply_to_phases_without_the_figure() {
    let whole = |_: usize, load: &mut Load| {
        load.phases[0].connect_time_ns = Some(Times {
            n: 10,
            mean: 2e6,
            ..Times::default()
        });
        load.phases.push(PhaseFigures {
            name: "replay".into(),
            valid: true,
            ..PhaseFigures::default()
        });
    };
    for (name, expression, actual) in [
        ("response_time", "p(99)<120ms", 0.119),
        ("connect_time", "mean<5ms", 0.002),
        ("acknowledged", "rate>=99%", 0.99),
    ] {
        let threshold = verdict(name, expression, whole);
        assert_eq!((threshold.pass, threshold.actual), (true, Some(actual)), "{name}");
    }
    let silent = |_: usize, load: &mut Load| load.phases[1].response_time_ns = None;
    assert!(!verdict("response_time", "p(99)<120ms", silent).pass);
}

#[test]
fn stored_messages_add_up_over_phases() {
    let text = |demand: &str| {
        format!(
            "wirecost: 1\nstack: mqtt-qos1\nsession_expiry: 1h\nsubscribers: {{devices: 2, filter: test, qos: 1}}\n\
             thresholds: {{{demand}}}\nphases:\n- {{do: connect}}\n- {{do: drop_all, who: subscribers}}\n\
             - {{do: publish, rate: 10/s, duration: 1s}}\n- {{do: reconnect, who: subscribers}}\n\
             - {{do: await_replay, timeout: 5s}}\n"
        )
    };
    let judged = |demand: &str, replayed: [Option<u64>; 5]| {
        let text = text(demand);
        let scenario = Scenario::read(&text, Edits::default(), ScenarioInputs::NONE).expect(&text);
        let Work::Loads(options) = &scenario.work else {
            panic!("a comparison");
        };
        let figures = |(phase, replayed): (&Phase, Option<u64>)| PhaseFigures {
            name: phase.name().into(),
            valid: true,
            deliveries: replayed.map(|replayed| Deliveries {
                replayed,
                ..Deliveries::default()
            }),
            ..PhaseFigures::default()
        };
        let phases = options[0].phases.iter().zip(replayed).map(figures).collect();
        let load = Load {
            key: identity::key(&options[0]),
            valid: true,
            phases,
            ..Load::default()
        };
        let summary = summary(vec![load]);
        let threshold = scenario.thresholds.of_loads(options, &summary).remove(0);
        (threshold.pass, threshold.actual)
    };
    let came = [None, None, Some(0), Some(15), Some(5)];
    assert_eq!(judged("replayed: \"count>=20\"", came), (true, Some(20.0)));
    assert_eq!(judged("replayed: \"count>=21\"", came), (false, Some(20.0)));
    let one = "\"replayed{phase=reconnect}\": \"count>=15\"";
    assert_eq!(judged(one, came), (true, Some(15.0)));
    assert_eq!(judged(one, [None; 5]), (false, Some(0.0)));
}
