//! Combines results folders of reports in NB-IoT cells, mostly shards: the runs of all, and the figures that follow from them.

use std::collections::BTreeMap;

use serde_json::Value;
use wirecost_lab::nbiot::FinishedRun;
use wirecost_lab::nbiot::grids::Grids;
use wirecost_results::merge::{MergeError, check_same, copy_facts, scenario_texts};
use wirecost_results::nbiot::{FOLDERS, NbiotSummary, RunFigures};
use wirecost_results::{ResultsError, RunFolder};
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::{Scenario, Work, merge};

use super::job;

/// Merges the folders into a new one. All must have the same scenario.
pub fn merged(sources: &[RunFolder], into: &RunFolder) -> Result<NbiotSummary, MergeError> {
    let [first, ..] = sources else {
        return Err(MergeError::TooFew);
    };
    let (scenario, options) = scenario(first)?;
    let value = |source: &RunFolder| -> Result<Value, MergeError> {
        let (scenario, _) = self::scenario(source)?;
        Ok(serde_json::to_value(scenario).unwrap_or_default())
    };
    let of_first = value(first)?;
    for source in sources {
        check_same(&of_first, &value(source)?, source)?;
    }
    let grids = Grids::new(&options).map_err(|why| wrong(first, &why))?;
    into.restore(&FOLDERS)?;
    copy_facts(sources, into)?;
    let runs = runs(sources, &grids)?;
    for run in &runs {
        job::keep(&grids, run, into)?;
    }
    let mut summary = job::judged(&scenario, &options, &grids, &runs);
    summary.checks = Vec::new();
    job::write(into, &summary)?;
    Ok(summary)
}

/// The scenario of a folder.
fn scenario(folder: &RunFolder) -> Result<(Scenario, NbiotOptions), MergeError> {
    let texts = scenario_texts(std::slice::from_ref(folder))?;
    let text = texts.first().map_or("", String::as_str);
    let scenario = merge::read(text).map_err(|why| wrong(folder, &why))?;
    match &scenario.work {
        Work::Nbiot(options) => {
            let options = (**options).clone();
            Ok((scenario, options))
        }
        _ => Err(wrong(folder, &"it is of another kind")),
    }
}

fn wrong(folder: &RunFolder, why: &dyn std::fmt::Display) -> MergeError {
    MergeError::Scenario {
        folder: folder.path().to_owned(),
        why: why.to_string(),
    }
}

/// The runs that any of the folders has, each once, in the order of the scenario. Equal runs have equal figures.
fn runs(sources: &[RunFolder], grids: &Grids) -> Result<Vec<FinishedRun>, ResultsError> {
    let mut found: BTreeMap<usize, RunFigures> = BTreeMap::new();
    for index in 0..grids.len() {
        let name = job::file_name(grids, index);
        if let Some(source) = sources.iter().find(|source| source.file(&name).exists()) {
            found.insert(index, source.read_json(&name)?);
        }
    }
    let runs = found
        .into_iter()
        .map(|(index, figures)| FinishedRun { index, figures });
    Ok(runs.collect())
}
