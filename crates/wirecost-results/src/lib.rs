//! The results folder: the output of a run, and the only input of a report.
//!
//! - [`summary`]: `summary.json`, the exact and the noisy figures of every cell; [`all_in`]: a message with its share of
//!   everything else; [`bytes`]: the intervals of bytes
//! - [`environment`]: `env.json`, the machine that measured them
//! - [`ladder`]: `ladder.json`, the packets of one connect and first message of every cell
//! - [`cells`]: `cells/<key>.json`, the results of one cell; [`traffic`]: the packets of its first devices
//! - [`load`]: `summary.json` of a load
//! - [`agents`]: the machines that generated a load
//! - [`merge`]: several folders as one
//! - [`seconds`]: `intervals.csv` of a load, one row per second; [`usage`]: `usage.csv`, what both sides used meanwhile
//! - [`figures`]: the counts of a load for each second, which add up; [`intervals`]: their sums; [`store`]: loads in their folder;
//!   [`metrics`]: the same for Prometheus
//! - [`assemble`]: cells in their folder; [`agreement`]: a live cell beside the simulated one
//! - [`resolved`]: a comparison, every default filled in; [`link`], [`link_text`], [`link_use`]: its link
//! - [`value`]: texts with units; [`setting`]: settings of a server
//! - [`catalogue`]: every figure with its name, how it is read and how it is judged
//! - [`threshold`]: a judged threshold; [`thresholds`]: which figure of a metric, and thresholds as text
//! - [`profile`]: CPU profiles as folded stacks
//! - [`columns`]: files of rows
//! - [`cell_times`]: `latency/*` of a comparison
//! - [`curves`]: `latency/*.hgrm` of a load
//! - [`samples`]: `samples.csv`, one row per device
//! - [`journal`]: `journal.jsonl`, the events of the run
//! - [`open_run`]: the life cycle of a folder; [`resume`]: what an earlier run has measured, and whether it had the same scenario
//! - [`time`]: moments as text
//! - [`times`]: samples of time as they are printed
//! - [`shard`]: a part of the cells or loads, by their keys
//! - [`folder`]: the files and their names, written and read back; `json`: their texts, read

pub mod agents;
pub mod agreement;
pub mod all_in;
pub mod assemble;
pub mod bytes;
pub mod catalogue;
pub mod cell_times;
pub mod cells;
pub mod columns;
pub mod curves;
pub mod environment;
pub mod figures;
pub mod folder;
pub mod intervals;
pub mod journal;
mod json;
pub mod ladder;
pub mod limits;
pub mod link;
pub mod link_text;
pub mod link_use;
pub mod load;
pub mod merge;
pub mod metrics;
pub mod missing;
pub mod nbiot;
pub mod open_run;
pub mod over_runs;
pub mod profile;
pub mod rate_search;
pub mod readings;
pub mod repeat;
pub mod resolved;
pub mod resume;
pub mod samples;
pub mod seconds;
pub mod setting;
pub mod shard;
pub mod standing;
pub mod store;
pub mod summary;
pub mod threshold;
pub mod thresholds;
pub mod time;
pub mod times;
pub mod traffic;
pub mod usage;
pub mod value;
pub mod warning;
#[cfg(feature = "schema")]
mod words;

pub use cell_times::CellTimes;
pub use cells::CellFile;
pub use environment::Environment;
pub use folder::{Results, ResultsError, RunFolder};
pub use ladder::{Ladder, LadderPacket};
pub use load::{Load, LoadFile, LoadSummary};
pub use open_run::{OpenRun, RunStart};
pub use readings::Readings;
pub use samples::SampleRow;
pub use summary::{AllIn, Cell, Section, Summary};
