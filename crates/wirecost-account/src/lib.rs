//! The account of a device's life: what it does, on what, in which tariff, for how many devices.
//!
//! - [`way`]: how a reading uses its connection
//! - [`cycle`]: traffic that repeats, metered once; [`traffic`]: all that a device repeats
//! - [`life`]: the devices of a cell with an interval, from one connect to the next
//! - `on_air`: the energy of such a device in a modelled NB-IoT cell, from the times of its states there
//! - [`terms`]: device, battery, tariff and number of devices, and the [`Figures`] that follow from them
//! - [`curve`]: the current of one reading and of a day over time
//! - [`fleet`]: the figures of several devices, of a day, a month or a year
//! - [`mod@spaced`]: the packets of a cell with its readings at another interval
//! - [`spread`]: a figure over several devices
//! - [`reading_time`]: how long a reading takes, by its parts
//! - [`replay`]: the packets of a cell, as an observer is told them
//!
//! A life is simulated, never extrapolated: a caller runs the device's cycle in virtual time, and gives its packets; where the device does
//! nothing between two readings, [`spaced()`] gives them another interval. Every command
//! and page that names bytes, energy, years or money of a device takes them from here. Nothing here opens a file or reads a clock.

pub mod curve;
pub mod cycle;
pub mod fleet;
pub mod life;
mod on_air;
pub mod reading_time;
pub mod replay;
pub mod spaced;
pub mod spread;
pub mod terms;
pub mod traffic;
pub mod way;

pub use curve::{Curve, Packets};
pub use cycle::Cycle;
pub use fleet::{Fleet, FleetFigures};
pub use reading_time::ReadingTime;
pub use spaced::spaced;
pub use spread::Spread;
pub use terms::{Figures, Terms};
pub use traffic::Traffic;
pub use way::Way;
