//! A link as text with units: how scenarios and summaries hold it, and how flags give it.

mod cell;
mod nat;
#[cfg(feature = "schema")]
mod schema;
mod values;

pub use cell::{CELL_KEYS, cell_load, coupling_loss};
pub use nat::{NAT_KEYS, nat_timeouts, set_nat};
pub use values::{ReorderSetting, delay_variation, loss, loss_text, mtu, queue, rate, rate_text, reorder};

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use wirecost_link::nat::NatPort;
use wirecost_link::{DirectionConfig, LinkConfig};
use wirecost_proto::units::DisplayDuration;
use wirecost_proto::{BitRate, ByteSize, shown};

use crate::value::{ValueError, parsed, time};
use cell::{cell_texts, read_cell};
use nat::nat_texts;
use values::{UNLIMITED, delay_variation_text, queue_text, reorder_text};

/// The keys of one direction.
pub const DIRECTION_KEYS: [&str; 9] = [
    "delay",
    "delay_variation",
    "loss",
    "reorder",
    "duplicate",
    "corrupt",
    "rate",
    "queue",
    "mtu",
];

/// How a text writes times and rates.
struct Form {
    time: fn(Duration) -> String,
    rate: fn(BitRate) -> String,
}

/// As the readers of this module take them.
const EXACT: Form = Form {
    time: |time| DisplayDuration(time).to_string(),
    rate: |rate| rate.to_string(),
};

/// As people read them.
const SHOWN: Form = Form {
    time: shown::time,
    rate: shown::rate,
};

/// A link that serializes as text: a table for each direction, e.g. `delay: 12500us`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkText(pub LinkConfig);

impl Serialize for LinkText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rtt = self.0.rtt();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("up", &Direction(texts(&self.0.up, rtt, &EXACT)))?;
        map.serialize_entry("down", &Direction(texts(&self.0.down, rtt, &EXACT)))?;
        if !self.0.nat.is_none() {
            let texts: BTreeMap<&str, String> = nat_texts(self.0.nat, &EXACT).collect();
            map.serialize_entry("nat_timeout", &texts)?;
        }
        // Absent where it is the default, so that the names of other cells stay as they were.
        if self.0.nat.port != NatPort::default() {
            map.serialize_entry("nat", self.0.nat.port.name())?;
        }
        if let Some(cell) = self.0.cell {
            for (key, text) in cell_texts(cell) {
                map.serialize_entry(key, &text)?;
            }
        }
        map.end()
    }
}

/// A direction's keys with their texts, in a fixed order.
struct Direction([(&'static str, String); 9]);

impl Serialize for Direction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, text)| (key, text)))
    }
}

impl<'de> Deserialize<'de> for LinkText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Directions {
            up: BTreeMap<String, String>,
            down: BTreeMap<String, String>,
            #[serde(default)]
            nat_timeout: BTreeMap<String, String>,
            nat: Option<String>,
            #[serde(flatten)]
            cell: BTreeMap<String, String>,
        }
        let Directions {
            up,
            down,
            nat_timeout,
            nat,
            cell,
        } = Directions::deserialize(deserializer)?;
        let mut link = LinkConfig::default();
        let both = [(&mut link.up, &up), (&mut link.down, &down)];
        let mut rtt = Duration::ZERO;
        for text in [&up, &down].into_iter().filter_map(|way| way.get("delay")) {
            // First of all: the delay of reordered packets may be given as a share of the round-trip time.
            rtt += time(text).map_err(de::Error::custom)?;
        }
        for (direction, texts) in both {
            for (key, text) in texts {
                set(direction, key, text, rtt).map_err(de::Error::custom)?;
            }
        }
        for (key, text) in &nat_timeout {
            set_nat(&mut link.nat, key, text).map_err(de::Error::custom)?;
        }
        if let Some(text) = nat {
            link.nat.port = text.parse().map_err(de::Error::custom)?;
        }
        link.cell = read_cell(&cell).map_err(de::Error::custom)?;
        Ok(Self(link))
    }
}

impl fmt::Display for LinkText {
    /// Writes the delay and everything that differs from a perfect link, once if both directions are equal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &EXACT)
    }
}

/// The same text as people read it: `delay 418.5 ms, rate 62.5 kbit/s up 26.15 kbit/s down`.
pub struct LinkShown(pub LinkConfig);

impl fmt::Display for LinkShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        LinkText(self.0).write(f, &SHOWN)
    }
}

impl LinkText {
    fn write(&self, f: &mut fmt::Formatter<'_>, form: &Form) -> fmt::Result {
        let rtt = self.0.rtt();
        if let Some(cell) = self.0.cell {
            let internet = (form.time)(rtt);
            return write!(
                f,
                "modelled NB-IoT cell, {cell}, {internet} to the server and back"
            );
        }
        let [up, down] = [&self.0.up, &self.0.down].map(|direction| texts(direction, rtt, form));
        let perfect = texts(&DirectionConfig::default(), rtt, form);
        // The MTU is not an impairment.
        for (((key, up), (_, down)), (_, perfect)) in up.iter().zip(&down).zip(&perfect).take(8) {
            let name = match *key {
                "delay_variation" => "variation",
                key => key,
            };
            let comma = if name == "delay" { "" } else { ", " };
            match (up == down, up == perfect && name != "delay") {
                // What is as on a perfect link is not said: the text is short where the link is simple.
                (true, true) => {}
                (true, false) => write!(f, "{comma}{name} {up}")?,
                (false, _) => write!(f, "{comma}{name} {up} up {down} down")?,
            }
        }
        for (transport, timeout) in nat_texts(self.0.nat, form) {
            write!(f, ", NAT binding timeout {transport} {timeout}")?;
            // TCP gets another port from every NAT.
            if transport == "udp" && self.0.nat.port == NatPort::New {
                f.write_str(" and gives another port")?;
            }
        }
        Ok(())
    }
}

/// The texts of a direction on a link of this round-trip time.
fn texts(direction: &DirectionConfig, rtt: Duration, form: &Form) -> [(&'static str, String); 9] {
    // Without `..`: the compiler asks for the text of a new impairment.
    let DirectionConfig {
        delay,
        delay_variation,
        loss,
        reorder,
        duplicate,
        corrupt,
        rate,
        queue,
        mtu,
    } = direction;
    [
        ("delay", (form.time)(*delay)),
        ("delay_variation", delay_variation_text(*delay_variation, form)),
        ("loss", loss_text(loss)),
        ("reorder", reorder_text(*reorder, rtt, form)),
        ("duplicate", duplicate.to_string()),
        ("corrupt", corrupt.to_string()),
        ("rate", rate.map_or_else(|| UNLIMITED.into(), form.rate)),
        ("queue", queue_text(*queue)),
        ("mtu", ByteSize::from_bytes((*mtu).into()).to_string()),
    ]
}

/// Sets one key of a direction on a link of this round-trip time.
///
/// # Errors
/// The key is unknown, or the text is not a value of the key.
pub fn set(direction: &mut DirectionConfig, key: &str, text: &str, rtt: Duration) -> Result<(), ValueError> {
    match key {
        "delay" => direction.delay = time(text)?,
        "delay_variation" => direction.delay_variation = delay_variation(text)?,
        "loss" => direction.loss = loss(text)?,
        "reorder" => direction.reorder = reorder(text)?.on_link(rtt),
        "duplicate" => direction.duplicate = parsed(text)?,
        "corrupt" => direction.corrupt = parsed(text)?,
        "rate" => direction.rate = rate(text)?,
        "queue" => direction.queue = queue(text)?,
        "mtu" => direction.mtu = mtu(text)?,
        _ => {
            return Err(ValueError::UnknownKey {
                key: key.to_owned(),
                known: DIRECTION_KEYS.join(", "),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use wirecost_link::Loss;
    use wirecost_link::cell::{CellProfile, NbiotCell};

    use super::*;

    #[test]
    fn a_link_is_described_by_what_it_does() {
        let up = DirectionConfig {
            delay: Duration::from_micros(12_500),
            loss: loss("5%").expect("a loss"),
            ..DirectionConfig::default()
        };
        let down = DirectionConfig {
            loss: Loss::None,
            ..up
        };
        let one_way = LinkText(LinkConfig {
            up,
            down,
            ..LinkConfig::default()
        });
        assert_eq!(one_way.to_string(), "delay 12500us, loss 5% up 0% down");
        let both = LinkText(LinkConfig {
            up,
            down: up,
            ..LinkConfig::default()
        });
        assert_eq!(both.to_string(), "delay 12500us, loss 5%");
        let perfect = LinkText(LinkConfig::default());
        assert_eq!(perfect.to_string(), "delay 0ms");
    }

    #[test]
    fn nat_time_outs_are_read_back_from_their_text() {
        let mut link = LinkConfig::symmetric(Duration::from_millis(25));
        link.nat = nat_timeouts("udp=60s,tcp=20min").expect("time-outs");
        link.nat.port = NatPort::New;
        let json = serde_json::to_string(&LinkText(link)).expect("JSON");
        assert!(json.contains(r#""nat_timeout":{"tcp":""#), "{json}");
        assert_eq!(
            serde_json::from_str::<LinkText>(&json).expect("a link"),
            LinkText(link)
        );
        assert_eq!(nat_timeouts("tcp=5s").expect("one").udp, None);
        for wrong in ["60s", "udp=60", "sctp=60s", "udp=0s", "tcp=25h", ""] {
            assert!(nat_timeouts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_modelled_cell_is_read_back_from_its_text() {
        let cell = NbiotCell {
            profile: CellProfile::Study,
            load: cell_load("30/min").expect("a load"),
            coupling_loss_db: coupling_loss("144dB").expect("a loss"),
        };
        let mut link = LinkConfig::symmetric(Duration::from_millis(8));
        link.cell = Some(cell);
        let json = serde_json::to_string(&LinkText(link)).expect("JSON");
        let end = r#""cell":"study","cell_load":"0.5/s","coupling_loss":"144dB"}"#;
        assert!(json.ends_with(end), "{json}");
        assert_eq!(
            serde_json::from_str::<LinkText>(&json).expect("a link"),
            LinkText(link)
        );
        let text = LinkText(link).to_string();
        assert!(
            text.starts_with("modelled NB-IoT cell, profile study, 0.5/s"),
            "{text}"
        );
        for wrong in ["1", "-1/s", "50/s", "2/h", "NaN/s", ""] {
            assert!(cell_load(wrong).is_err(), "{wrong}");
        }
        for wrong in ["144", "20dB", "200dB", "dB", "NaNdB"] {
            assert!(coupling_loss(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_link_is_read_back_from_its_text() {
        let rtt = Duration::from_millis(25);
        let mut link = LinkConfig::symmetric(rtt);
        for (key, text) in [
            ("delay_variation", "normal 2ms reordering"),
            ("loss", "gilbert-elliott 1% 25% 0% 100%"),
            ("reorder", "1%"),
            ("corrupt", "0.1%"),
            ("rate", "50kbit"),
            ("queue", "10packets"),
            ("mtu", "600B"),
        ] {
            set(&mut link.up, key, text, rtt).expect(key);
        }
        set(&mut link.down, "reorder", "2% 5ms", rtt).expect("a reordering");
        let json = serde_json::to_string(&LinkText(link)).expect("JSON");
        let begin = r#"{"up":{"delay":"12500us","delay_variation":"normal 2ms reordering","loss":"#;
        assert!(json.starts_with(begin), "{json}");
        assert!(
            json.contains(r#""queue":"10 packets","mtu":"600B"},"down":{"#),
            "{json}"
        );
        assert_eq!(
            serde_json::from_str::<LinkText>(&json).expect("a link"),
            LinkText(link)
        );
    }
}
