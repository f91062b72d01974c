//! What a recorded device's transmissions were, one by one: its message sequence over the air.

use wirecost_proto::Instant;

use super::{AirEvent, Network};
use crate::subframe::Interval;
use crate::ue::{Content, UeId};

/// A physical channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// Random access preambles.
    Nprach,
    /// Downlink control: DCIs.
    Npdcch,
    /// Downlink blocks.
    Npdsch,
    /// Uplink blocks (NPUSCH format 1).
    NpuschData,
    /// HARQ-ACKs (NPUSCH format 2).
    NpuschAck,
}

/// What a transmission carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Message {
    /// A preamble (Msg1).
    Preamble,
    /// A DCI that announces a downlink block.
    Assignment,
    /// A DCI that grants an uplink block.
    UplinkGrant,
    /// Random access responses (Msg2).
    RandomAccessResponse,
    /// Msg3.
    Msg3,
    /// Msg4.
    Msg4,
    /// A block of RLC: signalling, packets, status reports.
    Data,
    /// A HARQ-ACK.
    HarqAck,
}

/// One transmission to or from a recorded device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The device.
    pub ue: UeId,
    /// The channel.
    pub channel: Channel,
    /// What it carries.
    pub message: Message,
    /// The start of its first subframe.
    pub start: Instant,
    /// The end of its last subframe.
    pub end: Instant,
    /// Which transmission of the block it is, from 1 on.
    pub attempt: u8,
    /// Whether the receiver decoded or detected it; of a HARQ-ACK, whether the cell read it.
    pub is_received: bool,
}

impl Content {
    pub(super) const fn message(&self) -> Message {
        match self {
            Self::Msg3(_) => Message::Msg3,
            Self::Msg4(..) => Message::Msg4,
            Self::Grant | Self::Data(_) => Message::Data,
        }
    }
}

impl Network {
    /// Records the transmissions of a device from now on: each is an [`AirEvent::Transmission`] when its outcome is known.
    pub fn record(&mut self, ue: UeId) {
        if let Some(device) = self.ues.get_mut(ue) {
            device.is_recorded = true;
        }
    }

    pub(super) fn note(
        &mut self,
        ue: UeId,
        (channel, message): (Channel, Message),
        on_air: (Interval, u8),
        is_received: bool,
    ) {
        if !self.ues.get(ue).is_some_and(|device| device.is_recorded) {
            return;
        }
        let (interval, attempt) = on_air;
        self.outbox.push(AirEvent::Transmission(Transmission {
            ue,
            channel,
            message,
            start: interval.start.instant(),
            end: interval.end.instant(),
            attempt,
            is_received,
        }));
    }
}
