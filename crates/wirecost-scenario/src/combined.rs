//! Every load of a file: each combination of its lists.

use crate::load::{self, ScenarioInputs};
use crate::node::{Node, Value};
use crate::options::load::{LoadOptions, Phase, Who};
use crate::{Place, ScenarioError, comparison, edit, labels};

/// Every load of a file: each combination of its lists, without the excluded ones.
pub(crate) fn loads(mut root: Node, inputs: ScenarioInputs<'_>) -> Result<Vec<LoadOptions>, ScenarioError> {
    let exclude = edit::remove(&mut root, "exclude");
    let exclude = exclude.map(|node| comparison::selectors(&node, &edit::OF_LOADS).map(|list| (node, list)));
    let (place, exclude) = exclude.transpose()?.unzip();
    let exclude = exclude.unwrap_or_default();
    let mut loads = combined(root, inputs)?;
    let labels: Vec<_> = loads
        .iter()
        .map(|written| labels::labels_of_load(&written.load))
        .collect();
    if let Some(idle) = exclude
        .iter()
        .find(|one| !labels.iter().any(|labels| one.matches(labels)))
    {
        let place = place.map(|node| node.place).unwrap_or_default();
        return Err(ScenarioError::new(&place, format!("exclude: nothing is {idle}")));
    }
    let mut labels = labels.iter();
    loads.retain(|_| {
        labels
            .next()
            .is_some_and(|labels| !exclude.iter().any(|one| one.matches(labels)))
    });
    // After the exclusion: a combination that cannot be run, but is excluded, is no error.
    let loads = loads.into_iter().map(Written::complete);
    let loads = loads.collect::<Result<Vec<LoadOptions>, ScenarioError>>()?;
    check_loads(&loads)?;
    Ok(loads)
}

/// A load before its defaults are filled in.
struct Written {
    node: Node,
    load: LoadOptions,
    /// Whether it is in the resolved form.
    is_resolved: bool,
}

impl Written {
    /// The validated load with its implied phases.
    fn complete(self) -> Result<LoadOptions, ScenarioError> {
        let Self {
            node,
            mut load,
            is_resolved,
        } = self;
        load::check(&node, &load)?;
        if !is_resolved {
            complete(&mut load.phases);
        }
        Ok(load)
    }
}

/// Every combination of the lists.
fn combined(root: Node, inputs: ScenarioInputs<'_>) -> Result<Vec<Written>, ScenarioError> {
    let mut loads = Vec::new();
    for (node, is_resolved) in spelled_out(root)? {
        // `combinations` limits each entry by itself: a list of entries with lists would pass it.
        if loads.len() > edit::MAX_COMBINATIONS {
            return Err(ScenarioError::new(
                &node.place,
                "loads: they are more than one scenario can have",
            ));
        }
        for node in edit::combinations(&node, &edit::varied(&edit::OF_LOADS))? {
            let load = load::read(&node, inputs)?;
            loads.push(Written {
                node,
                load,
                is_resolved,
            });
        }
    }
    Ok(loads)
}

/// Checks that there is at least one load, and no load twice.
fn check_loads(loads: &[LoadOptions]) -> Result<(), ScenarioError> {
    if loads.is_empty() {
        return Err(ScenarioError::new(
            &Place::File,
            "nothing is left to run: exclude leaves out every load",
        ));
    }
    if let Some(double) = (1..loads.len()).find(|at| loads[..*at].contains(&loads[*at])) {
        let message = format!(
            "load {} of {} is the same as an earlier one: give each value once, and do not vary a key that each phase sets itself",
            double + 1,
            loads.len()
        );
        return Err(ScenarioError::new(&Place::File, message));
    }
    Ok(())
}

/// The tables of loads: the file itself, or each entry of `loads` merged into the file. Entries of `loads` are
/// resolved.
fn spelled_out(mut root: Node) -> Result<Vec<(Node, bool)>, ScenarioError> {
    let Some(node) = edit::remove(&mut root, "loads") else {
        return Ok(vec![(root, false)]);
    };
    let Value::List(list) = node.value else {
        let message = format!("loads: a list is expected, this is {}", node.kind());
        return Err(ScenarioError::new(&node.place, message));
    };
    if list.len() > edit::MAX_COMBINATIONS || list.len() * root.weight() > edit::MAX_WEIGHT {
        let message = format!("loads: {} are more than one scenario can have", list.len());
        return Err(ScenarioError::new(&node.place, message));
    }
    let mut all = Vec::with_capacity(list.len());
    for entry in list {
        let mut one = root.clone();
        let kind = entry.kind();
        let Value::Table(entries) = entry.value else {
            return Err(ScenarioError::new(
                &entry.place,
                format!("loads: a table is expected, this is {kind}"),
            ));
        };
        // An error message names the line of the entry, not the first line of the file.
        one.place = entry.place;
        for (key, node) in entries {
            edit::set(&mut one, &key.name, node)?;
        }
        all.push((one, true));
    }
    Ok(all)
}

/// Adds the implied phases: devices connect first, and close last.
fn complete(phases: &mut Vec<Phase>) {
    let connects = |phase: &Phase| matches!(phase, Phase::Connect { .. } | Phase::Handshakes { .. });
    // Devices that were never connected would send nothing, without an error.
    if !phases.iter().any(connects) {
        phases.insert(
            0,
            Phase::Connect {
                who: Who::All,
                rate: None,
            },
        );
    }
    let ends = |phase: &Phase| matches!(phase, Phase::Close { .. } | Phase::Handshakes { .. });
    if !phases.last().is_some_and(ends) {
        phases.push(Phase::Close { rate: None });
    }
}
