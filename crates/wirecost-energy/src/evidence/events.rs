//! The charge of an event: a sum of parts, each a figure times how often or how long it is there.
//!
//! ```text
//! charge = wake + update + attach + answer + up kB + down kB + connected s + reachable s     (cellular)
//! charge = join + DHCP + exchange                                                            (Wi-Fi, joined anew)
//! ```
//!
//! Figures are fitted in their logarithms, with the relative errors of the points and a beginning that they are drawn to: they stay
//! above 0, and a figure of which the points say nothing keeps its beginning.

use super::{Class, Held, Row};
use crate::measurement::{Address, Does, Point, Publication, Radio};

/// The parts of an event.
const PARTS: usize = 8;

/// How often or how long each part is there.
type Parts = [f64; PARTS];

/// Where the figures of LTE-M begin, in coulombs: leave power saving, update, attach, wait for an answer, a kB up and down, a second
/// connected and a second reachable. The wake-up is the maker's update of 105 mJ at 3.7 V, a kB up is 105 mA for 8,000 bits at
/// 180 kbit/s with its grants; the others are assumed.
const LTE_M: Parts = [0.0284, 0.010, 0.010, 0.005, 0.015, 0.005, 0.008, 0.0005];

/// The same of NB-IoT. All are assumed: the maker's update of 550 mJ (149 mC) is more than twice what either publication measured.
const NB_IOT: Parts = [0.060, 0.005, 0.030, 0.015, 0.060, 0.020, 0.008, 0.0005];

/// Where those of Wi-Fi begin: half a second to join, a second for an address and 0.2 s for an exchange, at 100 mA.
const JOINED: Parts = [0.050, 0.100, 0.020, 0.0, 0.0, 0.0, 0.0, 0.0];

/// How far a figure may be from where it begins: a factor, as a standard deviation.
const BEGINNING: f64 = 2.0;

/// How far a point may be from the model: the same.
const POINT: f64 = 1.16;

/// The connection of a device that asks for its release, in seconds, where the publication says no time (A. Kraus, 2022-06: about 1 s).
const RELEASED_S: f64 = 1.0;

/// Steps of the fit; it has converged long before.
const STEPS: usize = 60;

/// The largest step of a logarithm.
const LARGEST_STEP: f64 = 0.5;

/// The seed of the draw of halves. It was chosen before the first fit.
const SEED: u64 = 1;

fn beginning(radio: Radio) -> Option<Parts> {
    match radio {
        Radio::LteM => Some(LTE_M),
        Radio::NbIot => Some(NB_IOT),
        Radio::WifiJoined => Some(JOINED),
        Radio::Cellular | Radio::Wifi | Radio::EspNow | Radio::None => None,
    }
}

/// The parts of an event; an error says what the publication does not say.
fn parts(point: &Point) -> Result<Parts, &'static str> {
    let does = point.does.ok_or("what the device does is not said")?;
    let settings = &point.settings;
    let flag = |is: bool| f64::from(u8::from(is));
    if point.radio == Radio::WifiJoined {
        let asks = settings.address == Some(Address::Dhcp);
        let sends = matches!(does, Does::Exchange | Does::OneWay);
        return Ok([1.0, flag(asks), flag(sends), 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
    let is_kept = matches!(does, Does::OneWay | Does::Exchange);
    let connected = match (is_kept, settings.inactivity, settings.rai) {
        // An update or an attach ends by itself: the network releases the device at once.
        (false, ..) => 0.0,
        (true, Some(inactivity), _) => inactivity.as_secs_f64(),
        (true, None, Some(true)) => RELEASED_S,
        (true, None, _) => return Err("the inactivity time is not said"),
    };
    Ok([
        1.0,
        flag(does == Does::Update),
        flag(matches!(does, Does::OnOff | Does::Attach)),
        flag(matches!(does, Does::Exchange | Does::OnOff)),
        point.up as f64 / 1e3,
        point.down as f64 / 1e3,
        connected,
        settings.active.map_or(0.0, |active| active.as_secs_f64()),
    ])
}

fn sum(figures: &Parts, parts: &Parts) -> f64 {
    figures
        .iter()
        .zip(parts)
        .map(|(figure, part)| figure * part)
        .sum()
}

/// The figures that fit points best: parts and the measured charge of each.
fn fit(beginning: &Parts, points: &[(Parts, f64)]) -> Parts {
    let [of_beginning, of_point] = [BEGINNING, POINT].map(|factor| 1.0 / factor.ln().powi(2));
    let mut figures = *beginning;
    for _ in 0..STEPS {
        let mut matrix = [[0.0; PARTS]; PARTS];
        let mut right = [0.0; PARTS];
        for at in 0..PARTS {
            matrix[at][at] = of_beginning;
            if figures[at] > 0.0 {
                // The beginning counts as one more observation of each figure: with few points the others would be undetermined.
                right[at] = of_beginning * (beginning[at] / figures[at]).ln();
            }
        }
        for (parts, measured) in points {
            let predicted = sum(&figures, parts);
            // The derivative of the logarithm of the sum by that of a figure: the fit is of relative errors, as charges differ by factors.
            let share: Parts = core::array::from_fn(|at| figures[at] * parts[at] / predicted);
            let error = (measured / predicted).ln();
            for row in 0..PARTS {
                right[row] += of_point * share[row] * error;
                for column in 0..PARTS {
                    matrix[row][column] += of_point * share[row] * share[column];
                }
            }
        }
        let step = solve(matrix, right);
        let largest = step.iter().fold(LARGEST_STEP, |most, one| most.max(one.abs()));
        for (figure, one) in figures.iter_mut().zip(step) {
            // A step in logarithms keeps every figure positive; a limit keeps it from overshooting.
            *figure *= (one * LARGEST_STEP / largest).exp();
        }
    }
    figures
}

/// Solves a system whose matrix is symmetric and positive: no pivot is 0.
fn solve(mut matrix: [[f64; PARTS]; PARTS], mut right: [f64; PARTS]) -> [f64; PARTS] {
    for pivot in 0..PARTS {
        let of_pivot = matrix[pivot];
        for row in pivot + 1..PARTS {
            let factor = matrix[row][pivot] / of_pivot[pivot];
            for (value, of_pivot) in matrix[row].iter_mut().zip(of_pivot) {
                *value -= factor * of_pivot;
            }
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..PARTS).rev() {
        let known: f64 = (row + 1..PARTS)
            .map(|column| matrix[row][column] * right[column])
            .sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

/// A point with its publication.
type Placed<'a> = (&'a str, &'a Point);

/// The rows of events: each predicted without its half of the publication, and without its publication.
pub(super) fn rows(publications: &[Publication]) -> Vec<Row> {
    let each = publications.iter();
    let all: Vec<Placed<'_>> = each
        .flat_map(|one| one.points.iter().map(|point| (one.name.as_str(), point)))
        .filter(|(_, point)| point.is_judged() && matches!(Class::from_point(point), Some(Class::Events(_))))
        .collect();
    let mut rows = Vec::new();
    for placed in &all {
        let (publication, point) = *placed;
        let halves = halves(&all, placed);
        let in_other_half = |other: &Placed<'_>| other.0 == publication && halves(other) != halves(placed);
        let elsewhere = |other: &Placed<'_>| other.0 != publication;
        let of_publication = |other: &&Placed<'_>| other.0 == publication && is_alike(point, other.1);
        // Halves of less would leave one point to fit eight figures.
        if all.iter().filter(of_publication).count() >= 4 {
            rows.extend(row(placed, &all, Held::Half, &in_other_half));
        }
        rows.extend(row(placed, &all, Held::Publication, &elsewhere));
    }
    rows
}

/// Which half of its publication a point is in: the points of a radio in the order of their draws, every second one.
fn halves<'a>(all: &'a [Placed<'a>], of: &'a Placed<'a>) -> impl Fn(&Placed<'_>) -> bool {
    let same = all
        .iter()
        .filter(move |other| other.0 == of.0 && is_alike(of.1, other.1));
    let mut drawn: Vec<(u64, &str)> = same
        .map(|(_, point)| (draw(&point.id), point.id.as_str()))
        .collect();
    drawn.sort_unstable();
    move |placed: &Placed<'_>| {
        let at = drawn.iter().position(|(_, id)| *id == placed.1.id);
        at.is_some_and(|at| at % 2 == 0)
    }
}

/// Whether two points are of one radio and one board, so that one fit can have both.
fn is_alike(one: &Point, other: &Point) -> bool {
    one.radio == other.radio && one.board == other.board && one.is_bench == other.is_bench
}

/// The draw of a name: FNV-1a.
fn draw(id: &str) -> u64 {
    let bytes = id.bytes();
    bytes.fold(0xcbf2_9ce4_8422_2325 ^ SEED, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The row of a point, predicted by the points of its radio that `may` be fitted: those of its board, or of its chip where there is
/// none of its board.
fn row(
    (publication, point): &Placed<'_>,
    all: &[Placed<'_>],
    held: Held,
    may: &dyn Fn(&Placed<'_>) -> bool,
) -> Option<Row> {
    let measured = point.charge()?;
    let fitted = |by: &dyn Fn(&Point) -> bool| -> Vec<(Parts, f64)> {
        let others = all
            .iter()
            .filter(|other| may(other) && other.1.radio == point.radio);
        others
            // A maker's bench is no live network, whose events are predicted here.
            .filter(|other| !other.1.is_bench && by(other.1))
            .filter_map(|other| Some((parts(other.1).ok()?, other.1.charge()?)))
            .collect()
    };
    // The same chip takes more on a board with other parts: the board's own points come first.
    let mut points = fitted(&|other| other.board == point.board);
    let is_other_board = points.is_empty();
    if is_other_board {
        points = fitted(&|other| other.device == point.device);
    }
    let predicted = match (beginning(point.radio), parts(point)) {
        (None, _) => Err("no model of its radio"),
        (_, Err(why)) => Err(why),
        (Some(_), _) if points.is_empty() => Err("no other publication of its device"),
        (Some(beginning), Ok(parts)) => Ok(sum(&fit(&beginning, &points), &parts)),
    };
    Some(Row {
        publication: (*publication).to_owned(),
        id: point.id.clone(),
        class: Class::Events(point.radio),
        held,
        measured,
        predicted,
        because: because(point, is_other_board),
    })
}

/// What makes a point differ from what was fitted.
fn because(point: &Point, is_other_board: bool) -> Option<String> {
    if point.is_bench {
        return Some("typical value of the maker at its bench; live networks were fitted".to_owned());
    }
    if is_other_board {
        let board = point.board.as_deref().unwrap_or("another board");
        return Some(format!("{board}: another board and antenna than the fitted one"));
    }
    if point.does == Some(Does::OnOff) {
        return Some("switched on and off: no point of this kind was fitted".to_owned());
    }
    let said = point.settings.tx_power.is_some();
    let peak = point
        .settings
        .peak
        .map(|amperes| format!(" (peaks of {:.0} mA)", amperes * 1e3));
    (!said && point.radio == Radio::NbIot)
        .then(|| format!("TX power and coverage are not said{}", peak.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_finds_the_figures_of_points_that_have_them() {
        let truth: Parts = [0.05, 0.02, 0.01, 0.01, 0.03, 0.01, 0.006, 0.001];
        let shapes: Vec<Parts> = (0..64_u32)
            .map(|seed| core::array::from_fn(|at| f64::from((seed * 7 + at as u32 * 13) % 5)))
            .collect();
        let points: Vec<(Parts, f64)> = shapes
            .into_iter()
            .filter(|parts| sum(&truth, parts) > 0.0)
            .map(|parts| (parts, sum(&truth, &parts)))
            .collect();
        let found = fit(&LTE_M, &points);
        for (parts, measured) in &points {
            let off = sum(&found, parts) / measured - 1.0;
            assert!(off.abs() < 0.02, "{off}");
        }
    }

    #[test]
    fn a_figure_of_which_points_say_nothing_keeps_its_beginning() {
        let one = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let found = fit(&NB_IOT, &[(one, 0.03); 8]);
        assert_eq!(found[1..], NB_IOT[1..]);
        assert!((found[0] / 0.03 - 1.0).abs() < 0.01, "{}", found[0]);
    }
}
