//! What `wirecost nbiot --fit` is asked: points that a cell must meet, and the parameters of the network that are free.
//!
//! ```yaml
//! wirecost: 1
//! solved: {scenario.isd_m: {from: 1500, to: 5000}}    # in every setting, for the first point with =
//! free:
//!   levels.ce0.npdcch_g: [1.5, 2, 4]                   # values
//!   random_access.give_up_ms: {from: 1000, to: 60000, scale: log}
//! ```

mod free;

use std::str::FromStr;

use wirecost_proto::ByteSize;
use wirecost_proto::units::parse_duration;
use wirecost_stack::Stack;
use wirecost_stack::name::nearest_of;

use crate::options::nbiot::MOST_LOAD;
pub use free::{FreeParameter, FreeParameters, FreeValues};

/// How near a share must be to the one that is asked for, unless the point says it: one point of a hundred.
const NEAR_SHARE: f64 = 0.01;
/// How near a delay must be, as a share of it.
const NEAR_DELAY: f64 = 0.1;
/// What a point is, for messages.
const FORM: &str = "FIGURE(STACK,SIZE,LOAD)=VALUE, with > or < in place of =";

/// A figure of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitFigure {
    /// The share of reports that arrive in time.
    Served,
    /// The median delay.
    DelayP50,
    /// The 95 % quantile of the delay.
    DelayP95,
}

impl FitFigure {
    const NAMES: [(&'static str, Self); 3] = [
        ("served", Self::Served),
        ("delay_p50", Self::DelayP50),
        ("delay_p95", Self::DelayP95),
    ];

    const fn is_share(self) -> bool {
        matches!(self, Self::Served)
    }

    /// How near a value is met, unless the point says it.
    fn near(self, value: f64) -> f64 {
        match self {
            Self::Served => NEAR_SHARE,
            Self::DelayP50 | Self::DelayP95 => (NEAR_DELAY * value).max(1e-9),
        }
    }

    fn read(self, text: &str) -> Result<f64, String> {
        match self {
            Self::Served => share(text.trim()),
            Self::DelayP50 | Self::DelayP95 => parse_duration(text.trim())
                .map(|time| time.as_secs_f64())
                .map_err(|error| error.to_string()),
        }
    }

    /// Its value as it is shown: `94.4 %`, `1.2 s`.
    pub fn text(self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => "no report arrives".to_owned(),
            Self::Served => format!("{:.1} %", 100.0 * value),
            Self::DelayP50 | Self::DelayP95 => format!("{value:.3} s"),
        }
    }
}

/// How a figure must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// The value, or nearer to it than this.
    Near(f64),
    /// Above the value.
    Above,
    /// Below the value.
    Below,
}

/// A figure of a curve at a load: `served(tcp,400B,2/s)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitMeasure {
    /// The figure.
    pub figure: FitFigure,
    /// The stack.
    pub stack: Stack,
    /// The size of a report.
    pub size: ByteSize,
    /// Reports per second and cell.
    pub load: f64,
}

impl FitMeasure {
    /// Reads what stands before the sign of a point, and returns what stands from the sign on.
    fn read(text: &str) -> Result<(Self, &str), String> {
        let form = || format!("a point is {FORM}, for example served(tcp,400B,2/s)=95%");
        let (name, rest) = text.trim().split_once('(').ok_or_else(form)?;
        let (inside, rest) = rest.split_once(')').ok_or_else(form)?;
        let known = FitFigure::NAMES.iter().find(|(known, _)| *known == name.trim());
        let (_, figure) = known.ok_or_else(|| {
            let names = FitFigure::NAMES.map(|(name, _)| name);
            let meant =
                nearest_of(name, names).map_or_else(String::new, |meant| format!(" (did you mean {meant}?)"));
            format!(
                "the figure must be one of {}, got {name}{meant}",
                names.join(", ")
            )
        })?;
        let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
        let [stack, size, load] = parts[..] else {
            return Err(form());
        };
        let per_cell = crate::nbiot::load(load).map_err(|error| error.to_string())?;
        if per_cell > MOST_LOAD {
            return Err(format!(
                "a load is above 0/s and at most {MOST_LOAD}/s per cell, got {load}"
            ));
        }
        let measure = Self {
            figure: *figure,
            stack: stack.parse().map_err(|error| format!("{error}"))?,
            size: size.parse().map_err(|error| format!("{error}"))?,
            load: per_cell,
        };
        Ok((measure, rest.trim()))
    }
}

/// A point that a cell must meet: `served(tcp,400B,2/s)=95%`.
#[derive(Clone, Debug, PartialEq)]
pub struct FitPoint {
    /// What is measured.
    pub of: FitMeasure,
    /// How the figure must be.
    pub demand: Demand,
    /// The value: a share, or seconds.
    pub value: f64,
    /// The point as it was given.
    pub text: String,
}

impl FitPoint {
    /// How far `measured` is from what is demanded: at most 1 where the point is met. A delay without end, of a curve of which no
    /// report arrived, meets nothing.
    pub fn miss(&self, measured: f64) -> f64 {
        let near = self.near();
        match self.demand {
            _ if !measured.is_finite() => f64::INFINITY,
            Demand::Near(_) => (measured - self.value).abs() / near,
            Demand::Above if measured > self.value => 0.0,
            Demand::Below if measured < self.value => 0.0,
            Demand::Above | Demand::Below => 1.0 + ((measured - self.value).abs() / near).max(1e-9),
        }
    }

    fn near(&self) -> f64 {
        match self.demand {
            Demand::Near(near) => near,
            Demand::Above | Demand::Below => self.of.figure.near(self.value),
        }
    }
}

impl FromStr for FitPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| format!("{text:?}: {why}");
        let form = || wrong(format!("a point is {FORM}, for example served(tcp,400B,2/s)=95%"));
        let (of, demanded) = FitMeasure::read(text).map_err(wrong)?;
        let (sign, value) = demanded.split_at_checked(1).ok_or_else(form)?;
        let (value, near) = match value.split_once("+-") {
            Some((value, near)) => (value, Some(near)),
            None => (value, None),
        };
        let value = of.figure.read(value).map_err(wrong)?;
        let near = near.map(|near| of.figure.read(near)).transpose().map_err(wrong)?;
        let demand = match (sign, near) {
            // A tolerance of 0 would divide by zero where the miss is measured in tolerances.
            ("=", near) => Demand::Near(near.unwrap_or_else(|| of.figure.near(value)).max(1e-9)),
            // `+-` belongs to `=` alone: a bound has no tolerance.
            (">", None) => Demand::Above,
            ("<", None) => Demand::Below,
            _ => return Err(form()),
        };
        Ok(Self {
            of,
            demand,
            value,
            text: text.trim().to_owned(),
        })
    }
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FitBound {
    /// A value: a share, or seconds.
    Value(f64),
    /// Another figure, or the same one of another curve.
    Of(FitMeasure),
}

/// What may hold in a setting: `served(tcp,25B,2/s)<90%`, `served(tcp,25B,3/s)<served(coap-con,400B,3/s)`.
#[derive(Clone, Debug, PartialEq)]
pub struct FitStatement {
    /// What is measured.
    pub of: FitMeasure,
    /// Whether it is above the bound; otherwise it is below.
    pub is_above: bool,
    /// What it is compared with.
    pub bound: FitBound,
    /// The statement as it was given.
    pub text: String,
}

impl FromStr for FitStatement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| format!("{text:?}: {why}");
        let (of, rest) = FitMeasure::read(text).map_err(wrong)?;
        let (is_above, bound) = match rest.split_at_checked(1) {
            Some((">", bound)) => (true, bound),
            Some(("<", bound)) => (false, bound),
            _ => {
                let why = "a statement has > or <, and a value or a figure behind it";
                return Err(wrong(format!("{why}, for example served(tcp,25B,2.5/s)<90%")));
            }
        };
        let bound = match bound.contains('(') {
            false => FitBound::Value(of.figure.read(bound).map_err(wrong)?),
            true => {
                let (bound, rest) = FitMeasure::read(bound).map_err(wrong)?;
                // A share against a delay has an answer for every network, and no meaning.
                let is_like = bound.figure.is_share() == of.figure.is_share();
                if !rest.is_empty() || !is_like || bound == of {
                    let why =
                        "nothing can decide it: two figures of one unit are compared, of two curves or loads";
                    return Err(wrong(why.to_owned()));
                }
                FitBound::Of(bound)
            }
        };
        Ok(Self {
            of,
            is_above,
            bound,
            text: text.trim().to_owned(),
        })
    }
}

/// Reads `95%` or `0.95`; a share is never above 1, so that `95` is an error.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let value = number.trim().parse::<f64>().ok().map(|value| value / unit);
    let within = value.filter(|value| (0.0..=1.0).contains(value));
    within.ok_or_else(|| format!("a share is 0% to 100%, got {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(text: &str) -> Result<FitPoint, String> {
        text.parse()
    }

    #[test]
    fn a_point_names_a_figure_of_a_curve_at_a_load() {
        let served = point("served(tcp,400B,2/s)=95%").expect("a point");
        assert_eq!(
            (served.of.load, served.value, served.demand),
            (2.0, 0.95, Demand::Near(0.01))
        );
        assert!(served.miss(0.955) <= 1.0 && served.miss(0.935) > 1.0);
        let most = point("served(tcp, 400B, 1/s) > 99%")
            .map(|point| (point.demand, point.miss(0.995), point.miss(0.99)));
        let (demand, met, missed) = most.expect("a point");
        assert_eq!((demand, met), (Demand::Above, 0.0));
        assert!(missed > 1.0, "what is equal is not above");
        let delay = point("delay_p50(coap-con,25B,1/s)=320ms+-5ms").expect("a point");
        assert_eq!((delay.value, delay.demand), (0.32, Demand::Near(0.005)));
    }

    #[test]
    fn a_delay_without_end_meets_no_point_and_no_delay_is_0() {
        let above = point("delay_p50(tcp,400B,2/s)>1s").expect("a point");
        assert_eq!((above.miss(2.0), above.miss(f64::INFINITY)), (0.0, f64::INFINITY));
        let below = point("delay_p50(tcp,400B,2/s)<0s").expect("a point");
        assert!(below.miss(0.0) > 1.0, "{}", below.miss(0.0));
    }

    #[test]
    fn a_statement_compares_two_figures_or_a_figure_and_a_value() {
        let read = |text: &str| text.parse::<FitStatement>();
        let bound = read("served(tcp,25B,2/s) < 90%").map(|one| (one.is_above, one.bound));
        assert_eq!(bound, Ok((false, FitBound::Value(0.9))));
        let other = read("delay_p50(tcp,25B,1/s)>delay_p95(coap-con,25B,1/s)").expect("a statement");
        let FitBound::Of(of) = other.bound else {
            panic!("a figure: {:?}", other.bound);
        };
        assert_eq!((of.figure, other.is_above), (FitFigure::DelayP95, true));
        for (text, expected) in [
            ("served(tcp,25B,2/s)=90%", "a statement has > or <"),
            ("served(tcp,25B,2/s)", "a statement has > or <"),
            (
                "served(tcp,25B,2/s)<delay_p50(tcp,25B,2/s)",
                "nothing can decide it",
            ),
            ("served(tcp,25B,2/s)<served(tcp,25B,2/s)", "nothing can decide it"),
            ("served(tcp,25B,2/s)<served(tcp,25B)", "a point is"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_no_point_is_refused_with_what_is_one() {
        for (text, expected) in [
            ("served", "a point is FIGURE(STACK,SIZE,LOAD)=VALUE"),
            (
                "serve(tcp,400B,2/s)=95%",
                "one of served, delay_p50, delay_p95, got serve (did you mean served?)",
            ),
            ("served(tcp,400B)=95%", "a point is"),
            ("served(tcp,400B,2/s)=195%", "a share is 0% to 100%"),
            ("served(tpc,400B,2/s)=95%", "tpc"),
            ("served(tcp,400B,2/s)>95%+-1%", "a point is"),
            ("delay_p50(tcp,400B,2/s)=1", "unit"),
        ] {
            let error = point(text).expect_err(text);
            assert!(error.contains(expected), "{error}");
        }
    }
}
