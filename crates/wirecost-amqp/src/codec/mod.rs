//! Encoding and decoding of frames, on borrowed bytes.
//!
//! - [`reader`]: encoded values (part 1)
//! - `writer`: described lists in their shortest encoding
//! - [`frame`]: protocol headers and frames in a stream (section 2.3)
//! - [`performative`]: the content of an AMQP frame (section 2.7)
//! - [`link`]: attach, transfer, detach
//! - [`session`]: begin, flow, disposition
//! - [`connection`]: the performative open
//! - [`condition`]: error conditions and delivery states
//! - [`sasl`]: the content of a SASL frame (section 5.3)
//! - [`section`]: tells the body of a message from the rest (section 3.2)
//! - [`attribution`]: the phase and the cause of a frame

pub mod attribution;
pub mod condition;
pub mod connection;
pub mod error;
pub mod frame;
pub mod link;
pub mod performative;
pub mod reader;
pub mod sasl;
pub mod section;
pub mod session;
#[cfg(test)]
mod tests;
mod writer;

pub use attribution::Attribution;
pub use condition::{Condition, DeliveryState, OwnedCondition};
pub use connection::Open;
pub use error::{DecodeError, Malformed};
pub use frame::{Body, Frame, FrameType, Framer, ProtocolHeader, Unit};
pub use link::{Attach, Detach, SenderSettleMode, Terminus, Transfer};
pub use performative::Performative;
pub use reader::{Fields, Reader, Value};
pub use sasl::Sasl;
pub use section::Sections;
pub use session::{Begin, Disposition, Flow, Role};

pub(crate) use link::TransferHead;
