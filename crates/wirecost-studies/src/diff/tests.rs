use super::judged::{Pair, Verdict};
use super::*;
use crate::amount::Amount;
use crate::gate::Tolerance;

const OTHER_SEED: Setting = Setting {
    is_same_seed: false,
    replications: None,
};
const SAME_SEED: Setting = Setting {
    is_same_seed: true,
    replications: None,
};

fn metric(name: &str) -> Metric {
    Metric::named(name).expect(name)
}

fn figure(engine: &str, samples: &[f64]) -> Figure {
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    Figure {
        run: String::new(),
        amount: Amount::number(mean),
        interval: None,
        is_exact: samples.iter().all(|sample| *sample == samples[0]),
        is_median: false,
        engine: engine.into(),
        n: samples.len() as u64,
        samples: samples.to_vec(),
        reference: String::new(),
        model: None,
        is_replicated: false,
    }
}

fn cell(loss: &str) -> Labels {
    Labels::from([
        ("stack", "mqtt-qos1".to_owned()),
        ("messages_per_connection", "1".to_owned()),
        ("link.loss", loss.to_owned()),
    ])
}

fn phase() -> Labels {
    Labels::from([("stack", "mqtt-qos1".to_owned()), ("phase", "publish".to_owned())])
}

fn judged(
    name: &str,
    aggregation: Aggregation,
    labels: &Labels,
    figures: [Figure; 2],
    setting: &Setting,
    tolerance: Tolerance,
) -> Verdict {
    let pair = Pair::new(
        metric(name),
        aggregation,
        tolerance,
        labels,
        figures.map(Some),
        setting,
    );
    pair.verdict(usize::from(pair.is_tested()))
}

fn bytes(labels: &Labels, old: &[f64], new: &[f64]) -> Verdict {
    let figures = [old, new].map(|samples| figure("sim", samples));
    judged(
        "bytes_per_msg",
        Aggregation::Mean,
        labels,
        figures,
        &OTHER_SEED,
        Tolerance::Usual,
    )
}

#[test]
fn one_byte_more_in_every_sample_is_a_change_even_among_retransmissions() {
    assert_eq!(bytes(&cell("0%"), &[166.0; 2], &[167.0; 2]), Verdict::Changed);
    assert_eq!(bytes(&cell("0%"), &[166.0; 20], &[166.0; 20]), Verdict::Same);
    let lossy = |plain: f64| -> Vec<f64> {
        (0..20)
            .map(|at| if at % 5 == 0 { 2.0 * plain } else { plain })
            .collect()
    };
    assert_eq!(bytes(&cell("5%"), &lossy(166.0), &lossy(167.0)), Verdict::Changed);
    // The means differ by 25 B, and by chance.
    let mut unlucky = lossy(166.0);
    unlucky[1..4].fill(332.0);
    assert_eq!(bytes(&cell("5%"), &lossy(166.0), &unlucky), Verdict::Same);
}

#[test]
fn two_equal_samples_are_not_exact_where_packets_are_lost() {
    assert_eq!(bytes(&cell("5%"), &[166.0; 2], &[332.0; 2]), Verdict::Same);
    assert_eq!(bytes(&cell("5%"), &[166.0; 5], &[332.0; 5]), Verdict::Changed);
}

#[test]
fn the_same_seed_in_virtual_time_is_judged_by_equality() {
    let of = |setting: &Setting, tolerance| {
        let figures = [1.0, 1.01].map(|value| Figure {
            samples: Vec::new(),
            is_exact: false,
            ..figure("sim", &[value])
        });
        judged(
            "goodput",
            Aggregation::Value,
            &cell("0%"),
            figures,
            setting,
            tolerance,
        )
    };
    assert_eq!(of(&SAME_SEED, Tolerance::Usual), Verdict::Changed);
    assert_eq!(of(&OTHER_SEED, Tolerance::Usual), Verdict::Unjudged);
    assert_eq!(of(&SAME_SEED, Tolerance::Given(0.02)), Verdict::Same);
}

#[test]
fn figures_of_repeated_runs_are_judged_by_intervals_over_them() {
    let over_runs = |mean: f64, half: f64, n: usize| Figure {
        amount: Amount::seconds(mean),
        interval: Some([mean - half, mean + half]),
        is_exact: false,
        ..figure("live", &vec![mean; n])
    };
    let of = |old: Figure, new: Figure| {
        judged(
            "response_time",
            Aggregation::P50,
            &phase(),
            [old, new],
            &OTHER_SEED,
            Tolerance::Usual,
        )
    };
    assert_eq!(
        of(over_runs(1.0, 0.05, 5), over_runs(2.0, 0.1, 5)),
        Verdict::Changed
    );
    assert_eq!(
        of(over_runs(1.0, 0.5, 5), over_runs(2.0, 0.5, 5)),
        Verdict::Same,
        "noisy"
    );
    assert_eq!(
        of(over_runs(1.0, 0.01, 5), over_runs(1.2, 0.01, 5)),
        Verdict::Same,
        "within 25 %"
    );
}

#[test]
fn times_of_one_live_run_are_judged_by_value_only_where_a_limit_names_them() {
    let of = |labels: &Labels, tolerance| {
        let figures = [1.0, 1.5].map(|value| Figure {
            samples: Vec::new(),
            is_exact: false,
            interval: Some([value * 0.99, value * 1.01]),
            ..figure("live", &[value])
        });
        judged(
            "response_time",
            Aggregation::P99,
            labels,
            figures,
            &SAME_SEED,
            tolerance,
        )
    };
    assert_eq!(of(&phase(), Tolerance::Usual), Verdict::Unjudged);
    assert_eq!(of(&phase(), Tolerance::Given(0.2)), Verdict::Changed);
    assert_eq!(of(&phase(), Tolerance::Given(0.6)), Verdict::Same);
    assert_eq!(of(&cell("0%"), Tolerance::Usual), Verdict::Unjudged);
}

#[test]
fn a_share_of_messages_changes_where_its_counts_tell_so() {
    let of = |old: f64, new: f64| {
        let figures = [old, new].map(|share| Figure {
            n: 400,
            samples: Vec::new(),
            is_exact: false,
            ..figure("live", &[share])
        });
        judged(
            "acknowledged",
            Aggregation::Rate,
            &phase(),
            figures,
            &OTHER_SEED,
            Tolerance::Given(0.05),
        )
    };
    assert_eq!(of(1.0, 0.8), Verdict::Changed);
    assert_eq!(of(1.0, 0.99), Verdict::Same);
}

#[test]
fn what_only_one_run_has_is_a_line() {
    let changes = [
        Change::Only {
            of: "coap-con".into(),
            run: "old",
            cells: 4,
            why: None,
        },
        Change::Figure {
            of: "mqtt-qos1 (sim)".into(),
            metric: "bytes_per_msg mean".into(),
            old: Some("299 B".into()),
            new: Some("300 B".into()),
            relative: Some(1.0 / 299.0),
        },
    ];
    assert_eq!(
        text(&changes),
        "- coap-con: in the old run alone (4 cells)\n\
         - mqtt-qos1 (sim): bytes_per_msg mean from 299 B to 300 B (+0.3 %)\n"
    );
    assert_eq!(text(&[]), "nothing changed beyond its interval\n");
}
