//! The frames of a decrypted packet (RFC 9000 section 19), as far as their bytes must be distinguished.

use crate::http3::varint;

/// A frame in a packet: `header` bytes, then `data` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its kind.
    pub kind: Kind,
    /// Bytes before the data. Without data, the whole frame.
    pub header: usize,
    /// Bytes of CRYPTO or STREAM data.
    pub data: usize,
}

impl Frame {
    /// Bytes of the whole frame.
    pub const fn total(&self) -> usize {
        self.header + self.data
    }
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run of PADDING frames.
    Padding,
    /// PING.
    Ping,
    /// ACK.
    Ack {
        /// The largest packet number that it acknowledges.
        largest: u64,
    },
    /// CRYPTO.
    Crypto {
        /// Offset of its data.
        offset: u64,
    },
    /// STREAM.
    Stream {
        /// The stream ID.
        id: u64,
        /// Offset of its data.
        offset: u64,
        /// Whether it ends the stream.
        fin: bool,
    },
    /// CONNECTION_CLOSE of either type.
    Close,
    /// IMMEDIATE_ACK. A sender requests an ACK with it after a loss time-out.
    ImmediateAck,
    /// Any other frame, by its type.
    Control(u64),
    /// The rest of the packet, which is not a valid frame.
    Malformed,
}

impl Kind {
    /// Whether its only purpose is to elicit an acknowledgement.
    pub(crate) const fn is_probe(&self) -> bool {
        matches!(self, Self::Ping | Self::ImmediateAck)
    }

    /// Whether a packet with this frame must be acknowledged (RFC 9002 section 2).
    pub(crate) const fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Self::Padding | Self::Ack { .. } | Self::Close)
    }
}

/// The consecutive frames of `packet`. The last one covers bytes that cannot be read.
pub fn frames(packet: &[u8]) -> impl Iterator<Item = Frame> {
    let mut rest = packet;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let frame = read(rest)
            .filter(|frame| frame.total() <= rest.len())
            .unwrap_or(Frame {
                kind: Kind::Malformed,
                header: rest.len(),
                data: 0,
            });
        rest = rest.get(frame.total()..).unwrap_or_default();
        Some(frame)
    })
}

fn read(bytes: &[u8]) -> Option<Frame> {
    let mut fields = Fields { bytes, at: 0 };
    let number = fields.next()?;
    let kind = match number {
        0x00 => {
            // After the first PADDING frame, whose type may be encoded in more bytes than needed (RFC 9000 section
            // 12.4).
            let more = bytes.iter().skip(fields.at);
            fields.at += more.take_while(|byte| **byte == 0).count();
            Kind::Padding
        }
        0x01 => Kind::Ping,
        0x02 | 0x03 => ack(&mut fields, number == 0x03)?,
        0x06 => {
            let offset = fields.next()?;
            return with_data(fields, Kind::Crypto { offset }, true);
        }
        0x08..=0x0f => return stream(fields, number),
        0x1c | 0x1d => {
            // The application's variant has no Frame Type (RFC 9000 section 19.19).
            fields.skip_integers(if number == 0x1c { 2 } else { 1 })?;
            fields.skip_counted()?;
            Kind::Close
        }
        // draft-ietf-quic-ack-frequency section 5.
        0x1f => Kind::ImmediateAck,
        _ => {
            control(&mut fields, number)?;
            Kind::Control(number)
        }
    };
    Some(Frame {
        kind,
        header: fields.at,
        data: 0,
    })
}

/// RFC 9000 section 19.3.
fn ack(fields: &mut Fields<'_>, with_ecn: bool) -> Option<Kind> {
    let largest = fields.next()?;
    fields.skip_integers(1)?;
    let ranges = fields.next()?;
    fields.skip_integers(1)?;
    fields.skip_integers(ranges.checked_mul(2)?)?;
    if with_ecn {
        fields.skip_integers(3)?;
    }
    Some(Kind::Ack { largest })
}

/// RFC 9000 section 19.8: the low bits of the type select the fields.
fn stream(mut fields: Fields<'_>, number: u64) -> Option<Frame> {
    let id = fields.next()?;
    let offset = if number & 0x04 == 0 { 0 } else { fields.next()? };
    let fin = number & 0x01 != 0;
    with_data(fields, Kind::Stream { id, offset, fin }, number & 0x02 != 0)
}

/// A frame with data that has a length or extends to the end of the packet.
fn with_data(mut fields: Fields<'_>, kind: Kind, is_counted: bool) -> Option<Frame> {
    let data = if is_counted {
        usize::try_from(fields.next()?).ok()?
    } else {
        fields.bytes.len().checked_sub(fields.at)?
    };
    fields.at.checked_add(data)?;
    Some(Frame {
        kind,
        header: fields.at,
        data,
    })
}

fn control(fields: &mut Fields<'_>, number: u64) -> Option<()> {
    match number {
        // HANDSHAKE_DONE.
        0x1e => Some(()),
        // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
        0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => fields.skip_integers(1),
        // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
        0x05 | 0x11 | 0x15 => fields.skip_integers(2),
        // RESET_STREAM.
        0x04 => fields.skip_integers(3),
        // NEW_TOKEN; DATAGRAM with a length (RFC 9221 section 4).
        0x07 | 0x31 => fields.skip_counted(),
        // DATAGRAM to the end of the packet.
        0x30 => {
            fields.at = fields.bytes.len();
            Some(())
        }
        // NEW_CONNECTION_ID: the id's length is one byte, the reset token 16.
        0x18 => {
            fields.skip_integers(2)?;
            let len = usize::from(*fields.bytes.get(fields.at)?);
            fields.skip_bytes(1 + len + 16)
        }
        // PATH_CHALLENGE, PATH_RESPONSE.
        0x1a | 0x1b => fields.skip_bytes(8),
        // ACK_FREQUENCY (draft-ietf-quic-ack-frequency section 4).
        0xaf => fields.skip_integers(4),
        _ => None,
    }
}

struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn next(&mut self) -> Option<u64> {
        let (value, len) = varint::read(self.bytes.get(self.at..)?)?;
        self.at += len;
        Some(value)
    }

    fn skip_integers(&mut self, count: u64) -> Option<()> {
        for _ in 0..count {
            self.next()?;
        }
        Some(())
    }

    fn skip_counted(&mut self) -> Option<()> {
        let len = usize::try_from(self.next()?).ok()?;
        self.skip_bytes(len)
    }

    fn skip_bytes(&mut self, len: usize) -> Option<()> {
        self.at = self.at.checked_add(len)?;
        (self.at <= self.bytes.len()).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_of_the_standard_has_its_length() {
        let table: [(&[u8], Kind, usize, usize); 22] = [
            (&[0, 0, 0], Kind::Padding, 3, 0),
            (&[0x80, 0, 0, 0, 0], Kind::Padding, 5, 0),
            (&[1], Kind::Ping, 1, 0),
            (&[2, 9, 0, 0, 3], Kind::Ack { largest: 9 }, 5, 0),
            (&[2, 9, 0, 1, 3, 0, 1], Kind::Ack { largest: 9 }, 7, 0),
            (&[3, 9, 0, 0, 3, 1, 2, 3], Kind::Ack { largest: 9 }, 8, 0),
            (&[4, 0, 1, 2], Kind::Control(4), 4, 0),
            (&[5, 0, 1], Kind::Control(5), 3, 0),
            (&[6, 0x40, 0x80, 2, 7, 7], Kind::Crypto { offset: 128 }, 4, 2),
            (&[7, 2, 8, 8], Kind::Control(7), 4, 0),
            (&[8, 4, 7, 7], stream_kind(4, 0, false), 2, 2),
            (&[0x0f, 4, 5, 1, 7], stream_kind(4, 5, true), 4, 1),
            (&[0x10, 1], Kind::Control(0x10), 2, 0),
            (&[0x11, 0, 1], Kind::Control(0x11), 3, 0),
            (&[0x19, 1], Kind::Control(0x19), 2, 0),
            (&[0x1a, 1, 2, 3, 4, 5, 6, 7, 8], Kind::Control(0x1a), 9, 0),
            (&[0x1c, 1, 0, 1, b'x'], Kind::Close, 5, 0),
            (&[0x1d, 0x41, 0, 0], Kind::Close, 4, 0),
            (&[0x1e], Kind::Control(0x1e), 1, 0),
            (&[0x1f], Kind::ImmediateAck, 1, 0),
            (&[0x31, 1, 5], Kind::Control(0x31), 3, 0),
            (&[0x40, 0xaf, 0, 1, 2, 3], Kind::Control(0xaf), 6, 0),
        ];
        for (bytes, kind, header, data) in table {
            let expected = Frame { kind, header, data };
            assert_eq!(frames(bytes).collect::<Vec<_>>(), [expected], "{bytes:x?}");
        }
    }

    fn stream_kind(id: u64, offset: u64, fin: bool) -> Kind {
        Kind::Stream { id, offset, fin }
    }

    #[test]
    fn an_invalid_frame_covers_the_rest() {
        let table: [&[u8]; 4] = [&[0x21], &[6, 0, 9, 1], &[2, 1, 0, 0x3f, 0], &[0x18, 1, 0, 4, 1]];
        for bytes in table {
            let packet = [&[1], bytes].concat();
            let last = frames(&packet).last();
            let expected = Frame {
                kind: Kind::Malformed,
                header: bytes.len(),
                data: 0,
            };
            assert_eq!(last, Some(expected), "{bytes:x?}");
        }
    }
}
