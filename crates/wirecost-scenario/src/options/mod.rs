//! The options of comparisons, loads and reports in NB-IoT cells, every default filled in.

pub mod common;
pub mod compare;
pub mod content;
pub mod handshake;
pub mod life;
pub mod load;
pub mod nbiot;
pub mod refusal;
pub mod row;
pub mod sending;
pub mod what_if;
