//! Sessions: what both sides keep from a full handshake for an abbreviated one (RFC 5246 section 7.3).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::prf::Master;

/// Bytes of the session IDs that our server gives: the length that RFC 5246 section 7.4.1.2 allows at most, and the
/// one that OpenSSL, GnuTLS and Mbed TLS use.
pub(super) const SESSION_ID_BYTES: usize = 32;
/// The most sessions that a server keeps. The oldest is dropped first.
const MAX_SESSIONS: usize = 1 << 17;

/// A session.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::dtls) struct Session {
    pub(super) id: Vec<u8>,
    pub(super) master: Master,
    /// Whether its master secret is the extended one. A resumption must not change that (RFC 7627 section 5.3).
    pub(super) is_extended: bool,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

/// The sessions of a server. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in crate::dtls) struct Sessions(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    by_id: BTreeMap<Vec<u8>, Session>,
    /// Their IDs, the oldest first.
    order: VecDeque<Vec<u8>>,
}

impl Sessions {
    pub(super) fn keep(&self, session: Session) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = session.id.clone();
        if kept.by_id.insert(id.clone(), session).is_none() {
            kept.order.push_back(id);
        }
        if kept.order.len() > MAX_SESSIONS
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.by_id.remove(&oldest);
        }
    }

    pub(super) fn find(&self, id: &[u8]) -> Option<Session> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.by_id.get(id).cloned()
    }
}
