//! The live side of wirecost: real kernel sockets on a link that is ours, in namespaces that vanish with the process.
//!
//! - [`namespace`]: network namespaces as file descriptors, entered thread by thread
//! - [`topology`]: device side, server side and the two packet ports between them
//! - [`tun`], [`packet_socket`]: the two kinds of packet port, one interface ([`port`])
//! - [`veth`], [`ethtool`], [`netlink`], [`sysctl`]: how interfaces, addresses, routes and settings are made
//! - [`congestion`]: cubic where the machine prefers something else
//! - [`forwarder`], [`recorder`], [`activity`]: the link at work, every packet recorded at entry
//! - [`check`]: a link is probed before it measures
//! - [`emulation`]: a link that all devices share, and the warnings about it; [`capture`]: packets as a file
//! - [`driver`]: endpoints on sockets, devices and servers
//! - [`clock`], [`timerfd`], [`priority`], [`idle`]: the run's clock, deadlines that are exact to the nanosecond asked, and
//!   threads and CPUs that keep them
//! - [`process`]: real servers as children that cannot outlive us; [`foreign`]: those of targets, by name
//! - [`patience`]: how long something is waited for, and when Ctrl-C ends the wait
//! - [`provenance`]: the machine that measures, as results have it
//! - [`signals`]: Ctrl-C as a flag that wakes every thread
//! - [`sniffer`]: packets on links that are not ours
//! - [`limits`]: how many devices a process can hold
//! - [`environment`], [`doctor`]: the machine for the record, and what it can and cannot do
//! - [`error`]: what the machine refused, on what, and the way out
//!
//! This is the only crate with `unsafe` and system calls; both live in one private module.
//!
//! ```
//! use wirecost_live::clock::Clock;
//!
//! let clock = Clock::start();
//! let earlier = clock.now();
//! assert!(clock.now() >= earlier);
//! ```
#![deny(unsafe_code)]

pub mod activity;
pub mod capture;
pub mod check;
pub mod clock;
pub mod congestion;
pub mod doctor;
pub mod driver;
pub mod emulation;
pub mod environment;
pub mod error;
pub mod ethtool;
pub mod foreign;
pub mod forwarder;
pub mod idle;
pub mod limits;
pub mod namespace;
pub mod netlink;
pub mod packet_socket;
pub mod patience;
pub mod port;
pub mod priority;
pub mod process;
pub mod provenance;
pub mod recorder;
pub mod signals;
pub mod sniffer;
#[allow(unsafe_code)]
mod sys;
pub mod sysctl;
pub mod terminal;
pub mod timerfd;
pub mod topology;
pub mod tun;
pub mod veth;

pub use clock::Clock;
pub use error::EnvironmentError;
pub use port::PacketPort;
pub use process::{Launch, Readiness, ServerProcess};
pub use signals::Interrupt;
pub use timerfd::TimerFd;
pub use topology::{Side, Topology, TopologyConfig};
