//! Expressions of figures and of the powers of a device: `2 Ah / ([tail of raspberry-pi-2b-3g] / 5 V)`.
//!
//! A name in brackets is a figure, as claims refer to it, or a power of a device that is part of the program: that of a state
//! (`idle of DEVICE`), or of its first tail (`tail of DEVICE`). `wake-up of DEVICE` is the energy of a wake-up without any packet:
//! with its tails.

use core::time::Duration;

use wirecost_energy::{Device, Energy, State};
use wirecost_scenario::spent::{self, IDLE_DRAW, TAILS};

use crate::amount::{Amount, Dimension};
use crate::arithmetic::{ArithmeticError, compute_with};
use crate::reference::Reference;

/// By what an energy is modelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modelled {
    /// The device file.
    pub device: &'static str,
    /// What the largest share of it is spent on: idle draw, tails, wake-up, processor, or time on the air.
    pub mostly: &'static str,
    /// That share, from 0 to 1.
    pub share: f64,
}

/// An expression that models a published number.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The expression.
    pub text: String,
    /// What its formula must come out in.
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

/// A power of a device in watts, or the energy of its wake-up in joules, with what it is spent on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Power {
    range: Energy,
    dimension: Dimension,
    model: Modelled,
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
            // Any value does: the expression is computed here for its unit and its names alone.
            let amount = match &of {
                TermOf::Figure(reference) => {
                    Amount::of_figure(1.0, reference.metric.quantity_of(reference.aggregation))
                }
                TermOf::Power(power) => Amount::new(power.range.joules, power.dimension),
            };
            terms.push(Term {
                text: name.to_owned(),
                of,
            });
            Ok(amount)
        })?;
        // Without a figure of ours nothing of it is measured, and the page would show it as measured.
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

    /// Its result, and at the low and the high ends of all names: a device's powers move together. `of` gives the three values of a
    /// figure.
    ///
    /// # Errors
    /// `of` has no values of a figure.
    pub fn results(
        &self,
        of: &dyn Fn(&Reference) -> Option<[f64; 3]>,
    ) -> Result<[Amount; 3], ArithmeticError> {
        let [middle, low, high] = [0, 1, 2].map(|end| {
            compute_with(&self.text, &mut |name| {
                let term = self.terms.iter().find(|term| term.text == name);
                let amount = term.and_then(|term| term.amount(of, end));
                amount.ok_or_else(|| format!("{name}: there is no such figure"))
            })
        });
        Ok([middle?, low?, high?])
    }

    /// What its first power is spent on; `None` if it has figures alone.
    pub fn power(&self) -> Option<Modelled> {
        self.terms.iter().find_map(|term| match &term.of {
            TermOf::Power(power) => Some(power.model),
            TermOf::Figure(_) => None,
        })
    }
}

impl Term {
    fn amount(&self, of: &dyn Fn(&Reference) -> Option<[f64; 3]>, end: usize) -> Option<Amount> {
        Some(match &self.of {
            TermOf::Figure(reference) => {
                let quantity = reference.metric.quantity_of(reference.aggregation);
                Amount::new(of(reference)?[end], Dimension::from_quantity(quantity))
            }
            TermOf::Power(Power { range, dimension, .. }) => {
                Amount::new([range.joules, range.low, range.high][end], *dimension)
            }
        })
    }
}

/// A figure, or the power of a device.
fn read_term(name: &str) -> Result<TermOf, String> {
    let Some((of, device)) = name.split_once(" of ") else {
        let reference = Reference::read(name).map_err(|error| error.to_string())?;
        return match reference.lacks().is_some() {
            true => Err(format!("{name}: write device=esp32s3-wifi in the braces")),
            false => Ok(TermOf::Figure(reference)),
        };
    };
    let known = wirecost_scenario::device::known(device.trim()).map_err(|error| error.to_string())?;
    let device = spent::built_in(known).map_err(|error| error.to_string())?;
    if of.trim() == "wake-up" {
        return wake_up(&device, known).map(TermOf::Power);
    }
    let state = State::by_name(of.trim());
    let (level, mostly) = match (of.trim(), state) {
        ("tail", _) => {
            let tail = device.tails.first();
            let tail = tail.ok_or_else(|| format!("{name}: the device has no tail"))?;
            (tail.level, TAILS)
        }
        // The same state has another name in the result: at rest its power is what an idle device draws.
        (_, Some(state)) if state == device.rest => (device.level(state), IDLE_DRAW),
        (_, Some(state)) => (device.level(state), "time on the air"),
        _ => {
            let states = State::ALL.map(State::name).join(", ");
            return Err(format!(
                "{name}: a power is that of {states} or tail, an energy that of wake-up"
            ));
        }
    };
    Ok(TermOf::Power(Power {
        range: Energy::at_level(level, 1_000_000_000),
        dimension: Dimension::POWER,
        model: Modelled {
            device: known,
            mostly,
            share: 1.0,
        },
    }))
}

/// The energy of a wake-up without any packet.
fn wake_up(device: &Device, name: &'static str) -> Result<Power, String> {
    let wake = device
        .wake
        .ok_or_else(|| format!("wake-up of {name}: the device has no wake-up"))?;
    let of = |level, time: Duration| Energy::at_level(level, time.as_nanos() as u64);
    let mut tails = Energy::default();
    for tail in &device.tails {
        tails += of(tail.level, tail.time);
    }
    let mut range = of(wake.level, wake.time);
    let share = tails.joules / (tails.joules + range.joules);
    range += tails;
    let (mostly, share) = if share > 0.5 {
        (TAILS, share)
    } else {
        ("wake-up", 1.0 - share)
    };
    Ok(Power {
        range,
        dimension: Dimension::ENERGY,
        model: Modelled {
            device: name,
            mostly,
            share,
        },
    })
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
        let [middle, low, high] = model.results(&|_| None).expect("no figure of a run");
        // 10 Wh / 1.2 W = 8.33 h, and 10 % of spread: the low end of the power is the high end of the time.
        assert_eq!(middle.to_string(), "8.333 h");
        assert!((low.value - 30_000.0 / 0.9).abs() < 1e-6 && (high.value - 30_000.0 / 1.1).abs() < 1e-6);
        assert_eq!(model.power().map(|model| model.mostly), Some(IDLE_DRAW));
    }

    #[test]
    fn figures_and_powers_enter_with_the_same_end() {
        let model = Model::read("[run/session_energy{device=esp32s3-wifi} min] / [listen of esp32s3-wifi]")
            .expect("a model");
        let [middle, low, high] = model
            .results(&|_| Some([0.2904, 0.26136, 0.31944]))
            .expect("values");
        for time in [middle, low, high] {
            assert_eq!(time.to_string(), "1 s");
        }
        assert!(model.results(&|_| None).is_err());
    }

    #[test]
    fn a_wake_up_costs_its_tails() {
        // 70 mW for 1.5 s, 15 mA for 5 s and 2 mA for 5 s at 3.7 V.
        let model = Model::read("[wake-up of nrf9160-lte-m]").expect("a model");
        let [middle, ..] = model.results(&|_| None).expect("a result");
        assert!((middle.value - (0.105 + 0.2775 + 0.037)).abs() < 1e-9, "{middle}");
        assert_eq!(model.power().map(|model| model.mostly), Some(TAILS));
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
