//! CoAP over reliable transports (RFC 8323): messages on a byte stream, and the signaling messages of a connection.
//!
//! ```text
//! | Len | TKL | length extension | code | token | options | 0xff | payload |
//!  4 bit 4 bit  0, 1, 2 or 4 B     1 B    TKL      ----- Len bytes -----
//! ```
//!
//! A message has no version, no type and no message id: TCP delivers it once and in order. Requests, responses, options,
//! block-wise transfers and observation are those of the other modules. [`crate::client`] and [`crate::server`] run on a
//! stream if their configuration says so.
//!
//! 1. Each side sends a CSM (7.01) first, and need not wait for the other's. A client holds back a request above 1,152 B
//!    until the server's CSM has arrived.
//! 2. A body that exceeds the peer's Max-Message-Size is sent block-wise; a message carries many blocks of 1,024 B (BERT,
//!    section 6) if the peer's CSM allows it.
//! 3. 7.02 is answered by 7.03 with the same token. After 7.04 no request is sent, and the connection is closed when the
//!    last response has arrived. What is not a message is answered by 7.05, and the connection is closed.
//!
//! OSCORE is not available on a stream.

mod connection;
mod frame;
mod outline;
mod signal;

pub(crate) use connection::{Connection, Signal};
pub(crate) use frame::kind_of;
pub use frame::{Fault, Framer, code, message_len};
pub use outline::Outline;
pub(crate) use signal::{emit_abort, emit_csm, emit_ping, emit_pong, emit_release};

/// The largest message of a peer whose CSM says nothing else, in bytes (RFC 8323 section 5.3.1).
pub const BASE_MAX_MESSAGE_BYTES: u32 = 1_152;
/// The largest message that both endpoints accept, in bytes: 1 MiB.
pub const MAX_MESSAGE_BYTES: u32 = 1 << 20;

#[cfg(test)]
mod tests;
