//! Data plans and brokers: what counts, how it is rounded, and its price.
//!
//! A [`Usage`](crate::Usage) is what a device needs per month. A [`Tariff`] is rules, each for what it counts, and turns the usage into a [`Bill`].

mod bill;

pub use bill::{Bill, CheaperStep, RuleCharge};

use crate::usage::What;

wirecost_proto::named! {
    /// The time or the event at which counted bytes are rounded up.
    ///
    /// Named as in tariff files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Period {
        /// Each session of the device.
        Session => "session",
        /// Each direction of each session.
        Direction => "direction",
        /// Each day.
        Day => "day",
        /// Each month.
        Month => "month",
    }
}

/// How what a rule counts is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounding {
    /// It is not: a message, a minute, a session is one.
    Whole,
    /// A message counts as the units of this many bytes that it begins; an empty message counts as one unit.
    Units(u64),
    /// A message counts as its bytes, and as at least this many.
    AtLeast(u64),
    /// Bytes of IP packets are rounded up to a multiple.
    Packets {
        /// Bytes that are added to each packet, up and down: the headers of a tunnel.
        tunnel_bytes: [u64; 2],
        /// Bytes are rounded up to a multiple of this.
        unit_bytes: u64,
        /// The fewest bytes of a period with traffic.
        least_bytes: u64,
        /// When they are rounded.
        period: Period,
        /// The operator ends a session after this many minutes; `None` if it never does.
        cut_minutes: Option<u64>,
    },
}

/// The price of what is above one limit and up to another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier {
    /// The upper limit, in what the rule counts; infinite in the last tier.
    pub to: f64,
    /// The price of `per`.
    pub price: f64,
}

/// How what a rule counts is priced.
#[derive(Clone, Debug, PartialEq)]
pub enum Price {
    /// By the number, each tier at its price: a first one without a price is free.
    Tiers {
        /// The tiers, by their limits.
        tiers: Vec<Tier>,
        /// The number that prices are for.
        per: f64,
    },
    /// A price a month for each started number of a day.
    Daily {
        /// That number.
        size: f64,
        /// The price of a month.
        price: f64,
    },
    /// A prepaid bundle, bought again when it is used up or has expired, whichever is first: in a month it counts as the mean of its
    /// time.
    Bundle {
        /// What is in it.
        size: f64,
        /// Seconds after which it expires.
        valid_seconds: f64,
        /// Its price.
        price: f64,
    },
}

/// A rule of a tariff.
#[derive(Clone, Debug, PartialEq)]
pub struct TariffRule {
    /// Its name.
    pub name: String,
    /// Heading and row of the page that says so; empty in a file without them.
    pub row: String,
    /// What it counts.
    pub counts: Vec<What>,
    /// Whether the size of a message has what is around its payload: topic and properties.
    pub with_topic: bool,
    /// How it is rounded.
    pub rounding: Rounding,
    /// How it is priced.
    pub price: Price,
    /// Whether the price is of all devices together, so that tiers and steps are of their sum; of each device by itself otherwise.
    pub is_of_account: bool,
}

impl TariffRule {
    /// Whether it counts bytes.
    pub const fn is_by_bytes(&self) -> bool {
        matches!(self.rounding, Rounding::AtLeast(_) | Rounding::Packets { .. })
    }
}

wirecost_proto::named! {
    /// An application protocol that a service may take.
    ///
    /// Named as in tariff files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Protocol {
        /// MQTT, any version.
        Mqtt => "mqtt",
        /// MQTT-SN.
        MqttSn => "mqttsn",
        /// CoAP over UDP or TCP.
        Coap => "coap",
        /// AMQP 1.0.
        Amqp => "amqp",
        /// HTTP/1.1.
        Http1 => "http1",
        /// HTTP/3.
        Http3 => "http3",
    }
}

/// A protocol that a service takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The protocol.
    pub protocol: Protocol,
    /// Whether it is taken over TLS alone.
    pub over_tls: bool,
}

/// A data plan, or the price list of a broker.
#[derive(Clone, Debug, PartialEq)]
pub struct Tariff {
    /// Its name.
    pub name: String,
    /// What it describes.
    pub title: String,
    /// Its rules.
    pub rules: Vec<TariffRule>,
    /// The currency of the prices, e.g. `EUR`.
    pub currency: String,
    /// Whether every price comes from a source; if not, they are examples.
    pub is_sourced: bool,
    /// Whether compressed content counts by its size before: bills here count what is sent.
    pub is_uncompressed: bool,
    /// What money of all devices is rounded up to, and when: each day or each month.
    pub money_step: Option<(f64, Period)>,
    /// The protocols that the service takes; empty where it takes any.
    pub takes: Vec<Taken>,
    /// The same with a kilobyte of 1,024 bytes, where the page does not say what its kilobyte is, and this one has 1,000.
    pub other_kilobyte: Option<Box<Tariff>>,
}

impl Tariff {
    /// Whether the service takes a protocol; `None` is one that has no name here.
    pub fn takes(&self, protocol: Option<Protocol>, over_tls: bool) -> bool {
        let takes = |taken: &Taken| Some(taken.protocol) == protocol && (over_tls || !taken.over_tls);
        self.takes.is_empty() || self.takes.iter().any(takes)
    }

    /// Whether it counts bytes, alone or beside other things.
    pub fn is_by_bytes(&self) -> bool {
        self.rules.iter().any(TariffRule::is_by_bytes)
    }

    /// Bytes that are added to each packet, up and down; `None` where no packets are counted.
    pub fn tunnel_bytes(&self) -> Option<[u64; 2]> {
        self.rules.iter().find_map(|rule| match rule.rounding {
            Rounding::Packets { tunnel_bytes, .. } => Some(tunnel_bytes),
            Rounding::Whole | Rounding::Units(_) | Rounding::AtLeast(_) => None,
        })
    }
}

#[cfg(test)]
mod tests;
