//! One CoAP endpoint, an address with a port (RFC 7252 section 1.2), that many clients are together.
//!
//! To the server they are one peer, so that what must be unique between two endpoints is unique among all of them:
//!
//! - message ids (section 4.4): the clients draw from one sequence, and who has drawn an id is remembered, because an ACK
//!   or an RST has nothing else that says whose it is
//! - tokens (section 5.3.1): each client's begin with its number, by which responses and notifications find it
//!
//! ```text
//!           token
//! | client's number | random |
//!   1 to 4 B          2 B, or what the client's configuration says
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use wirecost_proto::Instant;

use crate::message::{Repr, Type};
use crate::message_ids::MessageIds;
use crate::token::Token;

/// The number of no client.
const NONE: u32 = u32::MAX;

/// The endpoint of so many clients.
#[derive(Debug)]
pub struct SharedEndpoint {
    ids: MessageIds,
    /// Who has drawn each message id last.
    drawn_by: Box<[AtomicU32]>,
    /// Clients have numbers below this.
    clients: u32,
    number_bytes: usize,
}

/// A client's share of an endpoint. Clients of one endpoint act in turn, never at once.
#[derive(Clone, Debug)]
pub struct Share {
    endpoint: Arc<SharedEndpoint>,
    client: u32,
}

impl SharedEndpoint {
    /// An endpoint of clients with the numbers below `clients`.
    pub fn new(clients: u32, first_message_id: u16) -> Self {
        let highest = clients.saturating_sub(1).max(1);
        Self {
            ids: MessageIds::new(first_message_id),
            drawn_by: (0..=u16::MAX).map(|_| AtomicU32::new(NONE)).collect(),
            clients,
            number_bytes: highest.ilog2() as usize / 8 + 1,
        }
    }

    /// The number of the client that a datagram is for; `None` where it is for none and wants no answer. A datagram for none that
    /// wants one is the first client's, which rejects it as any endpoint has to (section 4.2).
    pub fn route(&self, datagram: &[u8]) -> Option<u32> {
        let message = Repr::parse(datagram).ok()?;
        match message.kind {
            Type::Acknowledgement | Type::Reset => self.drawn_by(message.message_id),
            Type::Confirmable => Some(self.named_by(message.token).unwrap_or(0)),
            Type::NonConfirmable => self.named_by(message.token),
        }
    }

    fn drawn_by(&self, message_id: u16) -> Option<u32> {
        let client = self.drawn_by.get(usize::from(message_id))?;
        Some(client.load(Ordering::Relaxed)).filter(|client| *client != NONE)
    }

    fn named_by(&self, token: Token) -> Option<u32> {
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

    /// The next message id, taken for `lifetime`.
    pub(crate) fn take_id(&self, lifetime: Duration, now: Instant) -> Result<u16, Instant> {
        let id = self.endpoint.ids.take(lifetime, now)?;
        if let Some(drawn_by) = self.endpoint.drawn_by.get(usize::from(id)) {
            drawn_by.store(self.client, Ordering::Relaxed);
        }
        Ok(id)
    }

    /// A token of the client's: its number, then the low `random_bytes` bytes of `random`.
    pub(crate) fn token(&self, random: u64, random_bytes: usize) -> Token {
        let random_bits = 8 * random_bytes as u32;
        let low = random & !u64::MAX.checked_shl(random_bits).unwrap_or(0);
        let high = u64::from(self.client).checked_shl(random_bits).unwrap_or(0);
        Token::from_number(high | low, self.endpoint.number_bytes + random_bytes)
    }
}

/// Shares are equal where they are the same client's of the same endpoint.
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
    fn the_number_has_as_few_bytes_as_all_clients_need() {
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
            assert_eq!(endpoint.named_by(last), Some(clients - 1));
        }
    }

    #[test]
    fn responses_find_their_client_by_token_and_acknowledgements_by_message_id() {
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
    fn what_is_nobodys_is_dropped_or_rejected_by_the_first() {
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
    fn an_id_that_comes_again_is_the_last_ones_who_drew_it() {
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
