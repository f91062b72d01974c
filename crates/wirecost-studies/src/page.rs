//! Judged claims as a page: one file that asks nothing of the network and works without scripts.

use std::path::Path;

use minijinja::value::Serde;
use serde::Serialize;
use wirecost_proto::units::counted;
use wirecost_report::chart::Figure;
use wirecost_report::html;

use crate::claims::{Claims, Difference, Grid, Note};
use crate::evidence::Evidence;
use crate::judge::Judged;
use crate::judge::count::{apart, numbers};
use crate::plot::{self, Entry, Line};
use crate::verdict::Verdict;

mod claim;
mod closing;
mod overview;

use claim::ClaimView;
use overview::{Board, First};

/// A study on a page.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Its claims.
    pub claims: &'a Claims,
    /// Their verdicts.
    pub judged: &'a [Judged],
    /// The results of its runs; empty where its verdicts were kept without them.
    pub evidence: &'a Evidence,
    /// The folder that it is in; `None` if it is compiled in.
    pub from: Option<&'a Path>,
}

impl Shown<'_> {
    /// What `wirecost study` is asked for to repeat it.
    fn command(&self) -> String {
        match self.from {
            Some(folder) => format!("--from {}", folder.display()),
            None => self.claims.study.clone(),
        }
    }
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
    let mut environment = html::environment()?;
    environment.add_template("claims.html", include_str!("../templates/claims.html"))?;
    let (title, command) = match studies {
        [study] => (study.claims.study.clone(), study.command()),
        _ => ("Published studies".to_owned(), joint_command(studies)),
    };
    let all = studies.iter().flat_map(|study| numbers(study.judged));
    let all: Vec<Verdict> = all.map(|(_, _, verdict)| verdict).collect();
    let view = Page {
        title,
        command,
        css: [html::STYLE, include_str!("../templates/claims.css")],
        conclusion: conclusion(studies, &all),
        tally: Verdict::ALL
            .into_iter()
            .filter_map(|verdict| Part::from_verdict(verdict, &all))
            .collect(),
        boards: studies.iter().map(Board::from_study).collect(),
        impossible: overview::impossible(studies),
        lists: [
            ("Contradicted here", overview::contradicted(studies)),
            ("What would have to be true", overview::explained(studies)),
        ]
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(title, rows)| List { title, rows })
        .collect(),
        studies: studies
            .iter()
            .map(|study| StudyView::from_study(study, studies.len() == 1))
            .collect::<Result<_, _>>()?,
    };
    Ok(environment.get_template("claims.html")?.render(Serde(&view))?)
}

/// What `wirecost study` is asked for to repeat several studies.
fn joint_command(studies: &[Shown<'_>]) -> String {
    let of_folders = studies.iter().filter(|study| study.from.is_some());
    let mut words = vec!["all".to_owned()];
    words.extend(of_folders.map(|study| study.command()));
    words.join(" ")
}

/// What the verdicts say together, in three sentences.
fn conclusion(studies: &[Shown<'_>], all: &[Verdict]) -> String {
    let count = |wanted: Verdict| all.iter().filter(|verdict| **verdict == wanted).count();
    let claims: usize = studies.iter().map(|study| study.claims.names().len()).sum();
    let decided = all.iter().filter(|verdict| verdict.is_decided()).count();
    let apart: usize = studies.iter().map(|study| apart(study.judged).count()).sum();
    let head = match studies {
        [_] => String::new(),
        many => format!("{} studies, ", many.len()),
    };
    format!(
        "{head}{} with {} published numbers and statements, each counted once. {} could be decided: {} reproduced here, {} of another size, {} measured there and modelled otherwise here, {} not separable, {} contradicted, {} physically impossible. {apart} figures are listed apart: recomputed ones, and those that no publication claims.",
        counted(claims as u64, "claim"),
        all.len(),
        decided,
        count(Verdict::Reproduced),
        count(Verdict::Differs),
        count(Verdict::ModelledOtherwise),
        count(Verdict::NotSeparable),
        count(Verdict::Contradicted),
        count(Verdict::Impossible),
    )
}

#[derive(Serialize)]
struct Page<'a> {
    title: String,
    command: String,
    css: [&'static str; 2],
    conclusion: String,
    tally: Vec<Part>,
    boards: Vec<Board<'a>>,
    impossible: Vec<First<'a>>,
    lists: Vec<List<'a>>,
    studies: Vec<StudyView<'a>>,
}

/// Some claims under a heading.
#[derive(Serialize)]
struct List<'a> {
    title: &'static str,
    rows: Vec<First<'a>>,
}

/// The published numbers and statements with one verdict.
#[derive(Serialize)]
struct Part {
    name: &'static str,
    class: String,
    count: usize,
}

impl Part {
    fn from_verdict(verdict: Verdict, all: &[Verdict]) -> Option<Self> {
        let count = all.iter().filter(|known| **known == verdict).count();
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
    command: String,
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
    fn from_study(study: &Shown<'a>, is_alone: bool) -> Result<Self, PageError> {
        let Shown {
            claims,
            judged,
            evidence,
            from: _,
        } = *study;
        let folder = match is_alone {
            true => String::new(),
            false => format!("{}/", claims.study),
        };
        let claim = |claim: &'a Judged| ClaimView::from_claim(claim, claims, evidence, &folder);
        Ok(Self {
            name: &claims.study,
            command: study.command(),
            source: &claims.source,
            setup: &claims.setup,
            // On a page of all studies there would be dozens of plots before the first claim.
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
    figure: Figure,
    over: &'a str,
    values: Vec<String>,
    lines: Vec<LineView>,
}

#[derive(Serialize)]
struct LineView {
    name: String,
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
    // A line has one colour in all plots.
    let mut names: Vec<String> = Vec::new();
    for plot in &claims.plots {
        let wrong = |why| PageError::Plot {
            title: plot.title.clone(),
            why,
        };
        let drawing = plot.drawing(claims, evidence).map_err(wrong)?;
        if drawing.is_empty() {
            continue;
        }
        for line in &drawing.lines {
            if !names.contains(&line.name) {
                names.push(line.name.clone());
            }
        }
        let colour = |name: &str| names.iter().position(|known| known == name).unwrap_or_default();
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
        let line = |line: &Line| LineView {
            name: line.name.clone(),
            entries: drawing.values.iter().map(|value| entry(line, value)).collect(),
        };
        views.push(PlotView {
            title: &plot.title,
            figure: plot::chart(plot, &drawing, &colour),
            over: &plot.over,
            lines: drawing.lines.iter().map(line).collect(),
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

#[cfg(test)]
mod tests {
    #[test]
    fn every_table_of_the_page_scrolls_where_it_does_not_fit() {
        let template = include_str!("../templates/claims.html");
        let tables = template.matches("<table").count();
        let scrolled = template.split("{% call scroll(").skip(1);
        let within = scrolled.filter(|call| {
            call.split_once(" %}")
                .is_some_and(|(_, rest)| rest.starts_with("<table"))
        });
        assert_eq!((tables, within.count()), (4, 4));
    }
}
