//! The names of stacks.

use std::fmt;
use std::str::FromStr;

use wirecost_proto::bare::Transport;

/// A stack: what a device speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stack {
    /// The application protocol with its reliability.
    pub application: Application,
}

/// An application protocol with its reliability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Application {
    /// Bare payload on TCP behind a length prefix.
    Tcp,
    /// Bare payload in a UDP datagram.
    Udp,
    /// MQTT 3.1.1 at this QoS.
    Mqtt311(u8),
    /// MQTT 5 at this QoS.
    Mqtt5(u8),
    /// CoAP PUT, non-confirmable, no response wanted (RFC 7967).
    CoapNon,
    /// CoAP PUT, confirmable.
    CoapCon,
}

/// Every stack there is, by name.
const NAMES: [(&str, Application); 10] = [
    ("tcp", Application::Tcp),
    ("udp", Application::Udp),
    ("mqtt-qos0", Application::Mqtt311(0)),
    ("mqtt-qos1", Application::Mqtt311(1)),
    ("mqtt-qos2", Application::Mqtt311(2)),
    ("mqtt5-qos0", Application::Mqtt5(0)),
    ("mqtt5-qos1", Application::Mqtt5(1)),
    ("mqtt5-qos2", Application::Mqtt5(2)),
    ("coap-non", Application::CoapNon),
    ("coap-con", Application::CoapCon),
];

/// The stacks that `compare` runs when none is named.
pub const DEFAULT: [&str; 8] = [
    "tcp",
    "udp",
    "mqtt-qos0",
    "mqtt-qos1",
    "mqtt-qos2",
    "mqtt5-qos1",
    "coap-non",
    "coap-con",
];

/// Payload above which CoAP goes block-wise, in bytes.
const COAP_BLOCK_BYTES: usize = 1_024;

/// Largest payload of a UDP datagram over IPv4: 65,535 less the IPv4 and UDP headers (RFC 768, RFC 791).
pub const UDP_PAYLOAD_LIMIT: u64 = 65_507;

/// Why a text is not the name of a stack.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No such application protocol.
    #[error("unknown stack {name:?}{}; the stacks are {}", did_you_mean(.nearest), all_names())]
    Unknown {
        /// What was given.
        name: String,
        /// The nearest name, if one is near.
        nearest: Option<&'static str>,
    },
    /// An application protocol that cannot run over what follows the `+`.
    #[error(
        "{application} cannot be combined with {addition:?}; the stacks are {}",
        all_names()
    )]
    Combination {
        /// The application protocol.
        application: String,
        /// What was added.
        addition: String,
    },
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest
        .map(|name| format!(" (did you mean {name}?)"))
        .unwrap_or_default()
}

fn all_names() -> String {
    NAMES.map(|(name, _)| name).join(" ")
}

impl Stack {
    /// What the stack's flow runs on.
    pub const fn transport(self) -> Transport {
        match self.application {
            Application::Tcp | Application::Mqtt311(_) | Application::Mqtt5(_) => Transport::Stream,
            Application::Udp | Application::CoapNon | Application::CoapCon => Transport::Datagram,
        }
    }

    /// Whether anything answers a message.
    pub const fn is_answered(self) -> bool {
        matches!(
            self.application,
            Application::Mqtt311(1..) | Application::Mqtt5(1..) | Application::CoapCon
        )
    }

    /// Whether a device hears that a message of this many bytes is over: an answer, or the answers to the blocks of a
    /// non-confirmable body (RFC 7959, section 2.9.1), which go on until the last one.
    pub const fn awaits_answer(self, payload_bytes: usize) -> bool {
        let is_body = matches!(self.application, Application::CoapNon) && payload_bytes > COAP_BLOCK_BYTES;
        self.is_answered() || is_body
    }

    /// Whether there is something to be done before the client may send.
    pub const fn has_connect(self) -> bool {
        matches!(self.transport(), Transport::Stream)
    }

    /// What ends the response time of a message.
    pub const fn response_kind(self) -> &'static str {
        if self.is_answered() {
            "to_ack"
        } else {
            "to_arrival"
        }
    }

    /// Why a payload of this many bytes cannot be sent; `None` where it can.
    pub fn refuses(self, payload_bytes: u64) -> Option<String> {
        let (limit, why) = match self.application {
            Application::Udp => (UDP_PAYLOAD_LIMIT, "the most that a UDP datagram carries"),
            // A remaining length of 268,435,455 less topic and properties (MQTT 3.1.1, section 2.2.3).
            Application::Mqtt311(_) | Application::Mqtt5(_) => {
                (268_000_000, "about the most that a PUBLISH carries")
            }
            // 2^20 blocks (RFC 7959, section 2.2).
            Application::CoapNon | Application::CoapCon => (1_073_741_824, "2^20 blocks of 1,024 B"),
            Application::Tcp => (u64::from(u32::MAX), "the most that the length prefix can say"),
        };
        (payload_bytes > limit).then(|| format!("{payload_bytes} B are more than {limit} B, {why}"))
    }

    /// The port of the stack's server.
    pub const fn port(self) -> u16 {
        match self.application {
            // The discard service takes what it gets and says nothing (RFC 863).
            Application::Tcp | Application::Udp => 9,
            Application::Mqtt311(_) | Application::Mqtt5(_) => 1883,
            Application::CoapNon | Application::CoapCon => 5683,
        }
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES
            .iter()
            .find(|(_, application)| *application == self.application);
        f.write_str(name.map_or("?", |(name, _)| name))
    }
}

impl FromStr for Stack {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (application, additions) = match text.split_once('+') {
            Some((application, additions)) => (application, Some(additions)),
            None => (text, None),
        };
        let Some((_, found)) = NAMES.iter().find(|(name, _)| *name == application) else {
            return Err(NameError::Unknown {
                name: text.to_owned(),
                nearest: nearest(application),
            });
        };
        match additions {
            None => Ok(Self { application: *found }),
            Some(addition) => {
                let addition = addition.to_owned();
                Err(NameError::Combination {
                    application: application.to_owned(),
                    addition,
                })
            }
        }
    }
}

/// The name that differs least, if it differs in no more than a third of its letters.
fn nearest(text: &str) -> Option<&'static str> {
    let candidates = NAMES.map(|(name, _)| (edit_distance(text, name), name));
    let (distance, name) = candidates.into_iter().min()?;
    (distance * 3 <= name.len()).then_some(name)
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
    fn an_unknown_name_is_answered_with_the_nearest_one_and_all_of_them() {
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
    fn an_impossible_combination_names_the_valid_ones() {
        let error = "udp+tls1.3"
            .parse::<Stack>()
            .expect_err("TLS needs a stream")
            .to_string();
        assert!(
            error.starts_with("udp cannot be combined with \"tls1.3\""),
            "{error}"
        );
    }

    #[test]
    fn a_non_confirmable_body_is_over_when_its_last_block_is_answered() {
        let coap: Stack = "coap-non".parse().expect("a stack");
        assert!(!coap.awaits_answer(1_024) && coap.awaits_answer(1_025));
        assert_eq!(coap.response_kind(), "to_arrival");
    }

    #[test]
    fn a_datagram_holds_no_more_than_65507_bytes() {
        let udp: Stack = "udp".parse().expect("a stack");
        assert_eq!(udp.refuses(65_507), None);
        assert!(udp.refuses(65_508).is_some_and(|why| why.contains("65507")));
    }
}
