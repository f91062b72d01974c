//! The peer's unidirectional streams: control, QPACK, and those that mean nothing here (RFC 9114 section 6.2).

use super::error::{Code, Fault};
use super::frame::{self, Header};
use super::reader::take;
use super::varint;

/// Stream type of the control stream (RFC 9114 section 6.2.1).
pub const CONTROL: u64 = 0x00;
/// Stream type of a push stream (RFC 9114 section 6.2.2).
const PUSH: u64 = 0x01;
/// Stream type of the QPACK encoder's stream (RFC 9204 section 4.2).
const QPACK_ENCODER: u64 = 0x02;
/// Stream type of the QPACK decoder's stream (RFC 9204 section 4.2).
const QPACK_DECODER: u64 = 0x03;

/// Bytes of the longest frame on a control stream that is looked at.
const MAX_FRAME_BYTES: u64 = 4 << 10;

/// What the peer's control stream said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// GOAWAY: it takes no request with this stream id or a larger one (RFC 9114 section 5.2).
    GoAway(u64),
}

/// Which of the streams that must be at most one each have been opened by the peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opened {
    control: bool,
    encoder: bool,
    decoder: bool,
}

/// Reads one of the peer's unidirectional streams.
#[derive(Clone, Debug)]
pub struct Reader {
    /// What is here of a stream type or of a frame, not yet complete.
    partial: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    AwaitType,
    AwaitSettings,
    Control,
    SkipFrame { left: u64 },
    Encoder,
    Skip { is_critical: bool },
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            partial: Vec::new(),
            state: State::AwaitType,
        }
    }
}

impl Reader {
    /// Takes all of `bytes`, and tells `hear` what they say.
    ///
    /// # Errors
    /// What the peer must not send there.
    pub fn read(
        &mut self,
        bytes: &[u8],
        opened: &mut Opened,
        mut hear: impl FnMut(Said),
    ) -> Result<(), Fault> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match &mut self.state {
                State::AwaitType => {
                    self.partial.extend_from_slice(take(&mut rest, 1));
                    if let Some((kind, _)) = varint::read(&self.partial) {
                        self.partial.clear();
                        self.state = opened.begin(kind)?;
                    }
                }
                State::AwaitSettings | State::Control => self.control(&mut rest, &mut hear)?,
                State::SkipFrame { left } => {
                    *left -= take(&mut rest, *left).len() as u64;
                    if *left == 0 {
                        self.state = State::Control;
                    }
                }
                State::Encoder => check_encoder(std::mem::take(&mut rest))?,
                State::Skip { .. } => rest = &[],
            }
        }
        Ok(())
    }

    /// Takes that the stream has ended.
    ///
    /// # Errors
    /// The control and QPACK streams must not end (RFC 9114 section 6.2.1, RFC 9204 section 4.2).
    pub fn end(&self) -> Result<(), Fault> {
        match self.state {
            State::AwaitType | State::Skip { is_critical: false } => Ok(()),
            _ => Err(Fault::new(
                Code::ClosedCriticalStream,
                "a control or QPACK stream ended",
            )),
        }
    }

    /// Takes one byte, or what completes a frame, off a control stream.
    fn control(&mut self, rest: &mut &[u8], hear: &mut impl FnMut(Said)) -> Result<(), Fault> {
        let Some((header, size)) = Header::read(&self.partial) else {
            self.partial.extend_from_slice(take(rest, 1));
            return self.finish_frame(hear);
        };
        let missing = (size as u64 + header.len).saturating_sub(self.partial.len() as u64);
        self.partial.extend_from_slice(take(rest, missing));
        self.finish_frame(hear)
    }

    /// Looks at the frame that is here: begins it, and ends it where it is complete.
    fn finish_frame(&mut self, hear: &mut impl FnMut(Said)) -> Result<(), Fault> {
        let Some((header, size)) = Header::read(&self.partial) else {
            return Ok(());
        };
        let is_known = self.admit(header.kind)?;
        if !is_known {
            // Its length may be anything.
            let here = (self.partial.len() - size) as u64;
            self.partial.clear();
            let left = header.len.saturating_sub(here);
            self.state = if left == 0 {
                State::Control
            } else {
                State::SkipFrame { left }
            };
            return Ok(());
        }
        if header.len > MAX_FRAME_BYTES {
            return Err(Fault::new(Code::ExcessiveLoad, "a control frame above 4 KiB"));
        }
        let content = self.partial.get(size..).unwrap_or_default();
        if (content.len() as u64) < header.len {
            return Ok(());
        }
        let said = read_control(header.kind, content)?;
        said.into_iter().for_each(hear);
        self.partial.clear();
        self.state = State::Control;
        Ok(())
    }

    /// Whether a frame's content means something here.
    fn admit(&self, kind: u64) -> Result<bool, Fault> {
        let awaits_settings = matches!(self.state, State::AwaitSettings);
        match kind {
            frame::SETTINGS if awaits_settings => Ok(true),
            _ if awaits_settings => Err(Fault::new(
                Code::MissingSettings,
                "the control stream does not begin with SETTINGS",
            )),
            frame::SETTINGS | frame::DATA | frame::HEADERS | frame::PUSH_PROMISE => Err(Fault::new(
                Code::FrameUnexpected,
                "a second SETTINGS, or a frame of a request stream, on the control stream",
            )),
            kind if frame::is_forbidden(kind) => Err(Fault::new(Code::FrameUnexpected, "a frame of HTTP/2")),
            frame::GOAWAY | frame::MAX_PUSH_ID | frame::CANCEL_PUSH => Ok(true),
            _ => Ok(false),
        }
    }
}

impl Opened {
    fn begin(&mut self, kind: u64) -> Result<State, Fault> {
        let (was_opened, state) = match kind {
            CONTROL => (&mut self.control, State::AwaitSettings),
            QPACK_ENCODER => (&mut self.encoder, State::Encoder),
            QPACK_DECODER => (&mut self.decoder, State::Skip { is_critical: true }),
            // Clients allow none, and servers get none (RFC 9114 section 6.2.2).
            PUSH => return Err(Fault::new(Code::StreamCreationError, "a push stream")),
            _ => return Ok(State::Skip { is_critical: false }),
        };
        if std::mem::replace(was_opened, true) {
            return Err(Fault::new(
                Code::StreamCreationError,
                "a second control or QPACK stream",
            ));
        }
        Ok(state)
    }
}

fn read_control(kind: u64, content: &[u8]) -> Result<Option<Said>, Fault> {
    if kind == frame::SETTINGS {
        frame::check_settings(content)?;
        return Ok(None);
    }
    // GOAWAY, MAX_PUSH_ID and CANCEL_PUSH are one integer each.
    match varint::read(content) {
        Some((id, len)) if len == content.len() => Ok((kind == frame::GOAWAY).then_some(Said::GoAway(id))),
        _ => Err(Fault::new(Code::FrameError, "a frame that is not one integer")),
    }
}

/// With a capacity of 0 the encoder has nothing to say but that it sets it to 0 (RFC 9204 section 4.3.1).
fn check_encoder(instructions: &[u8]) -> Result<(), Fault> {
    const SET_CAPACITY_0: u8 = 0x20;
    if instructions.iter().all(|byte| *byte == SET_CAPACITY_0) {
        return Ok(());
    }
    Err(Fault::new(
        Code::QpackEncoderStreamError,
        "an entry for a dynamic table of capacity 0",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &[u8], piece: usize) -> Result<Vec<Said>, Code> {
        let (mut reader, mut opened, mut said) = (Reader::default(), Opened::default(), Vec::new());
        for bytes in stream.chunks(piece) {
            reader
                .read(bytes, &mut opened, |what| said.push(what))
                .map_err(|fault| fault.code)?;
        }
        Ok(said)
    }

    #[test]
    fn what_the_standard_allows_is_heard_or_skipped() {
        let table: [(&[u8], &[Said]); 5] = [
            (b"\x00\x04\x00", &[]),
            (b"\x00\x04\x02\x01\x00\x21\x03xyz\x07\x01\x08", &[Said::GoAway(8)]),
            (b"\x02\x20", &[]),
            (b"\x03\x01\x80", &[]),
            (b"\x40\x54whatever", &[]),
        ];
        for (stream, said) in table {
            for piece in 1..=stream.len() {
                assert_eq!(read(stream, piece).as_deref(), Ok(said), "{stream:x?} by {piece}");
            }
        }
    }

    #[test]
    fn what_it_does_not_allow_has_its_code() {
        let table: [(&[u8], Code); 9] = [
            (b"\x00\x07\x01\x00", Code::MissingSettings),
            (b"\x00\x21\x00", Code::MissingSettings),
            (b"\x00\x04\x00\x04\x00", Code::FrameUnexpected),
            (b"\x00\x04\x00\x00\x01x", Code::FrameUnexpected),
            (b"\x00\x04\x00\x02\x00", Code::FrameUnexpected),
            (b"\x00\x04\x00\x07\x02\x00\x00", Code::FrameError),
            (b"\x00\x04\x80\x00\xff\xff", Code::ExcessiveLoad),
            (b"\x01\x00", Code::StreamCreationError),
            (b"\x02\x3f\xe1\x1f", Code::QpackEncoderStreamError),
        ];
        for (stream, code) in table {
            for piece in 1..=stream.len() {
                assert_eq!(read(stream, piece), Err(code), "{stream:x?} by {piece}");
            }
        }
    }

    #[test]
    fn there_is_one_control_stream_and_it_does_not_end() {
        let mut opened = Opened::default();
        let (mut one, mut two) = (Reader::default(), Reader::default());
        one.read(b"\x00\x04\x00", &mut opened, |_| {})
            .expect("a control stream");
        let second = two.read(b"\x00", &mut opened, |_| {});
        assert_eq!(second.map_err(|fault| fault.code), Err(Code::StreamCreationError));
        assert_eq!(
            one.end().map_err(|fault| fault.code),
            Err(Code::ClosedCriticalStream)
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(stream: Vec<u8>, piece in 1usize..9) {
            let _ = read(&stream, piece);
        }
    }
}
