//! Expressions of figures and of the powers of a device: `2 Ah / ([tail of raspberry-pi-2b-3g] / 5 V)`.
//!
//! A name in brackets is a figure, as claims refer to it, or a power of a device that is part of the program: that of a state
//! (`idle of DEVICE`), or of its first tail (`tail of DEVICE`).

use wirecost_energy::{Energy, State};
use wirecost_scenario::spent::{self, IDLE_DRAW, TAILS};

use crate::amount::{Amount, Dimension};
use crate::arithmetic::{ArithmeticError, compute_with};
use crate::evidence::{Evidence, Figure, Missing, Modelled};
use crate::reference::Reference;

/// An expression that models a published number.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The expression.
    pub text: String,
    /// Its dimension.
    pub dimension: Dimension,
    terms: Vec<Term>,
}

/// A name in brackets.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    text: String,
    of: TermOf,
}

#[derive(Clone, Debug, PartialEq)]
enum TermOf {
    Figure(Reference),
    Power(Power),
}

/// A power of a device, in watts, with what it is spent on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Power {
    watts: Energy,
    model: Modelled,
}

/// An end of the interval of every name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Middle,
    Low,
    High,
}

impl Model {
    /// Reads an expression.
    ///
    /// # Errors
    /// It cannot be read, or a name in it is neither a figure nor a power.
    pub fn read(text: &str) -> Result<Self, ArithmeticError> {
        let mut terms = Vec::new();
        let result = compute_with(text, &mut |name| {
            let of = read_term(name)?;
            let amount = match &of {
                TermOf::Figure(reference) => {
                    Amount::of_figure(1.0, reference.metric.quantity_of(reference.aggregation))
                }
                TermOf::Power(power) => Amount::new(power.watts.joules, Dimension::POWER),
            };
            terms.push(Term {
                text: name.to_owned(),
                of,
            });
            Ok(amount)
        })?;
        if terms.is_empty() {
            let why = format!("{text:?} names no figure and no power: write it as arithmetic");
            return Err(ArithmeticError::Name(why));
        }
        Ok(Self {
            text: text.to_owned(),
            dimension: result.dimension,
            terms,
        })
    }

    /// The figures in it.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.terms.iter().filter_map(|term| match &term.of {
            TermOf::Figure(reference) => Some(reference),
            TermOf::Power(_) => None,
        })
    }

    /// The same expression of changed figures.
    ///
    /// # Errors
    /// The change fails for one of them.
    pub fn mapped<E>(&self, change: &mut dyn FnMut(&Reference) -> Result<Reference, E>) -> Result<Self, E> {
        let mut changed = self.clone();
        for term in &mut changed.terms {
            if let TermOf::Figure(reference) = &mut term.of {
                *reference = change(reference)?;
            }
        }
        Ok(changed)
    }

    /// Its result. The interval is that of all names at their low ends and at their high ends: a device's powers move together.
    ///
    /// # Errors
    /// A figure is missing.
    pub fn figure(&self, evidence: &Evidence) -> Result<Figure, Missing> {
        let mut figures = Vec::new();
        let mut model = None;
        for term in &self.terms {
            match &term.of {
                TermOf::Power(power) => model = model.or(Some(power.model)),
                TermOf::Figure(reference) => {
                    let figure = evidence.figure(reference)?;
                    model = model.or(figure.model);
                    figures.push((term.text.as_str(), figure));
                }
            }
        }
        let [middle, low, high] = [End::Middle, End::Low, End::High].map(|end| self.at(end, &figures));
        let (middle, low, high) = (middle?, low?, high?);
        let engine = figures
            .first()
            .map_or("sim", |(_, figure)| figure.engine.as_str());
        Ok(Figure {
            amount: middle,
            interval: Some([low.value.min(high.value), low.value.max(high.value)]),
            is_exact: low.value == high.value,
            is_median: false,
            engine: engine.to_owned(),
            n: figures
                .iter()
                .map(|(_, figure)| figure.n)
                .min()
                .unwrap_or_default(),
            samples: Vec::new(),
            reference: self.text.clone(),
            model,
        })
    }

    fn at(&self, end: End, figures: &[(&str, Figure)]) -> Result<Amount, Missing> {
        let result = compute_with(&self.text, &mut |name| {
            if let Some((_, figure)) = figures.iter().find(|(known, _)| *known == name) {
                let [low, high] = figure.ends();
                let value = end.of(figure.amount.value, low, high);
                return Ok(Amount::new(value, figure.amount.dimension));
            }
            let term = self.terms.iter().find(|term| term.text == name);
            match term.map(|term| &term.of) {
                Some(TermOf::Power(Power { watts, .. })) => Ok(Amount::new(
                    end.of(watts.joules, watts.low, watts.high),
                    Dimension::POWER,
                )),
                _ => Err(format!("{name}: there is no such figure")),
            }
        });
        result.map_err(|error| Missing::Wrong(error.to_string()))
    }
}

impl End {
    const fn of(self, middle: f64, low: f64, high: f64) -> f64 {
        match self {
            Self::Middle => middle,
            Self::Low => low,
            Self::High => high,
        }
    }
}

/// A figure, or the power of a device.
fn read_term(name: &str) -> Result<TermOf, String> {
    let Some((of, device)) = name.split_once(" of ") else {
        let reference = Reference::read(name).map_err(|error| error.to_string())?;
        return match reference.lacks_device() {
            true => Err(format!("{name}: write device=esp32s3-wifi in the braces")),
            false => Ok(TermOf::Figure(reference)),
        };
    };
    let known = wirecost_scenario::device::known(device.trim()).map_err(|error| error.to_string())?;
    let device = spent::built_in(known).map_err(|error| error.to_string())?;
    let state = State::ALL.into_iter().find(|state| state.name() == of.trim());
    let (level, mostly) = match (of.trim(), state) {
        ("tail", _) => {
            let tail = device.tails.first();
            let tail = tail.ok_or_else(|| format!("{name}: the device has no tail"))?;
            (tail.level, TAILS)
        }
        (_, Some(state)) if state == device.rest => (device.level(state), IDLE_DRAW),
        (_, Some(state)) => (device.level(state), "time on the air"),
        _ => {
            let states = State::ALL.map(State::name).join(", ");
            return Err(format!("{name}: a power is that of {states} or tail"));
        }
    };
    Ok(TermOf::Power(Power {
        watts: Energy::of(level, 1_000_000_000),
        model: Modelled {
            device: known,
            mostly,
            share: 1.0,
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amount::Published;

    #[test]
    fn a_power_of_a_device_enters_with_its_spread() {
        let model = Model::read("2000 mAh * 5 V / [idle of raspberry-pi-2b-ethernet]").expect("a model");
        assert_eq!(
            model.dimension,
            Published::read("1h").expect("a time").amount.dimension
        );
        let figure = model.figure(&Evidence::default()).expect("no figure of a run");
        // 10 Wh / 1.2 W = 8.33 h, and 10 % of spread.
        assert_eq!(figure.amount.to_string(), "8.333 h");
        let [low, high] = figure.interval.expect("a range");
        assert!((low - 30_000.0 / 1.1).abs() < 1e-6 && (high - 30_000.0 / 0.9).abs() < 1e-6);
        assert_eq!(figure.model.map(|model| model.mostly), Some(IDLE_DRAW));
    }

    #[test]
    fn a_name_that_is_neither_figure_nor_power_is_refused() {
        for (text, expected) in [
            ("[idle of raspberry]", "a device: esp32s3-wifi"),
            ("[busy of esp32s3-wifi]", "a power is that of sleep"),
            ("[tail of raspberry-pi-2b-ethernet]", "has no tail"),
            ("[run/energy mean]", "write device="),
            ("[run/enrgy mean]", "unknown metric"),
            ("[idle of esp32s3-wifi", "a closing bracket is missing"),
            ("1 J + [idle of esp32s3-wifi]", "have different units"),
            ("1 J", "names no figure"),
        ] {
            let error = Model::read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
