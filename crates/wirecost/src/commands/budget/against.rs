//! The earlier run of a budget: its folder, and the cell that a cell is compared with.

use std::path::{Path, PathBuf};

use wirecost_results::{Cell, RunFolder, Summary};
use wirecost_scenario::ScenarioError;
use wirecost_scenario::budget::{Budget, Budgeted};
use wirecost_scenario::options::compare::Options;

use super::{JUDGED, Run};
use crate::exit::Failure;

/// The file of a capture's figures in the results folder of a budget.
pub const CAPTURE: &str = "capture.json";
/// The figures of a run.
const SUMMARY: &str = "summary.json";

/// The folder of the earlier run.
pub struct BaseFolder {
    folder: Option<PathBuf>,
    /// Whether it is the results folder of the budget's one scenario.
    is_of_scenario: bool,
}

impl BaseFolder {
    /// The folder of `--against`.
    pub fn open(folder: Option<&Path>, budget: &Budget) -> Result<Self, Failure> {
        let Some(folder) = folder else {
            return Ok(Self {
                folder: None,
                is_of_scenario: false,
            });
        };
        let is_of_scenario = folder.join(SUMMARY).is_file();
        let shown = folder.display();
        if !is_of_scenario && !folder.join(JUDGED).is_file() {
            return Err(Failure::usage(format!(
                "--against: {shown} is neither a results folder nor that of a budget"
            ))
            .with_hint("wirecost budget BUDGET --out base writes one"));
        }
        if is_of_scenario && budget.scenarios.len() != 1 {
            let scenarios = budget.scenarios.len();
            return Err(Failure::usage(format!(
                "--against: {shown} is the folder of one run, and the budget has {scenarios} scenarios"
            ))
            .with_hint("wirecost budget BUDGET --out base writes a folder with all of them"));
        }
        Ok(Self {
            folder: Some(folder.to_owned()),
            is_of_scenario,
        })
    }

    /// The earlier run of a scenario; `None` if there is none.
    pub fn of_scenario(
        &self,
        budgeted: &Budgeted,
        options: &Options,
        file: &str,
    ) -> Result<Option<Run>, Failure> {
        let Some(base) = &self.folder else {
            return Ok(None);
        };
        let path = match self.is_of_scenario {
            true => base.clone(),
            false => base.join(&budgeted.name),
        };
        if !path.join(SUMMARY).is_file() {
            return Ok(None);
        }
        let folder = RunFolder::open(&path);
        let summary: Summary = folder.read_json(SUMMARY)?;
        let stacks: Vec<String> = options.stacks.iter().map(ToString::to_string).collect();
        if summary.cells.iter().any(|cell| stacks.contains(&cell.stack)) {
            return Ok(Some(Run { summary, folder }));
        }
        let message = format!(
            "{}: --against: {} holds another scenario: its stacks are {}, and this one has {}",
            budgeted.name,
            path.display(),
            summary.scenario.stacks().join(", "),
            stacks.join(", ")
        );
        Err(ScenarioError::new(&budgeted.place, message)
            .in_file(file)
            .with_hint("give the folder that this budget wrote before the change")
            .into())
    }

    /// The earlier figures of the capture; `None` if there are none.
    pub fn of_capture(&self) -> Result<Option<serde_json::Value>, Failure> {
        let base = self.folder.as_ref().filter(|base| base.join(CAPTURE).is_file());
        base.map(|base| Ok(RunFolder::open(base).read_json(CAPTURE)?))
            .transpose()
    }
}

/// The earlier cell that a cell is compared with: the one with the same dimensions. Where a change of the scenario changed a
/// dimension, it is the cell of the same stack that differs least among those that no other cell is compared with.
pub fn earlier<'a>(old: &'a [Cell], new: &[Cell], cell: &Cell) -> Option<&'a Cell> {
    if let Some(same) = old.iter().find(|one| differing(one, cell) == 0) {
        return Some(same);
    }
    let is_free = |one: &&Cell| new.iter().all(|other| differing(one, other) > 0);
    let of_stack = old
        .iter()
        .filter(|one| one.stack == cell.stack && one.engine == cell.engine);
    of_stack.filter(is_free).min_by_key(|one| differing(one, cell))
}

/// In how many dimensions, of those that both have, two cells differ.
fn differing(one: &Cell, other: &Cell) -> usize {
    let differs = |(key, value): &(&String, &String)| other.labels.get(*key).is_some_and(|own| own != *value);
    one.labels.iter().filter(differs).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(stack: &str, size: &str) -> Cell {
        let labels = [("stack", stack), ("size", size)];
        Cell {
            stack: stack.to_owned(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..Cell::default()
        }
    }

    #[test]
    fn a_cell_whose_size_changed_is_compared_with_the_one_that_has_no_namesake() {
        let old = [cell("udp", "128B"), cell("udp", "64B"), cell("tcp", "64B")];
        let new = [
            cell("udp", "128B"),
            cell("udp", "65B"),
            cell("tcp", "64B"),
            cell("http1", "64B"),
        ];
        let found = new.each_ref().map(|one| earlier(&old, &new, one));
        assert_eq!(found, [Some(&old[0]), Some(&old[1]), Some(&old[2]), None]);
    }
}
