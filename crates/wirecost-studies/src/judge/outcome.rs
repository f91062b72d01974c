//! What the figures of a point come to, and what counts as the published number.

use crate::amount::{Dimension, Published};
use crate::evidence::Figure;
use crate::verdict::Verdict;

/// The tolerance of times, of their ratios, and of all else but bytes.
const TOLERANCE: f64 = 0.25;
/// The tolerance of bytes, of their ratios, and of arithmetic.
pub(super) const TOLERANCE_OF_BYTES: f64 = 0.01;

/// How far figures may be from what is published, and how far apart they are if that is of note.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// The tolerance of the published number as a share; `None` for the usual one.
    pub within: Option<f64>,
    /// The share by which two figures differ at least if their order is of note.
    pub apart: f64,
}

/// What the figures of a point come to, without its bound and what the publication leaves out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict before a measurement of the publication was held against our model: of readings that are all modelled otherwise, the
    /// one that would be kindest decides.
    pub of_model: Verdict,
    /// Why, in one sentence.
    pub why: String,
    /// Our result as text.
    pub ours: String,
    /// Our result in base units, where it is one number.
    pub value: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The figures that were compared.
    pub figures: Vec<Figure>,
}

impl Outcome {
    pub(super) fn new(verdict: Verdict, why: String, ours: String) -> Self {
        Self {
            verdict,
            of_model: verdict,
            why,
            ours,
            value: None,
            interval: None,
            figures: Vec::new(),
        }
    }

    /// What it is against something that the publication measured in the way `measured`: a figure that we modelled does not overrule it.
    pub(super) fn against(self, measured: Option<&str>) -> Self {
        let is_modelled = self.figures.iter().any(|figure| figure.model.is_some());
        match (measured, self.verdict) {
            (Some(how), Verdict::Contradicted | Verdict::Differs | Verdict::NotSeparable) if is_modelled => {
                Self {
                    verdict: Verdict::ModelledOtherwise,
                    why: format!("measured {how} there, and modelled here: {}", self.why),
                    ..self
                }
            }
            _ => self,
        }
    }

    /// The same with the figures that were compared.
    pub(super) fn with_figures(self, figures: Vec<Figure>) -> Self {
        Self { figures, ..self }
    }
}

/// The range that counts as the published number: the tolerance of the claim, and at least what is rounded to the printed digits. An author
/// who prints 44 % has said nothing else than 44.4 %.
pub(super) fn range(published: &Published, within: f64) -> [f64; 2] {
    let value = published.amount.value;
    let tolerance = value.abs() * within;
    if published.is_least {
        return [value - tolerance, f64::INFINITY];
    }
    let reach = tolerance.max(published.half_digit);
    [value - reach, value + reach]
}

/// Whether two ranges have a common number.
pub(super) const fn meets([low, high]: [f64; 2], [other_low, other_high]: [f64; 2]) -> bool {
    low <= other_high && high >= other_low
}

/// The tolerance of a claim, or the usual one of its unit.
pub(super) fn tolerance(within: Option<f64>, dimension: Dimension) -> f64 {
    let usual = if dimension == Dimension::DATA {
        TOLERANCE_OF_BYTES
    } else {
        TOLERANCE
    };
    within.unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounds_to_the_printed_digits_is_the_published_number() {
        let range_of = |text, within| range(&Published::read(text).expect("a number"), within);
        assert_eq!(range_of("44", 0.01), [43.5, 44.5]);
        assert_eq!(range_of("44.0", 0.01), [43.56, 44.44]);
        assert_eq!(range_of(">=10", 0.01), [9.9, f64::INFINITY]);
    }

    #[test]
    fn a_model_does_not_overrule_a_measurement() {
        let modelled = Some(crate::model::Modelled {
            device: "a",
            mostly: "tails",
            share: 1.0,
        });
        let of = |verdict: Verdict, model, measured| {
            let figure = Figure {
                model,
                ..crate::judge::rules::tests::figure(1.0, 0.1)
            };
            let outcome = Outcome::new(verdict, "a is above b".to_owned(), String::new());
            outcome.with_figures(vec![figure]).against(measured)
        };
        let by = Some("by a current clamp");
        for verdict in [Verdict::Contradicted, Verdict::Differs, Verdict::NotSeparable] {
            let outcome = of(verdict, modelled, by);
            assert_eq!(outcome.verdict, Verdict::ModelledOtherwise);
            assert_eq!(
                outcome.why,
                "measured by a current clamp there, and modelled here: a is above b"
            );
            // Ours was measured, or theirs was not.
            assert_eq!(of(verdict, None, by).verdict, verdict);
            assert_eq!(of(verdict, modelled, None).verdict, verdict);
        }
        assert_eq!(of(Verdict::Reproduced, modelled, by).verdict, Verdict::Reproduced);
    }

    #[test]
    fn usual_tolerances_depend_on_the_unit() {
        let close = |left: f64, right: f64| (left - right).abs() < 1e-12;
        assert!(close(tolerance(None, Dimension::TIME), 0.25));
        assert!(close(tolerance(None, Dimension::DATA), 0.01));
        assert!(close(tolerance(Some(0.05), Dimension::DATA), 0.05));
    }
}
