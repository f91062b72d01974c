//! Devices as the bottleneck: each has as many unanswered messages as it may have, and waits.
//!
//! By Little's law, `clients` devices with at most `window` unanswered messages each send no more than
//! `clients x window / time until an answer` messages per second, whatever target and link could do.

use std::time::Duration;

use wirecost_proto::units::{counted, plural};
use wirecost_results::summary::Times;
use wirecost_scenario::options::load::LoadOptions;

use super::{Evidence, Offered};

/// The least share of the highest possible rate at which the devices explain what is missing.
const NEAR: f64 = 0.9;
/// If the median answer takes longer than this many times the fastest one, messages wait at the target or in the link.
const QUEUED: f64 = 2.0;
/// An answer that takes at most this many times the round trip of the link takes the round trip.
const IS_ROUND_TRIP: f64 = 1.1;

/// The most messages per second that devices can send, and how it is computed.
struct Ceiling {
    clients: u32,
    /// Unanswered messages of a device.
    window: u32,
    /// Seconds until an answer.
    answer_s: f64,
    /// Whether `answer_s` is the round trip of the link as configured; a measured mean if not.
    is_round_trip: bool,
}

/// The sentence about devices that waited for answers; `None` if something else explains the missing messages.
pub(super) fn could_send_no_more(evidence: &Evidence<'_>) -> Option<String> {
    evidence
        .offered()
        .filter(|phase| phase.open && phase.is_answered)
        .filter(|phase| phase.falls_short() || phase.worked_off().is_some())
        .find_map(|phase| of_phase(evidence, &phase))
}

fn of_phase(evidence: &Evidence<'_>, phase: &Offered<'_>) -> Option<String> {
    let options = evidence.options;
    let figures = phase.figures;
    let rtt = evidence.link.and(options.link.as_ref()).map(|link| link.rtt());
    let ceiling = Ceiling::from_options(options, figures.service_time_ns.as_ref()?, rtt)?;
    let offered = figures.asked_rate.or(figures.offered_rate)?;
    let at_most = ceiling.per_second();
    let is_reached = figures.carried_rate? >= NEAR * at_most;
    (at_most < offered && is_reached).then(|| ceiling.said(options, offered))
}

impl Ceiling {
    /// The ceiling of devices with a known window; `None` if messages wait elsewhere.
    fn from_options(options: &LoadOptions, service: &Times, rtt: Option<Duration>) -> Option<Self> {
        let most = options.stack.application.most_in_flight();
        let window = options.inflight.unwrap_or(most).min(most);
        let rtt_s = rtt.map_or(0.0, |rtt| rtt.as_secs_f64());
        let (median_ns, mean_s) = (service.p50? as f64, service.mean / 1e9);
        let is_round_trip = mean_s <= IS_ROUND_TRIP * rtt_s;
        let waits_elsewhere = median_ns > QUEUED * service.min as f64 && median_ns / 1e9 > QUEUED * rtt_s;
        (window < u32::MAX && mean_s > 0.0 && !waits_elsewhere).then_some(Self {
            clients: options.own_clients(),
            window,
            answer_s: if is_round_trip { rtt_s } else { mean_s },
            is_round_trip,
        })
    }

    fn per_second(&self) -> f64 {
        f64::from(self.clients) * f64::from(self.window) / self.answer_s
    }

    /// `one message in flight each, and an answer takes a round trip of 40 ms: 10 x 1 / 40 ms = 250/s at most, of 1000/s
    /// offered; ...`, with the ways out.
    fn said(&self, options: &LoadOptions, offered: f64) -> String {
        let Self { clients, window, .. } = self;
        let held = match window {
            1 => "one message in flight each".to_owned(),
            window => format!(
                "{window} {} in flight each",
                plural(u64::from(*window), "message")
            ),
        };
        let time = milliseconds(self.answer_s);
        let takes = match self.is_round_trip {
            true => format!("a round trip of {time}"),
            false => format!("{time} on average"),
        };
        let (rate, offered) = (rounded(self.per_second()), rounded(offered));
        let way_out = way_out(options, *window);
        format!(
            "{held}, and an answer takes {takes}: {clients} x {window} / {time} = {rate}/s at most, of {offered}/s offered; \
             {way_out}"
        )
    }
}

/// What to change: more devices, and more messages in flight if the protocol allows them.
fn way_out(options: &LoadOptions, window: u32) -> String {
    let most = options.stack.application.most_in_flight();
    if window < most {
        return "for more, raise --inflight or --clients".to_owned();
    }
    let allowed = counted(u64::from(most), "message");
    format!(
        "for more, raise --clients: {} allows a device {allowed} in flight",
        options.stack
    )
}

/// `40 ms`, `40.2 ms`, `0.125 ms`.
fn milliseconds(seconds: f64) -> String {
    format!("{} ms", rounded(seconds * 1e3))
}

/// Three significant digits, or all digits before the point; no zeros at the end.
fn rounded(value: f64) -> String {
    let whole = value.log10().floor() as i32 + 1;
    let decimals = usize::try_from(3 - whole).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_have_three_digits() {
        let all = [250.0, 248.34, 40.0, 40.25, 0.125_4, 1_250.4].map(rounded);
        assert_eq!(all, ["250", "248", "40", "40.2", "0.125", "1250"]);
    }
}
