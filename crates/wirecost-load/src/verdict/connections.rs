//! Warnings about connections that end while a phase needs them.

use wirecost_proto::ResetReason;
use wirecost_proto::units::counted;
use wirecost_results::figures::Interval;
use wirecost_results::load::PhaseFigures;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{LoadOptions, LoadTarget, Phase};

use super::{Evidence, SENT_SHARE};

/// A target that was away within a phase, as one that is started again is: it ended connections of notably many devices, and its
/// machine refused others because nobody listened there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    ended: u64,
    unheard: u64,
}

impl Away {
    pub(super) fn from_options(options: &LoadOptions, figures: &PhaseFigures) -> Option<Self> {
        let unheard = figures.reasons.get(&ResetReason::Refused.to_string());
        let away = Self {
            ended: figures.connects.lost,
            unheard: unheard.copied().unwrap_or(0),
        };
        let few = f64::from(devices(options)) * (1.0 - SENT_SHARE);
        (away.unheard > 0 && away.ended as f64 > few).then_some(away)
    }

    /// The sentence about it, whose subject is the target.
    pub(super) fn sentence(self) -> String {
        format!(
            "it ended {}, and nobody listened for {}",
            counted(self.ended, "connection"),
            counted(self.unheard, "connect")
        )
    }
}

/// The warning about a target that was away for a time, or else about connections that do not last.
pub(super) fn ended(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let figures = evidence.phases.get(index)?;
    let Some(away) = Away::from_options(evidence.options, figures) else {
        return not_lasting(evidence, index);
    };
    let own = evidence.outcome.intervals.iter();
    let silence = longest_silence(own.filter(|interval| interval.phase as usize == index));
    let silence = match silence {
        0 => String::new(),
        seconds => format!("; for at least {seconds} s no message was acknowledged"),
    };
    Some(Warning::note(
        WarningKind::ConnectionsLost,
        format!(
            "the target was away: {}{silence}; the times contain that wait{}",
            away.sentence(),
            not_sent_again(evidence, figures).unwrap_or_default()
        ),
    ))
}

/// The most whole seconds between two seconds in which messages were acknowledged.
fn longest_silence<'a>(intervals: impl Iterator<Item = &'a Interval>) -> u32 {
    let heard = intervals.filter(|interval| interval.acknowledged_then.is_some_and(|messages| messages > 0));
    let mut spans: Vec<(u32, u32)> = heard
        .map(|interval| (interval.second, interval.second + interval.seconds.unwrap_or(1)))
        .collect();
    spans.sort_unstable();
    let gaps = spans.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].1));
    gaps.max().unwrap_or(0)
}

fn devices(options: &LoadOptions) -> u32 {
    options.own_clients().saturating_add(options.receivers())
}

/// The warning about connections that do not last: more were lost than there are devices.
fn not_lasting(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let options = evidence.options;
    // Only these phases reconnect: in others a device loses its connection at most once, or closes it on purpose.
    let keeps_up = matches!(
        options.phases.get(index)?,
        Phase::Publish(_) | Phase::Request(_) | Phase::Hold { .. }
    );
    let figures = evidence.phases.get(index)?;
    let lost = figures.connects.lost;
    let devices = devices(options);
    let is_foreign = matches!(options.target, LoadTarget::Url(_));
    // Its own server knows the devices of the load alone; at a foreign one others may use the same identifiers [MQTT-3.1.4-3].
    let known = match options.stack.is_mqtt() && is_foreign {
        true => {
            ": a broker ends one where another client comes with the same identifier (--client-id, client_id)"
        }
        false => "",
    };
    // One loss each may be a restart of the server; more means that connections end again and again.
    (keeps_up && lost > u64::from(devices)).then(|| {
        Warning::note(
            WarningKind::ConnectionsLost,
            format!(
                "{} lost {}{known}{}",
                counted(devices.into(), "device"),
                counted(lost, "connection"),
                not_sent_again(evidence, figures).unwrap_or_default()
            ),
        )
    })
}

/// Why messages that met the end of their connection stay unknown, where the protocol would have sent them again: a PUBLISH
/// without PUBACK is sent again in the session that it belongs to (MQTT 5 and 3.1.1, section 4.4), which a clean start ends.
fn not_sent_again(evidence: &Evidence<'_>, figures: &PhaseFigures) -> Option<String> {
    let (options, unknown) = (evidence.options, figures.outcomes.unknown);
    let has_no_session = options.stack.is_mqtt() && options.is_answered() && options.session_expiry.is_none();
    (has_no_session && unknown > 0).then(|| {
        format!(
            "; what they carried is among the {} without an answer: MQTT sends it again where the session outlives the \
             connection (--session-expiry)",
            counted(unknown, "message")
        )
    })
}
