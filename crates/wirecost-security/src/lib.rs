//! Security for any stack: TLS and DTLS as layers, certificates, key logs, protected objects.
//!
//! A layer is an [`Endpoint`](wirecost_proto::Endpoint) around another one, whose bytes it protects: it takes the
//! inner endpoint's commands, reports its events beside its own ([`Event`]), and maps the inner spans onto the
//! protected bytes.
//!
//! - [`epoch`]: where the run's clock is among the clocks of the libraries below
//! - [`start`]: how a connection starts: cold, resumed, 0-RTT
//! - [`certificate`]: an authority, and identities of the same size every time
//! - [`dtls`]: DTLS 1.3 and 1.2 around endpoints that speak datagrams
//! - [`entropy`]: where keys come from: the system, or a seed
//! - [`interleave`]: the inner endpoint's spans among the bytes of records
//! - [`provider`]: the cryptography of TLS and QUIC, of one size and if need be from a seed
//! - [`key_log`]: the secrets of a run, for the capture
//! - [`tls`]: TLS 1.2 and 1.3 as layers
//! - [`layer`]: what every layer reports
//! - [`object`]: objects that carry their own protection, whatever the channel
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
pub mod provider;
pub mod start;
pub mod tls;

pub use epoch::Epoch;
pub use key_log::KeyLog;
pub use layer::Event;
pub use start::Start;
