//! The timers of a client: retransmissions, time-outs, renewed observations.

use core::time::Duration;

use wirecost_proto::Instant;

use super::exchange::{Exchange, State};
use super::transfer::Purpose;
use super::{Client, Event, Observation};
use crate::parameters::Expiry;

impl Client {
    /// Handles every deadline that is due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let mut at = 0;
        while let Some(exchange) = self.exchanges.get(at) {
            let message = exchange.message;
            if exchange.deadline() <= now {
                self.expire(at, now);
            }
            // When an exchange ends, another one takes its index and is still to be checked.
            if self
                .exchanges
                .get(at)
                .is_some_and(|exchange| exchange.message == message)
            {
                at += 1;
            }
        }
    }

    /// Handles the expired deadline of an exchange.
    fn expire(&mut self, at: usize, now: Instant) {
        let (Some(flow), Some(exchange)) = (self.flow, self.exchanges.get_mut(at)) else {
            return;
        };
        let parameters = &self.config.parameters;
        match &mut exchange.state {
            State::Blocked { .. } => self.send_request(at, false, now),
            State::AwaitAck(backoff) => match backoff.expire(parameters, now) {
                Some(Expiry::Retransmit) => {
                    self.stats.made().retransmissions += 1;
                    exchange.transmit(flow, true, &mut self.outbox);
                }
                Some(Expiry::GiveUp) => self.time_out(at),
                None => {}
            },
            State::AwaitContinue(backoff) => match backoff.expire(parameters, now) {
                Some(Expiry::Retransmit) => {
                    self.stats.made().retransmissions += 1;
                    // With the same id, the server would treat it as a duplicate and send no 2.31.
                    self.transmit_anew(at, true, now);
                }
                Some(Expiry::GiveUp) => self.time_out(at),
                None => {}
            },
            State::AwaitResponse { .. } => self.time_out(at),
        }
    }

    /// The earliest deadline.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let exchanges = self.exchanges.iter().map(Exchange::deadline);
        // A waiting request may start when a non-confirmable one stops counting for NSTART.
        let waits = |until: &Instant| !self.waiting.is_empty() && *until > self.now;
        let slots = self.exchanges.iter().filter_map(Exchange::outstanding_until);
        let observations = self.observations.iter().map(|observation| observation.expires);
        exchanges.chain(slots.filter(waits)).chain(observations).min()
    }

    fn time_out(&mut self, at: usize) {
        if at >= self.exchanges.len() {
            return;
        }
        let exchange = self.end(at);
        let (message, transmissions) = (exchange.message, exchange.transmissions);
        let answered = matches!(exchange.state, State::AwaitResponse { .. });
        // RFC 7967: silence is what the request asked for.
        if !(answered && exchange.tolerates_silence()) {
            let event = Event::TimedOut {
                message,
                transmissions,
            };
            self.report(&exchange, event);
        }
    }

    /// Registers again if no notification arrived within Max-Age (RFC 7641 section 3.3.1). The registration keeps the
    /// token, so that a late notification counts as its response.
    pub(super) fn renew_observations(&mut self, now: Instant) {
        let is_due = |observation: &Observation| observation.expires <= now;
        while let Some(at) = self.observations.iter().position(is_due) {
            let observation = self.observations.swap_remove(at);
            self.request_again(observation, Purpose::Register);
        }
    }

    /// When to register again after a message with this Max-Age.
    pub(super) fn renewal(&mut self, max_age: u32, now: Instant) -> Instant {
        // RFC 7641 section 3.3.1: Max-Age plus a random time, so that clients do not all register at once.
        let spread = Duration::from_millis(5_000 + self.timeout_rng.next_below(10_000));
        now + Duration::from_secs(u64::from(max_age)) + spread
    }
}
