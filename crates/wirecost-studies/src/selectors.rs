//! Whether the figures of claims are in their runs, by the scenarios alone: before anything is run.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use wirecost_results::thresholds::metric::Metric;
use wirecost_scenario::load::ScenarioInputs;
use wirecost_scenario::selector::Labels;
use wirecost_scenario::thresholds::nature::subjects;
use wirecost_scenario::{Edits, Scenario, ScenarioError, Work};

use crate::claims::Claim;
use crate::library::Study;
use crate::reference::Reference;

impl Study {
    /// Checks that each figure of the claims, and of their suspects, fits a cell or a phase of its run.
    ///
    /// # Errors
    /// The first selector that matches nothing, at the line of its claim. A scenario that cannot be read here, such as one that needs
    /// an environment variable, is left to its run.
    pub fn check_selectors(&self, is_quick: bool) -> Result<(), ScenarioError> {
        let mut works: BTreeMap<String, Option<Work>> = BTreeMap::new();
        for claim in &self.claims.claims {
            for run in claim.runs() {
                let read = || {
                    let (text, set) = self.scenario(&run, is_quick)?;
                    let edits = Edits { set: &set, vary: &[] };
                    Some(Scenario::read(text, edits, ScenarioInputs::NONE).ok()?.work)
                };
                works.entry(run.name.clone()).or_insert_with(read);
            }
            for reference in meant(claim) {
                let Some(Some(work)) = works.get(&reference.run) else {
                    continue;
                };
                if let Some(lack) = lack(&reference, work) {
                    let message = format!("{}: {reference}: {}", claim.id, lack.why);
                    return Err(ScenarioError::new(&claim.at, message).with_hint(lack.hint));
                }
            }
        }
        Ok(())
    }
}

/// The figures of a claim, and those that its suspects have in their place.
fn meant(claim: &Claim) -> Vec<Reference> {
    let mut all = Vec::new();
    for point in &claim.points {
        let Ok(_) = point.question.mapped::<Infallible>(&mut |reference| {
            all.push(reference.clone());
            Ok(reference.clone())
        });
    }
    let own = all.clone();
    all.extend(claim.points.iter().flat_map(|point| &point.beside).cloned());
    for suspect in &claim.suspects {
        let moved = own.iter().filter(|reference| suspect.applies_to(reference));
        all.extend(moved.map(|reference| reference.in_run(&suspect.run(&reference.run).name)));
    }
    all
}

/// Why a figure is not in its run.
struct Lack {
    why: String,
    hint: String,
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

fn labels_of(work: &Work, metric: &Metric) -> Vec<Labels> {
    subjects(work, metric)
        .into_iter()
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
