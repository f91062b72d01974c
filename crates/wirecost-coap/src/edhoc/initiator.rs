//! The client's side of a session.

use alloc::vec::Vec;
use core::fmt;

use lakers::{ConnId, EDHOCError, EdhocBuffer, InitiatorStart, WaitM2};

use super::crypto::{Primitives, public_key};
use super::{
    Failure, Identity, KEY_BYTES, METHOD, PublicCredential, SUITE, Transfer, byte_string, context, identifier,
};
use crate::oscore::Context;

/// The settings of a client.
#[derive(Clone, PartialEq)]
pub struct Initiator {
    /// The client's key.
    pub identity: Identity,
    /// The server that is trusted.
    pub server: PublicCredential,
    /// How the client names its credential.
    pub transfer: Transfer,
    /// The client's connection identifier, at most 7 bytes: its recipient id of OSCORE.
    pub identifier: Vec<u8>,
    /// The secret that the ephemeral keys of all sessions follow from. No two clients may have the same.
    pub secret: [u8; KEY_BYTES],
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keep the secret out of logs.
        f.debug_struct("Initiator")
            .field("identifier", &self.identifier)
            .finish_non_exhaustive()
    }
}

/// A session that waits for message_2.
#[derive(Debug)]
pub(crate) struct AwaitMessage2 {
    state: WaitM2,
    own: ConnId,
}

/// A session whose message_3 is ready.
#[derive(Debug)]
pub(crate) struct Established {
    pub(crate) context: Context,
    pub(crate) message_3: Vec<u8>,
}

impl Initiator {
    /// Begins the session `number` of this client: returns message_1.
    pub(crate) fn begin(&self, number: u64) -> Result<(AwaitMessage2, Vec<u8>), Failure> {
        self.begin_with(ephemeral(&self.secret, number), &[SUITE])
    }

    /// The same with this ephemeral key and these suites, the selected one last.
    pub(super) fn begin_with(
        &self,
        key: [u8; KEY_BYTES],
        suites: &[u8],
    ) -> Result<(AwaitMessage2, Vec<u8>), Failure> {
        let failure = |error: &EDHOCError| Failure::from_error(error, "message_1");
        let own = identifier(&self.identifier).ok_or(Failure::Malformed { message: "message_1" })?;
        let (g_x, _) = public_key(&key).ok_or(Failure::Key)?;
        let start = InitiatorStart {
            suites_i: EdhocBuffer::new_from_slice(suites).map_err(|_| Failure::Suite)?,
            method: METHOD,
            x: key,
            g_x,
        };
        let mut crypto = Primitives::default();
        let prepared = lakers::i_prepare_message_1(&start, &mut crypto, own, &None);
        let (state, message_1) = prepared.map_err(|error| failure(&error))?;
        crypto.check()?;
        Ok((AwaitMessage2 { state, own }, message_1.as_slice().to_vec()))
    }

    /// Takes message_2 and makes message_3.
    pub(crate) fn take_message_2(
        &self,
        session: &AwaitMessage2,
        message_2: &[u8],
    ) -> Result<Established, Failure> {
        let message = "message_2";
        let failure = |error: EDHOCError| Failure::from_error(&error, message);
        let mut crypto = Primitives::default();
        let received = byte_string(message_2, message)?;
        let parsed = lakers::i_parse_message_2(&session.state, &mut crypto, &received);
        crypto.check()?;
        let (state, peer, id, item) = parsed.map_err(failure)?;
        if item.is_some_and(|item| item.is_critical) {
            return Err(Failure::CriticalItem { message });
        }
        let server = self.server.named_by(&id)?;
        let verified = lakers::i_verify_message_2(&state, &mut crypto, server, &self.identity.private);
        let verified = verified.map_err(failure)?;
        let claims = self.identity.claims();
        let prepared =
            lakers::i_prepare_message_3(&verified, &mut crypto, claims, self.transfer.into(), &None);
        let (state, message_3, _) = prepared.map_err(|error| Failure::from_error(&error, "message_3"))?;
        let completed = lakers::i_complete_without_message_4(&state).map_err(failure)?;
        let context = context(&completed, &mut crypto, &peer, &session.own)?;
        crypto.check()?;
        Ok(Established {
            context,
            message_3: message_3.as_slice().to_vec(),
        })
    }
}

/// The ephemeral private key of a session: HKDF of the secret, the number and a counter, until it is one of P-256.
pub(super) fn ephemeral(secret: &[u8; KEY_BYTES], number: u64) -> [u8; KEY_BYTES] {
    let hkdf = hkdf::Hkdf::<sha2::Sha256>::new(None, secret);
    let mut key = [0; KEY_BYTES];
    for attempt in 0_u8..=u8::MAX {
        let mut info = Vec::from(*b"EDHOC ephemeral key");
        info.extend_from_slice(&number.to_be_bytes());
        info.push(attempt);
        if hkdf.expand(&info, &mut key).is_ok() && public_key(&key).is_some() {
            break;
        }
    }
    key
}
