//! Decryption of protected records with known secrets.
//!
//! - [`suite`]: cipher suites by their number
//! - [`aead`]: decryption in place
//! - [`record`]: records of TLS 1.2 and DTLS 1.2
//! - [`schedule`]: keys from secrets, of TLS 1.2 and of TLS 1.3

pub(crate) mod aead;
pub(crate) mod record;
pub(crate) mod schedule;
pub(crate) mod suite;
