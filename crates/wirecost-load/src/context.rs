//! What belongs to a load beside what is asked for.

use std::path::Path;
use std::time::Duration;

use wirecost_results::load::PhaseFigures;
use wirecost_results::threshold::Threshold;

use crate::watch::Watcher;

/// The index of a phase, what it has come to so far, and how long it has lasted: the demand that ends the load for it.
pub type Demands<'a> = dyn Fn(usize, &PhaseFigures, Duration) -> Option<Threshold> + Sync + 'a;

/// What belongs to a load beside what is asked for.
pub struct RunContext<'a> {
    /// This program: it is the target's and the worker processes' too.
    pub program: &'a Path,
    /// A folder for what a real server needs.
    pub folder: &'a Path,
    /// The watcher that is notified of progress.
    pub watcher: &'a mut (dyn Watcher + Send),
    /// Whether the run is to end.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// The number of this load, from 1, and how many loads there are.
    pub position: [usize; 2],
    /// The demands that end the load early.
    pub demands: Option<&'a Demands<'a>>,
}
