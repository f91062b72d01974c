//! The content of an AMQP frame (section 2.7).

use alloc::vec::Vec;

use wirecost_proto::Buffer;

use crate::codec::frame::{FrameTooLarge, emit_frame};
use crate::codec::writer::described_list;
use crate::codec::{
    Attach, Attribution, Begin, Condition, Detach, Disposition, Flow, FrameType, Malformed, Open, Reader,
    Transfer,
};

/// One of the nine performatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Performative<'a> {
    /// Negotiate a connection.
    Open(Open<'a>),
    /// Begin a session.
    Begin(Begin),
    /// Attach a link.
    Attach(Attach<'a>),
    /// Update windows and credit.
    Flow(Flow),
    /// Send a message.
    Transfer(Transfer<'a>),
    /// Report the state of deliveries.
    Disposition(Disposition<'a>),
    /// Detach a link.
    Detach(Detach<'a>),
    /// End a session, with the error if there was one (section 2.7.8).
    End(Option<Condition<'a>>),
    /// Close the connection, with the error if there was one (section 2.7.9).
    Close(Option<Condition<'a>>),
}

impl<'a> Performative<'a> {
    /// The performative at the start of a frame's body, and the bytes behind it: the payload of a transfer.
    ///
    /// # Errors
    /// The body is not a performative, or one of its fields is malformed.
    pub fn decode(body: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let mut reader = Reader::new(body);
        let (code, mut fields) = reader.described_list()?;
        let performative = match code {
            0x10 => Self::Open(Open::read(fields)?),
            0x11 => Self::Begin(Begin::read(fields)?),
            0x12 => Self::Attach(Attach::read(fields)?),
            0x13 => Self::Flow(Flow::read(fields)?),
            0x14 => Self::Transfer(Transfer::read(fields)?),
            0x15 => Self::Disposition(Disposition::read(fields)?),
            0x16 => Self::Detach(Detach::read(fields)?),
            0x17 => Self::End(Condition::read(&mut fields, "error")?),
            0x18 => Self::Close(Condition::read(&mut fields, "error")?),
            other => return Err(Malformed::DescribedType(other)),
        };
        Ok((performative, reader.rest()))
    }

    /// Appends the encoded performative to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Open(open) => described_list(out, 0x10, |list| open.write(list)),
            Self::Begin(begin) => described_list(out, 0x11, |list| begin.write(list)),
            Self::Attach(attach) => described_list(out, 0x12, |list| attach.write(list)),
            Self::Flow(flow) => described_list(out, 0x13, |list| flow.write(list)),
            Self::Transfer(transfer) => described_list(out, 0x14, |list| transfer.write(list)),
            Self::Disposition(disposition) => described_list(out, 0x15, |list| disposition.write(list)),
            Self::Detach(detach) => described_list(out, 0x16, |list| detach.write(list)),
            Self::End(error) => described_list(out, 0x17, |list| Condition::write(*error, list)),
            Self::Close(error) => described_list(out, 0x18, |list| Condition::write(*error, list)),
        }
    }

    /// Appends a frame with this performative and without payload to `out`.
    ///
    /// # Errors
    /// The frame has more than `limit` bytes. Nothing is appended.
    pub fn emit(
        &self,
        channel: u16,
        attribution: Attribution,
        limit: usize,
        out: &mut Buffer,
    ) -> Result<(), FrameTooLarge> {
        emit_frame(attribution, (FrameType::Amqp, channel), limit, out, |bytes| {
            self.write(bytes)
        })
    }

    /// The performative's name in the standard.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "open",
            Self::Begin(_) => "begin",
            Self::Attach(_) => "attach",
            Self::Flow(_) => "flow",
            Self::Transfer(_) => "transfer",
            Self::Disposition(_) => "disposition",
            Self::Detach(_) => "detach",
            Self::End(_) => "end",
            Self::Close(_) => "close",
        }
    }
}
