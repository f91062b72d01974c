//! OSCORE (RFC 8613): messages whose code, options and payload only the two ends can read or change.
//!
//! - [`Context`]: what both ends derive from a shared secret; AES-CCM-16-64-128 with HKDF SHA-256
//! - [`option`]: the OSCORE option, a COSE header compressed to a few bytes
//! - `class`: which options are encrypted, which stay visible, and which do both
//! - [`ReplayWindow`]: which sequence numbers of the peer were taken
//! - `session`: protects and opens messages of one context
//! - `rederivation`: contexts that are derived again because the client lost theirs
//! - [`Refusal`]: why a message was not taken, and what the server answers
//!
//! A protected datagram, and the layer of its bytes:
//!
//! | bytes | layer |
//! |---|---|
//! | header with the outer code, token, outer options, payload marker | application |
//! | OSCORE option with its option header | security |
//! | inner code, inner options, inner payload marker (as ciphertext of the same length) | application |
//! | payload (as ciphertext of the same length) | payload |
//! | tag, 8 B | security |
//!
//! What speaks CoAP is the application's though two codes and two markers are there: of a message with payload
//! OSCORE makes 2 B of application and the option and the tag of security.
//!
//! No-Response is an inner and an outer option of the same value (section 4.1.3.6): the server obeys the inner one,
//! which is authentic, and the outer one only where it cannot open the message. Block-wise transfer is inner: each
//! block is a message of its own with a sequence number of its own (section 4.1.3.4.1). Requests with an outer block
//! option, which a proxy would have made, are refused.

mod class;
mod context;
mod nonce;
pub mod option;
mod rederivation;
mod refusal;
mod session;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
mod window;

pub use context::{Context, ContextError, MAX_ID_BYTES, MAX_ID_CONTEXT_BYTES, Parameters, Role};
pub use nonce::PartialIv;
pub(crate) use rederivation::{R2_BYTES, byte_string};
pub use refusal::{ProtectError, Refusal};
pub(crate) use session::{Binding, ResponseNonce, Session, Stage, inner_message};
pub use window::ReplayWindow;
