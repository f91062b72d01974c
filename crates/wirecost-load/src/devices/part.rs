//! The messages between one part of a load (the devices of one loop) and its coordinator.
//!
//! The coordinator knows a part only by its messages: over memory for a thread, as lines of JSON for another process.
//! All instants in them are on `CLOCK_MONOTONIC`, which the processes of a machine share. For a part on another machine they
//! are on that clock of the coordinator.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use wirecost_proto::ByteSize;
use wirecost_results::figures::Interval;
use wirecost_security::certificate;
use wirecost_stack::error::ClientError;
use wirecost_stack::pattern::PatternError;

use crate::devices::keys::KeyLines;

/// A message to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToPart {
    /// Begin a phase.
    Begin {
        /// Its index.
        phase: u32,
        /// When, in nanoseconds of `CLOCK_MONOTONIC`.
        at_ns: u64,
        /// How far the clock of an agent has drifted since its job began, in nanoseconds; 0 on the coordinator's machine.
        #[serde(default)]
        shift_ns: i64,
    },
    /// Begin nothing new and end the phase soon.
    Stop,
    /// End.
    Quit,
}

/// A message from a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromPart {
    /// The devices are ready for the first phase.
    Ready,
    /// The counts since the last report.
    Interval(Box<Interval>),
    /// The part is alive, sent about once a second.
    Alive {
        /// The time that the counts sent so far cover, in nanoseconds of `CLOCK_MONOTONIC`.
        at_ns: u64,
        /// The number of open connections.
        connected: u64,
        /// CPU time of the loop's thread so far without busy waiting, in nanoseconds.
        cpu_ns: u64,
        /// The intended time of the last message that the schedule of the phase has named so far, in nanoseconds of
        /// `CLOCK_MONOTONIC`. It may lie ahead.
        intended_ns: u64,
    },
    /// A phase is over for the devices, and all its counts have been sent.
    PhaseDone {
        /// The phase's index.
        phase: u32,
    },
    /// Secrets of the devices' connections, sent at the end if they are kept.
    Keys(KeyLines),
    /// All secrets have been sent; only if they are kept.
    AllKeys,
    /// The part cannot continue.
    Failed {
        /// Why, in one sentence.
        reason: String,
    },
    /// The agent of the part is lost. The other parts go on. No part sends this.
    #[serde(skip)]
    Lost {
        /// Why, in one sentence.
        reason: String,
        /// When the agent was last heard, in nanoseconds of `CLOCK_MONOTONIC`.
        heard_ns: u64,
        /// When it was given up.
        at_ns: u64,
    },
    /// The part has ended.
    Finished {
        /// The first error of a device that could not open a socket.
        socket_error: Option<String>,
    },
}

/// The messages that wait for a part, and the waker of its loop.
#[derive(Default)]
pub struct Inbox {
    messages: Mutex<VecDeque<ToPart>>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Inbox {
    /// An empty inbox.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Sets the waker of the loop. Only the first call counts.
    pub fn wakes_by(&self, wake: impl Fn() + Send + Sync + 'static) {
        // A second waker would wake the same loop.
        drop(self.wake.set(Box::new(wake)));
        // Earlier messages have not woken the loop.
        if !self.lock().is_empty()
            && let Some(wake) = self.wake.get()
        {
            wake();
        }
    }

    /// Adds a message and wakes the loop.
    pub fn put(&self, message: ToPart) {
        self.lock().push_back(message);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// Takes the oldest message.
    pub fn take(&self) -> Option<ToPart> {
        self.lock().pop_front()
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<ToPart>> {
        // The queue is consistent even if a thread panicked while it held the lock.
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

/// Why a part of a load cannot run.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// Certificates or keys are unusable.
    #[error(transparent)]
    Credentials(#[from] certificate::Error),
    /// A name or payload has an unknown placeholder.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A client, a message or a subscription cannot be built.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The simulated server cannot be built.
    #[error("{0}")]
    Server(String),
    /// A payload does not fit into memory.
    #[error("{0} is too large")]
    PayloadSize(ByteSize),
    /// The machine has no poll instance, timer or event left.
    #[error("cannot set up a loop: {0}")]
    Setup(#[source] io::Error),
    /// Polling failed.
    #[error("the loop failed: {0}")]
    Loop(#[source] io::Error),
    /// The simulation lost its world: a defect of wirecost.
    #[error("the simulation has left no world; please report this")]
    NoWorld,
}
