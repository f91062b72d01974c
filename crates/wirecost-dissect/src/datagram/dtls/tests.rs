use wirecost_http::http3::open::Secrets;

use super::*;

fn told(datagrams: &[(Direction, &[u8])]) -> Vec<String> {
    let (secrets, mut scratch) = (Secrets::default(), Vec::new());
    let mut context = Context {
        secrets: &secrets,
        scratch: &mut scratch,
    };
    let mut dtls = Dtls::new(5684);
    let mut out = SpanList::default();
    for (direction, bytes) in datagrams {
        dtls.describe(*direction, bytes, &mut context, &mut out);
    }
    let line = |piece: &crate::span_list::Piece| {
        let span = piece.span;
        let layer = if piece.known { span.layer.name() } else { "?" };
        format!("{} {layer} {} {}", span.len, span.phase.name(), span.cause.name())
    };
    out.pieces().iter().map(line).collect()
}

fn record(kind: u8, epoch: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_be_bytes();
    let head = [kind, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, 0, length[0], length[1]];
    [&head, body].concat()
}

#[test]
fn a_repeated_handshake_fragment_is_a_retransmission() {
    let hello = record(22, 0, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let up = Direction::Up;
    assert_eq!(
        told(&[(up, &hello), (up, &hello)]),
        [
            "25 security connect original",
            "25 security connect retransmission"
        ]
    );
}

#[test]
fn without_secrets_application_data_is_left_out() {
    let datagram = [record(23, 1, &[7; 30]), record(21, 1, &[7; 18])].concat();
    let lines = told(&[(Direction::Up, &datagram)]);
    let expected = [
        "13 security message original",
        "30 ? message original",
        "31 security close original",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_epoch_classifies_dtls_1_3_records() {
    let datagram = [[0b0010_1110, 0, 1, 0, 2, 9, 9], [0b0010_1111, 0, 2, 0, 2, 9, 9]].concat();
    let lines = told(&[(Direction::Down, &datagram)]);
    let expected = [
        "7 security connect original",
        "5 security message original",
        "2 ? message original",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn bytes_that_are_not_a_record_are_left_out() {
    assert_eq!(
        told(&[(Direction::Up, &[22, 0xfe, 0xfd, 0])]),
        ["4 ? message original"]
    );
}
