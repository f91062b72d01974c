//! What a client calls its messages: message ids and tokens, its own or of an endpoint that others are too.

use alloc::boxed::Box;
use core::time::Duration;

use wirecost_proto::{Instant, Rng};

use super::Config;
use crate::message_ids::MessageIds;
use crate::shared::Share;
use crate::token::Token;

/// Where message ids and tokens come from.
#[derive(Debug)]
pub(super) struct Identity {
    ids: Ids,
    random_bytes: usize,
    rng: Rng,
}

#[derive(Debug)]
enum Ids {
    Own(Box<MessageIds>),
    Shared(Share),
}

impl Identity {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            ids: match &config.shared {
                None => Ids::Own(Box::new(MessageIds::new(config.first_message_id))),
                Some(share) => Ids::Shared(share.clone()),
            },
            random_bytes: config.token_bytes,
            rng: config.rng.purpose(2),
        }
    }

    /// The next message id, taken for `lifetime`.
    ///
    /// # Errors
    /// All are taken; the instant is when the next one is free.
    pub(super) fn take_id(&self, lifetime: Duration, now: Instant) -> Result<u16, Instant> {
        match &self.ids {
            Ids::Own(ids) => ids.take(lifetime, now),
            Ids::Shared(share) => share.take_id(lifetime, now),
        }
    }

    /// A token, drawn at random.
    pub(super) fn draw_token(&mut self) -> Token {
        let random = self.rng.next_u64();
        match &self.ids {
            Ids::Own(_) => Token::from_number(random, self.random_bytes),
            Ids::Shared(share) => share.token(random, self.random_bytes),
        }
    }
}
