//! UDP: matching, duplicates, fragments.

use wirecost_proto::{Buffer, Cause, Direction, Layer, Phase, Span};
use wirecost_wire::ip::Version::{self, V4, V6};

use super::bench::*;
use super::fragment::fragments;
use crate::{Content, DatagramId, DeviceLedger};

/// A CoAP-like message: 9 bytes of header and options, then the payload.
const MESSAGE: [Span; 2] = [
    span(9, Layer::Application, Phase::Message, Cause::Original),
    span(16, Layer::Payload, Phase::Message, Cause::Original),
];

const ANSWER: [Span; 1] = [span(
    4,
    Layer::Application,
    Phase::Message,
    Cause::Acknowledgement,
)];

const CONNECT: [Span; 1] = [span(25, Layer::Security, Phase::Connect, Cause::Original)];

fn ledger_with(described: &[(Direction, &[u8], &[Span])]) -> DeviceLedger {
    let mut ledger = DeviceLedger::new();
    for (direction, bytes, spans) in described {
        ledger.datagram_spans(FLOW, *direction, bytes, spans);
    }
    ledger
}

/// Sends whole datagrams in order; each must be judged as its text says.
fn expect(ledger: &mut DeviceLedger, rows: &[(Direction, &[u8], &str)]) {
    for (number, (direction, content, expected)) in rows.iter().enumerate() {
        let packet = udp_packet(*direction, V4, content);
        let (verdict, spans) = account(ledger, *direction, &packet);
        assert_eq!(text(&verdict, &spans), *expected, "row {number}");
    }
}

const IS_MESSAGE: &str = "message original: 9 application, 16 payload";
const IS_CONNECT: &str = "connect original: 25 security";

#[test]
fn headers_follow_the_first_span() {
    let mut ledger = ledger_with(&[
        (Up, &[1; 25], &CONNECT),
        (Up, &[2; 25], &MESSAGE),
        (Down, &[3; 4], &ANSWER),
    ]);
    expect(
        &mut ledger,
        &[
            (Up, &[1; 25], IS_CONNECT),
            (Up, &[2; 25], IS_MESSAGE),
            (
                Down,
                &[3; 4],
                "message acknowledgement: 4 application acknowledgement",
            ),
        ],
    );
}

#[test]
fn loss_duplication_and_reordering_do_not_shift_the_match() {
    let mut ledger = ledger_with(&[
        (Up, &[0; 25], &CONNECT),
        (Up, &[1; 25], &CONNECT),
        (Up, &[2; 25], &MESSAGE),
        (Up, &[3; 25], &CONNECT),
    ]);
    expect(
        &mut ledger,
        &[
            (Up, &[2; 25], IS_MESSAGE),
            (Up, &[1; 25], IS_CONNECT),
            (Up, &[2; 25], IS_MESSAGE),
            (Up, &[3; 25], IS_CONNECT),
            (Up, &[1; 25], IS_CONNECT),
        ],
    );
}

#[test]
fn identical_datagrams_match_first_in_first_out() {
    let again = MESSAGE.map(|span| Span {
        cause: Cause::Retransmission,
        ..span
    });
    let mut ledger = ledger_with(&[(Up, &[7; 25], &MESSAGE), (Up, &[7; 25], &again)]);
    let is_again = "message retransmission: 9 application retransmission, 16 payload retransmission";
    expect(
        &mut ledger,
        &[
            (Up, &[7; 25], IS_MESSAGE),
            (Up, &[7; 25], is_again),
            (Up, &[7; 25], is_again),
        ],
    );
}

#[test]
fn identical_datagrams_after_an_unsent_one_stay_in_order() {
    let mut ledger = ledger_with(&[
        (Up, &[0; 25], &MESSAGE),
        (Up, &[7; 25], &MESSAGE),
        (Up, &[7; 25], &CONNECT),
    ]);
    expect(
        &mut ledger,
        &[(Up, &[7; 25], IS_MESSAGE), (Up, &[7; 25], IS_CONNECT)],
    );
}

#[test]
fn a_fragment_beyond_its_datagram_is_covered_to_the_end() {
    let mut ledger = ledger_with(&[(Up, &[1; 25], &MESSAGE)]);
    // A UDP length of 33 on 48 bytes in three fragments of 16.
    let mut packet = udp_packet(Up, V4, &[1; 40]);
    packet[25] = 33;
    let pieces = fragments(&packet, V4, 36, 9);
    let texts: Vec<String> = pieces
        .iter()
        .map(|piece| judged(&mut ledger, Up, piece))
        .collect();
    assert_eq!(
        texts,
        [
            "message original: 8 application",
            "message original: 1 application, 15 payload",
            "message original: 1 payload, 15 application (15 unattributed)",
        ]
    );
}

#[test]
fn content_ends_with_its_datagram() {
    let mut ledger = ledger_with(&[(Up, &[1; 25], &MESSAGE)]);
    let mut packet = udp_packet(Up, V4, &[1; 64]);
    packet[25] = 33;
    let pieces = fragments(&packet, V4, 36, 9);
    let mut content = |piece: &[u8]| match account(&mut ledger, Up, piece).0.content {
        Content::Datagram { start, end, .. } => (start, end),
        other => panic!("{other:?}"),
    };
    let ranges: Vec<(u32, u32)> = pieces.iter().map(|piece| content(piece)).collect();
    assert_eq!(ranges, [(0, 16), (16, 32), (32, 33), (33, 33), (33, 33)]);
}

#[test]
fn only_length_and_first_32_bytes_tell_datagrams_apart() {
    let mut long = [5; 40];
    let mut ledger = ledger_with(&[(Up, &long, &MESSAGE)]);
    long[39] = 0;
    expect(
        &mut ledger,
        &[(
            Up,
            &long[..25],
            "message original: 25 application (25 unattributed)",
        )],
    );
    expect(
        &mut ledger,
        &[(
            Up,
            &long,
            "message original: 9 application, 16 payload, 15 application (15 unattributed)",
        )],
    );
    long[31] = 0;
    expect(
        &mut ledger,
        &[(Up, &long, "message original: 40 application (40 unattributed)")],
    );
}

#[test]
fn an_undescribed_datagram_goes_to_the_describer() {
    let describe = |bytes: &[u8], out: &mut Buffer| {
        out.cover(2, Layer::Security, Phase::Connect, Cause::Original);
        out.cover(bytes.len() - 2, Layer::Payload, Phase::Connect, Cause::Original);
    };
    let mut ledger = DeviceLedger::with_describer(describe);
    ledger.datagram_spans(FLOW, Down, &[1; 25], &MESSAGE);
    expect(
        &mut ledger,
        &[
            (Down, &[9; 25], "connect original: 2 security, 23 payload"),
            (Down, &[1; 25], IS_MESSAGE),
            (Down, &[9; 25], "connect original: 2 security, 23 payload"),
        ],
    );
    for version in [V4, V6] {
        let packet = udp_packet(Down, version, &[8; 100]);
        let pieces = fragments(&packet, version, 88, 77);
        let texts: Vec<String> = pieces
            .iter()
            .map(|piece| judged(&mut ledger, Down, piece))
            .collect();
        assert_eq!(
            texts[0],
            "connect original: 2 security, 30 payload".replace("30", first_part(version))
        );
        assert!(
            texts[1..].iter().all(|text| text.ends_with(" payload")),
            "{texts:?}"
        );
    }
}

/// Payload bytes in the first fragment of a packet of at most 88 bytes, after UDP header and 2 bytes.
const fn first_part(version: Version) -> &'static str {
    match version {
        V4 => "54",
        V6 => "30",
    }
}

fn judged(ledger: &mut DeviceLedger, direction: Direction, packet: &[u8]) -> String {
    let (verdict, spans) = account(ledger, direction, packet);
    text(&verdict, &spans)
}

#[test]
fn fragments_share_the_spans_of_their_datagram_at_any_mtu() {
    for (version, smallest_mtu) in [(V4, 28), (V6, 56)] {
        for mtu in (smallest_mtu..400).step_by(3) {
            fragments_of_one_datagram(version, mtu);
        }
    }
}

fn fragments_of_one_datagram(version: Version, mtu: usize) {
    let content: Vec<u8> = (0..=255).collect();
    let said = [
        span(1, Layer::Security, Phase::Message, Cause::Original),
        span(100, Layer::Application, Phase::Message, Cause::Original),
        span(155, Layer::Payload, Phase::Close, Cause::Original),
    ];
    let mut ledger = ledger_with(&[(Down, &content, &CONNECT), (Down, &content[1..], &CONNECT)]);
    let id = ledger.datagram_spans(FLOW, Up, &content, &said);
    let mut totals = [0; 5];
    let mut next = 0;
    for piece in fragments(&udp_packet(Up, version, &content), version, mtu, 9) {
        let (verdict, spans) = account(&mut ledger, Up, &piece);
        assert_eq!(verdict.wire_bytes as usize, piece.len());
        assert_eq!((verdict.unattributed_bytes, verdict.cause), (0, Cause::Original));
        let Content::Datagram {
            id: of,
            start,
            end,
            of: 264,
            ..
        } = verdict.content
        else {
            panic!("{verdict:?} at mtu {mtu}");
        };
        assert_eq!((of, start), (id, next));
        let phase = if start >= 8 + 101 {
            Phase::Close
        } else {
            Phase::Message
        };
        // The first fragment of the smallest packets holds nothing but the UDP header.
        assert!(verdict.phase == phase || end == 8, "{verdict:?} at mtu {mtu}");
        next = end;
        spans
            .iter()
            .for_each(|span| totals[span.layer as usize] += span.len);
    }
    assert_eq!((next, &totals[1..]), (264, &[8, 1, 100, 155][..]), "mtu {mtu}");
}

#[test]
fn a_fragment_whose_first_was_not_seen_is_unattributed() {
    let mut ledger = ledger_with(&[(Up, &[1; 200], &MESSAGE)]);
    let pieces = fragments(&udp_packet(Up, V4, &[1; 200]), V4, 100, 9);
    let (verdict, _) = account(&mut ledger, Up, &pieces[1]);
    assert_eq!(verdict.unattributed_bytes, verdict.wire_bytes);
    assert_eq!(verdict.content, Content::None);
}

#[test]
fn an_identification_used_again_belongs_to_the_newest_datagram() {
    let mut ledger = ledger_with(&[(Up, &[1; 100], &[]), (Up, &[2; 25], &MESSAGE)]);
    for packet in fragments(&udp_packet(Up, V4, &[1; 100]), V4, 100, 9) {
        account(&mut ledger, Up, &packet);
    }
    let pieces = fragments(&udp_packet(Up, V4, &[2; 25]), V4, 36, 9);
    let texts: Vec<String> = pieces
        .iter()
        .map(|piece| judged(&mut ledger, Up, piece))
        .collect();
    assert_eq!(texts[1], "message original: 1 application, 15 payload");
}

#[test]
fn datagrams_are_numbered_in_the_order_told() {
    let mut ledger = DeviceLedger::new();
    assert_eq!(ledger.datagram_spans(FLOW, Up, &[1; 25], &MESSAGE), DatagramId(0));
    assert_eq!(ledger.datagram_spans(FLOW, Up, &[2; 25], &MESSAGE), DatagramId(1));
    assert_eq!(
        ledger.datagram_spans(FLOW, Down, &[2; 25], &MESSAGE),
        DatagramId(0)
    );
    let (verdict, _) = account(&mut ledger, Up, &udp_packet(Up, V4, &[2; 25]));
    let id = DatagramId(1);
    let expected = Content::Datagram {
        flow: FLOW,
        id,
        start: 0,
        end: 33,
        of: 33,
    };
    assert_eq!(verdict.content, expected);
}

#[test]
fn many_datagrams_keep_their_match_and_old_ones_are_forgotten() {
    let mut ledger = DeviceLedger::new();
    let content = |number: u32| [&number.to_be_bytes()[..], &[0; 21]].concat();
    for number in 0..20_000 {
        ledger.datagram_spans(FLOW, Up, &content(number), &MESSAGE);
        if number % 3 == 0 {
            expect(&mut ledger, &[(Up, &content(number), IS_MESSAGE)]);
        }
    }
    let forgotten = "message original: 25 application (25 unattributed)";
    expect(
        &mut ledger,
        &[(Up, &content(0), forgotten), (Up, &content(19_998), IS_MESSAGE)],
    );
}

#[test]
fn an_empty_datagram_has_the_phase_of_its_flow() {
    let mut ledger = ledger_with(&[(Up, &[1; 25], &CONNECT), (Up, &[], &[])]);
    expect(
        &mut ledger,
        &[
            (Up, &[], "message original: "),
            (Up, &[1; 25], IS_CONNECT),
            (Up, &[], "connect original: "),
        ],
    );
}
