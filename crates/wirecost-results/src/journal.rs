//! `journal.jsonl`: the events of a run, one JSON object per line, in the order of time.

use std::io::{self, Write as _};

use serde::{Deserialize, Serialize};
use wirecost_files::output::{self, Existing, PUBLIC};

use super::folder::{ResultsError, RunFolder};
use super::json::from_json;
use super::load::Load;
use super::summary::Cell;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Entry {
    /// The run began.
    Started {
        /// When, RFC 3339, UTC.
        at: String,
        /// Version of wirecost.
        version: String,
        /// The command that repeats the run.
        command: String,
    },
    /// A later run resumed the folder.
    Resumed {
        /// When, RFC 3339, UTC.
        at: String,
        /// Version of wirecost.
        version: String,
        /// The command of the later run.
        command: String,
    },
    /// How many cells, loads or runs in NB-IoT cells the run has; those that an earlier run finished are among them.
    Planned {
        /// Of this run.
        cells: u64,
        /// Of all shards together.
        of_all: u64,
    },
    /// The figures of a cell, or of a load, are in `cells/<key>.json`.
    Cell {
        /// Its index in a whole run's `summary.json`.
        cell: u64,
        /// The key, which identifies the cell; empty in the journals of older versions.
        #[serde(default)]
        key: String,
        /// `live` or `sim`; empty in the journals of older versions.
        #[serde(default)]
        engine: String,
        /// Name of the stack.
        stack: String,
        /// Payload of a message in bytes; null where messages differ in it.
        payload_bytes: Option<u64>,
        /// `finished`; `partial`: it ended before it was complete; `failed` (loads only): a part of the generator
        /// failed, or there was no server; or `not-run`.
        state: String,
        /// Messages that it offered.
        offered: u64,
    },
    /// The run ended, and everything is written.
    Ended {
        /// When, RFC 3339, UTC.
        at: String,
        /// Whether it ended before every cell had its samples.
        interrupted: bool,
    },
}

/// Appends a line and waits until the line is on disk, except for the line of a cell: the file of the cell is already
/// on disk, and a cell whose line is lost is run again.
///
/// # Errors
/// The file system refuses.
pub fn append(folder: &RunFolder, entry: &Entry) -> Result<(), ResultsError> {
    let path = folder.file("journal.jsonl");
    let line = serde_json::to_string(entry).map_err(|error| ResultsError::Format {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    // In one write with its line end: a line that is cut by a crash has none, and is left out when the journal is read.
    let line = line + "\n";
    let written = output::own(&path, Existing::Continued, PUBLIC)
        .map_err(io::Error::from)
        .and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            match entry {
                Entry::Cell { .. } => Ok(()),
                _ => file.sync_data(),
            }
        });
    written.map_err(|source| ResultsError::Io {
        action: "write",
        path,
        source,
    })
}

/// The lines of the folder's journal. A truncated line is skipped.
///
/// # Errors
/// There is no journal, or it cannot be read.
pub fn read(folder: &RunFolder) -> Result<Vec<Entry>, ResultsError> {
    let text = folder.read_text("journal.jsonl")?;
    let lines = text.lines().filter_map(|line| from_json(line).ok());
    Ok(lines.collect())
}

/// The state of a load that failed. A later run runs the load again.
const FAILED: &str = "failed";

impl Entry {
    /// The key of a finished cell or load; `None` for any other line.
    pub fn finished_key(&self) -> Option<&str> {
        match self {
            Self::Cell { key, state, .. } if state != "partial" && state != FAILED && !key.is_empty() => {
                Some(key)
            }
            _ => None,
        }
    }

    /// The line of a load.
    pub fn of_load(index: usize, load: &Load) -> Self {
        let state = match &load.not_run {
            // The target may be available to a later run.
            Some(_) => FAILED,
            None if load.interrupted || load.aborted.is_some() => "partial",
            None if load.has_failed() => FAILED,
            None => "finished",
        };
        let offered = load.phases.iter().map(|phase| phase.outcomes.offered);
        Self::Cell {
            cell: index as u64,
            key: load.key.clone(),
            engine: load.engine.clone(),
            stack: load.stack.clone(),
            payload_bytes: load.payload_bytes,
            state: state.into(),
            offered: offered.sum(),
        }
    }

    /// Version and command of the run that began or resumed here.
    pub(crate) fn opened_by(&self) -> Option<(&str, &str)> {
        match self {
            Self::Started { version, command, .. } | Self::Resumed { version, command, .. } => {
                Some((version, command))
            }
            Self::Planned { .. } | Self::Cell { .. } | Self::Ended { .. } => None,
        }
    }

    /// Whether the line is about a finished cell or load.
    pub fn is_finished(&self) -> bool {
        self.finished_key().is_some()
    }

    /// Whether the line is about a load that failed.
    pub fn has_failed(&self) -> bool {
        matches!(self, Self::Cell { state, .. } if state == FAILED)
    }

    /// The line of a cell. A cell is finished if each of its `samples` has offered all messages.
    pub fn of_cell(index: usize, cell: &Cell, samples: u64) -> Self {
        let whole = samples * cell.messages_per_connection;
        let state = match &cell.not_run {
            Some(_) => "not-run",
            // A partial cell is run again on --resume.
            None if cell.outcomes.offered < whole => "partial",
            None => "finished",
        };
        Self::Cell {
            cell: index as u64,
            key: cell.key.clone(),
            engine: cell.engine.clone(),
            stack: cell.stack.clone(),
            payload_bytes: Some(cell.payload_bytes),
            state: state.into(),
            offered: cell.outcomes.offered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::PhaseFigures;
    use crate::warning::{Warning, WarningKind};

    #[test]
    fn lines_are_appended_and_read_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::open(dir.path());
        let entries = [
            Entry::Started {
                at: "1970-01-01T00:00:00Z".into(),
                version: "0".into(),
                command: "c".into(),
            },
            Entry::Ended {
                at: "1970-01-01T00:00:01Z".into(),
                interrupted: true,
            },
        ];
        entries
            .iter()
            .for_each(|entry| append(&folder, entry).expect("written"));
        assert_eq!(read(&folder).expect("readable"), entries);
        let text = std::fs::read_to_string(folder.file("journal.jsonl")).expect("readable");
        assert!(text.starts_with(r#"{"event":"started","at":"#), "{text}");
    }

    #[test]
    fn a_load_whose_generator_failed_is_not_finished() {
        let phase = |kind: WarningKind| PhaseFigures {
            warnings: vec![Warning {
                kind,
                text: "a worker has ended".into(),
                invalidates: true,
            }],
            ..PhaseFigures::default()
        };
        let entry = |kind| {
            let load = Load {
                key: "k".into(),
                phases: vec![phase(kind)],
                ..Load::default()
            };
            Entry::of_load(0, &load)
        };
        assert_eq!(entry(WarningKind::ScheduleLag).finished_key(), Some("k"));
        let unreachable = Load {
            key: "k".into(),
            not_run: Some("nobody there".into()),
            ..Load::default()
        };
        assert!(Entry::of_load(0, &unreachable).has_failed());
        let failed = entry(WarningKind::EndedEarly);
        assert!(failed.has_failed() && failed.finished_key().is_none());
    }
}
