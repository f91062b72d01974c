//! NB-IoT cells in virtual time: what a report costs on the air of a loaded network.
//!
//! - [`network`]: the [`Network`]; a driver makes devices arrive, offers IP packets and lets time go on
//! - [`network::alone`]: a report of a device that is alone, in closed form
//! - [`config`]: every parameter, with its unit and source
//! - [`geometry`], [`pathloss`], [`antenna`], [`gains`], [`fading`]: where devices are and what the way to each cell costs
//! - [`bler`], [`adaptation`]: block errors in closed form, and the transport formats that follow
//! - [`tables`], [`npdsch`], [`npusch`]: transport formats of TS 36.213
//! - [`downlink`], [`nprach`], [`npdcch`], [`timing`]: closed forms of when what is on the air; [`drx`]: when a connected device listens
//! - [`calendar`]: what is booked, and what interferes
//! - [`rlc`]: acknowledged mode
//! - [`facts`]: what devices and cells did
//! - [`subframe`], [`decibel`], [`events`]: time, ratios, the event queue
//!
//! Nothing here reads a clock, opens a socket or starts a thread; randomness comes from [`wirecost_proto::Rng`], a stream per device.
//! See docs/models/nbiot.md for equations, sources and validation.
//!
//! ```
//! use wirecost_nbiot::{Config, Network};
//!
//! let network = Network::new(&Config::default(), 1).unwrap();
//! assert_eq!(network.cells(), 21);
//! assert_eq!(network.next_event(), None);
//! ```

pub mod adaptation;
pub mod antenna;
pub mod bler;
pub mod calendar;
mod cell;
pub mod config;
pub mod decibel;
pub mod downlink;
pub mod drx;
pub mod events;
pub mod facts;
pub mod fading;
pub mod gains;
pub mod geometry;
pub mod network;
pub mod npdcch;
pub mod npdsch;
pub mod nprach;
pub mod npusch;
pub mod pathloss;
mod radio;
pub mod rlc;
pub mod subframe;
pub mod tables;
pub mod timing;
mod ue;

pub use config::{Config, ConfigError};
pub use facts::{Airtime, CellFacts, StateTimes, UeFacts};
pub use gains::Gains;
pub use network::{AirEvent, Channel, LossCause, Message, Network, Packet, Transmission};
pub use rlc::{Carried, Control};
pub use ue::{RrcState, UeId};
