//! The messages between a coordinator and a worker process: one line of JSON each.

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::load::print::{Resolved, Secrets};
use wirecost_scenario::options::load::roster::{Roster, RosterError};
use wirecost_scenario::{ScenarioError, load};

use crate::devices::destination::Destination;

use crate::devices::share::Share;

/// The job of a worker process: some parts of a load.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Job {
    /// The load as a scenario, passwords included.
    load: String,
    /// The name and the text of the file with the credentials of devices, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credentials: Option<(String, String)>,
    /// Whether the user may load the target. A scenario does not contain this.
    is_permitted: bool,
    /// The destination; absent if there are no parts.
    destination: Option<Destination>,
    parts: Vec<PartRange>,
}

/// One part: its number among all parts, and its devices.
#[derive(Debug, Serialize, Deserialize)]
struct PartRange {
    number: u32,
    devices: Range<u32>,
    subscribers: Range<u32>,
}

/// Why a job is refused.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The job is not JSON of this version.
    #[error("not a job of this version: {0}")]
    Format(#[from] serde_json::Error),
    /// The load is unreadable.
    #[error("not a load of this version: {0}")]
    Load(#[from] ScenarioError),
    /// The credentials of devices are unreadable.
    #[error("not the credentials of this version: {0}")]
    Credentials(#[from] RosterError),
    /// The job has no parts.
    #[error("a job without parts")]
    Empty,
}

impl Job {
    /// The job of these shares of one load.
    pub fn from_shares(shares: &[Share]) -> Self {
        let range = |share: &Share| PartRange {
            number: share.number,
            devices: share.devices.clone(),
            subscribers: share.subscribers.clone(),
        };
        let Some(first) = shares.first() else {
            return Self::default();
        };
        Self {
            // The worker needs the secrets to connect. The pipe, or the encrypted channel to an agent, is the only reader.
            load: Resolved::new(&first.options, Secrets::Shown).to_json(),
            credentials: first
                .options
                .roster
                .as_ref()
                .and_then(|roster| Some((roster.path.clone(), roster.text()?.to_owned()))),
            is_permitted: first.options.is_permitted,
            destination: Some(first.destination.clone()),
            parts: shares.iter().map(range).collect(),
        }
    }

    /// The job as a line.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// The shares in such a line.
    ///
    /// # Errors
    /// The line is not a job, or one of another version.
    pub fn shares(line: &str) -> Result<Vec<Share>, JobError> {
        serde_json::from_str::<Self>(line)?.into_shares()
    }

    /// The shares of the job.
    ///
    /// # Errors
    /// It has none, or its load is one of another version.
    pub fn into_shares(self) -> Result<Vec<Share>, JobError> {
        let destination = self.destination.ok_or(JobError::Empty)?;
        let roster = self.credentials.map(|(path, text)| Roster::read(path, &text));
        let options = Arc::new(LoadOptions {
            is_permitted: self.is_permitted,
            roster: roster.transpose()?,
            ..load::parse(&self.load)?
        });
        let share = |range: PartRange| Share {
            options: Arc::clone(&options),
            destination: destination.clone(),
            number: range.number,
            devices: range.devices,
            subscribers: range.subscribers,
            offset_ns: 0,
            clock_error_ns: 0,
            own_sockets: None,
        };
        Ok(self.parts.into_iter().map(share).collect())
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
    // Texts, numbers and lists always serialize.
    serde_json::to_string(value).unwrap_or_default()
}
