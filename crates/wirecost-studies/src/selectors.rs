//! Whether the figures of claims are in their runs, by the scenarios alone: before anything is run.

use std::collections::{BTreeMap, BTreeSet};

use wirecost_results::catalogue::Metric;
use wirecost_scenario::error::Place;
use wirecost_scenario::load::ScenarioInputs;
use wirecost_scenario::selector::Labels;
use wirecost_scenario::thresholds::nature::subjects;
use wirecost_scenario::{Edits, Scenario, ScenarioError, Work};

use crate::claims::{Claim, Claims, Point, Question};
use crate::library::Study;
use crate::reference::Reference;

impl Study {
    /// Checks that each figure of the claims, of their suspects, of the plots and of the tables fits a cell or a phase of its run, and
    /// that a plot or table names one of them for each of its points.
    ///
    /// # Errors
    /// The first selector that matches nothing, or several, at the line of its claim, plot or table. A scenario that cannot be read
    /// here, such as one that needs an environment variable, is left to its run.
    pub fn check_selectors(&self, is_quick: bool) -> Result<(), ScenarioError> {
        let works = self.works(is_quick);
        for claim in &self.claims.claims {
            for reference in meant(claim) {
                if let Some(Some(work)) = works.get(&reference.run)
                    && let Some(lack) = lack(&reference, work)
                {
                    return Err(lack.error(&claim.at, &claim.id, &reference));
                }
            }
            for (reference, over) in series(claim) {
                if let Some(Some(work)) = works.get(&reference.run)
                    // Found before a run of minutes, not after it.
                    && let Some(lack) = undecided(reference, over, work)
                {
                    return Err(lack.error(&claim.at, &claim.id, reference));
                }
            }
        }
        for drawn in drawn(&self.claims) {
            if let Some(Some(work)) = works.get(&drawn.of.run)
                && let Some(lack) = lack(drawn.of, work).or_else(|| drawn.lack(work))
            {
                return Err(lack.error(drawn.at, drawn.title, drawn.of));
            }
        }
        Ok(())
    }

    /// What each run of the claims does, where its scenario can be read.
    fn works(&self, is_quick: bool) -> BTreeMap<String, Option<Work>> {
        let mut works = BTreeMap::new();
        for run in self.claims.claims.iter().flat_map(Claim::runs) {
            let read = || {
                let (text, set) = self.scenario(&run, is_quick)?;
                let edits = Edits { set: &set, vary: &[] };
                Some(Scenario::read(text, edits, ScenarioInputs::NONE).ok()?.work)
            };
            works.entry(run.name.clone()).or_insert_with(read);
        }
        works
    }
}

/// A figure that a plot or a table shows for each value of its dimensions.
struct Drawn<'a> {
    at: &'a Place,
    title: &'a str,
    of: &'a Reference,
    over: Vec<&'a str>,
}

fn drawn(claims: &Claims) -> Vec<Drawn<'_>> {
    let plots = claims.plots.iter().map(|plot| Drawn {
        at: &plot.at,
        title: &plot.title,
        of: &plot.of,
        over: vec![&plot.over, &plot.lines],
    });
    let tables = claims.tables.iter().flat_map(|table| {
        table.columns.iter().map(|(_, of)| Drawn {
            at: &table.at,
            title: &table.title,
            of,
            over: vec![&table.rows],
        })
    });
    plots.chain(tables).collect()
}

/// Of cells of both engines, the figures of the live ones are shown.
const ENGINE: &str = "engine";

impl Drawn<'_> {
    /// Why it does not show one figure for each value of its dimensions.
    fn lack(&self, work: &Work) -> Option<Lack> {
        let labels = labels_of(work, self.of.metric);
        let mut shown = BTreeMap::new();
        for labels in labels.iter().filter(|labels| self.of.selector.matches(labels)) {
            let mut at = Vec::new();
            for dimension in &self.over {
                let Some(value) = labels.get(*dimension) else {
                    return Some(Lack {
                        why: format!("the run has no {dimension}"),
                        hint: format!("the run has {}", keys(labels)),
                    });
                };
                at.push(value);
            }
            let first = shown.entry(at).or_insert(labels);
            if let Some((key, value)) = first
                .iter()
                .find(|(key, value)| **key != ENGINE && labels.get(**key) != Some(*value))
            {
                return Some(Lack {
                    why: format!(
                        "several figures of the run are at one {}",
                        self.over.join(" and ")
                    ),
                    hint: format!("select one of them, for example with {key}={value}"),
                });
            }
        }
        None
    }
}

fn keys(labels: &Labels) -> String {
    labels.keys().copied().collect::<Vec<_>>().join(", ")
}

/// The figures of a claim, and those that its suspects have in their place.
fn meant(claim: &Claim) -> Vec<Reference> {
    let of = |question: &Question| question.references().into_iter().cloned().collect::<Vec<_>>();
    let own: Vec<Reference> = claim
        .points
        .iter()
        .flat_map(|point| of(&point.first().question))
        .collect();
    let all = claim.points.iter().flat_map(Point::references);
    let mut all: Vec<Reference> = all.cloned().collect();
    for suspect in &claim.suspects {
        let moved = own.iter().filter(|reference| suspect.applies_to(reference));
        all.extend(moved.map(|reference| reference.in_run(&suspect.run(&reference.run).name)));
    }
    all
}

/// The figures of a claim that are taken over a dimension, with it.
fn series(claim: &Claim) -> Vec<(&Reference, &str)> {
    let readings = claim.points.iter().flat_map(|point| &point.readings);
    let over = readings.filter_map(|reading| Some((&reading.question, reading.question.over()?)));
    let mut all = Vec::new();
    for (question, over) in over {
        all.extend(question.references().into_iter().map(|of| (of, over)));
    }
    all
}

/// Why no run of the scenario decides how a figure changes over a dimension.
fn undecided(reference: &Reference, over: &str, work: &Work) -> Option<Lack> {
    let labels = labels_of(work, reference.metric);
    let meant = labels.iter().filter(|labels| reference.selector.matches(labels));
    let values: BTreeSet<Option<&String>> = meant.map(|labels| labels.get(over)).collect();
    (values.len() < 2).then(|| Lack {
        why: format!("no run decides it: the scenario has one value of {over} for it"),
        hint: format!("give the run at least two values of {over}"),
    })
}

/// Why a figure is not in its run.
struct Lack {
    why: String,
    hint: String,
}

impl Lack {
    fn error(self, at: &Place, name: &str, reference: &Reference) -> ScenarioError {
        let message = format!("{name}: {reference}: {}", self.why);
        ScenarioError::new(at, message).with_hint(self.hint)
    }
}

fn lack(reference: &Reference, work: &Work) -> Option<Lack> {
    let labels = labels_of(work, reference.metric);
    if labels.iter().any(|labels| reference.selector.matches(labels)) {
        return None;
    }
    let condition = reference.selector.to_table().into_iter().find(|(key, values)| {
        let has = |labels: &Labels| {
            labels
                .get(key.as_str())
                .is_some_and(|label| values.contains(label))
        };
        !labels.iter().any(has)
    });
    let hint = match &condition {
        None => "its conditions hold for different cells or phases of the run".to_owned(),
        Some((key, _)) => {
            let values: BTreeSet<&str> = labels
                .iter()
                .filter_map(|labels| labels.get(key.as_str()).map(String::as_str))
                .collect();
            match values.is_empty() {
                true => format!("the run has no {key}"),
                false => format!(
                    "the run has {key}={}",
                    values.into_iter().collect::<Vec<_>>().join("|")
                ),
            }
        }
    };
    Some(Lack {
        why: format!("nothing of the run is {}", reference.selector),
        hint,
    })
}

/// The labels of the cells and phases of a run that have the figure.
fn labels_of(work: &Work, metric: Metric) -> Vec<Labels> {
    subjects(work, metric)
        .into_iter()
        .filter(|subject| subject.unavailable(metric).is_none())
        .map(|subject| subject.labels)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    #[test]
    fn every_figure_of_a_study_that_is_compiled_in_is_in_its_run() {
        for name in library::names() {
            let study = Study::named(name).expect("a study");
            for is_quick in [false, true] {
                assert_eq!(
                    study.check_selectors(is_quick),
                    Ok(()),
                    "{name}, quick: {is_quick}"
                );
            }
        }
    }
}
