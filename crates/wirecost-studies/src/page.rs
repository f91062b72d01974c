//! Judged claims as a page: one file that asks nothing of the network and works without scripts.

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use wirecost_proto::units::counted;

use crate::amount::Amount;
use crate::claims::{Claims, Difference, Note};
use crate::judge::{FigureRecord, Judged, JudgedPoint, JudgedSuspect};
use crate::strip::{self, Axis};
use crate::verdict::Verdict;

/// The page of one or more studies with their judged claims.
///
/// # Errors
/// The template does not fit the claims, which is a fault of this crate.
pub fn page(studies: &[(&Claims, &[Judged])]) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.add_template("claims.html", include_str!("../templates/claims.html"))?;
    let title = match studies {
        [(claims, _)] => claims.study.clone(),
        _ => "Published studies".to_owned(),
    };
    let all: Vec<&Judged> = studies.iter().flat_map(|(_, judged)| judged.iter()).collect();
    let view = Page {
        title,
        css: include_str!("../templates/claims.css"),
        conclusion: conclusion(&all),
        tally: Verdict::ALL
            .into_iter()
            .filter_map(|verdict| Part::of(verdict, &all))
            .collect(),
        studies: studies
            .iter()
            .map(|(claims, judged)| StudyView::of(claims, judged))
            .collect(),
    };
    environment.get_template("claims.html")?.render(Serde(&view))
}

/// What the verdicts say together, in two sentences.
fn conclusion(all: &[&Judged]) -> String {
    let count = |verdict: Verdict| all.iter().filter(|claim| claim.verdict == verdict).count();
    let open = count(Verdict::NotRun) + count(Verdict::Undecidable) + count(Verdict::NotSeparable);
    let decided = all.len() - open;
    let mut text = format!(
        "{} of {} could be decided: {} reproduced, {} of another size, {} contradicted, {} physically impossible.",
        decided,
        counted(all.len() as u64, "claim"),
        count(Verdict::Reproduced),
        count(Verdict::Differs),
        count(Verdict::Contradicted),
        count(Verdict::Impossible),
    );
    if open > 0 {
        let parts = [
            (count(Verdict::NotRun), "not run"),
            (count(Verdict::Undecidable), "lacking something in the source"),
            (count(Verdict::NotSeparable), "with intervals that overlap"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        text.push_str(&format!(" The others: {}.", parts.join(", ")));
    }
    text
}

#[derive(Serialize)]
struct Page<'a> {
    title: String,
    css: &'static str,
    conclusion: String,
    tally: Vec<Part>,
    studies: Vec<StudyView<'a>>,
}

/// The claims with one verdict.
#[derive(Serialize)]
struct Part {
    name: &'static str,
    class: String,
    count: usize,
}

impl Part {
    fn of(verdict: Verdict, all: &[&Judged]) -> Option<Self> {
        let count = all.iter().filter(|claim| claim.verdict == verdict).count();
        (count > 0).then(|| Self {
            name: verdict.name(),
            class: class(verdict),
            count,
        })
    }
}

/// The class of a verdict in the style sheet.
fn class(verdict: Verdict) -> String {
    verdict.name().replace(' ', "_")
}

#[derive(Serialize)]
struct StudyView<'a> {
    name: &'a str,
    source: &'a str,
    setup: &'a [Difference],
    claims: Vec<ClaimView<'a>>,
    notes: &'a [Note],
}

impl<'a> StudyView<'a> {
    fn of(claims: &'a Claims, judged: &'a [Judged]) -> Self {
        Self {
            name: &claims.study,
            source: &claims.source,
            setup: &claims.setup,
            claims: judged.iter().map(ClaimView::of).collect(),
            notes: &claims.notes,
        }
    }
}

#[derive(Serialize)]
struct ClaimView<'a> {
    id: &'a str,
    says: &'a str,
    place: &'a str,
    verdict: &'static str,
    class: String,
    why: String,
    points: Vec<PointView<'a>>,
    suspects: Vec<String>,
    figures: Vec<FigureView<'a>>,
}

impl<'a> ClaimView<'a> {
    fn of(claim: &'a Judged) -> Self {
        let axis = Axis::of(claim.points.iter());
        let last = claim.points.len().saturating_sub(1);
        let point = |(index, point): (usize, &'a JudgedPoint)| PointView {
            at: point.at.values().cloned().collect::<Vec<_>>().join(", "),
            strip: strip::svg(point, axis, (index == last).then_some(claim.dimension)),
            published: point.published.as_deref(),
            bound: point.bound.as_deref(),
            ours: point.ours.as_deref(),
            verdict: point.verdict.name(),
            class: class(point.verdict),
        };
        let suspect = |suspect: &JudgedSuspect| sentence(&capitalised(&suspect.sentence()));
        Self {
            id: &claim.id,
            says: &claim.says,
            place: &claim.place,
            verdict: claim.verdict.name(),
            class: class(claim.verdict),
            why: claim
                .worst_point()
                .map(|point| sentence(&point.why))
                .unwrap_or_default(),
            points: claim.points.iter().enumerate().map(point).collect(),
            suspects: claim.suspects.iter().map(suspect).collect(),
            figures: claim
                .points
                .iter()
                .flat_map(|point| &point.figures)
                .map(FigureView::of)
                .collect(),
        }
    }
}

/// The text with a full stop; nothing stays nothing.
fn sentence(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{text}."),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[derive(Serialize)]
struct PointView<'a> {
    at: String,
    strip: String,
    published: Option<&'a str>,
    bound: Option<&'a str>,
    ours: Option<&'a str>,
    verdict: &'static str,
    class: String,
}

#[derive(Serialize)]
struct FigureView<'a> {
    reference: &'a str,
    text: &'a str,
    interval: String,
    engine: &'a str,
    n: u64,
}

impl<'a> FigureView<'a> {
    fn of(figure: &'a FigureRecord) -> Self {
        let interval = match figure.interval {
            _ if figure.exact => "exact".to_owned(),
            Some(ends) => {
                let [low, high] = ends.map(|end| Amount::new(end, figure.dimension).to_string());
                format!("{low} to {high}")
            }
            None => String::new(),
        };
        Self {
            reference: &figure.reference,
            text: &figure.text,
            interval,
            engine: &figure.engine,
            n: figure.n,
        }
    }
}
