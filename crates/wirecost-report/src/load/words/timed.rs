//! The times of a phase, as far as they can be used.

use wirecost_results::curves::CurveKind;
use wirecost_results::load::{Load, PhaseFigures};
use wirecost_results::standing::{Standing, Subject};
use wirecost_results::summary::Times;

use crate::number;

/// One kind of time of a phase.
pub(crate) struct Timed<'a> {
    pub(crate) kind: CurveKind,
    pub(crate) name: &'static str,
    pub(crate) times: &'a Times,
    /// Its start and end.
    pub(crate) what: &'static str,
}

/// The kinds of time of a phase.
pub(crate) fn times(phase: &PhaseFigures) -> Vec<Timed<'_>> {
    let response = match phase.response_kind.as_deref() {
        // Nothing is sent in these phases: what is timed is the connection.
        _ if matches!(phase.name.as_str(), "handshakes" | "reconnect") => "intended begin until it may send",
        Some("to_reply") => "intended send to reply",
        Some("to_arrival") => "intended send to arrival",
        _ => "intended send to acknowledgement",
    };
    let service = match phase.response_kind.as_deref() {
        _ if matches!(phase.name.as_str(), "handshakes" | "reconnect") => "actual begin until it may send",
        Some("to_reply") => "actual send to reply",
        Some("to_arrival") => "actual send to arrival",
        _ => "actual send to acknowledgement",
    };
    let all = [
        (CurveKind::Response, "response", &phase.response_time_ns, response),
        (CurveKind::Service, "service", &phase.service_time_ns, service),
        (
            CurveKind::Delay,
            "delivery",
            &phase.one_way_delay_ns,
            "intended send to arrival",
        ),
        (
            CurveKind::Connect,
            "connect",
            &phase.connect_time_ns,
            "connect begun until it may send",
        ),
        (
            CurveKind::Lag,
            "schedule lag",
            &phase.schedule_lag_ns,
            "how late the generator was",
        ),
    ];
    all.into_iter()
        .filter_map(|(kind, name, times, what)| {
            let times = times.as_ref().filter(|times| times.n > 0)?;
            Some(Timed {
                kind,
                name,
                times,
                what,
            })
        })
        .collect()
}

/// The name of a phase and of a kind of time, once if they are equal.
pub(crate) fn kind_in(phase: &PhaseFigures, kind: CurveKind) -> String {
    match phase.name == kind.name() {
        true => phase.name.clone(),
        false => format!("{} {}", phase.name, kind.name()),
    }
}

/// The main time of a load: the response time, or the delivery time if nothing answers, or the connect time.
pub(crate) fn judged(phase: &PhaseFigures) -> Option<Timed<'_>> {
    times(phase)
        .into_iter()
        .find(|timed| timed.kind != CurveKind::Lag)
}

/// A time in milliseconds as far as it can be used: `7.490`, `≤7.490`, `INVALID`.
pub fn time(nanos: Option<f64>, standing: Standing) -> String {
    match (nanos, standing) {
        (None, _) => number::NONE.to_owned(),
        (Some(nanos), Standing::Exact) => number::latency(nanos),
        (Some(nanos), Standing::AtMost) => format!("≤{}", number::latency(nanos)),
        (Some(nanos), Standing::AtLeast) => format!("≥{}", number::latency(nanos)),
        (Some(_), Standing::Refused) => "INVALID".to_owned(),
    }
}

/// How far the times of a kind in a phase can be used.
pub(crate) fn standing(load: &Load, phase: &PhaseFigures, kind: CurveKind) -> Standing {
    load.standing(phase, Subject::Time(kind))
}
