//! Closed windows, silent peers, old segments.

use alloc::vec::Vec;
use core::time::Duration;

use wirecost_wire::tcp::Flags;

use super::{DELAY, pattern};
use crate::harness::{CLIENT, Faults, ISS, Net, SERVER, Sent};
use crate::receive::WindowPolicy;
use crate::{Config, Event, Segment, State};

/// A connection whose server does not read, and whose client writes more than it takes.
fn stalled(configs: [Config; 2]) -> Net {
    let mut net = Net::new(configs, DELAY, Faults::NONE, 0);
    net.run_for(Duration::from_secs(1));
    net.ends[SERVER].reads = false;
    net.write(CLIENT, &pattern(400_000));
    net
}

fn from_client(net: &Net, since: usize) -> Vec<Sent> {
    net.sent[since..]
        .iter()
        .filter(|sent| sent.from == CLIENT)
        .copied()
        .collect()
}

#[test]
fn a_closed_window_is_probed_ever_more_seldom_without_data() {
    let mut net = stalled([Config::linux(1460), Config::linux(1460)]);
    net.run_for(Duration::from_secs(2));
    let since = net.sent.len();
    net.run_for(Duration::from_secs(60));
    let probes = from_client(&net, since);
    assert!((4..=6).contains(&probes.len()), "{} probes", probes.len());
    let una = net.sent[since - 1].segment.acknowledgment;
    for probe in &probes {
        assert_eq!((probe.bytes, probe.segment.sequence), (0, una.wrapping_sub(1)));
    }
    let gaps: Vec<_> = probes
        .windows(2)
        .map(|pair| pair[1].at.saturating_since(pair[0].at))
        .collect();
    assert!(gaps.windows(2).all(|pair| pair[1] >= pair[0] * 3 / 2), "{gaps:?}");
    let answers = net.sent[since..]
        .iter()
        .filter(|sent| sent.from == SERVER)
        .count();
    assert_eq!(answers, probes.len());
}

#[test]
fn a_window_that_opens_lets_the_rest_through() {
    for configs in [
        [Config::linux(1460), Config::linux(1460)],
        [Config::linux(1460), Config::larmo(1460)],
        [Config::larmo(1460), Config::larmo(1460)],
    ] {
        let mut net = stalled(configs);
        net.run_for(Duration::from_secs(20));
        net.ends[SERVER].reads = true;
        net.settle(SERVER);
        net.run_for(Duration::from_secs(600));
        assert!(net.ends[SERVER].received == pattern(400_000));
    }
}

#[test]
fn a_segment_from_the_past_is_refused() {
    let mut net = Net::linux(DELAY);
    net.run_for(Duration::from_secs(1));
    net.write(CLIENT, &pattern(10));
    net.run_for(Duration::from_secs(1));
    let mut old = net.sent.iter().rfind(|sent| sent.bytes == 10).unwrap().segment;
    old.sequence = old.sequence.wrapping_add(10);
    old.timestamps = net.sent[0].segment.timestamps;
    let now = net.now;
    let server = net.ends[SERVER].connection();
    server.handle_segment(&old, &pattern(10), now);
    assert_eq!(server.available(), 0);
    let answer = server.poll_transmit(&mut Vec::new(), now).unwrap().segment;
    assert_eq!((answer.flags, answer.acknowledgment), (Flags::ACK, old.sequence));
}

#[test]
fn a_syn_in_an_open_connection_is_challenged() {
    let mut net = Net::linux(DELAY);
    net.run_for(Duration::from_secs(1));
    let now = net.now;
    let syn = Segment {
        sequence: ISS[CLIENT].wrapping_add(5_000),
        flags: Flags::SYN,
        timestamps: net.sent[2].segment.timestamps,
        ..Segment::default()
    };
    let server = net.ends[SERVER].connection();
    server.handle_segment(&syn, &[], now);
    let challenge = server.poll_transmit(&mut Vec::new(), now).unwrap().segment;
    assert_eq!(challenge.acknowledgment, ISS[CLIENT].wrapping_add(1));
    assert_eq!(server.state(), State::Established);
}

#[test]
fn writes_beyond_the_buffer_wait_for_room() {
    let mut net = Net::linux(DELAY);
    net.run_for(Duration::from_secs(1));
    let now = net.now;
    let taken = net.ends[CLIENT].connection().write(&pattern(200_000), now);
    // Packets of 22 segments while the buffer has room for another: it takes 46,080 B with the bookkeeping.
    assert_eq!(taken, 32 * 1_448);
    net.run_for(Duration::from_secs(1));
    assert!(net.ends[CLIENT].events.contains(&Event::Writable));
}

/// A client and a server whose window is no larger than `window`, open.
fn narrow(window: u32) -> Net {
    let mut configs = [Config::larmo(1460), Config::larmo(1460)];
    configs[SERVER].receive.window = WindowPolicy::Fixed { bytes: window };
    let mut net = Net::new(configs, DELAY, Faults::NONE, 0);
    net.run_for(Duration::from_secs(1));
    net
}

#[test]
fn a_write_into_a_window_below_a_segment_arrives() {
    let mut net = narrow(173);
    net.write(CLIENT, &pattern(400));
    net.run_for(Duration::from_secs(60));
    assert!(net.ends[SERVER].received == pattern(400));
}

#[test]
fn a_fin_before_a_closed_window_is_probed_for() {
    let mut net = narrow(1_000);
    net.ends[SERVER].reads = false;
    net.ends[CLIENT].closes = true;
    net.write(CLIENT, &pattern(1_000));
    // The segment that opens the window is lost.
    net.run_for(Duration::from_millis(500));
    net.lost = (net.sent.len()..=net.sent.len()).collect();
    net.ends[SERVER].reads = true;
    net.settle(SERVER);
    net.run_for(Duration::from_secs(20));
    assert!(net.ends[SERVER].events.contains(&Event::PeerClosed));
}

#[test]
fn an_orphaned_end_does_not_probe_a_closed_window_forever() {
    let mut net = stalled([Config::linux(1460), Config::linux(1460)]);
    net.run_for(Duration::from_secs(2));
    net.ends[CLIENT].unwritten.clear();
    let now = net.now;
    net.ends[CLIENT].connection().close(now);
    net.settle(CLIENT);
    net.run_for(Duration::from_secs(600));
    assert_eq!(net.ends[CLIENT].state(), Some(State::Closed));
}

#[test]
fn a_peer_clock_is_valid_after_half_its_range() {
    let mut net = Net::linux(DELAY);
    net.run_for(Duration::from_secs(30 * 24 * 60 * 60));
    for _ in 0..2 {
        net.write(CLIENT, &pattern(10));
        net.run_for(Duration::from_secs(1));
    }
    let last = |from| {
        let mut sent = net.sent.iter().rev();
        sent.find(|sent| sent.from == from)
            .and_then(|sent| sent.segment.timestamps)
    };
    let echo = last(SERVER).map(|stamps| stamps.echo);
    assert_eq!(echo, last(CLIENT).map(|stamps| stamps.value));
}
