//! No segment, at any state, does harm.

use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;
use wirecost_proto::Instant;
use wirecost_wire::tcp::{Flags, SackBlock, SackBlocks};

use super::{DELAY, pattern};
use crate::harness::{CLIENT, ISS, Net, SERVER};
use crate::{Segment, State, Timestamps};

/// A connection at some point of its life.
fn at_some_point(point: u8) -> Net {
    let mut net = Net::linux(DELAY);
    if point == 0 {
        net.run_for(Duration::from_millis(1));
        return net;
    }
    net.run_for(DELAY * u32::from(point.min(4)));
    match point {
        5 => net.write(CLIENT, &pattern(20_000)),
        6 => net.ends[CLIENT].closes = true,
        7 => net.ends[SERVER].closes = true,
        8 => net.ends.each_mut().into_iter().for_each(|end| end.closes = true),
        9 => {
            net.ends[SERVER].reads = false;
            net.write(CLIENT, &pattern(200_000));
        }
        _ => {}
    }
    let steps = if point == 9 { 40 } else { u32::from(point % 3) };
    net.run_for(DELAY * steps);
    net
}

/// A number near the ones in use, or any.
fn number(base: u32) -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => (-3i32..4).prop_map(move |offset| base.wrapping_add_signed(offset)),
        2 => (-3_000i32..70_000).prop_map(move |offset| base.wrapping_add_signed(offset)),
        1 => any::<u32>(),
    ]
}

prop_compose! {
    fn segment()(
        sequence in number(ISS[SERVER]),
        acknowledgment in number(ISS[CLIENT]),
        flags in prop_oneof![any::<u8>(), Just(0x10), Just(0x11), Just(0x12), Just(0x14), Just(0x02)],
        window in any::<u16>(),
        options in (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), any::<Option<(u32, u32)>>()),
        blocks in proptest::collection::vec((number(ISS[CLIENT]), number(ISS[CLIENT])), 0..4),
    ) -> Segment {
        Segment {
            sequence,
            acknowledgment,
            flags: Flags::from_bits(flags),
            window,
            maximum_segment_size: options.0,
            window_scale: options.1,
            sack_permitted: options.2,
            timestamps: options.3.map(|(value, echo)| Timestamps { value: value % 5_000, echo }),
            sack: blocks.into_iter().map(|(left, right)| SackBlock { left, right }).collect::<SackBlocks>(),
            fast_open: None,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_segment_does_harm(
        point in 0u8..10,
        segments in proptest::collection::vec((segment(), 0usize..3_000, 0u64..2_000), 1..20),
    ) {
        let mut net = at_some_point(point);
        for (segment, bytes, pause_ms) in segments {
            let before = net.ends[CLIENT].state().map_or(0, State::age);
            let now = net.now;
            net.ends[CLIENT].connection().handle_segment(&segment, &pattern(bytes), now);
            net.settle(CLIENT);
            let after = net.ends[CLIENT].state().map_or(0, State::age);
            prop_assert!(after >= before, "{before} to {after} by {segment:?}");
            net.run_for(Duration::from_millis(pause_ms));
        }
        // Whatever was believed, it ends: nothing is left to wait for but the peer.
        net.run(Instant::START + Duration::from_secs(4_000));
        prop_assert!(net.sent.len() < 60_000);
    }

    #[test]
    fn a_closed_end_resets_all_segments_except_resets(segment in segment(), bytes in 0usize..10) {
        let mut net = Net::linux(DELAY);
        net.run_for(Duration::from_secs(1));
        let now = net.now;
        let client = net.ends[CLIENT].connection();
        client.abort(now);
        let mut payload = Vec::new();
        prop_assert!(client.poll_transmit(&mut payload, now).is_some());
        client.handle_segment(&segment, &pattern(bytes), now);
        let answer = client.poll_transmit(&mut payload, now);
        prop_assert_eq!(answer.is_some(), !segment.has(Flags::RST));
    }
}
