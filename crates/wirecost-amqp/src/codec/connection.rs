//! The performatives of a connection: open and close.

use crate::codec::reader::{Fields, mandatory};
use crate::codec::writer::ListWriter;
use crate::codec::{Condition, Malformed};

/// What a peer says of itself and its limits (section 2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// The name of the container.
    pub container_id: &'a str,
    /// The host that is asked for.
    pub hostname: Option<&'a str>,
    /// The largest frame that it takes, in bytes; `u32::MAX` where it set none.
    pub max_frame_size: u32,
    /// The highest channel number that it takes.
    pub channel_max: u16,
    /// After how many milliseconds without a frame it gives up.
    pub idle_time_out: Option<u32>,
}

impl<'a> Open<'a> {
    pub(crate) fn read(mut fields: Fields<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            container_id: mandatory(fields.text("container-id")?, "container-id")?,
            hostname: fields.text("hostname")?,
            max_frame_size: fields.number("max-frame-size")?.unwrap_or(u32::MAX),
            channel_max: fields.number("channel-max")?.unwrap_or(u16::MAX),
            idle_time_out: fields.number("idle-time-out")?,
        })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        list.string(self.container_id)
            .string(self.hostname)
            .uint((self.max_frame_size != u32::MAX).then_some(self.max_frame_size))
            .ushort((self.channel_max != u16::MAX).then_some(self.channel_max))
            .uint(self.idle_time_out);
    }
}

/// The end of a connection (section 2.7.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// Why, where something went wrong.
    pub error: Option<Condition<'a>>,
}

impl<'a> Close<'a> {
    pub(crate) fn read(mut fields: Fields<'a>) -> Result<Self, Malformed> {
        let error = Condition::read(&mut fields, "error")?;
        Ok(Self { error })
    }

    pub(crate) fn write(&self, list: &mut ListWriter<'_>) {
        Condition::write(self.error, list);
    }
}
