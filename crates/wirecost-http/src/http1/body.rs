//! Content: with a length, in chunks, or until the connection closes (RFC 9112 section 6.3).
//!
//! ```text
//! chunk size [; extension] CRLF     Size, Extension, SizeEnd
//! data                              Data
//! CRLF                              DataEnd, DataCr, and again, until a chunk of size 0
//! [trailer field CRLF]* CRLF        TrailerLine to LastCr (RFC 9112 section 7.1)
//! ```

use wirecost_proto::Layer;

use crate::message::Malformed;

/// The most bytes of chunk extensions and trailer fields per message. A receiver must limit them (RFC 9112 section
/// 7.1.1).
const MAXIMUM_EXTRA_BYTES: usize = 16 << 10;

/// The most hexadecimal digits of a chunk size: 2^60 bytes, so that sizes cannot overflow.
const MAXIMUM_SIZE_DIGITS: u8 = 15;

/// The remaining content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// This many bytes.
    Length(u64),
    /// Chunks.
    Chunked(Chunk),
    /// Everything until the connection closes.
    UntilClose,
}

/// The state of chunked content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    stage: Stage,
    /// Bytes of extensions and trailer fields so far.
    extra: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Size {
        size: u64,
        digits: u8,
    },
    Extension {
        size: u64,
    },
    SizeEnd {
        size: u64,
    },
    Data {
        missing: u64,
    },
    DataEnd,
    DataCr,
    /// The start of a line.
    TrailerLine,
    TrailerField,
    /// CR after a field.
    TrailerCr,
    /// CR of the empty line.
    LastCr,
}

/// A run of bytes of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of bytes.
    pub len: usize,
    /// Payload for content, application for chunk framing.
    pub layer: Layer,
    /// Whether the content ends with these bytes.
    pub is_last: bool,
}

impl Body {
    /// The start of chunked content.
    pub const CHUNKED: Self = Self::Chunked(Chunk {
        stage: Stage::Size { size: 0, digits: 0 },
        extra: 0,
    });

    /// Content of this length, or `None` if it is empty.
    pub fn of_length(bytes: u64) -> Option<Self> {
        (bytes > 0).then_some(Self::Length(bytes))
    }

    /// Classifies the first bytes of `bytes`, which must not be empty.
    ///
    /// # Errors
    /// The bytes are not chunked content.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Piece, Malformed> {
        match self {
            Self::Length(missing) => {
                let len = take_missing(missing, bytes);
                let is_last = *missing == 0;
                let layer = Layer::Payload;
                Ok(Piece { len, layer, is_last })
            }
            Self::UntilClose => Ok(Piece {
                len: bytes.len(),
                layer: Layer::Payload,
                is_last: false,
            }),
            Self::Chunked(chunk) => chunk.take(bytes),
        }
    }
}

/// Subtracts the bytes at hand from `missing`. Returns their number.
fn take_missing(missing: &mut u64, bytes: &[u8]) -> usize {
    let len = usize::try_from(*missing).unwrap_or(usize::MAX).min(bytes.len());
    *missing -= len as u64;
    len
}

impl Chunk {
    fn take(&mut self, bytes: &[u8]) -> Result<Piece, Malformed> {
        if let Stage::Data { missing } = &mut self.stage {
            let len = take_missing(missing, bytes);
            if *missing == 0 {
                self.stage = Stage::DataEnd;
            }
            let (layer, is_last) = (Layer::Payload, false);
            return Ok(Piece { len, layer, is_last });
        }
        let mut piece = Piece {
            len: 0,
            layer: Layer::Application,
            is_last: false,
        };
        for byte in bytes {
            piece.len += 1;
            match self.next_stage(*byte)? {
                Some(stage) => self.stage = stage,
                None => {
                    piece.is_last = true;
                    break;
                }
            }
            if matches!(self.stage, Stage::Data { .. }) {
                break;
            }
        }
        Ok(piece)
    }

    /// The stage after a byte of framing, or `None` after the last byte. A bare CR or LF is an error, because two
    /// readers could disagree on the end of a chunk.
    fn next_stage(&mut self, byte: u8) -> Result<Option<Stage>, Malformed> {
        let stage = match (self.stage, byte) {
            (Stage::Size { size, digits: 1.. }, b'\r') => Stage::SizeEnd { size },
            (Stage::Size { size, digits: 1.. }, b';' | b' ' | b'\t') => Stage::Extension { size },
            (Stage::Size { size, digits }, byte) => add_digit(size, digits, byte)?,
            (Stage::Extension { size }, b'\r') => Stage::SizeEnd { size },
            (Stage::Extension { .. }, byte) => self.extra(byte)?,
            (Stage::SizeEnd { size: 0 }, b'\n') | (Stage::TrailerCr, b'\n') => Stage::TrailerLine,
            (Stage::SizeEnd { size }, b'\n') => Stage::Data { missing: size },
            (Stage::DataEnd, b'\r') => Stage::DataCr,
            (Stage::DataCr, b'\n') => Stage::Size { size: 0, digits: 0 },
            (Stage::TrailerLine, b'\r') => Stage::LastCr,
            (Stage::TrailerField, b'\r') => Stage::TrailerCr,
            (Stage::LastCr, b'\n') => return Ok(None),
            (Stage::TrailerLine | Stage::TrailerField, byte) => {
                self.extra(byte)?;
                Stage::TrailerField
            }
            _ => return Err(Malformed::Chunk),
        };
        Ok(Some(stage))
    }

    /// Counts a byte of an extension or trailer field. The stage stays the same.
    fn extra(&mut self, byte: u8) -> Result<Stage, Malformed> {
        self.extra += 1;
        if byte == b'\n' || self.extra > MAXIMUM_EXTRA_BYTES {
            return Err(Malformed::Chunk);
        }
        Ok(self.stage)
    }
}

fn add_digit(size: u64, digits: u8, byte: u8) -> Result<Stage, Malformed> {
    let digit = char::from(byte).to_digit(16).ok_or(Malformed::Chunk)?;
    if digits >= MAXIMUM_SIZE_DIGITS {
        return Err(Malformed::Chunk);
    }
    Ok(Stage::Size {
        size: size * 16 + u64::from(digit),
        digits: digits + 1,
    })
}
