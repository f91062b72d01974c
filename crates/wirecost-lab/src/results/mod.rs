//! The results folder: what a run leaves behind, and all that a report may read.
//!
//! - [`summary`]: `summary.json`, the exact and the noisy figures of every cell
//! - [`environment`]: `env.json`, the machine that measured them
//! - [`ladder`]: `ladder.json`, the packets of one connect and first message of every cell
//! - [`cells`]: `cells/<key>.json`, what one finished cell has come to
//! - [`samples`]: `samples.csv`, one row per device
//! - [`journal`]: `journal.jsonl`, what happened to the run
//! - [`folder`]: the files and their names, written and read back

pub mod cells;
pub mod environment;
pub mod folder;
pub mod journal;
pub mod ladder;
pub mod samples;
pub mod summary;

pub use cells::CellFile;
pub use environment::Environment;
pub use folder::{Results, ResultsError, RunFolder};
pub use ladder::{Ladder, LadderPacket};
pub use samples::SampleRow;
pub use summary::{Cell, Section, Summary};
