//! The devices of one part, their messages, and the loop that drives them.
//!
//! - [`share`]: the devices of one part, and its loop; [`part`]: its messages with the coordinator
//! - [`population`]: the devices of a loop: [`connections`] their connections, [`tracker`] their messages
//! - [`activity`]: the interface of one phase; [`activities`]: connect, publish, hold, close
//! - [`roles`]: subscribers, attempts and phases
//! - [`destination`]: where they send, with the credentials of both sides; [`keys`]: the secrets of their connections
//! - [`shared`]: sockets that devices share; [`footprint`]: the memory that a device takes; [`worlds`]: which of them share
//!   something
//! - [`traffic`]: what the first devices do, packet by packet

pub mod activities;
pub mod activity;
pub mod connections;
pub mod destination;
pub mod footprint;
pub mod keys;
pub mod part;
pub mod population;
pub mod roles;
pub mod share;
pub mod shared;
pub mod tracker;
pub mod traffic;
pub mod worlds;
