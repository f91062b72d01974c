//! The performatives of a link: attach, transfer and detach.

use alloc::vec::Vec;

use wirecost_proto::Buffer;

use crate::codec::frame::{FrameType, set_frame_size, write_frame};
use crate::codec::reader::{Fields, mandatory};
use crate::codec::writer::ListWriter;
use crate::codec::{Attribution, Condition, Malformed, Performative, Role};

const SOURCE: u64 = 0x28; // section 3.5.3
const TARGET: u64 = 0x29; // section 3.5.4

/// How the sender settles (section 2.8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderSettleMode {
    /// Every delivery is unsettled.
    Unsettled,
    /// Every delivery is settled when it is sent.
    Settled,
    /// Some of either kind.
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
    /// Whether the peer is to make up a node and its address.
    pub dynamic: bool,
}

impl<'a> Terminus<'a> {
    /// The terminus at `address`.
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

    /// The source or target, by `code`; one of another kind (a transaction coordinator) counts as none.
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
    /// Its number at the speaker.
    pub handle: u32,
    /// The speaker's end.
    pub role: Role,
    /// How the sender settles.
    pub snd_settle_mode: SenderSettleMode,
    /// Whether the receiver settles only after the sender has (mode `second`).
    pub receiver_settles_second: bool,
    /// Where messages come from.
    pub source: Option<Terminus<'a>>,
    /// Where messages go.
    pub target: Option<Terminus<'a>>,
    /// Where a sender's count of deliveries starts.
    pub initial_delivery_count: Option<u32>,
    /// The largest message that the speaker takes, in bytes; 0 or none is no limit.
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
    /// The delivery's number, on its first transfer.
    pub delivery_id: Option<u32>,
    /// The delivery's tag, on its first transfer.
    pub delivery_tag: Option<&'a [u8]>,
    /// The message's format, on its first transfer.
    pub message_format: Option<u32>,
    /// Whether the sender has forgotten it.
    pub settled: Option<bool>,
    /// Whether more of the message follows.
    pub more: bool,
    /// Whether the sender gave up amid the message.
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

/// Appends the head of a transfer frame to `out`; returns how many of the `left` bytes of the message go behind it.
///
/// The frame has at most `max_frame_size` bytes; `more` is set where not all is left in it.
pub(crate) fn emit_transfer(
    transfer: Transfer<'_>,
    channel: u16,
    left: usize,
    max_frame_size: usize,
    scratch: &mut Vec<u8>,
    out: &mut Buffer,
) -> usize {
    let mut write = |more| {
        scratch.clear();
        let transfer = Performative::Transfer(Transfer { more, ..transfer });
        write_frame(scratch, FrameType::Amqp, channel, |bytes| transfer.write(bytes));
        max_frame_size.saturating_sub(scratch.len())
    };
    let room = write(false);
    let taken = if left <= room { left } else { write(true).min(left) };
    let size = scratch.len() + taken;
    set_frame_size(scratch, 0, size);
    Attribution::MESSAGE.push(scratch, out);
    taken
}

/// The end of a link (section 2.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detach<'a> {
    /// The link.
    pub handle: u32,
    /// Whether the link is gone for good.
    pub closed: bool,
    /// Why, where something went wrong.
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
