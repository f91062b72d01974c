//! The packets of a cell with its readings at another interval.
//!
//! A device without a connection, or with one for each reading, does nothing between two readings. So its packets at another interval
//! are those that were simulated, at other times. A kept connection has keep-alives and time-outs between readings: what it does at
//! another interval must be simulated.

use std::time::Duration;

use wirecost_proto::Cause;
use wirecost_results::Cell;
use wirecost_results::traffic::{CellTraffic, DeviceTraffic};

use crate::Way;
use wirecost_proto::time::nanos;

/// The longest time from a message to its last repetition: MAX_TRANSMIT_WAIT of CoAP (RFC 7252, section 4.8.2), the longest of the
/// protocols. At a shorter interval a repetition cannot be told from the next reading.
const LONGEST_REPETITION: Duration = Duration::from_secs(93);
/// The part of an interval by which the first packet of a reading may be earlier than that of the first reading would have it.
const EARLIER: u64 = 100;

/// The cell and the packets of its devices as they are with messages `interval` apart; each life has as many as it was simulated with.
/// `None` where packets at that interval do not follow from those that were simulated: on a kept connection, in a modelled NB-IoT cell,
/// and where a message takes longer than the interval.
pub fn spaced(traffic: &CellTraffic, cell: &Cell, interval: Duration) -> Option<(CellTraffic, Cell)> {
    let follows = match Way::from_cell(cell) {
        Way::NoConnection | Way::Each { .. } => cell.link.nbiot_cell.is_none(),
        Way::Kept { .. } | Way::Captured | Way::Loaded | Way::Repeated | Way::InCells => false,
    };
    let before = cell.interval_ns.filter(|nanos| follows && *nanos > 0)?;
    let repeated = Cause::Retransmission.name();
    let repeats = traffic.shapes.iter().any(|shape| shape.cause == repeated);
    if repeats && before < nanos(LONGEST_REPETITION) && cell.messages_per_connection > 1 {
        return None;
    }
    let moved = Moved {
        before,
        after: nanos(interval),
        last: cell.messages_per_connection.saturating_sub(1),
    };
    let devices = traffic.devices.iter().map(|device| moved.device(device));
    let traffic = CellTraffic {
        shapes: traffic.shapes.clone(),
        devices: devices.collect::<Option<_>>()?,
    };
    let cell = Cell {
        interval_ns: Some(moved.after),
        ..cell.clone()
    };
    Some((traffic, cell))
}

/// From one interval to another, in nanoseconds.
struct Moved {
    before: u64,
    after: u64,
    /// The number of the last message, from 0.
    last: u64,
}

impl Moved {
    fn device(&self, device: &DeviceTraffic) -> Option<DeviceTraffic> {
        let Some((first, _)) = device.packets.first() else {
            return Some(device.clone());
        };
        let first = device.connects_ns.first().map_or(*first, |at| *first.min(at));
        let all = |packets: &[(u64, usize)]| -> Option<Vec<(u64, usize)>> {
            let moved = packets
                .iter()
                .map(|(at, shape)| Some((self.time(first, *at)?, *shape)));
            moved.collect()
        };
        let connects = device.connects_ns.iter().map(|at| self.time(first, *at));
        Some(DeviceTraffic {
            sample: device.sample,
            connects_ns: connects.collect::<Option<_>>()?,
            packets: all(&device.packets)?,
            lost: all(&device.lost)?,
            air: Vec::new(),
        })
    }

    /// When something happens that happened at `at` in a life that began at `first`; `None` if its message is not over when the next
    /// one begins.
    fn time(&self, first: u64, at: u64) -> Option<u64> {
        let since = at.saturating_sub(first);
        let message = (since.saturating_add(self.before / EARLIER) / self.before).min(self.last);
        let begin = message.saturating_mul(self.before);
        let inside = since.saturating_sub(begin);
        if inside >= self.after {
            return None;
        }
        let earlier = begin.saturating_sub(since);
        let moved = message.saturating_mul(self.after).saturating_add(inside);
        Some(first.saturating_add(moved.saturating_sub(earlier)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn moved(before: u64, after: u64, at: u64) -> Option<u64> {
        let moved = Moved {
            before: before * SECOND,
            after: after * SECOND,
            last: 9,
        };
        moved.time(5 * SECOND, at * SECOND).map(|at| at / SECOND)
    }

    #[test]
    fn a_message_keeps_its_times_after_its_begin() {
        assert_eq!(moved(900, 3_600, 5), Some(5));
        assert_eq!(moved(900, 3_600, 7), Some(7));
        assert_eq!(moved(900, 3_600, 5 + 900 + 2), Some(5 + 3_600 + 2));
        // A little before its time it is still the second one.
        assert_eq!(moved(900, 3_600, 5 + 899), Some(5 + 3_599));
        assert_eq!(moved(900, 60, 5 + 9 * 900 + 3), Some(5 + 9 * 60 + 3));
    }

    #[test]
    fn a_message_that_takes_longer_than_the_interval_cannot_be_moved() {
        assert_eq!(moved(900, 60, 5 + 61), None);
        assert_eq!(moved(900, 60, 5 + 59), Some(5 + 59));
        // After the last message there is no other one.
        assert_eq!(moved(900, 60, 5 + 9 * 900 + 1_000), None);
    }

    #[test]
    fn a_kept_connection_does_something_else_at_another_interval() {
        let cell = Cell {
            interval_ns: Some(SECOND),
            messages_per_connection: 2,
            ..Cell::default()
        };
        let traffic = CellTraffic::default();
        assert!(
            spaced(&traffic, &cell, Duration::from_secs(9)).is_some(),
            "it has no connection"
        );
        let kept = Cell {
            connect: Some(wirecost_results::Section::default()),
            ..cell
        };
        assert!(spaced(&traffic, &kept, Duration::from_secs(9)).is_none());
    }
}
