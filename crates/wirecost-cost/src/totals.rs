//! Sums over packets.

use core::ops::AddAssign;

use wirecost_proto::{BothWays, Cause, Direction, Phase, Span};

use crate::PacketVerdict;
use crate::traffic::Traffic;

const PHASES: usize = Phase::ALL.len();

/// Traffic by phase and direction.
///
/// Bytes count in the phase of their own span, packets in that of their headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    traffic: [BothWays<Traffic>; PHASES],
    payload_bytes_original: BothWays<u64>,
    unattributed_bytes: BothWays<u64>,
}

impl Totals {
    /// Empty sums.
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

    /// Adds some bytes of a packet. Count the packet itself with [`Totals::add_verdict`].
    pub fn add_span(&mut self, direction: Direction, span: &Span) {
        self.traffic[span.phase as usize][direction].add_span(span);
    }

    /// Counts a packet. Add its bytes with [`Totals::add_span`].
    pub fn add_verdict(&mut self, direction: Direction, verdict: &PacketVerdict) {
        let original = verdict.payload_bytes_original;
        self.add_headers(direction, verdict.phase, verdict.cause, original);
        self.unattributed_bytes[direction] += u64::from(verdict.unattributed_bytes);
    }

    /// Counts a packet by the phase and the cause of its headers, and its payload bytes that were not sent before.
    pub(crate) fn add_headers(&mut self, direction: Direction, phase: Phase, cause: Cause, original: u32) {
        self.traffic[phase as usize][direction].add_packet(cause);
        self.payload_bytes_original[direction] += u64::from(original);
    }

    /// The traffic of one phase and direction.
    pub fn traffic(&self, phase: Phase, direction: Direction) -> &Traffic {
        &self.traffic[phase as usize][direction]
    }

    /// Payload bytes that were not sent before, of every phase.
    pub fn payload_bytes_original(&self, direction: Direction) -> u64 {
        self.payload_bytes_original[direction]
    }

    /// Bytes that no endpoint described, of every phase.
    pub fn unattributed_bytes(&self, direction: Direction) -> u64 {
        self.unattributed_bytes[direction]
    }
}

impl AddAssign<&Self> for Totals {
    fn add_assign(&mut self, other: &Self) {
        for way in Direction::ALL {
            for (traffic, other) in self.traffic.iter_mut().zip(&other.traffic) {
                traffic[way] += &other[way];
            }
            self.payload_bytes_original[way] += other.payload_bytes_original[way];
            self.unattributed_bytes[way] += other.unattributed_bytes[way];
        }
    }
}

#[cfg(test)]
mod tests {
    use wirecost_proto::Layer;

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
    fn bytes_count_in_their_phase_and_packets_in_that_of_headers() {
        let totals = one_packet();
        let down = Direction::Down;
        assert_eq!(totals.traffic(Phase::Message, down).wire_bytes(), 152);
        assert_eq!(totals.traffic(Phase::Close, down).wire_bytes(), 5);
        assert_eq!(totals.traffic(Phase::Message, Direction::Up).wire_bytes(), 0);
        assert_eq!(totals.traffic(Phase::Message, down).bytes(Layer::Payload), 100);
        assert_eq!(
            totals
                .traffic(Phase::Message, down)
                .bytes_by_cause(Cause::Retransmission),
            112
        );
        assert_eq!(totals.traffic(Phase::Message, down).packets(), 1);
        assert_eq!(totals.traffic(Phase::Close, down).packets(), 0);
        assert_eq!(
            totals
                .traffic(Phase::Message, down)
                .packets_by_cause(Cause::Retransmission),
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
        assert_eq!(twice.traffic(Phase::Message, down).wire_bytes(), 304);
        assert_eq!(twice.traffic(Phase::Message, down).packets(), 2);
        assert_eq!(twice.payload_bytes_original(down), 80);
        assert_eq!(twice.unattributed_bytes(down), 6);
    }
}
