//! The lines of a running load.

use wirecost_load::watch::{Announcement, Tick};
use wirecost_results::figures::Interval;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_stats::Histogram;

use super::*;

fn after(seconds: u64, answered: impl Fn(u64) -> bool) -> State {
    let mut state = State::new(&Announcement {
        name: "mqtt-qos1, 100 clients, 1,000/s".into(),
        stack: "mqtt-qos1".into(),
        target: "built\u{1b}[2Jin".into(),
        clients: 100,
        position: [1, 1],
        phases: vec!["publish".into()],
        ..Announcement::default()
    });
    for second in 0..seconds {
        take(
            &mut state,
            &tick(second, seconds, &interval(second, answered(second))),
        );
    }
    state
}

fn take(state: &mut State, tick: &Tick<'_>) {
    state.add(tick);
    state.judge(tick);
}

fn interval(second: u64, answered: bool) -> Interval {
    let mut interval = Interval::new(0, second as u32, false);
    interval.outcomes.offered = 1_000;
    if answered {
        interval.outcomes.acknowledged = 990;
        interval.outcomes.refused = 4;
        let mut times = Histogram::new();
        times.record(213_000);
        interval.response_time = Some(times);
    }
    interval
}

fn tick(second: u64, of: u64, counted: &Interval) -> Tick<'_> {
    Tick {
        elapsed: Duration::from_secs(second + 1),
        remaining: Some(Duration::from_secs(of * 2 - second)),
        phase: 0,
        warm_up: false,
        asked_rate: Some(1_000.0),
        span: Duration::from_secs(1),
        counted,
        connected: 100,
        generator: Some(Usage {
            cpu_share: 0.12,
            resident_bytes: 14_200_000,
            processes: 1,
            ..Usage::default()
        }),
        target: Some(Usage {
            cpu_share: 0.31,
            resident_bytes: 8_100_000,
            processes: 1,
            ..Usage::default()
        }),
        limits: &[],
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let states = [
        after(0, |_| true),
        after(3, |_| true),
        after(70, |second| second < 50),
    ];
    for state in &states {
        for width in 20..200 {
            for line in block(state, width, Dress::new(false)) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn a_second_fits_into_one_line() {
    assert_eq!(
        plain(&after(12, |_| true)),
        "   12 s  publish  offered 1,000/s  acknowledged 990/s  p50 0.213 p99 0.213 ms  48 refused  72 waiting  \
         100 connected  generator 12 % CPU  target 31 % CPU"
    );
}

/// What the result will not give as it is, is not shown as it is.
#[test]
fn times_of_a_late_generator_are_marked_while_it_is_late() {
    let limits = |kind| {
        let why = "the generator was late by 2.10 ms (p99), more than 1.00 ms: its lateness is a part";
        [Warning::invalid(kind, why.into())]
    };
    let shown = |kind| {
        let mut state = after(1, |_| true);
        let (counted, limits) = (interval(1, true), limits(kind));
        take(
            &mut state,
            &Tick {
                limits: &limits,
                ..tick(1, 3, &counted)
            },
        );
        let lines = block(&state, 100, Dress::new(false));
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{lines:?}");
        let both = [plain(&state), lines.join("\n")];
        // The next second is judged anew.
        take(&mut state, &tick(2, 3, &counted));
        assert!(!plain(&state).contains("so far"));
        both
    };
    for text in shown(WarningKind::ScheduleLag) {
        assert!(text.contains("≤0.213"), "{text}");
        let why = "≤ is at most so far: the generator was late by 2.10 ms (p99), more than 1.00 ms";
        assert!(text.contains(why), "{text}");
    }
    for text in shown(WarningKind::GeneratorSaturated) {
        assert!(
            text.contains("INVALID so far") && !text.contains("0.213"),
            "{text}"
        );
    }
}

/// Hundreds of connects in a moment would flatten a line of messages.
#[test]
fn connects_are_not_drawn_with_messages() {
    let mut state = after(0, |_| true);
    let mut connects = Interval::new(0, 0, false);
    connects.connects.established = 1_000_000;
    take(&mut state, &tick(0, 3, &connects));
    assert_eq!(state.rates, [1_000_000.0]);
    take(&mut state, &tick(1, 3, &interval(1, true)));
    assert_eq!(state.rates, [990.0]);
    assert_eq!(state.tails.len(), 1);
}

/// A target that stalls must be visible: no times, and waiting messages.
#[test]
fn a_stall_is_visible() {
    let state = after(12, |second| second < 10);
    let text = block(&state, 100, Dress::new(false)).join("\n");
    assert!(text.contains("nothing was answered in this second"), "{text}");
    assert!(text.contains("2,060 waiting"), "{text}");
    assert!(text.contains("▁▁\n") && text.contains("··\n"), "{text}");
}

#[test]
fn names_cannot_control_the_terminal() {
    let text = block(&after(2, |_| true), 120, Dress::new(false)).join("\n");
    assert!(!text.contains('\u{1b}'));
    let dressed = block(&after(2, |_| true), 120, Dress::new(true)).join("\n");
    assert!(dressed.contains("\u{1b}[31m8 refused\u{1b}[0m"), "{dressed}");
}
