//! Data plans: which bytes or messages are charged, how they are rounded, and their price.
//!
//! A [`Usage`] is what a device needs per month. A [`Tariff`] turns it into a [`Bill`]. Prices per byte count IP packets, plus
//! the headers of a tunnel where the operator counts those. Prices per message count started units of payload.

use wirecost_proto::Direction;
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
        for way in Direction::ALL {
            self.packets[way as usize] += other.packets[way as usize];
            self.bytes[way as usize] += other.bytes[way as usize];
        }
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
mod tests {

    use super::*;

    fn per_byte(tunnel: u64, unit_bytes: u64, period: Period) -> Tariff {
        Tariff {
            name: "test".to_owned(),
            title: String::new(),
            charge: Charge::Bytes {
                tunnel_bytes: [tunnel; 2],
                unit_bytes,
                period,
                price_bytes: 1_000_000,
                included_bytes: 0,
            },
            price: 0.4,
            currency: "EUR".to_owned(),
            is_sourced: false,
            base_fee: 0.0,
            valid_seconds: None,
            takes: Vec::new(),
        }
    }

    /// A month of keep-alives: PINGREQ, PINGRESP, and an ACK, without TCP timestamps.
    fn keep_alives(every_seconds: f64, record_bytes: f64) -> Usage {
        let (headers, ping) = (40.0, 2.0 + record_bytes);
        let one = Usage {
            packets: [2.0, 1.0],
            bytes: [2.0 * headers + ping, headers + ping],
            keep_alives: 1.0,
            ..Usage::default()
        };
        one.scaled(MONTH_SECONDS / every_seconds)
    }

    #[test]
    fn the_keep_alive_table_is_the_arithmetic_of_its_packets() {
        // Header 5, content type 1, tag 16 (RFC 8446 section 5.2).
        let record_bytes = 22.0;
        let table = [
            (60.0, [5.4, 7.3, 14.3]),
            (240.0, [1.3, 1.8, 3.6]),
            (1_740.0, [0.18, 0.25, 0.49]),
        ];
        let plain = per_byte(0, 1, Period::Month);
        let tunnelled = per_byte(54, 1, Period::Month);
        for (every, expected) in table {
            let without = keep_alives(every, 0.0);
            let tls = keep_alives(every, record_bytes);
            let megabytes = [plain.bill(&without), plain.bill(&tls), tunnelled.bill(&tls)]
                .map(|bill| bill.counted_bytes / 1e6);
            for (got, expected) in megabytes.into_iter().zip(expected) {
                let last_digit = if expected < 1.0 { 0.01 } else { 0.1 };
                assert!(
                    (got - expected).abs() <= last_digit / 2.0,
                    "{every} s: {got}, {expected}"
                );
            }
        }
    }

    #[test]
    fn bytes_are_rounded_up_once_per_period() {
        let month = Usage {
            bytes: [100_000.0, 27_000.0],
            sessions: 100.0,
            ..Usage::default()
        };
        let charged = |unit, period| per_byte(0, unit, period).bill(&month).charged_bytes;
        assert!((charged(100_000, Period::Month) - 200_000.0).abs() < 1e-6);
        assert!((charged(1_000, Period::Session) - 200_000.0).abs() < 1e-6);
        // 4,233.3 bytes a day.
        assert!((charged(1_000, Period::Day) - 5_000.0 * MONTH_DAYS).abs() < 1e-6);
        let amount = per_byte(0, 100_000, Period::Month).bill(&month).amount;
        assert!((amount - 0.08).abs() < 1e-12);
    }

    #[test]
    fn a_day_without_traffic_is_not_charged() {
        // 166 B every 14 days, in started kilobytes of a day.
        let readings = MONTH_DAYS / 14.0;
        let one = Usage {
            bytes: [121.0, 45.0],
            messages: 1.0,
            ..Usage::default()
        };
        let charged = |month: &Usage| per_byte(0, 1_000, Period::Day).bill(month).charged_bytes;
        assert!((charged(&one.scaled(readings)) - readings * 1_000.0).abs() < 1e-6);
        // A keep-alive an hour is traffic of every day.
        let kept = Usage {
            keep_alives: 720.0,
            ..one.scaled(readings)
        };
        assert!((charged(&kept) - MONTH_DAYS * 1_000.0).abs() < 1e-6);
        // What is sent more often is charged as before.
        assert!((charged(&one.scaled(100.0)) - MONTH_DAYS * 1_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_bundle_is_bought_again_when_it_is_used_up_or_has_expired() {
        let months = 120.0;
        let bundle = Tariff {
            price: 12.0,
            valid_seconds: Some(months * MONTH_SECONDS),
            charge: Charge::Bytes {
                tunnel_bytes: [0; 2],
                unit_bytes: 1,
                period: Period::Month,
                price_bytes: 500_000_000,
                included_bytes: 0,
            },
            ..per_byte(0, 1, Period::Month)
        };
        let amount = |bytes: f64| {
            let month = Usage {
                bytes: [bytes, 0.0],
                ..Usage::default()
            };
            bundle.bill(&month).amount
        };
        // Nothing and little use are paid by the time; 500 MB in half of the time cost twice as much.
        assert!((amount(0.0) - 0.1).abs() < 1e-9);
        // A started byte is charged in full.
        assert!((amount(500e6 / months) - 0.1).abs() < 1e-6);
        assert!((amount(1_000e6 / months) - 0.2).abs() < 1e-6);
    }

    #[test]
    fn a_base_fee_is_paid_without_traffic() {
        let tariff = Tariff {
            base_fee: 0.5,
            ..per_byte(0, 1, Period::Month)
        };
        let month = Usage {
            bytes: [1e6, 0.0],
            ..Usage::default()
        };
        assert!((tariff.bill(&Usage::default()).amount - 0.5).abs() < 1e-12);
        assert!((tariff.bill(&month).amount - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_service_takes_the_protocols_of_its_file() {
        let mut tariff = per_byte(0, 1, Period::Month);
        assert!(tariff.takes(None, false) && tariff.takes(Some(Protocol::Coap), false));
        tariff.takes = vec![Taken {
            protocol: Protocol::Mqtt,
            over_tls: true,
        }];
        assert!(tariff.takes(Some(Protocol::Mqtt), true));
        assert!(!tariff.takes(Some(Protocol::Mqtt), false));
        assert!(!tariff.takes(Some(Protocol::Coap), true));
        assert!(!tariff.takes(None, true));
    }

    #[test]
    fn a_tunnel_adds_its_headers_to_each_packet() {
        let month = Usage {
            packets: [2.0, 1.0],
            bytes: [82.0, 42.0],
            ..Usage::default()
        };
        let bill = per_byte(54, 1, Period::Month).bill(&month);
        assert!((bill.counted_bytes - 286.0).abs() < 1e-9);
    }

    #[test]
    fn a_message_below_the_least_size_is_charged_as_one() {
        let tariff = Tariff {
            charge: Charge::Messages {
                unit_bytes: 5_120,
                keep_alives: false,
                sessions: true,
                price_messages: 1_000_000,
            },
            ..per_byte(0, 1, Period::Month)
        };
        for payload_bytes in [0.0, 1.0, 5_120.0] {
            let month = Usage {
                messages: 10.0,
                payload_bytes,
                keep_alives: 3.0,
                sessions: 5.0,
                ..Usage::default()
            };
            assert!(
                (tariff.bill(&month).charged_messages - 15.0).abs() < 1e-9,
                "{payload_bytes}"
            );
        }
    }

    #[test]
    fn a_message_is_charged_by_started_units() {
        let charge = Charge::Messages {
            unit_bytes: 1_024,
            keep_alives: true,
            sessions: false,
            price_messages: 1_000_000,
        };
        let tariff = Tariff {
            charge,
            ..per_byte(0, 1, Period::Month)
        };
        let month = Usage {
            messages: 10.0,
            payload_bytes: 1_025.0,
            keep_alives: 3.0,
            sessions: 5.0,
            ..Usage::default()
        };
        let bill = tariff.bill(&month);
        assert!((bill.charged_messages - 23.0).abs() < 1e-9);
        assert_eq!(bill.charged_bytes, 0.0);
    }
}
