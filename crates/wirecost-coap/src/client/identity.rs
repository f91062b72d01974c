//! The message ids and tokens of a client: its own, or those of a shared endpoint.

use core::time::Duration;

use wirecost_proto::{Instant, Rng};

use super::Config;
use crate::message_ids::OwnIds;
use crate::shared::Share;
use crate::token::Token;

/// The source of message ids and tokens.
#[derive(Debug)]
pub(super) struct Identity {
    ids: Ids,
    random_bytes: usize,
    rng: Rng,
}

#[derive(Debug)]
enum Ids {
    Own(OwnIds),
    Shared(Share),
}

impl Identity {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            ids: match &config.shared {
                None => Ids::Own(OwnIds::new(config.first_message_id)),
                Some(share) => Ids::Shared(share.clone()),
            },
            random_bytes: config.token_bytes,
            rng: config.rng.purpose(2),
        }
    }

    /// The next message id, which stays in use for `lifetime`.
    ///
    /// # Errors
    /// All ids are in use. The error is the time when the next one is free.
    pub(super) fn take_id(&mut self, lifetime: Duration, now: Instant) -> Result<u16, Instant> {
        match &mut self.ids {
            Ids::Own(ids) => ids.take(lifetime, now),
            Ids::Shared(share) => share.take_id(lifetime, now),
        }
    }

    /// A random token.
    pub(super) fn draw_token(&mut self) -> Token {
        let random = self.rng.next_u64();
        match &self.ids {
            Ids::Own(_) => Token::from_number(random, self.random_bytes),
            Ids::Shared(share) => share.token(random, self.random_bytes),
        }
    }
}
