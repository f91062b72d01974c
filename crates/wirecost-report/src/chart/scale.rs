//! From a value to its place on an axis, and the round numbers at it.

/// Below this number of decades, an axis of powers of ten has more than their single, double and fivefold.
const FINE: f64 = 1.0;
/// From this number of decades on, it has the powers alone.
const COARSE: f64 = 2.5;

/// An axis from one value to a larger one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    ends: [f64; 2],
    is_logarithmic: bool,
    is_whole: bool,
}

impl Scale {
    /// An axis of equal steps. Ends that do not differ are moved apart.
    pub const fn linear(least: f64, most: f64) -> Self {
        Self {
            ends: [least, if most > least { most } else { least + 1.0 }],
            is_logarithmic: false,
            is_whole: false,
        }
    }

    /// An axis from 0 with some room above `most`.
    pub const fn from_zero(most: f64) -> Self {
        Self::linear(0.0, if most > 0.0 { most * 1.05 } else { 1.0 })
    }

    /// An axis of powers of ten, between positive values.
    pub fn logarithmic(least: f64, most: f64) -> Self {
        let least = least.max(f64::MIN_POSITIVE);
        Self {
            ends: [least, if most > least { most } else { least * 2.0 }],
            is_logarithmic: true,
            is_whole: false,
        }
    }

    /// An axis of powers of ten with room for all positive `values`.
    pub fn logarithmic_around(values: impl Iterator<Item = f64>) -> Self {
        const ROOM: f64 = 1.1;
        let [least, most] = range(values.filter(|value| *value > 0.0)).unwrap_or([1.0, 10.0]);
        Self::logarithmic(least / ROOM, most * ROOM)
    }

    /// The axis of a quantity that is counted: its ticks are whole numbers.
    pub const fn whole(self) -> Self {
        Self {
            is_whole: true,
            ..self
        }
    }

    /// Whether a value is on the axis.
    pub fn contains(self, value: f64) -> bool {
        let [least, most] = self.ends;
        (least..=most).contains(&value)
    }

    /// Where a value is, from 0 to 1; beyond the ends, at the end.
    pub fn share(self, value: f64) -> f64 {
        let of = |value: f64| match self.is_logarithmic {
            true => value.max(f64::MIN_POSITIVE).log10(),
            false => value,
        };
        let [least, most] = self.ends.map(of);
        ((of(value) - least) / (most - least)).clamp(0.0, 1.0)
    }

    /// Round numbers within the axis; on one of equal steps, about `most` of them.
    pub fn ticks(self, most: f64) -> Vec<f64> {
        if !self.is_logarithmic {
            return self.even_ticks(most);
        }
        let [from, to] = self.ends;
        let factors: &[f64] = match (to / from).log10() {
            decades if decades < FINE => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            decades if decades < COARSE => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
        let all = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
        // An end that was computed may lie beside the round number that it is.
        let within = |tick: &f64| (from * (1.0 - 1e-9)..=to * (1.0 + 1e-9)).contains(tick);
        let within: Vec<f64> = all.filter(within).collect();
        // So short an axis may lie between two of them.
        if within.len() < 2 {
            self.even_ticks(most)
        } else {
            within
        }
    }

    fn even_ticks(self, most: f64) -> Vec<f64> {
        let [from, to] = self.ends;
        let step = nice_step(to - from, most);
        let step = if self.is_whole { step.max(1.0) } else { step };
        let first = (from / step - 1e-9).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }
}

/// The least and the largest of some values.
pub fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let fold = |range: Option<[f64; 2]>, value: f64| match range {
        None => Some([value; 2]),
        Some([least, most]) => Some([least.min(value), most.max(value)]),
    };
    values.filter(|value| value.is_finite()).fold(None, fold)
}

/// Steps of 1, 2, 2.5 or 5 times a power of ten that cut `span` into at most `most` parts.
fn nice_step(span: f64, most: f64) -> f64 {
    let least = (span / most).max(f64::MIN_POSITIVE);
    let decade = 10f64.powf(least.log10().floor());
    let fits = |factor: &f64| factor * decade >= least * (1.0 - 1e-9);
    [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(fits).unwrap_or(10.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(nice_step(100.0, 4.0), 25.0);
        assert_eq!(nice_step(101.0, 4.0), 50.0);
        assert_eq!(nice_step(0.9, 10.0), 0.1);
    }

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(Scale::linear(-143.0, -128.0).ticks(5.0), [-140.0, -135.0, -130.0]);
        assert_eq!(Scale::linear(0.0, 4.0).ticks(8.0).len(), 9);
        assert_eq!(Scale::linear(0.0, 2.0).whole().ticks(8.0), [0.0, 1.0, 2.0]);
        assert_eq!(Scale::logarithmic(0.3, 6.0).ticks(5.0), [0.5, 1.0, 2.0, 5.0]);
        // The float below 20.
        let below = 20.0 * (1.0 - f64::EPSILON);
        assert_eq!(
            Scale::logarithmic(1.0, below).ticks(5.0),
            [1.0, 2.0, 5.0, 10.0, 20.0]
        );
        assert_eq!(
            Scale::logarithmic(3.0, 2e4).ticks(5.0),
            [10.0, 100.0, 1_000.0, 10_000.0]
        );
    }

    #[test]
    fn an_axis_between_two_powers_has_ticks_too() {
        let ticks = Scale::logarithmic(162.0, 171.0).ticks(5.0);
        assert!(
            ticks.len() > 2 && ticks.iter().all(|tick| (162.0..=171.0).contains(tick)),
            "{ticks:?}"
        );
    }

    #[test]
    fn what_is_beyond_an_axis_is_at_its_end() {
        let scale = Scale::linear(0.0, 100.0);
        assert_eq!(
            [scale.share(-20.0), scale.share(50.0), scale.share(180.0)],
            [0.0, 0.5, 1.0]
        );
        assert_eq!(Scale::logarithmic(1.0, 100.0).share(10.0), 0.5);
        assert_eq!(Scale::logarithmic(1.0, 100.0).share(0.0), 0.0);
    }
}
