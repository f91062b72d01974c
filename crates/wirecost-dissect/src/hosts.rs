//! The same traffic as the loggers of two hosts have it: what arrived, what did not, and how long it took.
//!
//! A packet has no name, so that one of both captures is known by what no router, no address translation and no network card
//! changes: its length, and the beginning of its transport header and content without ports and checksum. The clocks of two
//! hosts differ. A packet cannot arrive before it was sent, which bounds the difference from both sides; its estimate is the
//! middle, as it is for NTP (RFC 5905, section 8), and half of the bounds' distance is printed with it.

mod clock;
mod groups;
mod log;
mod matched;
mod table;

use serde::Serialize;
use wirecost_proto::BothWays;

pub use clock::ClockOffset;
pub use log::Log;
pub use table::table;

use clock::Sides;

/// What two loggers have of the same traffic. Up is from the host of the first capture to that of the second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hosts {
    /// How far the clock of the second host is ahead.
    pub clock: ClockOffset,
    /// Packets from the host of the first capture to that of the second.
    pub up: Passage,
    /// Packets from the host of the second capture to that of the first.
    pub down: Passage,
    /// Packets of other traffic, of times when the other logger did not run, and without a time, by host.
    pub others: [u64; 2],
}

/// The packets of a direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Packets that both loggers have.
    pub both: u64,
    /// What only the sender's logger has: lost packets, or segments that were cut on the way.
    pub sender_only: AtOneHost,
    /// What only the receiver's logger has: segments that were cut or joined on the way.
    pub receiver_only: AtOneHost,
    /// How long the packets of both loggers took.
    pub transit: Option<Transit>,
}

/// Packets and the bytes of their IP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AtOneHost {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

/// Times from one logger to the other in nanoseconds. All of a direction are too long or too short by at most the clock's
/// [`within_ns`](ClockOffset::within_ns). A quantile is absent where there are too few packets for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transit {
    /// The shortest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: u64,
}

/// Why two captures cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHosts {
    /// No packet is in both.
    Nothing,
    /// All packets of both went the same way, so that nothing bounds the clocks' difference.
    OneWay,
}

impl Hosts {
    /// Compares the logs of two hosts.
    ///
    /// # Errors
    /// Nothing is in both, or in one direction alone.
    pub fn compare(mut first: Log, mut second: Log) -> Result<Self, NoHosts> {
        groups::sorted(&mut first);
        groups::sorted(&mut second);
        let logs = [&first, &second];
        let sides = Sides::known(logs)?;
        let clock = ClockOffset::estimated(&sides)?;
        let (BothWays { up, down }, others) = matched::ways(logs, &sides, &clock);
        Ok(Self {
            clock,
            up,
            down,
            others,
        })
    }

    /// Whether segments were cut or joined on the way.
    pub const fn is_cut_differently(&self) -> bool {
        self.up.receiver_only.packets + self.down.receiver_only.packets > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::net::IpAddr;

    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    const MS: i64 = 1_000_000;

    /// A link of 10 ms up and 14 ms down between hosts whose clocks differ.
    struct Link {
        logs: [Log; 2],
        ahead_ns: fn(i64) -> i64,
    }

    impl Link {
        fn new(ahead_ns: fn(i64) -> i64) -> Self {
            Self {
                logs: Default::default(),
                ahead_ns,
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
                self.log(1, at + 10 * MS, mark, true);
            }
        }

        fn down(&mut self, at: i64, mark: u64) {
            self.log(1, at, mark, false);
            self.log(0, at + 14 * MS, mark, false);
        }

        /// A request and its answer each second.
        fn seconds(&mut self, number: i64) {
            for second in 0..number {
                let at = second * 1_000 * MS;
                self.up(at, 2 * second as u64, true);
                self.down(at + 11 * MS, 2 * second as u64 + 1);
            }
        }

        fn compared(&self) -> Result<Hosts, NoHosts> {
            let [first, second] = self.logs.clone();
            Hosts::compare(first, second)
        }
    }

    #[test]
    fn clocks_are_known_to_half_of_the_shortest_way_there_and_back() {
        let mut link = Link::new(|_| -3_600_000 * MS);
        link.seconds(20);
        let hosts = link.compared().expect("packets of both");
        assert_eq!(hosts.clock.within_ns, 12 * MS);
        // The ways differ by 4 ms, of which half is taken for the clock's.
        assert_eq!(hosts.clock.ahead_ns, -3_600_000 * MS - 2 * MS);
        assert_eq!(hosts.clock.drift_ns_per_s, 0.0);
        for way in [&hosts.up, &hosts.down] {
            assert_eq!(
                (way.both, way.sender_only, way.receiver_only),
                (20, AtOneHost::default(), AtOneHost::default())
            );
            let transit = way.transit.expect("20 packets");
            assert_eq!(
                (transit.min_ns, transit.p50_ns),
                (12 * MS as u64, Some(12 * MS as u64))
            );
        }
        assert_eq!(hosts.others, [0, 0]);
    }

    #[test]
    fn a_clock_that_drifts_is_followed() {
        // 100 ms in 1,000 s, more than the ways can hide, of a clock that is an hour ahead.
        let mut link = Link::new(|at| 3_600_000 * MS + at / 10_000);
        link.seconds(1_000);
        let hosts = link.compared().expect("packets of both");
        assert!(
            (hosts.clock.drift_ns_per_s - 100_000.0).abs() < 5_000.0,
            "{:?}",
            hosts.clock
        );
        let transit = hosts.up.transit.expect("packets");
        assert!(transit.max_ns - transit.min_ns < 6 * MS as u64, "{transit:?}");
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
            prop_assert!(clock.drift_ns_per_s.is_finite() && clock.within_ns >= 0);
            let sides = [
                up.both + up.sender_only.packets + down.both + down.receiver_only.packets + others[0],
                up.both + up.receiver_only.packets + down.both + down.sender_only.packets + others[1],
            ];
            prop_assert_eq!(sides, all);
            prop_assert!(!table(&hosts, ["one", "other"]).is_empty());
        }
    }
}
