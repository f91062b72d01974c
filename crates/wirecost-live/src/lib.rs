//! The live side of wirecost: real kernel sockets on an emulated link, in namespaces that vanish with the process.
//!
//! - [`namespace`]: network namespaces as file descriptors, entered thread by thread
//! - [`topology`]: device side, server side and the two packet ports between them
//! - [`tun`], [`packet_socket`]: the two kinds of packet port, with one interface ([`port`])
//! - [`veth`], [`ethtool`], [`netlink`], [`sysctl`]: interfaces, addresses, routes and settings
//! - [`congestion`]: selects cubic on machines that prefer another algorithm
//! - [`forwarder`], [`recorder`], [`activity`]: the running link, which records every packet at entry
//! - [`check`]: probes a link before it measures
//! - [`emulation`]: a link that all devices share, and the warnings about it; [`capture`]: packets as a file
//! - [`driver`]: endpoints on sockets, devices and servers
//! - [`clock`], [`timerfd`], [`priority`], [`idle`]: the run's clock, deadlines with a resolution of a nanosecond, and
//!   threads and CPUs that meet them
//! - [`process`]: real servers as children that cannot outlive this process; [`foreign`]: the servers of targets, by
//!   name
//! - [`entrance`]: a bound for connections whose peers have not shown who they are
//! - [`patience`]: time limits of waits, which Ctrl-C ends
//! - [`power`]: the energy of this machine, by RAPL or its battery
//! - [`provenance`]: the measuring machine, in the results' format
//! - [`relay`]: passes the bytes of devices behind the emulated link on to a server outside of it
//! - [`signals`]: Ctrl-C as a flag that wakes every thread
//! - [`sniffer`]: packets on links other than the emulated one
//! - [`observer`]: records the packets of devices on the real path
//! - [`limits`]: how many devices a process can hold; [`room`]: the memory that is left for it
//! - [`environment`], [`doctor`]: the machine for the record, and its abilities
//! - [`error`]: refusals of the machine and their remedies
//! - [`wire_meter`]: counts the packets to and from a server on the real path; [`own_sockets`]: whose they are
//!
//! This is the only crate with `unsafe` and system calls. Both are in one private module.
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
pub mod cpu_time;
pub mod doctor;
pub mod driver;
pub mod emulation;
pub mod entrance;
pub mod environment;
pub mod error;
pub mod ethtool;
pub mod foreign;
pub mod forwarder;
pub mod idle;
pub mod limits;
pub mod namespace;
pub mod netlink;
pub mod observer;
pub mod own_sockets;
pub mod packet_socket;
pub mod patience;
pub mod port;
pub mod power;
pub mod priority;
pub mod process;
pub mod provenance;
pub mod recorder;
pub mod relay;
pub mod room;
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
pub mod wire_meter;

pub use clock::Clock;
pub use error::EnvironmentError;
pub use port::PacketPort;
pub use process::{Launch, Readiness, ServerProcess};
pub use signals::Interrupt;
pub use timerfd::TimerFd;
pub use topology::{Side, Topology, TopologyConfig};
