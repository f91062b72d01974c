//! `p(99)<150ms`: an aggregation, a comparison, a bound.

use wirecost_proto::units::UnitError;
use wirecost_proto::{BitRate, ByteSize};
use wirecost_results::catalogue::Aggregation;
use wirecost_results::catalogue::{Metric, Quantity};
use wirecost_results::standing::Standing;

use crate::table::{ValueError, parsed, rate, time};

/// A condition on a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The text in the scenario.
    pub text: String,
    /// The figure of the metric.
    pub aggregation: Aggregation,
    operator: Operator,
    bound: Bound,
}

/// Why a text is not a demand on a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// There is no comparison.
    #[error("{text:?} is not a demand: write {example}")]
    NoDemand {
        /// The text.
        text: String,
        /// A demand on the metric.
        example: &'static str,
    },
    /// The metric does not have the figure.
    #[error("{figure:?} is not a figure of {metric}: it has {figures}")]
    NoFigure {
        /// The figure.
        figure: String,
        /// The metric.
        metric: &'static str,
        /// The figures of the metric.
        figures: String,
    },
    /// A bound in round-trip times for a figure that is not a time.
    #[error("{0:?} is a time, and the figure is not")]
    Time(String),
    /// The bound cannot be read.
    #[error(transparent)]
    Bound(#[from] ValueError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    NotEqual,
}

/// What a figure is compared with, in the metric's base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    Fixed(f64),
    /// A multiple of the round-trip time of the link.
    RoundTrips(f64),
}

/// Operators, the longer ones first.
const OPERATORS: [(&str, Operator); 6] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<", Operator::Less),
    (">", Operator::More),
];

impl Expression {
    /// Reads an expression about a metric.
    ///
    /// # Errors
    /// There is no comparison, the metric does not have the figure, or the bound has the wrong unit.
    pub fn read(text: &str, metric: Metric) -> Result<Self, ExpressionError> {
        let found = text.find(['<', '>', '=', '!']);
        let wrong = || ExpressionError::NoDemand {
            text: text.to_owned(),
            example: metric.example(),
        };
        let (left, right) = text.split_at(found.ok_or_else(wrong)?);
        let operator = OPERATORS
            .iter()
            .find(|(name, _)| right.starts_with(name))
            .ok_or_else(wrong)?;
        // `p( 99 )` means `p(99)`.
        let left: String = left.split_whitespace().collect();
        let aggregation = Aggregation::named(&left)
            .filter(|known| metric.aggregations().contains(known))
            .ok_or_else(|| ExpressionError::NoFigure {
                figure: left.clone(),
                metric: metric.name(),
                figures: Aggregation::names(metric.aggregations()),
            })?;
        Ok(Self {
            text: text.trim().to_owned(),
            aggregation,
            operator: operator.1,
            bound: bound(right[operator.0.len()..].trim(), metric.quantity_of(aggregation))?,
        })
    }

    /// Whether a figure fulfils the condition, on a link of this round-trip time in seconds.
    pub fn holds(&self, figure: f64, rtt: Option<f64>) -> bool {
        let Some(bound) = self.bound.figure(rtt) else {
            return false;
        };
        // Shares and means have rounding errors.
        let equal = (figure - bound).abs() <= 1e-12 * bound.abs().max(1.0);
        match self.operator {
            Operator::Less => figure < bound && !equal,
            Operator::AtMost => figure < bound || equal,
            Operator::More => figure > bound && !equal,
            Operator::AtLeast => figure > bound || equal,
            Operator::Equal => equal,
            Operator::NotEqual => !equal,
        }
    }

    /// Whether the true figure is in the bound for certain, where this one is it, or its highest or lowest value.
    pub fn holds_within(&self, figure: f64, standing: Standing, rtt: Option<f64>) -> bool {
        let decides = match (standing, self.operator) {
            (Standing::Exact, _) => true,
            (Standing::AtMost, Operator::Less | Operator::AtMost) => true,
            (Standing::AtLeast, Operator::More | Operator::AtLeast) => true,
            (
                Standing::AtMost | Standing::AtLeast | Standing::Refused,
                Operator::Less
                | Operator::AtMost
                | Operator::More
                | Operator::AtLeast
                | Operator::Equal
                | Operator::NotEqual,
            ) => false,
        };
        decides && self.holds(figure, rtt)
    }

    /// Whether the figure of a running phase fails for certain. A figure that only `grows` may still reach a bound.
    pub fn fails_for_good(&self, figure: f64, rtt: Option<f64>, grows: bool) -> bool {
        let is_final = match self.operator {
            _ if !grows => true,
            Operator::Less | Operator::AtMost => true,
            Operator::Equal => self.bound.figure(rtt).is_some_and(|bound| figure > bound),
            Operator::More | Operator::AtLeast | Operator::NotEqual => false,
        };
        is_final && !self.holds(figure, rtt)
    }

    /// The one of two figures that is nearer to failing.
    pub fn worse(&self, one: f64, other: f64) -> f64 {
        match self.operator {
            Operator::Less | Operator::AtMost | Operator::Equal | Operator::NotEqual => one.max(other),
            Operator::More | Operator::AtLeast => one.min(other),
        }
    }

    /// The currency of the bound; `None` where it is not money.
    pub fn currency(&self) -> Option<&str> {
        let (_, last) = self.text.rsplit_once(' ')?;
        is_currency(last).then_some(last)
    }

    /// Whether it needs to know the round-trip time of a link.
    pub const fn needs_link(&self) -> bool {
        matches!(self.bound, Bound::RoundTrips(_))
    }
}

impl Bound {
    /// The figure on a link of this round-trip time in seconds; `None` where there is no link.
    fn figure(self, rtt: Option<f64>) -> Option<f64> {
        match self {
            Self::Fixed(bound) => Some(bound),
            Self::RoundTrips(times) => rtt.map(|rtt| times * rtt),
        }
    }
}

/// An amount of the metric's quantity in its base unit.
///
/// # Errors
/// It has another unit, or none.
pub fn amount(text: &str, quantity: Quantity) -> Result<f64, ValueError> {
    fixed(text, quantity)
}

fn bound(text: &str, quantity: Quantity) -> Result<Bound, ExpressionError> {
    let factors = text
        .split_once('*')
        .map(|(one, other)| (one.trim(), other.trim()));
    let times = match factors {
        _ if text == "link.rtt" => Some("1"),
        Some((times, "link.rtt")) | Some(("link.rtt", times)) => Some(times),
        Some(_) => {
            let expected = "a bound: only link.rtt can be multiplied, as in 3*link.rtt";
            return Err(ValueError::form(text, expected).into());
        }
        None => None,
    };
    match times {
        Some(_) if quantity != Quantity::Time => Err(ExpressionError::Time(text.to_owned())),
        Some(times) => Ok(Bound::RoundTrips(number(times)?)),
        None => Ok(Bound::Fixed(fixed(text, quantity)?)),
    }
}

fn fixed(text: &str, quantity: Quantity) -> Result<f64, ValueError> {
    match quantity {
        Quantity::Time => time(text).map(|time| time.as_secs_f64()),
        Quantity::Bytes => parsed::<ByteSize>(text).map(|size| size.bytes() as f64),
        Quantity::PerSecond => rate(text),
        Quantity::BitRate => parsed::<BitRate>(text).map(|rate| rate.bits_per_second() as f64),
        Quantity::Number => number(text),
        Quantity::Energy => {
            let units = [("uJ", 1e-6), ("mJ", 1e-3), ("J", 1.0)];
            let known = units
                .iter()
                .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
            let (digits, size) =
                known.ok_or_else(|| ValueError::form(text, "an energy: write 300mJ or 0.3J"))?;
            Ok(number(digits.trim())? * size)
        }
        Quantity::Money => {
            let wrong = || ValueError::form(text, "money: write 0.12 USD");
            let (digits, _) = text
                .rsplit_once(' ')
                .filter(|(_, word)| is_currency(word))
                .ok_or_else(wrong)?;
            number(digits.trim()).map_err(|_| wrong())
        }
        Quantity::Share => match text.strip_suffix('%') {
            Some(percent) => Ok(number(percent.trim())? / 100.0),
            // 0.99 and 99 could both be meant: only the sign says which.
            None => Err(ValueError::Unit(UnitError::MissingUnit {
                text: text.to_owned(),
                example: "99%",
            })),
        },
    }
}

/// Whether a word is the code of a currency (ISO 4217).
fn is_currency(word: &str) -> bool {
    word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn number(text: &str) -> Result<f64, ValueError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| plain && number.is_finite());
    number.ok_or_else(|| ValueError::form(text, "a number"))
}
