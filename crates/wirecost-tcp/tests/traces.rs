//! The `linux` preset held against the kernel, segment by segment.
//!
//! Each file in `traces/` shows one rule: what the two applications do, what the link does to single packets, and the
//! packets that the kernel sent. The same actions are replayed on two connections in virtual time; every segment must
//! have the flags, relative sequence and acknowledgment numbers, length and SACK blocks of the kernel's, in the order of
//! its direction, and leave within the trace's tolerance of the kernel's time. PSH and windows are not compared, except
//! PSH where the trace says `push`. docs/models/tcp.md tells the rules; `capture-trace FILE...`, as root, takes the
//! packets again.
//!
//! Lines of a trace, `#` before a comment:
//!
//! ```text
//! delay 12.5ms                     of the link, each way
//! phase 1234.567ms                 of the hosts' ticks of 4 ms: what their clock has counted at the start
//! rate 10mbit                      of the link, each way; no limit where it is not said
//! queue 3                          packets that the line of each way holds, the one being sent among them; no limit otherwise
//! drop > 6-9                       the packets to the server that found the queue full; written by `capture-trace`
//! tolerance 5ms                    of times; timers of hosts run in ticks of 4 ms
//! until 2s                         the end
//! lose > 3,5-7                     the third and the fifth to seventh packet to the server are lost
//! hold < 4 3ms                     the fourth packet to the client takes 3 ms longer
//! again > 2 500ms                  a second copy arrives 500 ms after the first
//! lazy server                      reads only when told so; otherwise all that is there, after each instant's packets
//! beside                           both sides run after each packet, as on a machine with a CPU for each
//! fast-open                        the server takes data in a SYN, and the client sends it where it has a cookie
//! nagle                            sockets without TCP_NODELAY
//! congestion reno                  the congestion control, instead of cubic
//! at 1s client write 132           or connect, read N, eager, shutdown, close, abort
//! packets
//!   1000.066 > PA  1+132 1 win 502 milliseconds, direction, flags, sequence+length, acknowledgment, options
//! ```

mod replay;

macro_rules! traces {
    ($($name:ident $file:literal)*) => {$(
        #[test]
        fn $name() {
            replay::check(include_str!(concat!("traces/", $file, ".trace")));
        }
    )*};
}

traces! {
    abort "abort"
    ack_by_read "ack-by-read"
    ack_lost "ack-lost"
    challenge_ack "challenge-ack"
    delayed_ack "delayed-ack"
    delayed_ack_of_a_long_path "delayed-ack-of-a-long-path"
    delayed_ack_piggyback "delayed-ack-piggyback"
    duplicate "duplicate"
    every_second_segment "every-second-segment"
    fast_retransmit "fast-retransmit"
    fast_open "fast-open"
    fast_open_of_a_long_write "fast-open-of-a-long-write"
    fast_open_syn_ack_lost "fast-open-syn-ack-lost"
    fast_open_syn_lost "fast-open-syn-lost"
    fin_alone "fin-alone"
    fin_lost "fin-lost"
    fin_with_data "fin-with-data"
    first_data_lost "first-data-lost"
    half_close "half-close"
    idle_quick_ack "idle-quick-ack"
    initial_window "initial-window"
    last_ack_lost "last-ack-lost"
    loss_on_a_slow_link "loss-on-a-slow-link"
    lost_retransmission "lost-retransmission"
    nagle "nagle"
    nagle_and_a_burst "nagle-and-a-burst"
    nagle_and_a_delayed_ack "nagle-and-a-delayed-ack"
    packets_of_the_send_buffer "packets-of-the-send-buffer"
    ping_pong "ping-pong"
    quick_ack "quick-ack"
    quick_ack_ends "quick-ack-ends"
    quick_ack_of_many "quick-ack-of-many"
    reno "reno"
    reordering "reordering"
    reordering_is_learnt "reordering-is-learnt"
    reset_of_data_after_close "reset-of-data-after-close"
    reset_of_unread_data "reset-of-unread-data"
    retransmission_beside_sack "retransmission-beside-sack"
    retransmission_time_out "retransmission-time-out"
    retransmissions_together "retransmissions-together"
    simultaneous_close "simultaneous-close"
    slow_link "slow-link"
    slow_link_of_a_long_path "slow-link-of-a-long-path"
    small_queue "small-queue"
    slow_start_after_idle "slow-start-after-idle"
    slow_start_after_lost_syn "slow-start-after-lost-syn"
    spurious_time_out "spurious-time-out"
    syn_ack_lost "syn-ack-lost"
    syn_ack_retry "syn-ack-retry"
    syn_options "syn-options"
    syn_retransmission "syn-retransmission"
    tail_loss_probe "tail-loss-probe"
    tail_loss_probe_of_a_short_path "tail-loss-probe-of-a-short-path"
    tail_loss_probe_of_one "tail-loss-probe-of-one"
    time_wait "time-wait"
    two_losses "two-losses"
    window_lost "window-lost"
    window_of_a_burst "window-of-a-burst"
    window_update "window-update"
    zero_window "zero-window"
}

#[test]
fn every_trace_is_replayed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces");
    let files = std::fs::read_dir(folder).expect("the traces").count();
    let listed = include_str!("traces.rs")
        .lines()
        .skip_while(|line| !line.starts_with("traces! {"));
    assert_eq!(listed.skip(1).take_while(|line| *line != "}").count(), files);
}
