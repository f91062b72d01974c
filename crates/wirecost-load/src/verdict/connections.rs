//! Warnings about connections that end while a phase needs them.

use wirecost_proto::units::counted;
use wirecost_results::load::PhaseFigures;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{LoadTarget, Phase};

use super::Evidence;

/// The warning about connections that do not last: more were lost than there are devices.
pub(super) fn not_lasting(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let options = evidence.options;
    let keeps_up = matches!(
        options.phases.get(index)?,
        Phase::Publish(_) | Phase::Request(_) | Phase::Hold { .. }
    );
    let figures = evidence.phases.get(index)?;
    let lost = figures.connects.lost;
    let devices = options.clients.saturating_add(options.receivers());
    let is_foreign = matches!(options.target, LoadTarget::Url(_));
    let known = match options.stack.is_mqtt() && is_foreign {
        true => {
            ": a broker ends one where another client comes with the same identifier (--client-id, client_id)"
        }
        false => "",
    };
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
