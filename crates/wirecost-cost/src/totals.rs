//! Sums over packets.

use core::ops::AddAssign;

use wirecost_proto::{Cause, Direction, Layer, Phase, Span};

use crate::PacketVerdict;

const PHASES: usize = Phase::ALL.len();
const DIRECTIONS: usize = Direction::ALL.len();
const LAYERS: usize = Layer::ALL.len();
const CAUSES: usize = Cause::ALL.len();

/// Bytes by phase, direction, layer and cause, and packets by phase, direction and cause.
///
/// Bytes stand under their own span's phase, packets under that of their headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    bytes: [[[[u64; CAUSES]; LAYERS]; DIRECTIONS]; PHASES],
    packets: [[[u64; CAUSES]; DIRECTIONS]; PHASES],
    payload_bytes_original: [u64; DIRECTIONS],
    unattributed_bytes: [u64; DIRECTIONS],
}

impl Totals {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one packet that travelled in `direction`: its verdict and the spans that cover it.
    pub fn add_packet(&mut self, direction: Direction, verdict: &PacketVerdict, spans: &[Span]) {
        for span in spans {
            self.add_span(direction, span);
        }
        self.add_verdict(direction, verdict);
    }

    /// Adds a run of the bytes of a packet; the packet counts with [`Totals::add_verdict`].
    pub fn add_span(&mut self, direction: Direction, span: &Span) {
        let layers = &mut self.bytes[span.phase as usize][direction as usize];
        layers[span.layer as usize][span.cause as usize] += u64::from(span.len);
    }

    /// Adds a packet whose bytes are added by [`Totals::add_span`].
    pub fn add_verdict(&mut self, direction: Direction, verdict: &PacketVerdict) {
        let way = direction as usize;
        self.packets[verdict.phase as usize][way][verdict.cause as usize] += 1;
        self.payload_bytes_original[way] += u64::from(verdict.payload_bytes_original);
        self.unattributed_bytes[way] += u64::from(verdict.unattributed_bytes);
    }

    /// Bytes of one layer, whatever their cause.
    pub fn bytes(&self, phase: Phase, direction: Direction, layer: Layer) -> u64 {
        self.bytes[phase as usize][direction as usize][layer as usize]
            .iter()
            .sum()
    }

    /// Bytes of one layer and cause.
    pub fn bytes_of(&self, phase: Phase, direction: Direction, layer: Layer, cause: Cause) -> u64 {
        self.bytes[phase as usize][direction as usize][layer as usize][cause as usize]
    }

    /// Bytes of one cause, of every layer.
    pub fn bytes_by_cause(&self, phase: Phase, direction: Direction, cause: Cause) -> u64 {
        let layers = &self.bytes[phase as usize][direction as usize];
        layers.iter().map(|causes| causes[cause as usize]).sum()
    }

    /// IP packet bytes of one phase.
    pub fn wire_bytes(&self, phase: Phase, direction: Direction) -> u64 {
        self.bytes[phase as usize][direction as usize]
            .as_flattened()
            .iter()
            .sum()
    }

    /// Packets of one phase.
    pub fn packets(&self, phase: Phase, direction: Direction) -> u64 {
        self.packets[phase as usize][direction as usize].iter().sum()
    }

    /// Packets of one phase whose headers have this cause.
    pub fn packets_by_cause(&self, phase: Phase, direction: Direction, cause: Cause) -> u64 {
        self.packets[phase as usize][direction as usize][cause as usize]
    }

    /// Payload bytes that were not sent before, of every phase.
    pub fn payload_bytes_original(&self, direction: Direction) -> u64 {
        self.payload_bytes_original[direction as usize]
    }

    /// Bytes that nobody described, of every phase.
    pub fn unattributed_bytes(&self, direction: Direction) -> u64 {
        self.unattributed_bytes[direction as usize]
    }
}

impl AddAssign<&Totals> for Totals {
    fn add_assign(&mut self, other: &Totals) {
        let bytes = self.bytes.as_flattened_mut().as_flattened_mut();
        add(
            bytes.as_flattened_mut(),
            other.bytes.as_flattened().as_flattened().as_flattened(),
        );
        add(
            self.packets.as_flattened_mut().as_flattened_mut(),
            other.packets.as_flattened().as_flattened(),
        );
        add(&mut self.payload_bytes_original, &other.payload_bytes_original);
        add(&mut self.unattributed_bytes, &other.unattributed_bytes);
    }
}

fn add(sums: &mut [u64], others: &[u64]) {
    for (sum, other) in sums.iter_mut().zip(others) {
        *sum += other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    const fn span(len: u32, layer: Layer, phase: Phase, cause: Cause) -> Span {
        Span {
            len,
            layer,
            phase,
            cause,
        }
    }

    /// A message packet of 20 + 32 header bytes, 5 bytes of an acknowledgement and 100 of payload, 40 of them new.
    fn one_packet() -> Totals {
        use Cause::{Acknowledgement, Original, Retransmission};
        let spans = [
            span(20, Layer::Ip, Phase::Message, Retransmission),
            span(32, Layer::Transport, Phase::Message, Retransmission),
            span(60, Layer::Payload, Phase::Message, Retransmission),
            span(40, Layer::Payload, Phase::Message, Original),
            span(5, Layer::Application, Phase::Close, Acknowledgement),
        ];
        let verdict = PacketVerdict {
            phase: Phase::Message,
            cause: Retransmission,
            wire_bytes: 157,
            unattributed_bytes: 3,
            payload_bytes_original: 40,
            content: Content::None,
        };
        let mut totals = Totals::new();
        totals.add_packet(Direction::Down, &verdict, &spans);
        totals
    }

    #[test]
    fn bytes_stand_under_their_spans_phase_and_the_packet_under_its_headers() {
        let totals = one_packet();
        let down = Direction::Down;
        assert_eq!(totals.wire_bytes(Phase::Message, down), 152);
        assert_eq!(totals.wire_bytes(Phase::Close, down), 5);
        assert_eq!(totals.wire_bytes(Phase::Message, Direction::Up), 0);
        assert_eq!(totals.bytes(Phase::Message, down, Layer::Payload), 100);
        assert_eq!(
            totals.bytes_by_cause(Phase::Message, down, Cause::Retransmission),
            112
        );
        assert_eq!(totals.packets(Phase::Message, down), 1);
        assert_eq!(totals.packets(Phase::Close, down), 0);
        assert_eq!(
            totals.packets_by_cause(Phase::Message, down, Cause::Retransmission),
            1
        );
        assert_eq!(totals.payload_bytes_original(down), 40);
        assert_eq!(totals.unattributed_bytes(down), 3);
    }

    #[test]
    fn adding_a_total_doubles_every_figure() {
        let mut twice = one_packet();
        twice += &one_packet();
        let down = Direction::Down;
        assert_eq!(twice.wire_bytes(Phase::Message, down), 304);
        assert_eq!(twice.packets(Phase::Message, down), 2);
        assert_eq!(twice.payload_bytes_original(down), 80);
        assert_eq!(twice.unattributed_bytes(down), 6);
    }
}
