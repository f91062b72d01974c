//! A device's powers and times from the trace of a power meter and the packets of the same time.
//!
//! - [`bins`]: the trace in bounded memory
//! - [`align`]: which burst of the trace is which of the capture
//! - `bursts`: when the parts of a burst begin and end
//! - `levels`: the power of each part
//!
//! ```text
//! rest | wake-up | frames ... | tail | tail | rest
//!      ^ rise    ^ the frames of the model, moved to where they fit best
//!                             ^ and the next: where the mean changes
//! ```
//!
//! Times of frames follow from the base's radio and are not fitted. A part that is shorter than two bins has its charge fitted alone.

pub mod align;
pub mod bins;
mod bursts;
mod levels;

use core::fmt;
use core::time::Duration;

use wirecost_cost::{ObservedPacket, Observer as _};
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span, shown};

use crate::device::{Device, State};
use crate::meter::{Meter, Segment};
use align::Misaligned;
use bins::{Sums, TraceBins};
use bursts::Burst;

/// The part of the charge above rest that a fit may leave unexplained.
const MOST_UNEXPLAINED: f64 = 0.15;

/// The fewest bursts of a fit.
pub const FEWEST_BURSTS: usize = 3;

/// A packet of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstPacket {
    /// Seconds on the clock of the capture.
    pub at: f64,
    /// Up is sending, down receiving: each has a power of its own.
    pub direction: Direction,
    /// Bytes of its IP packet.
    pub bytes: u64,
}

/// What tells the clocks of trace and capture apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clocks<'a> {
    /// A digital channel that the device raises when it sends: seconds of the trace at which it rises.
    Marker(&'a [f64]),
    /// Nothing but the bursts themselves.
    Pattern,
}

/// A power or a time of the device file that a trace has given, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedFigure {
    /// What it is of.
    pub of: Fits,
    /// Watts, or seconds.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// Whether its part is shorter than two bins, so that its charge alone is fitted.
    pub is_charge_alone: bool,
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fits {
    /// The power of the rest.
    Rest,
    /// The power of the wake-up.
    Wake,
    /// The time of the wake-up.
    WakeTime,
    /// The power of a state in which there are packets.
    State(State),
    /// The power of a tail, by its number in the file.
    Tail(usize),
    /// The time of a tail.
    TailTime(usize),
}

/// A fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The device with what was fitted.
    pub device: Device,
    /// What was fitted.
    pub figures: Vec<FittedFigure>,
    /// Bursts of the fit.
    pub bursts: usize,
    /// Bursts of the capture that are not in it: they have no burst in the trace, or a gap.
    pub left_out: usize,
    /// Seconds from the clock of the capture to that of the trace.
    pub shift: f64,
    /// Seconds from the marker to the first frame; `None` without a marker: the delay of the capture cannot be told from its clock.
    pub delay: Option<f64>,
    /// The part of the charge above rest that the fit does not explain.
    pub unexplained: f64,
    /// The mean burst: seconds from its begin, watts measured and watts modelled.
    pub mean_burst: Vec<[f64; 3]>,
}

/// Why nothing was fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NotFitted {
    /// The capture has too few bursts.
    TooFew(usize),
    /// The bursts of both do not fit.
    Misaligned(Misaligned),
    /// The trace has no wake-up where the base has one.
    NoWakeUp,
    /// The trace has fewer states after a packet than the base.
    NoTail(usize),
    /// The fit leaves too much unexplained.
    Unexplained(f64),
}

impl fmt::Display for NotFitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew(bursts) => write!(
                f,
                "the capture has {bursts} bursts with rest between them: a fit takes {FEWEST_BURSTS} or more"
            ),
            Self::Misaligned(Misaligned::Apart { matched, bursts }) => write!(
                f,
                "the trace is of another device or another time: {matched} of {bursts} bursts of the capture have one in it"
            ),
            Self::Misaligned(Misaligned::Ambiguous { shifts: [one, other] }) => write!(
                f,
                "a second alignment fits nearly as well: the trace is {} s or {} s ahead of the capture",
                shown::number(*one),
                shown::number(*other)
            ),
            Self::NoWakeUp => {
                f.write_str("the trace has no wake-up before the packets, and the base device has one")
            }
            Self::NoTail(number) => write!(
                f,
                "the trace has no state for tail {} of the base device after a burst",
                number + 1
            ),
            Self::Unexplained(part) => write!(
                f,
                "the trace is of another device or another time: the fit leaves {} % of its charge unexplained",
                shown::number(part * 100.0)
            ),
        }
    }
}

/// Fits a device to a trace. `packets` are in the order of time.
///
/// # Errors
/// The trace does not fit the capture, or not the base.
pub fn fit(
    bins: &TraceBins,
    packets: &[BurstPacket],
    base: &Device,
    clock: Clocks<'_>,
) -> Result<Fitted, NotFitted> {
    let sums = Sums::from_bins(bins);
    let trace = Trace { bins, sums: &sums };
    let first = fit_to(trace, packets, base, clock)?;
    // A base with longer tails than the device takes several bursts for one: the tails that were found part them.
    let count = |device: &Device| bursts::groups(packets, device).len();
    match count(&first.device) > count(base) {
        true => Ok(fit_to(trace, packets, &first.device, clock).unwrap_or(first)),
        false => Ok(first),
    }
}

fn fit_to(
    trace: Trace<'_>,
    packets: &[BurstPacket],
    base: &Device,
    clock: Clocks<'_>,
) -> Result<Fitted, NotFitted> {
    let groups = bursts::groups(packets, base);
    // Two bursts meet any trace at some shift.
    if groups.len() < FEWEST_BURSTS {
        return Err(NotFitted::TooFew(groups.len()));
    }
    let placed = bursts::place(trace, &groups, base, clock)?;
    let mut figures = Vec::new();
    let device = bursts::times(trace, &placed.bursts, base, &mut figures)?;
    let powers = levels::fit(trace, &placed.bursts, &device);
    let device = with(device, &powers);
    figures.extend(powers);
    // With the fitted device, not the base: what it leaves says how far its figures can be trusted.
    let (unexplained, mean_burst) = levels::residual(trace, &placed.bursts, &device);
    if unexplained > MOST_UNEXPLAINED {
        return Err(NotFitted::Unexplained(unexplained));
    }
    Ok(Fitted {
        device,
        figures,
        bursts: placed.bursts.len(),
        left_out: groups.len() - placed.bursts.len(),
        shift: placed.shift,
        delay: placed.delay,
        unexplained,
        mean_burst,
    })
}

/// A trace with its sums.
#[derive(Clone, Copy)]
struct Trace<'a> {
    bins: &'a TraceBins,
    sums: &'a Sums,
}

/// The device with fitted powers.
fn with(mut device: Device, figures: &[FittedFigure]) -> Device {
    for figure in figures {
        // Two standard errors are about 95 %. At least 1 %, as no power meter is exact.
        let spread = (2.0 * figure.error / figure.value).clamp(0.01, 1.0);
        let level = crate::device::Level {
            watts: figure.value,
            spread,
        };
        match figure.of {
            Fits::Rest => device.levels[device.rest as usize] = level,
            Fits::State(state) => device.levels[state as usize] = level,
            Fits::Tail(number) => device.tails[number].level = level,
            Fits::Wake => {
                if let Some(wake) = &mut device.wake {
                    wake.level = level;
                }
            }
            // Times were set before the powers, which are fitted within them.
            Fits::WakeTime | Fits::TailTime(_) => {}
        }
    }
    device
}

/// What a device does for some packets whose first one is at 0: from the wake-up to the end of the tails, with when each begins.
fn segments(device: &Device, packets: &[BurstPacket]) -> Vec<(f64, Segment)> {
    let first = packets.first().map_or(0.0, |packet| packet.at);
    let mut meter = Meter::in_order(device);
    for packet in packets {
        let spans = [Span {
            len: u32::try_from(packet.bytes).unwrap_or(u32::MAX),
            layer: Layer::Payload,
            phase: Phase::Message,
            cause: Cause::Original,
        }];
        meter.packet(&ObservedPacket {
            at: Instant::from_millis(0) + Duration::try_from_secs_f64(packet.at - first).unwrap_or_default(),
            direction: packet.direction,
            phase: Phase::Message,
            cause: Cause::Original,
            spans: &spans,
        });
    }
    // The wake-up is over when the first packet leaves.
    let mut at = -device.wake.map_or(0.0, |wake| wake.time.as_secs_f64());
    let each = meter.into_segments().into_iter().map(|segment| {
        let begin = at;
        at += segment.nanos as f64 / 1e9;
        (begin, segment)
    });
    each.collect()
}

impl Burst {
    /// When each segment of the device begins, in the trace.
    fn segments(&self, device: &Device) -> Vec<(f64, Segment)> {
        let mut all = segments(device, &self.packets);
        for (begin, _) in &mut all {
            *begin += self.first;
        }
        all
    }
}

#[cfg(test)]
mod tests;
