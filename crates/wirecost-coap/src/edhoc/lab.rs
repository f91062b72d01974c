//! The keys of both sides of a measurement.

use alloc::vec::Vec;
use core::fmt;

use hkdf::Hkdf;
use sha2::Sha256;

use super::crypto::public_key;
use super::{Failure, Identity, Initiator, KEY_BYTES, ServerConfig, Transfer};

/// Subject and key identifier of the server's credential, as long as those of RFC 9529: 95 B.
const SERVER: (&str, u8) = ("wirecost.eu", 0x32);
/// Subject and key identifier of the credential of all clients, as long as those of RFC 9529: 107 B.
const CLIENT: (&str, u8) = ("77-69-72-65-63-6f-73-74", 0x2b);
/// The connection identifier of clients.
const IDENTIFIER: u8 = 0x01;
/// That of clients to which the server sends its credential by value. message_1 has no other word for it.
const IDENTIFIER_BY_VALUE: u8 = 0x0e;

/// The fewest clients that a server expects. With so many its identifiers have two bytes, as the ids of
/// [given contexts](crate::oscore::Context::lab) have, so that the sizes of a cell do not depend on how many devices the run has.
const LEAST_CLIENTS: u32 = 9;

/// The identities of a measurement, which follow from its secret. All clients have the same, so that sizes are the same.
#[derive(Clone, PartialEq)]
pub struct Lab {
    secret: Vec<u8>,
    server: Identity,
    client: Identity,
}

impl fmt::Debug for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keep the secret out of logs.
        f.debug_struct("Lab").finish_non_exhaustive()
    }
}

impl Lab {
    /// The identities of a secret.
    ///
    /// # Errors
    /// The secret gives no key.
    pub fn new(secret: &[u8]) -> Result<Self, Failure> {
        let identity = |(subject, kid)| Identity::with_subject(private_key(secret, subject)?, subject, kid);
        Ok(Self {
            secret: secret.to_vec(),
            server: identity(SERVER)?,
            client: identity(CLIENT)?,
        })
    }

    /// The side of a client. `client` distinguishes it from all others.
    pub fn initiator(&self, transfer: Transfer, client: &[u8]) -> Initiator {
        Initiator {
            identity: self.client.clone(),
            server: self.server.credential().clone(),
            transfer,
            identifier: Vec::from([match transfer {
                Transfer::ByReference => IDENTIFIER,
                Transfer::ByValue => IDENTIFIER_BY_VALUE,
            }]),
            secret: derived(&self.secret, &[b"client ", client].concat()),
        }
    }

    /// The side of a server of `clients` clients.
    pub fn server(&self, clients: u32) -> ServerConfig {
        ServerConfig {
            identity: self.server.clone(),
            clients: self.client.credential().clone(),
            by_value_to: Vec::from([IDENTIFIER_BY_VALUE]),
            expected: clients.max(LEAST_CLIENTS),
            secret: derived(&self.secret, b"server"),
        }
    }
}

fn private_key(secret: &[u8], name: &str) -> Result<[u8; KEY_BYTES], Failure> {
    let candidates = (0..=u8::MAX).map(|attempt| derived(secret, &[name.as_bytes(), &[attempt]].concat()));
    let mut keys = candidates.filter(|key| public_key(key).is_some());
    keys.next().ok_or(Failure::Key)
}

fn derived(secret: &[u8], purpose: &[u8]) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    let label = [b"EDHOC of a measurement: ", purpose].concat();
    // It cannot fail: the hash has as many bytes.
    let expanded = Hkdf::<Sha256>::new(None, secret).expand(&label, &mut key);
    debug_assert!(expanded.is_ok(), "one block of the hash");
    key
}
