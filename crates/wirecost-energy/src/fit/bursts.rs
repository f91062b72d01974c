//! When the parts of each burst begin and end.

use core::ops::Range;
use core::time::Duration;

use super::align::{Misaligned, align};
use super::{BurstPacket, Clocks, FEWEST_BURSTS, Fits, FittedFigure, NotFitted, Trace, segments};
use crate::device::{Device, State};

/// The power above rest at which a burst begins, as a part of the base's wake-up, or, without one, of its connection.
const RISE: f64 = 0.4;

/// The longest time below that power within a burst, in seconds, and as a part of the shortest time between two bursts.
const PAUSE: f64 = 1.0;
const PAUSE_PART: f64 = 0.1;

/// How far a tail's power must be above the state after it, as a part of the tail's.
const STEP: f64 = 0.05;

/// A burst of the capture in the trace.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    /// Its packets, on the clock of the capture.
    pub(super) packets: Vec<BurstPacket>,
    /// When its first packet is on the air, in seconds of the trace.
    pub(super) first: f64,
    /// The bins from the rise to the next rise.
    pub(super) range: Range<usize>,
}

/// Bursts in the trace.
pub(super) struct Placed {
    pub(super) bursts: Vec<Burst>,
    pub(super) shift: f64,
    pub(super) delay: Option<f64>,
}

/// The packets in bursts, between which the base rests.
pub(super) fn groups<'a>(packets: &'a [BurstPacket], base: &Device) -> Vec<&'a [BurstPacket]> {
    let wake = base.wake.map_or(Duration::ZERO, |wake| wake.time);
    let rests = (base.tail_time() + wake).as_secs_f64();
    packets.chunk_by(|one, next| next.at - one.at < rests).collect()
}

/// Places the bursts of the capture in the trace.
pub(super) fn place(
    trace: Trace<'_>,
    groups: &[&[BurstPacket]],
    base: &Device,
    clock: Clocks<'_>,
) -> Result<Placed, NotFitted> {
    let firsts: Vec<f64> = groups.iter().map(|packets| packets[0].at).collect();
    let shortest = firsts
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .fold(f64::INFINITY, f64::min);
    let rises = rises(trace, base, PAUSE.min(shortest * PAUSE_PART));
    let begins: Vec<f64> = rises.iter().map(|rise| trace.bins.time(rise.start)).collect();
    let (shift, pairs) = match clock {
        Clocks::Pattern => {
            let aligned = align(&firsts, &begins).map_err(NotFitted::Misaligned)?;
            (aligned.shift, aligned.pairs)
        }
        Clocks::Marker(markers) => marked(groups, markers, &rises, trace)?,
    };
    let mut placed = Vec::new();
    for (group, rise) in &pairs {
        let end = rises.get(rise + 1).map_or(trace.bins.len(), |next| next.start);
        let range = rises[*rise].start..end;
        let packets = groups[*group];
        let Some(first) = on_the_air(trace, packets, base, &rises[*rise]) else {
            continue;
        };
        // A gap in the trace would be charge that is missing.
        if trace.sums.is_whole(&range) {
            placed.push(Burst {
                packets: packets.to_vec(),
                first,
                range,
            });
        }
    }
    if placed.len() < FEWEST_BURSTS {
        return Err(NotFitted::Misaligned(Misaligned::Apart {
            matched: placed.len(),
            bursts: groups.len(),
        }));
    }
    let apart = |shift: f64| {
        let each = placed
            .iter()
            .map(|burst| burst.first - burst.packets[0].at - shift);
        middle(each.collect()).0
    };
    // Without a marker the clocks are those of frames and packets, and what the packets are late by is in their difference.
    let (shift, delay) = match clock {
        Clocks::Marker(_) => (shift, Some(apart(shift))),
        Clocks::Pattern => (apart(0.0), None),
    };
    Ok(Placed {
        bursts: placed,
        shift,
        delay,
    })
}

/// The bursts of the trace by their markers: the clocks' shift, and the indices of groups and rises.
fn marked(
    groups: &[&[BurstPacket]],
    markers: &[f64],
    rises: &[Range<usize>],
    trace: Trace<'_>,
) -> Result<(f64, Vec<(usize, usize)>), NotFitted> {
    let sent: Vec<f64> = groups.iter().map(|packets| packets[0].at).collect();
    let pairs: Vec<(usize, usize)> = match sent.len() == markers.len() {
        // As many marks as bursts: they belong to one another in their order, even where the intervals are all equal.
        true => (0..sent.len()).map(|index| (index, index)).collect(),
        false => align(&sent, markers).map_err(NotFitted::Misaligned)?.pairs,
    };
    let shift = middle(
        pairs
            .iter()
            .map(|(group, marker)| markers[*marker] - sent[*group])
            .collect(),
    )
    .0;
    let rise = |marker: usize| {
        let at = trace.bins.index(markers[marker]);
        // The mark is set when the program sends: the radio rises at that moment or after it.
        let after = rises.partition_point(|rise| rise.end <= at);
        (after < rises.len()).then_some(after)
    };
    let found = pairs
        .into_iter()
        .filter_map(|(group, marker)| Some((group, rise(marker)?)));
    Ok((shift, found.collect()))
}

/// The bins in which the device does more than rest.
fn rises(trace: Trace<'_>, base: &Device, pause: f64) -> Vec<Range<usize>> {
    let watts = trace.bins.watts();
    let above = base
        .wake
        .map_or(base.level(State::Listen), |wake| wake.level)
        .watts;
    let mut sorted: Vec<f32> = watts.iter().copied().filter(|watts| watts.is_finite()).collect();
    if sorted.is_empty() {
        return Vec::new();
    }
    // A device rests most of the time, but its lowest samples may be noise below rest.
    let tenth = sorted.len() / 10;
    let rest = f64::from(*sorted.select_nth_unstable_by(tenth, f32::total_cmp).1);
    let threshold = (rest + RISE * above) as f32;
    let pause = (pause / trace.bins.width).max(5.0) as usize;
    let mut all: Vec<Range<usize>> = Vec::new();
    for (index, _) in watts.iter().enumerate().filter(|(_, watts)| **watts > threshold) {
        match all.last_mut().filter(|last| index - last.end < pause) {
            Some(last) => last.end = index + 1,
            None => all.push(index..index + 1),
        }
    }
    all
}

/// When the first packet of a burst is on the air: where the frames of the model stand out most from what is beside them.
fn on_the_air(trace: Trace<'_>, packets: &[BurstPacket], base: &Device, rise: &Range<usize>) -> Option<f64> {
    let width = trace.bins.width;
    let of = |state| -> Vec<(f64, f64)> {
        let all = segments(base, packets).into_iter();
        all.filter(|(_, segment)| segment.state == state)
            .map(|(begin, segment)| (begin / width, segment.nanos as f64 / 1e9 / width))
            .collect()
    };
    let mut frames = of(State::Transmit);
    if frames.is_empty() {
        // A capture may have only what the device receives.
        frames = of(State::Receive);
    }
    let last = trace.bins.len() as f64;
    let standing_out = |at: usize| -> Option<f64> {
        let mut sum = 0.0;
        for (begin, length) in &frames {
            let from = (at as f64 + begin).round();
            let count = length.round().max(1.0);
            let (before, after) = (from - count, from + 2.0 * count);
            if before < 0.0 || after > last {
                return None;
            }
            let mean = |from: f64| trace.sums.mean(from as usize..(from + count) as usize);
            // Against what is beside it, not against rest: between two frames the device listens, which takes nearly as much.
            sum += mean(from) - (mean(before) + mean(from + count)) / 2.0;
        }
        Some(sum)
    };
    let each = (rise.start..rise.end).filter_map(|at| Some((standing_out(at)?, at)));
    let (_, at) = each.max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(trace.bins.time(at))
}

/// The device with the times of its wake-up and its tails.
pub(super) fn times(
    trace: Trace<'_>,
    bursts: &[Burst],
    base: &Device,
    figures: &mut Vec<FittedFigure>,
) -> Result<Device, NotFitted> {
    let mut device = base.clone();
    let mut fitted = |of, seconds: Vec<f64>| {
        let (value, error) = middle(seconds);
        figures.push(FittedFigure {
            of,
            value,
            error,
            is_charge_alone: false,
        });
        Duration::try_from_secs_f64(value).unwrap_or_default()
    };
    if let Some(wake) = &mut device.wake {
        let waking: Vec<f64> = bursts.iter().filter_map(|burst| waking(trace, burst)).collect();
        // Half of the bursts: in some, noise hides where the wake-up ends.
        if waking.len() * 2 < bursts.len() {
            return Err(NotFitted::NoWakeUp);
        }
        wake.time = fitted(Fits::WakeTime, waking);
    }
    let numbers: Vec<usize> = (0..base.tails.len())
        // A tail that lasts no time in the base is one that a setting took away.
        .filter(|index| !base.tails[*index].time.is_zero())
        .collect();
    let mut tails = vec![Vec::new(); numbers.len()];
    for burst in bursts {
        let ends = tail_ends(trace, burst, base, numbers.len());
        for (tail, seconds) in tails.iter_mut().zip(ends.unwrap_or_default()) {
            tail.push(seconds);
        }
    }
    for (number, seconds) in numbers.into_iter().zip(tails) {
        // As for the wake-up: in some bursts the next one cuts the tail off.
        if seconds.len() * 2 < bursts.len() {
            return Err(NotFitted::NoTail(number));
        }
        device.tails[number].time = fitted(Fits::TailTime(number), seconds);
    }
    Ok(device)
}

/// Seconds of the wake-up of a burst; `None` where nothing changes before its first packet.
fn waking(trace: Trace<'_>, burst: &Burst) -> Option<f64> {
    let first = trace.bins.index(burst.first + trace.bins.width / 2.0);
    let before = first.checked_sub(burst.range.start).filter(|bins| *bins > 1)?;
    let from = burst.range.start.saturating_sub(before);
    let begin = *trace.sums.changes(from..first, 1).first()?;
    Some((first - begin) as f64 * trace.bins.width)
}

/// Seconds of each tail of a burst; `None` where the trace has not as many falling states, or no rest after them.
fn tail_ends(trace: Trace<'_>, burst: &Burst, base: &Device, count: usize) -> Option<Vec<f64>> {
    let all = segments(base, &burst.packets);
    let tails = all
        .iter()
        .rev()
        .take_while(|(_, segment)| segment.part == crate::account::Part::Tail);
    let begin = burst.first + tails.last()?.0;
    let from = trace.bins.index(begin + trace.bins.width / 2.0);
    // The wake-up of the next burst is no part of the rest.
    let guard = (trace.bins.width * 2.0 + base.wake.map_or(0.0, |wake| wake.time.as_secs_f64()) * 0.1)
        / trace.bins.width;
    let to = burst.range.end.saturating_sub(guard as usize);
    if to <= from + count + 1 {
        return None;
    }
    let ends = trace.sums.changes(from..to, count);
    let borders: Vec<usize> = [from]
        .into_iter()
        .chain(ends.iter().copied())
        .chain([to])
        .collect();
    let means: Vec<f64> = borders
        .windows(2)
        .map(|pair| trace.sums.mean(pair[0]..pair[1]))
        .collect();
    // Without it noise in a flat part would be taken for the end of a tail.
    let falls = means.windows(2).all(|pair| pair[1] < pair[0] * (1.0 - STEP));
    if ends.len() < count || !falls {
        return None;
    }
    let seconds = borders
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64 * trace.bins.width);
    Some(seconds.take(count).collect())
}

/// The mean of the middle half of some values, and its standard error.
fn middle(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    let half = &values[quarter..values.len() - quarter];
    let count = half.len().max(1) as f64;
    let mean = half.iter().sum::<f64>() / count;
    let squares: f64 = half.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / count / count).sqrt())
}
