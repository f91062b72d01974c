//! The mean current of a state: `base + slope x`, where `x` is the setting that the points of a device differ by.
//!
//! With beacons `x` is 1 / DTIM, with windows their part of the time, with transmit power the milliwatts, with eDRX the part of the
//! time that is a paging window. Both are at least 0: less listening never takes more current.

use std::collections::BTreeMap;

use super::{Class, Held, Row};
use crate::measurement::{Point, Publication};

/// The fewest settings of a device of which one can be held out: a line has two figures.
const FEWEST: usize = 3;

/// A base and a slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Amperes at `x = 0`.
    pub base: f64,
    /// Amperes for each `x`.
    pub slope: f64,
}

impl Line {
    /// The line of least squares of the relative errors; `None` without points.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let [mut n, mut x1, mut x2, mut y1, mut xy] = [0.0; 5];
        for (x, y) in points {
            // The relative error counts: currents of one device differ by a factor of ten and more.
            let weight = 1.0 / (y * y);
            n += weight;
            x1 += weight * x;
            x2 += weight * x * x;
            y1 += weight * y;
            xy += weight * x * y;
        }
        if points.is_empty() {
            return None;
        }
        let determinant = n * x2 - x1 * x1;
        let base = (x2 * y1 - x1 * xy) / determinant;
        let slope = (n * xy - x1 * y1) / determinant;
        // Neither a negative current at rest nor less current by more traffic exists: the line is then one of a single figure.
        Some(match (base < 0.0, slope < 0.0) {
            // All at one setting: the slope would be rounding alone.
            (false, false) if determinant.abs() > n * x2 * 1e-12 => Self { base, slope },
            (true, _) => Self {
                base: 0.0,
                slope: xy / x2,
            },
            _ => Self {
                base: y1 / n,
                slope: 0.0,
            },
        })
    }

    /// Amperes at a setting.
    pub fn at(self, x: f64) -> f64 {
        self.base + self.slope * x
    }
}

/// The setting by which the points of a device differ.
fn setting(class: Class, point: &Point) -> Option<f64> {
    let settings = &point.settings;
    match class {
        Class::Beacons(_) => Some(1.0 / f64::from(settings.dtim?)),
        Class::Windows => Some(settings.window?.as_secs_f64() / settings.every?.as_secs_f64()),
        Class::Uplink(_) => Some(10_f64.powf(settings.tx_power? / 10.0)),
        Class::Edrx(_) => Some(settings.paging_window?.as_secs_f64() / settings.edrx?.as_secs_f64()),
        Class::Events(_) => None,
    }
}

/// The points of a device on a board: each with its setting and its amperes.
type Series<'a> = Vec<(&'a Point, f64, f64)>;

/// A row for each setting of each device, predicted by its other settings.
pub(super) fn rows(publications: &[Publication]) -> Vec<Row> {
    let mut rows = Vec::new();
    for publication in publications {
        let mut series: BTreeMap<(Class, &str, Option<&str>), Series<'_>> = BTreeMap::new();
        for point in publication.points.iter().filter(|point| point.is_judged()) {
            let of = || {
                let class = Class::from_point(point)?;
                Some((class, setting(class, point)?, point.current()?))
            };
            if let Some((class, x, amperes)) = of() {
                let of = (class, point.device.as_str(), point.board.as_deref());
                series.entry(of).or_default().push((point, x, amperes));
            }
        }
        for ((class, ..), points) in series {
            rows.extend(held_out(&publication.name, class, &points));
        }
    }
    rows
}

/// What a smaller setting is.
const fn less(class: Class) -> &'static str {
    match class {
        Class::Uplink(_) => "less transmit power",
        Class::Beacons(_) | Class::Windows | Class::Edrx(_) | Class::Events(_) => "less listening",
    }
}

fn held_out(publication: &str, class: Class, points: &[(&Point, f64, f64)]) -> Vec<Row> {
    let all: Vec<(f64, f64)> = points.iter().map(|(_, x, amperes)| (*x, *amperes)).collect();
    let falls = |one: &(f64, f64), other: &(f64, f64)| one.0 > other.0 && one.1 < other.1;
    let each = points.iter().enumerate().map(|(at, (point, x, measured))| {
        let others: Vec<(f64, f64)> = all
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, one)| *one)
            .collect();
        let line = Line::fit(&others).filter(|_| points.len() >= FEWEST);
        let rises = all.iter().any(|one| all.iter().any(|other| falls(one, other)));
        // Beyond the fitted settings the line goes on by assumption alone.
        let outside = others.iter().all(|(other, _)| other < x) || others.iter().all(|(other, _)| other > x);
        Row {
            publication: publication.to_owned(),
            id: point.id.clone(),
            class,
            held: Held::Setting,
            measured: *measured,
            predicted: line
                .map(|line| line.at(*x))
                .ok_or("two settings: none can be held out"),
            because: match (rises, outside) {
                (true, _) => Some(format!(
                    "{} takes more current: no falling model meets it",
                    less(class)
                )),
                (false, true) => Some("outside the fitted settings".to_owned()),
                (false, false) => None,
            },
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_its_points_and_neither_figure_is_below_zero() {
        let line = Line::fit(&[(1.0, 3.0), (0.0, 1.0), (0.5, 2.0)]).expect("a line");
        assert!((line.base - 1.0).abs() < 1e-9 && (line.slope - 2.0).abs() < 1e-9);
        let falling = Line::fit(&[(1.0, 1.0), (0.0, 3.0)]).expect("a line");
        assert_eq!(falling.slope, 0.0);
        let steep = Line::fit(&[(1.0, 1.0), (2.0, 4.0)]).expect("a line");
        assert!(steep.base == 0.0 && steep.slope > 0.0);
        assert_eq!(Line::fit(&[]), None);
    }
}
