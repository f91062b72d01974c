//! Packets of two logs that look the same.

use super::Log;
use super::log::Seen;

/// The packets of each log that look the same, in the order of time.
pub(super) type Group<'a> = [&'a [Seen]; 2];

/// Sorts the packets of a log for [`groups`].
pub(super) fn sorted(log: &mut Log) {
    log.seen.sort_by_key(|seen| (seen.mark, seen.at_ns));
}

/// The packets of two sorted logs by what tells them from others.
pub(super) fn groups<'a>(logs: [&'a Log; 2]) -> impl Iterator<Item = Group<'a>> {
    let mut left = logs.map(|log| &log.seen[..]);
    std::iter::from_fn(move || {
        let mark = left.iter().filter_map(|seen| Some(seen.first()?.mark)).min()?;
        Some(left.each_mut().map(|seen| {
            let (same, after) = seen.split_at(seen.iter().take_while(|seen| seen.mark == mark).count());
            *seen = after;
            same
        }))
    })
}

/// The packet of a group, if each logger has it once.
pub(super) const fn once([first, second]: Group<'_>) -> Option<[Seen; 2]> {
    match (first, second) {
        ([one], [other]) => Some([*one, *other]),
        _ => None,
    }
}
