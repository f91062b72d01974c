use wirecost_proto::{Cause, Phase};

use super::*;

const FLOW: Ports = Ports {
    client: 40_000,
    server: 5_683,
};

fn verdict(content: Content) -> PacketVerdict {
    PacketVerdict {
        phase: Phase::Message,
        cause: Cause::Original,
        wire_bytes: 0,
        unattributed_bytes: 0,
        payload_bytes_original: 0,
        content,
    }
}

/// Packets of one stream: first byte, byte after the last, delivery in milliseconds.
fn stream(rows: &[(u64, u64, u64)]) -> Arrivals {
    let mut arrivals = Arrivals::new();
    for (start, end, at) in rows {
        let content = Content::Stream {
            flow: FLOW,
            start: *start,
            end: *end,
        };
        arrivals.delivered(Direction::Up, &verdict(content), Instant::from_millis(*at));
    }
    arrivals
}

#[test]
fn bytes_have_arrived_when_the_last_of_them_was_first_delivered() {
    type Rows = &'static [(u64, u64, u64)];
    let table: &[(Rows, Range<u64>, Option<u64>)] = &[
        (&[(0, 100, 7)], 0..100, Some(7)),
        (&[(0, 100, 7)], 20..30, Some(7)),
        (&[(0, 100, 7)], 20..101, None),
        (&[(50, 100, 7)], 49..60, None),
        (&[(50, 100, 7)], 100..110, None),
        (&[], 0..1, None),
        (&[(0, 100, 7), (100, 200, 8)], 50..150, Some(8)),
        (&[(0, 100, 7), (100, 200, 8)], 0..100, Some(7)),
        // Reordered.
        (&[(0, 100, 9), (100, 200, 8)], 50..150, Some(9)),
        // A hole, filled later.
        (&[(0, 100, 7), (200, 300, 8)], 0..300, None),
        (&[(0, 100, 7), (200, 300, 8), (100, 200, 40)], 0..300, Some(40)),
        (&[(0, 100, 7), (200, 300, 8), (100, 200, 40)], 200..300, Some(8)),
        // A needless retransmission changes nothing, an earlier copy does.
        (&[(0, 100, 7), (0, 100, 90)], 0..100, Some(7)),
        (&[(0, 100, 90), (0, 100, 7)], 0..100, Some(7)),
        // A retransmission that overlaps both sides of a hole.
        (&[(0, 100, 7), (150, 300, 8), (50, 200, 40)], 0..300, Some(40)),
        (&[(0, 100, 7), (150, 300, 8), (50, 200, 40)], 150..300, Some(8)),
        (&[(0, 300, 50), (100, 200, 20)], 100..200, Some(20)),
        (&[(0, 300, 50), (100, 200, 20)], 100..201, Some(50)),
        (&[(0, 300, 20), (100, 200, 50)], 100..200, Some(20)),
        (&[(0, 50, 7), (60, 100, 8)], 55..70, None),
    ];
    for (rows, bytes, expected) in table {
        let at = stream(rows).of_stream(FLOW, Direction::Up, bytes.clone());
        assert_eq!(at, expected.map(Instant::from_millis), "{bytes:?} of {rows:?}");
    }
}

#[test]
fn a_datagram_has_arrived_with_its_last_fragment() {
    let mut arrivals = Arrivals::new();
    let id = DatagramId(3);
    for (start, end, at) in [(64, 100, 5), (0, 64, 9)] {
        assert_eq!(arrivals.of_datagram(FLOW, Direction::Up, id), None);
        let content = Content::Datagram {
            flow: FLOW,
            id,
            start,
            end,
            of: 100,
        };
        arrivals.delivered(Direction::Up, &verdict(content), Instant::from_millis(at));
    }
    let at = arrivals.of_datagram(FLOW, Direction::Up, id);
    assert_eq!(at, Some(Instant::from_millis(9)));
    assert_eq!(arrivals.of_datagram(FLOW, Direction::Down, id), None);
}
