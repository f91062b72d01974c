//! The study's statements A1 to A13, evaluated on the points of a run.
//!
//! A replication has the same arrivals and places for every stack and size, so that differences are taken within replications. A
//! difference is separable where its 95 % interval excludes 0; without an interval, where at least six replications agree in its sign.

use std::cmp::Ordering;
use std::time::Duration;

use wirecost_results::nbiot::{Check, Point, RunFigures, Verdict};
use wirecost_stats::mean::MeanInterval;

use super::figures::throughput_bit_s;
use super::options::{STUDY_LOADS, STUDY_SIZES};

/// Replications of one sign that separate without an interval: the sign test's p is below 0.05.
const AGREEING: usize = 6;
/// The share of unserved reports at which a curve counts as risen (A8).
const RISEN: f64 = 0.05;

/// The stack that the study calls MQTT: TCP alone.
const MQTT: &str = "tcp";
const CON: &str = "coap-con";
const NON: &str = "coap-non";

/// Evaluates every statement; those whose points are missing are not run.
pub fn evaluate<'a>(points: &'a [Point]) -> Vec<Check> {
    let study = Study(points);
    let statements: [Statement<'a>; 13] = [
        (
            "A1",
            "CoAP's device throughput, NON and CON, is above MQTT's at every load, with both sizes",
            Study::a1,
        ),
        ("A2", "a larger report has a larger device throughput", Study::a2),
        (
            "A3",
            "with 400 B, CON loses throughput faster than NON as load grows",
            Study::a3,
        ),
        (
            "A4",
            "cell throughput peaks first for MQTT, then for CON; NON's peak is outside the plot",
            Study::a4,
        ),
        (
            "A5",
            "every stack serves more than 99 % at 0.5/s and 1/s",
            Study::a5,
        ),
        (
            "A6",
            "MQTT with 400 B serves 96 to 99.5 % at 1.5/s, 93 to 97 % at 2/s, below 90 % from 2.5/s on",
            Study::a6,
        ),
        (
            "A7",
            "CoAP with 400 B serves less than 99 % at 2/s (NON or CON)",
            Study::a7,
        ),
        (
            "A8",
            "curves of unserved reports rise in the order MQTT 400 B, MQTT 25 B, CON 400 B, CON 25 B, NON",
            Study::a8,
        ),
        ("A9", "NON serves most at the highest load", Study::a9),
        (
            "A10",
            "the lowest served path gain is higher for MQTT than for CoAP",
            Study::a10,
        ),
        ("A11", "CON reaches lower path gains than NON", Study::a11),
        ("A12", "the lowest served path gain rises with load", Study::a12),
        (
            "A13",
            "throughput is size over the delay from generation to full reception in the cloud",
            Study::a13,
        ),
    ];
    let check = |(id, statement, evaluate): Statement<'a>| {
        let (verdict, numbers) =
            evaluate(&study).unwrap_or((Verdict::NotRun, "its points are missing".into()));
        Check {
            id: id.into(),
            statement: statement.into(),
            verdict,
            numbers,
        }
    };
    statements.into_iter().map(check).collect()
}

/// An id, its statement and how it is evaluated.
type Statement<'a> = (&'static str, &'static str, fn(&Study<'a>) -> Outcome);
/// A verdict with its numbers; `None` where points are missing.
type Outcome = Option<(Verdict, String)>;

/// The points of a run.
struct Study<'a>(&'a [Point]);

impl Study<'_> {
    fn point(&self, stack: &str, size: usize, load: f64) -> Option<&Point> {
        let mut points = self.0.iter();
        let found = points
            .find(|point| (point.stack.as_str(), point.size_bytes, point.load) == (stack, size, load))?;
        let agrees = self.0.first()?.runs.len() == found.runs.len();
        agrees.then_some(found)
    }

    /// A figure of each replication at each load: `[load][replication]`.
    fn curve(&self, stack: &str, size: usize, of: fn(&RunFigures) -> Option<f64>) -> Option<Vec<Vec<f64>>> {
        let loads = STUDY_LOADS.iter();
        loads
            .map(|load| self.point(stack, size, *load)?.runs.iter().map(of).collect())
            .collect()
    }

    fn a1(&self) -> Outcome {
        let mut parts = Vec::new();
        let mut numbers = Vec::new();
        for (name, stack) in [("NON", NON), ("CON", CON)] {
            let mut least = f64::INFINITY;
            for size in STUDY_SIZES {
                let (coap, mqtt) = (self.curve(stack, size, device)?, self.curve(MQTT, size, device)?);
                for (coap, mqtt) in coap.iter().zip(&mqtt) {
                    parts.push(separate(&differences(coap, mqtt)));
                    least = least.min(mean(coap) / mean(mqtt));
                }
            }
            numbers.push(format!("{name} over MQTT is at least {least:.2}"));
        }
        Some((all_of(&parts, Ordering::Greater), numbers.join(", ")))
    }

    fn a2(&self) -> Outcome {
        let mut parts = Vec::new();
        let mut numbers = Vec::new();
        for stack in [NON, CON, MQTT] {
            let [small, large] = STUDY_SIZES.map(|size| self.curve(stack, size, device));
            let (small, large) = (small?.swap_remove(0), large?.swap_remove(0));
            parts.push(separate(&differences(&large, &small)));
            numbers.push(format!("{stack} {:.1}", mean(&large) / mean(&small)));
        }
        let text = format!("400 B over 25 B at {}/s: {}", STUDY_LOADS[0], numbers.join(", "));
        Some((all_of(&parts, Ordering::Greater), text))
    }

    fn a3(&self) -> Outcome {
        let (con, non) = (self.curve(CON, 400, device)?, self.curve(NON, 400, device)?);
        let slopes = differences(&slopes_of(&con), &slopes_of(&non));
        let ratio: Vec<Vec<f64>> = con
            .iter()
            .zip(&non)
            .map(|(con, non)| con.iter().zip(non).map(|(con, non)| con / non).collect())
            .collect();
        let parts = [separate(&slopes), separate(&slopes_of(&ratio))];
        let ends = [ratio.first(), ratio.last()].map(|ratio| ratio.map_or(f64::NAN, |ratio| mean(ratio)));
        let text = format!(
            "slope of CON less that of NON {}; CON over NON from {:.2} to {:.2}",
            interval_text(&slopes, 1.0, " bit/s per 1/s"),
            ends[0],
            ends[1]
        );
        Some((all_of(&parts, Ordering::Less), text))
    }

    fn a4(&self) -> Outcome {
        let mut holding = 0;
        let mut count = 0;
        let mut peaks = Vec::new();
        for size in STUDY_SIZES {
            let curves = [MQTT, CON, NON].map(|stack| self.curve(stack, size, cell));
            let [mqtt, con, non] = curves;
            let (mqtt, con, non) = (mqtt?, con?, non?);
            for replication in 0..mqtt[0].len() {
                let [mqtt, con, non_peak] = [&mqtt, &con, &non].map(|curve| peak(curve, replication));
                let rises = non.is_sorted_by(|a, b| a[replication] <= b[replication]);
                holding += usize::from(mqtt <= con && con < non_peak && rises);
                count += 1;
            }
            let means = [&mqtt, &con, &non].map(|curve| {
                let means: Vec<Vec<f64>> = curve.iter().map(|values| vec![mean(values)]).collect();
                format!("{}/s", peak(&means, 0))
            });
            peaks.push(format!(
                "{size} B: MQTT {}, CON {}, NON {}",
                means[0], means[1], means[2]
            ));
        }
        let text = format!(
            "holds in {holding} of {count} replications; peaks {}",
            peaks.join("; ")
        );
        Some((by_count(holding, count), text))
    }

    fn a5(&self) -> Outcome {
        let mut parts = Vec::new();
        let mut least = f64::INFINITY;
        for stack in [NON, CON, MQTT] {
            for size in STUDY_SIZES {
                for values in self.curve(stack, size, served)?.iter().take(2) {
                    parts.push(bounded(values, 0.99, 1.0));
                    least = least.min(mean(values));
                }
            }
        }
        Some((
            worst(&parts),
            format!("at least {:.2} % is served", 100.0 * least),
        ))
    }

    fn a6(&self) -> Outcome {
        let curve = self.curve(MQTT, 400, served)?;
        let mut parts = vec![bounded(&curve[2], 0.96, 0.995), bounded(&curve[3], 0.93, 0.97)];
        parts.extend(curve[4..].iter().map(|values| bounded(values, 0.0, 0.90)));
        let shares = curve[2..].iter().zip(&STUDY_LOADS[2..]);
        let shares: Vec<String> = shares
            .map(|(values, load)| format!("{load}/s {}", interval_text(values, 100.0, " %")))
            .collect();
        Some((worst(&parts), shares.join(", ")))
    }

    fn a7(&self) -> Outcome {
        let mut parts = Vec::new();
        let mut numbers = Vec::new();
        for stack in [NON, CON] {
            let values = self.curve(stack, 400, served)?.swap_remove(3);
            parts.push(bounded(&values, 0.0, 0.99));
            numbers.push(format!("{stack} {}", interval_text(&values, 100.0, " %")));
        }
        let verdict = match parts.contains(&Verdict::Holds) {
            true => Verdict::Holds,
            false => worst(&parts),
        };
        Some((verdict, numbers.join(", ")))
    }

    fn a8(&self) -> Outcome {
        let order = [(MQTT, 400), (MQTT, 25), (CON, 400), (CON, 25), (NON, 400)];
        let mut rises = Vec::new();
        for (stack, size) in order {
            let curve = self.curve(stack, size, served)?;
            rises.push(
                (0..curve[0].len())
                    .map(|run| risen_at(&curve, run))
                    .collect::<Vec<f64>>(),
            );
        }
        let parts: Vec<Option<Ordering>> = rises
            .windows(2)
            .map(|pair| separate(&differences(&pair[1], &pair[0])))
            .collect();
        let numbers = order.iter().zip(&rises).map(|((stack, size), loads)| {
            let at = mean(loads);
            match at <= STUDY_LOADS[7] {
                true => format!("{stack} {size} B {at:.2}/s"),
                false => format!("{stack} {size} B beyond {}/s", STUDY_LOADS[7]),
            }
        });
        let text = format!("5 % are unserved at: {}", numbers.collect::<Vec<_>>().join(", "));
        Some((all_of(&parts, Ordering::Greater), text))
    }

    fn a9(&self) -> Outcome {
        let mut parts = Vec::new();
        let mut numbers = Vec::new();
        for size in STUDY_SIZES {
            let last = |stack| Some(self.curve(stack, size, served)?.swap_remove(7));
            let non = last(NON)?;
            for stack in [CON, MQTT] {
                parts.push(separate(&differences(&non, &last(stack)?)));
            }
            let share = |values: &[f64]| 100.0 * mean(values);
            let (con, mqtt) = (last(CON)?, last(MQTT)?);
            let text = format!(
                "{size} B: NON {:.1} %, CON {:.1} %, MQTT {:.1} %",
                share(&non),
                share(&con),
                share(&mqtt)
            );
            numbers.push(text);
        }
        Some((all_of(&parts, Ordering::Greater), numbers.join("; ")))
    }

    /// Per replication, the mean over loads and sizes of the lowest served path gain.
    fn depth(&self, stack: &str) -> Option<Vec<f64>> {
        let mut sums: Vec<f64> = Vec::new();
        let mut count = 0.0;
        for size in STUDY_SIZES {
            for values in self.curve(stack, size, depth)? {
                sums.resize(values.len(), 0.0);
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                count += 1.0;
            }
        }
        Some(sums.into_iter().map(|sum| sum / count).collect())
    }

    fn a10(&self) -> Outcome {
        let (mqtt, con, non) = (self.depth(MQTT)?, self.depth(CON)?, self.depth(NON)?);
        let coap: Vec<f64> = con.iter().zip(&non).map(|(con, non)| (con + non) / 2.0).collect();
        let above = differences(&mqtt, &coap);
        let text = format!("MQTT less CoAP {}", interval_text(&above, 1.0, " dB"));
        Some((all_of(&[separate(&above)], Ordering::Greater), text))
    }

    fn a11(&self) -> Outcome {
        let below = differences(&self.depth(CON)?, &self.depth(NON)?);
        let text = format!("CON less NON {}", interval_text(&below, 1.0, " dB"));
        Some((all_of(&[separate(&below)], Ordering::Less), text))
    }

    fn a12(&self) -> Outcome {
        let mut parts = Vec::new();
        let mut numbers = Vec::new();
        for stack in [NON, CON, MQTT] {
            let mut all = Vec::new();
            for size in STUDY_SIZES {
                let curve = self.curve(stack, size, depth)?;
                all.extend((0..curve[0].len()).map(|run| spearman(&curve, run)));
            }
            parts.push(separate(&all));
            numbers.push(format!("{stack} {:.2}", mean(&all)));
        }
        let text = format!("rank correlation with load: {}", numbers.join(", "));
        Some((all_of(&parts, Ordering::Greater), text))
    }

    #[expect(clippy::unused_self, reason = "a statement like the others")]
    fn a13(&self) -> Outcome {
        let bit_s = throughput_bit_s(25, Duration::from_millis(400));
        let verdict = match (bit_s - 500.0).abs() < 1e-9 {
            true => Verdict::Holds,
            false => Verdict::DoesNotHold,
        };
        Some((verdict, format!("25 B in 0.4 s are {bit_s} bit/s")))
    }
}

const fn device(run: &RunFigures) -> Option<f64> {
    run.device_throughput_bit_s
}

const fn depth(run: &RunFigures) -> Option<f64> {
    run.lowest_served_path_gain_db
}

#[expect(clippy::unnecessary_wraps, reason = "a figure like the others")]
const fn cell(run: &RunFigures) -> Option<f64> {
    Some(run.cell_throughput_bit_s)
}

fn served(run: &RunFigures) -> Option<f64> {
    (run.reports > 0).then(|| run.served as f64 / run.reports as f64)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Whether values differ from 0, and in which direction; `None` where that is not separable.
fn separate(values: &[f64]) -> Option<Ordering> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let bounds = MeanInterval::of(values).and_then(|interval| Some((interval.low?, interval.high?)));
    let agrees = |sign: fn(&f64) -> bool| values.len() >= AGREEING && values.iter().all(sign);
    match bounds {
        Some((low, _)) if low > 0.0 => Some(Ordering::Greater),
        Some((_, high)) if high < 0.0 => Some(Ordering::Less),
        None if agrees(|value| *value > 0.0) => Some(Ordering::Greater),
        None if agrees(|value| *value < 0.0) => Some(Ordering::Less),
        _ => None,
    }
}

/// Whether every difference has the direction.
fn all_of(parts: &[Option<Ordering>], direction: Ordering) -> Verdict {
    if parts.contains(&Some(direction.reverse())) {
        return Verdict::DoesNotHold;
    }
    match parts.iter().all(|part| *part == Some(direction)) {
        true => Verdict::Holds,
        false => Verdict::NotSeparable,
    }
}

/// Whether the mean is between two bounds, by its interval; without one, by every replication.
fn bounded(values: &[f64], least: f64, most: f64) -> Verdict {
    let bounds = MeanInterval::of(values).and_then(|interval| Some((interval.low?, interval.high?)));
    let sorted = values.iter().fold([f64::MAX, f64::MIN], |[low, high], value| {
        [low.min(*value), high.max(*value)]
    });
    let (low, high) = bounds.unwrap_or((sorted[0], sorted[1]));
    // An interval of shares may reach beyond 1.
    if low >= least && (high <= most || most >= 1.0) {
        Verdict::Holds
    } else if high < least || low > most {
        Verdict::DoesNotHold
    } else {
        Verdict::NotSeparable
    }
}

fn worst(parts: &[Verdict]) -> Verdict {
    let all = [Verdict::DoesNotHold, Verdict::NotSeparable];
    let found = all.into_iter().find(|verdict| parts.contains(verdict));
    found.unwrap_or(Verdict::Holds)
}

/// A statement about single replications: it holds if it does in all, and not if it does in half of them or fewer.
const fn by_count(holding: usize, count: usize) -> Verdict {
    if holding == count {
        Verdict::Holds
    } else if holding * 2 <= count {
        Verdict::DoesNotHold
    } else {
        Verdict::NotSeparable
    }
}

/// The slope over load of each replication, by least squares.
fn slopes_of(curve: &[Vec<f64>]) -> Vec<f64> {
    let loads = mean(&STUDY_LOADS);
    let spread: f64 = STUDY_LOADS.iter().map(|load| (load - loads).powi(2)).sum();
    let slope = |run: usize| {
        let products = STUDY_LOADS
            .iter()
            .zip(curve)
            .map(|(load, values)| (load - loads) * values[run]);
        products.sum::<f64>() / spread
    };
    (0..curve[0].len()).map(slope).collect()
}

/// The load of the largest value of a replication.
fn peak(curve: &[Vec<f64>], run: usize) -> f64 {
    let points = STUDY_LOADS.iter().zip(curve);
    let best = points.max_by(|a, b| a.1[run].total_cmp(&b.1[run]));
    best.map_or(f64::NAN, |(load, _)| *load)
}

/// The load at which the share of unserved reports first reaches 5 %, between loads by a straight line; beyond the last one,
/// one step further.
fn risen_at(curve: &[Vec<f64>], run: usize) -> f64 {
    let unserved: Vec<f64> = curve.iter().map(|values| 1.0 - values[run]).collect();
    if unserved[0] >= RISEN {
        return STUDY_LOADS[0];
    }
    for (loads, shares) in STUDY_LOADS.windows(2).zip(unserved.windows(2)) {
        if shares[1] >= RISEN {
            return loads[0] + (loads[1] - loads[0]) * (RISEN - shares[0]) / (shares[1] - shares[0]);
        }
    }
    STUDY_LOADS[7] + 0.5
}

/// Spearman's rank correlation of a replication's values with load; ties have the mean rank.
fn spearman(curve: &[Vec<f64>], run: usize) -> f64 {
    let values: Vec<f64> = curve.iter().map(|values| values[run]).collect();
    let rank = |value: f64| {
        let below = values.iter().filter(|other| **other < value).count() as f64;
        let equal = values.iter().filter(|other| **other == value).count() as f64;
        below + (equal - 1.0) / 2.0
    };
    let ranks: Vec<f64> = values.iter().map(|value| rank(*value)).collect();
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut products, mut squares, mut own) = (0.0, 0.0, 0.0);
    for (place, rank) in ranks.iter().enumerate() {
        let step = place as f64 - middle;
        products += step * (rank - middle);
        squares += step * step;
        own += (rank - middle) * (rank - middle);
    }
    match own > 0.0 {
        true => products / (squares * own).sqrt(),
        false => 0.0,
    }
}

/// A mean with its interval, each times `factor`.
fn interval_text(values: &[f64], factor: f64, unit: &str) -> String {
    let mean = factor * mean(values);
    let bounds = MeanInterval::of(values).and_then(|interval| Some((interval.low?, interval.high?)));
    match bounds {
        Some((low, high)) => format!("{mean:.2}{unit} ({:.2} to {:.2})", factor * low, factor * high),
        None => format!("{mean:.2}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use wirecost_results::nbiot::{DeviceMeans, EnergyByState, Estimate, LevelDelay};

    use super::*;

    #[test]
    fn a_difference_that_is_not_separable_decides_nothing() {
        assert_eq!(
            separate(&[1.0, 1.2, 0.9, 1.1, 1.0, 0.95]),
            Some(Ordering::Greater)
        );
        assert_eq!(separate(&[1.0, -1.2, 0.9, -1.1, 1.0, -0.95]), None);
        assert_eq!(separate(&[1.0]), None);
        let parts = [Some(Ordering::Greater), None];
        assert_eq!(all_of(&parts, Ordering::Greater), Verdict::NotSeparable);
        assert_eq!(all_of(&parts, Ordering::Less), Verdict::DoesNotHold);
    }

    #[test]
    fn a_curve_rises_where_5_percent_are_unserved() {
        let served = [1.0, 1.0, 0.99, 0.93, 0.8, 0.7, 0.6, 0.5];
        let curve: Vec<Vec<f64>> = served.iter().map(|share| vec![*share]).collect();
        // From 1 % at 1.5/s to 7 % at 2/s.
        assert!((risen_at(&curve, 0) - (1.5 + 0.5 * 4.0 / 6.0)).abs() < 1e-9);
        assert!(
            (spearman(&curve, 0) + 1.0).abs() < 0.02,
            "{}",
            spearman(&curve, 0)
        );
        assert_eq!(peak(&curve, 0), 1.0);
    }

    /// Points of both sizes at every load, with six replications of about this device throughput for each stack.
    fn points(throughputs: [(&str, f64); 3]) -> Vec<Point> {
        let mean = Estimate {
            mean: 0.0,
            low: None,
            high: None,
        };
        let mut points = Vec::new();
        for (stack, bit_s) in throughputs {
            for (size_bytes, load) in STUDY_SIZES
                .iter()
                .flat_map(|size| STUDY_LOADS.map(|load| (*size, load)))
            {
                let run = |seed: u32| RunFigures {
                    device_throughput_bit_s: Some(bit_s + f64::from(seed)),
                    ..RunFigures::default()
                };
                points.push(Point {
                    stack: stack.into(),
                    what_if: None,
                    varied: BTreeMap::new(),
                    dci_spacing_ms: 16.0,
                    size_bytes,
                    load,
                    reports: 0,
                    served: mean,
                    delay_p50_s: None,
                    delay_p95_s: None,
                    delay_by_level: <[LevelDelay; 3]>::default(),
                    device_throughput_bit_s: None,
                    cell_throughput_bit_s: mean,
                    lowest_served_path_gain_db: None,
                    bytes_up: 0.0,
                    bytes_down: 0.0,
                    air_bytes_up: 0.0,
                    air_bytes_down: 0.0,
                    dci_use: mean,
                    downlink_use: mean,
                    uplink_use: mean,
                    device: DeviceMeans::default(),
                    energy_mj: 0.0,
                    day_mj: 0.0,
                    energy_by_state_mj: EnergyByState::default(),
                    energy_over_seeds_mj: mean,
                    battery_years: 0.0,
                    kept: None,
                    difference: None,
                    runs: (0..6).map(run).collect(),
                });
            }
        }
        points
    }

    #[test]
    fn coap_is_above_mqtt_only_if_both_of_its_kinds_are() {
        let first = |con: f64| {
            let points = points([(NON, 900.0), (CON, con), (MQTT, 500.0)]);
            evaluate(&points).swap_remove(0)
        };
        let both = first(800.0);
        assert_eq!((both.id.as_str(), both.verdict), ("A1", Verdict::Holds));
        assert!(
            both.numbers.contains("CON over MQTT is at least 1.60"),
            "{}",
            both.numbers
        );
        assert_eq!(first(400.0).verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn statements_without_their_points_are_not_run() {
        let checks = evaluate(&[]);
        assert_eq!(checks.len(), 13);
        let run: Vec<&str> = checks
            .iter()
            .filter(|check| check.verdict != Verdict::NotRun)
            .map(|check| check.id.as_str())
            .collect();
        assert_eq!(run, ["A13"]);
    }
}
