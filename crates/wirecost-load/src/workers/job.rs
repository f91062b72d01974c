//! What a worker process is told, and what it says: one line of JSON each.

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::load::print::{Resolved, Secrets};
use wirecost_scenario::{ScenarioError, load};

use crate::destination::Destination;

use crate::share::Share;

/// What a worker process is given: some parts of a load.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Job {
    /// The load as a scenario has it, passwords included.
    load: String,
    /// Whether the user may load its target; no scenario says that.
    is_permitted: bool,
    /// Where it goes; absent where there are no parts.
    destination: Option<Destination>,
    parts: Vec<PartRange>,
}

/// One part: its number among all, and its devices.
#[derive(Debug, Serialize, Deserialize)]
struct PartRange {
    number: u32,
    devices: Range<u32>,
    subscribers: Range<u32>,
}

/// Why a job cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// It is not JSON of this version.
    #[error("not a job of this version: {0}")]
    Format(#[from] serde_json::Error),
    /// Its load cannot be read.
    #[error("not a load of this version: {0}")]
    Load(#[from] ScenarioError),
    /// It has no parts.
    #[error("a job without parts")]
    Empty,
}

impl Job {
    /// The job of these shares of one load.
    pub fn of(shares: &[Share]) -> Self {
        let range = |share: &Share| PartRange {
            number: share.number,
            devices: share.devices.clone(),
            subscribers: share.subscribers.clone(),
        };
        let Some(first) = shares.first() else {
            return Self::default();
        };
        Self {
            load: Resolved::new(&first.options, Secrets::Shown).to_json(),
            is_permitted: first.options.is_permitted,
            destination: Some(first.destination.clone()),
            parts: shares.iter().map(range).collect(),
        }
    }

    /// The job as a line.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// The shares of such a line.
    ///
    /// # Errors
    /// It is no job, or one of another version.
    pub fn shares(line: &str) -> Result<Vec<Share>, JobError> {
        let job: Self = serde_json::from_str(line)?;
        let destination = job.destination.ok_or(JobError::Empty)?;
        let options = Arc::new(LoadOptions {
            is_permitted: job.is_permitted,
            ..load::parse(&job.load)?
        });
        let share = |range: PartRange| Share {
            options: Arc::clone(&options),
            destination: destination.clone(),
            number: range.number,
            devices: range.devices,
            subscribers: range.subscribers,
        };
        Ok(job.parts.into_iter().map(share).collect())
    }
}

/// A message to a part of a worker process, or from one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Addressed<M> {
    /// The part's number.
    pub part: u32,
    /// The message.
    pub message: M,
}

impl<M: Serialize + DeserializeOwned> Addressed<M> {
    /// The message as a line of JSON.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// Reads such a line; `None` for any other text.
    pub fn from_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

fn line(value: &impl Serialize) -> String {
    // Texts, numbers and lists: there is nothing that JSON cannot hold.
    serde_json::to_string(value).unwrap_or_default()
}
