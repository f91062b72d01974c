//! The life cycle of a results folder: a run creates or resumes it, keeps other runs out of it, and leaves it so that a
//! later run can resume it, or removes it where nothing was measured.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use crate::Environment;
use crate::folder::{EarlierCommands, ResultsError, RunFolder};
use crate::journal::{self, Entry};
use crate::resume::{Earlier, ResumeError};
use crate::time::rfc3339;

/// What a run writes into its results folder before it measures anything.
#[derive(Clone, Debug)]
pub struct RunStart {
    /// The sub-folders: [`FOLDERS`](crate::folder::FOLDERS) or [`LOAD_FOLDERS`](crate::folder::LOAD_FOLDERS).
    pub folders: &'static [&'static str],
    /// The command that repeats the run.
    pub command: String,
    /// The scenario as YAML, every default filled in.
    pub scenario: String,
    /// When the run began.
    pub at: SystemTime,
}

/// A results folder that this run writes to. No other run can open it before this value is dropped.
#[derive(Debug)]
pub struct OpenRun {
    /// The folder.
    pub folder: RunFolder,
    /// What an earlier run has measured.
    pub earlier: Earlier,
    _lock: File,
}

impl OpenRun {
    /// Creates the folder of a new run.
    ///
    /// # Errors
    /// The folder cannot be created or written to, or is not empty.
    pub fn create(path: &Path, start: RunStart) -> Result<Self, ResultsError> {
        let folder = RunFolder::create_with(path, start.folders)?;
        let (at, version) = (rfc3339(start.at), env!("CARGO_PKG_VERSION").into());
        let command = start.command.clone();
        let entry = Entry::Started { at, version, command };
        Self::begin(folder, Earlier::default(), &start, &entry)
    }

    /// Opens the folder of an earlier run to run what is missing. With `may_differ` the earlier run may have had another
    /// scenario: its cells are taken where their keys are the same.
    ///
    /// # Errors
    /// There is no earlier run, it had another scenario, or the folder cannot be written to.
    pub fn resume(path: &Path, start: RunStart, may_differ: bool) -> Result<Self, ResumeError> {
        let folder = RunFolder::open_again(path);
        let earlier = Earlier::open(&folder, &start.scenario, may_differ)?;
        let (at, version) = (rfc3339(start.at), env!("CARGO_PKG_VERSION").into());
        let command = start.command.clone();
        let entry = Entry::Resumed { at, version, command };
        Ok(Self::begin(folder, earlier, &start, &entry)?)
    }

    fn begin(
        folder: RunFolder,
        earlier: Earlier,
        start: &RunStart,
        entry: &Entry,
    ) -> Result<Self, ResultsError> {
        // First: two runs that write at the same time spoil each other's journal.
        let lock = folder.lock()?;
        folder.restore(start.folders)?;
        journal::append(&folder, entry)?;
        folder.write("scenario.resolved.yaml", start.scenario.as_bytes())?;
        Ok(Self {
            folder,
            earlier,
            _lock: lock,
        })
    }
}

impl RunFolder {
    /// Opens a folder to continue its run: `env.json` will cover the earlier commands too.
    fn open_again(path: &Path) -> Self {
        let mut folder = Self::open(path);
        let machine = folder.read_json("env.json").ok();
        folder.earlier = machine.map(|environment| {
            let ran = folder.ran();
            Box::new(EarlierCommands { environment, ran })
        });
        folder
    }

    /// How many cells or loads were run, as the journal says.
    fn ran(&self) -> usize {
        let entries = journal::read(self).unwrap_or_default();
        entries
            .iter()
            .filter(|entry| matches!(entry, Entry::Cell { .. }))
            .count()
    }

    /// Writes `env.json`. In a run that is continued it covers the earlier commands too; a command that ran nothing leaves
    /// it as it was.
    ///
    /// # Errors
    /// The file system refused.
    pub fn write_environment(&self, environment: Environment) -> Result<(), ResultsError> {
        let environment = match &self.earlier {
            None => environment,
            Some(earlier) if earlier.ran == self.ran() => earlier.environment.clone(),
            Some(earlier) => environment.following(&earlier.environment),
        };
        self.write_json("env.json", &environment)
    }

    /// Whether a run has finished a cell or a load in the folder, so that a later run can resume it.
    pub fn can_be_resumed(&self) -> bool {
        let entries = journal::read(self).unwrap_or_default();
        entries.iter().any(Entry::is_finished)
    }

    /// Removes the folder if nothing was measured: if it holds no more than the files that a run writes at its start. A file
    /// that explains the failure, such as the log of a server, keeps the folder.
    pub fn remove_if_nothing_measured(&self) {
        let Ok(entries) = std::fs::read_dir(self.path()) else {
            return;
        };
        let mut rest = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_empty_log = path.extension().is_some_and(|extension| extension == "log")
                && path.metadata().is_ok_and(|metadata| metadata.len() == 0);
            // `remove_dir` leaves a folder that is not empty.
            let is_removed = match path.is_dir() {
                true => std::fs::remove_dir(&path).is_ok(),
                false => is_empty_log && std::fs::remove_file(&path).is_ok(),
            };
            if !is_removed {
                rest.push(path);
            }
        }
        // Anything else is a result or an explanation, and is kept.
        if rest.iter().all(|path| is_of_start(path)) {
            rest.iter().for_each(|path| drop(std::fs::remove_file(path)));
            drop(std::fs::remove_dir(self.path()));
        }
    }
}

/// Whether a file is one that a run writes before it measures anything.
fn is_of_start(path: &Path) -> bool {
    const WRITTEN: [&str; 6] = [
        "journal.jsonl",
        "scenario.resolved.yaml",
        "summary.json",
        "intervals.csv",
        "usage.csv",
        "metrics.om",
    ];
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_environment = name.starts_with("env") && name.ends_with(".json");
    path.is_file() && (is_environment || WRITTEN.contains(&name))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::folder::LOAD_FOLDERS;

    fn start() -> RunStart {
        RunStart {
            folders: &LOAD_FOLDERS,
            command: "wirecost load tcp".into(),
            scenario: "seed: 1\n".into(),
            at: UNIX_EPOCH,
        }
    }

    #[test]
    fn one_run_at_a_time_writes_to_a_folder() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("run");
        let run = OpenRun::create(&path, start()).expect("a new folder");
        let busy = OpenRun::resume(&path, start(), false)
            .expect_err("locked")
            .to_string();
        assert!(busy.contains("another run"), "{busy}");
        drop(run);
        let changed = RunStart {
            scenario: "seed: 2\n".into(),
            ..start()
        };
        let refused = OpenRun::resume(&path, changed, false).expect_err("another scenario");
        assert!(
            matches!(&refused, ResumeError::Changed { command: Some(command), .. } if command == "wirecost load tcp"),
            "{refused}"
        );
        let resumed = OpenRun::resume(&path, start(), false).expect("the same scenario");
        assert!(resumed.earlier.finished.is_empty() && !resumed.folder.can_be_resumed());
    }

    #[test]
    fn a_command_that_runs_nothing_leaves_the_machine_of_earlier_ones() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("run");
        let took = |duration_s| Environment {
            duration_s,
            packet_path: "none".into(),
            ..Environment::default()
        };
        let load = crate::load::Load {
            key: "one".into(),
            ..Default::default()
        };
        let ran = Entry::of_load(0, &load);
        let duration = |run: &OpenRun| {
            run.folder
                .read_json::<Environment>("env.json")
                .expect("written")
                .duration_s
        };

        let run = OpenRun::create(&path, start()).expect("a new folder");
        journal::append(&run.folder, &ran).expect("written");
        run.folder.write_environment(took(5.0)).expect("written");
        drop(run);
        let run = OpenRun::resume(&path, start(), false).expect("the same scenario");
        run.folder.write_environment(took(1.0)).expect("written");
        assert_eq!(duration(&run), 5.0);
        journal::append(&run.folder, &ran).expect("written");
        for now in [2.0, 3.0] {
            run.folder.write_environment(took(now)).expect("written");
            assert_eq!(duration(&run), 5.0 + now);
        }
    }

    #[test]
    fn a_folder_stays_only_if_something_was_measured() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("run");
        for (file, content, stays) in [
            ("server.log", "", false),
            ("server.log", "cannot listen", true),
            ("env-2.json", "{}", false),
            ("cells/key.json", "{}", true),
        ] {
            let run = OpenRun::create(&path, start()).expect("a new folder");
            std::fs::write(run.folder.file(file), content).expect("written");
            run.folder.remove_if_nothing_measured();
            assert_eq!(path.exists(), stays, "{file} {content:?}");
            drop(std::fs::remove_dir_all(&path));
        }
    }
}
