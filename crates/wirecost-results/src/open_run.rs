//! The life cycle of a results folder: a run creates or resumes it, keeps other runs out of it, and leaves it so that a
//! later run can resume it, or removes it where nothing was measured.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use crate::folder::{ResultsError, RunFolder};
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
        let folder = RunFolder::open(path);
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
