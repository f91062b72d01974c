//! What a recorded device's transmissions were, one by one: its message sequence over the air.

use wirecost_proto::{Direction, Instant};

use super::{AirEvent, Network};
use crate::rlc::Carried;
use crate::subframe::Interval;
use crate::ue::{Block, Content, DataBlock, Format, UeId};

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
    /// How often the channel repeats it within this transmission.
    pub repetitions: u32,
    /// The size of the block in bytes; 0 of preambles, DCIs and HARQ-ACKs.
    pub bytes: u32,
    /// The signalling and the packets that it has parts of.
    pub carried: Carried,
    /// Whether it has a status report of RLC.
    pub has_status: bool,
    /// Whether the receiver decoded or detected it; of a HARQ-ACK, whether the cell read it.
    pub is_received: bool,
}

impl Channel {
    /// Who receives it.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Nprach | Self::NpuschData | Self::NpuschAck => Direction::Up,
            Self::Npdcch | Self::Npdsch => Direction::Down,
        }
    }
}

/// A transmission before its outcome is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnAir {
    channel: Channel,
    message: Message,
    interval: Interval,
    attempt: u8,
    repetitions: u32,
    bytes: u32,
    carried: Carried,
    has_status: bool,
}

impl OnAir {
    /// The first transmission of something without a block.
    pub(super) fn new(channel: Channel, message: Message, interval: Interval, repetitions: u64) -> Self {
        Self {
            channel,
            message,
            interval,
            attempt: 1,
            repetitions: u32::try_from(repetitions).unwrap_or(u32::MAX),
            bytes: 0,
            carried: Carried::default(),
            has_status: false,
        }
    }

    /// The DCI of a block's current transmission.
    pub(super) fn dci(message: Message, block: &Block) -> Self {
        Self::new(Channel::Npdcch, message, block.dci, block.dci_repetitions).attempt(block.attempt)
    }

    /// A block's current transmission.
    pub(super) fn block(block: &Block) -> Self {
        let (channel, bits, repetitions) = match block.format {
            Format::Down(format) => (Channel::Npdsch, format.bits, format.repetitions),
            Format::Up(format) => (Channel::NpuschData, format.bits, format.repetitions),
        };
        let on_air = Self::new(channel, block.content.message(), block.data, repetitions.into());
        let data = block.content.data();
        Self {
            bytes: u32::from(bits / 8),
            carried: data
                .and_then(|data| data.pdu)
                .map(|pdu| pdu.carried)
                .unwrap_or_default(),
            has_status: data.is_some_and(|data| data.status.is_some()),
            ..on_air.attempt(block.attempt)
        }
    }

    /// The same as another transmission of its block.
    pub(super) const fn attempt(self, attempt: u8) -> Self {
        Self { attempt, ..self }
    }

    /// The same with a block of `bits`.
    pub(super) fn sized(self, bits: u16) -> Self {
        Self {
            bytes: u32::from(bits / 8),
            ..self
        }
    }
}

impl Content {
    const fn message(&self) -> Message {
        match self {
            Self::Msg3(_) => Message::Msg3,
            Self::Msg4(..) => Message::Msg4,
            Self::Grant | Self::Data(_) => Message::Data,
        }
    }

    const fn data(&self) -> Option<&DataBlock> {
        match self {
            Self::Grant => None,
            Self::Msg3(data) => data.as_ref(),
            Self::Msg4(_, data) | Self::Data(data) => Some(data),
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

    pub(super) fn note(&mut self, ue: UeId, on_air: OnAir, is_received: bool) {
        if !self.ues.get(ue).is_some_and(|device| device.is_recorded) {
            return;
        }
        let OnAir {
            channel,
            message,
            interval,
            attempt,
            repetitions,
            bytes,
            carried,
            has_status,
        } = on_air;
        self.outbox.push(AirEvent::Transmission(Transmission {
            ue,
            channel,
            message,
            start: interval.start.instant(),
            end: interval.end.instant(),
            attempt,
            repetitions,
            bytes,
            carried,
            has_status,
            is_received,
        }));
    }
}
