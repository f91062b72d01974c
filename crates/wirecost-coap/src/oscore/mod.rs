//! OSCORE (RFC 8613): only the two ends can read or change the code, the options and the payload of a message.
//!
//! - [`Context`]: keys and ids that both ends derive from a shared secret; AES-CCM-16-64-128 with HKDF SHA-256
//! - [`option`]: the OSCORE option, a compressed COSE header
//! - `class`: which options are encrypted, and which stay visible
//! - [`ReplayWindow`]: which sequence numbers of the peer were used
//! - `session`: protects and opens messages of one context
//! - `rederivation`: new contexts for a client that has lost its context (appendix B.2)
//! - [`Refusal`]: why a message was refused, and the server's response
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
//! CoAP bytes belong to the application layer, although there are two codes and two payload markers. OSCORE adds 2 B to
//! the application layer of a message with payload, and the option and the tag to the security layer.
//!
//! No-Response is an inner and an outer option with the same value (section 4.1.3.6). The server follows the inner one,
//! which is authentic, and the outer one only if it cannot open the message. Block-wise transfer uses inner options:
//! each block is a message with its own sequence number (section 4.1.3.4.1). The server refuses a request with an outer
//! block option, which only a proxy would add.

mod class;
mod context;
mod nonce;
pub mod option;
mod rederivation;
mod refusal;
mod session;
#[cfg(test)]
mod tests;
mod window;

pub use context::{Context, ContextError, MAX_ID_BYTES, MAX_ID_CONTEXT_BYTES, Parameters, Role};
pub use nonce::PartialIv;
pub(crate) use rederivation::{R2_BYTES, byte_string};
pub use refusal::{ProtectError, Refusal};
pub(crate) use session::{Binding, ResponseNonce, Session, Stage, inner_message};
pub use window::ReplayWindow;
