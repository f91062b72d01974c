//! The addresses of a run's own sockets, by which its packets are told from those of other programs to the same server.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wirecost_proto::hosts::any_address;

/// The local addresses of all sockets that a run has opened. Loops write them, and the count of packets reads them.
#[derive(Debug, Default)]
pub struct OwnSockets {
    addresses: Mutex<BTreeSet<SocketAddr>>,
}

impl OwnSockets {
    /// Notes a socket. A later one may have the same address.
    pub(crate) fn note(&self, local: SocketAddr) {
        self.lock().insert(local);
    }

    /// Whether a packet from or to this address of this machine belongs to one of the sockets. A socket that is not connected has
    /// the port at every address.
    pub(crate) fn have(&self, local: SocketAddr) -> bool {
        let any = any_address(local.is_ipv6());
        let addresses = self.lock();
        addresses.contains(&local) || addresses.contains(&SocketAddr::new(any, local.port()))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<SocketAddr>> {
        // A set is consistent even if a thread panicked while it held the lock.
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_its_address_and_an_unconnected_one_its_port() {
        let sockets = OwnSockets::default();
        let at = |text: &str| text.parse::<SocketAddr>().expect(text);
        sockets.note(at("127.0.0.1:40000"));
        sockets.note(at("0.0.0.0:40001"));
        assert!(sockets.have(at("127.0.0.1:40000")) && sockets.have(at("10.0.0.1:40001")));
        assert!(!sockets.have(at("127.0.0.2:40000")) && !sockets.have(at("[::1]:40001")));
    }
}
