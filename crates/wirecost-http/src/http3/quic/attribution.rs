//! Layer, phase and cause of the bytes of a connection's packets.
//!
//! | bytes | layer | phase | cause |
//! |---|---|---|---|
//! | header, tag | transport | the packet's | the packet's |
//! | PADDING | transport | the packet's | probe |
//! | ACK | transport | that of the largest acknowledged packet | acknowledgement |
//! | CRYPTO, its header too | security | connect | original; retransmission if sent before |
//! | header of STREAM | transport | its data's | original |
//! | STREAM data of a unidirectional stream | application | connect | as of CRYPTO |
//! | STREAM data of a request stream | application or payload | message | as of CRYPTO |
//! | HANDSHAKE_DONE, NEW_CONNECTION_ID, NEW_TOKEN, RETIRE_CONNECTION_ID, path validation | transport | connect | original |
//! | PING | transport | keep_alive | probe |
//! | CONNECTION_CLOSE | transport | close | original |
//! | any other frame | transport | message | original |
//!
//! All frames of Initial and Handshake packets except CONNECTION_CLOSE belong to connect. A packet has the phase of
//! its first frame other than ACK and PADDING, otherwise that of its ACK. Its cause is retransmission if any of its
//! data was sent before, and acknowledgement or probe if it contains no other frames.

use std::collections::BTreeMap;

use wirecost_proto::{Buffer, Cause, Layer, Phase, Span};

use super::frame::{Frame, Kind};
use super::packet::{self, CONNECTION_ID_BYTES, Space, Type};
use super::ranges::Ranges;
use super::stream_layers::{Runs, StreamLayers};
use super::tap::Packet;
use crate::http3::reader::take;

/// The most request streams per direction whose bytes are known. Beyond it, the oldest is forgotten.
const KNOWN_STREAMS: usize = 256;

/// The most changes of phase remembered per packet number space.
const KNOWN_PHASES: usize = 64;

/// The known bytes of a connection in both directions.
#[derive(Debug, Default)]
pub(crate) struct Attribution {
    sent: OneWay,
    received: OneWay,
}

/// The known bytes of one direction.
#[derive(Debug, Default)]
struct OneWay {
    phases: BTreeMap<Space, Phases>,
    crypto: BTreeMap<Space, Ranges>,
    streams: BTreeMap<u64, Stream>,
}

impl Attribution {
    /// Notes the layer of the next `len` bytes written to a stream.
    pub(crate) fn note_written(&mut self, stream: u64, len: u64, layer: Layer) {
        self.sent.stream(stream).runs.push(len, layer);
    }

    /// Forgets the bytes written to streams, but not that they were sent. The server refused early data (RFC 9001
    /// section 4.6.2).
    pub(crate) fn rewrite(&mut self) {
        for stream in self.sent.streams.values_mut() {
            stream.runs = Runs::default();
            stream.has_ended = false;
        }
    }

    /// Whether the end of a stream was sent: what lies before it is never sent later the first time. Of one that is not
    /// known any more, it was.
    pub(crate) fn has_sent_end(&self, stream: u64) -> bool {
        self.sent
            .streams
            .get(&stream)
            .is_none_or(|stream| stream.has_ended)
    }

    /// Appends a sent datagram with the spans of its packets.
    pub(crate) fn push_sent(&mut self, datagram: &[u8], sealed: &[Packet], out: &mut Buffer) {
        let mut spans = Buffer::new();
        cover_datagram(
            datagram,
            CONNECTION_ID_BYTES,
            sealed,
            &mut spans,
            |packet, out| {
                self.describe_sent(packet, out);
            },
        );
        out.push_described(datagram, spans.spans());
    }

    /// Appends the spans of a sent packet.
    pub(crate) fn describe_sent(&mut self, packet: &Packet, out: &mut Buffer) {
        describe(packet, &mut self.sent, &self.received.phases, out);
    }

    /// Appends the spans of a received packet.
    pub(crate) fn describe_received(&mut self, packet: &Packet, out: &mut Buffer) {
        describe(packet, &mut self.received, &self.sent.phases, out);
    }
}

impl OneWay {
    fn stream(&mut self, id: u64) -> &mut Stream {
        if self.streams.len() >= KNOWN_STREAMS && !self.streams.contains_key(&id) {
            let oldest = self.streams.keys().copied().find(|id| !is_unidirectional(*id));
            oldest.map(|oldest| self.streams.remove(&oldest));
        }
        self.streams.entry(id).or_default()
    }
}

/// Bit 1 of a stream's id (RFC 9000 section 2.1).
const fn is_unidirectional(id: u64) -> bool {
    id & 2 != 0
}

#[derive(Debug, Default)]
struct Stream {
    seen: Ranges,
    /// Whether the end of the stream was seen.
    has_ended: bool,
    runs: Runs,
    layers: StreamLayers,
}

/// The phase of each packet number, stored as changes.
#[derive(Debug, Default)]
struct Phases {
    from: BTreeMap<u64, Phase>,
    largest: u64,
}

impl Phases {
    fn note(&mut self, number: u64, phase: Phase) {
        let before = self.find(number);
        if before != Some(phase) {
            // Higher packet numbers that arrived earlier keep their phase.
            if let (Some(before), true) = (before, number < self.largest) {
                self.from.entry(number + 1).or_insert(before);
            }
            self.from.insert(number, phase);
        }
        self.largest = self.largest.max(number);
        if self.from.len() > KNOWN_PHASES {
            self.from.pop_first();
        }
    }

    fn find(&self, number: u64) -> Option<Phase> {
        self.from.range(..=number).next_back().map(|(_, phase)| *phase)
    }
}

fn describe(packet: &Packet, mine: &mut OneWay, theirs: &BTreeMap<Space, Phases>, out: &mut Buffer) {
    let space = packet.kind.space();
    let acknowledged = packet.frames.iter().find_map(|frame| match frame.kind {
        Kind::Ack { largest } => theirs.get(&space).and_then(|phases| phases.find(largest)),
        _ => None,
    });
    let default = if space == Space::Application {
        Phase::Message
    } else {
        Phase::Connect
    };
    let acknowledged = acknowledged.unwrap_or(default);
    let own = packet.frames.iter().find_map(|frame| phase_of(frame, space));
    let is_probe = packet.frames.iter().any(|frame| frame.kind.is_probe());
    let phase = own.unwrap_or(if is_probe { default } else { acknowledged });
    let (mut within, mut rest) = (Buffer::new(), packet.plain.as_slice());
    for frame in &packet.frames {
        mine.read(frame, take(&mut rest, frame.total() as u64));
        mine.describe_frame(frame, space, phase, acknowledged, &mut within);
    }
    let cause = cause_of(packet, within.spans());
    out.cover(packet.header, Layer::Transport, phase, cause);
    out.cover_spans(within.spans());
    out.cover(packet.tag, Layer::Transport, phase, cause);
    mine.phases.entry(space).or_default().note(packet.number, phase);
}

/// The phase that a frame gives its packet.
fn phase_of(frame: &Frame, space: Space) -> Option<Phase> {
    match frame.kind {
        Kind::Padding | Kind::Ack { .. } | Kind::ImmediateAck => None,
        Kind::Close => Some(Phase::Close),
        _ if space != Space::Application => Some(Phase::Connect),
        Kind::Crypto { .. } => Some(Phase::Connect),
        Kind::Stream { id, .. } if is_unidirectional(id) => Some(Phase::Connect),
        Kind::Ping => Some(Phase::KeepAlive),
        // NEW_TOKEN, NEW_CONNECTION_ID, RETIRE_CONNECTION_ID, PATH_CHALLENGE, PATH_RESPONSE, HANDSHAKE_DONE.
        Kind::Control(0x07 | 0x18..=0x1b | 0x1e) => Some(Phase::Connect),
        Kind::Stream { .. } | Kind::Control(_) | Kind::Malformed => Some(Phase::Message),
    }
}

/// The cause of a packet's header and tag.
fn cause_of(packet: &Packet, within: &[Span]) -> Cause {
    if within.iter().any(|span| span.cause == Cause::Retransmission) {
        return Cause::Retransmission;
    }
    let has = |is: fn(&Kind) -> bool| packet.frames.iter().any(|frame| is(&frame.kind));
    if has(|kind| kind.is_ack_eliciting() && !kind.is_probe()) || has(|kind| *kind == Kind::Close) {
        Cause::Original
    } else if has(Kind::is_probe) {
        Cause::Probe
    } else {
        Cause::Acknowledgement
    }
}

impl OneWay {
    /// Reads the HTTP/3 frames in a request stream's data. `bytes` are the frame's bytes, if the packet was
    /// decrypted.
    fn read(&mut self, frame: &Frame, bytes: &[u8]) {
        let (Kind::Stream { id, offset, .. }, Some(data)) = (frame.kind, bytes.get(frame.header..)) else {
            return;
        };
        if !is_unidirectional(id) {
            let Stream { layers, runs, .. } = self.stream(id);
            layers.read(offset, data, runs);
        }
    }

    fn describe_frame(
        &mut self,
        frame: &Frame,
        space: Space,
        packet: Phase,
        acknowledged: Phase,
        out: &mut Buffer,
    ) {
        let phase = phase_of(frame, space).unwrap_or(packet);
        let (phase, cause) = match frame.kind {
            Kind::Ack { .. } => (acknowledged, Cause::Acknowledgement),
            Kind::Padding | Kind::Ping | Kind::ImmediateAck => (phase, Cause::Probe),
            Kind::Crypto { offset } => return self.describe_crypto(frame, space, offset, out),
            Kind::Stream { id, offset, .. } => return self.describe_stream(frame, id, offset, phase, out),
            Kind::Close | Kind::Control(_) | Kind::Malformed => (phase, Cause::Original),
        };
        out.cover(frame.total(), Layer::Transport, phase, cause);
    }

    fn describe_crypto(&mut self, frame: &Frame, space: Space, offset: u64, out: &mut Buffer) {
        let range = offset..offset.saturating_add(frame.data as u64);
        let mut header = frame.header;
        self.crypto.entry(space).or_default().add(range, |part, again| {
            let len = std::mem::take(&mut header) + (part.end - part.start) as usize;
            out.cover(len, Layer::Security, Phase::Connect, cause(again));
        });
        out.cover(header, Layer::Security, Phase::Connect, Cause::Original);
    }

    fn describe_stream(&mut self, frame: &Frame, id: u64, offset: u64, phase: Phase, out: &mut Buffer) {
        out.cover(frame.header, Layer::Transport, phase, Cause::Original);
        let stream = self.stream(id);
        stream.has_ended |= matches!(frame.kind, Kind::Stream { fin: true, .. });
        let Stream { seen, runs, .. } = stream;
        let range = offset..offset.saturating_add(frame.data as u64);
        seen.add(range, |part, again| {
            let mut at = part.start;
            while at < part.end {
                let (layer, end) = runs.at(at);
                let layer = if is_unidirectional(id) {
                    Layer::Application
                } else {
                    layer
                };
                let end = end.min(part.end);
                out.cover((end - at) as usize, layer, phase, cause(again));
                at = end;
            }
        });
    }
}

const fn cause(again: bool) -> Cause {
    if again {
        Cause::Retransmission
    } else {
        Cause::Original
    }
}

/// Appends the spans of a whole datagram. `describe` describes the decrypted packets. All others are transport, with
/// a phase from their first byte.
pub(crate) fn cover_datagram(
    datagram: &[u8],
    id_bytes: usize,
    opened: &[Packet],
    out: &mut Buffer,
    mut describe: impl FnMut(&Packet, &mut Buffer),
) {
    let mut opened = opened.iter().peekable();
    let mut covered = 0;
    for packet in packet::split(datagram, id_bytes) {
        let is_it = |seen: &&Packet| seen.kind == packet.kind && seen.len() == packet.range.len();
        match opened.next_if(is_it) {
            Some(seen) => describe(seen, out),
            None => {
                let phase = phase_unopened(packet.kind);
                out.cover(packet.range.len(), Layer::Transport, phase, Cause::Original);
            }
        }
        covered = packet.range.end;
    }
    // Bytes after the last packet: a sender may append anything after the last long header packet (RFC 9000 section
    // 12.2).
    let rest = datagram.get(covered..).unwrap_or_default();
    let phase = phase_unopened(Type::from_first(rest.first().copied().unwrap_or_default()));
    out.cover(rest.len(), Layer::Transport, phase, Cause::Original);
}

/// The phase of an encrypted packet, by its type.
const fn phase_unopened(kind: Type) -> Phase {
    match kind {
        Type::OneRtt | Type::ZeroRtt => Phase::Message,
        _ => Phase::Connect,
    }
}
