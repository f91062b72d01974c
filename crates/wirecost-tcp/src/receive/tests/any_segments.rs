//! What must hold for segments in any order, cut and repeated in any way.

use proptest::prelude::*;

use super::*;

/// Bytes of the stream, FIN not counted.
const LENGTH: u32 = 4000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Segment { offset: u32, bytes: u32, push: bool },
    Read(usize),
    Acknowledge,
    Answer,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..LENGTH, 0..1500u32, any::<bool>())
            .prop_map(|(offset, bytes, push)| Step::Segment { offset, bytes, push }),
        2 => (0..2000usize).prop_map(Step::Read),
        2 => Just(Step::Acknowledge),
        1 => Just(Step::Answer),
        1 => (0..300u64).prop_map(Step::Wait),
    ]
}

fn configs() -> impl Strategy<Value = ReceiveConfig> {
    prop_oneof![Just(ReceiveConfig::linux()), Just(ReceiveConfig::larmo()),]
}

/// What arrived, byte by byte.
struct Seen {
    start: u32,
    bytes: Vec<bool>,
    fin: bool,
}

impl Seen {
    fn contains(&self, sequence: u32) -> bool {
        let offset = sequence.wrapping_sub(self.start);
        match self.bytes.get(offset as usize) {
            Some(seen) => *seen,
            None => offset == LENGTH && self.fin,
        }
    }
}

struct Run {
    host: Host,
    seen: Seen,
    /// The right edge that was advertised.
    edge: u32,
    /// The first sequence number of the segment that came last.
    last: Option<u32>,
}

impl Run {
    fn new(config: &ReceiveConfig, start: u32) -> Self {
        let terms = Terms {
            maximum_segment_size: 1460,
            timestamps: true,
            selective: true,
            window_scale: config.window_scale().unwrap_or_default(),
            window: config.initial_window(1460),
        };
        let receiver = Receiver::new(config, terms, start, Instant::START);
        Self {
            edge: start.wrapping_add(terms.window),
            last: None,
            seen: Seen {
                start,
                bytes: std::vec![false; LENGTH as usize],
                fin: false,
            },
            host: Host {
                receiver,
                now: Instant::START,
                read: Vec::new(),
            },
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Segment { offset, bytes, push } => self.segment(offset, bytes, push),
            Step::Read(limit) => {
                let now = self.host.now;
                self.host.receiver.read(&mut self.host.read, limit, now);
            }
            Step::Acknowledge => {
                self.host.receiver.ack_sent(self.host.now);
            }
            Step::Answer => self.host.answers(),
            Step::Wait(millis) => {
                self.host.after_millis(millis);
                self.host.receiver.handle_timeout(self.host.now);
            }
        }
    }

    /// A segment of the stream; the FIN is at its end.
    fn segment(&mut self, offset: u32, bytes: u32, push: bool) {
        let bytes = bytes.min(LENGTH - offset);
        let fin = offset + bytes == LENGTH;
        let sequence = self.seen.start.wrapping_add(offset);
        let receiver = &mut self.host.receiver;
        if !receiver.is_acceptable(sequence, bytes + u32::from(fin)) {
            receiver.refuse(sequence, bytes);
            return;
        }
        let edge = receiver.next_expected().wrapping_add(receiver.promised());
        let payload = stream(sequence, bytes as usize);
        receiver.handle_data(sequence, &payload, fin, push, self.host.now);
        // What stands within the window counts, and the FIN with the last byte of it.
        let inside = distance(sequence, edge).min(bytes as usize);
        if sequence == edge && inside == 0 {
            return;
        }
        for seen in self.seen.bytes.iter_mut().skip(offset as usize).take(inside) {
            *seen = true;
        }
        self.last = (bytes > 0).then_some(sequence);
        self.seen.fin |= fin && inside == bytes as usize;
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let receiver = &self.host.receiver;
        let next = receiver.next_expected();
        // The next sequence number expected is the first that has not arrived.
        prop_assert!(!self.seen.contains(next));
        let before = distance(self.seen.start, next);
        prop_assert!(
            (0..before as u32).all(|offset| self.seen.contains(self.seen.start.wrapping_add(offset)))
        );
        // What was read and can be read is what arrived in order.
        let fin = usize::from(receiver.reassembly.is_finished());
        prop_assert_eq!(self.host.read.len() + receiver.available() + fin, before);
        // RFC 9293, section 3.8.6: the right edge of the window does not move left.
        let edge = receiver.advertised.right_edge();
        prop_assert!(!is_before(edge, self.edge));
        self.edge = edge;
        Ok(())
    }

    /// RFC 2018, section 4: the first block holds the segment that came last, and blocks tell what is held and no more.
    fn check_blocks(&self) -> Result<(), TestCaseError> {
        let receiver = &self.host.receiver;
        let next = receiver.next_expected();
        let mut sack = receiver.sack.clone();
        sack.forget_duplicate();
        let blocks: Vec<SackBlock> = sack.blocks(false).iter().collect();
        if let (Some(last), Some(first)) = (self.last, blocks.first())
            && is_after(last, next)
        {
            prop_assert!(!is_after(first.left, last) && is_before(last, first.right));
        }
        for block in blocks.iter().filter(|block| is_after(block.left, next)) {
            let mut sequences = (0..block.right.wrapping_sub(block.left)).map(|n| block.left.wrapping_add(n));
            prop_assert!(sequences.all(|sequence| self.seen.contains(sequence)));
            // The run is told whole.
            prop_assert!(!self.seen.contains(block.right));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_byte_comes_out_once_and_in_order(
        config in configs(),
        start in any::<u32>(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut run = Run::new(&config, start);
        for step in steps {
            run.take(step);
            run.check()?;
            run.check_blocks()?;
        }
        // Whatever is missing comes at last.
        for _ in 0..=LENGTH {
            let offset = distance(run.seen.start, run.host.receiver.next_expected()) as u32;
            if run.host.receiver.reassembly.is_finished() {
                break;
            }
            run.segment(offset, 536, false);
            run.host.receiver.ack_sent(run.host.now);
            run.host.reads();
        }
        run.host.reads();
        prop_assert_eq!(&run.host.read, &stream(run.seen.start, LENGTH as usize));
        prop_assert!(!run.host.receiver.unread());
    }

    #[test]
    fn no_segment_makes_it_panic(
        config in configs(),
        next in any::<u32>(),
        segments in prop::collection::vec((any::<u32>(), 0..3000usize, any::<bool>(), any::<bool>()), 0..40),
        near in any::<bool>(),
    ) {
        let mut run = Run::new(&config, next);
        for (sequence, bytes, fin, push) in segments {
            let sequence = if near { next.wrapping_add(sequence % 9000).wrapping_sub(3000) } else { sequence };
            let payload = std::vec![0; bytes];
            run.host.receiver.handle_data(sequence, &payload, fin, push, run.host.now);
            run.host.receiver.refuse(sequence, bytes as u32);
            run.host.reads();
        }
    }
}
