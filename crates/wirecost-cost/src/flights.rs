//! Round trips in a capture: the flights on the critical path.

use wirecost_proto::{Direction, Instant};

/// When a packet entered the link and when it was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTime {
    /// Its direction.
    pub direction: Direction,
    /// When it entered the link.
    pub sent_at: Instant,
    /// When it was first delivered; `None` if it was lost.
    pub delivered_at: Option<Instant>,
}

/// The number of flights (RFC 9147 section 5.1: messages sent together before waiting for the peer) on the
/// critical path that ends with the last packet.
///
/// `packets` holds the packets of the window, one row per packet, in the order in which they entered the link.
/// The cause of a packet is the packet of the other direction that was delivered last before it was sent. The path begins
/// with a packet that has no cause in the window.
pub fn flights(packets: &[PacketTime]) -> u32 {
    let Some((mut effect, mut earlier)) = packets.split_last() else {
        return 0;
    };
    let mut flights = 1;
    while let Some(cause) = cause_of(effect, earlier) {
        flights += 1;
        (effect, earlier) = (&earlier[cause], &earlier[..cause]);
    }
    flights
}

/// The number of round trips in `flights` flights: half as many.
pub fn round_trips(flights: u32) -> f64 {
    f64::from(flights) / 2.0
}

/// The index of the packet in `earlier` that `effect` waited for.
fn cause_of(effect: &PacketTime, earlier: &[PacketTime]) -> Option<usize> {
    let delivered = |(index, packet): (usize, &PacketTime)| {
        let at = packet.delivered_at.filter(|at| *at <= effect.sent_at)?;
        (packet.direction != effect.direction).then_some((at, index))
    };
    let latest = earlier.iter().enumerate().filter_map(delivered).max();
    latest.map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `^` or `v`, when it was sent, when it was delivered (-1: lost), in milliseconds.
    type Row = (char, u64, i64);

    fn path(rows: &[Row]) -> Vec<PacketTime> {
        let packet = |(arrow, sent, delivered): &Row| PacketTime {
            direction: if *arrow == '^' {
                Direction::Up
            } else {
                Direction::Down
            },
            sent_at: Instant::from_millis(*sent),
            delivered_at: u64::try_from(*delivered).ok().map(Instant::from_millis),
        };
        rows.iter().map(packet).collect()
    }

    #[test]
    fn a_path_is_walked_back_from_its_last_packet() {
        let table: &[(u32, &[Row])] = &[
            (0, &[]),
            (1, &[('^', 0, 10)]),
            // Request and answer.
            (2, &[('^', 0, 10), ('v', 10, 20)]),
            // SYN, SYN-ACK, request at once, answer.
            (4, &[('^', 0, 10), ('v', 10, 20), ('^', 20, 30), ('v', 30, 40)]),
            // Three packets of one flight, an answer to the last.
            (2, &[('^', 0, 10), ('^', 1, 11), ('^', 2, 12), ('v', 12, 22)]),
            // The answer came before the last packet of the request could.
            (2, &[('^', 0, 10), ('^', 8, 18), ('v', 10, 20)]),
            // Of two reordered packets the one that came last was waited for.
            (2, &[('v', 0, 30), ('^', 0, 20), ('v', 25, 28), ('^', 30, 40)]),
            // A lost packet causes nothing.
            (1, &[('^', 0, -1), ('v', 10, 20)]),
            // A packet on its way causes nothing.
            (1, &[('^', 0, 11), ('v', 10, 20)]),
        ];
        for (expected, rows) in table {
            assert_eq!(flights(&path(rows)), *expected, "{rows:?}");
        }
    }

    #[test]
    fn a_link_without_delay_does_not_loop() {
        assert_eq!(flights(&path(&[('^', 0, 0), ('v', 0, 0), ('^', 0, 0)])), 3);
    }

    #[test]
    fn half_a_flight_is_half_a_round_trip() {
        assert_eq!(round_trips(3), 1.5);
    }
}
