#![doc = include_str!("../README.md")]
//!
//! # What is in it
//!
//! A [`Link`] implements [`wirecost_proto::Path`], so that the live forwarder and virtual time share one object: it decides
//! the fate of a packet and the time of each delivery when the packet enters. A packet passes the stages in this order; a
//! recorder records it before all of them:
//!
//! 1. MTU: a larger packet is dropped ([`Fate::TooLarge`](wirecost_proto::Fate)).
//! 2. [`queue`]: tail drop, then serialisation at the rate, first in, first out.
//! 3. [`loss`]: none, Bernoulli or Gilbert-Elliott.
//! 4. [`delay`]: propagation delay and delay variation, which keeps packets in order by default.
//! 5. [`reorder`]: some packets are held back.
//! 6. [`duplicate`]: some arrive twice.
//! 7. [`corrupt`]: some copies arrive with one bit flipped.
//!
//! Around them:
//!
//! - [`config`]: the configuration of a link and its validation
//! - [`cell`]: a modelled NB-IoT cell in place of a link
//! - [`link`]: the link itself
//! - [`nat`]: an address translator, which forgets mappings that nothing uses
//! - `ties`: which packet is first at a full queue in virtual time, if one enters as another leaves
//! - [`medium`]: the interfaces of an emulated link on a real machine
//! - [`counters`]: counters of packets and their fates
//! - [`achieved`]: compares the behaviour of a link with its configuration
//!
//! The random numbers of a stage are indexed by the packet's number in its direction.

// With this lint the compiler lists every match that a new impairment is missing in.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod achieved;
pub mod cell;
pub mod config;
pub mod corrupt;
pub mod counters;
pub mod delay;
mod dice;
pub mod duplicate;
pub mod hop;
pub mod link;
pub mod loss;
pub mod medium;
pub mod nat;
pub mod queue;
pub mod reorder;
mod ties;

pub use achieved::{Achieved, FrequencyCheck};
pub use cell::{CellProfile, NbiotCell};
pub use config::{ConfigError, ConfigFault, DirectionConfig, LinkConfig};
pub use counters::{Counters, Traffic};
pub use delay::{DelayDistribution, DelayVariation};
pub use hop::Hop;
pub use link::Link;
pub use loss::{GilbertElliott, Loss};
pub use medium::Medium;
pub use nat::{NatPort, NatTimeouts};
pub use queue::QueueLimit;
pub use reorder::Reorder;
