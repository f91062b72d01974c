//! The power of each part of a burst, where its times are known, and what the model leaves unexplained.

use super::bursts::Burst;
use super::{Fits, FittedFigure, Trace};
use crate::account::Part;
use crate::device::{Device, Level, State};
use crate::meter::Segment;

/// A part that has at least this many bins is fitted without the bins at its ends, which may belong to what is beside it.
const WITH_GUARDS: usize = 4;

/// The fewest bins of a part whose power is fitted.
const FEWEST: usize = 2;

/// The most points of the mean burst.
const MOST_POINTS: usize = 4_000;

/// The bins of one part.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Seen {
    fn add(&mut self, watts: f64) {
        self.count += 1.0;
        self.sum += watts;
        self.squares += watts * watts;
    }

    fn mean(self) -> f64 {
        self.sum / self.count
    }

    /// The standard error of the mean.
    fn error(self) -> f64 {
        let variance = (self.squares / self.count - self.mean().powi(2)).max(0.0);
        (variance / self.count).sqrt()
    }
}

/// The parts of a device in their order.
fn parts(device: &Device) -> Vec<Fits> {
    let states = [State::Listen, State::Receive, State::Transmit, State::Compute].map(Fits::State);
    let tails = (0..device.tails.len()).map(Fits::Tail);
    [Fits::Rest, Fits::Wake]
        .into_iter()
        .chain(states)
        .chain(tails)
        .collect()
}

/// A device whose tails can be told apart by their powers.
fn told_apart(device: &Device) -> Device {
    let mut device = device.clone();
    for (number, tail) in device.tails.iter_mut().enumerate() {
        tail.level = Level {
            watts: number as f64,
            spread: 0.0,
        };
    }
    device
}

/// What a segment of such a device is.
const fn find_fits(segment: &Segment) -> Fits {
    match segment.part {
        // A trace of a device in its network has no attach.
        Part::Wake | Part::Attach => Fits::Wake,
        Part::Rest => Fits::Rest,
        Part::Tail => Fits::Tail(segment.watts as usize),
        Part::Layer(_) | Part::Link | Part::Compute => Fits::State(segment.state),
    }
}

/// A time that one part takes, in seconds of the trace.
#[derive(Clone, Copy, Debug)]
struct Taken {
    of: Fits,
    from: f64,
    to: f64,
}

/// The parts of a burst in their order, parts that follow on themselves as one.
fn taken(burst: &Burst, device: &Device) -> Vec<Taken> {
    let mut all: Vec<Taken> = Vec::new();
    for (from, segment) in burst.segments(device) {
        let (of, to) = (find_fits(&segment), from + segment.nanos as f64 / 1e9);
        match all.last_mut().filter(|last| last.of == of) {
            Some(last) => last.to = to,
            None => all.push(Taken { of, from, to }),
        }
    }
    all
}

/// Fits the power of each part that the bursts have.
pub(super) fn fit(trace: Trace<'_>, bursts: &[Burst], device: &Device) -> Vec<FittedFigure> {
    let apart = told_apart(device);
    let parts = parts(device);
    let at = |of: Fits| parts.iter().position(|part| *part == of).unwrap_or_default();
    let mut seen = vec![Seen::default(); parts.len()];
    let all: Vec<Vec<Taken>> = bursts.iter().map(|burst| taken(burst, &apart)).collect();
    for (burst, taken) in bursts.iter().zip(&all) {
        for one in taken {
            for watts in own(trace, *one) {
                seen[at(one.of)].add(watts);
            }
        }
        // The rest after the burst, to the wake-up of the next one.
        let end = taken.last().map_or(burst.first, |last| last.to);
        let wake = device.wake.map_or(0.0, |wake| wake.time.as_secs_f64());
        let rest = Taken {
            of: Fits::Rest,
            from: end,
            // The next wake-up may begin before the threshold that found it.
            to: trace.bins.time(burst.range.end) - wake * 0.1 - 2.0 * trace.bins.width,
        };
        for watts in own(trace, rest) {
            seen[at(Fits::Rest)].add(watts);
        }
    }
    let mut figures: Vec<FittedFigure> = Vec::new();
    for (of, seen) in parts.iter().zip(&seen).filter(|(_, seen)| seen.count > 0.0) {
        let watts = match of {
            Fits::Rest => resting(seen.mean(), device),
            _ => seen.mean(),
        };
        figures.push(FittedFigure {
            of: *of,
            value: watts,
            error: seen.error(),
            is_charge_alone: false,
        });
    }
    let short = short(trace, &all, &figures, device);
    figures.extend(short);
    figures
}

/// The bins of a part, without those at its ends where it has enough; none where it has fewer than two.
fn own(trace: Trace<'_>, taken: Taken) -> impl Iterator<Item = f64> {
    let width = trace.bins.width;
    // The bins at the ends hold some of the neighbouring part as well.
    let guard = match (taken.to - taken.from) / width >= WITH_GUARDS as f64 {
        true => width,
        false => 0.0,
    };
    let bins = trace.bins.within(taken.from + guard, taken.to - guard);
    let is_enough = (taken.to - taken.from) / width >= FEWEST as f64;
    let watts = &trace.bins.watts()[bins];
    watts
        .iter()
        .filter(move |watts| is_enough && watts.is_finite())
        .map(|watts| f64::from(*watts))
}

/// The power of the rest without its paging.
fn resting(mean: f64, device: &Device) -> f64 {
    let part = device.paging.map_or(0.0, |paging| {
        paging.listen.as_secs_f64() / paging.every.as_secs_f64()
    });
    ((mean - part * device.level(State::Listen).watts) / (1.0 - part)).max(0.0)
}

/// Short parts that follow one another, and the charge around them over that of the base, in each burst.
type Run = (Vec<Fits>, Vec<f64>);

/// The power of parts that are too short: the charge around them without that of the parts beside them, over the time of the model.
/// Short parts that follow one another keep the proportion of their powers in the base.
fn short(trace: Trace<'_>, all: &[Vec<Taken>], known: &[FittedFigure], device: &Device) -> Vec<FittedFigure> {
    let mut runs: Vec<Run> = Vec::new();
    for taken in all {
        let is_short = |one: &Taken| known.iter().all(|figure| figure.of != one.of);
        for run in taken.chunk_by(|one, next| is_short(one) == is_short(next)) {
            let Some(factor) = run
                .first()
                .filter(|one| is_short(one))
                .and_then(|_| factor(trace, run, taken, known, device))
            else {
                continue;
            };
            let of: Vec<Fits> = run.iter().map(|one| one.of).collect();
            match runs.iter_mut().find(|(known, _)| *known == of) {
                Some((_, factors)) => factors.push(factor),
                None => runs.push((of, vec![factor])),
            }
        }
    }
    let mut figures: Vec<FittedFigure> = Vec::new();
    for (parts, factors) in runs {
        let count = factors.len() as f64;
        let mean = factors.iter().sum::<f64>() / count;
        let squares: f64 = factors.iter().map(|one| (one - mean).powi(2)).sum();
        for of in parts {
            if figures.iter().all(|figure| figure.of != of) {
                figures.push(FittedFigure {
                    of,
                    // Noise of the parts beside a short one may leave less than nothing for it.
                    value: (mean * base(of, device)).max(0.0),
                    error: (squares / count / count).sqrt() * base(of, device),
                    is_charge_alone: true,
                });
            }
        }
    }
    figures
}

/// The charge around a run of short parts, without that of the known ones beside it, over that of the run in the base.
fn factor(
    trace: Trace<'_>,
    run: &[Taken],
    taken: &[Taken],
    known: &[FittedFigure],
    device: &Device,
) -> Option<f64> {
    // A meter averages over its sample: some charge of a short part is in the bins beside it.
    let margin = 2.0 * trace.bins.width;
    let power = |of: Fits| {
        known
            .iter()
            .find(|figure| figure.of == of)
            .map(|figure| figure.value)
    };
    let bins = trace
        .bins
        .within(run.first()?.from - margin, run.last()?.to + margin);
    let (from, to) = (trace.bins.time(bins.start), trace.bins.time(bins.end));
    let joules = trace.sums.sum(bins) * trace.bins.width;
    let inside = |one: &Taken| (one.to.min(to) - one.from.max(from)).max(0.0);
    let beside: f64 = taken
        .iter()
        .filter_map(|one| Some(power(one.of)? * inside(one)))
        .sum();
    let outside = (taken.first()?.from - from).max(0.0) + (to - taken.last()?.to).max(0.0);
    let resting = power(Fits::Rest).unwrap_or_default() * outside;
    let of_base: f64 = run.iter().map(|one| base(one.of, device) * inside(one)).sum();
    (of_base > 0.0).then(|| (joules - beside - resting) / of_base)
}

/// The power of a part in a device.
fn base(of: Fits, device: &Device) -> f64 {
    match of {
        Fits::Rest => device.level(device.rest).watts,
        Fits::Wake => device.wake.map_or(0.0, |wake| wake.level.watts),
        Fits::State(state) => device.level(state).watts,
        Fits::Tail(number) => device.tails.get(number).map_or(0.0, |tail| tail.level.watts),
        Fits::WakeTime | Fits::TailTime(_) => 0.0,
    }
}

/// The part of the charge above rest that the device does not explain, and the mean burst: seconds, watts measured and modelled.
pub(super) fn residual(trace: Trace<'_>, bursts: &[Burst], device: &Device) -> (f64, Vec<[f64; 3]>) {
    let apart = told_apart(device);
    let rest = device.floor().watts;
    let (mut apart_by, mut above) = (0.0, 0.0);
    let mut mean: Vec<[f64; 3]> = Vec::new();
    let mut shortest = usize::MAX;
    let longest = bursts
        .iter()
        .map(|burst| taken(burst, &apart))
        .filter_map(|taken| {
            let (first, last) = (taken.first()?, taken.last()?);
            Some(last.to - first.from)
        });
    let longest = longest.fold(0.0, f64::max);
    let each = (longest * 1.2 / trace.bins.width / MOST_POINTS as f64)
        .ceil()
        .max(1.0) as usize;
    for burst in bursts {
        let taken = taken(burst, &apart);
        let Some((begin, end)) = taken
            .first()
            .zip(taken.last())
            .map(|(first, last)| (first.from, last.to))
        else {
            continue;
        };
        let margin = (end - begin) * 0.1;
        let bins = trace.bins.within(begin - margin, end + margin);
        shortest = shortest.min(bins.len().div_ceil(each));
        for (index, chunk) in bins.clone().step_by(each).enumerate() {
            let chunk = chunk..(chunk + each).min(bins.end);
            let (from, to) = (trace.bins.time(chunk.start), trace.bins.time(chunk.end));
            let measured = trace.sums.mean(chunk);
            let inside = |one: &Taken| (one.to.min(to) - one.from.max(from)).max(0.0);
            let in_parts: f64 = taken.iter().map(inside).sum();
            let joules: f64 = taken.iter().map(|one| base(one.of, device) * inside(one)).sum();
            let modelled = (joules + rest * (to - from - in_parts)) / (to - from);
            apart_by += (measured - modelled).abs() * (to - from);
            above += (measured - rest).max(0.0) * (to - from);
            let seconds = from - begin;
            match mean.get_mut(index) {
                Some(point) => *point = [point[0] + seconds, point[1] + measured, point[2] + modelled],
                None => mean.push([seconds, measured, modelled]),
            }
        }
    }
    // Behind the shortest burst the mean would be of other bursts than before, with a step between.
    mean.truncate(shortest);
    let count = bursts.len() as f64;
    for point in &mut mean {
        *point = point.map(|value| value / count);
    }
    // A trace that is nowhere above rest would divide by zero.
    (apart_by / above.max(f64::MIN_POSITIVE), mean)
}
