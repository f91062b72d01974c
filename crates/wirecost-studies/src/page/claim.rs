//! A judged claim on a page: its points as strips, its figures, and the packets behind it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use wirecost_report::chart::Scale;

use super::class;
use crate::amount::Dimension;
use crate::claims::{Claims, Difference, List};
use crate::evidence::Evidence;
use crate::judge::{FigureRecord, Judged, JudgedPoint, JudgedSuspect};
use crate::reference::Reference;
use crate::strip;
use crate::verdict::Verdict;

#[derive(Serialize)]
pub(super) struct ClaimView<'a> {
    id: &'a str,
    says: &'a str,
    place: &'a str,
    verdict: &'static str,
    class: String,
    why: String,
    points: Vec<PointView<'a>>,
    suspects: Vec<String>,
    under_different: String,
    no_other_reading: String,
    apart: String,
    figures: Vec<FigureView<'a>>,
    engines: Vec<String>,
    packets: Vec<PacketsView>,
    differs: String,
}

impl<'a> ClaimView<'a> {
    /// The view of a claim. Its runs are in `folder`, which is empty or ends with a slash.
    pub(super) fn from_claim(claim: &'a Judged, claims: &Claims, evidence: &Evidence, folder: &str) -> Self {
        let scale = strip::scale(claim.points.iter());
        let last = claim.points.len().saturating_sub(1);
        let points = claim.points.iter().enumerate();
        let points = points.map(|(index, point)| PointView::from_point(point, claim, scale, index == last));
        let points: Vec<PointView<'_>> = points.collect();
        let has_more = points.len() > 1 || points.iter().any(PointView::says_more);
        let suspect = |suspect: &JudgedSuspect| sentence(&capitalised(&suspect.sentence()));
        let engines = claim
            .points
            .iter()
            .find_map(|point| point.engines_differ.as_deref());
        let figures = claim.points.iter().flat_map(|point| &point.figures);
        Self {
            id: &claim.id,
            says: &claim.says,
            place: &claim.place,
            verdict: claim.verdict.name(),
            class: class(claim.verdict),
            why: claim.worst_point().map(why).unwrap_or_default(),
            points: if has_more { points } else { Vec::new() },
            suspects: claim.suspects.iter().map(suspect).collect(),
            apart: apart(claim),
            under_different: claim
                .under_different
                .as_deref()
                .map(|text| sentence(&capitalised(text)))
                .unwrap_or_default(),
            no_other_reading: claim
                .no_other_reading
                .as_deref()
                .map(sentence)
                .unwrap_or_default(),
            engines: engines
                .map(|text| sentence(&capitalised(text)))
                .into_iter()
                .collect(),
            packets: packets(claim, evidence, folder),
            differs: touching(claims, claim),
            figures: figures.map(FigureView::from_figure).collect(),
        }
    }
}

/// Why a row is not counted; empty if it is.
fn apart(claim: &Judged) -> String {
    match (claim.list, claim.again.is_empty()) {
        (List::Claims, true) => String::new(),
        (List::Claims, false) => format!("The numbers of {} again: counted there.", claim.again.join(", ")),
        (List::Recomputed, _) => "Recomputed from published numbers: not counted.".to_owned(),
        (List::Further, _) => "The publication does not claim it: not counted.".to_owned(),
    }
}

/// Why a point has its verdict, as a sentence.
pub(super) fn why(point: &JudgedPoint) -> String {
    let bound = point
        .bound
        .as_ref()
        .filter(|_| point.verdict == Verdict::Impossible);
    let side = if point.is_upper_bound { "more" } else { "less" };
    match (bound, &point.bound_from, formula(point)) {
        (Some(bound), Some(from), _) if *from == point.why => {
            sentence(&format!("No {side} than {bound} is possible: {from}"))
        }
        // Under every reading: the bound of the kindest stands beside how it comes about.
        (Some(bound), ..) if !point.readings.is_empty() => {
            sentence(&format!("No {side} than {bound} is possible {}", point.why))
        }
        (_, _, Some(formula)) if point.why.is_empty() => sentence(&format!("Arithmetic gives {formula}")),
        // A stack's name may begin it.
        _ => sentence(&point.why),
    }
}

/// `2.511 = 221 B / 88 B` of a number that follows from other published numbers; a statement of a run has a reason.
fn formula(point: &JudgedPoint) -> Option<&str> {
    let is_arithmetic = point.figures.is_empty() && point.why.is_empty();
    point.ours.as_deref().filter(|_| is_arithmetic)
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

/// Differences of set-up that touch the quantity of a claim.
fn touching(claims: &Claims, claim: &Judged) -> String {
    let quantity = match claim.dimension {
        Dimension::TIME => "time",
        Dimension::DATA => "bytes",
        Dimension::ENERGY => "energy",
        Dimension::RATE => "rate",
        _ => return String::new(),
    };
    let touches = |row: &&Difference| row.touches.iter().any(|touched| touched == quantity);
    let rows = claims.setup.iter().filter(touches);
    let names = rows.map(|row| row.differs.as_str());
    names.collect::<Vec<_>>().join(", ")
}

#[derive(Serialize)]
struct PointView<'a> {
    at: String,
    strip: String,
    published: Option<&'a str>,
    bound: Option<&'a str>,
    /// What `ours` is: a figure of ours, or what the publication's other numbers give.
    ours_is: &'static str,
    ours: Option<&'a str>,
    beside: Option<&'a str>,
    readings: Vec<ReadingView>,
    verdict: &'static str,
    class: String,
}

/// What the text can mean, and what comes of it.
#[derive(Serialize)]
struct ReadingView {
    verdict: &'static str,
    class: String,
    text: String,
}

impl<'a> PointView<'a> {
    fn from_point(point: &'a JudgedPoint, claim: &Judged, scale: Option<Scale>, has_labels: bool) -> Self {
        let at = point.at.iter();
        let at = at.map(|(name, value)| format!("{name} {value}"));
        let given = formula(point).and_then(|formula| formula.split(" = ").next());
        Self {
            at: at.collect::<Vec<_>>().join(", "),
            strip: strip::svg(point, scale, claim.dimension, has_labels),
            published: point.published.as_deref(),
            bound: point.bound.as_deref(),
            ours_is: if given.is_some() { "gives" } else { "ours" },
            ours: given.or(point.ours.as_deref()),
            beside: point.beside.as_deref(),
            readings: point
                .readings
                .iter()
                .map(|reading| ReadingView {
                    verdict: reading.verdict.name(),
                    class: class(reading.verdict),
                    text: sentence(&capitalised(&reading.sentence())),
                })
                .collect(),
            verdict: point.verdict.name(),
            class: class(point.verdict),
        }
    }

    /// Whether it says more than its claim.
    fn says_more(&self) -> bool {
        !self.at.is_empty()
            || !self.readings.is_empty()
            || [self.published, self.bound, self.ours]
                .iter()
                .any(Option::is_some)
    }
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
    fn from_figure(figure: &'a FigureRecord) -> Self {
        let interval = match figure.interval {
            _ if figure.exact => "exact".to_owned(),
            Some(ends) => {
                let [low, high] = ends;
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

/// The packets behind a claim: the report of a run, and the command that shows them.
#[derive(Serialize)]
struct PacketsView {
    run: String,
    report: String,
    filter: Option<String>,
}

fn packets(claim: &Judged, evidence: &Evidence, folder: &str) -> Vec<PacketsView> {
    let mut runs: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    for figure in claim.points.iter().flat_map(|point| &point.figures) {
        let selector = Reference::read(&figure.reference).map(|reference| reference.selector.to_table());
        let stacks = selector.ok().and_then(|mut selector| selector.remove("stack"));
        runs.entry((&figure.run, &figure.engine))
            .or_default()
            .extend(stacks.into_iter().flatten());
    }
    let view = |((run, engine), stacks): ((&str, &str), BTreeSet<String>)| {
        let path = format!("{folder}{run}");
        // Live cells are captured together, those of virtual time in a file of their own.
        let file = if engine == "live" { "all" } else { engine };
        let named = stacks
            .iter()
            // With the blank behind it: `mqtt-qos1` must not find `mqtt-qos1+tls1.3`.
            .map(|stack| format!("frame.comment contains \"{stack} \""));
        let named = named.collect::<Vec<_>>().join(" or ");
        let filter = if named.is_empty() {
            String::new()
        } else {
            format!(" -Y '{named}'")
        };
        PacketsView {
            run: run.to_owned(),
            report: format!("{path}/report.html"),
            filter: evidence
                .has_packets(run)
                .then(|| format!("tshark -r {path}/capture/{file}.pcapng{filter}")),
        }
    };
    runs.into_iter().map(view).collect()
}
