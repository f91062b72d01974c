//! One connection at either end: QUIC, the HTTP/3 streams on it, and the spans of both.

use std::collections::BTreeMap;

use bytes::Bytes;
use quinn_proto::{ConnectionHandle, Dir, ReadError, StreamId, VarInt, WriteError};
use wirecost_proto::{Buffer, Cause, Content, FlowId, Instant, Layer, Peer, Phase};
use wirecost_security::Epoch;

use super::frame;
use super::quic::attribution::{Attribution, cover_datagram};
use super::quic::frame::Kind;
use super::quic::packet::CONNECTION_ID_BYTES;
use super::quic::tap::{Packet, Tap};
use super::reader::{Part, Reader};
use super::unidirectional;
use super::varint;
use crate::fault::{Code, Fault};

/// A connection.
pub(crate) struct Connection {
    pub(crate) quic: quinn_proto::Connection,
    pub(crate) handle: ConnectionHandle,
    pub(crate) flow: FlowId,
    /// Describes every byte. `None` if no description is needed.
    attribution: Option<Attribution>,
    /// Streams whose end was sent since the last query. Unused if `attribution` exists.
    ended: Vec<u64>,
    outgoing: BTreeMap<StreamId, Outgoing>,
    incoming: BTreeMap<StreamId, unidirectional::Reader>,
    opened: unidirectional::PeerStreams,
    /// Bytes of streams that have arrived, some perhaps twice, and that were read.
    arrived_bytes: usize,
    read_bytes: usize,
    /// The bytes of messages that QUIC keeps until the peer has acknowledged all of them, by stream.
    unacknowledged: BTreeMap<StreamId, usize>,
}

/// A message that is being written to a stream.
struct Outgoing {
    head: Bytes,
    content: Content,
    written: usize,
    is_last: bool,
}

/// The state of a peer's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More may come.
    Open,
    /// It has ended.
    Ended,
    /// It was reset with this code.
    Reset(u64),
}

impl Connection {
    /// A connection. `describes` says whether its bytes are described.
    pub(crate) fn new(
        quic: quinn_proto::Connection,
        handle: ConnectionHandle,
        flow: FlowId,
        describes: bool,
    ) -> Self {
        let opened = unidirectional::PeerStreams::new(quic.side());
        Self {
            quic,
            handle,
            flow,
            attribution: describes.then(Attribution::default),
            ended: Vec::new(),
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            opened,
            arrived_bytes: 0,
            read_bytes: 0,
            unacknowledged: BTreeMap::new(),
        }
    }

    /// Notes the bytes of streams in received packets.
    pub(crate) fn note_arrived(&mut self, packets: &[Packet]) {
        let frames = packets.iter().flat_map(|packet| &packet.frames);
        let stream = frames.filter(|frame| matches!(frame.kind, Kind::Stream { .. }));
        self.arrived_bytes += stream.map(|frame| frame.data).sum::<usize>();
    }

    /// Bytes of streams that wait for earlier ones, at most.
    pub(crate) const fn unread_bytes(&self) -> usize {
        self.arrived_bytes.saturating_sub(self.read_bytes)
    }

    /// Bytes of messages that the peer has not acknowledged, at most.
    pub(crate) fn unacknowledged_bytes(&self) -> usize {
        self.unacknowledged.values().sum()
    }

    /// Notes that the peer has acknowledged a whole stream.
    pub(crate) fn acknowledged(&mut self, id: StreamId) {
        self.unacknowledged.remove(&id);
    }

    /// Notes that nothing waits: what is left was sent again.
    pub(crate) const fn all_is_read(&mut self) {
        self.arrived_bytes = self.read_bytes;
    }

    /// Whether the handshake resumed an earlier session. False until that is known.
    pub(crate) fn is_resumed(&self) -> bool {
        let is_resumed = self.quic.crypto_session().handshake_data();
        is_resumed.and_then(|data| data.downcast().ok()) == Some(Box::new(true))
    }

    /// Opens the control stream with default SETTINGS (RFC 9114 section 6.2.1), if the peer allows a stream.
    pub(crate) fn open_control(&mut self) {
        let mut head = Vec::new();
        varint::push(unidirectional::CONTROL, &mut head);
        frame::push(frame::SETTINGS, &[], &mut head);
        let Some(id) = self.quic.streams().open(Dir::Uni) else {
            return;
        };
        self.write(id, head.into(), Content::from([]), false);
    }

    /// Sends a frame on the control stream, the first stream that this side opened.
    #[cfg(test)]
    pub(crate) fn say(&mut self, kind: u64, content: &[u8]) {
        let mut bytes = Vec::new();
        frame::push(kind, content, &mut bytes);
        let id = StreamId::new(self.quic.side(), Dir::Uni, 0);
        self.write(id, bytes.into(), Content::from([]), false);
    }

    /// Opens a request stream and writes a whole message to it. Returns `None` if the peer allows no stream yet.
    pub(crate) fn open_request(&mut self, head: Bytes, content: Content) -> Option<StreamId> {
        let id = self.quic.streams().open(Dir::Bi)?;
        self.write(id, head, content, true);
        Some(id)
    }

    /// Writes a message to a stream. If `is_last`, the stream ends after it.
    pub(crate) fn write(&mut self, id: StreamId, head: Bytes, content: Content, is_last: bool) {
        self.note_written(id, &head, &content);
        let outgoing = Outgoing {
            head,
            content,
            written: 0,
            is_last,
        };
        self.outgoing.insert(id, outgoing);
        self.flush(id);
    }

    fn note_written(&mut self, id: StreamId, head: &[u8], content: &Content) {
        let Some(attribution) = &mut self.attribution else {
            return;
        };
        attribution.note_written(id.into(), head.len() as u64, Layer::Application);
        let mut layers = Buffer::new();
        layers.cover(content.len(), Layer::Payload, Phase::Message, Cause::Original);
        content.relabel(&mut layers, 0, 0);
        for span in layers.spans() {
            attribution.note_written(id.into(), span.len.into(), span.layer);
        }
    }

    /// Removes the streams from `streams` whose last byte QUIC has sent, and calls `sent` for each.
    pub(crate) fn remove_sent(&mut self, streams: &mut Vec<StreamId>, mut sent: impl FnMut(StreamId)) {
        let (attribution, ended) = (&self.attribution, &mut self.ended);
        streams.retain(|&id| {
            let is_sent = match attribution {
                Some(attribution) => attribution.has_sent_end(id.into()),
                None => ended.contains(&id.into()),
            };
            if is_sent {
                sent(id);
            }
            !is_sent
        });
        ended.clear();
    }

    /// Forgets everything written. The server refused early data, and every stream begins anew.
    pub(crate) fn rewrite(&mut self) {
        self.outgoing.clear();
        self.unacknowledged.clear();
        self.ended.clear();
        if let Some(attribution) = &mut self.attribution {
            attribution.rewrite();
        }
    }

    /// Passes as much of a message to QUIC as it accepts.
    pub(crate) fn flush(&mut self, id: StreamId) {
        let Some(outgoing) = self.outgoing.get_mut(&id) else {
            return;
        };
        let mut stream = self.quic.send_stream(id);
        while let Some(rest) = outgoing.rest() {
            match stream.write(rest) {
                Ok(taken) => {
                    outgoing.written += taken;
                    // Others have no end, and take some bytes once.
                    if outgoing.is_last {
                        *self.unacknowledged.entry(id).or_default() += taken;
                    }
                }
                Err(WriteError::Blocked) => return,
                // The peer wants no more of the stream. That is not a connection error (RFC 9114 section 4.1.1).
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => break,
            }
        }
        if outgoing.is_last {
            // A stopped stream has already ended.
            let _ = stream.finish();
        }
        self.outgoing.remove(&id);
    }

    /// Handles a peer that wants no more of a stream.
    pub(crate) fn stopped(&mut self, id: StreamId) {
        self.outgoing.remove(&id);
        self.acknowledged(id);
        // The stream may have ended in the meantime.
        let _ = self.quic.send_stream(id).reset(code(Code::NoError));
    }

    /// Cancels a request from the client's side (RFC 9114 section 4.1.1).
    pub(crate) fn cancel(&mut self, id: StreamId) {
        self.outgoing.remove(&id);
        self.acknowledged(id);
        // Either direction may have ended.
        let _ = self.quic.send_stream(id).reset(code(Code::RequestCancelled));
        let _ = self.quic.recv_stream(id).stop(code(Code::RequestCancelled));
    }

    /// Rejects a malformed message (RFC 9114 section 4.1.2).
    pub(crate) fn refuse(&mut self, id: StreamId, reason: Code) {
        self.stop(id, reason);
        self.acknowledged(id);
        // The stream may have been stopped in the meantime.
        let _ = self.quic.send_stream(id).reset(code(reason));
    }

    /// Stops reading a request that was answered before its end (RFC 9114 section 4.1).
    pub(crate) fn stop(&mut self, id: StreamId, reason: Code) {
        // The stream may have ended in the meantime.
        let _ = self.quic.recv_stream(id).stop(code(reason));
    }

    /// Closes the connection with a code.
    pub(crate) fn close(&mut self, now: std::time::Instant, reason: Code) {
        self.quic.close(now, code(reason), Bytes::new());
    }

    /// Reads the received bytes of a peer's unidirectional stream. `on_go_away` receives the ID of every
    /// GOAWAY.
    pub(crate) fn read_unidirectional(
        &mut self,
        id: StreamId,
        mut on_go_away: impl FnMut(u64),
    ) -> Result<(), Fault> {
        let reader = self.incoming.entry(id).or_default();
        let (opened, read_bytes) = (&mut self.opened, &mut self.read_bytes);
        let progress = read(&mut self.quic, id, |bytes| {
            *read_bytes += bytes.len();
            reader.read(bytes, opened, &mut on_go_away)
        })?;
        if progress != Progress::Open {
            reader.end()?;
            self.incoming.remove(&id);
        }
        Ok(())
    }

    /// The next unidirectional stream that the peer has opened.
    pub(crate) fn accept_unidirectional(&mut self) -> Option<StreamId> {
        self.quic.streams().accept(Dir::Uni)
    }

    /// Reads the received bytes of a message. `handle` receives its parts.
    pub(crate) fn read_message(
        &mut self,
        id: StreamId,
        reader: &mut Reader,
        mut handle: impl FnMut(Part<'_>) -> Result<(), Fault>,
    ) -> Result<Progress, Fault> {
        let read_bytes = &mut self.read_bytes;
        let progress = read(&mut self.quic, id, |bytes| {
            *read_bytes += bytes.len();
            let mut rest = bytes;
            while let Some(part) = reader.next(&mut rest)? {
                handle(part)?;
            }
            Ok(())
        })?;
        if progress == Progress::Ended && !reader.is_between_frames() {
            return Err(Code::FrameError.fault("a stream that ends inside a frame"));
        }
        Ok(progress)
    }

    /// Exchanges events between the connection and its endpoint.
    pub(crate) fn exchange_events(&mut self, endpoint: &mut quinn_proto::Endpoint) {
        while let Some(event) = self.quic.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(self.handle, event) {
                self.quic.handle_event(event);
            }
        }
    }

    /// Appends the next datagram with its spans. Returns the address that it goes to; `None` if there is none now.
    pub(crate) fn transmit(
        &mut self,
        now: std::time::Instant,
        tap: &Tap,
        scratch: &mut Vec<u8>,
        out: &mut Buffer,
    ) -> Option<Peer> {
        scratch.clear();
        let transmit = self.quic.poll_transmit(now, 1, scratch)?;
        let datagram = scratch.get(..transmit.size).unwrap_or_default();
        let Some(attribution) = &mut self.attribution else {
            tap.take_ended(&mut self.ended);
            out.push(datagram, Layer::Transport, Phase::Message, Cause::Original);
            return Some(transmit.destination);
        };
        attribution.push_sent(datagram, &tap.take_sealed(), out);
        Some(transmit.destination)
    }

    /// Appends the spans of a received datagram.
    pub(crate) fn consumed(&mut self, datagram: &[u8], opened: &[Packet], out: &mut Buffer) {
        let Some(attribution) = &mut self.attribution else {
            return out.cover(datagram.len(), Layer::Transport, Phase::Message, Cause::Original);
        };
        cover_datagram(datagram, CONNECTION_ID_BYTES, opened, out, |packet, out| {
            attribution.describe_received(packet, out);
        });
    }

    /// The time of the connection's next wake-up.
    pub(crate) fn next_timeout(&mut self, epoch: &Epoch) -> Option<Instant> {
        self.quic.poll_timeout().map(|at| epoch.instant_of(at))
    }
}

impl Outgoing {
    /// The bytes to write next, or `None` if all are written.
    fn rest(&self) -> Option<&[u8]> {
        let rest = match self.written.checked_sub(self.head.len()) {
            None => self.head.get(self.written..),
            Some(written) => self.content.bytes().get(written..),
        };
        rest.filter(|rest| !rest.is_empty())
    }
}

/// Reads the received bytes of a stream in order.
fn read(
    quic: &mut quinn_proto::Connection,
    id: StreamId,
    mut handle: impl FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<Progress, Fault> {
    let mut stream = quic.recv_stream(id);
    // A stopped stream is not read any more.
    let Ok(mut chunks) = stream.read(true) else {
        return Ok(Progress::Open);
    };
    let progress = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => {
                if let Err(fault) = handle(&chunk.bytes) {
                    break Err(fault);
                }
            }
            Ok(None) => break Ok(Progress::Ended),
            Err(ReadError::Blocked) => break Ok(Progress::Open),
            Err(ReadError::Reset(reason)) => break Ok(Progress::Reset(reason.into_inner())),
        }
    };
    // The result says whether to send flow control credit. The next datagram is requested anyway.
    let _ = chunks.finalize();
    progress
}

fn code(code: Code) -> VarInt {
    VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX)
}
