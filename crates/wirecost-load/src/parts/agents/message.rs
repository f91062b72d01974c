//! The messages between a coordinator and an agent: one line of JSON each.

use serde::{Deserialize, Serialize};

use crate::devices::part::{FromPart, ToPart};
use crate::parts::workers::job::{Addressed, Job};

/// A message to an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// It takes part, as the agent with this number.
    Welcome {
        /// Its number, from 1.
        number: u32,
    },
    /// It does not take part.
    Refused {
        /// Why, in one sentence.
        reason: String,
    },
    /// A question, which it answers at once.
    Ask {
        /// The number of the question.
        question: u64,
    },
    /// Its parts of the next load.
    Job {
        /// The parts.
        job: Box<Job>,
        /// What its clock shows more than the coordinator's, in nanoseconds.
        offset_ns: i64,
        /// How far the clocks of two agents may be apart, in nanoseconds.
        clock_error_ns: u64,
    },
    /// A message to one of its parts, with instants on the coordinator's clock.
    Part(Addressed<ToPart>),
    /// There is nothing more to do.
    Bye,
}

/// A message from an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// It wants to take part: its first message.
    Join(Join),
    /// The answer to a question.
    Answer {
        /// The number of the question.
        question: u64,
        /// When the question was received, on the agent's clock, in nanoseconds.
        received_ns: u64,
        /// When the answer was sent, on the agent's clock, in nanoseconds.
        answered_ns: u64,
        /// The resources that it has used.
        spent: AgentUse,
    },
    /// A message from one of its parts, with instants on the coordinator's clock.
    Part(Addressed<FromPart>),
    /// The order to begin a phase has arrived.
    Ordered {
        /// The index of the phase.
        phase: u32,
        /// How long after the beginning of the phase it arrived, in nanoseconds; 0 if it was in time.
        late_ns: u64,
    },
    /// The job cannot be begun.
    Failed {
        /// Why, in one sentence.
        reason: String,
    },
}

/// What an agent says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Join {
    /// Version of wirecost.
    pub version: String,
    /// A random text that it uses once.
    pub nonce: String,
    /// What only an owner of the secret can say about it.
    pub proof: String,
    /// The name that its user gave it.
    pub name: Option<String>,
    /// The CPUs that it may use.
    pub cpus: u32,
    /// The number of devices that its limit of open files allows.
    pub sockets: u64,
}

/// The resources that an agent has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentUse {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// The share of processor time that the hypervisor gave to others since its job began.
    pub steal: f64,
    /// Whether its idle CPUs are kept awake.
    pub is_awake: bool,
}

/// A message as a line of JSON, without its end.
pub fn to_line(message: &impl Serialize) -> String {
    // Texts, numbers and lists always serialize.
    serde_json::to_string(message).unwrap_or_default()
}

impl ToAgent {
    /// Reads a line; `None` for any other text.
    pub fn from_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

impl FromAgent {
    /// Reads a line; `None` for any other text.
    pub fn from_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}
