//! The phase of segments that only acknowledge, and acknowledge nothing new.

use super::bench::*;

const FROM_SERVER: Seg = ACK.down();

/// Everything that the device sends, but for the FIN.
const ALL: &str = "connect original: 10 application, 4 application of message, 96 payload of message, \
     2 application of close";

#[test]
fn acknowledgements_before_the_first_message_have_their_phase() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (FROM_SERVER.ack(11), "connect acknowledgement: "),
        // Overtaken by what follows it.
        (ACK.seq(11).len(50), "message original: 4 application, 46 payload"),
        (ACK.seq(61).len(50), "message original: 50 payload"),
        (FROM_SERVER.ack(11).sack(61, 111), "message acknowledgement: "),
    ]);
}

#[test]
fn an_acknowledgement_of_a_duplicate_has_its_phase() {
    let again = "message retransmission: 4 application retransmission, 96 payload retransmission";
    Bench::established(u32::MAX - 3, 9_000).expect(&[
        (ACK.len(112), ALL),
        (FROM_SERVER.ack(113), "close acknowledgement: "),
        (ACK.seq(11).len(100), again),
        (FROM_SERVER.ack(113).sack(11, 111), "message acknowledgement: "),
        (FROM_SERVER.ack(113).sack(1, 11), "connect acknowledgement: "),
    ]);
}

#[test]
fn a_fin_that_arrives_early_or_twice_is_answered_in_the_close() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (
            ACK.seq(11).len(100),
            "message original: 4 application, 96 payload",
        ),
        (FROM_SERVER.ack(11), "connect acknowledgement: "),
        (FIN_ACK.seq(111), "close original: "),
        (FROM_SERVER.ack(11).sack(111, 112), "close acknowledgement: "),
        (FROM_SERVER.ack(112), "close acknowledgement: "),
        (FROM_SERVER.ack(112).sack(111, 112), "close acknowledgement: "),
    ]);
}

#[test]
fn a_new_acknowledgement_has_priority_over_a_sack_block() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(112), ALL),
        (FROM_SERVER.ack(11).sack(111, 113), "connect acknowledgement: "),
        (FROM_SERVER.ack(12).sack(111, 113), "message acknowledgement: "),
    ]);
}

#[test]
fn a_receiver_without_sack_waits_for_the_byte_of_its_number() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (FROM_SERVER.ack(11), "connect acknowledgement: "),
        (
            ACK.seq(11).len(100),
            "message original: 4 application, 96 payload",
        ),
        (FROM_SERVER.ack(11), "message acknowledgement: "),
    ]);
}

#[test]
fn a_segment_without_news_has_the_phase_of_the_packet_before() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (
            ACK.seq(11).len(100),
            "message original: 4 application, 96 payload",
        ),
        (FROM_SERVER.ack(111), "message acknowledgement: "),
        // The server has sent nothing: an answer to an old segment, a keep-alive, and the answer to that.
        (ACK.seq(111), "message acknowledgement: "),
        (ACK.seq(110), "message probe: "),
        (FROM_SERVER.ack(111), "message acknowledgement: "),
    ]);
}

#[test]
fn a_sack_block_beyond_the_sent_bytes_is_ignored() {
    Bench::established(1_000, 9_000).expect(&[
        (
            ACK.len(20),
            "connect original: 10 application, 4 application of message, 6 payload of message",
        ),
        (FROM_SERVER.ack(21).sack(500, 600), "message acknowledgement: "),
        (
            FROM_SERVER
                .ack(21)
                .sack(0_u32.wrapping_sub(50), 0_u32.wrapping_sub(40)),
            "message acknowledgement: ",
        ),
    ]);
}
