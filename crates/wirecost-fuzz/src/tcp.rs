//! TCP of virtual time: one end and any segments; two ends and an arbitrary path.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_tcp::{Config, ConnectionStart};

use crate::script::Script;

mod end;
mod pair;
mod segments;

pub use pair::pair;
pub use segments::segments;

/// The largest segment that ends accept, in bytes.
const MSS: u16 = 1460;

/// The largest number of bytes written in an input.
const MOST_WRITTEN: u64 = 200_000;

/// The configuration of an end: a preset with some options switched off; and the phase of its clock.
fn config(script: &mut Script<'_>) -> Option<(Config, Duration)> {
    let (choice, more) = (script.byte()?, script.byte()?);
    let mut config = preset(choice)(if more & 0x20 == 0 { MSS } else { 200 });
    config.timestamps &= more & 8 == 0;
    config.selective_acknowledgments &= more & 16 == 0;
    Some((config, Duration::from_micros(u64::from(choice) * 997)))
}

/// A connection with this initial sequence number, on a host whose clock has this phase.
fn start(sequence: u32, clock_phase: Duration) -> ConnectionStart {
    ConnectionStart {
        sequence,
        clock_phase,
        fast_open: None,
    }
}

/// One of the presets.
pub(crate) fn preset(choice: u8) -> fn(u16) -> Config {
    let presets = [Config::linux, Config::larmo];
    presets[usize::from(choice) % presets.len()]
}

/// An initial sequence number: near the end of the numbers, so that they wrap, or anywhere.
fn initial_sequence(script: &mut Script<'_>) -> Option<u32> {
    let number = script.u16()?;
    Some(match number & 3 {
        0 => u32::from(number) << 16,
        1 => (1 << 31) - u32::from(number),
        _ => u32::MAX - u32::from(number),
    })
}

/// When inputs start: not at zero, so that earlier times exist.
const START: Instant = Instant::from_millis(5_000);

/// The byte of a stream at this sequence number.
const fn byte_at(sequence: u32) -> u8 {
    (sequence.wrapping_mul(0x9e37_79b1) >> 24) as u8
}
