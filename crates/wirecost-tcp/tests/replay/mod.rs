//! Replays a trace in virtual time.

mod format;
mod hosts;

use format::{Packet, Side, Trace};

/// Lines shown before a difference.
const CONTEXT: usize = 6;

/// Replays a trace and panics at the first segment that differs from the kernel's.
pub(crate) fn check(text: &str) {
    let trace = Trace::parse(text);
    let replayed = hosts::replay(&trace);
    for side in Side::ALL {
        let expected = of(side, &trace.packets);
        let got = of(side, &replayed);
        let difference = (0..expected.len().max(got.len()))
            .find(|&index| !agree(&trace, expected.get(index).copied(), got.get(index).copied()));
        if let Some(index) = difference {
            panic!(
                "packet {} of {side:?} differs (tolerance {:?})\n  kernel              {}\n  virtual             {}\n\
                 kernel, both sides:\n{}virtual, both sides:\n{}",
                index + 1,
                trace.tolerance,
                show(expected.get(index).copied()),
                show(got.get(index).copied()),
                context(&trace.packets, expected.get(index).or(expected.last()).copied()),
                context(&replayed, got.get(index).or(got.last()).copied()),
            );
        }
    }
}

fn of(side: Side, packets: &[Packet]) -> Vec<&Packet> {
    packets.iter().filter(|packet| packet.from == side).collect()
}

fn agree(trace: &Trace, expected: Option<&Packet>, got: Option<&Packet>) -> bool {
    match (expected, got) {
        (Some(expected), Some(got)) => {
            expected.compared(trace.push) == got.compared(trace.push)
                && expected.at.abs_diff(got.at) <= trace.tolerance
        }
        _ => false,
    }
}

fn show(packet: Option<&Packet>) -> String {
    packet.map_or_else(|| "nothing".to_string(), Packet::to_string)
}

/// The packets of both sides around one of them.
fn context(packets: &[Packet], around: Option<&Packet>) -> String {
    let at = packets.iter().position(|packet| Some(packet) == around);
    let first = at.unwrap_or(packets.len()).saturating_sub(CONTEXT);
    let shown = packets.iter().skip(first).take(2 * CONTEXT);
    shown.map(|packet| format!("  {packet}\n")).collect()
}
