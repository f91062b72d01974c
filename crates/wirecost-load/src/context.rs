//! The environment of a load, apart from its options.

use std::path::Path;
use std::time::Duration;

use wirecost_results::load::PhaseFigures;
use wirecost_results::threshold::Threshold;

use crate::parts::agents::Agents;
use crate::watch::Watcher;

/// Takes the index of a phase, its figures so far, and its time so far. Returns the threshold that ends the load, if
/// one does.
pub type Demands<'a> = dyn Fn(usize, &PhaseFigures, Duration) -> Option<Threshold> + Sync + 'a;

/// The environment of a load, apart from its options.
pub struct RunContext<'a> {
    /// This program. The target and the worker processes run it too.
    pub program: &'a Path,
    /// A folder for the files of a real server.
    pub folder: &'a Path,
    /// The watcher that receives progress notifications.
    pub watcher: &'a mut (dyn Watcher + Send),
    /// Whether the run is to end.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// The number of this load, from 1, and the number of loads.
    pub position: [usize; 2],
    /// The agents that generate; `None` generates on this machine.
    pub agents: Option<&'a Agents>,
    /// The thresholds that end the load early.
    pub demands: Option<&'a Demands<'a>>,
}
