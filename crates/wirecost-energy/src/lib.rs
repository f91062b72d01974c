//! Energy of a device, modelled from what it does on its link, and read from a power meter's file; see docs/models/energy.md.
//!
//! - [`device`]: [`Device`]: power states, tails, wake-up, radio
//! - [`network`]: timers, paging, beacons and attaches that are set on a device
//! - [`radio`]: [`Radio`]: how long a packet is on the air: Wi-Fi, Ethernet, cellular, NB-IoT
//! - [`meter`]: [`Meter`]: observes a device and adds up its states
//! - [`account`]: [`Account`]: time and energy by state, energy by part, phase and cause
//! - [`cell`]: [`InCell`]: a device of an NB-IoT cell, from the times of its states
//! - [`evidence`]: models beside what others measured
//! - [`measurement`]: what others measured, with what was set
//! - [`timers`]: the times that a cellular network can give a device
//! - [`repeat`]: the mean power of a device whose traffic repeats
//! - [`battery`]: [`Battery`]: years until it is empty or bad, and what it can feed
//! - [`trace`]: [`trace::Trace`]: what a power meter measured; everything else is modelled
//!
//! ```
//! use wirecost_energy::{Battery, Chemistry, Energy};
//!
//! // 2,400 mAh at 3.6 V without self-discharge, and a device of 1 mW.
//! let chemistry = Chemistry { self_discharge: 0.0, ..Chemistry::default() };
//! let battery = Battery { joules: 2.4 * 3.6 * 3_600.0, volts: 3.6, chemistry };
//! assert!((battery.years(0.001) - 31_104.0 / 0.001 / 31_536_000.0).abs() < 1e-9);
//! assert_eq!(battery.years(0.0), 10.0, "its shelf life");
//! assert_eq!(Energy::default().joules, 0.0);
//! ```

mod above_rest;
pub mod account;
pub mod battery;
pub mod cell;
pub mod device;
pub mod evidence;
pub mod fit;
pub mod measurement;
pub mod meter;
pub mod network;
pub mod radio;
pub mod repeat;
pub mod timers;
pub mod trace;

pub use account::{Account, Energy, Part, Purposes};
pub use battery::{Battery, Chemistry, TooWeak};
pub use cell::InCell;
pub use device::{Device, Level, State};
pub use meter::{Meter, Segment};
pub use radio::Radio;
pub use repeat::{Repeated, mean_power};
pub use timers::Timer;
pub use trace::Trace;
