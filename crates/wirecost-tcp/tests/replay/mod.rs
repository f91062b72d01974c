//! Replays a trace in virtual time.

mod format;
mod hosts;

use std::time::Duration;

use format::{Packet, Side, Trace};

/// Lines shown before a difference.
const CONTEXT: usize = 6;

/// Replays a trace and panics at the first segment that differs from the kernel's.
pub(crate) fn check(text: &str) {
    if let Err(difference) = compare(text) {
        panic!("{difference}");
    }
}

/// Replays a trace.
///
/// # Errors
/// The first segment that differs from the kernel's, with what is around it on both sides.
pub(crate) fn compare(text: &str) -> Result<(), String> {
    let trace = Trace::parse(text);
    let replayed = hosts::replay(&trace);
    let differences = Side::ALL.map(|side| difference(&trace, &replayed, side));
    let first = differences
        .into_iter()
        .flatten()
        .min_by_key(|difference| difference.at());
    first.map_or(Ok(()), |difference| Err(difference.tell(&trace, &replayed)))
}

/// Where a side's packets part.
struct Difference<'a> {
    side: Side,
    ordinal: usize,
    expected: Option<&'a Packet>,
    got: Option<&'a Packet>,
}

fn difference<'a>(trace: &'a Trace, replayed: &'a [Packet], side: Side) -> Option<Difference<'a>> {
    let expected = select(side, &trace.packets);
    let got = select(side, replayed);
    let differences = (0..expected.len().max(got.len())).map(|index| Difference {
        side,
        ordinal: index + 1,
        expected: expected.get(index).copied(),
        got: got.get(index).copied(),
    });
    differences
        .into_iter()
        .find(|difference| !difference.is_none(trace))
}

impl Difference<'_> {
    fn is_none(&self, trace: &Trace) -> bool {
        let (Some(expected), Some(got)) = (self.expected, self.got) else {
            return false;
        };
        expected.compared(trace.push) == got.compared(trace.push)
            && expected.at.abs_diff(got.at) <= trace.tolerance
    }

    /// When the earlier of the two was sent.
    fn at(&self) -> Option<Duration> {
        let both = self.expected.iter().chain(&self.got);
        both.map(|packet| packet.at).min()
    }

    fn tell(&self, trace: &Trace, replayed: &[Packet]) -> String {
        format!(
            "packet {} of {:?} differs (tolerance {:?})\n  kernel  {}\n  virtual {}\nkernel, both sides:\n{}virtual, both \
             sides:\n{}",
            self.ordinal,
            self.side,
            trace.tolerance,
            show(self.expected),
            show(self.got),
            context(&trace.packets, self.at()),
            context(replayed, self.at()),
        )
    }
}

fn select(side: Side, packets: &[Packet]) -> Vec<&Packet> {
    packets.iter().filter(|packet| packet.from == side).collect()
}

fn show(packet: Option<&Packet>) -> String {
    packet.map_or_else(|| "nothing".to_string(), Packet::to_string)
}

/// The packets of both sides around a time.
fn context(packets: &[Packet], at: Option<Duration>) -> String {
    let is_before = |packet: &&Packet| at.is_none_or(|at| packet.at < at);
    let before = packets.iter().take_while(is_before).count();
    let shown = packets
        .iter()
        .skip(before.saturating_sub(CONTEXT))
        .take(2 * CONTEXT);
    shown.map(|packet| format!("  {packet}\n")).collect()
}
