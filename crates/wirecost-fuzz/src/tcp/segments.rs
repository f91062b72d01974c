//! One end and any segments at any time.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_tcp::{Connection, Segment, State, Timestamps};
use wirecost_wire::tcp::{self, Flags, SackBlock, SackBlocks};

use super::end::{End, seen_on_the_wire, stream};
use super::{START, config, initial_sequence, start};
use crate::script::Script;

/// The most timers that fire in one run. A connection whose peer never answers needs fewer, zero-window probes included.
const MOST_TIMEOUTS: usize = 500;

/// A script of segments, calls of the application and time, to an end that connects or accepts.
pub fn segments(bytes: &[u8]) -> bool {
    let mut script = Script::new(bytes);
    let Some(mut target) = Target::new(&mut script) else {
        return false;
    };
    let mut is_understood = true;
    while let Some(step) = script.byte() {
        is_understood = target.step(step, &mut script).is_some();
    }
    target.finish();
    is_understood
}

struct Target {
    end: End,
    now: Instant,
    /// The sequence number of the peer's SYN: the last one before it counted.
    peer_initial: u32,
    /// Where the peer's next segment starts.
    peer_next: u32,
}

impl Target {
    /// An end that connects, accepts, or is open already.
    fn new(script: &mut Script<'_>) -> Option<Self> {
        let kind = script.byte()?;
        let accepts = kind & 1 != 0;
        let (config, phase) = config(script)?;
        let (ours, theirs) = (initial_sequence(script)?, initial_sequence(script)?);
        let shift = kind >> 3;
        let syn = Segment {
            sequence: theirs,
            flags: Flags::SYN,
            window: script.u16()?,
            maximum_segment_size: (kind & 4 == 0).then_some(1_000),
            window_scale: (shift < 20).then_some(shift),
            sack_permitted: true,
            timestamps: Some(Timestamps {
                value: theirs,
                echo: 0,
            }),
            ..Segment::default()
        };
        let connection = if accepts {
            Connection::accept(config, &syn, &[], start(ours, phase), START)
        } else {
            Connection::connect(config, start(ours, phase), START)
        };
        let mut target = Self {
            end: End::new(connection, ours, START),
            now: START,
            peer_initial: theirs,
            peer_next: theirs.wrapping_add(1),
        };
        if kind & 2 != 0 {
            target.complete(syn, accepts);
        }
        Some(target)
    }

    /// Completes the handshake.
    fn complete(&mut self, syn: Segment, accepts: bool) {
        let mut answer = Segment {
            acknowledgment: self.end.next,
            ..syn
        };
        answer.flags |= Flags::ACK;
        if accepts {
            answer.sequence = self.peer_next;
            answer.flags = Flags::ACK;
        }
        self.give(&answer, 0);
    }

    fn step(&mut self, step: u8, script: &mut Script<'_>) -> Option<()> {
        match step % 12 {
            0 => {
                let len = usize::from(script.byte()?);
                let view = tcp::Segment::new(script.take(len)).ok()?;
                self.give(&Segment::from_view(&view), view.payload().len());
            }
            1..=5 => {
                let segment = self.near(step, script)?;
                let bytes = usize::from(script.u16()? % 3_000);
                self.give(&segment, bytes);
            }
            6 => self.end.write(u64::from(script.u16()?), self.now),
            7 => {
                let limit = usize::from(script.u16()?);
                self.read(limit);
            }
            8 => self.wait(Duration::from_nanos(1 << (script.byte()? % 48))),
            9 => {
                if let Some(patience) = self.end.patience(self.now) {
                    self.wait(patience);
                }
            }
            10 => {
                self.end.connection.shutdown(self.now);
                self.end.settle(self.now);
            }
            _ if step < 128 => {
                self.end.connection.close(self.now);
                self.end.settle(self.now);
            }
            _ => {
                self.end.connection.abort(self.now);
                self.end.settle(self.now);
            }
        }
        Some(())
    }

    /// A segment near the ones that are expected.
    fn near(&mut self, step: u8, script: &mut Script<'_>) -> Option<Segment> {
        let options = script.byte()?;
        let mut near = |base: u32| Some(base.wrapping_add_signed(i32::from(script.u16()?.cast_signed())));
        let flags = [
            Flags::ACK,
            Flags::ACK | Flags::PSH,
            Flags::ACK | Flags::FIN,
            Flags::SYN,
            Flags::RST,
        ];
        let mut segment = Segment {
            sequence: if options & 1 == 0 {
                self.peer_next
            } else {
                near(self.peer_next)?
            },
            acknowledgment: if options & 2 == 0 {
                self.end.next
            } else {
                near(self.end.next)?
            },
            flags: flags[usize::from(step / 12) % flags.len()],
            window: near(0)? as u16,
            ..Segment::default()
        };
        if options & 4 != 0 {
            let value = near(self.peer_initial)?;
            segment.timestamps = Some(Timestamps {
                value,
                echo: near(self.end.next)?,
            });
        }
        if options & 8 != 0 {
            let block = SackBlock {
                left: near(self.end.next)?,
                right: near(self.end.next)?,
            };
            segment.sack = SackBlocks::new(&[block]);
        }
        if options & 16 != 0 {
            segment.flags |= Flags::ACK;
        }
        Some(segment)
    }

    /// Gives the end a segment with so many bytes of the peer's stream.
    fn give(&mut self, segment: &Segment, bytes: usize) {
        let segment = seen_on_the_wire(segment, &[]);
        let was_closed = self.end.connection.state() == State::SynSent;
        let is_syn = segment.has(Flags::SYN);
        let payload = stream(segment.sequence.wrapping_add(u32::from(is_syn)), bytes);
        self.end.receive(&segment, &payload, self.now);
        if was_closed && is_syn && self.end.connection.state() != State::SynSent {
            self.peer_initial = segment.sequence;
            self.peer_next = segment.sequence.wrapping_add(1);
        } else if let Some(expected) = self.end.acknowledged {
            self.peer_next = expected;
        }
    }

    fn read(&mut self, limit: usize) {
        let first = self.peer_initial.wrapping_add(1);
        self.end.read(limit, first, self.now);
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.end.wake(self.now);
    }

    /// Checks that an end ends when its application closes it and its peer does not answer.
    fn finish(mut self) {
        self.read(usize::MAX);
        self.end.connection.close(self.now);
        self.end.settle(self.now);
        for _ in 0..MOST_TIMEOUTS {
            let Some(patience) = self.end.patience(self.now) else {
                assert!(self.end.is_over(), "left alone: {:?}", self.end.connection);
                return;
            };
            self.wait(patience);
        }
        panic!("never over: {:?}", self.end.connection);
    }
}
