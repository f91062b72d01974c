//! Tests of what two hosts have of the same traffic.

use super::*;

use std::net::IpAddr;

use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

const MS: i64 = 1_000_000;

const HOUR: i64 = 3_600_000 * MS;

/// How far the second host's clock is ahead at a time.
type Ahead = fn(i64) -> i64;

/// A link of 10 ms up and 14 ms down between hosts whose clocks differ.
struct Link {
    logs: [Log; 2],
    ahead_ns: Ahead,
    up_ns: i64,
    down_ns: i64,
}

impl Link {
    fn new(ahead_ns: Ahead) -> Self {
        Self {
            logs: Default::default(),
            ahead_ns,
            up_ns: 10 * MS,
            down_ns: 14 * MS,
        }
    }

    fn log(&mut self, host: usize, at: i64, mark: u64, is_up: bool) {
        // An address translation stands before the second host.
        let [device, server] = [["10.0.0.2", "10.0.0.1"], ["192.0.2.7", "10.0.0.1"]][host]
            .map(|address| address.parse::<IpAddr>().expect("an address"));
        let ends = if is_up { (device, server) } else { (server, device) };
        let at_ns = at + if host == 1 { (self.ahead_ns)(at) } else { 0 };
        self.logs[host].note(mark, at_ns, ends, 100);
    }

    fn up(&mut self, at: i64, mark: u64, arrives: bool) {
        self.log(0, at, mark, true);
        if arrives {
            self.log(1, at + self.up_ns, mark, true);
        }
    }

    fn down(&mut self, at: i64, mark: u64) {
        self.log(1, at, mark, false);
        self.log(0, at + self.down_ns, mark, false);
    }

    /// A request and its answer each second.
    fn seconds(&mut self, number: i64) {
        self.exchanges((0..number).map(|second| second * 1_000 * MS));
    }

    /// A request and its answer at each of these times.
    fn exchanges(&mut self, times: impl Iterator<Item = i64>) {
        for (number, at) in (0..).zip(times) {
            self.up(at, 2 * number, true);
            self.down(at + self.up_ns + MS, 2 * number + 1);
        }
    }

    fn compared(&self) -> Result<Hosts, NoHosts> {
        let [first, second] = self.logs.clone();
        Hosts::compare(first, second)
    }

    /// What is known of both hosts whose clocks differ steadily.
    fn steady(&self) -> (Hosts, ClockOffset) {
        let hosts = self.compared().expect("packets of both");
        let offset = *hosts.clock.offset().expect("a steady difference");
        (hosts, offset)
    }
}

fn assert_all_arrived(hosts: &Hosts, number: u64) {
    for way in [&hosts.up, &hosts.down] {
        assert_eq!(
            (way.both, way.sender_only, way.receiver_only),
            (number, AtOneHost::default(), AtOneHost::default())
        );
    }
    assert_eq!(hosts.others, [0, 0]);
}

#[test]
fn clocks_are_known_to_half_of_the_shortest_way_there_and_back() {
    let mut link = Link::new(|_| -3_600_000 * MS);
    link.seconds(20);
    let (hosts, clock) = link.steady();
    assert_eq!(clock.within_ns, 12 * MS);
    // The ways differ by 4 ms, of which half is taken for the clock's.
    assert_eq!(clock.ahead_ns, -3_600_000 * MS - 2 * MS);
    assert_eq!(clock.drift_ns_per_s, 0.0);
    assert_all_arrived(&hosts, 20);
    for way in [&hosts.up, &hosts.down] {
        let transit = way.transit.expect("20 packets");
        assert_eq!(
            (transit.min_ns, transit.p50_ns),
            (12 * MS as u64, Some(12 * MS as u64))
        );
    }
}

#[test]
fn a_clock_that_drifts_is_followed_wherever_the_packets_are() {
    // 180 ms in an hour, more than the ways can hide, of a clock that is an hour ahead.
    let clocks: [(Ahead, f64, &str); 2] = [
        (|at| HOUR + at / 20_000, 50_000.0, ", gaining 50 µs a second"),
        (|at| HOUR - at / 20_000, -50_000.0, ", losing 50 µs a second"),
    ];
    let evenly: Vec<i64> = (0..100).map(|number| number * 36_000 * MS).collect();
    let begin_and_end = (0..50).flat_map(|number| [number * 500 * MS, HOUR - number * 500 * MS]);
    for times in [evenly, begin_and_end.collect()] {
        for (ahead_ns, drift, told) in clocks {
            let mut link = Link::new(ahead_ns);
            link.exchanges(times.iter().copied());
            let (hosts, clock) = link.steady();
            assert!((clock.drift_ns_per_s - drift).abs() < 50.0, "{clock:?}");
            assert!((clock.within_ns - 12 * MS).abs() < MS / 10, "{clock:?}");
            assert_all_arrived(&hosts, 100);
            for way in [&hosts.up, &hosts.down] {
                let transit = way.transit.expect("packets");
                assert!(
                    [transit.min_ns, transit.max_ns]
                        .iter()
                        .all(|nanos| nanos.abs_diff(12 * MS as u64) < MS as u64 / 10),
                    "{transit:?}"
                );
            }
            let text = table(&hosts, ["device.pcap", "server.pcap"]);
            assert!(text.contains(told), "{text}");
        }
    }
}

#[test]
fn directions_are_known_whatever_the_clock_did_between_the_packets_of_both() {
    // Requests at the begin, answers at the end of an hour in which the clock gained more than a way takes.
    let mut link = Link::new(|at| at / 20_000);
    for number in 0..40 {
        link.up(number * 1_000 * MS, number as u64, true);
        link.down(HOUR + number * 1_000 * MS, 100 + number as u64);
    }
    link.down(500 * MS, 200);
    link.up(HOUR + 500 * MS, 201, true);
    let (hosts, _) = link.steady();
    assert_all_arrived(&hosts, 41);
}

#[test]
fn a_clock_that_was_set_is_said_and_every_packet_is_found() {
    const YEARS: i64 = 57 * 365 * 24 * HOUR;
    let clocks: [(Ahead, i64, i64); 4] = [
        (|at| if at < HOUR / 4 { -HOUR } else { 0 }, HOUR, 10 * MS),
        (|at| if at < HOUR / 40 { -YEARS } else { 0 }, YEARS, 10 * MS),
        (|at| if at < HOUR / 2 { HOUR } else { 0 }, HOUR, 10 * MS),
        // In a local network, by a service that sets it.
        (|at| if at < HOUR / 4 { 0 } else { 5 * MS }, 5 * MS, MS / 10),
    ];
    for (ahead_ns, step, way_ns) in clocks {
        let mut link = Link::new(ahead_ns);
        (link.up_ns, link.down_ns) = (way_ns, way_ns);
        link.exchanges((0..100).map(|number| number * 36_000 * MS));
        // The same datagram three times, of which two arrive.
        for (second, arrives) in [(1, true), (2, false), (3, true)] {
            link.up(second * 1_000 * MS, 999, arrives);
        }
        let hosts = link.compared().expect("packets of both");
        let HostClocks::Set { at_least_ns } = hosts.clock else {
            panic!("{:?}", hosts.clock);
        };
        assert!(
            (step as u64 / 4..=step as u64).contains(&at_least_ns),
            "{at_least_ns} of {step}"
        );
        assert_eq!(
            [hosts.up.both, hosts.up.sender_only.packets, hosts.down.both],
            [102, 1, 100]
        );
        assert_eq!((hosts.down.sender_only.packets, hosts.others), (0, [0, 0]));
        assert_eq!((hosts.up.transit, hosts.down.transit), (None, None));
        let text = table(&hosts, ["device.pcap", "server.pcap"]);
        assert!(text.contains("warning: a clock was set by "), "{text}");
        assert!(!text.contains("within"), "{text}");
        let json = serde_json::to_value(&hosts).expect("JSON");
        assert_eq!(json["clock"]["state"], "set");
    }
}

#[test]
fn a_drift_that_no_clock_has_is_a_clock_that_was_set() {
    // Two exchanges tell a step from a drift by its size alone.
    let mut link = Link::new(|at| if at < HOUR / 2 { 0 } else { HOUR / 100 });
    link.exchanges([0, 1_000 * MS, HOUR].into_iter());
    let hosts = link.compared().expect("packets of both");
    assert!(matches!(hosts.clock, HostClocks::Set { .. }), "{:?}", hosts.clock);
}

#[test]
fn a_drift_that_the_ways_hide_is_within_what_is_said() {
    // 16 ms in an hour, of 24 ms there and back.
    let mut link = Link::new(|at| at / 225_000);
    link.exchanges((0..100).map(|number| number * 36_000 * MS));
    let (hosts, clock) = link.steady();
    assert_eq!(clock.drift_ns_per_s, 0.0);
    assert_all_arrived(&hosts, 100);
    for (way, true_ns) in [(&hosts.up, 10 * MS), (&hosts.down, 14 * MS)] {
        let transit = way.transit.expect("packets");
        let wrong = [transit.min_ns, transit.max_ns].map(|nanos| nanos.abs_diff(true_ns as u64));
        assert!(
            wrong.into_iter().all(|wrong| wrong <= clock.within_ns as u64),
            "{transit:?} {clock:?}"
        );
    }
}

#[test]
fn a_capture_is_not_of_another_host_than_itself() {
    let mut link = Link::new(|_| 0);
    link.seconds(20);
    let [first, _] = link.logs.clone();
    assert_eq!(Hosts::compare(first.clone(), first), Err(NoHosts::SameTimes));
    // Times of whole milliseconds in a local network.
    (link.logs, link.up_ns, link.down_ns) = (Default::default(), 0, 0);
    link.seconds(20);
    assert_eq!(link.compared(), Err(NoHosts::SameTimes));
    let mut one_way = Link::new(|_| 0);
    one_way.up(0, 1, true);
    let [first, _] = one_way.logs;
    assert_eq!(Hosts::compare(first.clone(), first), Err(NoHosts::SameTimes));
}

#[test]
fn of_equal_packets_the_lost_one_is_that_which_did_not_arrive() {
    let mut link = Link::new(|_| 5 * MS);
    link.seconds(20);
    // The same datagram three times, of which the second arrives.
    link.up(500 * MS, 99, false);
    link.up(2_500 * MS, 99, true);
    link.up(6_500 * MS, 99, false);
    let hosts = link.compared().expect("packets of both");
    assert_eq!(
        (hosts.up.both, hosts.up.sender_only),
        (
            21,
            AtOneHost {
                packets: 2,
                bytes: 200
            }
        )
    );
    assert_eq!(hosts.up.transit.expect("packets").max_ns, 12 * MS as u64);
}

#[test]
fn what_was_cut_on_the_way_is_said_to_be() {
    let mut link = Link::new(|_| 0);
    link.seconds(20);
    link.log(0, 500 * MS, 70, true);
    link.log(1, 510 * MS, 71, true);
    link.log(1, 510 * MS, 72, true);
    let hosts = link.compared().expect("packets of both");
    assert_eq!(
        (hosts.up.sender_only.packets, hosts.up.receiver_only.packets),
        (1, 2)
    );
    assert!(hosts.is_cut_differently());
    let text = table(&hosts, ["device.pcap", "server.pcap"]);
    assert!(text.contains("segmentation offload"), "{text}");
    assert!(text.contains(" 20    1 (100 B)      2 (200 B) "), "{text}");
}

#[test]
fn what_the_other_logger_cannot_have_is_left_out() {
    let mut link = Link::new(|_| 0);
    link.seconds(20);
    link.log(0, -60_000 * MS, 70, true);
    link.log(1, 90_000 * MS, 71, false);
    let elsewhere = (
        "10.9.9.9".parse().expect("an address"),
        "10.9.9.8".parse().expect("an address"),
    );
    link.logs[1].note(72, 500 * MS, elsewhere, 100);
    let hosts = link.compared().expect("packets of both");
    assert_eq!(hosts.others, [1, 2]);
    assert_eq!(
        (hosts.up.sender_only.packets, hosts.down.sender_only.packets),
        (0, 0)
    );
}

#[test]
fn captures_without_a_common_packet_or_with_one_direction_cannot_be_compared() {
    let mut link = Link::new(|_| 0);
    link.log(0, 0, 1, true);
    link.log(1, 0, 2, true);
    assert_eq!(link.compared(), Err(NoHosts::Nothing));
    link.up(MS, 3, true);
    assert_eq!(link.compared(), Err(NoHosts::OneWay));
}

#[test]
fn packets_without_a_time_are_left_out_and_counted() {
    let mut link = Link::new(|_| 0);
    link.seconds(20);
    link.logs[1].untimed = 3;
    assert_eq!(link.compared().expect("packets of both").others, [0, 3]);
}

proptest! {
    /// A packet that each log has once arrived, whatever the clocks did.
    #[test]
    fn what_each_log_has_once_is_in_both(
        packets in prop::collection::vec((any::<bool>(), -5_000..5_000_i64, -5_000..5_000_i64, 0..4_u8), 2..40),
    ) {
        let mut link = Link::new(|_| 0);
        for (mark, (is_up, first, second, scale)) in (0..).zip(&packets) {
            let unit = [1, MS / 10, MS, i64::MAX / 5_000][usize::from(*scale)];
            link.log(0, first * unit, mark, *is_up);
            link.log(1, second * unit, mark, *is_up);
        }
        let Ok(hosts) = link.compared() else { return Ok(()) };
        prop_assert_eq!(hosts.up.both + hosts.down.both, packets.len() as u64);
        prop_assert_eq!(hosts.others, [0, 0]);
    }

    /// Each packet is in one count of its host, whatever a stranger has written, and no figure is none.
    #[test]
    fn every_packet_of_any_logs_is_counted_once(
        packets in prop::collection::vec((any::<bool>(), 0..6_u64, prop::sample::select(vec![
            0, 1, 1_000, MS, 7 * MS, 2_000 * MS, i64::MAX - 1, i64::MAX,
        ]), any::<bool>()), 0..40),
    ) {
        let mut link = Link::new(|_| 0);
        let mut all = [0; 2];
        for (is_second, mark, at, is_up) in packets {
            let host = usize::from(is_second);
            link.log(host, at, mark, is_up);
            all[host] += 1;
        }
        let Ok(hosts) = link.compared() else { return Ok(()) };
        let Hosts { clock, up, down, others } = &hosts;
        match clock {
            HostClocks::Steady(offset) => {
                prop_assert!(offset.drift_ns_per_s.is_finite() && offset.within_ns >= 0);
            }
            HostClocks::Set { at_least_ns } => {
                prop_assert!(*at_least_ns > 0 && up.transit.is_none() && down.transit.is_none());
            }
        }
        let sides = [
            up.both + up.sender_only.packets + down.both + down.receiver_only.packets + others[0],
            up.both + up.receiver_only.packets + down.both + down.sender_only.packets + others[1],
        ];
        prop_assert_eq!(sides, all);
        prop_assert!(!table(&hosts, ["one", "other"]).is_empty());
    }
}
