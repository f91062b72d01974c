//! The rule of each kind of claim.

use wirecost_results::catalogue::Aggregation;
use wirecost_results::catalogue::Quantity;

use super::compare;
use super::curves::of_curves;
use super::ordering::{ordered, percent, telling};
use super::outcome::{Margins, Outcome, TOLERANCE_OF_BYTES, meets, range, tolerance};
use super::trends::of_trend;
use crate::amount::{Amount, Published, digits};
use crate::claims::{Limit, Point, Question};
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
    margins: Margins,
    evidence: &Evidence,
) -> Result<Outcome, Missing> {
    let published = point.published.as_ref();
    let within = margins.within;
    match question {
        Question::Value(of) => value(published, of, within, evidence),
        Question::Ratio(both) => ratio(published, both, margins, evidence),
        Question::Order(all) => order(all, margins.apart, evidence),
        Question::Trend(trend) => of_trend(trend, margins, evidence),
        Question::Limit(limit) => of_limit(limit, evidence),
        Question::Curves(curves) => of_curves(curves, margins, evidence),
        Question::Model(model) => of_model(published, model, within, evidence),
        Question::Arithmetic { text, result } => Ok(arithmetic(published, text, *result, within)),
        Question::Unmeasured => {
            let why = "no bound excludes it, and nothing here measures it".to_owned();
            Ok(Outcome::new(Verdict::Undecidable, why, String::new()))
        }
    }
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
    // With our whole interval: a number that our own uncertainty allows is not another one.
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
                true => format!("{} ({})", percent(figure.amount.value), origin(&figure)),
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
        // Without a modelled part the expression has no spread.
        is_exact: low.value == high.value,
        is_median: false,
        engine: first.map_or("sim", |figure| figure.engine.as_str()).to_owned(),
        n: first.map_or(0, |figure| figure.n),
        samples: Vec::new(),
        reference: model.text.clone(),
        is_replicated: false,
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
    .with_figures(vec![figure]))
}

fn ratio(
    published: Option<&Published>,
    [one, other]: &[Reference; 2],
    margins: Margins,
    evidence: &Evidence,
) -> Result<Outcome, Missing> {
    let (first, second) = (evidence.figure(one)?, evidence.figure(other)?);
    let published = published.ok_or_else(|| Missing::Wrong(format!("{one}: no ratio is published")))?;
    let of_medians = [one, other]
        .iter()
        .all(|reference| reference.aggregation == Aggregation::P50);
    let [one, other] = [&first, &second].map(|figure| format!("{}{}", shown(figure), spread(figure)));
    let both = format!("{one} and {other}");
    // Something over nothing has no ratio, but may still answer a published "at least".
    let Some((value, interval)) = compare::ratio(&first, &second, of_medians) else {
        let (verdict, why) = over_nothing(published, first.amount.value);
        return Ok(Outcome::new(verdict, why.to_owned(), both).with_figures(vec![first, second]));
    };
    let margins = Margins {
        within: Some(tolerance(margins.within, first.amount.dimension)),
        ..margins
    };
    let times = value / published.amount.value;
    Ok(Outcome {
        value: Some(value),
        interval: Some(interval),
        ..Outcome::new(
            of_ratio(published, value, interval, margins),
            format!("ours is {} of the published", percent(times)),
            format!("{}{} ({both})", digits(value), ends_text(interval)),
        )
    }
    .with_figures(vec![first, second]))
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

/// One figure over another is judged as the other over the one: both are as far from what is published, and on the same side of 1.
/// Within the margin around 1 neither is larger: where that is published too, or where our interval leaves it open, the two are not
/// separable. Where the publication has a larger distance and ours is within the margin for certain, ours differs.
fn of_ratio(published: &Published, value: f64, interval: [f64; 2], margins: Margins) -> Verdict {
    let [low, high] = range(published, margins.within.unwrap_or_default());
    let same = [
        low.max(published.amount.value / (1.0 + margins.within.unwrap_or_default())),
        high,
    ];
    let equal = [1.0 / (1.0 + margins.apart), 1.0 + margins.apart];
    let is_near = |ratio: f64| (equal[0]..=equal[1]).contains(&ratio);
    let is_alike = interval.into_iter().all(is_near);
    let is_other_side = match published.amount.value > 1.0 {
        true => interval[1] < 1.0 && value < equal[0],
        false => published.amount.value < 1.0 && interval[0] > 1.0 && value > equal[1],
    };
    if meets(interval, same) {
        Verdict::Reproduced
    } else if is_other_side {
        Verdict::Contradicted
    } else if is_alike {
        // Ours is certainly no difference of note. If the published one is none either, both say the same.
        match is_near(published.amount.value) {
            true => Verdict::NotSeparable,
            false => Verdict::Differs,
        }
    } else if is_near(value) || meets(interval, [1.0, 1.0]) {
        Verdict::NotSeparable
    } else {
        Verdict::Differs
    }
}

fn order(all: &[Reference], apart: f64, evidence: &Evidence) -> Result<Outcome, Missing> {
    let figures = all
        .iter()
        .map(|reference| evidence.figure(reference))
        .collect::<Result<Vec<_>, _>>()?;
    let names = telling(all);
    let (verdict, why) = ordered(&names, &figures, apart);
    let ours = names.iter().zip(&figures);
    let ours = ours.map(|(name, figure)| format!("{name} {}{}", figure.shown(), spread(figure)));
    Ok(Outcome::new(verdict, why, ours.collect::<Vec<_>>().join(", ")).with_figures(figures))
}

/// ` [19.9 mJ, 36.9 mJ]`: how far a model may be from its value, by the spread of its device file.
fn spread(figure: &Figure) -> String {
    let ends = figure
        .interval
        .filter(|[low, high]| figure.model.is_some() && low < high);
    let text = |[low, high]: [f64; 2]| {
        let [low, high] = [low, high].map(|end| Amount::new(end, figure.amount.dimension));
        format!(" [{low}, {high}]")
    };
    ends.map_or_else(String::new, text)
}

/// Every figure keeps the limit; of several, the one with the gravest verdict decides.
fn of_limit(limit: &Limit, evidence: &Evidence) -> Result<Outcome, Missing> {
    let each = limit.of.iter().map(|of| kept(limit, of, evidence));
    let each = each.collect::<Result<Vec<Outcome>, Missing>>()?;
    let names = telling(&limit.of);
    let all = names.iter().zip(&each);
    let ours: Vec<String> = all
        .map(|(name, outcome)| format!("{name} {}", outcome.ours))
        .collect();
    // Verdicts are in the order of their gravity.
    let decisive = (0..each.len()).min_by_key(|at| each[*at].verdict);
    let gravest = decisive.and_then(|at| Some((names.get(at)?, each.get(at)?.clone())));
    let (name, gravest) = gravest.ok_or_else(|| Missing::Wrong("the limit is of no figure".to_owned()))?;
    // Its name would tell it from nothing.
    if each.len() == 1 {
        return Ok(gravest);
    }
    let figures = each.into_iter().flat_map(|outcome| outcome.figures).collect();
    Ok(Outcome::new(
        gravest.verdict,
        format!("{name}: {}", gravest.why),
        ours.join(", "),
    )
    .with_figures(figures))
}

fn kept(limit: &Limit, of: &Reference, evidence: &Evidence) -> Result<Outcome, Missing> {
    let figure = evidence.figure(of)?;
    if limit.at.amount.dimension != figure.amount.dimension {
        let why = format!("{of}: the limit {} has another unit", limit.at);
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
    .with_figures(vec![figure]))
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
        None => format!("{}{interval} ({})", figure.amount, origin(figure)),
    }
}

/// The engine of a figure and its samples; a sum over a phase of a load has none.
fn origin(figure: &Figure) -> String {
    match figure.n {
        0 => figure.engine.clone(),
        n => format!("{}, n {n}", figure.engine),
    }
}

/// Whether a number is published as a percentage.
fn is_share(published: &Published) -> bool {
    published.text.ends_with('%')
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
            is_replicated: false,
        }
    }

    fn verdict_of_ratio(published: &str, interval: [f64; 2]) -> Verdict {
        let published = Published::read(published).expect(published);
        let margins = Margins {
            within: Some(0.25),
            apart: 0.05,
        };
        of_ratio(
            &published,
            f64::midpoint(interval[0], interval[1]),
            interval,
            margins,
        )
    }

    #[test]
    fn a_ratio_has_a_direction_and_a_size() {
        for (published, interval, verdict) in [
            ("2", [1.9, 2.1], Verdict::Reproduced),
            ("2", [1.2, 1.3], Verdict::Differs),
            ("2", [4.0, 5.0], Verdict::Differs),
            ("2", [0.9, 1.1], Verdict::NotSeparable),
            ("2", [0.5, 0.9], Verdict::Contradicted),
            // A share of the other: 0.75 is one of 1.333, and 0.566 one of 1.767, which is a third more.
            ("0.75", [0.566, 0.566], Verdict::Differs),
            ("0.75", [0.61, 0.61], Verdict::Reproduced),
            ("1.3333", [1.767, 1.767], Verdict::Differs),
            // Ours is nearer to 1 than is of note for certain, and the published ratio is not.
            ("0.5", [1.0005, 1.0005], Verdict::Differs),
            ("2", [1.02, 1.04], Verdict::Differs),
            ("2", [0.97, 0.98], Verdict::Differs),
            (">=10", [0.957, 0.957], Verdict::Differs),
            // Ours may be nearer to 1 than is of note, or farther.
            ("2", [0.92, 0.99], Verdict::NotSeparable),
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
    fn two_ratios_that_are_not_of_note_are_not_separable() {
        let published = Published::read("1.03").expect("a ratio");
        let margins = Margins {
            within: Some(0.01),
            apart: 0.05,
        };
        let verdict = of_ratio(&published, 0.97, [0.965, 0.975], margins);
        assert_eq!(verdict, Verdict::NotSeparable);
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
