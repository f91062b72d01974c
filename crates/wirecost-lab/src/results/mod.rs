//! The results folder: what a run leaves behind, and all that a report may read.
//!
//! - [`summary`]: `summary.json`, the exact and the noisy figures of every cell
//! - [`environment`]: `env.json`, the machine that measured them
//! - [`ladder`]: `ladder.json`, the packets of one connect and first message of every cell
//! - [`cells`]: `cells/<key>.json`, what one finished cell has come to
//! - [`load`]: `summary.json` of a load
//! - [`merge`]: several folders as one
//! - [`seconds`]: `intervals.csv` of a load, one row per second; [`usage`]: `usage.csv`, what both sides used meanwhile
//! - [`columns`]: files of rows
//! - [`curves`]: `latency/*.hgrm` of a load
//! - [`samples`]: `samples.csv`, one row per device
//! - [`journal`]: `journal.jsonl`, what happened to the run
//! - [`resume`]: what an earlier run has left, and whether it was the same question
//! - [`time`]: moments as text
//! - [`times`]: samples of time as they are printed
//! - [`shard`]: a part of the cells or loads, by their keys
//! - [`folder`]: the files and their names, written and read back

pub mod cells;
pub mod columns;
pub mod curves;
pub mod environment;
pub mod folder;
pub mod journal;
pub mod ladder;
pub mod load;
pub mod merge;
pub mod missing;
pub mod resume;
pub mod samples;
pub mod seconds;
pub mod shard;
pub mod summary;
pub mod time;
pub mod times;
pub mod usage;

pub use cells::CellFile;
pub use environment::Environment;
pub use folder::{Results, ResultsError, RunFolder};
pub use ladder::{Ladder, LadderPacket};
pub use load::{Load, LoadFile, LoadSummary};
pub use samples::SampleRow;
pub use summary::{Cell, Section, Summary};
