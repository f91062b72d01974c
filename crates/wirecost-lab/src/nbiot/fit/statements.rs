//! Statements that are measured in the settings that meet the points: in how many they hold, and which parameter tells these apart.

use serde::Serialize;
use wirecost_scenario::fit::{FitBound, FitMeasure, FitStatement, FreeParameter, FreeParameters, FreeValues};

use super::{Fit, FitError, TriedSetting, with_values};

/// Settings on either side without which no parameter is named.
const LEAST: usize = 2;

/// A statement over the settings in which it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatementInFits {
    /// The statement.
    pub text: String,
    /// In how many settings it holds.
    pub holds: usize,
    /// In how many it was measured.
    pub of: usize,
    /// The parameter that separates those where it holds from the others best; `None` where fewer than two are on either side.
    pub by: Option<Separation>,
}

/// How a parameter separates two groups of settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Separation {
    /// The parameter.
    pub path: &'static str,
    /// The probability that its value is larger where the statement holds than where it does not, an equal one counted half: 0.5 where
    /// it separates nothing (Vargha and Delaney's A, Journal of Educational and Behavioral Statistics 25, 2000).
    pub larger: f64,
}

/// The figures of a statement.
pub(super) fn measures_of(statement: &FitStatement) -> Vec<FitMeasure> {
    match statement.bound {
        FitBound::Value(_) => vec![statement.of],
        FitBound::Of(bound) => vec![statement.of, bound],
    }
}

impl Fit<'_> {
    /// Whether each statement holds in a setting. A figure that several statements or points have is measured once.
    pub(super) fn judged(&self, setting: &TriedSetting) -> Result<Vec<Option<bool>>, FitError> {
        let network = with_values(&self.asked.network, &setting.values)
            .map_err(|error| self.at_its_line(&error, &setting.values))?;
        let points = self.points.iter().zip(&setting.measured);
        let mut known: Vec<(FitMeasure, f64)> = points
            .filter_map(|(point, found)| Some((point.of, (*found)?)))
            .collect();
        let mut figure = |of: FitMeasure| -> Result<f64, FitError> {
            // A figure takes whole runs of the cells.
            if let Some((_, found)) = known.iter().find(|(other, _)| *other == of) {
                return Ok(*found);
            }
            let found = self.in_network(of, network.clone())?;
            known.push((of, found));
            Ok(found)
        };
        let each = self.statements.iter().map(|statement| {
            let found = figure(statement.of)?;
            let bound = match statement.bound {
                FitBound::Value(bound) => bound,
                FitBound::Of(of) => figure(of)?,
            };
            Ok(Some(match statement.is_above {
                true => found > bound,
                false => found < bound,
            }))
        });
        each.collect()
    }
}

/// The statements over settings.
pub fn statements_in(
    settings: &[TriedSetting],
    statements: &[FitStatement],
    free: &FreeParameters,
) -> Vec<StatementInFits> {
    let each = statements.iter().enumerate().map(|(index, statement)| {
        let judged = settings.iter().filter(|setting| setting.holds[index].is_some());
        let (yes, no): (Vec<&TriedSetting>, Vec<&TriedSetting>) =
            judged.partition(|setting| setting.holds[index] == Some(true));
        StatementInFits {
            text: statement.text.clone(),
            holds: yes.len(),
            of: yes.len() + no.len(),
            by: separation(&yes, &no, free),
        }
    });
    each.collect()
}

/// The parameter that separates two groups of settings best.
fn separation(yes: &[&TriedSetting], no: &[&TriedSetting], free: &FreeParameters) -> Option<Separation> {
    // One setting alone differs from the others in every parameter.
    if yes.len().min(no.len()) < LEAST {
        return None;
    }
    let all = free.solved.iter().chain(&free.free);
    let each = all.map(|parameter| {
        let places = |settings: &[&TriedSetting]| -> Vec<f64> {
            let values = settings
                .iter()
                .filter_map(|setting| setting.values.get(parameter.path));
            values.map(|value| place(parameter, value)).collect()
        };
        Separation {
            path: parameter.path,
            larger: larger(&places(yes), &places(no)),
        }
    });
    // 0.5 is chance; 0 separates as well as 1, in the other direction.
    let strength = |one: &Separation| (one.larger - 0.5).abs();
    each.reduce(|best, one| {
        // Strictly: of equal ones the first is kept, so that the answer does not change from run to run.
        if strength(&one) > strength(&best) {
            one
        } else {
            best
        }
    })
}

/// The place of a value among those of its parameter: of a list, its position.
fn place(parameter: &FreeParameter, value: &str) -> f64 {
    match &parameter.values {
        FreeValues::Listed(values) => values.iter().position(|one| one == value).unwrap_or(0) as f64,
        FreeValues::Range { .. } => value.parse().unwrap_or(f64::NAN),
    }
}

/// The probability that one of `ones` is larger than one of `others`.
fn larger(ones: &[f64], others: &[f64]) -> f64 {
    let pairs = ones
        .iter()
        .flat_map(|one| others.iter().map(move |other| (one, other)));
    let wins = pairs.map(|(one, other)| match one.total_cmp(other) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    });
    wins.sum::<f64>() / (ones.len() * others.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(isd: &str, flow: &str, holds: [Option<bool>; 2]) -> TriedSetting {
        let values = [("scenario.isd_m", isd), ("rrc.flow", flow)];
        TriedSetting {
            values: values.map(|(path, value)| (path, value.to_owned())).into(),
            measured: Vec::new(),
            miss: Some(0.0),
            holds: holds.to_vec(),
        }
    }

    #[test]
    fn the_parameter_that_separates_the_settings_is_named() {
        let free = "wirecost: 1\nfree: {scenario.isd_m: {from: 1000, to: 5000}, rrc.flow: [setup, resume]}";
        let free = FreeParameters::read(free).expect("a file");
        let statements = ["served(tcp,25B,2/s)<90%", "served(tcp,25B,1/s)>90%"]
            .map(|text| text.parse::<FitStatement>().expect("a statement"));
        let settings = [
            setting("1000", "resume", [Some(true), Some(true)]),
            setting("2000", "setup", [Some(true), Some(true)]),
            setting("3000", "resume", [Some(false), Some(true)]),
            setting("4000", "setup", [Some(false), Some(true)]),
            setting("5000", "setup", [None, None]),
        ];
        let [some, all] = &statements_in(&settings, &statements, &free)[..] else {
            panic!("two statements");
        };
        let by = Separation {
            path: "scenario.isd_m",
            larger: 0.0,
        };
        assert_eq!((some.holds, some.of, &some.by), (2, 4, &Some(by)));
        assert_eq!((all.holds, all.of, &all.by), (4, 4, &None));
    }
}
