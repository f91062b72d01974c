//! NB-IoT cells in virtual time: placeholder.
pub mod antenna;
pub mod bler;
pub mod config;
pub mod decibel;
pub mod downlink;
pub mod fading;
pub mod gains;
pub mod geometry;
pub mod npdcch;
pub mod nprach;
pub mod pathloss;
pub mod subframe;
pub mod tables;

pub use config::{Config, ConfigError};
pub mod adaptation;
pub mod calendar;
pub mod events;
pub mod facts;
pub mod npdsch;
pub mod npusch;
mod radio;
pub mod rlc;
