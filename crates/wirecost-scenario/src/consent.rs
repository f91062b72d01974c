//! Whether a load or a comparison may harm a server on another machine.

use std::net::IpAddr;
use std::time::Duration;

use wirecost_stack::url::Url;

use crate::expected::deliveries_of;
use crate::options::compare::Options;
use crate::options::load::{LoadOptions, LoadTarget, Offer, Phase};
use crate::plan::START_GAP;

/// The highest rate of messages per second to a server on another machine without the consent of its owner.
pub const STRANGERS_RATE: f64 = 100.0;

/// The work of a server in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Traffic {
    /// Messages that it receives.
    sent: f64,
    /// Messages that it delivers to our subscribers.
    delivered: f64,
    /// Requests of our subscribers that poll.
    polls: f64,
}

impl LoadOptions {
    /// Why the load needs the consent of the owner of its target. `None` if the target is on this machine, or if at
    /// most [`STRANGERS_RATE`] messages and connects happen in a second.
    pub fn needs_consent(&self) -> Option<String> {
        let url = self.strangers_url()?;
        let traffic = self.most_traffic();
        let connects = self.connects_in_a_second();
        let what = match traffic.all() {
            all if all <= STRANGERS_RATE && connects <= STRANGERS_RATE => return None,
            all if all <= STRANGERS_RATE => format!("{connects} connects at once"),
            all if all.is_finite() => traffic.to_string(),
            // Its rate is what the target can do, which is the most that can harm it.
            _ => "a closed loop".to_owned(),
        };
        Some(format!(
            "{} is not on this machine, and {what} may harm it",
            url.host
        ))
    }

    /// The limit of reconnects per second of all devices together; `None` is unlimited. A target that drops connections
    /// must not push a load above the rate that needs consent.
    pub fn most_reconnects_in_a_second(&self) -> Option<f64> {
        self.strangers_url()?;
        (!self.is_permitted).then_some(STRANGERS_RATE)
    }

    /// The URL of a target that is not on this machine.
    fn strangers_url(&self) -> Option<&Url> {
        let LoadTarget::Url(url) = &self.target else {
            return None;
        };
        (!is_on_this_machine(url)).then_some(url)
    }

    /// The work of the busiest phase.
    fn most_traffic(&self) -> Traffic {
        let phases = (0..).zip(&self.phases);
        let polls = self.poll().map_or(0.0, |interval| {
            f64::from(self.receivers()) / interval.as_secs_f64()
        });
        let idle = Traffic {
            polls,
            ..Traffic::default()
        };
        let traffic = phases.filter_map(|(index, phase)| Some(self.traffic(index, phase, phase.offer()?)));
        traffic
            .map(|one| Traffic { polls, ..one })
            .fold(idle, |most, one| if one.all() > most.all() { one } else { most })
    }

    fn traffic(&self, index: u32, phase: &Phase, offer: &Offer) -> Traffic {
        let sent = offer.rate(self.clients).unwrap_or(f64::INFINITY);
        let fans_out = matches!(phase, Phase::Publish(_)) && sent <= STRANGERS_RATE;
        let times = if fans_out { deliveries_of(self, index) } else { 0.0 };
        Traffic {
            sent,
            delivered: sent * times,
            polls: 0.0,
        }
    }

    /// The largest number of connects in a second; 0 for a stack without connects.
    fn connects_in_a_second(&self) -> f64 {
        if !self.stack.has_connect(self.start) {
            return 0.0;
        }
        let devices = f64::from(self.clients.saturating_add(self.receivers()));
        let of_phase = |phase: &Phase| match phase {
            Phase::Connect { rate, .. } => rate.map_or(devices, |rate| rate.min(devices)),
            Phase::Reconnect { .. } => devices,
            _ => 0.0,
        };
        self.phases.iter().map(of_phase).fold(0.0, f64::max)
    }
}

impl Traffic {
    fn all(self) -> f64 {
        self.sent + self.delivered + self.polls
    }
}

/// Whether a URL names this machine.
fn is_on_this_machine(url: &Url) -> bool {
    let address = url.host.parse::<IpAddr>();
    url.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl Options {
    /// Why the comparison needs the consent of the owner of its target; `None` if the target is on this machine, or if at
    /// most [`STRANGERS_RATE`] messages and connects can happen in a second.
    pub fn needs_consent(&self) -> Option<String> {
        let running = self
            .running
            .as_ref()
            .filter(|running| !is_on_this_machine(&running.url))?;
        let steps = self.schedules.iter().map(|schedule| match schedule.interval {
            Some(interval) => interval.min(self.settle),
            None => self.settle,
        });
        let shortest = steps.min().unwrap_or(self.settle).max(Duration::from_micros(1));
        let devices = (self.cells() * u64::from(self.samples)) as f64;
        // Devices start at most one per gap, and each lives as long as its steps.
        let started = self.longest_life().as_secs_f64() / START_GAP.as_secs_f64();
        let rate = devices.min(started) / shortest.as_secs_f64();
        let text = format!(
            "{} is not on this machine, and up to {rate:.0} messages/s may harm it",
            running.url.host
        );
        (rate > STRANGERS_RATE && !running.is_permitted).then_some(text)
    }
}

impl std::fmt::Display for Traffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            sent,
            delivered,
            polls,
        } = self;
        let parts = [(delivered, "delivered to subscribers"), (polls, "polls")];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(rate, _)| **rate > 0.0)
            .map(|(rate, what)| format!(", {rate} {what}"))
            .collect();
        if parts.is_empty() {
            return write!(f, "{sent} messages/s");
        }
        write!(f, "{} messages/s ({sent} sent{})", self.all(), parts.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::compare::Running;
    use crate::options::load::{Arrivals, Subscribers, Who};

    const CONNECT: Phase = Phase::Connect {
        who: Who::All,
        rate: None,
    };

    fn publish(rate: f64) -> Phase {
        Phase::Publish(Offer {
            arrivals: Arrivals::Open {
                rate,
                per_client: false,
                poisson: false,
            },
            duration: None,
            count: Some(1),
            warm_up: std::time::Duration::ZERO,
            ramp: std::time::Duration::ZERO,
            spread: None,
        })
    }

    /// What is said of a load on a host, of 50 messages/s to a topic, with so many subscribers.
    fn said(host: &str, topic: &str, devices: u32, filter: &str, shared: Option<&str>) -> Option<String> {
        let url: wirecost_stack::url::Url = format!("mqtt://{host}/x").parse().expect("a URL");
        let load = LoadOptions {
            clients: 2,
            resource: topic.into(),
            subscribers: Some(Subscribers {
                devices,
                filter: filter.into(),
                poll: None,
                shared: shared.map(str::to_owned),
                qos: 1,
            }),
            phases: vec![CONNECT, publish(50.0)],
            ..LoadOptions::new(url.scheme.stack(), LoadTarget::Url(url))
        };
        load.needs_consent()
    }

    #[test]
    fn deliveries_count_like_sent_messages() {
        let far = "192.0.2.1";
        let expected = "192.0.2.1 is not on this machine, and 150 messages/s (50 sent, 100 delivered to subscribers) may harm it";
        assert_eq!(said(far, "t", 2, "t", None).as_deref(), Some(expected));
        for topic in ["t/%d", "t/%n"] {
            assert_eq!(
                said(far, topic, 2, "t/+", None).as_deref(),
                Some(expected),
                "{topic}"
            );
        }
        assert_eq!(said(far, "t", 1, "t", None), None, "it is 100 messages/s");
        assert_eq!(said(far, "t", 40, "u", None), None, "nobody receives");
        for topic in ["t", "t/%n"] {
            let filter = if topic == "t" { "t" } else { "t/+" };
            assert_eq!(
                said(far, topic, 40, filter, Some("g")),
                None,
                "one of them receives"
            );
        }
        assert_eq!(
            said(far, "t/%d", 2, "t/%d", None),
            None,
            "each message has one receiver"
        );
        assert_eq!(said("127.0.0.1", "t", 40, "t", None), None);
    }

    #[test]
    fn without_subscribers_what_is_sent_counts() {
        let url: wirecost_stack::url::Url = "mqtt://192.0.2.1/x".parse().expect("a URL");
        let of = |rate| LoadOptions {
            phases: vec![CONNECT, publish(rate)],
            ..LoadOptions::new(url.scheme.stack(), LoadTarget::Url(url.clone()))
        };
        assert_eq!(of(100.0).needs_consent(), None);
        let why = of(101.0).needs_consent().expect("too much");
        assert!(why.contains("and 101 messages/s may harm it"), "{why}");
    }

    #[test]
    fn more_than_100_messages_a_second_elsewhere_need_consent() {
        let mut options = Options::new(vec!["mqtt-qos1".parse().expect("a stack")]);
        options.running = Some(Running::new("mqtt://broker.lab".parse().expect("a URL")));
        assert!(options.needs_consent().is_some());
        options.samples = 10;
        assert_eq!(options.needs_consent(), None);
        options.settle = Duration::from_millis(1);
        assert!(options.needs_consent().is_some());
        options.running = Some(Running::new("mqtt://127.0.0.1".parse().expect("a URL")));
        assert_eq!(options.needs_consent(), None);
    }
}
