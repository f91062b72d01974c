//! Compares stacks side by side on one link.
//!
//! - [`sampler`]: the script of one device; `device`: its configuration
//! - [`live`]: a plan on kernel sockets over the emulated link; [`simulated`]: in virtual time
//! - [`analysis`]: from packets and notes to the measurements of devices
//! - [`capture`]: the capture file, with a comment on each packet
//! - [`ladder`]: the packets of one connect and first message, by flights
//! - [`cells`], `sections`, `outcome`: from devices to the figures of cells
//! - [`verdict`]: whether the figures are valid; `known`: where the engines do not agree
//! - [`shared_link`]: all devices of a cell on one link, as a load in virtual time
//! - [`in_cell`]: one device in a modelled NB-IoT cell in place of an emulated link
//! - [`sweep`]: cells one by one or in batches, each written to disk as soon as it has figures
//! - [`finish`]: writes the results folder

pub mod analysis;
pub mod capture;
pub mod cells;
pub(crate) mod device;
pub mod finish;
pub mod in_cell;
mod known;
pub mod ladder;
pub mod live;
mod outcome;
mod readings;
pub mod sampler;
pub(crate) mod sections;
pub mod shared_link;
pub mod simulated;
pub mod sweep;
mod traffic;
pub mod verdict;

pub use live::{Progress, Run, run};
pub use sections::of_sum;

#[cfg(test)]
pub(crate) mod fixture {
    use wirecost_scenario::options::compare::{Engine, Options};

    /// A comparison of `stacks` that can be run.
    pub(crate) fn options(stacks: &[&str]) -> Options {
        let stacks = stacks.iter().map(|stack| stack.parse().expect("a stack"));
        Options {
            engine: Engine::Live,
            samples: 10,
            ..Options::new(stacks.collect())
        }
    }
}
