//! The number of subscriptions that a message matches, and hence of expected deliveries.

use std::ops::Range;

use wirecost_stack::Pattern;
use wirecost_stack::pattern::Values;
use wirecost_stack::target::Target;

use crate::options::load::{LoadOptions, LoadTarget, Phase, Subscribers, Who};

/// The largest number of pairs of topic and filter that are matched. Beyond it the result is unknown.
const MAXIMUM_PAIRS: u64 = 20_000_000;

/// The expected deliveries of one message, for each sender of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matching {
    /// The same number for every sender.
    Same(u32),
    /// The number for each sender.
    Each(Box<[u32]>),
    /// Unknown: topics differ from message to message, subscribers observe states rather than messages, or there are
    /// too many pairs.
    Unknown,
}

impl Matching {
    /// The matches of the messages of `senders` in the phase with this index.
    pub fn in_phase(options: &LoadOptions, senders: Range<u32>, phase: u32) -> Self {
        match &options.subscribers {
            Some(subscribers) if has_audience(options, phase) => {
                Self::from_options(options, &options.resource, subscribers, senders)
            }
            _ => Self::Same(0),
        }
    }

    /// The matches of the wills of `senders`, if their connections are lost in the phase with this index.
    pub fn of_wills(options: &LoadOptions, senders: Range<u32>, phase: u32) -> Self {
        match (&options.subscribers, &options.will) {
            (Some(subscribers), Some(will)) if has_audience(options, phase) => {
                Self::from_options(options, &will.topic, subscribers, senders)
            }
            _ => Self::Same(0),
        }
    }

    fn from_options(
        options: &LoadOptions,
        topic: &str,
        subscribers: &Subscribers,
        senders: Range<u32>,
    ) -> Self {
        let is_ours = matches!(options.target, LoadTarget::Started(Target::Builtin));
        if options.stack.is_mqtt() {
            Self::of_topics(topic, subscribers, senders)
        } else if options.poll().is_some() && is_ours {
            // The pages of the built-in server have every message.
            Self::Same(subscribers.devices)
        } else {
            // An observer receives the latest state (RFC 7641, section 1.3), not each message.
            Self::Unknown
        }
    }

    /// The matches of messages to the topic `resource`.
    fn of_topics(resource: &str, subscribers: &Subscribers, senders: Range<u32>) -> Self {
        let (Ok(topic), Ok(filter)) = (
            resource.parse::<Pattern>(),
            Pattern::of_device(&subscribers.filter),
        ) else {
            return Self::Unknown;
        };
        // What a message matches is known only when it is sent.
        if topic.differs_by_message() {
            return Self::Unknown;
        }
        let filters = Filters::new(&filter, subscribers);
        if topic.is_constant() {
            return Self::Same(filters.matches(&topic.text(&Values::default())));
        }
        let pairs = u64::from(senders.end - senders.start) * filters.texts.len() as u64;
        // All pairs are matched before the load begins: more would delay it.
        if pairs > MAXIMUM_PAIRS {
            return Self::Unknown;
        }
        let of = |sender| filters.matches(&topic.text(&Values::of_device(sender)));
        let each: Box<[u32]> = senders.map(of).collect();
        match each.first() {
            // The usual case, which then takes no list of a number per device.
            Some(first) if each.iter().all(|times| times == first) => Self::Same(*first),
            _ => Self::Each(each),
        }
    }

    /// The expected deliveries of a message of this sender of the part.
    pub fn of_device(&self, sender: usize) -> u32 {
        match self {
            Self::Same(times) => *times,
            Self::Each(each) => each.get(sender).copied().unwrap_or(0),
            Self::Unknown => 0,
        }
    }
}

/// Whether subscriptions exist when the phase with this index begins: subscribers have connected before, and have not
/// been dropped unless their sessions persist. A subscriber that polls goes on from its last key.
pub fn has_audience(options: &LoadOptions, phase: u32) -> bool {
    let survives = options.session_expiry.is_some() || options.poll().is_some();
    are_connected(options, phase, survives)
}

/// Whether subscribers are connected when the phase with this index begins.
pub fn are_there(options: &LoadOptions, phase: u32) -> bool {
    are_connected(options, phase, false)
}

/// Whether subscribers have connected before a phase and have not been dropped since; `survives` says whether a drop
/// matters.
fn are_connected(options: &LoadOptions, phase: u32, survives: bool) -> bool {
    let mut connected = false;
    for phase in options.phases.iter().take(phase as usize) {
        match phase {
            Phase::Connect { who, .. } | Phase::Reconnect { who, .. } if *who != Who::Senders => {
                connected = true
            }
            Phase::DropAll { who, .. } if *who != Who::Senders => connected &= survives,
            _ => {}
        }
    }
    connected
}

/// The mean number of deliveries of a message in the phase with this index, over all senders. If it is unknown, the
/// upper bound: every receiver receives the message.
pub fn deliveries_of(options: &LoadOptions, phase: u32) -> f64 {
    let all = match &options.subscribers {
        Some(subscribers) if subscribers.shared.is_some() => 1,
        _ => options.receivers(),
    };
    match Matching::in_phase(options, 0..options.clients, phase) {
        Matching::Same(times) => f64::from(times),
        Matching::Each(each) => each.iter().copied().map(f64::from).sum::<f64>() / each.len() as f64,
        Matching::Unknown => f64::from(all),
    }
}

/// The number of retained messages that match the subscription of a subscriber in the phase with this index; 0 if
/// unknown.
pub fn retained_before(options: &LoadOptions, phase: u32) -> u32 {
    let before = &options.phases[..options.phases.len().min(phase as usize)];
    let published = before.iter().any(|phase| matches!(phase, Phase::Publish(_)));
    let Some(subscribers) = &options.subscribers else {
        return 0;
    };
    // Section 4.8.2: shared subscriptions are sent no retained messages when they are made.
    if !options.retain || !published || subscribers.shared.is_some() || !options.stack.is_mqtt() {
        return 0;
    }
    let one = Subscribers {
        devices: 1,
        ..subscribers.clone()
    };
    let topics = match options.resource.parse::<Pattern>() {
        // One retained message per topic: a later one replaces it (MQTT 3.1.1, section 3.3.1.3).
        Ok(topic) if topic.differs_by_device() => options.clients,
        Ok(_) => 1,
        Err(_) => 0,
    };
    let matching = Matching::of_topics(&options.resource, &one, 0..topics);
    (0..topics).map(|topic| matching.of_device(topic as usize)).sum()
}

/// The subscribers' filters.
struct Filters {
    texts: Vec<String>,
    /// The number of subscriptions of each text.
    times: u32,
}

impl Filters {
    fn new(filter: &Pattern, subscribers: &Subscribers) -> Self {
        if filter.is_constant() {
            let times = match subscribers.shared {
                // A shared subscription delivers a message to one of its members (MQTT 5.0, section 4.8.2).
                Some(_) => 1,
                None => subscribers.devices,
            };
            return Self {
                texts: vec![filter.text(&Values::default())],
                times,
            };
        }
        let of = |subscriber| filter.text(&Values::of_device(subscriber));
        Self {
            texts: (0..subscribers.devices).map(of).collect(),
            times: 1,
        }
    }

    /// The number of subscriptions that the topic matches. Different filters are different subscriptions, even in one
    /// group: a shared subscription is a group and a filter (MQTT 5, section 4.8.2).
    fn matches(&self, topic: &str) -> u32 {
        let matching = self.texts.iter().filter(|filter| matches(filter, topic));
        let count = u32::try_from(matching.count()).unwrap_or(u32::MAX);
        count.saturating_mul(self.times)
    }
}

/// Whether a topic filter matches a topic name (MQTT 5, section 4.7).
fn matches(filter: &str, topic: &str) -> bool {
    // [MQTT-4.7.2-1]
    if topic.starts_with('$') && filter.starts_with(['#', '+']) {
        return false;
    }
    let mut levels = topic.split('/');
    for part in filter.split('/') {
        match (part, levels.next()) {
            ("#", _) => return true,
            ("+", Some(_)) => {}
            (part, Some(level)) if part == level => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscribers(devices: u32, filter: &str, shared: Option<&str>) -> Subscribers {
        Subscribers {
            devices,
            filter: filter.to_owned(),
            poll: None,
            shared: shared.map(str::to_owned),
            qos: 1,
        }
    }

    fn matching(topic: &str, devices: u32, filter: &str, shared: Option<&str>) -> Matching {
        Matching::of_topics(topic, &subscribers(devices, filter, shared), 0..4)
    }

    #[test]
    fn a_message_is_expected_once_per_matching_subscription() {
        assert_eq!(matching("t", 50, "t", None), Matching::Same(50));
        assert_eq!(matching("t/%d/s", 50, "t/+/s", None), Matching::Same(50));
        assert_eq!(matching("t/%d", 50, "t/#", Some("g")), Matching::Same(1));
        assert_eq!(matching("t", 50, "u", None), Matching::Same(0));
        assert_eq!(matching("t/%d", 4, "t/%d", None), Matching::Same(1));
        let uneven = Matching::Each([1, 1, 0, 0].into());
        assert_eq!(matching("t/%d", 2, "t/%d", None), uneven);
        assert_eq!(matching("t/%n", 2, "t/#", None), Matching::Unknown);
        assert_eq!((uneven.of_device(1), uneven.of_device(3)), (1, 0));
    }

    #[test]
    fn filters_match_as_the_standard_says() {
        for (filter, topic, expected) in [
            ("#", "a/b", true),
            ("a/#", "a", true),
            ("a/+", "a/", true),
            ("a/+", "a", false),
            ("+/b", "a/b", true),
            ("a/b", "a/b/c", false),
            ("a/b/c", "a/b", false),
            ("#", "$SYS/x", false),
            ("+/x", "$SYS/x", false),
            ("$SYS/#", "$SYS/x", true),
        ] {
            assert_eq!(matches(filter, topic), expected, "{filter} {topic}");
        }
    }
}
