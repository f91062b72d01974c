//! Which figures `diff` judges, and how far each may move: `bytes=0,p(99)=20%`.

use std::str::FromStr;

use wirecost_results::catalogue::Aggregation;
use wirecost_results::catalogue::{Metric, Quantity};

/// The figures that are judged, with their tolerances. Without a limit it is every figure at its usual tolerance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gate {
    limits: Vec<Limit>,
}

/// `p(99)=20%`.
#[derive(Clone, Debug, PartialEq)]
struct Limit {
    of: Chosen,
    /// The part of the earlier figure; of a share, the part of all messages.
    tolerance: f64,
}

/// Figures that a limit names.
#[derive(Clone, Debug, PartialEq)]
enum Chosen {
    Kind(Kind),
    Metric(Metric),
    Aggregation(Aggregation),
    Figure(Metric, Aggregation),
}

/// Figures of like quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bytes,
    Times,
    Rates,
    Counts,
}

/// Kinds by name.
const KINDS: [(&str, Kind); 4] = [
    ("bytes", Kind::Bytes),
    ("times", Kind::Times),
    ("rates", Kind::Rates),
    ("counts", Kind::Counts),
];

/// How far a figure may move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// As far as figures of its quantity usually may.
    Usual,
    /// By this part.
    Given(f64),
}

/// Why a text names no limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// It is not of the form NAME=TOLERANCE.
    #[error(
        "{0:?} is not NAME=TOLERANCE: write bytes=0,p(99)=20%; --gate without limits stands behind the folders"
    )]
    Form(String),
    /// No figure has the name.
    #[error(
        "{0:?} is neither bytes, times, rates or counts, nor a metric, nor one of its figures: write response_time, p(99), or \
         response_time p(99)"
    )]
    Name(String),
    /// The tolerance is not a part.
    #[error("{0:?} is not a tolerance: write 0 or 20%")]
    Tolerance(String),
}

impl Gate {
    /// How far a figure may move; `None` if it is not judged. The last limit that names it counts.
    pub fn tolerance(&self, metric: Metric, aggregation: Aggregation) -> Option<Tolerance> {
        if self.limits.is_empty() {
            return usual(metric).contains(&aggregation).then_some(Tolerance::Usual);
        }
        let names = |limit: &&Limit| match &limit.of {
            Chosen::Kind(kind) => {
                usual(metric).contains(&aggregation)
                    && Kind::from_quantity(metric.quantity_of(aggregation)) == *kind
            }
            Chosen::Metric(own) => *own == metric && usual(metric).contains(&aggregation),
            Chosen::Aggregation(own) => *own == aggregation,
            Chosen::Figure(own, of) => *own == metric && *of == aggregation,
        };
        // The last, so that a list begins with a kind and goes on with its exceptions.
        let last = self.limits.iter().rev().find(names)?;
        Some(Tolerance::Given(last.tolerance))
    }

    /// The figures of a metric that are judged.
    pub fn figures(&self, metric: Metric) -> Vec<(Aggregation, Tolerance)> {
        let all = metric.aggregations().iter();
        all.filter_map(|one| Some((*one, self.tolerance(metric, *one)?)))
            .collect()
    }
}

impl Kind {
    const fn from_quantity(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Bytes => Self::Bytes,
            Quantity::Time => Self::Times,
            Quantity::PerSecond | Quantity::BitRate => Self::Rates,
            Quantity::Number | Quantity::Share | Quantity::Energy | Quantity::Money => Self::Counts,
        }
    }
}

/// The figures of a metric that are judged where no limit names others: of times the median and the mean, of messages their share.
fn usual(metric: Metric) -> &'static [Aggregation] {
    match metric.aggregations() {
        [Aggregation::P50, ..] => &[Aggregation::P50, Aggregation::Mean],
        [Aggregation::Count, Aggregation::Rate] => &[Aggregation::Rate],
        [] => &[],
        [first, ..] => std::slice::from_ref(first),
    }
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let limits = text.split(',').map(str::trim).filter(|limit| !limit.is_empty());
        Ok(Self {
            limits: limits.map(str::parse).collect::<Result<_, _>>()?,
        })
    }
}

impl FromStr for Limit {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let (name, tolerance) = text
            .split_once('=')
            .ok_or_else(|| GateError::Form(text.to_owned()))?;
        let name = name.trim();
        Ok(Self {
            of: chosen(name).ok_or_else(|| GateError::Name(name.to_owned()))?,
            tolerance: part(tolerance.trim())
                .ok_or_else(|| GateError::Tolerance(tolerance.trim().to_owned()))?,
        })
    }
}

fn chosen(name: &str) -> Option<Chosen> {
    if let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) {
        return Some(Chosen::Kind(*kind));
    }
    if let Some(aggregation) = Aggregation::named(name) {
        return Some(Chosen::Aggregation(aggregation));
    }
    match name.split_once(' ') {
        None => Metric::named(name).map(Chosen::Metric),
        Some((name, aggregation)) => {
            let metric = Metric::named(name)?;
            let aggregation = Aggregation::named(aggregation.trim())?;
            let has = metric.aggregations().contains(&aggregation);
            has.then_some(Chosen::Figure(metric, aggregation))
        }
    }
}

/// `20%` is a fifth, `0` is none.
fn part(text: &str) -> Option<f64> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok().filter(|number| *number == 0.0)?,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &str) -> Metric {
        Metric::named(name).expect(name)
    }

    #[test]
    fn limits_choose_figures_and_the_last_one_counts() {
        let gate: Gate = "bytes=0,p(99)=20%,response_time p(99)=5%"
            .parse()
            .expect("limits");
        let of = |name, aggregation| gate.tolerance(metric(name), aggregation);
        assert_eq!(
            of("bytes_per_msg", Aggregation::Mean),
            Some(Tolerance::Given(0.0))
        );
        assert_eq!(of("connect_time", Aggregation::P99), Some(Tolerance::Given(0.2)));
        assert_eq!(
            of("response_time", Aggregation::P99),
            Some(Tolerance::Given(0.05))
        );
        assert_eq!(of("response_time", Aggregation::P50), None, "not named");
        assert_eq!(of("goodput", Aggregation::Value), None, "not named");
    }

    #[test]
    fn without_limits_every_metric_is_judged_by_its_usual_figures() {
        let gate = Gate::default();
        assert_eq!(
            gate.figures(metric("response_time")),
            [Aggregation::P50, Aggregation::Mean].map(|of| (of, Tolerance::Usual))
        );
        assert_eq!(
            gate.figures(metric("acknowledged")),
            [(Aggregation::Rate, Tolerance::Usual)]
        );
        assert!(Metric::ALL.iter().all(|metric| !gate.figures(*metric).is_empty()));
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_to_write() {
        for (text, error) in [
            ("old", GateError::Form("old".into())),
            ("byte=0", GateError::Name("byte".into())),
            (
                "bytes_per_msg p(99)=1%",
                GateError::Name("bytes_per_msg p(99)".into()),
            ),
            ("bytes=5", GateError::Tolerance("5".into())),
            ("bytes=-5%", GateError::Tolerance("-5%".into())),
        ] {
            assert_eq!(text.parse::<Gate>(), Err(error), "{text}");
        }
    }
}
