//! Reads the data types of section 1.5 from the body of a packet.

use crate::codec::properties::Properties;
use crate::codec::{Binary, DecodeError, Malformed, PacketType, ProtocolError, Text, Version};
use crate::quality::PacketId;

/// The unread bytes of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The unread bytes.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn take(&mut self, needed: usize) -> Result<&'a [u8], Malformed> {
        let left = self.bytes.len();
        let (taken, rest) = self
            .bytes
            .split_at_checked(needed)
            .ok_or(Malformed::Truncated { needed, left })?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn two_byte_integer(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn four_byte_integer(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn variable_byte_integer(&mut self) -> Result<u32, Malformed> {
        let mut value = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 != 0 {
                continue;
            }
            // A last byte of 0 would be unnecessary [MQTT-1.5.5-1].
            if byte == 0 && shift != 0 {
                return Err(Malformed::VariableByteInteger);
            }
            return Ok(value);
        }
        Err(Malformed::VariableByteInteger)
    }

    pub(crate) fn text(&mut self) -> Result<Text<'a>, Malformed> {
        Text::decode(self.sized()?)
    }

    pub(crate) fn binary(&mut self) -> Result<Binary<'a>, Malformed> {
        self.sized().map(Binary::decode)
    }

    fn sized(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.two_byte_integer()?;
        self.take(usize::from(len))
    }

    pub(crate) fn packet_id(&mut self) -> Result<PacketId, DecodeError> {
        PacketId::new(self.two_byte_integer()?).ok_or(ProtocolError::PacketId.into())
    }

    /// The properties of a packet. MQTT 3.1.1 has none.
    pub(crate) fn properties(
        &mut self,
        version: Version,
        packet: PacketType,
    ) -> Result<Properties<'a>, DecodeError> {
        Properties::decode(self, version, packet.bit())
    }

    pub(crate) const fn finish(self) -> Result<(), Malformed> {
        match self.bytes.len() {
            0 => Ok(()),
            trailing => Err(Malformed::TrailingBytes(trailing)),
        }
    }
}
