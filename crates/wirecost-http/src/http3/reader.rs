//! Reads the frames of a request stream from pieces of any length (RFC 9114 section 4.1).
//!
//! A message is HEADERS, any number of DATA, and at most one HEADERS with trailers. Interim responses may precede a
//! response. Frames of unknown types may occur anywhere and are skipped (RFC 9114 section 9).

use quinn_proto::Side;

use super::frame::{self, Header};
use crate::fault::{Code, Fault};

/// The maximum length of a field section in bytes.
const MAX_SECTION_BYTES: u64 = 16 << 10;

/// The maximum length of a frame header in bytes.
const MAX_HEADER_BYTES: usize = 16;

/// A part of a request stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A frame header.
    Frame {
        /// Bytes of the header, including those in earlier pieces.
        header: usize,
        /// Bytes of the frame's content.
        content: u64,
        /// Whether it is a DATA frame.
        is_content: bool,
    },
    /// A complete field section.
    Section(Vec<u8>),
    /// A piece of the content.
    Data(&'a [u8]),
}

/// Reads a request stream.
#[derive(Clone, Debug)]
pub struct Reader {
    receiver: Side,
    state: State,
    sections: u32,
}

#[derive(Clone, Debug)]
enum State {
    /// Awaits the rest of a frame header.
    Header {
        bytes: [u8; MAX_HEADER_BYTES],
        len: usize,
    },
    /// Awaits the rest of a field section.
    Section { bytes: Vec<u8>, left: usize },
    /// Awaits the rest of a DATA frame.
    Data { left: u64 },
    /// Awaits the end of an ignored frame.
    Skip { left: u64 },
}

const AWAIT_HEADER: State = State::Header {
    bytes: [0; MAX_HEADER_BYTES],
    len: 0,
};

impl Reader {
    /// A reader at the start of a stream that `receiver` reads.
    pub const fn new(receiver: Side) -> Self {
        Self {
            receiver,
            state: AWAIT_HEADER,
            sections: 0,
        }
    }

    /// Reads from the front of `bytes` up to the next part. Returns `None` once all bytes are read.
    ///
    /// # Errors
    /// A frame that is not allowed here, or a field section above the limit.
    pub fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Part<'a>>, Fault> {
        while !bytes.is_empty() {
            let part = match &mut self.state {
                State::Header { .. } => self.header(bytes)?,
                State::Section { bytes: section, left } => {
                    let piece = take(bytes, *left as u64);
                    section.extend_from_slice(piece);
                    *left -= piece.len();
                    let is_complete = *left == 0;
                    is_complete.then(|| Part::Section(std::mem::take(section)))
                }
                State::Data { left } => {
                    let piece = take(bytes, *left);
                    *left -= piece.len() as u64;
                    Some(Part::Data(piece))
                }
                State::Skip { left } => {
                    *left -= take(bytes, *left).len() as u64;
                    None
                }
            };
            self.end_frame();
            if part.is_some() {
                return Ok(part);
            }
        }
        Ok(None)
    }

    /// Whether the stream may end here, between frames (RFC 9114 section 7.1).
    pub const fn is_between_frames(&self) -> bool {
        matches!(self.state, State::Header { len: 0, .. })
    }

    /// Starts the next frame if the current one has ended.
    fn end_frame(&mut self) {
        let has_ended = match &self.state {
            State::Header { .. } => false,
            State::Section { left, .. } => *left == 0,
            State::Data { left } | State::Skip { left } => *left == 0,
        };
        if has_ended {
            self.state = AWAIT_HEADER;
        }
    }

    fn header<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, Fault> {
        let State::Header { bytes, len } = &mut self.state else {
            return Ok(None);
        };
        let (Some((first, rest)), Some(place)) = (input.split_first(), bytes.get_mut(*len)) else {
            return Ok(None);
        };
        *place = *first;
        *input = rest;
        *len += 1;
        let Some((header, size)) = bytes.get(..*len).and_then(Header::read) else {
            return Ok(None);
        };
        self.state = self.begin(header)?;
        Ok(Some(Part::Frame {
            header: size,
            content: header.len,
            is_content: header.kind == frame::DATA,
        }))
    }

    /// The state for the content of a frame.
    fn begin(&mut self, header: Header) -> Result<State, Fault> {
        match header.kind {
            frame::HEADERS => self.begin_section(header.len),
            frame::DATA if self.sections == 0 => Err(Code::FrameUnexpected.fault("DATA before HEADERS")),
            frame::DATA => Ok(State::Data { left: header.len }),
            frame::CANCEL_PUSH | frame::SETTINGS | frame::GOAWAY | frame::MAX_PUSH_ID => {
                Err(Code::FrameUnexpected.fault("a frame of the control stream on a request stream"))
            }
            // RFC 9114 section 7.2.5: clients must not send it, and servers need a MAX_PUSH_ID, which was not sent.
            frame::PUSH_PROMISE if self.receiver.is_server() => {
                Err(Code::FrameUnexpected.fault("a client's PUSH_PROMISE"))
            }
            frame::PUSH_PROMISE => Err(Code::IdError.fault("a push that was not allowed")),
            kind if frame::is_forbidden(kind) => Err(Code::FrameUnexpected.fault("a frame of HTTP/2")),
            _ => Ok(State::Skip { left: header.len }),
        }
    }

    fn begin_section(&mut self, len: u64) -> Result<State, Fault> {
        if len > MAX_SECTION_BYTES {
            return Err(Code::ExcessiveLoad.fault("a field section above 16 KiB"));
        }
        if len == 0 {
            return Err(Code::QpackDecompressionFailed.fault("an empty field section"));
        }
        self.sections += 1;
        Ok(State::Section {
            bytes: Vec::with_capacity(len as usize),
            left: len as usize,
        })
    }
}

/// Removes up to `most` bytes from the front of `bytes`.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], most: u64) -> &'a [u8] {
    let len = usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len());
    let (head, tail) = bytes.split_at(len);
    *bytes = tail;
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Read = (Vec<Vec<u8>>, Vec<u8>, bool);

    /// The sections, the content, and whether the stream may end, read in pieces of `piece` bytes.
    fn read(stream: &[u8], piece: usize) -> Result<Read, Code> {
        let (mut reader, mut sections, mut content) = (Reader::new(Side::Client), Vec::new(), Vec::new());
        for mut bytes in stream.chunks(piece.max(1)) {
            while let Some(part) = reader.next(&mut bytes).map_err(|fault| fault.code)? {
                match part {
                    Part::Section(section) => sections.push(section),
                    Part::Data(data) => content.extend_from_slice(data),
                    Part::Frame { .. } => {}
                }
            }
        }
        Ok((sections, content, reader.is_between_frames()))
    }

    #[test]
    fn unknown_frames_inside_a_message_are_skipped() {
        let stream = b"\x01\x02ab\x21\x01x\x00\x03con\x00\x00\x00\x04tent\x40\x21\x00\x01\x01t";
        let expected = (vec![b"ab".to_vec(), b"t".to_vec()], b"content".to_vec(), true);
        for piece in 1..=stream.len() {
            assert_eq!(read(stream, piece), Ok(expected.clone()));
        }
    }

    #[test]
    fn misplaced_frames_are_refused() {
        let table: [(&[u8], Code); 11] = [
            (b"\x00\x01x", Code::FrameUnexpected),
            (b"\x04\x00", Code::FrameUnexpected),
            (b"\x07\x01\x00", Code::FrameUnexpected),
            (b"\x06\x08", Code::FrameUnexpected),
            (b"\x08\x00", Code::FrameUnexpected),
            (b"\x09\x00", Code::FrameUnexpected),
            (b"\x03\x01\x00", Code::FrameUnexpected),
            (b"\x0d\x01\x00", Code::FrameUnexpected),
            (b"\x05\x02", Code::IdError),
            (b"\x01\x80\x00\xff\xff", Code::ExcessiveLoad),
            (b"\x01\x00", Code::QpackDecompressionFailed),
        ];
        for (stream, code) in table {
            assert_eq!(read(stream, 1), Err(code), "{stream:x?}");
        }
        let promise = Reader::new(Side::Server).next(&mut &b"\x05\x02"[..]);
        assert_eq!(promise.map_err(|fault| fault.code), Err(Code::FrameUnexpected));
    }

    #[test]
    fn memory_does_not_follow_an_announced_length() {
        // HEADERS of 2^62 - 1 B.
        let stream = b"\x01\xff\xff\xff\xff\xff\xff\xff\xff";
        assert_eq!(read(stream, 1), Err(Code::ExcessiveLoad));
        // HEADERS of 16 KiB, the largest that is held.
        let mut reader = Reader::new(Side::Client);
        assert!(reader.next(&mut &b"\x01\x80\x00\x40\x00"[..]).is_ok());
        let State::Section { bytes, left } = &reader.state else {
            panic!("a section");
        };
        assert_eq!((bytes.capacity(), *left), (16 << 10, 16 << 10));
    }

    proptest! {
        #[test]
        fn the_cuts_of_a_stream_do_not_matter(stream: Vec<u8>, piece in 1usize..9) {
            prop_assert_eq!(read(&stream, piece), read(&stream, stream.len()));
        }
    }
}
