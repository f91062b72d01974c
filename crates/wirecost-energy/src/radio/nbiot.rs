//! NB-IoT: transport blocks in resource units and subframes, repeated (TS 36.211, TS 36.213).

use core::time::Duration;

use wirecost_nbiot::tables::{HARQ_ACK_SUBFRAMES, RESOURCE_COUNTS, Tones, npdsch_bits, npusch_bits};
use wirecost_proto::Direction;

use super::Airtime;

/// A device of one coverage level, with fixed transport formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbIot {
    /// Tones of NPUSCH.
    pub tones: Tones,
    /// Index of the block size of the uplink, from 0 to 12.
    pub i_tbs_up: usize,
    /// Repetitions of NPUSCH.
    pub repetitions_up: u64,
    /// Index of the block size of the downlink, from 0 to 12.
    pub i_tbs_down: usize,
    /// Repetitions of NPDSCH.
    pub repetitions_down: u64,
    /// Bytes of the headers below IP, for each packet: PDCP, RLC, MAC.
    pub link_bytes: u64,
    /// How long the device listens for each block: NPDCCH and the delays until the block.
    pub grant: Duration,
}

/// The size in bits of a block by index and count, or `None` where the release has none.
type Bits = fn(usize, usize) -> Option<u16>;

impl NbIot {
    pub(super) fn airtime(&self, direction: Direction, bytes: u64) -> Airtime {
        let bits = (bytes + self.link_bytes) * 8;
        let (blocks, units, unit_ms, repetitions) = match direction {
            Direction::Up => {
                let (blocks, units) = blocks(npusch_bits, self.i_tbs_up, bits);
                (
                    blocks,
                    units,
                    self.tones.resource_unit().subframes,
                    self.repetitions_up,
                )
            }
            Direction::Down => {
                let (blocks, units) = blocks(npdsch_bits, self.i_tbs_down, bits);
                (blocks, units, 1, self.repetitions_down)
            }
        };
        // The HARQ-ACK of a block down is NPUSCH format 2; that of a block up is the next grant.
        let reply_ms = match direction {
            Direction::Up => 0,
            Direction::Down => HARQ_ACK_SUBFRAMES * self.repetitions_up,
        };
        Airtime {
            wait: self
                .grant
                // Each block has a grant of its own on NPDCCH, for which the device waits.
                .saturating_mul(u32::try_from(blocks).unwrap_or(u32::MAX)),
            preamble: Duration::ZERO,
            data: Duration::from_millis(units * unit_ms * repetitions),
            link_bytes: self.link_bytes,
            reply: Duration::from_millis(blocks * reply_ms),
        }
    }
}

/// How many blocks carry some bits, and their resource units or subframes in all: the largest blocks first, then the shortest one
/// that holds the rest.
fn blocks(size: Bits, i_tbs: usize, bits: u64) -> (u64, u64) {
    let sizes = RESOURCE_COUNTS
        .iter()
        .enumerate()
        .filter_map(|(index, count)| Some((u64::from(size(i_tbs, index)?), u64::from(*count))));
    let sizes: Vec<(u64, u64)> = sizes.collect();
    let Some((largest, longest)) = sizes.last().copied() else {
        return (0, 0);
    };
    let (whole, rest) = (bits / largest, bits % largest);
    let last = sizes.iter().find(|(size, _)| rest > 0 && *size >= rest);
    let (one, units) = last.map_or((0, 0), |(_, count)| (1, *count));
    (whole + one, whole * longest + units)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn device(tones: Tones, i_tbs_up: usize, repetitions_up: u64) -> NbIot {
        NbIot {
            tones,
            i_tbs_up,
            repetitions_up,
            i_tbs_down: 0,
            repetitions_down: 4,
            link_bytes: 0,
            grant: Duration::from_millis(10),
        }
    }

    #[test]
    fn a_block_is_resource_units_times_repetitions() {
        // I_TBS 10: 56 B are 448 bits; 3 units hold 504. A unit of 12 tones is 1 ms, one of a tone at 15 kHz 8 ms.
        let wide = device(Tones::Twelve, 10, 1).airtime(Direction::Up, 56);
        assert_eq!(
            (wide.data, wide.wait),
            (Duration::from_millis(3), Duration::from_millis(10))
        );
        let repeated = device(Tones::Twelve, 10, 16).airtime(Direction::Up, 56);
        assert_eq!(repeated.data, Duration::from_millis(48));
        let narrow = device(Tones::Single15k, 10, 16).airtime(Direction::Up, 56);
        assert_eq!(narrow.data, Duration::from_millis(3 * 8 * 16));
    }

    #[test]
    fn a_long_packet_takes_several_blocks() {
        // I_TBS 0: blocks of at most 256 bits in 10 units. 64 B are two of them.
        let up = device(Tones::Single15k, 0, 2).airtime(Direction::Up, 64);
        assert_eq!(
            (up.data, up.wait),
            (Duration::from_millis(320), Duration::from_millis(20))
        );
        // Down: 32 B are 256 bits in 10 subframes, 4 times; the HARQ-ACK is 2 ms twice.
        let down = device(Tones::Single15k, 0, 2).airtime(Direction::Down, 32);
        assert_eq!(
            (down.data, down.reply),
            (Duration::from_millis(40), Duration::from_millis(4))
        );
    }

    proptest! {
        #[test]
        fn time_on_the_air_never_falls_with_bytes_or_repetitions(
            bytes in 1..2_000_u64, more in 0..500_u64, repetitions in 1..128_u64, further in 0..128_u64, index in 0..=10_usize,
        ) {
            let of = |bytes, repetitions| {
                let device = device(Tones::Twelve, index, repetitions);
                [Direction::Up, Direction::Down].map(|direction| device.airtime(direction, bytes).total())
            };
            let [up, down] = of(bytes, repetitions);
            for [other_up, other_down] in [of(bytes + more, repetitions), of(bytes, repetitions + further)] {
                prop_assert!(other_up >= up && other_down >= down);
            }
        }
    }
}
