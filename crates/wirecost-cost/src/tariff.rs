//! Data plans: which bytes or messages are charged, how they are rounded, and their price.
//!
//! A [`Usage`] is what a device needs per month. A [`Tariff`] turns it into a [`Bill`]. Prices per byte count IP packets, plus
//! the headers of a tunnel where the operator counts those. Prices per message count started units of payload.

use wirecost_proto::calendar::{MONTH_DAYS, MONTH_SECONDS};

/// What a device does in some time. The figures may be means, hence not whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Packets up and down.
    pub packets: [f64; 2],
    /// Bytes of these IP packets.
    pub bytes: [f64; 2],
    /// Sessions: connections that the device starts.
    pub sessions: f64,
    /// Messages with payload.
    pub messages: f64,
    /// Payload of one message in bytes, mean.
    pub payload_bytes: f64,
    /// Keep-alives that the device sends.
    pub keep_alives: f64,
}

impl Usage {
    /// The usage `times` times over.
    #[must_use]
    pub fn scaled(mut self, times: f64) -> Self {
        self.packets = self.packets.map(|count| count * times);
        self.bytes = self.bytes.map(|count| count * times);
        self.sessions *= times;
        self.messages *= times;
        self.keep_alives *= times;
        self
    }

    /// The sum of two usages.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        let payload = self.messages * self.payload_bytes + other.messages * other.payload_bytes;
        let add = |sums: &mut [f64; 2], more: &[f64; 2]| {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        };
        add(&mut self.packets, &other.packets);
        add(&mut self.bytes, &other.bytes);
        self.sessions += other.sessions;
        self.messages += other.messages;
        self.keep_alives += other.keep_alives;
        self.payload_bytes = if self.messages > 0.0 {
            payload / self.messages
        } else {
            0.0
        };
        self
    }

    /// Bytes of IP packets, both ways.
    pub fn wire_bytes(&self) -> f64 {
        self.bytes.iter().sum()
    }
}

/// The time or the event at which counted bytes are rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Each session of the device.
    Session,
    /// Each day.
    Day,
    /// Each month.
    Month,
}

impl Period {
    /// Its name in tariff files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// What is charged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Charge {
    /// Bytes from the IP header up.
    Bytes {
        /// Bytes that are added to each packet, up and down: the headers of a tunnel.
        tunnel_bytes: [u64; 2],
        /// Bytes are rounded up to a multiple of this.
        unit_bytes: u64,
        /// When they are rounded.
        period: Period,
        /// The bytes that the price is for.
        price_bytes: u64,
        /// Bytes of a month without charge.
        included_bytes: u64,
    },
    /// Messages, each rounded up to whole units of payload.
    Messages {
        /// Payload bytes of one charged message.
        unit_bytes: u64,
        /// Whether keep-alives are charged.
        keep_alives: bool,
        /// Whether the start of a session is charged.
        sessions: bool,
        /// The messages that the price is for.
        price_messages: u64,
    },
}

/// An application protocol that a service may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// MQTT, any version.
    Mqtt,
    /// MQTT-SN.
    MqttSn,
    /// CoAP over UDP or TCP.
    Coap,
    /// AMQP 1.0.
    Amqp,
    /// HTTP/1.1.
    Http1,
    /// HTTP/3.
    Http3,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 6] = [
        Self::Mqtt,
        Self::MqttSn,
        Self::Coap,
        Self::Amqp,
        Self::Http1,
        Self::Http3,
    ];

    /// Its name in tariff files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mqtt => "mqtt",
            Self::MqttSn => "mqttsn",
            Self::Coap => "coap",
            Self::Amqp => "amqp",
            Self::Http1 => "http1",
            Self::Http3 => "http3",
        }
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

/// A data plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Tariff {
    /// Its name.
    pub name: String,
    /// What it describes.
    pub title: String,
    /// What is charged.
    pub charge: Charge,
    /// The price of `price_bytes` or `price_messages`.
    pub price: f64,
    /// The currency of the price, e.g. `EUR`.
    pub currency: String,
    /// Whether the price comes from a source; if not, it is an example.
    pub is_sourced: bool,
    /// What each SIM costs per month, used or not.
    pub base_fee: f64,
    /// Seconds after which what was paid for expires: a prepaid bundle. `None` for a price that follows the use.
    pub valid_seconds: Option<f64>,
    /// The protocols that the service takes; empty where it takes any.
    pub takes: Vec<Taken>,
}

/// What a tariff charges for a month.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bill {
    /// Bytes counted, tunnel headers included; 0 for a price per message.
    pub counted_bytes: f64,
    /// Bytes after rounding; 0 for a price per message.
    pub charged_bytes: f64,
    /// Messages charged; 0 for a price per byte.
    pub charged_messages: f64,
    /// Money, in the currency of the tariff.
    pub amount: f64,
}

impl Tariff {
    /// Whether the service takes a protocol; `None` is one that has no name here.
    pub fn takes(&self, protocol: Option<Protocol>, over_tls: bool) -> bool {
        let takes = |taken: &Taken| Some(taken.protocol) == protocol && (over_tls || !taken.over_tls);
        self.takes.is_empty() || self.takes.iter().any(takes)
    }

    /// How many of what the price is for a month needs. A bundle is bought again when it is used up or has expired, whichever is
    /// first, so that it counts in a month as the mean of its time.
    fn bought(&self, used: f64) -> f64 {
        let expired = self.valid_seconds.map_or(0.0, |valid| MONTH_SECONDS / valid);
        used.max(expired)
    }

    /// The bill of one device for a month with this usage. A fleet's bill is that of one device times their number: rounding is
    /// by device.
    pub fn bill(&self, month: &Usage) -> Bill {
        match self.charge {
            Charge::Bytes {
                tunnel_bytes,
                unit_bytes,
                period,
                price_bytes,
                included_bytes,
            } => {
                let tunnel: f64 = (0..2)
                    .map(|way| month.packets[way] * tunnel_bytes[way] as f64)
                    .sum();
                let counted_bytes = month.wire_bytes() + tunnel;
                let charged_bytes = rounded(counted_bytes, unit_bytes, periods(period, month));
                let paid = (charged_bytes - included_bytes as f64).max(0.0);
                Bill {
                    counted_bytes,
                    charged_bytes,
                    charged_messages: 0.0,
                    amount: self.base_fee + self.bought(paid / price_bytes as f64) * self.price,
                }
            }
            Charge::Messages {
                unit_bytes,
                keep_alives,
                sessions,
                price_messages,
            } => {
                let units = (month.payload_bytes / unit_bytes as f64).ceil().max(1.0);
                let mut charged_messages = month.messages * units;
                charged_messages += if keep_alives { month.keep_alives } else { 0.0 };
                charged_messages += if sessions { month.sessions } else { 0.0 };
                Bill {
                    charged_messages,
                    amount: self.base_fee
                        + self.bought(charged_messages / price_messages as f64) * self.price,
                    ..Bill::default()
                }
            }
        }
    }
}

/// How often a month's bytes are rounded.
fn periods(period: Period, month: &Usage) -> f64 {
    match period {
        Period::Session => month.sessions.max(1.0),
        Period::Day => days_with_traffic(month),
        Period::Month => 1.0,
    }
}

/// Days of a month on which a device sends: a day without traffic is not charged. Every day, where no message is known.
fn days_with_traffic(month: &Usage) -> f64 {
    let Usage {
        messages,
        sessions,
        keep_alives,
        packets: _,
        bytes: _,
        payload_bytes: _,
    } = *month;
    match messages > 0.0 {
        true => messages.max(sessions).max(keep_alives).min(MONTH_DAYS),
        false => MONTH_DAYS,
    }
}

/// Bytes of a month, rounded up in each of `periods` equal parts.
fn rounded(bytes: f64, unit_bytes: u64, periods: f64) -> f64 {
    let unit = unit_bytes.max(1) as f64;
    // A mean that is whole but for the error of its division must not start another unit.
    let units = (bytes / periods / unit - 1e-9).ceil().max(0.0);
    units * unit * periods
}

#[cfg(test)]
mod tests;
