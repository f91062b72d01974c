//! What a worker process is told, and what it says: one line of JSON each.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::load::print::{Resolved, Secrets};
use wirecost_scenario::{ScenarioError, load};

use crate::destination::Destination;
use crate::part::{FromPart, ToPart};
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
    parts: Vec<Piece>,
}

/// One part: its number among all, and its devices.
#[derive(Debug, Serialize, Deserialize)]
struct Piece {
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
        let piece = |share: &Share| Piece {
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
            parts: shares.iter().map(piece).collect(),
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
        let share = |piece: Piece| Share {
            options: Arc::clone(&options),
            destination: destination.clone(),
            number: piece.number,
            devices: piece.devices,
            subscribers: piece.subscribers,
        };
        Ok(job.parts.into_iter().map(share).collect())
    }
}

/// What a part of a worker process is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The part's number.
    pub part: u32,
    /// What it is told.
    pub order: ToPart,
}

impl Order {
    /// The order as a line.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// The order of such a line; `None` where it is none.
    pub fn from_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// What a part of a worker process says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Word {
    /// The part's number.
    pub part: u32,
    /// What it says.
    pub says: FromPart,
}

impl Word {
    /// The word as a line.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// The word of such a line; `None` where it is none.
    pub fn from_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

fn line(value: &impl Serialize) -> String {
    // Texts, numbers and lists: there is nothing that JSON cannot hold.
    serde_json::to_string(value).unwrap_or_default()
}
