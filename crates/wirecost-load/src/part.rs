//! One part of a load: the devices of one loop, and what it says to its coordinator and hears of it.
//!
//! The coordinator knows a part by its messages alone: over memory where it is a thread, as lines of JSON where it is in
//! another process. All instants in them are on `CLOCK_MONOTONIC`, which the processes of a machine share.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use wirecost_results::figures::Interval;

use super::keys::KeyLines;

/// What a part is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToPart {
    /// This phase begins.
    Begin {
        /// Its index.
        phase: u32,
        /// When: in nanoseconds of `CLOCK_MONOTONIC`.
        at_ns: u64,
    },
    /// Begin nothing new: the phase is to be over soon.
    Stop,
    /// End.
    Quit,
}

/// What a part says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromPart {
    /// Its devices are there, and wait for the first phase.
    Ready,
    /// What it has counted since it said so last.
    Interval(Box<Interval>),
    /// It is alive, about once a second.
    Alive {
        /// When it looked: what it had counted until then has been said. In nanoseconds of `CLOCK_MONOTONIC`.
        at_ns: u64,
        /// Connections that are up.
        connected: u64,
        /// CPU time of its loop's thread so far, what it has waited awake left out, in nanoseconds.
        cpu_ns: u64,
        /// When the last message of the phase is intended that its schedule has named so far, which may lie ahead. In
        /// nanoseconds of `CLOCK_MONOTONIC`.
        intended_ns: u64,
    },
    /// A phase is over for its devices; everything counted in it has been said.
    PhaseDone {
        /// The phase's index.
        phase: u32,
    },
    /// Secrets of its devices' connections, once it has ended; only where they are kept.
    Keys(KeyLines),
    /// It has said all of them; only where they are kept.
    AllKeys,
    /// It cannot go on.
    Failed {
        /// Why, in one sentence.
        reason: String,
    },
    /// It has ended.
    Finished {
        /// Why a socket could not be had, the first time that one could not.
        socket_error: Option<String>,
    },
}

/// What waits to be taken by a part, and what wakes its loop for it.
#[derive(Default)]
pub struct Inbox {
    messages: Mutex<VecDeque<ToPart>>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Inbox {
    /// An empty one.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// What wakes the loop. Only the first call counts.
    pub fn wakes_by(&self, wake: impl Fn() + Send + Sync + 'static) {
        // A second one would wake the same loop.
        drop(self.wake.set(Box::new(wake)));
        // Messages that were put before have woken no loop.
        if !self.lock().is_empty()
            && let Some(wake) = self.wake.get()
        {
            wake();
        }
    }

    /// Tells the part.
    pub fn put(&self, message: ToPart) {
        self.lock().push_back(message);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// What the part was told first, of what it has not taken.
    pub fn take(&self) -> Option<ToPart> {
        self.lock().pop_front()
    }

    /// Whether the part has taken everything.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<ToPart>> {
        // A queue is whole also where a thread has panicked while it was locked.
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}
