//! What holds for any segmentation, and for any bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use wirecost_proto::{Cause, Layer, Phase, Span};
use wirecost_wire::{ip, tcp};

use super::bench::*;
use super::fragment::fragments;
use crate::{DeviceLedger, Totals};

/// What the stream's sender does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sends this number of bytes for the first time.
    Send(usize),
    /// Sends up to so many bytes from before again, and as many as are left over for the first time.
    Resend { back: u32, len: usize },
    /// Hears an acknowledgement of all.
    HearAck { window: u16 },
    /// Asks whether the peer is there.
    KeepAlive,
}

/// Layers of a packet's content.
const LAYERS: [Layer; 3] = [Layer::Security, Layer::Application, Layer::Payload];

/// Causes that makers give to bytes that were not sent before.
const CAUSES: [Cause; 2] = [Cause::Original, Cause::Acknowledgement];

fn any_span() -> impl Strategy<Value = Span> {
    let kind = (select(&LAYERS[..]), select(&Phase::ALL[..]), select(&CAUSES[..]));
    (1_u32..60, kind).prop_map(|(len, (layer, phase, cause))| span(len, layer, phase, cause))
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1_usize..80).prop_map(Step::Send),
        (1_u32..200, 1_usize..200).prop_map(|(back, len)| Step::Resend { back, len }),
        select(&[0_u16, 1_000][..]).prop_map(|window| Step::HearAck { window }),
        Just(Step::KeepAlive),
    ]
}

/// A sender that knows how much of its stream it has sent.
struct Sender {
    bench: Bench,
    totals: Totals,
    sent: u32,
    total: u32,
}

impl Sender {
    fn new(spans: &[Span], up_initial: u32) -> Self {
        let mut bench = Bench::new(up_initial, 7);
        bench.ledger = DeviceLedger::new();
        bench.ledger.stream_spans(FLOW, Up, spans);
        let mut sender = Self {
            bench,
            totals: Totals::new(),
            sent: 0,
            total: spans.iter().map(|span| span.len).sum(),
        };
        sender.transmit(SYN);
        sender.transmit(SYN_ACK);
        sender
    }

    fn step(&mut self, step: Step) {
        let at = |offset: u32| ACK.seq(1 + offset);
        match step {
            Step::Send(len) => self.transmit_data(at(self.sent), len),
            Step::Resend { back, len } => self.transmit_data(at(self.sent - back.min(self.sent)), len),
            Step::HearAck { window } => {
                let ack = 1 + self.sent;
                self.transmit(ACK.down().ack(ack).window(window));
            }
            Step::KeepAlive => {
                self.transmit(ACK.seq(self.sent));
            }
        }
    }

    /// Sends content; exactly its bytes that were sent before are sent again.
    fn transmit_data(&mut self, from: Seg, len: usize) {
        let start = from.seq - 1;
        let len = len.min((self.total - start) as usize);
        let end = start + len as u32;
        let resent = end.min(self.sent) - start;
        self.sent = self.sent.max(end);
        let again = self.transmit(from.len(len));
        assert_eq!(again, resent);
    }

    /// Sends a segment; returns how much of its content was sent before.
    fn transmit(&mut self, seg: Seg) -> u32 {
        let (verdict, spans) = self.bench.send(seg);
        assert_eq!(verdict.wire_bytes as usize, 40 + seg.len);
        assert_eq!(verdict.unattributed_bytes, 0);
        self.totals.add_packet(seg.direction, &verdict, &spans);
        let content = spans.iter().filter(|span| LAYERS.contains(&span.layer));
        let again = content.filter(|span| !CAUSES.contains(&span.cause));
        let again: u32 = again.map(|span| span.len).sum();
        let header_again = matches!(verdict.cause, Cause::Retransmission | Cause::Probe);
        assert!(again == 0 || header_again, "{verdict:?} of {seg:?}");
        again
    }
}

fn every_kind() -> impl Iterator<Item = (Phase, Layer, Cause)> {
    let of_phase = |phase| LAYERS.map(|layer| CAUSES.map(|cause| (phase, layer, cause)));
    Phase::ALL.into_iter().flat_map(of_phase).flatten()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_described_byte_is_original_exactly_once(
        spans in vec(any_span(), 1..20),
        steps in vec(any_step(), 0..40),
        up_initial in prop_oneof![any::<u32>(), Just(u32::MAX)],
    ) {
        let mut sender = Sender::new(&spans, up_initial);
        steps.iter().for_each(|step| sender.step(*step));
        sender.step(Step::Send(usize::MAX));
        for (phase, layer, cause) in every_kind() {
            let same = |span: &&Span| (span.phase, span.layer, span.cause) == (phase, layer, cause);
            let given: u32 = spans.iter().filter(same).map(|span| span.len).sum();
            let sent = sender.totals.traffic(phase, Up).bytes_of(layer, cause);
            prop_assert_eq!(sent, u64::from(given), "{:?} {:?} {:?}", phase, layer, cause);
        }
        let payload = spans.iter().filter(|span| span.layer == Layer::Payload);
        let payload_bytes: u64 = payload.map(|span| u64::from(span.len)).sum();
        prop_assert_eq!(sender.totals.payload_bytes_original(Up), payload_bytes);
    }

    #[test]
    fn any_datagram_sizes_at_any_mtu_are_covered_once(
        sizes in vec(0_usize..600, 1..8),
        mtu in 68_usize..700,
        is_v6 in any::<bool>(),
    ) {
        let version = if is_v6 { ip::Version::V6 } else { ip::Version::V4 };
        let mut ledger = DeviceLedger::new();
        let mut totals = Totals::new();
        for (number, size) in sizes.iter().enumerate() {
            let content = vec![number as u8; *size];
            let said = [span(*size as u32, Layer::Payload, Phase::Message, Cause::Original)];
            ledger.datagram_spans(FLOW, Up, &content, &said);
            let packet = udp_packet(Up, version, &content);
            let pieces = if packet.len() > mtu {
                fragments(&packet, version, mtu, number as u16)
            } else {
                vec![packet]
            };
            for piece in pieces {
                let (verdict, spans) = account(&mut ledger, Up, &piece);
                prop_assert_eq!(verdict.wire_bytes as usize, piece.len());
                prop_assert_eq!(verdict.unattributed_bytes, 0);
                totals.add_packet(Up, &verdict, &spans);
            }
        }
        let payload_bytes: usize = sizes.iter().sum();
        prop_assert_eq!(totals.traffic(Phase::Message, Up).bytes(Layer::Payload), payload_bytes as u64);
        let header_bytes = totals.traffic(Phase::Message, Up).bytes(Layer::Transport);
        prop_assert_eq!(header_bytes, 8 * sizes.len() as u64);
    }

    #[test]
    fn any_sequence_of_segments_is_covered_without_panic(
        segments in vec((any::<bool>(), any::<u8>(), any::<u32>(), any::<u32>(), any::<u16>(), 0_usize..40), 0..30),
    ) {
        let mut bench = Bench::new(1, 2);
        for (is_up, bits, seq, ack, window, len) in segments {
            let direction = if is_up { Up } else { Down };
            let flags = tcp::Flags::from_bits(bits);
            bench.send(Seg { direction, flags, seq, ack, window, sack: is_up.then_some((ack, seq)), len });
        }
    }
}
