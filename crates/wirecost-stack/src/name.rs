//! The names of stacks.

use std::fmt;
use std::str::FromStr;

use super::Channel;
use super::kind::{Application, Stack};
use wirecost_store::Store;

/// The name of every application protocol.
const NAMES: [(&str, Application); 22] = [
    ("tcp", Application::Tcp),
    ("udp", Application::Udp),
    ("mqtt-qos0", Application::Mqtt311(0)),
    ("mqtt-qos1", Application::Mqtt311(1)),
    ("mqtt-qos2", Application::Mqtt311(2)),
    ("mqtt5-qos0", Application::Mqtt5(0)),
    ("mqtt5-qos1", Application::Mqtt5(1)),
    ("mqtt5-qos2", Application::Mqtt5(2)),
    ("mqttsn-qos-1", Application::MqttSn(-1)),
    ("mqttsn-qos0", Application::MqttSn(0)),
    ("mqttsn-qos1", Application::MqttSn(1)),
    ("mqttsn-qos2", Application::MqttSn(2)),
    ("coap-non", Application::CoapNon),
    ("coap-con", Application::CoapCon),
    ("coap-tcp", Application::CoapTcp),
    ("amqp-settled", Application::AmqpSettled),
    ("amqp-unsettled", Application::AmqpUnsettled),
    ("http1", Application::Http1),
    ("http3", Application::Http3),
    ("postgres", Application::Store(Store::Postgres)),
    ("mariadb", Application::Store(Store::Mariadb)),
    ("mongodb", Application::Store(Store::Mongodb)),
];

/// The part of a name that means a protected object.
const OBJECT: &str = "cose";

/// The stacks that `compare` runs unless you name some: each protocol plain and secured, so that both can be compared
/// with their like. HTTP/3 has no plain form.
pub const DEFAULT: [&str; 12] = [
    "mqtt-qos0",
    "mqtt-qos1",
    "mqtt-qos2",
    "coap-non",
    "coap-con",
    "amqp-unsettled",
    "http1",
    "mqtt-qos1+tls1.3",
    "coap-con+dtls1.3",
    "amqp-unsettled+tls1.3",
    "http1+tls1.3",
    "http3",
];

/// Why a text is not the name of a stack.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The application protocol is unknown.
    #[error("unknown stack {name:?}{}; the stacks are {}", did_you_mean(.nearest), all_names())]
    Unknown {
        /// What was given.
        name: String,
        /// The nearest name, if one is near.
        nearest: Option<&'static str>,
    },
    /// The protocol is known, and no stack has it.
    #[error("{name:?} is not among the stacks: {instead}")]
    Absent {
        /// What was given.
        name: String,
        /// What is there instead.
        instead: &'static str,
    },
    /// The name of a channel lacks its version.
    #[error("+{family} needs its version: write {}", with_versions(application, family))]
    Version {
        /// The application protocol.
        application: &'static str,
        /// `tls` or `dtls`.
        family: &'static str,
    },
    /// The application protocol contains the channel.
    #[error("{application} has TLS 1.3 in QUIC: leave out +{addition}")]
    Included {
        /// The application protocol.
        application: &'static str,
        /// What was added.
        addition: String,
    },
    /// The stack has a channel already.
    #[error("{application} cannot have +{first} and +{second}: a stack has one channel")]
    TwoChannels {
        /// The application protocol.
        application: &'static str,
        /// The channel that it has.
        first: &'static str,
        /// The other one.
        second: &'static str,
    },
    /// The application protocol cannot be combined with the part after the `+`.
    #[error(
        "{application} cannot be combined with {addition:?}; it takes {}, one channel at most",
        additions(application)
    )]
    Combination {
        /// The application protocol.
        application: &'static str,
        /// What was added.
        addition: String,
    },
}

/// A question for the nearest name, to follow the name that is unknown.
pub(super) fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

fn all_names() -> String {
    let names = NAMES.map(|(name, _)| name).join(" ");
    format!(
        "{names}, each with +{OBJECT} and a channel: {}",
        channels(|_| true)
    )
}

/// The name of every application protocol, alone and with each channel that it can run over.
pub fn all() -> impl Iterator<Item = String> {
    NAMES.iter().flat_map(|(name, application)| {
        let channels = Channel::NAMES.iter();
        let channels = channels.filter(|(_, channel)| application.can_run_over(*channel));
        let with_channel = channels.map(move |(channel, _)| format!("{name}+{channel}"));
        std::iter::once((*name).to_owned()).chain(with_channel)
    })
}

/// The parts that can follow the name of an application protocol.
fn additions(application: &str) -> String {
    let found = NAMES.iter().find(|(name, _)| *name == application);
    let channels = channels(|channel| found.is_some_and(|(_, found)| found.can_run_over(channel)));
    format!("+{OBJECT} {channels}").trim_end().to_owned()
}

/// The stacks of an application protocol with each version of a family of channels.
fn with_versions(application: &str, family: &str) -> String {
    let found = NAMES.iter().find(|(name, _)| *name == application);
    let names = Channel::NAMES.iter().filter(|(name, channel)| {
        name.starts_with(family) && found.is_some_and(|(_, found)| found.can_run_over(*channel))
    });
    let names: Vec<String> = names.map(|(name, _)| format!("{application}+{name}")).collect();
    names.join(" or ")
}

fn channels(runs: impl Fn(Channel) -> bool) -> String {
    let possible = Channel::NAMES.iter().filter(|(_, channel)| runs(*channel));
    possible
        .map(|(name, _)| format!("+{name}"))
        .collect::<Vec<_>>()
        .join(" ")
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES
            .iter()
            .find(|(_, application)| *application == self.application);
        f.write_str(name.map_or("?", |(name, _)| name))?;
        if self.object {
            write!(f, "+{OBJECT}")?;
        }
        let channel = Channel::NAMES
            .iter()
            .find(|(_, channel)| *channel == self.channel);
        channel.map_or(Ok(()), |(name, _)| write!(f, "+{name}"))
    }
}

impl FromStr for Stack {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let mut words = text.split('+');
        let first = words.next().unwrap_or_default();
        let Some((application, found)) = NAMES.iter().find(|(name, _)| *name == first) else {
            return Err(unknown(text, first));
        };
        let mut stack = Self::plain(*found);
        for word in words {
            let channel = Channel::NAMES.iter().find(|(name, _)| *name == word);
            match channel {
                // The grammar is application[+cose][+channel].
                None if word == OBJECT && !stack.object && stack.channel == Channel::Plain => {
                    stack.object = true
                }
                Some((_, channel)) if stack.channel == Channel::Plain && found.can_run_over(*channel) => {
                    stack.channel = *channel;
                }
                other => return Err(refused(application, stack, word, other.map(|(name, _)| *name))),
            }
        }
        Ok(stack)
    }
}

/// Why `text`, whose part before any `+` is `first`, names no stack.
fn unknown(text: &str, first: &str) -> NameError {
    match ABSENT.iter().find(|(name, _)| *name == first) {
        Some((_, instead)) => NameError::Absent {
            name: text.to_owned(),
            instead,
        },
        None => NameError::Unknown {
            name: text.to_owned(),
            nearest: nearest(first),
        },
    }
}

/// Why `stack` cannot take the part `word` too, which is the name `channel` if it names a channel.
fn refused(application: &'static str, stack: Stack, word: &str, channel: Option<&'static str>) -> NameError {
    let own = Channel::NAMES.iter().find(|(_, own)| *own == stack.channel);
    let family = ["tls", "dtls"].into_iter().find(|family| *family == word);
    if stack.application == Application::Http3 && word.starts_with("tls") {
        return NameError::Included {
            application,
            addition: word.to_owned(),
        };
    }
    match (own, channel, family) {
        (Some((first, _)), Some(second), _) => NameError::TwoChannels {
            application,
            first,
            second,
        },
        (_, _, Some(family)) if !with_versions(application, family).is_empty() => {
            NameError::Version { application, family }
        }
        _ => NameError::Combination {
            application,
            addition: word.to_owned(),
        },
    }
}

fn nearest(text: &str) -> Option<&'static str> {
    let meant = OTHERWISE.iter().find(|(other, _)| *other == text);
    meant
        .map(|(_, name)| *name)
        .or_else(|| nearest_of(text, NAMES.map(|(name, _)| name)))
}

/// Protocols that no stack has, and what is there instead.
const ABSENT: [(&str, &str); 6] = [
    ("http2", HTTP),
    ("h2", HTTP),
    ("grpc", HTTP),
    ("lwm2m", "LwM2M sends CoAP messages: take coap-con or coap-non"),
    ("amqp091", "AMQP 1.0 is amqp-unsettled or amqp-settled"),
    ("websocket", "take mqtt-qos1+tls1.3, or http1+tls1.3"),
];
const HTTP: &str = "HTTP/1.1 is http1 or http1+tls1.3, HTTP/3 is http3";

/// Other common names of stacks.
const OTHERWISE: [(&str, &str); 18] = [
    ("h1", "http1"),
    ("h3", "http3"),
    ("http", "http1"),
    ("https", "http1+tls1.3"),
    ("quic", "http3"),
    ("mqtt", "mqtt-qos1"),
    ("mqtts", "mqtt-qos1+tls1.3"),
    ("mqtt5", "mqtt5-qos1"),
    ("mqtt-sn", "mqttsn-qos1"),
    ("mqttsn", "mqttsn-qos1"),
    ("coap", "coap-con"),
    ("coaps", "coap-con+dtls1.3"),
    ("coaps-tcp", "coap-tcp+tls1.3"),
    ("amqp", "amqp-unsettled"),
    ("amqp1", "amqp-unsettled"),
    ("amqps", "amqp-unsettled+tls1.3"),
    ("postgresql", "postgres"),
    ("mysql", "mariadb"),
];

/// The name that differs least, if it is near.
pub fn nearest_of(text: &str, names: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    let candidates = names.into_iter().map(|name| (edit_distance(text, name), name));
    let (_, name) = candidates.min()?;
    is_near(text, name).then_some(name)
}

/// Whether a text differs from a name in no more than a third of the name's letters.
pub fn is_near(text: &str, name: &str) -> bool {
    edit_distance(text, name) * 3 <= name.len()
}

/// Insertions, deletions and substitutions between two texts (Levenshtein).
fn edit_distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in two.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_parse_and_print() {
        for (name, _) in NAMES {
            assert_eq!(
                name.parse::<Stack>().map(|stack| stack.to_string()),
                Ok(name.to_owned())
            );
        }
    }

    #[test]
    fn every_combination_with_a_channel_is_a_stack() {
        let names: Vec<String> = all().collect();
        assert!(names.contains(&"mqtt-qos1+tls1.3".to_owned()) && names.contains(&"http3".to_owned()));
        for name in names {
            assert_eq!(name.parse::<Stack>().map(|stack| stack.to_string()), Ok(name));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_and_all() {
        let error = "mqtt-qos3"
            .parse::<Stack>()
            .expect_err("there is no QoS 3")
            .to_string();
        assert!(
            error.starts_with("unknown stack \"mqtt-qos3\" (did you mean mqtt-qos0?)"),
            "{error}"
        );
        assert!(error.contains("coap-con"), "{error}");
        let error = "carrier-pigeon"
            .parse::<Stack>()
            .expect_err("not a stack")
            .to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }

    #[test]
    fn an_absent_protocol_is_answered_with_what_is_there() {
        for (name, expected) in [
            ("http2", "\"http2\" is not among the stacks: HTTP/1.1 is http1"),
            (
                "mqtt-sn+dtls1.2",
                "unknown stack \"mqtt-sn+dtls1.2\" (did you mean mqttsn-qos1?)",
            ),
            (
                "mqtt-qos1+tls",
                "+tls needs its version: write mqtt-qos1+tls1.3 or mqtt-qos1+tls1.2",
            ),
            (
                "coap-con+dtls",
                "+dtls needs its version: write coap-con+dtls1.3 or",
            ),
            (
                "coap-con+oscore+dtls1.3",
                "coap-con cannot have +oscore and +dtls1.3: a stack has one channel",
            ),
            ("http3+tls", "http3 has TLS 1.3 in QUIC: leave out +tls"),
            (
                "udp+tls",
                "udp cannot be combined with \"tls\"; it takes +cose +dtls1.3",
            ),
        ] {
            let error = name.parse::<Stack>().expect_err(name).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn an_impossible_combination_names_the_valid_ones() {
        let error = "udp+tls1.3"
            .parse::<Stack>()
            .expect_err("TLS needs a stream")
            .to_string();
        assert!(
            error.ends_with("udp cannot be combined with \"tls1.3\"; it takes +cose +dtls1.3 +dtls1.2 +dtls1.2-psk +dtls1.2-cid, one channel at most"),
            "{error}"
        );
        for text in [
            "http3+tls1.3",
            "tcp+tls1.3+cose",
            "tcp+cose+cose",
            "coap-con+oscore+dtls1.3",
            "tcp+",
        ] {
            assert!(text.parse::<Stack>().is_err(), "{text}");
        }
    }

    #[test]
    fn objects_and_channels_survive_parse_and_print() {
        for text in [
            "tcp+cose",
            "mqtt-qos1+cose+tls1.3",
            "coap-con+oscore",
            "coap-non+dtls1.2-psk",
            "coap-con+dtls1.2-cid",
            "http3+cose",
        ] {
            assert_eq!(
                text.parse::<Stack>().map(|stack| stack.to_string()),
                Ok(text.to_owned())
            );
        }
    }
}
