//! What both sides do with what they have written.

use core::time::Duration;

use wirecost_proto::Buffer;

/// Moves bytes and spans from `from` to the end of `to`; `from` keeps its memory.
pub(crate) fn move_into(from: &mut Buffer, to: &mut Buffer) {
    if from.bytes().is_empty() {
        to.cover_spans(from.spans());
    }
    to.push_described(from.bytes(), from.spans());
    from.clear();
}

/// A duration as the standard's `milliseconds`.
pub(crate) fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

/// How often to speak to a peer that gives up after `idle_time_out` milliseconds: twice as often (section 2.4.5). It
/// does not give up where it said 0.
pub(crate) fn keep_alive(idle_time_out: Option<u32>) -> Option<Duration> {
    let millis = idle_time_out.filter(|millis| *millis > 0)?;
    Some(Duration::from_millis(u64::from(millis)) / 2)
}
