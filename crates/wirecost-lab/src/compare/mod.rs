//! The main job: stacks side by side on one link.
//!
//! - [`options`]: what is asked for
//! - [`plan`]: cells, devices, their order and their starts
//! - [`sampler`]: what one device does; `device`: what it is told
//! - [`live`]: the plan on kernel sockets over the emulated link; [`simulated`]: in virtual time
//! - [`analysis`]: from packets and notes to measurements of devices
//! - [`capture`]: the capture as a file, with a comment on each packet
//! - [`ladder`]: the packets of one connect and first message, by flights
//! - [`cells`], `sections`, `outcome`: from devices to the figures of cells
//! - `variation`: what a link whose delay varies gives
//! - [`verdict`]: whether they may be used; [`agreement`]: whether both engines say the same; `known`: where they do not
//! - [`fleet`]: all devices of a cell on one link, in virtual time
//! - [`sweep`]: cells one by one or in batches, each on disk as soon as it has figures
//! - [`finish`]: everything into the results folder

pub mod agreement;
pub mod analysis;
pub mod capture;
pub mod cells;
pub(crate) mod device;
pub mod finish;
pub mod fleet;
mod known;
pub mod ladder;
pub mod live;
pub mod options;
mod outcome;
pub mod plan;
pub mod sampler;
mod sections;
pub mod simulated;
pub mod sweep;
pub(crate) mod variation;
pub mod verdict;

pub use live::{Progress, Run, run};
pub use options::{Engine, Options, OptionsError, Target};
