//! TCP connections: puts a connection's bytes in order, describes them, and holds packets back until their bytes are
//! described.

use std::ops::Range;

use wirecost_cost::{DeviceLedger, Ports};
use wirecost_proto::{BothWays, Direction};
use wirecost_wire::tcp;

use crate::captured::Captured;
use crate::span_list::SpanList;
use crate::stream::{Context, Stream};
use crate::tcp::held::Held;
use crate::tcp::reassembly::{Content, Reassembly, Run};

/// The most packets that may wait for the description of their bytes. Beyond it, the connection gives up the missing
/// bytes.
const MAX_HELD_PACKETS: usize = 4_096;

/// The most packets that may wait once the peer has acknowledged bytes that the capture does not have.
const MAX_HELD_BEHIND_LOSS: usize = 64;

/// What a connection works with: the secrets, the spans of the bytes at hand (empty between segments), and the ledger
/// that receives them.
pub(crate) struct Workspace<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) spans: &'a mut SpanList,
    pub(crate) ledger: &'a mut DeviceLedger,
}

/// State of one TCP connection.
#[derive(Debug)]
pub(crate) struct Connection {
    ports: Ports,
    halves: BothWays<Half>,
    stream: Stream,
    held: Held,
}

/// State of one direction.
#[derive(Debug, Default)]
struct Half {
    reassembly: Reassembly,
    /// The offset up to which bytes are described or left out.
    described: u64,
}

impl Connection {
    pub(crate) fn new(ports: Ports) -> Self {
        Self {
            ports,
            halves: BothWays::default(),
            stream: Stream::new(ports.server),
            held: Held::default(),
        }
    }

    pub(crate) const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether a segment opens a new connection between the same ports.
    pub(crate) fn is_ended_by(&self, direction: Direction, segment: &tcp::Segment<'_>) -> bool {
        let flags = segment.flags();
        let opens = flags.contains(tcp::Flags::SYN) && !flags.contains(tcp::Flags::ACK);
        let half = &self.halves[direction];
        opens && half.reassembly.is_other_connection(segment.sequence_number())
    }

    /// Handles a segment with `len` bytes of content and passes all known spans to the ledger. Returns the offset up
    /// to which the direction must be described before the packet can be accounted, or `None` if the packet can be
    /// accounted now.
    pub(crate) fn segment(
        &mut self,
        direction: Direction,
        segment: &tcp::Segment<'_>,
        len: u64,
        workspace: &mut Workspace<'_>,
    ) -> Option<u64> {
        let flags = segment.flags();
        if flags.contains(tcp::Flags::RST) {
            return self.wait_for(direction, 0);
        }
        let payload = segment.payload();
        let content = Content {
            sequence: segment.sequence_number(),
            syn: flags.contains(tcp::Flags::SYN),
            bytes: payload.get(..len as usize).unwrap_or(payload),
            len,
        };
        let place = self.halves[direction].reassembly.place(&content);
        let until = place.as_ref().map_or(0, |place| place.end);
        if let Some(place) = place.filter(|place| !place.is_empty()) {
            self.receive(direction, &place, &content, workspace);
        }
        if flags.contains(tcp::Flags::ACK) {
            let acknowledged = segment.acknowledgment_number();
            self.acknowledge(direction.reverse(), acknowledged, workspace);
        }
        self.wait_for(direction, until)
    }

    fn wait_for(&self, direction: Direction, until: u64) -> Option<u64> {
        let is_described = until <= self.halves[direction].described;
        (!self.held.is_empty() || !is_described).then_some(until)
    }

    fn receive(
        &mut self,
        direction: Direction,
        place: &Range<u64>,
        content: &Content<'_>,
        workspace: &mut Workspace<'_>,
    ) {
        let bytes = self.halves[direction].reassembly.in_order(place, content);
        if !bytes.is_empty() {
            self.stream
                .feed(direction, bytes, &mut workspace.context, workspace.spans);
        }
        self.feed_waiting(direction, workspace);
        let reassembly = &mut self.halves[direction].reassembly;
        if reassembly.is_waiting() && (reassembly.is_full() || self.held.len() > MAX_HELD_PACKETS) {
            self.give_up(direction, workspace);
        }
        self.record_spans(direction, workspace);
    }

    fn feed_waiting(&mut self, direction: Direction, workspace: &mut Workspace<'_>) {
        while let Some(run) = self.halves[direction].reassembly.next_waiting() {
            match run {
                Run::Bytes(bytes) => {
                    self.stream
                        .feed(direction, &bytes, &mut workspace.context, workspace.spans)
                }
                Run::Uncaptured(len) => self.stream.gap(direction, len, workspace.spans),
            }
        }
    }

    /// Once the peer has acknowledged bytes that the capture lacks, those bytes will hardly arrive.
    fn acknowledge(&mut self, direction: Direction, number: u32, workspace: &mut Workspace<'_>) {
        let reassembly = &self.halves[direction].reassembly;
        let is_beyond = reassembly.acknowledged(number) > Some(reassembly.next());
        if is_beyond && reassembly.is_waiting() && self.held.len() > MAX_HELD_BEHIND_LOSS {
            self.give_up(direction, workspace);
            self.record_spans(direction, workspace);
        }
    }

    fn give_up(&mut self, direction: Direction, workspace: &mut Workspace<'_>) {
        if let Some(gap) = self.halves[direction].reassembly.give_up() {
            self.stream.gap(direction, gap, workspace.spans);
            self.feed_waiting(direction, workspace);
        }
    }

    /// Passes the spans to the ledger.
    fn record_spans(&mut self, direction: Direction, workspace: &mut Workspace<'_>) {
        for piece in workspace.spans.pieces() {
            if piece.known {
                workspace
                    .ledger
                    .stream_spans(self.ports, direction, std::slice::from_ref(&piece.span));
            } else {
                workspace
                    .ledger
                    .stream_undescribed(self.ports, direction, u64::from(piece.span.len));
            }
        }
        self.halves[direction].described += workspace.spans.bytes();
        workspace.spans.clear();
    }

    /// Bytes that are kept until more bytes arrive.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let waiting = |direction| self.halves[direction].reassembly.waiting_bytes();
        waiting(Direction::Up) + waiting(Direction::Down) + self.held.bytes() + self.stream.kept_bytes()
    }

    /// Keeps the headers of a packet until `direction` is described up to `until`.
    pub(crate) fn hold(&mut self, direction: Direction, until: u64, headers: Captured<'_>) {
        self.held.push(direction, until, headers);
    }

    /// Whether more packets wait than the limit allows. If so, their bytes are given up for good.
    pub(crate) fn is_overfull(&self) -> bool {
        self.held.len() > 2 * MAX_HELD_PACKETS
    }

    /// Moves the headers of the next packet that can be accounted into `out`. With `all` set, it takes any packet.
    pub(crate) fn release<'a>(
        &mut self,
        all: bool,
        out: &'a mut Vec<u8>,
    ) -> Option<(Direction, Captured<'a>)> {
        let halves = &self.halves;
        let described = |direction| {
            if all {
                u64::MAX
            } else {
                halves[direction].described
            }
        };
        self.held.pop(described, out)
    }
}
