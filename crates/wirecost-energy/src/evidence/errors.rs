//! How far predictions are from what was measured, and the interval that follows from it.

use super::{Class, Held, Row};

/// Student's quantile of 90 %, so that 80 % lie between both ends, by degrees of freedom from 1 on; above the last one the normal's.
const STUDENT_90: [f64; 12] = [
    3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356,
];

/// The normal distribution's quantile of 90 %.
const NORMAL_90: f64 = 1.282;

/// The errors of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// The class.
    pub class: Class,
    /// What the fits have not seen.
    pub held: Held,
    /// Predicted over measured of each predicted point, from the lowest up.
    ratios: Vec<f64>,
    /// Points without a prediction.
    pub unpredicted: usize,
    /// Points that lie in the 80 % interval that the other points' errors give.
    pub covered: usize,
}

impl Errors {
    pub(super) fn from_rows<'a>(class: Class, held: Held, rows: impl Iterator<Item = &'a Row>) -> Self {
        let all: Vec<Option<f64>> = rows.map(Row::ratio).collect();
        let mut ratios: Vec<f64> = all.iter().copied().flatten().collect();
        ratios.sort_by(f64::total_cmp);
        // Each is judged by the factor of the others: one that took part in it would be covered by its own error.
        let covered = (0..ratios.len()).filter(|at| {
            let others: Vec<f64> = ratios
                .iter()
                .enumerate()
                .filter(|(other, _)| other != at)
                .map(|(_, ratio)| *ratio)
                .collect();
            factor(&others).is_some_and(|factor| ratios[*at].ln().abs() <= factor.ln())
        });
        Self {
            class,
            held,
            covered: covered.count(),
            unpredicted: all.len() - ratios.len(),
            ratios,
        }
    }

    /// Predicted points.
    pub fn count(&self) -> usize {
        self.ratios.len()
    }

    /// The absolute relative error that a part of the points is within; `None` without points.
    pub fn within(&self, part: f64) -> Option<f64> {
        let mut errors: Vec<f64> = self.ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let at = (part * errors.len() as f64).ceil() as usize;
        errors.get(at.saturating_sub(1)).copied()
    }

    /// How many points are within a factor, either way.
    pub fn within_factor(&self, factor: f64) -> usize {
        let near = |ratio: &&f64| ratio.ln().abs() <= factor.ln();
        self.ratios.iter().filter(near).count()
    }

    /// The factor, either way, of the interval that has 80 % of such points; `None` with fewer than two.
    pub fn factor(&self) -> Option<f64> {
        factor(&self.ratios)
    }
}

/// `exp(t s)` with the root of the mean square `s` of the logarithms, and Student's quantile of as many values.
pub(super) fn factor(ratios: &[f64]) -> Option<f64> {
    let squares: f64 = ratios.iter().map(|ratio| ratio.ln().powi(2)).sum();
    let count = ratios.len();
    let quantile = STUDENT_90
        .get(count.checked_sub(1)?)
        .copied()
        .unwrap_or(NORMAL_90);
    (count > 1).then(|| (quantile * (squares / count as f64).sqrt()).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Radio;

    fn row(ratio: f64) -> Row {
        Row {
            publication: "some".to_owned(),
            id: String::new(),
            class: Class::Events(Radio::NbIot),
            held: Held::Half,
            measured: 1.0,
            predicted: Ok(ratio),
            because: None,
        }
    }

    #[test]
    fn errors_are_relative_and_factors_go_either_way() {
        let rows = [0.5, 0.9, 1.1, 2.0].map(row);
        let errors = Errors::from_rows(Class::Events(Radio::NbIot), Held::Half, rows.iter());
        assert_eq!(errors.count(), 4);
        assert!((errors.within(0.5).expect("a median") - 0.1).abs() < 1e-9);
        assert!((errors.within(1.0).expect("the largest") - 1.0).abs() < 1e-9);
        assert_eq!((errors.within_factor(2.0), errors.within_factor(1.5)), (4, 2));
        assert!(errors.factor().expect("an interval") > 2.0, "few points are wide");
    }

    #[test]
    fn one_point_gives_no_interval() {
        let errors = Errors::from_rows(Class::Windows, Held::Setting, [row(1.2)].iter());
        assert_eq!((errors.factor(), errors.covered), (None, 0));
    }
}
