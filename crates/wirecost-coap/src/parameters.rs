//! Transmission parameters (RFC 7252 section 4.8) and the times derived from them.

use core::time::Duration;

use wirecost_proto::{Instant, Rng};

/// The time-outs of retransmissions, and the lifetimes of message ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransmissionParameters {
    /// The shortest first time-out of a confirmable message.
    pub ack_timeout: Duration,
    /// The longest first time-out, as a multiple of `ack_timeout`; at least 1.
    pub ack_random_factor: f64,
    /// The number of retransmissions before the endpoint gives up.
    pub max_retransmit: u32,
    /// The number of outstanding interactions with one peer (NSTART).
    pub nstart: usize,
    /// The average data rate to a peer that does not answer, in bytes per second. It determines how long a
    /// non-confirmable request counts as outstanding. Requests whose No-Response allows silence do not count; the
    /// offered load limits them.
    pub probing_rate: f64,
    /// The longest time that a datagram stays in the network (MAX_LATENCY).
    pub max_latency: Duration,
    /// How long a peer takes to acknowledge a confirmable message (PROCESSING_DELAY).
    pub processing_delay: Duration,
}

impl Default for TransmissionParameters {
    /// The values of RFC 7252 section 4.8, table 2, and MAX_LATENCY and PROCESSING_DELAY of section 4.8.2.
    fn default() -> Self {
        Self {
            ack_timeout: Duration::from_secs(2),
            ack_random_factor: 1.5,
            max_retransmit: 4,
            nstart: 1,
            probing_rate: 1.0,
            max_latency: Duration::from_secs(100),
            processing_delay: Duration::from_secs(2),
        }
    }
}

impl TransmissionParameters {
    /// MAX_TRANSMIT_SPAN: from the first transmission to the last retransmission; 45 s by default.
    pub(crate) fn max_transmit_span(&self) -> Duration {
        // RFC 7252 section 4.8.2: ACK_TIMEOUT * (2^MAX_RETRANSMIT - 1) * ACK_RANDOM_FACTOR.
        self.scaled(doublings(self.max_retransmit) - 1.0)
    }

    /// MAX_TRANSMIT_WAIT: from the first transmission until the sender gives up; 93 s by default.
    pub fn max_transmit_wait(&self) -> Duration {
        // RFC 7252 section 4.8.2: ACK_TIMEOUT * (2^(MAX_RETRANSMIT + 1) - 1) * ACK_RANDOM_FACTOR.
        self.scaled(doublings(self.max_retransmit + 1) - 1.0)
    }

    /// MAX_RTT: twice the latency plus the processing delay; 202 s by default.
    pub(crate) fn max_rtt(&self) -> Duration {
        self.max_latency * 2 + self.processing_delay
    }

    /// EXCHANGE_LIFETIME: how long the id of a confirmable message stays in use; 247 s by default.
    pub fn exchange_lifetime(&self) -> Duration {
        // RFC 7252 section 4.8.2: MAX_TRANSMIT_SPAN + 2 * MAX_LATENCY + PROCESSING_DELAY.
        self.max_transmit_span() + self.max_rtt()
    }

    /// NON_LIFETIME: how long the id of a non-confirmable message stays in use; 145 s by default.
    pub fn non_lifetime(&self) -> Duration {
        self.max_transmit_span() + self.max_latency
    }

    /// How long a client without an answer waits after sending `bytes` bytes, to stay below PROBING_RATE (RFC 7252
    /// section 4.7).
    pub(crate) fn probing_time(&self, bytes: usize) -> Duration {
        Duration::try_from_secs_f64(bytes as f64 / self.probing_rate).unwrap_or(Duration::MAX)
    }

    fn scaled(&self, factor: f64) -> Duration {
        let seconds = self.ack_timeout.as_secs_f64() * factor * self.ack_random_factor;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// 2 to the power of `exponent`. The exponent is limited, because larger times are useless.
fn doublings(exponent: u32) -> f64 {
    (1u64 << exponent.min(40)) as f64
}

/// The retransmission timer of a confirmable message (RFC 7252 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    timeout: Duration,
    deadline: Instant,
    retransmissions: u32,
}

/// The action when a time-out expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Send the message again.
    Retransmit,
    /// Give up: the message was sent MAX_RETRANSMIT + 1 times.
    GiveUp,
}

impl Backoff {
    /// The timer of a message that is sent now.
    pub(crate) fn start(parameters: &TransmissionParameters, rng: &mut Rng, now: Instant) -> Self {
        // RFC 7252 section 4.2: a random time between ACK_TIMEOUT and ACK_TIMEOUT * ACK_RANDOM_FACTOR.
        let factor = 1.0 + rng.next_f64() * (parameters.ack_random_factor - 1.0).max(0.0);
        let seconds = parameters.ack_timeout.as_secs_f64() * factor;
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or(parameters.ack_timeout);
        Self {
            timeout,
            deadline: now + timeout,
            retransmissions: 0,
        }
    }

    /// When the time-out is due.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The action at `now`, or `None` before the deadline. For a retransmission it doubles the time-out.
    pub(crate) fn expire(&mut self, parameters: &TransmissionParameters, now: Instant) -> Option<Expiry> {
        if now < self.deadline {
            return None;
        }
        if self.retransmissions >= parameters.max_retransmit {
            return Some(Expiry::GiveUp);
        }
        self.retransmissions += 1;
        self.timeout = self.timeout.saturating_mul(2);
        self.deadline = now + self.timeout;
        Some(Expiry::Retransmit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_times_match_the_table_of_the_standard() {
        // RFC 7252 section 4.8.2, table 3.
        let parameters = TransmissionParameters::default();
        assert_eq!(parameters.max_transmit_span().as_secs(), 45);
        assert_eq!(parameters.max_rtt().as_secs(), 202);
        assert_eq!(parameters.exchange_lifetime().as_secs(), 247);
        assert_eq!(parameters.non_lifetime().as_secs(), 145);
    }

    #[test]
    fn extreme_parameters_do_not_overflow() {
        let parameters = TransmissionParameters {
            max_retransmit: u32::MAX,
            ack_random_factor: f64::MAX,
            ..Default::default()
        };
        assert_eq!(parameters.max_transmit_span(), Duration::MAX);
    }

    #[test]
    fn a_backoff_doubles_until_it_gives_up() {
        let parameters = TransmissionParameters::default();
        for seed in 0..100 {
            let mut backoff = Backoff::start(&parameters, &mut Rng::new(seed), Instant::START);
            let first = backoff.deadline().saturating_since(Instant::START).as_secs_f64();
            assert!((2.0..=3.0).contains(&first), "first time-out {first} s");
            for doubled in [1.0, 2.0, 4.0, 8.0] {
                let due = backoff.deadline();
                assert_eq!(backoff.expire(&parameters, due - Duration::from_nanos(1)), None);
                assert_eq!(backoff.expire(&parameters, due), Some(Expiry::Retransmit));
                let next = backoff.deadline().saturating_since(due).as_secs_f64();
                assert!((next - first * doubled * 2.0).abs() < 1e-6);
            }
            let last = backoff.deadline();
            assert!((62.0..=93.0).contains(&last.saturating_since(Instant::START).as_secs_f64()));
            assert_eq!(backoff.expire(&parameters, last), Some(Expiry::GiveUp));
        }
    }
}
