//! The server's side of all sessions.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use lakers::{ConnId, EDHOCError, ResponderStart, WaitM3};

use super::crypto::{Primitives, public_key};
use super::initiator::ephemeral;
use super::{
    Failure, Identity, KEY_BYTES, METHOD, PublicCredential, Transfer, buffer, byte_string, context,
    identifier,
};
use crate::oscore::{Context, MAX_ID_BYTES};
use crate::short::ShortBytes;

/// Up to this many clients, connection identifiers have one byte.
const FEW_CLIENTS: u32 = 8;
/// Up to this many clients, they have two bytes.
const MANY_CLIENTS: u32 = 16_384;
/// The most sessions that wait for message_3. Where there are fewer identifiers, a new session takes the place of the one that was given its
/// identifier before, which is the oldest.
const MOST_WAITING: usize = 65_536;

/// The settings of a server.
#[derive(Clone, PartialEq)]
pub struct ServerConfig {
    /// The server's key.
    pub identity: Identity,
    /// The clients that are trusted. All have the same credential.
    pub clients: PublicCredential,
    /// The connection identifier of clients to which the server sends its credential by value; to all others it sends a reference.
    pub by_value_to: Vec<u8>,
    /// How many clients there are. The server's connection identifiers have one byte for up to eight of them, two for up to 16,384,
    /// else three, so that all sizes of a run are the same. They follow one another, and the oldest one is used again.
    pub expected: u32,
    /// The secret that the ephemeral keys of all sessions follow from.
    pub secret: [u8; KEY_BYTES],
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keep the secret out of logs.
        f.debug_struct("ServerConfig")
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

/// A connection identifier of the server, which the client sends as its `kid`.
pub(super) type Id = ShortBytes<MAX_ID_BYTES>;

/// The sessions that wait for message_3.
#[derive(Debug)]
pub(crate) struct Responder {
    config: ServerConfig,
    /// How many sessions have begun.
    begun: u64,
    /// How many identifiers have been given.
    pub(super) given: u32,
    pub(super) waiting: BTreeMap<Id, Waiting>,
    /// Their identifiers by number, the oldest first.
    by_age: BTreeMap<u64, Id>,
    most_waiting: usize,
}

#[derive(Debug)]
pub(super) struct Waiting {
    /// How many sessions had begun with it.
    number: u64,
    state: WaitM3,
    own: ConnId,
    peer: ConnId,
}

impl Responder {
    pub(crate) fn new(config: ServerConfig) -> Self {
        Self::bounded(config, MOST_WAITING)
    }

    /// The same with another bound of sessions that wait.
    pub(super) fn bounded(config: ServerConfig, most_waiting: usize) -> Self {
        Self {
            config,
            begun: 0,
            given: 0,
            waiting: BTreeMap::new(),
            by_age: BTreeMap::new(),
            most_waiting,
        }
    }

    /// Takes message_1: returns message_2.
    pub(crate) fn take_message_1(&mut self, message_1: &[u8]) -> Result<Vec<u8>, Failure> {
        let key = ephemeral(&self.config.secret, self.begun);
        self.begun += 1;
        let (waiting, message_2) = self.answer(message_1, key)?;
        let id = Id::new(waiting.own.as_slice()).ok_or(Failure::NoSession)?;
        self.keep(id, waiting);
        Ok(message_2)
    }

    /// Keeps a session in place of an earlier one with the same identifier. A peer that sends message_1 and nothing more leaves a session
    /// here: at the bound the oldest one is forgotten.
    fn keep(&mut self, id: Id, waiting: Waiting) {
        self.by_age.insert(waiting.number, id);
        if let Some(earlier) = self.waiting.insert(id, waiting) {
            self.by_age.remove(&earlier.number);
        }
        if self.waiting.len() > self.most_waiting
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.waiting.remove(&oldest);
        }
    }

    /// Its settings.
    #[cfg(test)]
    pub(super) const fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Whether a session with this identifier waits for message_3.
    pub(crate) fn awaits(&self, id: &[u8]) -> bool {
        Id::new(id).is_some_and(|id| self.waiting.contains_key(&id))
    }

    /// The identifier of the next session; the client must have another one (RFC 9528 section 3.3.3).
    fn next_identifier(&mut self, of_client: &[u8]) -> Vec<u8> {
        loop {
            let id = numbered(self.given, self.config.expected);
            self.given = self.given.wrapping_add(1);
            if id != of_client {
                return id;
            }
        }
    }

    pub(super) fn answer(
        &mut self,
        message_1: &[u8],
        key: [u8; KEY_BYTES],
    ) -> Result<(Waiting, Vec<u8>), Failure> {
        let message = "message_1";
        let failure = |error: EDHOCError| Failure::from_error(&error, message);
        let (g_y, _) = public_key(&key).ok_or(Failure::Key)?;
        let start = ResponderStart {
            method: METHOD,
            y: key,
            g_y,
        };
        let mut crypto = Primitives::default();
        let received = buffer(message_1, message)?;
        let (state, peer, item) =
            lakers::r_process_message_1(&start, &mut crypto, &received).map_err(failure)?;
        // An item that is not critical may be ignored: lakers for Python sends one.
        if item.is_some_and(|item| item.is_critical) {
            return Err(Failure::CriticalItem { message });
        }
        let own = self.next_identifier(peer.as_slice());
        let own = identifier(&own).ok_or(Failure::NoSession)?;
        let transfer = match peer.as_slice() == self.config.by_value_to {
            true => Transfer::ByValue,
            false => Transfer::ByReference,
        };
        let identity = &self.config.identity;
        let prepared = lakers::r_prepare_message_2(
            &state,
            &mut crypto,
            identity.claims(),
            &identity.private,
            own,
            transfer.into(),
            &None,
        );
        crypto.check()?;
        let (state, message_2) = prepared.map_err(failure)?;
        let waiting = Waiting {
            number: self.begun,
            state,
            own,
            peer,
        };
        Ok((waiting, message_2.as_slice().to_vec()))
    }

    /// Takes message_3 of the session with the identifier `id`: returns its context. The session ends, whatever the message is.
    pub(crate) fn take_message_3(&mut self, id: &[u8], message_3: &[u8]) -> Result<Context, Failure> {
        let message = "message_3";
        let failure = |error: EDHOCError| Failure::from_error(&error, message);
        let received = byte_string(message_3, message)?;
        let id = Id::new(id).ok_or(Failure::NoSession)?;
        let mut waiting = self.waiting.remove(&id).ok_or(Failure::NoSession)?;
        self.by_age.remove(&waiting.number);
        let mut crypto = Primitives::default();
        let parsed = lakers::r_parse_message_3(&mut waiting.state, &mut crypto, &received);
        let (mut state, id, item) = parsed.map_err(failure)?;
        if item.is_some_and(|item| item.is_critical) {
            return Err(Failure::CriticalItem { message });
        }
        let client = self.config.clients.named_by(&id)?;
        let verified = lakers::r_verify_message_3(&mut state, &mut crypto, client);
        crypto.check()?;
        let (state, _) = verified.map_err(failure)?;
        let completed = lakers::r_complete_without_message_4(&state).map_err(failure)?;
        let context = context(&completed, &mut crypto, &waiting.peer, &waiting.own)?;
        crypto.check()?;
        Ok(context)
    }
}

/// How many identifiers there are for `expected` clients, which bounds the sessions that wait.
pub(super) const fn identifiers(expected: u32) -> u32 {
    if expected <= FEW_CLIENTS {
        return 48;
    }
    if expected <= MANY_CLIENTS {
        return 65_536 - expected;
    }
    1 << 24
}

/// The identifier with this number, among those for `expected` clients.
fn numbered(number: u32, expected: u32) -> Vec<u8> {
    if expected <= FEW_CLIENTS {
        // Those that CBOR encodes in one byte (RFC 9528 section 3.3.2): 0 to 23, then -1 to -24.
        return match number % identifiers(expected) {
            positive @ 0..24 => Vec::from([positive as u8]),
            negative => Vec::from([0x20 + (negative - 24) as u8]),
        };
    }
    if expected <= MANY_CLIENTS {
        // Given contexts of devices have the ids from zero on.
        let id = u16::MAX - (number % identifiers(expected)) as u16;
        return id.to_be_bytes().to_vec();
    }
    number.to_be_bytes().get(1..).unwrap_or_default().to_vec()
}
