//! The rule of each kind of claim.

use wirecost_results::nbiot::Verdict as Evaluated;
use wirecost_results::thresholds::Aggregation;
use wirecost_results::thresholds::metric::Quantity;
use wirecost_stats::Judgement;

use super::compare;
use super::outcome::{Outcome, TOLERANCE_OF_BYTES, meets, range, tolerance};
use super::trends::of_trend;
use crate::amount::{Amount, Published, digits};
use crate::claims::{CheckReference, Limit, Point, Question};
use crate::evidence::{Evidence, Figure, Missing};
use crate::model::Model;
use crate::reference::Reference;
use crate::verdict::Verdict;

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
    let wrong = compared.iter().position(|pair| *pair == Judgement::More);
    let unclear = compared.iter().position(|pair| *pair != Judgement::Less);
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
        (None, Some(at)) => {
            let (pair, both) = ([name(at), name(at + 1)], [&figures[at], &figures[at + 1]]);
            (
                Verdict::NotSeparable,
                compare::undecided(compared[at], pair, both),
            )
        }
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
pub(super) mod tests {
    use super::*;

    pub(in crate::judge) fn figure(value: f64, spread: f64) -> Figure {
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
    fn a_figure_is_printed_with_both_ends_its_engine_and_its_samples() {
        assert_eq!(text_of(&figure(0.25, 0.01)), "250 ms ±10 ms (live, n 100)");
        let skewed = Figure {
            interval: Some([0.24, 0.3]),
            ..figure(0.25, 0.01)
        };
        assert_eq!(text_of(&skewed), "250 ms -10 ms +50 ms (live, n 100)");
        assert_eq!(text_of(&figure(0.25, 0.0)), "250 ms (live, n 100)");
    }
}
