//! Packets and captures: codecs for IP, TCP, UDP and ICMP, and files in pcap and pcapng.
//!
//! Every protocol has a view, which reads any bytes without allocation and without panic, and a `Repr`, which has the decoded
//! fields and can be emitted with correct lengths and checksums.
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
//! Captures need `std` and are behind the feature `captures`, which is on by default; the codecs do not.
//!
//! ```
//! use wirecost_wire::{ip, udp};
//!
//! let addresses = ip::Addresses::new("10.0.0.1".parse()?, "10.0.0.2".parse()?)?;
//! let ports = udp::Repr { source_port: 49_152, destination_port: 5683 };
//! let mut bytes = Vec::new();
//! ip::Repr::new(addresses, ip::Protocol::Udp).emit_udp(&ports, b"21.5", &mut bytes)?;
//!
//! let packet = ip::Packet::new(&bytes)?;
//! assert_eq!((packet.header_bytes(), packet.total_bytes()), (20, 32));
//! assert_eq!(packet.ports(), Some((49_152, 5683)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
