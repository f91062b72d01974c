//! Frames and what they carry, on borrowed bytes.
//!
//! - [`reader`]: encoded values (part 1)
//! - `writer`: described lists, as short as they can be
//! - [`frame`]: protocol headers and frames out of a stream (section 2.3)
//! - [`performative`]: what a frame of the connection carries (section 2.7)
//! - [`link`]: attach, transfer, detach
//! - [`session`]: begin, flow, disposition, end
//! - [`connection`]: open, close
//! - [`condition`]: error conditions and outcomes
//! - [`sasl`]: the frames of the security layer (section 5.3)
//! - [`section`]: which bytes of a message are its body (section 3.2)
//! - [`attribution`]: which phase and cause a frame belongs to

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
pub use connection::{Close, Open};
pub use error::{DecodeError, Malformed};
pub use frame::{Frame, FrameType, Framer, ProtocolHeader, Unit};
pub use link::{Attach, Detach, SenderSettleMode, Terminus, Transfer};
pub use performative::Performative;
pub use reader::{Fields, Reader, Value};
pub use sasl::Sasl;
pub use section::Sections;
pub use session::{Begin, Disposition, End, Flow, Role};

pub(crate) use link::emit_transfer;
