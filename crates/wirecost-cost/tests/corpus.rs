//! Replays the fuzz corpus and seeded mutations of it: whatever a packet holds, its bytes are covered.

use std::fs;
use std::path::Path;

use wirecost_cost::{Arrivals, DeviceLedger, Ports, Totals};
use wirecost_proto::{Buffer, Cause, Direction, Instant, Layer, Phase, Rng, Span};

const MUTATIONS: u64 = 5_000;

/// Every ledger, table and tracker that a packet goes through.
struct Books {
    ledger: DeviceLedger,
    totals: Totals,
    arrivals: Arrivals,
    spans: Buffer,
    wire_bytes: u64,
}

impl Books {
    fn new() -> Self {
        let mut ledger = DeviceLedger::with_describer(|bytes, out| {
            out.cover(bytes.len(), Layer::Application, Phase::Message, Cause::Original);
        });
        let flow = Ports {
            client: 40_000,
            server: 1_883,
        };
        let span = Span {
            len: 22,
            layer: Layer::Application,
            phase: Phase::Connect,
            cause: Cause::Original,
        };
        ledger.stream_spans(flow, Direction::Up, &[span]);
        Self {
            ledger,
            totals: Totals::new(),
            arrivals: Arrivals::new(),
            spans: Buffer::new(),
            wire_bytes: 0,
        }
    }

    fn account(&mut self, direction: Direction, packet: &[u8]) {
        self.spans.clear();
        let verdict = self.ledger.packet(direction, packet, &mut self.spans);
        assert_eq!(
            self.spans.covered(),
            u64::from(verdict.wire_bytes),
            "{packet:02x?}"
        );
        assert!(verdict.unattributed_bytes <= verdict.wire_bytes, "{packet:02x?}");
        self.totals.add_packet(direction, &verdict, self.spans.spans());
        self.arrivals.delivered(direction, &verdict, Instant::START);
        self.wire_bytes += u64::from(verdict.wire_bytes);
    }

    fn assert_balanced(&self) {
        let of_phase = |phase| Direction::ALL.map(|direction| self.totals.wire_bytes(phase, direction));
        let sum: u64 = Phase::ALL.into_iter().flat_map(of_phase).sum();
        assert_eq!(sum, self.wire_bytes);
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/packet");
    let files = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn mutated(packet: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    for _ in 0..=rng.next_below(3) {
        let at = rng.next_below(bytes.len() as u64) as usize;
        match rng.next_below(4) {
            0 => bytes[at] = rng.next_u64() as u8,
            1 => bytes[at] ^= 1 << rng.next_below(8),
            2 => bytes.truncate(at.max(1)),
            _ => bytes.insert(at, rng.next_u64() as u8),
        }
    }
    bytes
}

#[test]
fn every_packet_of_the_corpus_is_covered() {
    let mut books = Books::new();
    for packet in corpus() {
        books.account(Direction::Up, &packet);
        books.account(Direction::Down, &packet);
    }
    books.assert_balanced();
}

#[test]
fn every_mutation_of_the_corpus_is_covered() {
    let corpus = corpus();
    let mut rng = Rng::new(1);
    let mut books = Books::new();
    for _ in 0..MUTATIONS {
        let packet = &corpus[rng.next_below(corpus.len() as u64) as usize];
        let bytes = mutated(packet, &mut rng);
        let direction = Direction::ALL[rng.next_below(2) as usize];
        books.account(direction, &bytes);
    }
    books.assert_balanced();
}

#[test]
fn the_corpus_without_echo_is_attributed() {
    let mut books = Books::new();
    for (name, direction) in [
        ("v4-syn", Direction::Up),
        ("v4-syn-ack", Direction::Down),
        ("v4-connect", Direction::Up),
        ("v4-coap", Direction::Up),
        ("v4-port-unreachable", Direction::Down),
        ("v4-fragment-first", Direction::Up),
        ("v4-fragment-last", Direction::Up),
        ("v6-fragment-first", Direction::Up),
        ("v6-fragment-last", Direction::Up),
        ("v4-fin", Direction::Up),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fuzz/corpus/packet")
            .join(name);
        books.account(direction, &fs::read(path).unwrap());
    }
    let unattributed = Direction::ALL.map(|direction| books.totals.unattributed_bytes(direction));
    assert_eq!(unattributed, [0, 0]);
    assert_eq!(
        books
            .totals
            .bytes_by_cause(Phase::Message, Direction::Down, Cause::Probe),
        72
    );
}
