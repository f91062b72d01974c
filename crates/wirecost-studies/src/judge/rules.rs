//! The rule of each kind of claim.

use wirecost_results::nbiot::Verdict as Evaluated;
use wirecost_results::thresholds::Aggregation;
use wirecost_results::thresholds::metric::Quantity;

use super::compare::{self, Compared};
use crate::amount::{Amount, Dimension, Published, digits};
use crate::claims::{CheckReference, Limit, Point, Question, Shape, Trend};
use crate::evidence::{Evidence, Figure, Missing};
use crate::model::Model;
use crate::reference::Reference;
use crate::verdict::Verdict;

/// The tolerance of times, of their ratios, and of all else but bytes.
const TOLERANCE: f64 = 0.25;
/// The tolerance of bytes, of their ratios, and of arithmetic.
const TOLERANCE_OF_BYTES: f64 = 0.01;

/// What the figures of a point come to, without its bound and what the publication leaves out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
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
    fn new(verdict: Verdict, why: String, ours: String) -> Self {
        Self {
            verdict,
            why,
            ours,
            value: None,
            interval: None,
            figures: Vec::new(),
        }
    }
}

/// The outcome of a question.
///
/// # Errors
/// A figure is missing, or a reference fits no cell or several.
pub fn outcome(
    point: &Point,
    question: &Question,
    within: Option<f64>,
    evidence: &Evidence,
) -> Result<Outcome, Missing> {
    let published = point.published.as_ref();
    match question {
        Question::Value(of) => value(published, of, within, evidence),
        Question::Ratio(both) => ratio(published, both, within, evidence),
        Question::Order(all) => order(all, evidence),
        Question::Trend(trend) => of_trend(trend, within, evidence),
        Question::Limit(limit) => of_limit(limit, evidence),
        Question::Checks(checks) => of_checks(checks, evidence),
        Question::Model(model) => of_model(published, model, within, evidence),
        Question::Arithmetic { text, result } => Ok(arithmetic(published, text, *result, within)),
        Question::Unmeasured => {
            let why = "no bound excludes it, and nothing here measures it".to_owned();
            Ok(Outcome::new(Verdict::Undecidable, why, String::new()))
        }
    }
}

/// Statements that a run evaluated itself. The claim has the gravest verdict of them, and their numbers as ours.
fn of_checks(checks: &[CheckReference], evidence: &Evidence) -> Result<Outcome, Missing> {
    let mut gravest: Option<(Verdict, String)> = None;
    let mut ours = Vec::new();
    for reference in checks {
        let check = evidence.check(reference)?;
        let (verdict, says) = match check.verdict {
            Evaluated::Holds => (Verdict::Reproduced, "holds"),
            Evaluated::DoesNotHold => (Verdict::Contradicted, "does not hold"),
            Evaluated::NotSeparable => (Verdict::NotSeparable, "is not separable"),
            Evaluated::NotRun => {
                return Err(Missing::NotRun(format!("{}: {}", check.id, check.numbers)));
            }
        };
        ours.push(check.numbers.clone());
        if gravest.as_ref().is_none_or(|(known, _)| verdict < *known) {
            gravest = Some((verdict, format!("{} {says}: {}", check.id, check.statement)));
        }
    }
    let (verdict, why) = gravest.ok_or_else(|| Missing::Wrong("no statement is named".into()))?;
    Ok(Outcome::new(verdict, why, ours.join("; ")))
}

/// The range that counts as the published number.
fn range(published: &Published, within: f64) -> [f64; 2] {
    let reach = published.amount.value.abs() * within;
    let end = match published.is_least {
        true => f64::INFINITY,
        false => published.amount.value + reach,
    };
    [published.amount.value - reach, end]
}

const fn meets([low, high]: [f64; 2], [other_low, other_high]: [f64; 2]) -> bool {
    low <= other_high && high >= other_low
}

fn tolerance(within: Option<f64>, dimension: Dimension) -> f64 {
    let usual = if dimension == Dimension::DATA {
        TOLERANCE_OF_BYTES
    } else {
        TOLERANCE
    };
    within.unwrap_or(usual)
}

fn value(
    published: Option<&Published>,
    of: &Reference,
    within: Option<f64>,
    evidence: &Evidence,
) -> Result<Outcome, Missing> {
    let figure = evidence.figure(of)?;
    let published = published.ok_or_else(|| Missing::Wrong(format!("{of}: no number is published")))?;
    if published.amount.dimension != figure.amount.dimension {
        let why = format!(
            "{of}: the published {published} and our {} have different units",
            figure.amount
        );
        return Err(Missing::Wrong(why));
    }
    let within = tolerance(within, figure.amount.dimension);
    let is_same = meets(figure.ends(), range(published, within));
    let verdict = if is_same {
        Verdict::Reproduced
    } else {
        Verdict::Differs
    };
    let times = figure.amount.value / published.amount.value;
    Ok(Outcome {
        value: Some(figure.amount.value),
        interval: figure.interval,
        figures: vec![figure.clone()],
        ..Outcome::new(
            verdict,
            format!("ours is {} of the published", percent(times)),
            match is_share(published) {
                true => format!(
                    "{} ({}, n {})",
                    percent(figure.amount.value),
                    figure.engine,
                    figure.n
                ),
                false => text_of(&figure),
            },
        )
    })
}

/// The result of an expression as a figure. Its interval is that of all names at their low ends and at their high ends.
fn figure_of(model: &Model, evidence: &Evidence) -> Result<Figure, Missing> {
    let references = model.references();
    let figures = references
        .map(|reference| Ok((reference, evidence.figure(reference)?)))
        .collect::<Result<Vec<(&Reference, Figure)>, Missing>>()?;
    let of = |wanted: &Reference| {
        let (_, figure) = figures.iter().find(|(reference, _)| *reference == wanted)?;
        let [low, high] = figure.ends();
        Some([figure.amount.value, low, high])
    };
    let [amount, low, high] = model
        .results(&of)
        .map_err(|error| Missing::Wrong(error.to_string()))?;
    let first = figures.first().map(|(_, figure)| figure);
    Ok(Figure {
        run: first.map(|figure| figure.run.clone()).unwrap_or_default(),
        amount,
        interval: Some([low.value.min(high.value), low.value.max(high.value)]),
        is_exact: low.value == high.value,
        is_median: false,
        engine: first.map_or("sim", |figure| figure.engine.as_str()).to_owned(),
        n: first.map_or(0, |figure| figure.n),
        samples: Vec::new(),
        reference: model.text.clone(),
        model: model.power().or_else(|| first.and_then(|figure| figure.model)),
    })
}

/// An expression of figures and of a device's powers.
fn of_model(
    published: Option<&Published>,
    model: &Model,
    within: Option<f64>,
    evidence: &Evidence,
) -> Result<Outcome, Missing> {
    let figure = figure_of(model, evidence)?;
    let published =
        published.ok_or_else(|| Missing::Wrong(format!("{}: no number is published", model.text)))?;
    let within = tolerance(within, figure.amount.dimension);
    let is_same = meets(figure.ends(), range(published, within));
    let verdict = if is_same {
        Verdict::Reproduced
    } else {
        Verdict::Differs
    };
    let times = figure.amount.value / published.amount.value;
    Ok(Outcome {
        value: Some(figure.amount.value),
        interval: figure.interval,
        ..Outcome::new(
            verdict,
            format!("ours is {} of the published: {}", percent(times), model.text),
            text_of(&figure),
        )
    }
    .of(vec![figure]))
}

fn ratio(
    published: Option<&Published>,
    [one, other]: &[Reference; 2],
    within: Option<f64>,
    evidence: &Evidence,
) -> Result<Outcome, Missing> {
    let (first, second) = (evidence.figure(one)?, evidence.figure(other)?);
    let published = published.ok_or_else(|| Missing::Wrong(format!("{one}: no ratio is published")))?;
    let of_medians = [one, other]
        .iter()
        .all(|reference| reference.aggregation == Aggregation::P50);
    let both = format!("{} and {}", shown(&first), shown(&second));
    let Some((value, interval)) = compare::ratio(&first, &second, of_medians) else {
        let (verdict, why) = over_nothing(published, first.amount.value);
        return Ok(Outcome::new(verdict, why.to_owned(), both).of(vec![first, second]));
    };
    let within = tolerance(within, first.amount.dimension);
    let times = value / published.amount.value;
    Ok(Outcome {
        value: Some(value),
        interval: Some(interval),
        ..Outcome::new(
            of_ratio(published, interval, within),
            format!("ours is {} of the published", percent(times)),
            format!("{}{} ({both})", digits(value), ends_text(interval)),
        )
    }
    .of(vec![first, second]))
}

/// A figure in the text of a ratio: a share of messages in per cent.
pub(crate) fn shown(figure: &Figure) -> String {
    let is_share = Reference::read(&figure.reference)
        .is_ok_and(|reference| reference.metric.quantity_of(reference.aggregation) == Quantity::Share);
    match is_share {
        true => percent(figure.amount.value),
        false => figure.shown(),
    }
}

/// A figure over one that is 0: no ratio has a size then.
fn over_nothing(published: &Published, first: f64) -> (Verdict, &'static str) {
    match (first == 0.0, published.amount.value > 1.0) {
        (true, _) => (Verdict::NotSeparable, "both are 0"),
        (false, true) => (Verdict::Differs, "the second is 0, so that the ratio has no size"),
        (false, false) => (Verdict::Contradicted, "the second is 0, and the first is not"),
    }
}

/// ` [1.05, 1.07]`; nothing of an interval without width.
fn ends_text([low, high]: [f64; 2]) -> String {
    match low < high {
        true => format!(" [{}, {}]", digits(low), digits(high)),
        false => String::new(),
    }
}

impl Outcome {
    fn of(self, figures: Vec<Figure>) -> Self {
        Self { figures, ..self }
    }
}

fn of_ratio(published: &Published, interval: [f64; 2], within: f64) -> Verdict {
    let is_other_side = match published.amount.value > 1.0 {
        true => interval[1] < 1.0,
        false => published.amount.value < 1.0 && interval[0] > 1.0,
    };
    if meets(interval, range(published, within)) {
        Verdict::Reproduced
    } else if is_other_side {
        Verdict::Contradicted
    } else if meets(interval, [1.0, 1.0]) {
        Verdict::NotSeparable
    } else {
        Verdict::Differs
    }
}

fn order(all: &[Reference], evidence: &Evidence) -> Result<Outcome, Missing> {
    let figures = all
        .iter()
        .map(|reference| evidence.figure(reference))
        .collect::<Result<Vec<_>, _>>()?;
    let compared = compare::adjacent(&figures);
    let names = telling(all);
    let name = |at: usize| names[at].as_str();
    let wrong = compared.iter().position(|pair| *pair == Compared::Larger);
    let unclear = compared
        .iter()
        .position(|pair| matches!(pair, Compared::Inseparable { .. }));
    let (verdict, why) = match (wrong, unclear) {
        (Some(at), _) => (
            Verdict::Contradicted,
            format!(
                "{} {} is above {} {}",
                name(at),
                figures[at].amount,
                name(at + 1),
                figures[at + 1].amount
            ),
        ),
        (None, Some(at)) => (
            Verdict::NotSeparable,
            inseparable_text(
                &compared[at],
                [name(at), name(at + 1)],
                [&figures[at], &figures[at + 1]],
            ),
        ),
        (None, None) => (Verdict::Reproduced, "every pair is in this order".to_owned()),
    };
    let ours = names.iter().zip(&figures);
    let ours = ours.map(|(name, figure)| format!("{name} {}", figure.shown()));
    Ok(Outcome::new(verdict, why, ours.collect::<Vec<_>>().join(", ")).of(figures))
}

/// What tells the figures apart: the values of the dimensions in which they differ.
pub(super) fn telling(all: &[Reference]) -> Vec<String> {
    let tables: Vec<_> = all
        .iter()
        .map(|reference| reference.selector.to_table())
        .collect();
    let differs = |key: &String| tables.iter().any(|table| table.get(key) != tables[0].get(key));
    let name = |(table, reference): (&std::collections::BTreeMap<String, Vec<String>>, &Reference)| {
        let own: Vec<String> = table
            .iter()
            .filter(|(key, _)| differs(key))
            .map(|(_, values)| values.join("|"))
            .collect();
        if own.is_empty() {
            reference.run.clone()
        } else {
            own.join(" ")
        }
    };
    tables.iter().zip(all).map(name).collect()
}

fn inseparable_text(compared: &Compared, [one, other]: [&str; 2], figures: [&Figure; 2]) -> String {
    let [value, other_value] = figures.map(|figure| figure.amount.value);
    match compared {
        Compared::Inseparable { needed: Some(needed) } => {
            format!("{one} and {other} overlap; about {needed} samples of each would separate them")
        }
        _ if value == other_value => format!("{one} and {other} are equal"),
        _ => format!("the intervals of {one} and {other} overlap"),
    }
}

fn of_trend(trend: &Trend, within: Option<f64>, evidence: &Evidence) -> Result<Outcome, Missing> {
    let series = evidence.series(&trend.of, &trend.over)?;
    let figures: Vec<Figure> = series.iter().map(|(_, figure)| figure.clone()).collect();
    let dimension = figures
        .first()
        .map_or(Dimension::NONE, |figure| figure.amount.dimension);
    let within = tolerance(within, dimension);
    let (verdict, why) = match trend.shape {
        Shape::Constant => constant(&figures, within),
        Shape::Grows => grows(&figures, true),
        Shape::Falls => grows(&figures, false),
        Shape::Linear { slope } => linear(&series, slope, within)?,
    };
    let each = |(value, figure): &(String, Figure)| format!("{} at {value}", figure.shown());
    let ours: Vec<String> = match series.as_slice() {
        [first, .., last] => vec![each(first), each(last)],
        few => few.iter().map(each).collect(),
    };
    Ok(Outcome::new(verdict, why, ours.join(", ")).of(figures))
}

fn constant(figures: &[Figure], within: f64) -> (Verdict, String) {
    let by_value = |one: &&Figure, other: &&Figure| one.amount.value.total_cmp(&other.amount.value);
    let (Some(least), Some(most)) = (figures.iter().min_by(by_value), figures.iter().max_by(by_value)) else {
        return (Verdict::NotRun, "the run has no values".to_owned());
    };
    let text = format!("from {} to {}", least.amount, most.amount);
    let limit = 1.0 + within;
    let verdict = if most.amount.value <= least.amount.value * limit {
        Verdict::Reproduced
    } else if most.ends()[0] > least.ends()[1] * limit {
        Verdict::Contradicted
    } else {
        Verdict::NotSeparable
    };
    (verdict, text)
}

/// Ends that are separated, and no step that is separated the other way.
fn grows(figures: &[Figure], upwards: bool) -> (Verdict, String) {
    let (Some(first), Some(last)) = (figures.first(), figures.last()) else {
        return (Verdict::NotRun, "the run has no values".to_owned());
    };
    let [wanted, opposite] = match upwards {
        true => [Compared::Smaller, Compared::Larger],
        false => [Compared::Larger, Compared::Smaller],
    };
    let text = format!("from {} to {}", first.amount, last.amount);
    let ends = compare::by_intervals(first, last);
    if ends == opposite {
        return (Verdict::Contradicted, text);
    }
    if ends != wanted {
        return (Verdict::NotSeparable, format!("{text}: the ends overlap"));
    }
    let against = compare::adjacent(figures)
        .iter()
        .position(|step| *step == opposite);
    match against {
        None => (Verdict::Reproduced, text),
        Some(at) => {
            let [one, other] = [figures[at].amount, figures[at + 1].amount];
            (
                Verdict::Differs,
                format!("{text}, but one step goes from {one} to {other}"),
            )
        }
    }
}

/// A straight line through the first and the last value: its slope, and how far the others are from it.
fn linear(series: &[(String, Figure)], slope: f64, within: f64) -> Result<(Verdict, String), Missing> {
    let read = |value: &str| {
        Published::read(value)
            .map(|published| published.amount.value)
            .map_err(|error| Missing::Wrong(error.to_string()))
    };
    let points = series
        .iter()
        .map(|(value, figure)| Ok((read(value)?, figure)))
        .collect::<Result<Vec<(f64, &Figure)>, Missing>>()?;
    let (Some((x0, first)), Some((x1, last))) = (points.first(), points.last()) else {
        return Err(Missing::NotRun("the run has no values".to_owned()));
    };
    let run = x1 - x0;
    let ours = (last.amount.value - first.amount.value) / run;
    let interval = [
        (last.ends()[0] - first.ends()[1]) / run,
        (last.ends()[1] - first.ends()[0]) / run,
    ];
    let is_near = |(x, figure): &(f64, &Figure)| {
        let expected = first.amount.value + ours * (x - x0);
        (figure.amount.value - expected).abs() <= within * expected.abs()
    };
    let text = format!("the slope is {}", digits(ours));
    let holds = meets(interval, [slope * (1.0 - within), slope * (1.0 + within)]);
    let opposite = ours * slope < 0.0 && !meets(interval, [0.0, 0.0]);
    Ok(match (holds, points.iter().all(is_near)) {
        (true, true) => (Verdict::Reproduced, text),
        _ if opposite => (Verdict::Contradicted, text),
        (true, false) => (
            Verdict::Differs,
            format!("{text}, but the values are not on one line"),
        ),
        (false, _) => (Verdict::Differs, text),
    })
}

fn of_limit(limit: &Limit, evidence: &Evidence) -> Result<Outcome, Missing> {
    let figure = evidence.figure(&limit.of)?;
    if limit.at.amount.dimension != figure.amount.dimension {
        let why = format!("{}: the limit {} has another unit", limit.of, limit.at);
        return Err(Missing::Wrong(why));
    }
    let [low, high] = figure.ends();
    let at = limit.at.amount.value;
    let (is_right, is_wrong) = match limit.is_above {
        true => (low > at, high <= at),
        false => (high < at, low >= at),
    };
    let side = if limit.is_above { "above" } else { "below" };
    let (verdict, word) = match (is_right, is_wrong) {
        (true, _) => (Verdict::Reproduced, "is"),
        (_, true) => (Verdict::Contradicted, "is not"),
        _ => (Verdict::NotSeparable, "may be"),
    };
    let why = format!("{} {word} {side} {}", figure.amount, limit.at);
    Ok(Outcome {
        value: Some(figure.amount.value),
        interval: figure.interval,
        ..Outcome::new(verdict, why, text_of(&figure))
    }
    .of(vec![figure]))
}

fn arithmetic(published: Option<&Published>, text: &str, result: Amount, within: Option<f64>) -> Outcome {
    let is_same = published.is_some_and(|published| {
        let range = range(published, within.unwrap_or(TOLERANCE_OF_BYTES));
        published.amount.dimension == result.dimension && meets([result.value; 2], range)
    });
    let verdict = if is_same {
        Verdict::Reproduced
    } else {
        Verdict::Differs
    };
    let shown = if published.is_some_and(is_share) {
        percent(result.value)
    } else {
        result.to_string()
    };
    Outcome {
        value: Some(result.value),
        ..Outcome::new(verdict, String::new(), format!("{shown} = {text}"))
    }
}

/// `317.5 ms -57.7 ms +182.3 ms (live, n 150)`: the figure, how far its interval reaches down and up, its engine and samples.
fn text_of(figure: &Figure) -> String {
    let reach = |distance: f64| Amount::new(distance, figure.amount.dimension).to_string();
    let value = figure.amount.value;
    let interval = match figure.interval {
        Some([low, high]) if !figure.is_exact && low < high => {
            let [down, up] = [reach(value - low), reach(high - value)];
            if down == up {
                format!(" ±{up}")
            } else {
                format!(" -{down} +{up}")
            }
        }
        _ => String::new(),
    };
    match figure.model {
        Some(model) => format!(
            "{}{interval} (modelled by {}, {})",
            figure.shown(),
            model.device,
            figure.engine
        ),
        None => format!("{}{interval} ({}, n {})", figure.amount, figure.engine, figure.n),
    }
}

/// Whether a number is published as a percentage.
fn is_share(published: &Published) -> bool {
    published.text.ends_with('%')
}

fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, spread: f64) -> Figure {
        Figure {
            run: String::new(),
            amount: Amount::seconds(value),
            interval: Some([value - spread, value + spread]),
            is_exact: spread == 0.0,
            is_median: true,
            engine: "live".into(),
            n: 100,
            samples: Vec::new(),
            reference: String::new(),
            model: None,
        }
    }

    fn verdict_of_ratio(published: &str, interval: [f64; 2]) -> Verdict {
        let published = Published::read(published).expect(published);
        of_ratio(&published, interval, 0.25)
    }

    #[test]
    fn a_ratio_has_a_direction_and_a_size() {
        for (published, interval, verdict) in [
            ("2", [1.9, 2.1], Verdict::Reproduced),
            ("2", [1.2, 1.3], Verdict::Differs),
            ("2", [4.0, 5.0], Verdict::Differs),
            ("2", [0.9, 1.1], Verdict::NotSeparable),
            ("2", [0.5, 0.9], Verdict::Contradicted),
            ("0.5", [1.1, 1.3], Verdict::Contradicted),
            ("0.5", [0.8, 0.9], Verdict::Differs),
            (">=10", [16.0, 16.4], Verdict::Reproduced),
            (">=10", [2.0, 3.0], Verdict::Differs),
            (">=10", [0.5, 0.9], Verdict::Contradicted),
        ] {
            assert_eq!(
                verdict_of_ratio(published, interval),
                verdict,
                "{published} {interval:?}"
            );
        }
    }

    #[test]
    fn a_ratio_over_nothing_has_a_direction_at_most() {
        for (published, first, verdict) in [
            ("6.2", 0.0, Verdict::NotSeparable),
            ("6.2", 0.1, Verdict::Differs),
            ("0.5", 0.1, Verdict::Contradicted),
        ] {
            let published = Published::read(published).expect(published);
            assert_eq!(
                over_nothing(&published, first).0,
                verdict,
                "{first} of {published}"
            );
        }
        assert_eq!(ends_text([1.05, 1.07]), " [1.05, 1.07]");
        assert_eq!(ends_text([1.05, 1.05]), "");
    }

    #[test]
    fn a_constant_figure_stays_within_its_tolerance() {
        let verdict = |values: &[f64], spread: f64| {
            let figures: Vec<Figure> = values.iter().map(|value| figure(*value, spread)).collect();
            constant(&figures, 0.25).0
        };
        assert_eq!(verdict(&[10.0, 11.0, 12.0], 0.1), Verdict::Reproduced);
        assert_eq!(verdict(&[10.0, 20.0], 0.1), Verdict::Contradicted);
        assert_eq!(verdict(&[10.0, 13.0], 2.0), Verdict::NotSeparable);
    }

    #[test]
    fn a_growing_figure_has_separated_ends() {
        let verdict = |values: &[f64], upwards: bool| {
            let figures: Vec<Figure> = values.iter().map(|value| figure(*value, 0.4)).collect();
            grows(&figures, upwards).0
        };
        assert_eq!(verdict(&[1.0, 2.0, 3.0], true), Verdict::Reproduced);
        assert_eq!(verdict(&[1.0, 1.1, 3.0], true), Verdict::Reproduced);
        assert_eq!(verdict(&[1.0, 5.0, 3.0], true), Verdict::Differs);
        assert_eq!(verdict(&[3.0, 2.0, 1.0], true), Verdict::Contradicted);
        assert_eq!(verdict(&[1.0, 1.5], true), Verdict::NotSeparable);
        assert_eq!(verdict(&[3.0, 1.0], false), Verdict::Reproduced);
    }

    #[test]
    fn a_line_has_a_slope_and_no_bend() {
        let series = |values: [f64; 3]| {
            let at = ["5ms", "25ms", "100ms"];
            let each = |(at, value): (&str, f64)| (at.to_owned(), figure(value, 0.0));
            at.into_iter().zip(values).map(each).collect::<Vec<_>>()
        };
        let verdict = |values| linear(&series(values), 1.0, 0.05).expect("a line").0;
        assert_eq!(verdict([0.006, 0.026, 0.101]), Verdict::Reproduced);
        assert_eq!(verdict([0.006, 0.060, 0.101]), Verdict::Differs);
        assert_eq!(verdict([0.012, 0.052, 0.202]), Verdict::Differs);
        assert_eq!(verdict([0.101, 0.050, 0.006]), Verdict::Contradicted);
    }

    #[test]
    fn a_figure_is_printed_with_both_ends_its_engine_and_its_samples() {
        assert_eq!(text_of(&figure(0.25, 0.01)), "250 ms ±10 ms (live, n 100)");
        let skewed = Figure {
            interval: Some([0.24, 0.3]),
            ..figure(0.25, 0.01)
        };
        assert_eq!(text_of(&skewed), "250 ms -10 ms +50 ms (live, n 100)");
        assert_eq!(text_of(&figure(0.25, 0.0)), "250 ms (live, n 100)");
    }

    #[test]
    fn usual_tolerances_depend_on_the_unit() {
        let close = |left: f64, right: f64| (left - right).abs() < 1e-12;
        assert!(close(tolerance(None, Dimension::TIME), 0.25));
        assert!(close(tolerance(None, Dimension::DATA), 0.01));
        assert!(close(tolerance(Some(0.05), Dimension::DATA), 0.05));
    }
}
