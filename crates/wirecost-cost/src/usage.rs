//! What a device uses: packets and bytes by phase, messages by kind and size, sessions by their length.

use std::collections::BTreeMap;

use wirecost_proto::calendar::MONTH_DAYS;
use wirecost_proto::{Direction, Phase};

wirecost_proto::named! {
    /// What a tariff may count, and what a part of a bill is for.
    ///
    /// Named as in tariff files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum What {
        /// IP packets, with the headers of a tunnel.
        Packets => "packets",
        /// A message of the device with payload: PUBLISH, the body of a request.
        Publish => "publish",
        /// A message to the device with payload: PUBLISH, the body of an answer.
        Delivery => "delivery",
        /// The message that opens a session: CONNECT.
        Connect => "connect",
        /// A later message of the device that prepares others: SUBSCRIBE.
        Subscribe => "subscribe",
        /// An acknowledgement of the device: PUBACK.
        Acknowledgement => "acknowledgement",
        /// PINGREQ and the like.
        KeepAlive => "keep_alive",
        /// The end of a session.
        Close => "close",
        /// A message that the server keeps. Packets do not show it.
        Retained => "retained",
        /// A rule of the server that is triggered. Packets do not show it.
        Rule => "rule",
        /// An action of such a rule. Packets do not show it.
        Action => "action",
        /// An operation on a device's twin, shadow or entry, a method. Packets do not show it.
        Operation => "operation",
        /// Started minutes of a session.
        Minutes => "minutes",
        /// Sessions at the same time, the most of a month.
        Sessions => "sessions",
        /// The month itself: a fee.
        Fee => "fee",
    }
}

impl What {
    /// The parts of a bill, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Publish => "messages",
            Self::Delivery => "deliveries",
            Self::Connect => "connects",
            Self::Subscribe => "subscriptions",
            Self::Acknowledgement => "acknowledgements",
            Self::KeepAlive => "keep-alives",
            Self::Close => "closes",
            Self::Retained => "retained messages",
            Self::Rule => "rules",
            Self::Action => "actions",
            Self::Operation => "operations",
            Self::Minutes => "connection time",
            Self::Sessions => "sessions",
            Self::Fee => "fee",
        }
    }

    /// What the bytes of a phase are for.
    pub const fn of_phase(phase: Phase) -> Self {
        match phase {
            Phase::Connect => Self::Connect,
            Phase::Message => Self::Publish,
            Phase::KeepAlive => Self::KeepAlive,
            Phase::Close => Self::Close,
        }
    }

    /// Whether it is a message, which has a size.
    pub const fn is_message(self) -> bool {
        !matches!(self, Self::Packets | Self::Minutes | Self::Sessions | Self::Fee)
    }
}

/// Messages that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SentMessage {
    /// Their kind.
    pub what: What,
    /// Bytes of the application around the payload: topic, properties, and the packet's own fields.
    pub header_bytes: u64,
    /// Bytes of the payload.
    pub payload_bytes: u64,
}

/// Packets and bytes of these IP packets, up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseTraffic {
    /// Packets up and down.
    pub packets: [f64; 2],
    /// Their bytes from the IP header on.
    pub bytes: [f64; 2],
}

/// What a device does in some time. Numbers may be means, hence not whole; sizes are those of single messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Packets by the phase of their headers, in the order of [`Phase::ALL`].
    pub carried: [PhaseTraffic; Phase::ALL.len()],
    /// Messages, and how many of each.
    pub messages: BTreeMap<SentMessage, f64>,
    /// Sessions, connections that the device starts, by their started minutes, and how many of each.
    pub sessions: BTreeMap<u64, f64>,
}

impl Usage {
    /// The usage `times` times over.
    #[must_use]
    pub fn scaled(mut self, times: f64) -> Self {
        for carried in &mut self.carried {
            carried.packets = carried.packets.map(|count| count * times);
            carried.bytes = carried.bytes.map(|count| count * times);
        }
        self.messages.values_mut().for_each(|count| *count *= times);
        self.sessions.values_mut().for_each(|count| *count *= times);
        self
    }

    /// The sum of two usages.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (sum, more) in self.carried.iter_mut().zip(&other.carried) {
            for way in 0..2 {
                sum.packets[way] += more.packets[way];
                sum.bytes[way] += more.bytes[way];
            }
        }
        for (message, count) in &other.messages {
            *self.messages.entry(*message).or_default() += count;
        }
        for (minutes, count) in &other.sessions {
            *self.sessions.entry(*minutes).or_default() += count;
        }
        self
    }

    /// Adds messages.
    pub fn add(&mut self, message: SentMessage, count: f64) {
        *self.messages.entry(message).or_default() += count;
    }

    /// Packets up and down.
    pub fn packets(&self) -> [f64; 2] {
        [0, 1].map(|way| self.carried.iter().map(|carried| carried.packets[way]).sum())
    }

    /// Bytes of IP packets up and down.
    pub fn bytes(&self) -> [f64; 2] {
        [0, 1].map(|way| self.carried.iter().map(|carried| carried.bytes[way]).sum())
    }

    /// Bytes of IP packets, both ways.
    pub fn wire_bytes(&self) -> f64 {
        self.bytes().iter().sum()
    }

    /// How many messages of a kind.
    pub fn count(&self, what: What) -> f64 {
        let of_kind = self.messages.iter().filter(|(message, _)| message.what == what);
        of_kind.map(|(_, count)| count).sum()
    }

    /// Sessions that the device starts.
    pub fn sessions(&self) -> f64 {
        self.sessions.values().sum()
    }

    /// The sessions, where the operator cuts each one that is longer than `most_minutes` into several.
    pub fn cut_sessions(&self, most_minutes: u64) -> f64 {
        let pieces = |minutes: u64| minutes.div_ceil(most_minutes.max(1)).max(1) as f64;
        self.sessions
            .iter()
            .map(|(minutes, count)| pieces(*minutes) * count)
            .sum()
    }

    /// Adds a packet.
    pub(crate) fn carry(&mut self, phase: Phase, direction: Direction, bytes: u64) {
        let carried = &mut self.carried[phase as usize];
        carried.packets[direction as usize] += 1.0;
        carried.bytes[direction as usize] += bytes as f64;
    }

    /// Days of a month on which a device sends, of a month's usage: a day without traffic is not charged. Every day, where no message
    /// is known.
    pub(crate) fn days_with_traffic(&self) -> f64 {
        let messages = self.count(What::Publish);
        match messages > 0.0 {
            true => messages
                .max(self.sessions())
                .max(self.count(What::KeepAlive))
                .min(MONTH_DAYS),
            false => MONTH_DAYS,
        }
    }
}
