#![doc = include_str!("../README.md")]
//!
//! # What is in it
//!
//! - [`ip`]: packets of either version
//! - [`ipv4`], [`ipv6`]: the headers, with the fields that only one version has
//! - [`tcp`]: segments, flags and options
//! - [`udp`]: datagrams and their ports
//! - [`icmp`]: echo, unreachable and packet-too-big messages of both versions
//! - [`upper`]: from an IP packet to its upper-layer protocol, and back
//! - [`pcapng`]: writing captures that can be decrypted, and reading them block by block
//! - [`pcap`]: reading the older format
//! - [`capture`]: reading either format, without a copy per packet
//!
//! Captures are behind the feature `captures`, which is on by default.
#![no_std]
extern crate alloc;
#[cfg(any(test, feature = "captures"))]
extern crate std;

#[cfg(feature = "captures")]
pub mod capture;
pub mod icmp;
pub mod ip;
#[cfg(feature = "captures")]
pub mod pcap;
#[cfg(feature = "captures")]
pub mod pcapng;
pub mod port;
pub mod tcp;
pub mod udp;
pub mod upper;

mod bytes;
mod checksum;
mod error;
mod internet;
#[cfg(feature = "captures")]
pub mod packet;
#[cfg(feature = "captures")]
mod window;

pub use checksum::Checksum;
pub use error::Error;
pub use ip::{ipv4, ipv6};
