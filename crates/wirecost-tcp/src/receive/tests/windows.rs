//! What windows are advertised.

use super::*;

/// A window of four segments of 536 bytes.
const fn small() -> ReceiveConfig {
    ReceiveConfig {
        window: WindowPolicy::Fixed { bytes: 4 * 536 },
        ..ReceiveConfig::larmo()
    }
}

#[test]
fn a_syn_advertises_whole_segments_of_half_the_buffer() {
    // As live captures show them: SYN, and SYN-ACK with timestamps.
    assert_eq!(ReceiveConfig::linux().initial_window(1460), 64_240);
    assert_eq!(ReceiveConfig::linux().initial_window(1448), 65_160);
    assert_eq!(ReceiveConfig::linux().window_scale(), Some(7));
    assert_eq!(small().initial_window(536), 2_144);
    assert_eq!(small().window_scale(), None);
}

#[test]
fn the_first_windows_are_those_of_a_live_capture() {
    let mut host = Host::linux();
    host.follows(22, true);
    assert_eq!(host.receiver.window_bytes(), 509 << 7);
    host.acknowledges();
    host.reads();
    host.answers();
    host.after_millis(1000);
    for (acknowledged, window) in [(false, 0), (true, 555 << 7), (false, 0), (true, 595 << 7)] {
        host.follows(FULL, true);
        assert_eq!(host.acknowledges(), acknowledged);
        if acknowledged {
            assert_eq!(host.receiver.advertised.bytes, window);
        }
    }
    host.follows(FULL, false);
    host.follows(FULL, true);
    host.follows(1323, true);
    assert!(!host.acknowledges());
    host.reads();
    assert!(host.acknowledges());
}

#[test]
fn the_window_of_a_slow_link_grows_by_two_segments() {
    // A live capture at 1 Mbit/s, where each segment is read before the next; in units of 128 bytes.
    let mut host = Host::linux();
    for window in [532, 555, 577, 600, 623, 629, 629] {
        host.follows(FULL, false);
        assert!(host.acknowledges());
        assert_eq!(host.receiver.advertised.bytes >> 7, window);
        host.reads();
        host.after_millis(12);
    }
}

#[test]
fn a_segment_after_a_gap_opens_the_window_to_the_whole_buffer() {
    // A live capture at 5 Mbit/s: the memory of such a segment is counted after the window has grown.
    let mut host = Host::linux();
    for _ in 0..7 {
        host.follows(FULL, false);
        host.acknowledges();
        host.reads();
        host.after_millis(12);
    }
    assert_eq!(host.receiver.advertised.bytes >> 7, 629);
    let gap = host.receiver.next_expected();
    host.arrives(gap + FULL as u32, FULL, false);
    host.acknowledges();
    host.follows(FULL, false);
    host.acknowledges();
    host.reads();
    assert_eq!(host.receiver.window_bytes() >> 7, 640);
}

#[test]
fn the_segment_that_ended_the_handshake_measures_nothing() {
    let mut host = Host::linux();
    host.receiver.note_echo(1, 25, 0);
    host.receiver.forget_echo();
    host.receiver.note_echo(1, 500, FULL);
    assert_eq!(host.receiver.window.rtt(), Some(Duration::from_millis(499)));
    // The same timestamp does not measure again; a shorter time counts at once, a longer one by an eighth.
    host.receiver.note_echo(1, 600, FULL);
    host.receiver.note_echo(600, 625, FULL);
    assert_eq!(host.receiver.window.rtt(), Some(Duration::from_millis(25)));
    host.receiver.note_echo(700, 733, FULL);
    assert_eq!(host.receiver.window.rtt(), Some(Duration::from_millis(26)));
}

#[test]
fn a_window_that_nobody_empties_closes_and_opens_with_the_read() {
    let mut host = Host::linux();
    let mut arrived = 0;
    while host.receiver.window_bytes() >= 1448 {
        arrived += host.follows(FULL, false).in_order_bytes;
        host.receiver.ack_sent(host.now);
    }
    assert!(arrived > 30_000, "{arrived}");
    while host.receiver.promised() > 0 {
        let bytes = (host.receiver.promised() as usize).min(FULL);
        host.follows(bytes, false);
        host.receiver.ack_sent(host.now);
    }
    assert_eq!(host.follows(1, false), Arrived::default());
    assert!(host.acknowledges(), "a probe is answered");
    host.reads();
    assert!(host.acknowledges(), "the read tells that the window is open");
    assert!(host.receiver.promised() >= 60_000);
}

#[test]
fn the_buffer_grows_with_the_bytes_read_in_a_round_trip() {
    let mut host = Host::linux();
    let mut clock = 0;
    for _ in 0..12 {
        for _ in 0..40 {
            host.receiver.note_echo(clock, clock + 25, FULL);
            host.follows(FULL, false);
            host.receiver.ack_sent(host.now);
            host.reads();
        }
        host.after_millis(26);
        clock += 26;
    }
    // 40 segments a round: room for twice as many, and for growth.
    assert!(
        host.receiver.window_bytes() > 2 * 40 * 1448,
        "{}",
        host.receiver.window_bytes()
    );
}

/// Bytes of the window after bursts of 10, 20 and 70 segments a round-trip time apart, read when they have come, but for the
/// last 30 segments, which are read one by one.
fn window_after_bursts(reader: Reader) -> u32 {
    let config = ReceiveConfig {
        reader,
        ..ReceiveConfig::linux()
    };
    let mut host = Host::new(&config, true);
    let mut clock = 0;
    for segments in [10, 20, 40] {
        host.after_millis(100);
        clock += 100;
        host.receiver.note_echo(clock, clock + 100, FULL);
        for _ in 0..segments {
            host.follows(FULL, false);
            host.acknowledges();
        }
        host.reads();
    }
    for _ in 0..30 {
        host.follows(FULL, false);
        host.acknowledges();
        host.reads();
    }
    host.receiver.window_bytes()
}

#[test]
fn a_concurrent_reader_counts_reads_during_the_burst() {
    // What waits is taken off what was taken: after a burst twice as long as the one before, nothing is left.
    let (after, beside) = (
        window_after_bursts(Reader::After),
        window_after_bursts(Reader::Beside),
    );
    assert!(after < 90_000, "{after}");
    assert!(beside >= 40 * 2 * 1448, "{beside}");
}

#[test]
fn a_fixed_window_moves_by_a_segment_or_half_the_buffer() {
    let mut host = Host::new(&small(), false);
    host.follows(536, true);
    host.receiver.ack_sent(host.now);
    assert_eq!(host.receiver.window_bytes(), 2144 - 536);
    host.receiver.read(&mut host.read, 100, host.now);
    assert_eq!(
        host.receiver.window_bytes(),
        2144 - 536,
        "100 bytes are a silly window"
    );
    host.reads();
    assert!(!host.acknowledges());
    host.follows(536, true);
    host.follows(536, true);
    host.receiver.ack_sent(host.now);
    host.reads();
    assert!(host.acknowledges());
    assert_eq!(host.receiver.promised(), 2144);
}

#[test]
fn bytes_behind_the_window_are_cut_off() {
    let mut host = Host::new(&small(), false);
    assert_eq!(host.follows(3000, true).in_order_bytes, 2144);
    assert_eq!(host.receiver.promised(), 0);
}
