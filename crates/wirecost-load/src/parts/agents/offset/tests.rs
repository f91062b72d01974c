use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_000_000 * SECOND;

/// A clock that drifts evenly against this one.
#[derive(Clone, Copy, Debug)]
struct Other {
    offset_ns: i64,
    ppm: i64,
}

impl Other {
    fn offset_at(self, at_ns: u64) -> i64 {
        let since = i128::from(at_ns) - i128::from(START);
        self.offset_ns + (since * i128::from(self.ppm) / 1_000_000) as i64
    }

    fn shows(self, at_ns: u64) -> u64 {
        at_ns.checked_add_signed(self.offset_at(at_ns)).expect("a clock")
    }

    /// An exchange that begins at `sent_ns`, with these times on the way and in between.
    fn exchange(self, sent_ns: u64, [up, between, down]: [u64; 3]) -> Exchange {
        let (received, answered) = (sent_ns + up, sent_ns + up + between);
        Exchange {
            sent_ns,
            received_ns: self.shows(received),
            answered_ns: self.shows(answered),
            heard_ns: answered + down,
        }
    }
}

fn other() -> impl Strategy<Value = Other> {
    let seconds = 900_000 * SECOND as i64;
    (-seconds..seconds, -900_i64..=900).prop_map(|(offset_ns, ppm)| Other { offset_ns, ppm })
}

/// Rounds of exchanges, about a second apart: the pause before each exchange, and its times.
fn rounds() -> impl Strategy<Value = Vec<Vec<(u64, [u64; 3])>>> {
    let way = prop_oneof![0_u64..300_000, 0_u64..200_000_000];
    let times = (way.clone(), 0_u64..5_000_000, way).prop_map(<[u64; 3]>::from);
    let round = prop::collection::vec((0_u64..10_000_000, times), 1..9);
    prop::collection::vec(round, 1..12)
}

fn contains(bounds: &Bounds, offset_ns: i64) -> bool {
    // Stamps of whole nanoseconds are one off at most.
    bounds.low_ns - 1 <= offset_ns && offset_ns <= bounds.high_ns + 1
}

fn measured(other: Other, rounds: &[Vec<(u64, [u64; 3])>]) -> (Offsets, u64) {
    let (mut offsets, mut now) = (Offsets::default(), START);
    for round in rounds {
        for (pause, times) in round {
            now += pause;
            let exchange = other.exchange(now, *times);
            now = exchange.heard_ns;
            offsets.note(&exchange);
            let known = offsets.known().expect("an exchange");
            assert!(contains(&known, other.offset_at(known.at_ns)), "{known:?}");
        }
        offsets.end_round();
        now += SECOND;
    }
    (offsets, now)
}

proptest! {
    #[test]
    fn the_true_offset_is_within_the_bound_at_any_moment(
        other in other(), rounds in rounds(), moments in prop::collection::vec(0.0_f64..1.2, 8),
    ) {
        let (offsets, end) = measured(other, &rounds);
        prop_assert!(!offsets.is_contradicted());
        for moment in moments {
            let at = START + ((end - START) as f64 * moment) as u64;
            let bounds = offsets.at(at).expect("a round");
            prop_assert!(contains(&bounds, other.offset_at(at)), "{:?}", bounds);
            let error = bounds.offset_ns().abs_diff(other.offset_at(at));
            prop_assert!(error <= bounds.error_ns() + 1);
        }
    }

    #[test]
    fn the_true_drift_is_within_its_bound(other in other(), rounds in rounds()) {
        let (offsets, _) = measured(other, &rounds);
        if let Some(drift) = offsets.drift() {
            let error = (drift.ppm - other.ppm as f64).abs();
            prop_assert!(error <= drift.error_ppm + 0.01, "{:?} {:?}", drift, other);
        }
    }

    #[test]
    fn no_stamps_overflow(stamps in prop::array::uniform4(any::<u64>())) {
        let [sent_ns, received_ns, answered_ns, heard_ns] = stamps;
        let exchange = Exchange { sent_ns, received_ns, answered_ns, heard_ns };
        let mut offsets = Offsets::default();
        offsets.note(&exchange);
        offsets.end_round();
        offsets.note(&exchange);
        offsets.end_round();
        let _ = (offsets.at(sent_ns), offsets.error_between(heard_ns, sent_ns, i64::MIN), offsets.drift());
    }
}

#[test]
fn a_bound_covers_unequal_ways() {
    let other = Other {
        offset_ns: 5_000 * SECOND as i64,
        ppm: 0,
    };
    let [up, down] = [80_000_000, 20_000_000];
    let (offsets, _) = measured(other, &[vec![(0, [up, 10_000, down]); 64]]);
    let known = offsets.known().expect("exchanges");
    let off = known.offset_ns().abs_diff(other.offset_ns);
    assert!((29_900_000..30_200_000).contains(&off), "{off}");
    assert!(
        off <= known.error_ns() && known.error_ns() < 51_000_000,
        "{known:?}"
    );
    assert_eq!(offsets.exchanges(), 64);
    assert_eq!(offsets.longest_round_trip_ns(), 100_000_000);
}

#[test]
fn the_fastest_exchange_of_each_way_decides() {
    let other = Other {
        offset_ns: -3_310_250_260,
        ppm: 0,
    };
    let slow = [5_000_000, 0, 5_000_000];
    let round = vec![
        (0, slow),
        (0, [40_000, 0, 9_000_000]),
        (0, [9_000_000, 0, 30_000]),
        (0, slow),
    ];
    let (offsets, _) = measured(other, &[round]);
    let error = offsets.known().expect("exchanges").error_ns();
    assert!(error < 80_000, "{error}");
}

#[test]
fn a_moment_between_two_rounds_is_known_by_both() {
    let other = Other {
        offset_ns: 7,
        ppm: 20,
    };
    let fast = vec![(0, [10_000, 0, 10_000])];
    let slow = vec![(0, [90_000_000, 0, 90_000_000])];
    let (offsets, _) = measured(other, &[fast.clone(), slow, fast]);
    // Half a second after the first round, before the slow one.
    let error = offsets.at(START + SECOND / 2).expect("a round").error_ns();
    assert!((500_000..520_000).contains(&error), "{error}");
    let drift = offsets.drift().expect("three rounds");
    assert!(
        (drift.ppm - 20.0).abs() <= drift.error_ppm && drift.error_ppm < 20.0,
        "{drift:?}"
    );
}

#[test]
fn a_clock_that_is_set_contradicts_itself_and_is_measured_anew() {
    let before = Other { offset_ns: 0, ppm: 0 };
    let after = Other {
        offset_ns: 50_000_000,
        ppm: 0,
    };
    let times = [100_000, 0, 100_000];
    let mut offsets = Offsets::default();
    offsets.note(&before.exchange(START, times));
    offsets.end_round();
    offsets.note(&after.exchange(START + SECOND, times));
    offsets.end_round();
    assert!(offsets.is_contradicted() && offsets.drift().is_none());
    let known = offsets.known().expect("exchanges");
    assert!(contains(&known, after.offset_ns));
    assert!(offsets.error_between(START, u64::MAX, 0).expect("rounds") >= 50_000_000);
}

#[test]
fn stamps_that_contradict_one_another_say_nothing() {
    let mut offsets = Offsets::default();
    offsets.note(&Exchange {
        sent_ns: 10,
        received_ns: 5,
        answered_ns: 5,
        heard_ns: 9,
    });
    offsets.end_round();
    assert_eq!(
        (offsets.known(), offsets.exchanges(), offsets.at(10)),
        (None, 0, None)
    );
}
