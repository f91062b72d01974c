//! One CoAP endpoint, an address with a port (RFC 7252 section 1.2), that many clients share.
//!
//! To the server they are one peer. Numbers that must be unique per endpoint are unique among all clients:
//!
//! - message ids (section 4.4): the clients take ids from one sequence. The endpoint records who has taken an id,
//!   because an ACK or RST can only be assigned by its message id
//! - tokens (section 5.3.1): each token begins with the client's number, so that responses and notifications can be
//!   assigned
//!
//! ```text
//!           token
//! | client's number | random |
//!   1 to 4 B          2 B, or as the client's configuration says
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use wirecost_proto::Instant;

use crate::message::{Repr, Type};
use crate::message_ids::MessageIds;
use crate::token::Token;

/// Marks a message id that no client has taken.
const NONE: u32 = u32::MAX;

/// The endpoint of several clients.
#[derive(Debug)]
pub struct SharedEndpoint {
    ids: MessageIds,
    /// The number of the client that last took each message id.
    taken_by: Box<[AtomicU32]>,
    /// The number of clients.
    clients: u32,
    number_bytes: usize,
}

/// A client's share of an endpoint. The clients of one endpoint act in turn, never at the same time.
#[derive(Clone, Debug)]
pub struct Share {
    endpoint: Arc<SharedEndpoint>,
    client: u32,
}

impl SharedEndpoint {
    /// An endpoint for the clients with numbers below `clients`.
    pub fn new(clients: u32, first_message_id: u16) -> Self {
        let highest = clients.saturating_sub(1).max(1);
        Self {
            ids: MessageIds::new(first_message_id),
            taken_by: (0..=u16::MAX).map(|_| AtomicU32::new(NONE)).collect(),
            clients,
            number_bytes: highest.ilog2() as usize / 8 + 1,
        }
    }

    /// The number of the client that a datagram belongs to; `None` if it belongs to none and needs no answer. A datagram
    /// without a client that needs an answer goes to the first client, which rejects it (section 4.2).
    pub fn route(&self, datagram: &[u8]) -> Option<u32> {
        let message = Repr::parse(datagram).ok()?;
        match message.kind {
            Type::Acknowledgement | Type::Reset => self.taken_by(message.message_id),
            Type::Confirmable => Some(self.client_of(message.token).unwrap_or(0)),
            Type::NonConfirmable => self.client_of(message.token),
        }
    }

    fn taken_by(&self, message_id: u16) -> Option<u32> {
        let client = self.taken_by.get(usize::from(message_id))?;
        Some(client.load(Ordering::Relaxed)).filter(|client| *client != NONE)
    }

    fn client_of(&self, token: Token) -> Option<u32> {
        let number = token.bytes().get(..self.number_bytes)?;
        let client = number
            .iter()
            .fold(0, |number: u32, byte| number << 8 | u32::from(*byte));
        (client < self.clients).then_some(client)
    }
}

impl Share {
    /// The share of the client with this number.
    pub const fn new(endpoint: Arc<SharedEndpoint>, client: u32) -> Self {
        Self { endpoint, client }
    }

    /// The next message id, which stays in use for `lifetime`.
    pub(crate) fn take_id(&self, lifetime: Duration, now: Instant) -> Result<u16, Instant> {
        let id = self.endpoint.ids.take(lifetime, now)?;
        if let Some(taken_by) = self.endpoint.taken_by.get(usize::from(id)) {
            taken_by.store(self.client, Ordering::Relaxed);
        }
        Ok(id)
    }

    /// A token of the client: its number, then the low `random_bytes` bytes of `random`.
    pub(crate) fn token(&self, random: u64, random_bytes: usize) -> Token {
        let random_bits = 8 * random_bytes as u32;
        let low = random & !u64::MAX.checked_shl(random_bits).unwrap_or(0);
        let high = u64::from(self.client).checked_shl(random_bits).unwrap_or(0);
        Token::from_number(high | low, self.endpoint.number_bytes + random_bytes)
    }
}

/// Shares are equal if they belong to the same client of the same endpoint.
impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.client == other.client && Arc::ptr_eq(&self.endpoint, &other.endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use crate::option::Options;
    use alloc::vec::Vec;

    const LIFETIME: Duration = Duration::from_secs(247);

    fn datagram(kind: Type, message_id: u16, token: Token) -> Vec<u8> {
        let options = Options::new();
        let mut bytes = Vec::new();
        let repr = match kind {
            Type::Reset => Repr::empty(kind, message_id),
            _ => Repr {
                kind,
                code: Code::CHANGED,
                message_id,
                token,
                options: options.view(),
                payload: &[],
            },
        };
        repr.emit(&mut bytes);
        bytes
    }

    fn shares(clients: u32) -> (Arc<SharedEndpoint>, Vec<Share>) {
        let endpoint = Arc::new(SharedEndpoint::new(clients, 7));
        let shares = (0..clients).map(|client| Share::new(endpoint.clone(), client));
        let shares = shares.collect();
        (endpoint, shares)
    }

    #[test]
    fn the_number_has_only_the_bytes_that_all_clients_need() {
        for (clients, bytes) in [
            (1, 1),
            (2, 1),
            (256, 1),
            (257, 2),
            (65_536, 2),
            (65_537, 3),
            (u32::MAX, 4),
        ] {
            let endpoint = Arc::new(SharedEndpoint::new(clients, 0));
            let last = Share::new(endpoint.clone(), clients - 1).token(u64::MAX, 2);
            assert_eq!(last.bytes().len(), bytes + 2, "{clients} clients");
            assert_eq!(endpoint.client_of(last), Some(clients - 1));
        }
    }

    #[test]
    fn the_token_or_the_message_id_of_a_datagram_finds_its_client() {
        let (endpoint, shares) = shares(1_000);
        for (client, share) in shares.iter().enumerate() {
            let (client, token) = (client as u32, share.token(0xffff_0123_4567_89ab, 2));
            assert_eq!(token.bytes(), [(client >> 8) as u8, client as u8, 0x89, 0xab]);
            let id = share.take_id(LIFETIME, Instant::START).expect("ids are left");
            assert_eq!(id, 7 + client as u16, "one sequence for all");
            for kind in [Type::Confirmable, Type::NonConfirmable] {
                assert_eq!(endpoint.route(&datagram(kind, 1, token)), Some(client));
            }
            for kind in [Type::Acknowledgement, Type::Reset] {
                assert_eq!(endpoint.route(&datagram(kind, id, Token::EMPTY)), Some(client));
            }
        }
    }

    #[test]
    fn a_datagram_for_no_client_is_dropped_or_goes_to_the_first() {
        let (endpoint, _) = shares(300);
        let foreign = [
            Token::EMPTY,
            Token::from_number(0, 1),
            Token::from_number(300 << 16, 4),
            Token::from_number(u64::MAX, 8),
        ];
        for token in foreign {
            assert_eq!(endpoint.route(&datagram(Type::NonConfirmable, 7, token)), None);
            assert_eq!(endpoint.route(&datagram(Type::Confirmable, 7, token)), Some(0));
            assert_eq!(endpoint.route(&datagram(Type::Acknowledgement, 7, token)), None);
        }
        assert_eq!(endpoint.route(&datagram(Type::Reset, 8, Token::EMPTY)), None);
        for noise in [&[][..], &[0x40], &[0xff; 40]] {
            assert_eq!(endpoint.route(noise), None);
        }
    }

    #[test]
    fn a_reused_id_belongs_to_the_client_that_took_it_last() {
        let (endpoint, shares) = shares(2);
        let of = |share: &Share, millis| share.take_id(LIFETIME, Instant::from_millis(millis));
        // From 7 on: the run of ids that was begun first is not begun again in its lifetime.
        for _ in 7..=u16::MAX {
            assert!(of(&shares[0], 0).is_ok());
        }
        let free = Instant::START + LIFETIME;
        assert_eq!(
            of(&shares[1], 1),
            Err(free),
            "what one has used, the other must not use again"
        );
        let id = of(&shares[1], 247_000).expect("free again");
        let ack = datagram(Type::Acknowledgement, id, Token::EMPTY);
        assert_eq!(endpoint.route(&ack), Some(1));
    }
}
