//! Combines results folders of reports in NB-IoT cells, mostly shards: the runs of all, and the figures that follow from them.

use serde_json::Value;
use wirecost_lab::nbiot::FinishedRun;
use wirecost_lab::nbiot::grids::Grids;
use wirecost_results::journal;
use wirecost_results::merge::{MergeError, check_same, copy_facts, scenario_texts};
use wirecost_results::nbiot::{FOLDERS, NbiotSummary};
use wirecost_results::{ResultsError, RunFolder};
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::{Scenario, Work, merge};

use super::reports;

/// What folders may differ in: their thresholds are judged together.
const MAY_DIFFER: [&str; 2] = ["name", "thresholds"];

/// Merges the folders into a new one. All must have the same scenario.
pub fn merged(sources: &[RunFolder], into: &RunFolder) -> Result<NbiotSummary, MergeError> {
    let [first, others @ ..] = sources else {
        return Err(MergeError::TooFew);
    };
    let (mut scenario, options) = scenario_of(first)?;
    let own = compared(&scenario);
    for other in others {
        let (another, _) = scenario_of(other)?;
        check_same(&own, &compared(&another), other)?;
        for demand in another.thresholds.0 {
            // The shards of one run name the same demands: each is to be judged once, over the points of all.
            if !scenario.thresholds.0.contains(&demand) {
                scenario.thresholds.0.push(demand);
            }
        }
    }
    // Before the folder is written: a scenario that this version cannot run must leave no half of a merge.
    let grids = Grids::new(&options).map_err(|why| wrong(first, &why))?;
    into.restore(&FOLDERS)?;
    copy_facts(sources, into)?;
    let runs = runs(sources, &grids, into)?;
    let summary = reports::judged(&scenario, &options, &grids, &runs);
    reports::write(into, &summary, &grids.map(&runs))?;
    Ok(summary)
}

/// The scenario of a folder.
fn scenario_of(folder: &RunFolder) -> Result<(Scenario, NbiotOptions), MergeError> {
    let texts = scenario_texts(std::slice::from_ref(folder))?;
    let text = texts.first().map_or("", String::as_str);
    let scenario = merge::read(text).map_err(|why| wrong(folder, &why))?;
    let Work::Nbiot(options) = &scenario.work else {
        return Err(wrong(folder, &"it is of another kind"));
    };
    let options = (**options).clone();
    Ok((scenario, options))
}

/// A scenario without what folders may differ in.
fn compared(scenario: &Scenario) -> Value {
    let mut value = serde_json::to_value(scenario).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| !MAY_DIFFER.contains(&name.as_str()));
    }
    value
}

fn wrong(folder: &RunFolder, why: &dyn std::fmt::Display) -> MergeError {
    MergeError::Scenario {
        folder: folder.path().to_owned(),
        why: why.to_string(),
    }
}

/// Copies the runs that any of the folders has, each once, in the order of the scenario. Equal runs have equal figures.
fn runs(sources: &[RunFolder], grids: &Grids, into: &RunFolder) -> Result<Vec<FinishedRun>, ResultsError> {
    let mut runs = Vec::new();
    for index in 0..grids.len() {
        let name = reports::file_name(grids, index);
        // A run that no folder has is no error: the summary says that it is missing.
        let Some(source) = sources.iter().find(|source| source.file(&name).exists()) else {
            continue;
        };
        into.write(&name, source.read_text(&name)?.as_bytes())?;
        let run = FinishedRun {
            index,
            figures: into.read_json(&name)?,
            recorded: None,
        };
        journal::append(into, &reports::entry(grids, &run))?;
        runs.push(run);
    }
    Ok(runs)
}
