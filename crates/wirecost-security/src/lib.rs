//! Security for any stack: TLS and DTLS as layers, certificates, key logs, protected objects.
//!
//! A layer is an [`Endpoint`](wirecost_proto::Endpoint) around another endpoint and protects its bytes. It passes
//! commands to the inner endpoint, reports the inner events and its own ([`Event`]), and maps the inner spans onto
//! the protected bytes.
//!
//! - [`epoch`]: maps the run's clock to the clocks of the libraries below
//! - [`start`]: starts of a connection: cold, resumed, 0-RTT
//! - [`certificate`]: an authority, and identities of constant size
//! - [`dtls`]: DTLS 1.3 and 1.2 around datagram endpoints
//! - [`entropy`]: the source of keys: the system or a seed
//! - [`interleave`]: merges the inner endpoint's spans with the bytes of records
//! - [`pinned`]: TLS between two processes of one run
//! - [`presented`]: the sizes of a chain of certificates that a server presents
//! - [`provider`]: the cryptography of TLS and QUIC, with constant sizes and optionally a seed
//! - [`key_log`]: the secrets of a run, for the capture
//! - [`tls`]: TLS 1.2 and 1.3 as layers
//! - [`layer`]: the events of every layer
//! - [`object`]: objects with their own protection, independent of the channel
//!
//! ```
//! use wirecost_security::Start;
//!
//! assert_eq!("0rtt".parse(), Ok(Start::ZeroRtt));
//! ```

pub mod certificate;
pub mod dtls;
pub mod entropy;
pub mod epoch;
pub mod interleave;
pub mod key_log;
pub mod layer;
pub mod object;
pub mod pinned;
pub mod presented;
pub mod provider;
pub mod start;
pub mod tls;

pub use epoch::Epoch;
pub use key_log::KeyLog;
pub use layer::Event;
pub use start::Start;
