//! The performative open.

use crate::codec::Malformed;
use crate::codec::reader::{Fields, mandatory};
use crate::codec::writer::ListWriter;

/// The name and the limits of a peer (section 2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// The container-id.
    pub container_id: &'a str,
    /// The host that the peer connects to.
    pub hostname: Option<&'a str>,
    /// The largest frame that the peer accepts, in bytes; `u32::MAX` if it did not say.
    pub max_frame_size: u32,
    /// The highest channel number that the peer accepts.
    pub channel_max: u16,
    /// The peer's idle time-out in milliseconds.
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
