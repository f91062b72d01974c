//! The files of a results folder and their names.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Write as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wirecost_files::Input;
use wirecost_files::output::{self, Existing, PUBLIC, SECRET};

use wirecost_proto::peer_text::visible;

use super::{Environment, Ladder, SampleRow, Summary};
use crate::columns::Row as _;
use crate::json::from_json;

/// Why a results folder could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// `create`, `write`, `read`, `remove`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the folder does not have this version's format.
    #[error("{path} is not a results file of this version: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The folder already holds files, of another run or of something else.
    #[error("{path} is not empty")]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// Another run is writing to the folder.
    #[error("another run is at work in {path}")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
}

/// The sub-folders of a comparison.
pub const FOLDERS: [&str; 3] = [LATENCY, "capture", CELLS];
/// The sub-folders of a load.
pub const LOAD_FOLDERS: [&str; 2] = [LATENCY, CELLS];
/// The sub-folder of the cells.
pub const CELLS: &str = "cells";
/// The sub-folder of the distributions.
const LATENCY: &str = "latency";

/// A results folder that exists and can be written to.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// What the folder held before this command continued its run.
    pub(crate) earlier: Option<Box<EarlierCommands>>,
    /// The lock of a folder that this run created: two runs that find it empty at the same time do not share it.
    _taken: Option<Arc<File>>,
}

/// The machine of the commands that wrote to a folder before, and how many cells or loads they ran.
#[derive(Clone, Debug)]
pub(crate) struct EarlierCommands {
    pub(crate) environment: Environment,
    pub(crate) ran: usize,
}

/// Everything that a report may read of a results folder.
#[derive(Clone, Debug)]
pub struct Results {
    /// `summary.json`.
    pub summary: Summary,
    /// `env.json`.
    pub environment: Environment,
    /// `ladder.json`.
    pub ladders: Vec<Ladder>,
    /// `samples.csv`.
    pub samples: Vec<SampleRow>,
}

impl RunFolder {
    /// Creates the folder of a comparison with its sub-folders.
    ///
    /// # Errors
    /// It cannot be created or written to, or is not empty.
    pub fn create(path: &Path) -> Result<Self, ResultsError> {
        Self::create_with(path, &FOLDERS)
    }

    /// Creates a folder with these sub-folders.
    ///
    /// # Errors
    /// It cannot be created or written to, or is not empty.
    pub fn create_with(path: &Path, folders: &[&str]) -> Result<Self, ResultsError> {
        fs::create_dir_all(path).map_err(|source| io("create", path, source))?;
        if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(ResultsError::Occupied {
                path: path.to_owned(),
            });
        }
        let folder = Self {
            _taken: taken(path)?,
            ..Self::open(path)
        };
        folder.restore(folders)?;
        Ok(folder)
    }

    /// Creates the sub-folders that are missing. An earlier run that failed has removed its empty ones.
    ///
    /// # Errors
    /// One cannot be created.
    pub fn restore(&self, folders: &[&str]) -> Result<(), ResultsError> {
        fs::create_dir_all(&self.path).map_err(|source| io("create", &self.path, source))?;
        for dir in folders.iter().map(|name| self.file(name)) {
            output::own_folder(&dir).map_err(|fault| io("create", &dir, fault))?;
        }
        Ok(())
    }

    /// Locks the folder: no other run can open it until the returned file is closed.
    ///
    /// # Errors
    /// Another run is at work in it, or the journal cannot be opened.
    pub fn lock(&self) -> Result<File, ResultsError> {
        let path = self.file("journal.jsonl");
        let opened = output::own(&path, Existing::Continued, PUBLIC);
        let file = opened.map_err(|fault| io("create", &path, fault))?;
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Err(ResultsError::Busy {
                path: self.path.clone(),
            }),
            // A file system may have no locks. The run continues without one.
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(file),
        }
    }

    /// Removes the distributions of an earlier run, in which cells may have had other numbers.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn clear_distributions(&self) -> Result<(), ResultsError> {
        let dir = self.file(LATENCY);
        let entries = fs::read_dir(&dir).map_err(|source| io("read", &dir, source))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            fs::remove_file(&path).map_err(|source| io("remove", &path, source))?;
        }
        Ok(())
    }

    /// Opens a folder that a run has written.
    pub fn open(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            earlier: None,
            _taken: None,
        }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a text file, whole or not at all: under a temporary name first, renamed when it is on disk.
    ///
    /// # Errors
    /// The file system refused.
    pub fn write(&self, name: &str, contents: &[u8]) -> Result<(), ResultsError> {
        self.write_with_mode(name, contents, PUBLIC, File::sync_data)
    }

    /// Like [`RunFolder::write`] for a file that can be derived again from other files: it is not synced to disk.
    ///
    /// # Errors
    /// The file system refused.
    pub fn write_derived(&self, name: &str, contents: &[u8]) -> Result<(), ResultsError> {
        self.write_with_mode(name, contents, PUBLIC, |_| Ok(()))
    }

    /// The same for secrets: only the owner may read them.
    ///
    /// # Errors
    /// The file system refused.
    pub fn write_secret(&self, name: &str, contents: &[u8]) -> Result<(), ResultsError> {
        self.write_with_mode(name, contents, SECRET, File::sync_data)
    }

    /// The process's umask applies to `mode`.
    fn write_with_mode(
        &self,
        name: &str,
        contents: &[u8],
        mode: u32,
        sync: fn(&File) -> std::io::Result<()>,
    ) -> Result<(), ResultsError> {
        let path = self.file(name);
        // Renamed when it is whole: a reader, or a run that continues after a crash, never sees half a file (rename(2) is atomic).
        let partial = self.file(&format!("{name}.partial"));
        let opened = output::own(&partial, Existing::Replaced, mode).map_err(std::io::Error::from);
        let written = opened.and_then(|mut file| {
            file.write_all(contents)?;
            // Before the rename: after a power failure the new name could otherwise lead to an empty file.
            sync(&file)
        });
        if let Err(source) = written.and_then(|()| fs::rename(&partial, &path)) {
            // The disk may be full: what is left of the file would take the room that the next one needs.
            let _ = fs::remove_file(&partial);
            return Err(io("write", &path, source));
        }
        Ok(())
    }

    /// Writes a JSON file.
    ///
    /// # Errors
    /// The file system refused.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), ResultsError> {
        self.write(name, &self.json(name, value)?)
    }

    /// The same for secrets: only the owner may read them.
    ///
    /// # Errors
    /// The file system refused.
    pub fn write_secret_json(&self, name: &str, value: &impl Serialize) -> Result<(), ResultsError> {
        self.write_secret(name, &self.json(name, value)?)
    }

    fn json(&self, name: &str, value: &impl Serialize) -> Result<Vec<u8>, ResultsError> {
        let format = |error: serde_json::Error| ResultsError::Format {
            path: self.file(name),
            reason: error.to_string(),
        };
        let mut text = serde_json::to_vec_pretty(value).map_err(format)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Reads everything that a report may use.
    ///
    /// # Errors
    /// A file is missing, cannot be read, or is not of this version.
    pub fn read(&self) -> Result<Results, ResultsError> {
        // In a sweep the samples are by far the largest file.
        let results = thread::scope(|scope| {
            let samples = scope.spawn(|| self.read_samples());
            Ok(Results {
                summary: self.read_json("summary.json")?,
                environment: self.read_json("env.json")?,
                ladders: self.read_json("ladder.json")?,
                samples: samples.join().unwrap_or_else(|panic| resume_unwind(panic))?,
            })
        })?;
        if results.summary.schema != super::summary::SCHEMA {
            let reason = format!(
                "schema {}, expected {}",
                results.summary.schema,
                super::summary::SCHEMA
            );
            return Err(ResultsError::Format {
                path: self.file("summary.json"),
                reason,
            });
        }
        Ok(results)
    }

    /// Reads a JSON file.
    ///
    /// # Errors
    /// The file cannot be read, or another version wrote it.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, ResultsError> {
        let text = self.read_raw(name)?;
        from_json(&text).map_err(|error| ResultsError::Format {
            path: self.file(name),
            reason: error.to_string(),
        })
    }

    fn read_samples(&self) -> Result<Vec<SampleRow>, ResultsError> {
        let text = self.read_text("samples.csv")?;
        let rows = text.split_once('\n').map_or("", |(_columns, rows)| rows);
        let middle = rows[..rows.floor_char_boundary(rows.len() / 2)]
            .rfind('\n')
            .map_or(0, |end| end + 1);
        let (front, back) = rows.split_at(middle);
        let parse = |part: &str| part.lines().map(SampleRow::from_line).collect::<Option<Vec<_>>>();
        let halves = thread::scope(|scope| {
            let back = scope.spawn(|| parse(back));
            let front = parse(front);
            front.zip(back.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        let Some((mut samples, back)) = halves else {
            return Err(self.other_columns(&text));
        };
        samples.extend(back);
        Ok(samples)
    }

    /// The error for the first line of `samples.csv` that does not have the columns of this version.
    fn other_columns(&self, text: &str) -> ResultsError {
        let mut lines = text.lines().skip(1);
        let index = lines.position(|line| SampleRow::from_line(line).is_none());
        ResultsError::Format {
            path: self.file("samples.csv"),
            reason: format!("line {} has other columns", index.map_or(1, |index| index + 2)),
        }
    }

    /// Reads a text file. A stranger may have made the folder, so what controls a terminal is escaped.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_text(&self, name: &str) -> Result<String, ResultsError> {
        let text = self.read_raw(name)?;
        Ok(match visible(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(escaped) => escaped,
        })
    }

    fn read_raw(&self, name: &str) -> Result<String, ResultsError> {
        let path = self.file(name);
        Input::Results
            .text(&path)
            .map_err(|fault| io("read", &path, fault))
    }
}

/// Locks a folder itself, until the returned file is closed. A file system may have no locks: the run continues without one.
fn taken(path: &Path) -> Result<Option<Arc<File>>, ResultsError> {
    let Ok(folder) = output::folder(path) else {
        return Ok(None);
    };
    match folder.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(ResultsError::Busy {
            path: path.to_owned(),
        }),
        Ok(()) => Ok(Some(Arc::new(folder))),
        Err(fs::TryLockError::Error(_)) => Ok(None),
    }
}

fn io(action: &'static str, path: &Path, source: impl Into<std::io::Error>) -> ResultsError {
    ResultsError::Io {
        action,
        path: path.to_owned(),
        source: source.into(),
    }
}
