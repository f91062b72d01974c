//! Judged claims as a page: one file that asks nothing of the network and works without scripts.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use wirecost_proto::units::counted;

use crate::amount::{Amount, Dimension};
use crate::claims::{Claims, Difference, Grid, Note};
use crate::evidence::Evidence;
use crate::judge::{FigureRecord, Judged, JudgedPoint, JudgedSuspect};
use crate::library::folder_name;
use crate::plot::{self, COLOURS, Entry, Line};
use crate::reference::Reference;
use crate::strip::{self, Axis};
use crate::verdict::Verdict;

mod closing;

/// A study on a page.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Its claims.
    pub claims: &'a Claims,
    /// Their verdicts.
    pub judged: &'a [Judged],
    /// The results of its runs.
    pub evidence: &'a Evidence,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The template does not fit the claims, which is a fault of this crate.
    #[error(transparent)]
    Template(#[from] minijinja::Error),
    /// A plot or table of the study does not name one figure for each of its places.
    #[error("{title}: {why}")]
    Plot {
        /// The title of the plot.
        title: String,
        /// Why.
        why: String,
    },
}

/// The page of one or more studies with their judged claims. Of one, it has the plots and tables of the publication too, and its
/// runs are beside the page; of several, they are in a folder for each study.
///
/// # Errors
/// A plot does not name one figure for each of its places.
pub fn page(studies: &[Shown<'_>]) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.add_template("claims.html", include_str!("../templates/claims.html"))?;
    let title = match studies {
        [study] => study.claims.study.clone(),
        _ => "Published studies".to_owned(),
    };
    let all: Vec<&Judged> = studies.iter().flat_map(|study| study.judged).collect();
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
            .map(|study| StudyView::of(study, studies.len() == 1))
            .collect::<Result<_, _>>()?,
    };
    Ok(environment.get_template("claims.html")?.render(Serde(&view))?)
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
    plots: Vec<PlotView<'a>>,
    tables: Vec<TableView<'a>>,
    claims: Vec<ClaimView<'a>>,
    closing: Vec<String>,
    notes: &'a [Note],
    is_alone: bool,
}

impl<'a> StudyView<'a> {
    fn of(study: &Shown<'a>, is_alone: bool) -> Result<Self, PageError> {
        let Shown {
            claims,
            judged,
            evidence,
        } = *study;
        let folder = match is_alone {
            true => String::new(),
            false => format!("{}/", claims.study),
        };
        let claim = |claim: &'a Judged| {
            let differs = touching(claims, claim);
            ClaimView {
                packets: packets(claim, evidence, &folder),
                differs,
                ..ClaimView::of(claim)
            }
        };
        Ok(Self {
            name: &claims.study,
            source: &claims.source,
            setup: &claims.setup,
            plots: if is_alone {
                plots(claims, evidence)?
            } else {
                Vec::new()
            },
            tables: if is_alone {
                tables(claims, evidence)?
            } else {
                Vec::new()
            },
            claims: judged.iter().map(claim).collect(),
            closing: closing::paragraph(judged),
            notes: &claims.notes,
            is_alone,
        })
    }
}

#[derive(Serialize)]
struct PlotView<'a> {
    title: &'a str,
    svg: String,
    over: &'a str,
    values: Vec<String>,
    lines: Vec<LineView>,
}

#[derive(Serialize)]
struct LineView {
    name: String,
    colour: usize,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct TableView<'a> {
    title: &'a str,
    rows_of: &'a str,
    columns: Vec<&'a str>,
    rows: Vec<(String, Vec<Entry>)>,
}

/// The plots that there is something to draw in.
fn plots<'a>(claims: &'a Claims, evidence: &Evidence) -> Result<Vec<PlotView<'a>>, PageError> {
    let mut views = Vec::new();
    for plot in &claims.plots {
        let wrong = |why| PageError::Plot {
            title: plot.title.clone(),
            why,
        };
        let drawing = plot.drawing(claims, evidence).map_err(wrong)?;
        if drawing.is_empty() {
            continue;
        }
        let entry = |line: &Line, value: &String| Entry {
            ours: line.ours.get(value).map(|figure| figure.amount.to_string()),
            published: line
                .published
                .get(value)
                .into_iter()
                .flatten()
                .map(|(_, number)| number.to_string())
                .collect(),
        };
        let line = |(at, line): (usize, &Line)| LineView {
            name: line.name.clone(),
            colour: at % COLOURS,
            entries: drawing.values.iter().map(|value| entry(line, value)).collect(),
        };
        views.push(PlotView {
            title: &plot.title,
            svg: plot::svg(plot, &drawing),
            over: &plot.over,
            lines: drawing.lines.iter().enumerate().map(line).collect(),
            values: drawing.values,
        });
    }
    Ok(views)
}

fn tables<'a>(claims: &'a Claims, evidence: &Evidence) -> Result<Vec<TableView<'a>>, PageError> {
    let view = |grid: &'a Grid| {
        let wrong = |why| PageError::Plot {
            title: grid.title.clone(),
            why,
        };
        Ok(TableView {
            title: &grid.title,
            rows_of: &grid.rows,
            columns: grid.columns.iter().map(|(title, _)| title.as_str()).collect(),
            rows: grid.rows(claims, evidence).map_err(wrong)?,
        })
    };
    claims.tables.iter().map(view).collect()
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
    let names = claims
        .setup
        .iter()
        .filter(touches)
        .map(|row| row.differs.as_str());
    names.collect::<Vec<_>>().join(", ")
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
        let path = format!("{folder}{}", folder_name(run));
        let file = if engine == "live" { "all" } else { engine };
        let named = stacks
            .iter()
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
    engines: Vec<String>,
    packets: Vec<PacketsView>,
    differs: String,
}

impl<'a> ClaimView<'a> {
    fn of(claim: &'a Judged) -> Self {
        let axis = Axis::of(claim.points.iter());
        let last = claim.points.len().saturating_sub(1);
        let point = |(index, point): (usize, &'a JudgedPoint)| PointView {
            at: point.at.values().cloned().collect::<Vec<_>>().join(", "),
            strip: strip::svg(point, axis, claim.dimension, index == last),
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
            engines: claim
                .points
                .iter()
                .filter_map(|point| point.engines_differ.as_deref())
                .take(1)
                .map(|text| sentence(&capitalised(text)))
                .collect(),
            packets: Vec::new(),
            differs: String::new(),
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
