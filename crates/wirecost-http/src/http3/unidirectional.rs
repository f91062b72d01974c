//! The peer's unidirectional streams: control, QPACK, and unknown types (RFC 9114 section 6.2).

use quinn_proto::Side;

use super::frame::{self, Header};
use super::reader::take;
use super::varint;
use crate::fault::{Code, Fault};

/// Stream type of the control stream (RFC 9114 section 6.2.1).
pub const CONTROL: u64 = 0x00;
/// Stream type of a push stream (RFC 9114 section 6.2.2).
const PUSH: u64 = 0x01;
/// Stream type of the QPACK encoder's stream (RFC 9204 section 4.2).
const QPACK_ENCODER: u64 = 0x02;
/// Stream type of the QPACK decoder's stream (RFC 9204 section 4.2).
const QPACK_DECODER: u64 = 0x03;

/// The maximum length of a known frame on a control stream, in bytes.
const MAX_FRAME_BYTES: u64 = 4 << 10;

/// The common state of a peer's unidirectional streams: the streams that may exist once, and the limits for
/// identifiers on the control stream.
#[derive(Clone, Copy, Debug)]
pub struct PeerStreams {
    receiver: Side,
    control: bool,
    encoder: bool,
    decoder: bool,
    /// The ID in the last GOAWAY. The next one must not be larger (RFC 9114 section 5.2).
    going_away: Option<u64>,
    /// The ID in the last MAX_PUSH_ID. The next one must not be smaller (RFC 9114 section 7.2.7).
    max_push_id: Option<u64>,
}

/// Reads one of the peer's unidirectional streams.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Bytes of an incomplete stream type or frame.
    partial: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    AwaitType,
    AwaitSettings,
    Control,
    SkipFrame {
        left: u64,
    },
    Encoder,
    /// `is_within` says whether a stream cancellation continues with the next byte.
    Decoder {
        is_within: bool,
    },
    Skip,
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
    /// Reads all of `bytes` and passes the stream ID of every GOAWAY to `on_go_away`: the peer processes no request on this
    /// stream or a later one (RFC 9114 section 5.2).
    ///
    /// # Errors
    /// Bytes that the peer must not send there.
    pub fn read(
        &mut self,
        bytes: &[u8],
        streams: &mut PeerStreams,
        mut on_go_away: impl FnMut(u64),
    ) -> Result<(), Fault> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match &mut self.state {
                State::AwaitType => {
                    self.partial.extend_from_slice(take(&mut rest, 1));
                    if let Some((kind, _)) = varint::read(&self.partial) {
                        self.partial.clear();
                        self.state = streams.begin(kind)?;
                    }
                }
                State::AwaitSettings | State::Control => self.control(&mut rest, streams, &mut on_go_away)?,
                State::SkipFrame { left } => {
                    *left -= take(&mut rest, *left).len() as u64;
                    if *left == 0 {
                        self.state = State::Control;
                    }
                }
                State::Encoder => check_encoder(std::mem::take(&mut rest))?,
                State::Decoder { is_within } => check_decoder(is_within, std::mem::take(&mut rest))?,
                State::Skip => rest = &[],
            }
        }
        Ok(())
    }

    /// Handles the end of the stream.
    ///
    /// # Errors
    /// The control and QPACK streams must not end (RFC 9114 section 6.2.1, RFC 9204 section 4.2).
    pub fn end(&self) -> Result<(), Fault> {
        match self.state {
            State::AwaitType | State::Skip => Ok(()),
            _ => Err(Code::ClosedCriticalStream.fault("a control or QPACK stream ended")),
        }
    }

    /// Reads one byte, or the rest of a frame, from a control stream.
    fn control(
        &mut self,
        rest: &mut &[u8],
        streams: &mut PeerStreams,
        on_go_away: &mut impl FnMut(u64),
    ) -> Result<(), Fault> {
        let Some((header, size)) = Header::read(&self.partial) else {
            self.partial.extend_from_slice(take(rest, 1));
            return self.finish_frame(streams, on_go_away);
        };
        let missing = (size as u64 + header.len).saturating_sub(self.partial.len() as u64);
        self.partial.extend_from_slice(take(rest, missing));
        self.finish_frame(streams, on_go_away)
    }

    /// Checks the current frame, and handles it if it is complete.
    fn finish_frame(
        &mut self,
        streams: &mut PeerStreams,
        on_go_away: &mut impl FnMut(u64),
    ) -> Result<(), Fault> {
        let Some((header, size)) = Header::read(&self.partial) else {
            return Ok(());
        };
        let is_known = self.admit(header.kind, streams.receiver)?;
        if !is_known {
            // An unknown frame may have any length.
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
            return Err(Code::ExcessiveLoad.fault("a control frame above 4 KiB"));
        }
        let content = self.partial.get(size..).unwrap_or_default();
        if (content.len() as u64) < header.len {
            return Ok(());
        }
        let said = streams.read_control(header.kind, content)?;
        said.into_iter().for_each(on_go_away);
        self.partial.clear();
        self.state = State::Control;
        Ok(())
    }

    /// Whether the content of a frame matters.
    fn admit(&self, kind: u64, receiver: Side) -> Result<bool, Fault> {
        let awaits_settings = matches!(self.state, State::AwaitSettings);
        match kind {
            frame::SETTINGS if awaits_settings => Ok(true),
            _ if awaits_settings => {
                Err(Code::MissingSettings.fault("the control stream does not begin with SETTINGS"))
            }
            frame::SETTINGS | frame::DATA | frame::HEADERS | frame::PUSH_PROMISE => {
                Err(Code::FrameUnexpected
                    .fault("a second SETTINGS, or a frame of a request stream, on the control stream"))
            }
            // RFC 9114 section 7.2.7.
            frame::MAX_PUSH_ID if receiver.is_client() => {
                Err(Code::FrameUnexpected.fault("a server's MAX_PUSH_ID"))
            }
            kind if frame::is_forbidden(kind) => Err(Code::FrameUnexpected.fault("a frame of HTTP/2")),
            frame::GOAWAY | frame::MAX_PUSH_ID | frame::CANCEL_PUSH => Ok(true),
            _ => Ok(false),
        }
    }
}

impl PeerStreams {
    /// The state before the peer has opened a stream. `receiver` is this side.
    pub const fn new(receiver: Side) -> Self {
        Self {
            receiver,
            control: false,
            encoder: false,
            decoder: false,
            going_away: None,
            max_push_id: None,
        }
    }

    fn begin(&mut self, kind: u64) -> Result<State, Fault> {
        let (was_opened, state) = match kind {
            CONTROL => (&mut self.control, State::AwaitSettings),
            QPACK_ENCODER => (&mut self.encoder, State::Encoder),
            QPACK_DECODER => (&mut self.decoder, State::Decoder { is_within: false }),
            // Clients must not open one (RFC 9114 section 6.2.2), and servers need a MAX_PUSH_ID, which was not sent
            // (RFC 9114 section 4.6).
            PUSH if self.receiver.is_server() => {
                return Err(Code::StreamCreationError.fault("a client's push stream"));
            }
            PUSH => return Err(Code::IdError.fault("a push that was not allowed")),
            _ => return Ok(State::Skip),
        };
        if std::mem::replace(was_opened, true) {
            return Err(Code::StreamCreationError.fault("a second control or QPACK stream"));
        }
        Ok(state)
    }

    fn read_control(&mut self, kind: u64, content: &[u8]) -> Result<Option<u64>, Fault> {
        if kind == frame::SETTINGS {
            frame::check_settings(content)?;
            return Ok(None);
        }
        // GOAWAY, MAX_PUSH_ID and CANCEL_PUSH contain one integer each.
        let id = match varint::read(content) {
            Some((id, len)) if len == content.len() => id,
            _ => return Err(Code::FrameError.fault("a frame that is not one integer")),
        };
        match kind {
            frame::GOAWAY => self.go_away(id).map(Some),
            frame::MAX_PUSH_ID => self.allow_pushes(id).map(|()| None),
            // No push was promised or allowed (RFC 9114 section 7.2.3).
            _ => Err(Code::IdError.fault("CANCEL_PUSH for a push that does not exist")),
        }
    }

    /// RFC 9114 sections 5.2 and 7.2.6.
    fn go_away(&mut self, id: u64) -> Result<u64, Fault> {
        let is_request = id.is_multiple_of(4);
        if self.receiver.is_client() && !is_request {
            return Err(Code::IdError.fault("a GOAWAY without a request stream ID"));
        }
        if self.going_away.is_some_and(|before| before < id) {
            return Err(Code::IdError.fault("a GOAWAY with a larger ID than the one before"));
        }
        self.going_away = Some(id);
        Ok(id)
    }

    fn allow_pushes(&mut self, id: u64) -> Result<(), Fault> {
        if self.max_push_id.is_some_and(|before| before > id) {
            return Err(Code::IdError.fault("a MAX_PUSH_ID below the one before"));
        }
        self.max_push_id = Some(id);
        Ok(())
    }
}

/// Without a dynamic table, there is nothing to acknowledge and no insertion to count (RFC 9204 sections 4.4.1 and
/// 4.4.3). A decoder may only cancel streams.
fn check_decoder(is_within: &mut bool, instructions: &[u8]) -> Result<(), Fault> {
    for byte in instructions {
        let is_cancellation = byte & 0xc0 == 0x40;
        if !*is_within && !is_cancellation {
            return Err(
                Code::QpackDecoderStreamError.fault("an acknowledgement for a dynamic table of capacity 0")
            );
        }
        // An integer continues if its prefix is full, then while the highest bit is set (RFC 9204 section 4.1.1).
        *is_within = match *is_within {
            true => byte & 0x80 != 0,
            false => byte & 0x3f == 0x3f,
        };
    }
    Ok(())
}

/// With a capacity of 0, the encoder may only set the capacity to 0 (RFC 9204 section 4.3.1).
fn check_encoder(instructions: &[u8]) -> Result<(), Fault> {
    const SET_CAPACITY_0: u8 = 0x20;
    if instructions.iter().all(|byte| *byte == SET_CAPACITY_0) {
        return Ok(());
    }
    Err(Code::QpackEncoderStreamError.fault("an entry for a dynamic table of capacity 0"))
}

#[cfg(test)]
mod tests;
