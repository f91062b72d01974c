//! The performatives of a link: attach, transfer and detach.

use alloc::vec::Vec;

use wirecost_proto::Buffer;

use crate::codec::frame::{FrameType, set_frame_size, write_frame};
use crate::codec::reader::{Fields, mandatory};
use crate::codec::writer::ListWriter;
use crate::codec::{Attribution, Condition, Malformed, Performative, Role};

const SOURCE: u64 = 0x28; // section 3.5.3
const TARGET: u64 = 0x29; // section 3.5.4

/// The message format of the standard (section 3.2.16).
const MESSAGE_FORMAT: u32 = 0;

/// Which deliveries the sender sends settled (section 2.8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderSettleMode {
    /// Every delivery is unsettled.
    Unsettled,
    /// Every delivery is settled when it is sent.
    Settled,
    /// Some deliveries are settled, some are not.
    Mixed,
}

impl SenderSettleMode {
    const fn from_byte(byte: u8) -> Self {
        match byte {
            0 => Self::Unsettled,
            1 => Self::Settled,
            _ => Self::Mixed,
        }
    }
}

/// A source or a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminus<'a> {
    /// The node's address.
    pub address: Option<&'a str>,
    /// Whether the peer is to create a node and choose its address.
    pub dynamic: bool,
}

impl<'a> Terminus<'a> {
    /// The terminus with this address.
    pub const fn at(address: &'a str) -> Self {
        Self {
            address: Some(address),
            dynamic: false,
        }
    }

    /// A terminus without an address.
    pub const ANONYMOUS: Self = Self {
        address: None,
        dynamic: false,
    };

    /// Reads the source or target with descriptor `code`. Another type (a transaction coordinator) counts as null.
    fn read(fields: &mut Fields<'a>, field: &'static str, code: u64) -> Result<Option<Self>, Malformed> {
        let Some((found, mut terminus)) = fields.described(field)? else {
            return Ok(None);
        };
        if found != code {
            return Ok(None);
        }
        let address = terminus.text("address")?;
        terminus.skip(3)?; // durable, expiry-policy, timeout
        let dynamic = terminus.boolean("dynamic")?.unwrap_or(false);
        Ok(Some(Self { address, dynamic }))
    }

    fn write(terminus: Option<Self>, code: u64, list: &mut ListWriter<'_>) {
        list.described(code as u8, terminus, |terminus, list| {
            list.string(terminus.address).null().null().null();
            list.flag(terminus.dynamic);
        });
    }
}

/// The start of a link (section 2.7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach<'a> {
    /// The link's name.
    pub name: &'a str,
    /// The sender's or receiver's number for the link.
    pub handle: u32,
    /// Which end of the link sent this attach.
    pub role: Role,
    /// Which deliveries the sender sends settled.
    pub snd_settle_mode: SenderSettleMode,
    /// Whether the receiver settles only after the sender (mode `second`).
    pub receiver_settles_second: bool,
    /// The source of messages.
    pub source: Option<Terminus<'a>>,
    /// The target of messages.
    pub target: Option<Terminus<'a>>,
    /// The initial delivery-count of a sender.
    pub initial_delivery_count: Option<u32>,
    /// The largest message that this end accepts, in bytes; 0 or null means no limit.
    pub max_message_size: Option<u64>,
}

impl<'a> Attach<'a> {
    pub(crate) fn read(mut fields: Fields<'a>) -> Result<Self, Malformed> {
        let name = mandatory(fields.text("name")?, "name")?;
        let handle = mandatory(fields.number("handle")?, "handle")?;
        let role = Role::read(&mut fields)?;
        let snd_settle_mode = fields.number("snd-settle-mode")?.unwrap_or(2);
        let rcv_settle_mode: u8 = fields.number("rcv-settle-mode")?.unwrap_or(0);
        let source = Terminus::read(&mut fields, "source", SOURCE)?;
        let target = Terminus::read(&mut fields, "target", TARGET)?;
        fields.skip(2)?; // unsettled, incomplete-unsettled: links are not resumed
        Ok(Self {
            name,
            handle,
            role,
            snd_settle_mode: SenderSettleMode::from_byte(snd_settle_mode),
            receiver_settles_second: rcv_settle_mode != 0,
            source,
            target,
            initial_delivery_count: fields.number("initial-delivery-count")?,
            max_message_size: fields.number("max-message-size")?,
        })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        let mode = self.snd_settle_mode;
        list.string(self.name)
            .uint(self.handle)
            .boolean(self.role.is_receiver())
            .ubyte((mode != SenderSettleMode::Mixed).then_some(mode as u8))
            .ubyte(self.receiver_settles_second.then_some(1));
        Terminus::write(self.source, SOURCE, list);
        Terminus::write(self.target, TARGET, list);
        list.null()
            .null()
            .uint(self.initial_delivery_count)
            .ulong(self.max_message_size);
    }
}

/// A message or a part of one (section 2.7.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer<'a> {
    /// The link.
    pub handle: u32,
    /// The delivery-id, in the first transfer of a delivery.
    pub delivery_id: Option<u32>,
    /// The delivery-tag, in the first transfer of a delivery.
    pub delivery_tag: Option<&'a [u8]>,
    /// The message-format, in the first transfer of a delivery.
    pub message_format: Option<u32>,
    /// Whether the delivery is settled at the sender.
    pub settled: Option<bool>,
    /// Whether more transfers of the message follow.
    pub more: bool,
    /// Whether the sender aborted the delivery.
    pub aborted: bool,
}

impl<'a> Transfer<'a> {
    pub(crate) fn read(mut fields: Fields<'a>) -> Result<Self, Malformed> {
        let handle = mandatory(fields.number("handle")?, "handle")?;
        let delivery_id = fields.number("delivery-id")?;
        let delivery_tag = fields.binary("delivery-tag")?;
        let message_format = fields.number("message-format")?;
        let settled = fields.boolean("settled")?;
        let more = fields.boolean("more")?.unwrap_or(false);
        fields.skip(3)?; // rcv-settle-mode, state, resume: links are not resumed
        let aborted = fields.boolean("aborted")?.unwrap_or(false);
        Ok(Self {
            handle,
            delivery_id,
            delivery_tag,
            message_format,
            settled,
            more,
            aborted,
        })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        list.uint(self.handle)
            .uint(self.delivery_id)
            .binary(self.delivery_tag)
            .uint(self.message_format)
            .boolean(self.settled)
            .flag(self.more)
            .null()
            .null()
            .null()
            .flag(self.aborted);
    }
}

/// The head of a transfer frame.
pub(crate) struct TransferHead {
    pub(crate) channel: u16,
    pub(crate) handle: u32,
    pub(crate) delivery_id: u32,
    pub(crate) settled: bool,
    /// Whether the frame is the first of its delivery.
    pub(crate) is_first: bool,
    /// The length of the frame in bytes, at most.
    pub(crate) max_frame_size: usize,
}

impl TransferHead {
    /// Appends the head to `out`. Returns how many of the remaining `left` bytes of the message the caller appends
    /// after it. `more` is set if the frame does not hold all of `left`.
    pub(crate) fn emit(&self, left: usize, scratch: &mut Vec<u8>, out: &mut Buffer) -> usize {
        let tag = self.delivery_id.to_be_bytes();
        let mut write = |more| {
            let transfer = Performative::Transfer(self.transfer(&tag, more));
            scratch.clear();
            write_frame(scratch, FrameType::Amqp, self.channel, |bytes| {
                transfer.write(bytes)
            });
            self.max_frame_size.saturating_sub(scratch.len())
        };
        let room = write(false);
        let taken = if left <= room { left } else { write(true).min(left) };
        let size = scratch.len() + taken;
        set_frame_size(scratch, 0, size);
        Attribution::MESSAGE.push(scratch, out);
        taken
    }

    fn transfer<'a>(&self, tag: &'a [u8], more: bool) -> Transfer<'a> {
        Transfer {
            handle: self.handle,
            delivery_id: self.is_first.then_some(self.delivery_id),
            delivery_tag: self.is_first.then_some(tag),
            message_format: self.is_first.then_some(MESSAGE_FORMAT),
            // Section 2.7.5: the default is unsettled.
            settled: (self.is_first && self.settled).then_some(true),
            more,
            aborted: false,
        }
    }
}

/// The end of a link (section 2.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detach<'a> {
    /// The link.
    pub handle: u32,
    /// Whether the link is closed for good.
    pub closed: bool,
    /// The error, if there was one.
    pub error: Option<Condition<'a>>,
}

impl<'a> Detach<'a> {
    pub(crate) fn read(mut fields: Fields<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            handle: mandatory(fields.number("handle")?, "handle")?,
            closed: fields.boolean("closed")?.unwrap_or(false),
            error: Condition::read(&mut fields, "error")?,
        })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        list.uint(self.handle).flag(self.closed);
        Condition::write(self.error, list);
    }
}
