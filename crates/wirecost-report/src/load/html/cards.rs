//! The verdict cards of a run.

use serde::Serialize;
use wirecost_results::load::{Load, LoadSummary};
use wirecost_results::standing::Standing;

use crate::load::words;
use crate::number;

/// One question and its answer.
#[derive(Default, Serialize)]
pub(super) struct Card {
    pub(super) title: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
    /// The load with the value, or an explanation.
    pub(super) winner: String,
    pub(super) scope: String,
    /// Whether it is shown as an alarm.
    pub(super) alarm: bool,
}

/// The cards: the figures of one load, or the best of several loads.
pub(super) fn all(summary: &LoadSummary, labels: &[String]) -> Vec<Card> {
    let mut cards = match summary.loads.as_slice() {
        [load] => of_one(load),
        loads => of_several(loads, labels),
    };
    cards.extend(words::thresholds(summary).map(|(held, count)| Card {
        title: "Thresholds",
        value: format!("{held} of {count}"),
        unit: "hold",
        scope: "what was demanded of the figures".into(),
        alarm: held < count,
        ..Card::default()
    }));
    cards
}

fn of_one(load: &Load) -> Vec<Card> {
    if let Some(reason) = &load.not_run {
        return vec![Card {
            title: "Validity",
            value: "not run".into(),
            winner: number::plain(reason),
            alarm: true,
            ..Card::default()
        }];
    }
    let Some(phase) = words::main_phase(load) else {
        return Vec::new();
    };
    let mut cards = Vec::new();
    if phase.outcomes.offered > 0 {
        cards.push(rate(load));
    }
    cards.push(time(load));
    if phase.outcomes.offered > 0 {
        cards.push(outcomes(load));
    }
    cards.push(bottleneck(load));
    cards
}

fn rate(load: &Load) -> Card {
    let phase = words::main_phase(load);
    let rate = phase.and_then(|phase| phase.carried_rate);
    let offered = phase.and_then(|phase| phase.offered_rate);
    Card {
        title: "Acknowledged rate",
        value: number::optional(rate, number::rate),
        unit: match phase.map(words::offered) {
            Some("handshake") => "handshakes/s",
            Some("reconnect") => "reconnects/s",
            Some("request") => "requests/s",
            _ => "messages/s",
        },
        winner: match offered {
            Some(offered) => format!("of {}/s offered", number::rate(offered)),
            None if words::offer(load).is_empty() => "devices come back when they can".into(),
            None => format!("{}: it offers what is answered", words::offer(load)),
        },
        scope: "acknowledged in time, or delivered where nothing answers, per second of the measured time"
            .into(),
        alarm: false,
    }
}

fn time(load: &Load) -> Card {
    let title = "Time";
    let main = words::main_phase(load);
    let judged = main.and_then(|phase| Some((phase, words::judged(phase)?)));
    let Some((phase, timed)) = judged else {
        return match words::invalid_main(load) {
            Some(reason) => invalid(title, reason),
            None => Card {
                title,
                value: number::NONE.into(),
                winner: "nothing was timed".into(),
                ..Card::default()
            },
        };
    };
    let standing = words::standing(load, phase, timed.kind);
    if standing == Standing::Refused {
        // A large number on a card is quoted alone, without the remark that says it is wrong.
        return invalid(title, words::invalid_main(load).unwrap_or_default());
    }
    let quantile = |value: Option<u64>| words::time(value.map(|nanos| nanos as f64), standing);
    let times = timed.times;
    Card {
        title: match timed.name {
            "delivery" => "Delivery time",
            "connect" => "Connect time",
            _ => "Response time",
        },
        value: quantile(times.p50),
        unit: "ms, median",
        winner: format!(
            "p99 {} ms, p99.9 {} ms",
            quantile(times.p99),
            quantile(times.p999)
        ),
        scope: format!(
            "longest {} ms, of {}{}",
            quantile(Some(times.max)),
            number::grouped(times.n),
            words::invalid_main(load).map_or(String::new(), |reason| format!("; {reason}"))
        ),
        alarm: standing != Standing::Exact,
    }
}

/// The card of times that must not be used.
fn invalid(title: &'static str, reason: String) -> Card {
    Card {
        title,
        value: "INVALID".into(),
        winner: reason,
        scope: "the times must not be used".into(),
        alarm: true,
        ..Card::default()
    }
}

fn outcomes(load: &Load) -> Card {
    let outcomes = words::main_phase(load)
        .map(|phase| phase.outcomes)
        .unwrap_or_default();
    let good = outcomes.acknowledged + outcomes.delivered;
    let other: Vec<String> = words::outcomes(&outcomes)
        .into_iter()
        .filter(|(name, count)| *count > 0 && !matches!(*name, "acknowledged" | "delivered"))
        .map(|(name, count)| format!("{} {name}", number::grouped(count)))
        .collect();
    Card {
        title: "Outcomes",
        // Nothing offered is 0 %, not a division by zero.
        value: number::percent(good as f64 / outcomes.offered.max(1) as f64),
        unit: if outcomes.delivered > 0 {
            "delivered"
        } else {
            "acknowledged"
        },
        winner: if other.is_empty() {
            "every message".into()
        } else {
            other.join(", ")
        },
        scope: format!("of {} offered", number::grouped(outcomes.offered)),
        alarm: false,
    }
}

fn bottleneck(load: &Load) -> Card {
    let (who, why) = load.bottleneck.as_ref().map_or_else(
        || ("not determined".to_owned(), String::new()),
        |found| (number::plain(&found.who), number::plain(&found.why)),
    );
    Card {
        title: "Bottleneck",
        value: who.clone(),
        winner: why,
        scope: "who could give no more".into(),
        alarm: who == "generator",
        ..Card::default()
    }
}

fn of_several(loads: &[Load], labels: &[String]) -> Vec<Card> {
    let valid: Vec<(&Load, &String)> = loads
        .iter()
        .zip(labels)
        // The best of several must be one whose figures may be used: a target that loses messages is the fastest.
        .filter(|(load, _)| words::invalid_main(load).is_none() && load.not_run.is_none())
        .collect();
    let mut cards = vec![Card {
        title: "Validity",
        value: format!("{} of {}", valid.len(), loads.len()),
        unit: "valid",
        scope: "loads whose times may be used; the others are in no card".into(),
        alarm: valid.len() < loads.len(),
        ..Card::default()
    }];
    let rate = |load: &Load| words::main_phase(load)?.carried_rate;
    let best = |value: &dyn Fn(&Load) -> Option<f64>| {
        let valued = valid
            .iter()
            .filter_map(|(load, label)| Some((value(load)?, *label)));
        valued
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(value, label)| (value, label.clone()))
    };
    cards.extend(best(&rate).map(|(value, label)| Card {
        title: "Highest acknowledged rate",
        value: number::rate(value),
        unit: "messages/s",
        winner: label,
        scope: "of all valid loads".into(),
        ..Card::default()
    }));
    // The largest of the negatives is the least.
    let least = |value: &dyn Fn(&Load) -> Option<f64>| best(&|load| value(load).map(|v| -v));
    let tail = |load: &Load| Some(words::judged(words::main_phase(load)?)?.times.p99? as f64);
    cards.extend(least(&tail).map(|(value, label)| Card {
        title: "Shortest 99th percentile",
        value: number::latency(-value),
        unit: "ms",
        winner: label,
        scope: "of the response, or of the delivery where nothing answers".into(),
        ..Card::default()
    }));
    let cpu = |load: &Load| load.target_use.as_ref()?.cpu_s_per_million;
    cards.extend(least(&cpu).map(|(value, label)| Card {
        title: "Least CPU of the target",
        value: number::digits(-value, 3),
        unit: "s per million messages",
        winner: label,
        scope: "user and system, of all its processes".into(),
        ..Card::default()
    }));
    cards
}
