//! A client's tickets and sessions for resumption.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// The most tickets kept. The oldest is dropped first.
const MAX_TICKETS: usize = 8;

/// The tickets and the session of one client with one server. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    offer: bool,
    offered: bool,
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Sessions {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether the next connection may use them.
    pub(super) fn begin(&self, offer: bool) {
        let mut kept = self.kept();
        kept.offer = offer;
        kept.offered = false;
    }

    /// Whether the connection found something to use.
    pub(super) fn offered(&self) -> bool {
        self.kept().offered
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.kept().tls12 = Some(session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        let mut kept = self.kept();
        let session = kept.tls12.clone().filter(|_| kept.offer);
        kept.offered |= session.is_some();
        session
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut kept = self.kept();
        if kept.tls13.len() == MAX_TICKETS {
            kept.tls13.pop_front();
        }
        kept.tls13.push_back(ticket);
    }

    /// RFC 8446 appendix C.4: a ticket is used once.
    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let mut kept = self.kept();
        if !kept.offer {
            return None;
        }
        let ticket = kept.tls13.pop_back();
        kept.offered |= ticket.is_some();
        ticket
    }
}
