//! Endpoints in virtual time: the same devices, scripts, servers and links as on kernel sockets, without IO or threads.
//!
//! - [`world`]: hosts, their flows and the events between them
//! - [`carrier`]: what carries the packets: links that decide at once, and networks that hold packets
//! - [`cells`]: NB-IoT cells as the carrier
//! - [`workers`]: the workers of a server that has a service time
//! - [`tap`]: observers of the packets that enter the link
//! - `network`: flows, sockets, packets in transit, links and the current time
//! - `queue`: future events by time; `slab`: values by number; `awake`: who keeps memory for reuse
//!
//! A simulation is deterministic: the same devices, services, links and settings give the same packets at the same times, on
//! any machine. docs/models/simulation.md lists what it leaves out.
//!
//! ```
//! use std::net::SocketAddr;
//! use std::time::Duration;
//!
//! use wirecost_proto::bare::{Client, ClientCommand, ClientEvent, Server, ServerEvent, Transport};
//! use wirecost_proto::driver::{Device, ServiceObserver, Service};
//! use wirecost_proto::hosts::{HostIndex, server_address, simulated_address};
//! use wirecost_proto::path::{FixedDelay, Links};
//! use wirecost_proto::script::{Context, Script, Step};
//! use wirecost_proto::{Instant, Path, ResetReason, Rng};
//! use wirecost_sim::{Recording, Settings, World};
//!
//! /// Sends one message.
//! struct Once(Vec<Step<ClientCommand>>);
//!
//! impl Script<Client> for Once {
//!     fn event(&mut self, _: ClientEvent, _: Instant) {}
//!     fn failed(&mut self, _: ResetReason, _: Instant) {}
//!     fn flushed(&mut self, _: Instant) {}
//!     fn next(&mut self, _: Context) -> Step<ClientCommand> {
//!         self.0.pop().unwrap_or(Step::Wait(None))
//!     }
//! }
//!
//! /// Notes when messages arrive.
//! struct Arrivals(Vec<Instant>);
//!
//! impl ServiceObserver<Server> for Arrivals {
//!     fn event(&mut self, _: usize, _: Option<SocketAddr>, _: ServerEvent, now: Instant) {
//!         self.0.push(now);
//!     }
//! }
//!
//! struct OneLink(FixedDelay);
//!
//! impl Links for OneLink {
//!     fn link(&mut self, _: HostIndex) -> Option<&mut dyn Path> {
//!         Some(&mut self.0)
//!     }
//! }
//!
//! let server = SocketAddr::new(server_address(false), 7_000);
//! let payload = [7; 128].as_slice().into();
//! let device = Device {
//!     host: 0,
//!     local: SocketAddr::new(simulated_address(0, false).unwrap(), 0),
//!     remote: server,
//!     transport: Transport::Datagram,
//!     endpoint: Client::new(Transport::Datagram),
//!     script: Once(vec![Step::Command(ClientCommand::Send { message: 0, content: payload }), Step::Connect]),
//! };
//! let service = Service {
//!     address: server,
//!     transport: Transport::Datagram,
//!     endpoint: Server::new(Transport::Datagram),
//! };
//! let world = World::new(
//!     Settings::linux(1_500, false, Rng::new(1)),
//!     vec![device],
//!     vec![service],
//!     OneLink(FixedDelay(Duration::from_millis(25))),
//!     Recording::new(),
//!     Arrivals(Vec::new()),
//! );
//! let finished = world.run(Instant::from_millis(1_000));
//! assert_eq!(finished.observer.0, [Instant::from_millis(25)]);
//! assert_eq!(finished.tap.records().len(), 2, "the packet and its delivery");
//! ```

mod awake;
pub mod carrier;
pub mod cells;
mod network;
mod queue;
pub mod settings;
mod slab;
pub mod tap;
pub mod workers;
pub mod world;

pub use carrier::{Carrier, Decision, Offered, Port};
pub use cells::Cells;
pub use settings::{Settings, Wake};
pub use tap::{Packet, Recording, Tally, Tap, Transport, Watch};
pub use workers::Workers;
pub use world::{Finished, World};
