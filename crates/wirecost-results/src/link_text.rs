//! A link as text with units: how scenarios and summaries hold it, and how flags give it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use wirecost_link::cell::{COUPLING_LOSSES_DB, CellProfile, MOST_LOAD, NbiotCell};
use wirecost_link::nat::{MAX_NAT_TIMEOUT, NatPort, NatTimeouts};
use wirecost_link::{
    DelayDistribution, DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, QueueLimit, Reorder,
};
use wirecost_proto::shown;
use wirecost_proto::units::{DisplayDuration, UnitError};
use wirecost_proto::{BitRate, ByteSize, Probability};

use crate::value::{ValueError, parsed, time};

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
            link.nat.port = nat_port(&text).map_err(de::Error::custom)?;
        }
        link.cell = read_cell(&cell).map_err(de::Error::custom)?;
        Ok(Self(link))
    }
}

/// The texts of a modelled cell, by their keys.
fn cell_texts(cell: NbiotCell) -> [(&'static str, String); 3] {
    let load = match cell.is_unloaded() {
        true => UNLOADED.to_owned(),
        false => format!("{}/s", cell.load),
    };
    let [profile, of_load, loss] = CELL_KEYS;
    [
        (profile, cell.profile.to_string()),
        (of_load, load),
        (loss, format!("{}dB", cell.coupling_loss_db)),
    ]
}

/// The modelled cell of a link's texts, if it is one.
fn read_cell(texts: &BTreeMap<String, String>) -> Result<Option<NbiotCell>, ValueError> {
    let [profile, load, loss] = CELL_KEYS.map(|key| texts.get(key).map_or("", String::as_str));
    if profile.is_empty() {
        return Ok(None);
    }
    Ok(Some(NbiotCell {
        profile: parsed::<CellProfile>(profile)?,
        load: cell_load(load)?,
        coupling_loss_db: coupling_loss(loss)?,
    }))
}

/// The keys of a modelled cell.
pub const CELL_KEYS: [&str; 3] = ["cell", "cell_load", "coupling_loss"];

/// The load of a cell without other devices, as a text.
const UNLOADED: &str = "unloaded";

/// Reads the load of a cell: `1/s`, `30/min`, or `unloaded`.
///
/// # Errors
/// It is none of these, or more than a cell may have.
pub fn cell_load(text: &str) -> Result<f64, ValueError> {
    if text == UNLOADED {
        return Ok(0.0);
    }
    let wrong = || ValueError::form(text, "a load of a cell: write 1/s, 30/min or unloaded");
    let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "min" => 60.0,
        _ => return Err(wrong()),
    };
    let number = number.trim().parse::<f64>().map_err(|_| wrong())?;
    let load = number / seconds;
    if !(0.0..=MOST_LOAD).contains(&load) {
        return Err(ValueError::Range {
            range: "at least 0/s and at most 40/s",
            got: text.to_owned(),
        });
    }
    Ok(load)
}

/// Reads a coupling loss: `144dB`.
///
/// # Errors
/// It has no unit, or is not one that a device may have.
pub fn coupling_loss(text: &str) -> Result<f64, ValueError> {
    let number = text
        .strip_suffix("dB")
        .and_then(|number| number.trim().parse().ok());
    let loss: f64 = number.ok_or_else(|| ValueError::form(text, "a coupling loss: write 144dB"))?;
    let [least, most] = COUPLING_LOSSES_DB;
    if !(least..=most).contains(&loss) {
        return Err(ValueError::Range {
            range: "at least 50dB and at most 170dB",
            got: text.to_owned(),
        });
    }
    Ok(loss)
}

/// The keys of the time-outs of an address translator.
pub const NAT_KEYS: [&str; 2] = ["udp", "tcp"];

fn nat_texts(nat: NatTimeouts, form: &Form) -> impl Iterator<Item = (&'static str, String)> {
    let NatTimeouts { udp, tcp, port: _ } = nat;
    let timeouts = NAT_KEYS.into_iter().zip([udp, tcp]);
    timeouts.filter_map(|(key, timeout)| Some((key, (form.time)(timeout?))))
}

/// Reads the port that an address translator gives to a UDP port that it has forgotten: `same-port` or `new-port`.
///
/// # Errors
/// It is neither.
pub fn nat_port(text: &str) -> Result<NatPort, ValueError> {
    let found = NatPort::ALL.into_iter().find(|port| port.name() == text);
    found.ok_or_else(|| ValueError::form(text, "same-port or new-port"))
}

/// Reads the time-outs of an address translator: `udp=60s,tcp=20min`, or one of them.
///
/// # Errors
/// A key is unknown, or its text is not a time from above 0 to 24 h.
pub fn nat_timeouts(text: &str) -> Result<NatTimeouts, ValueError> {
    let mut nat = NatTimeouts::default();
    for setting in text.split(',') {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| ValueError::form(setting, "KEY=TIME: write udp=60s,tcp=20min"))?;
        set_nat(&mut nat, key.trim(), value.trim())?;
    }
    Ok(nat)
}

/// Sets one time-out of an address translator.
///
/// # Errors
/// As [`nat_timeouts`].
pub fn set_nat(nat: &mut NatTimeouts, key: &str, text: &str) -> Result<(), ValueError> {
    let timeout = time(text)?;
    if timeout.is_zero() || timeout > MAX_NAT_TIMEOUT {
        return Err(ValueError::Range {
            range: "above 0 s and at most 24 h",
            got: text.to_owned(),
        });
    }
    match key {
        "udp" => nat.udp = Some(timeout),
        "tcp" => nat.tcp = Some(timeout),
        _ => {
            return Err(ValueError::UnknownKey {
                key: key.to_owned(),
                known: NAT_KEYS.join(", "),
            });
        }
    }
    Ok(())
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

/// Reads a loss: `5%`, or `gilbert-elliott 1% 25% 0% 100%` with the probabilities good to bad, bad to good, loss in
/// good, loss in bad.
///
/// # Errors
/// It is neither.
pub fn loss(text: &str) -> Result<Loss, ValueError> {
    let Some(model) = text.strip_prefix("gilbert-elliott") else {
        let share: Probability = parsed(text)?;
        return Ok(if share.is_zero() {
            Loss::None
        } else {
            Loss::Bernoulli(share)
        });
    };
    let parts = model.split_whitespace().map(parsed);
    match parts.collect::<Result<Vec<Probability>, _>>()?.as_slice() {
        &[good_to_bad, bad_to_good, loss_in_good, loss_in_bad] => Ok(Loss::GilbertElliott(GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_in_good,
            loss_in_bad,
        })),
        _ => Err(ValueError::form(
            text,
            "a model with four probabilities: write gilbert-elliott 1% 25% 0% 100%",
        )),
    }
}

/// A loss as [`loss`] reads it.
pub fn loss_text(loss: &Loss) -> String {
    match loss {
        Loss::None => "0%".into(),
        Loss::Bernoulli(probability) => probability.to_string(),
        Loss::GilbertElliott(model) => format!(
            "gilbert-elliott {} {} {} {}",
            model.good_to_bad, model.bad_to_good, model.loss_in_good, model.loss_in_bad
        ),
    }
}

/// Reordering before the round-trip time of its link is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSetting {
    /// The share of packets that are held back.
    pub probability: Probability,
    /// How long; `None` is a quarter of the round-trip time, but at least 1 ms.
    pub extra_delay: Option<Duration>,
}

impl ReorderSetting {
    /// The reordering on a link of this round-trip time; `None` where no packet is held back.
    pub fn on_link(self, rtt: Duration) -> Option<Reorder> {
        (!self.probability.is_zero()).then(|| Reorder {
            probability: self.probability,
            extra_delay: self.extra_delay.unwrap_or_else(|| default_extra_delay(rtt)),
        })
    }
}

fn default_extra_delay(rtt: Duration) -> Duration {
    (rtt / 4).max(Duration::from_millis(1))
}

/// Reads a reordering: `1%`, or `1% 5ms` with the time for which packets are held back.
///
/// # Errors
/// It is neither.
pub fn reorder(text: &str) -> Result<ReorderSetting, ValueError> {
    let (share, extra_delay) = match text.split_once(char::is_whitespace) {
        Some((share, held)) => (share, Some(time(held)?)),
        None => (text, None),
    };
    Ok(ReorderSetting {
        probability: parsed(share)?,
        extra_delay,
    })
}

/// A reordering as [`reorder`] reads it on a link of this round-trip time.
fn reorder_text(reorder: Option<Reorder>, rtt: Duration, form: &Form) -> String {
    let Some(Reorder {
        probability,
        extra_delay,
    }) = reorder
    else {
        return Probability::ZERO.to_string();
    };
    if extra_delay == default_extra_delay(rtt) {
        return probability.to_string();
    }
    format!("{probability} {}", (form.time)(extra_delay))
}

/// Reads a delay variation: `2ms` is uniform, plus or minus 2 ms, `normal 2ms` has that standard deviation; `reordering` after
/// it lets packets overtake one another.
///
/// # Errors
/// It is none of these.
pub fn delay_variation(text: &str) -> Result<Option<DelayVariation>, ValueError> {
    let (rest, reordering) = match text.strip_suffix("reordering") {
        Some(rest) => (rest.trim(), true),
        None => (text, false),
    };
    let variation = match rest.strip_prefix("normal") {
        Some(deviation) => DelayVariation::normal(time(deviation.trim())?),
        None => match time(rest)? {
            Duration::ZERO => return Ok(None),
            plus_minus => DelayVariation::uniform(plus_minus),
        },
    };
    Ok(Some(if reordering {
        variation.reordering()
    } else {
        variation
    }))
}

/// A delay variation as [`delay_variation`] reads it.
fn delay_variation_text(variation: Option<DelayVariation>, form: &Form) -> String {
    let Some(variation) = variation else {
        return (form.time)(Duration::ZERO);
    };
    let text = match variation.distribution {
        DelayDistribution::Uniform { plus_minus } => (form.time)(plus_minus),
        DelayDistribution::Normal { standard_deviation } => {
            format!("normal {}", (form.time)(standard_deviation))
        }
    };
    if variation.keeps_order {
        text
    } else {
        format!("{text} reordering")
    }
}

/// The rate of a link that has no limit.
const UNLIMITED: &str = "unlimited";

/// Reads a rate: `50kbit`, or `unlimited`.
///
/// # Errors
/// It is neither.
pub fn rate(text: &str) -> Result<Option<BitRate>, ValueError> {
    match text {
        UNLIMITED => Ok(None),
        text => parsed(text).map(Some),
    }
}

/// A rate as [`rate`] reads it.
pub fn rate_text(rate: Option<BitRate>) -> String {
    rate.map_or_else(|| UNLIMITED.into(), EXACT.rate)
}

/// Reads a queue limit: `64packets`, a size, or `auto`.
///
/// # Errors
/// It is none of these, or holds nothing.
pub fn queue(text: &str) -> Result<Option<QueueLimit>, ValueError> {
    if text == "auto" {
        return Ok(None);
    }
    let limit = match text.strip_suffix("packets").map(|number| number.trim().parse()) {
        Some(Ok(packets)) => QueueLimit::Packets(packets),
        Some(Err(_)) => {
            return Err(ValueError::form(
                text,
                "a whole number of packets: write 64packets",
            ));
        }
        None => match text.parse::<ByteSize>() {
            Ok(size) => QueueLimit::Bytes(size.bytes()),
            Err(UnitError::MissingUnit { text, .. }) => {
                let example = "64packets or 32kB";
                return Err(UnitError::MissingUnit { text, example }.into());
            }
            Err(error) => return Err(error.into()),
        },
    };
    match limit {
        QueueLimit::Packets(0) | QueueLimit::Bytes(0) => Err(ValueError::Range {
            range: "at least one packet",
            got: text.to_owned(),
        }),
        limit => Ok(Some(limit)),
    }
}

fn queue_text(queue: Option<QueueLimit>) -> String {
    match queue {
        None => "auto".into(),
        Some(QueueLimit::Packets(packets)) => format!("{packets} packets"),
        Some(QueueLimit::Bytes(bytes)) => ByteSize::from_bytes(bytes).to_string(),
    }
}

/// Reads the size of the largest IP packet.
///
/// # Errors
/// It is not a size, or above 65,535 B.
pub fn mtu(text: &str) -> Result<u16, ValueError> {
    let size: ByteSize = parsed(text)?;
    u16::try_from(size.bytes()).map_err(|_| ValueError::Range {
        range: "at most 65535B",
        got: size.to_string(),
    })
}

#[cfg(feature = "schema")]
mod schema;

#[cfg(test)]
mod tests {
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
