//! The performatives of a session: begin, flow and disposition.

use crate::codec::reader::{Fields, mandatory};
use crate::codec::writer::ListWriter;
use crate::codec::{DeliveryState, Malformed, Performative};

/// Which end of a link sends a frame (section 2.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that sends messages.
    Sender,
    /// The end that receives messages.
    Receiver,
}

impl Role {
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self, Malformed> {
        let is_receiver = mandatory(fields.boolean("role")?, "role")?;
        Ok(if is_receiver { Self::Receiver } else { Self::Sender })
    }

    pub(crate) const fn is_receiver(self) -> bool {
        matches!(self, Self::Receiver)
    }

    /// The other role.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// The start of a session (section 2.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// The peer's channel, in the answer to a begin.
    pub remote_channel: Option<u16>,
    /// The transfer-id of the next transfer frame.
    pub next_outgoing_id: u32,
    /// The incoming window, in transfer frames.
    pub incoming_window: u32,
    /// The outgoing window, in transfer frames.
    pub outgoing_window: u32,
    /// The highest handle that the sender of this begin accepts.
    pub handle_max: u32,
}

impl Begin {
    pub(crate) fn read(mut fields: Fields<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            remote_channel: fields.number("remote-channel")?,
            next_outgoing_id: mandatory(fields.number("next-outgoing-id")?, "next-outgoing-id")?,
            incoming_window: mandatory(fields.number("incoming-window")?, "incoming-window")?,
            outgoing_window: mandatory(fields.number("outgoing-window")?, "outgoing-window")?,
            handle_max: fields.number("handle-max")?.unwrap_or(u32::MAX),
        })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        list.ushort(self.remote_channel)
            .uint(self.next_outgoing_id)
            .uint(self.incoming_window)
            .uint(self.outgoing_window)
            .uint((self.handle_max != u32::MAX).then_some(self.handle_max));
    }
}

/// The windows of a session and, if there is a handle, the credit of a link (section 2.7.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The transfer-id that the sender of this flow expects next.
    pub next_incoming_id: Option<u32>,
    /// The incoming window, in transfer frames.
    pub incoming_window: u32,
    /// The transfer-id of the next transfer frame.
    pub next_outgoing_id: u32,
    /// The outgoing window, in transfer frames.
    pub outgoing_window: u32,
    /// The link.
    pub handle: Option<u32>,
    /// The delivery-count of the link.
    pub delivery_count: Option<u32>,
    /// The number of further deliveries that the receiver accepts.
    pub link_credit: Option<u32>,
    /// The number of messages that wait at the sender.
    pub available: Option<u32>,
    /// Whether the sender must use up its credit, by sending messages or by giving it back.
    pub drain: bool,
    /// Whether the peer must answer with a flow.
    pub echo: bool,
}

impl Flow {
    pub(crate) fn read(mut fields: Fields<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            next_incoming_id: fields.number("next-incoming-id")?,
            incoming_window: mandatory(fields.number("incoming-window")?, "incoming-window")?,
            next_outgoing_id: mandatory(fields.number("next-outgoing-id")?, "next-outgoing-id")?,
            outgoing_window: mandatory(fields.number("outgoing-window")?, "outgoing-window")?,
            handle: fields.number("handle")?,
            delivery_count: fields.number("delivery-count")?,
            link_credit: fields.number("link-credit")?,
            available: fields.number("available")?,
            drain: fields.boolean("drain")?.unwrap_or(false),
            echo: fields.boolean("echo")?.unwrap_or(false),
        })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        list.uint(self.next_incoming_id)
            .uint(self.incoming_window)
            .uint(self.next_outgoing_id)
            .uint(self.outgoing_window)
            .uint(self.handle)
            .uint(self.delivery_count)
            .uint(self.link_credit)
            .uint(self.available)
            .flag(self.drain)
            .flag(self.echo);
    }
}

/// The state of a range of deliveries (section 2.7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disposition<'a> {
    /// Which end of the link sent this disposition.
    pub role: Role,
    /// The first delivery-id.
    pub first: u32,
    /// The last delivery-id; null means the same as `first`.
    pub last: Option<u32>,
    /// Whether the deliveries are settled at the sender of this disposition.
    pub settled: bool,
    /// The state of the deliveries.
    pub state: Option<DeliveryState<'a>>,
}

impl<'a> Disposition<'a> {
    pub(crate) fn read(mut fields: Fields<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            role: Role::read(&mut fields)?,
            first: mandatory(fields.number("first")?, "first")?,
            last: fields.number("last")?,
            settled: fields.boolean("settled")?.unwrap_or(false),
            state: DeliveryState::read(&mut fields)?,
        })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        list.boolean(self.role.is_receiver())
            .uint(self.first)
            .uint(self.last)
            .flag(self.settled);
        DeliveryState::write(self.state, list);
    }

    /// Whether a receiver ends the deliveries, by an outcome or by settling them.
    pub(crate) const fn is_final(&self) -> bool {
        let is_outcome = matches!(&self.state, Some(state) if state.is_outcome());
        matches!(self.role, Role::Receiver) && (is_outcome || self.settled)
    }

    /// The sender's answer to a receiver that gave an outcome without settling (section 2.6.12).
    pub(crate) fn settlement(self) -> Option<Performative<'a>> {
        (!self.settled).then_some(Performative::Disposition(Self {
            role: Role::Sender,
            settled: true,
            ..self
        }))
    }

    /// Whether `delivery_id` is in the range, in serial number arithmetic (RFC 1982).
    pub const fn covers(&self, delivery_id: u32) -> bool {
        let last = match self.last {
            Some(last) => last,
            None => self.first,
        };
        delivery_id.wrapping_sub(self.first) <= last.wrapping_sub(self.first)
    }
}
