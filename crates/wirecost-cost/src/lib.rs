//! The cost of a message: every byte of every captured IP packet, by layer, phase and cause.
//!
//! The ledger uses packets and the spans that the endpoints gave for their content, never a protocol's private state. It
//! counts bytes that no endpoint described as unattributed; it never guesses.
//!
//! - [`ledger`]: [`DeviceLedger`] turns a packet into spans that cover it end to end, and a [`PacketVerdict`]
//! - [`traffic`]: [`Traffic`] adds up packets and bytes of one direction
//! - [`totals`]: [`Totals`] adds them up by phase and direction
//! - [`observer`]: an [`Observer`] receives the packets and events of a device; [`messages`]: where its messages begin, and the [`usage`]
//!   that follows; [`tariff`]: what a data plan or a broker charges for it
//! - [`sequence`]: [`SendSequence`] finds retransmissions and probes among the segments of a TCP direction
//! - [`arrivals`]: [`Arrivals`] finds when the link delivered a message's last byte
//! - [`flights`](mod@flights): the round trips on the critical path
//!
//! ```
//! use wirecost_cost::{DeviceLedger, Ports, Totals};
//! use wirecost_proto::{Buffer, Cause, Direction, Layer, Phase};
//!
//! // A UDP datagram of 3 bytes from 10.77.0.2:40000 to 10.77.0.1:5683.
//! let packet = [
//!     0x45, 0, 0, 31, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1, // IPv4
//!     0x9c, 0x40, 0x16, 0x33, 0, 11, 0, 0, // UDP
//!     b'a', b'b', b'c',
//! ];
//! let mut said = Buffer::new();
//! said.push(b"abc", Layer::Payload, Phase::Message, Cause::Original);
//!
//! let mut ledger = DeviceLedger::new();
//! let flow = Ports { client: 40_000, server: 5_683 };
//! ledger.datagram_spans(flow, Direction::Up, said.bytes(), said.spans());
//!
//! let mut spans = Buffer::new();
//! let verdict = ledger.packet(Direction::Up, &packet, &mut spans);
//! let mut totals = Totals::new();
//! totals.add_packet(Direction::Up, &verdict, spans.spans());
//! assert_eq!(totals.traffic(Phase::Message, Direction::Up).bytes(Layer::Ip), 20);
//! assert_eq!(totals.traffic(Phase::Message, Direction::Up).wire_bytes(), 31);
//! assert_eq!(verdict.unattributed_bytes, 0);
//! ```

pub mod arrivals;
pub mod flights;
mod flow;
pub mod ledger;
pub mod messages;
pub mod observer;
pub mod sequence;
pub mod tariff;
pub mod totals;
pub mod traffic;
pub mod usage;
mod verdict;

pub use arrivals::Arrivals;
pub use flights::{PacketTime, flights, round_trips};
pub use flow::Ports;
pub use ledger::{DatagramId, Describer, DeviceLedger};
pub use messages::{Messages, UsageMeter};
pub use observer::{DeviceEvent, Observed, ObservedPacket, Observer};
pub use sequence::SendSequence;
pub use tariff::Tariff;
pub use totals::Totals;
pub use traffic::Traffic;
pub use usage::{Usage, What};
pub use verdict::{Content, PacketVerdict};
