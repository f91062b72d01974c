//! What was simulated, by whomever.

use std::sync::Arc;

use wirecost_results::Cell;
use wirecost_results::traffic::CellTraffic;

/// A simulated cell.
#[derive(Debug)]
pub(in crate::commands) struct Simulated {
    /// Its figures.
    pub cell: Cell,
    /// The packets of its first devices; `None` if none finished.
    pub traffic: Option<CellTraffic>,
}

/// What came of a cell, or why there is nothing.
pub(in crate::commands) type Found = Result<Arc<Simulated>, Arc<str>>;

/// What is known of a cell by its key.
pub(in crate::commands) type Lookup<'a> = dyn Fn(&str) -> Option<Found> + 'a;
