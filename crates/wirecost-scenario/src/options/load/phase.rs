//! The phases of a load, and what follows from them: name, offer, length.

use std::time::Duration;

use serde::Serialize;
use wirecost_security::Start;

use super::{LoadEngine, LoadOptions, print};

/// A phase: all devices do the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Phase {
    /// Connect; subscribers first, and they subscribe.
    Connect {
        /// Which devices.
        who: Who,
        /// Connections per second over all devices; `None` is as fast as possible.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "print::optional_rate"
        )]
        rate: Option<f64>,
    },
    /// Send messages.
    Publish(Offer),
    /// Send requests and wait for responses that carry content (CoAP, HTTP: GET).
    Request(Offer),
    /// Connect, close and connect again: handshakes.
    Handshakes {
        /// How.
        #[serde(serialize_with = "print::text")]
        start: Start,
        /// When.
        #[serde(flatten)]
        offer: Offer,
    },
    /// Keep connections open and do nothing.
    Hold {
        /// For how long.
        #[serde(serialize_with = "print::time")]
        duration: Duration,
    },
    /// Lose all connections at once.
    DropAll {
        /// Which devices.
        who: Who,
        /// By RST instead of a close.
        reset: bool,
    },
    /// Connect lost devices again.
    Reconnect {
        /// Which devices.
        who: Who,
        /// How long to wait after the first, second, ... failure.
        backoff: Backoff,
        /// When to give up.
        #[serde(serialize_with = "print::time")]
        timeout: Duration,
    },
    /// Wait until queued messages have arrived.
    AwaitReplay {
        /// When to give up.
        #[serde(serialize_with = "print::time")]
        timeout: Duration,
    },
    /// Close as the protocol specifies.
    Close {
        /// Connections closed in a second; `None` closes all at once.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "print::optional_rate"
        )]
        rate: Option<f64>,
    },
}

wirecost_proto::named! {
    /// Some of the devices.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Who {
        /// All of them; subscribers first, where it matters.
        #[default]
        All => "all",
        /// Those that send.
        Senders => "senders",
        /// Those that receive.
        Subscribers => "subscribers",
    }
}

/// Messages and their intended times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Offer {
    /// When one message follows another.
    #[serde(flatten)]
    pub arrivals: Arrivals,
    /// When the offer ends. `duration` or `count` is required; the earlier one ends the offer.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_time"
    )]
    pub duration: Option<Duration>,
    /// The number of messages over all devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Warm-up, which no figure includes.
    #[serde(serialize_with = "print::time")]
    pub warm_up: Duration,
    /// Time over which the rate rises from 0.
    #[serde(skip_serializing_if = "Duration::is_zero", serialize_with = "print::time")]
    pub ramp: Duration,
    /// The time over which each round of messages, one per device, is spread: devices that report together. `None`
    /// spreads it evenly.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_time"
    )]
    pub spread: Option<Duration>,
}

/// When one message follows another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Arrivals {
    /// An open loop: messages have scheduled times, whether or not earlier ones are answered.
    Open {
        /// Messages per second: above 0, also below 1.
        #[serde(serialize_with = "print::rate")]
        rate: f64,
        /// Whether the rate is that of each device, or of all devices together.
        per_client: bool,
        /// Whether gaps are exponential, or equal.
        #[serde(rename = "arrivals", serialize_with = "print::arrivals")]
        poisson: bool,
    },
    /// A closed loop: the next message after the answer to the one before, with up to `inflight` unanswered messages.
    #[serde(serialize_with = "print::closed_loop")]
    Closed,
}

/// The wait before a reconnect: `first`, doubled after each failure up to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Backoff {
    /// After the first loss.
    #[serde(serialize_with = "print::time")]
    pub first: Duration,
    /// At most.
    #[serde(serialize_with = "print::time")]
    pub max: Duration,
    /// Whether each wait is uniformly random between 0 and that time.
    #[serde(rename = "jitter", serialize_with = "print::jitter")]
    pub full_jitter: bool,
}

/// The most groups of devices that close their connections one after the other when a phase closes them as fast as possible. In virtual
/// time a round trip costs nothing, and connections that close take memory.
pub const fn close_rounds(engine: LoadEngine) -> u32 {
    match engine {
        LoadEngine::Live => 16,
        LoadEngine::Sim => 64,
    }
}

/// How many of `devices` connect at once when a phase connects them as fast as possible. Live, this is below the accept backlog of a
/// usual server. In virtual time no server has a backlog, and at most about a thousand groups connect one after the other: with 64 at once,
/// the first of a million devices would send keep-alives for half an hour until the last one has connected.
pub fn connects_at_once(engine: LoadEngine, devices: u32) -> u32 {
    const LEAST: u32 = 64;
    match engine {
        LoadEngine::Live => LEAST,
        LoadEngine::Sim => LEAST.max(devices / 1_024),
    }
}

impl Phase {
    /// Its name in results and scenarios.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "connect",
            Self::Publish(_) => "publish",
            Self::Request(_) => "request",
            Self::Handshakes { .. } => "handshakes",
            Self::Hold { .. } => "hold",
            Self::DropAll { .. } => "drop",
            Self::Reconnect { .. } => "reconnect",
            Self::AwaitReplay { .. } => "replay",
            Self::Close { .. } => "close",
        }
    }

    /// The offer, if the phase has one.
    pub const fn offer(&self) -> Option<&Offer> {
        match self {
            Self::Publish(offer) | Self::Request(offer) | Self::Handshakes { offer, .. } => Some(offer),
            _ => None,
        }
    }

    /// Whether generator and target have work that figures describe: messages, handshakes or reconnects.
    const fn is_work(&self) -> bool {
        self.offer().is_some() || matches!(self, Self::Reconnect { .. })
    }

    /// Requested messages or handshakes per second, over all devices; `None` in a closed loop and without messages.
    pub fn rate(&self, clients: u32) -> Option<f64> {
        self.offer()?.rate(clients)
    }

    /// Warm-up, which no figure includes.
    pub fn warm_up(&self) -> Duration {
        self.offer().map_or(Duration::ZERO, |offer| offer.warm_up)
    }

    /// Its length without delays by the target; `None` if the count of a closed loop ends it.
    pub fn length(&self, clients: u32) -> Option<Duration> {
        match self {
            Self::Hold { duration } => Some(*duration),
            phase => phase
                .offer()
                .map_or(Some(Duration::ZERO), |offer| offer.length(clients)),
        }
    }

    /// The measured time. `intended` is the time from its start to its last message, `lasted` the time until it ended
    /// or was stopped.
    pub fn measured(
        &self,
        clients: u32,
        intended: Duration,
        lasted: Duration,
        was_stopped: bool,
    ) -> Duration {
        let Some(offer) = self.offer() else {
            return lasted;
        };
        // Random arrivals may take longer than their mean rate says, or less.
        let length = offer.length(clients).map(|length| length.max(intended));
        let length = match length {
            Some(length) if was_stopped => length.min(lasted),
            Some(length) => length,
            None => lasted,
        };
        length.saturating_sub(offer.warm_up)
    }

    /// An upper bound of its length, whatever the target does. `intended` is the time from its start to the last known
    /// message.
    pub fn bound(&self, options: &LoadOptions, intended: Duration) -> Duration {
        const DAY: Duration = Duration::from_secs(86_400);
        let devices = options.clients + options.receivers();
        match self {
            Self::Connect { rate, .. } => {
                // If nothing answers, each group of connects takes the time-out.
                let groups = devices / connects_at_once(options.engine, devices) + 1;
                let begun = rate.map_or(options.connect_timeout.mul_f64(f64::from(groups)), |rate| {
                    Duration::try_from_secs_f64(f64::from(devices) / rate).unwrap_or(DAY)
                });
                begun + options.connect_timeout + options.timeout
            }
            Self::Hold { duration } => *duration,
            Self::DropAll { .. } => options.timeout,
            Self::Close { rate } => {
                let closes = rate.map(|rate| f64::from(devices) / rate);
                let closes = closes.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                closes.unwrap_or(options.timeout * close_rounds(options.engine)) + options.timeout
            }
            Self::Reconnect { timeout, .. } | Self::AwaitReplay { timeout } => {
                *timeout + options.connect_timeout
            }
            Self::Publish(offer) | Self::Request(offer) | Self::Handshakes { offer, .. } => {
                // A count in a closed loop takes as long as the target needs.
                let length = offer.length(options.emulated()).unwrap_or(DAY * 365);
                // Once for answers that are open at the end, once for connections that are still being made then.
                length.max(intended) + options.timeout * 2
            }
        }
    }
}

impl LoadOptions {
    /// Whether figures include the CPU and memory of a phase. If no phase has work, they include all phases.
    pub fn is_use_told(&self, phase: &Phase) -> bool {
        phase.is_work() || !self.phases.iter().any(Phase::is_work)
    }
}

impl Offer {
    /// Messages per second over all devices; `None` in a closed loop.
    pub fn rate(&self, clients: u32) -> Option<f64> {
        match self.arrivals {
            Arrivals::Open { rate, per_client, .. } => Some(if per_client {
                rate * f64::from(clients)
            } else {
                rate
            }),
            Arrivals::Closed => None,
        }
    }

    /// The length of the offer; `None` if the count of a closed loop ends it.
    pub fn length(&self, clients: u32) -> Option<Duration> {
        let by_count = self.count.zip(self.rate(clients)).map(|(count, rate)| {
            let (count, ramp) = (count as f64, self.ramp.as_secs_f64());
            // A ramp offers half the messages of its full rate, and after t of it the share (t / ramp)^2 of those.
            let in_ramp = rate * ramp / 2.0;
            let seconds = if count < in_ramp {
                ramp * (count / in_ramp).sqrt()
            } else {
                ramp + (count - in_ramp) / rate
            };
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        });
        match (self.duration, by_count) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use wirecost_stack::target::Target;

    use super::*;
    use crate::options::load::LoadTarget;

    #[test]
    fn a_fleet_in_virtual_time_connects_in_a_thousand_groups() {
        let groups = |devices| {
            [LoadEngine::Live, LoadEngine::Sim].map(|engine| devices / connects_at_once(engine, devices))
        };
        assert_eq!(groups(64_000), [1_000, 1_000]);
        assert_eq!(groups(1_000_000), [15_625, 1_024]);
    }

    #[test]
    fn a_count_ends_where_the_ramp_has_come_to() {
        let length = |count, ramp_s| {
            let offer = Offer {
                arrivals: Arrivals::Open {
                    rate: 100.0,
                    per_client: false,
                    poisson: false,
                },
                duration: None,
                count: Some(count),
                warm_up: Duration::ZERO,
                ramp: Duration::from_secs(ramp_s),
                spread: None,
            };
            offer.length(1).map(|length| length.as_millis())
        };
        assert_eq!(length(50, 0), Some(500));
        assert_eq!(length(300, 2), Some(4_000));
        assert_eq!(length(100, 2), Some(2_000), "all of the ramp");
        assert_eq!(length(25, 2), Some(1_000), "half of it is a quarter of that");
    }

    #[test]
    fn random_arrivals_are_measured_until_the_last_one() {
        let phase = Phase::Publish(Offer {
            arrivals: Arrivals::Open {
                rate: 100.0,
                per_client: false,
                poisson: true,
            },
            duration: None,
            count: Some(200),
            warm_up: Duration::from_millis(500),
            ramp: Duration::ZERO,
            spread: None,
        });
        let ms = Duration::from_millis;
        let measured = |intended, lasted, was_stopped| {
            let measured = phase.measured(1, ms(intended), ms(lasted), was_stopped);
            measured.as_millis()
        };
        assert_eq!(measured(2_400, 2_700, false), 1_900);
        assert_eq!(measured(1_800, 2_100, false), 1_500, "what its rate says");
        assert_eq!(measured(2_400, 2_300, true), 1_800);
        let stack = "tcp".parse().expect("a stack");
        let options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
        let beyond = phase.bound(&options, ms(9_000)) - phase.bound(&options, ms(2_000));
        assert_eq!(beyond, ms(7_000), "an end as late as that is no fault");
    }
}
