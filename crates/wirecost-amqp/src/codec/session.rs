//! The performatives of a session: begin, flow, disposition and end.

use crate::codec::reader::{Fields, mandatory};
use crate::codec::writer::ListWriter;
use crate::codec::{Condition, DeliveryState, Malformed};

/// Which end of a link speaks (section 2.8.1).
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

    /// The other end.
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
    /// The channel of the begin that this one answers.
    pub remote_channel: Option<u16>,
    /// The transfer-id of the next transfer frame.
    pub next_outgoing_id: u32,
    /// Transfer frames that it takes now.
    pub incoming_window: u32,
    /// Transfer frames that it may send at once.
    pub outgoing_window: u32,
    /// The highest handle that it takes.
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

/// The state of a session's windows and, where there is a handle, of a link's credit (section 2.7.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The transfer-id that it expects next.
    pub next_incoming_id: Option<u32>,
    /// Transfer frames that it takes now.
    pub incoming_window: u32,
    /// The transfer-id of its next transfer frame.
    pub next_outgoing_id: u32,
    /// Transfer frames that it may send at once.
    pub outgoing_window: u32,
    /// The link.
    pub handle: Option<u32>,
    /// Deliveries that the link has begun.
    pub delivery_count: Option<u32>,
    /// Deliveries that the receiver takes beyond those.
    pub link_credit: Option<u32>,
    /// Messages that wait at the sender.
    pub available: Option<u32>,
    /// Whether the sender is to use up its credit, by messages or by giving it back.
    pub drain: bool,
    /// Whether an answer is wanted.
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

/// What became of a range of deliveries (section 2.7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disposition<'a> {
    /// Which end speaks.
    pub role: Role,
    /// The first delivery-id.
    pub first: u32,
    /// The last delivery-id; the first, where there is none.
    pub last: Option<u32>,
    /// Whether the speaker has forgotten them.
    pub settled: bool,
    /// What became of them.
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

    /// Whether it speaks of this delivery; the numbers are serial (RFC 1982).
    pub const fn covers(&self, delivery_id: u32) -> bool {
        let last = match self.last {
            Some(last) => last,
            None => self.first,
        };
        delivery_id.wrapping_sub(self.first) <= last.wrapping_sub(self.first)
    }
}

/// The end of a session (section 2.7.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End<'a> {
    /// Why, where something went wrong.
    pub error: Option<Condition<'a>>,
}

impl<'a> End<'a> {
    pub(crate) fn read(mut fields: Fields<'a>) -> Result<Self, Malformed> {
        let error = Condition::read(&mut fields, "error")?;
        Ok(Self { error })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        Condition::write(self.error, list);
    }
}
