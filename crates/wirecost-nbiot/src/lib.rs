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
