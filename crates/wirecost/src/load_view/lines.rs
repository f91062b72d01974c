//! The state of a load as lines of a limited width. If a line is too long, its least important entries are removed
//! first.

use std::time::Duration;

use wirecost_report::load::time;
use wirecost_report::number;
use wirecost_results::metrics::Usage;
use wirecost_results::standing::Standing;

use super::layout::{Dress, Entry, bar, fitted, with_sparks};
use super::state::State;

/// Width of a line's name.
const NAME: usize = 10;

/// The first line: the name of the load.
pub(super) fn heading(state: &State) -> String {
    let place = match state.load.position {
        [number, of] if of > 1 => format!("load {number} of {of}: "),
        // How many loads a search takes is not known.
        [number, 0] if number > 0 => format!("load {number}: "),
        _ => String::new(),
    };
    number::plain(&format!("{place}{} → {}", state.load.name, state.load.target))
}

/// A second as one line, for output that is not a terminal.
pub(super) fn plain(state: &State) -> String {
    let mut entries = vec![format!("{:>5} s", state.elapsed.as_secs()), phase(state)];
    if state.has_messages() {
        entries.push(format!("offered {}/s", number::rate(state.now.offered)));
        entries.push(acknowledged(state));
    } else if state.now.connects > 0.0 {
        entries.push(format!("{} connects/s", number::rate(state.now.connects)));
    }
    entries.extend(times(state));
    entries.extend(troubles(state));
    if state.has_messages() {
        entries.push(format!("{} waiting", number::grouped(state.waiting())));
    }
    entries.push(format!("{} connected", number::grouped(state.connected)));
    entries.extend(
        state
            .generator
            .map(|generator| format!("generator {}", cpu(generator))),
    );
    entries.extend(state.target.map(|target| format!("target {}", cpu(target))));
    entries.join("  ")
}

/// The lines that are redrawn each second.
pub(super) fn block(state: &State, width: usize, dress: Dress) -> Vec<String> {
    let mut lines = vec![
        dress.bold(&number::clipped(&heading(state), width)),
        progress(state, width, dress),
    ];
    lines.push(rate(state, width, dress));
    lines.push(response(state, width, dress));
    lines.extend(limit(state).map(|limit| {
        let line = number::plain(&format!("{:<NAME$}  {limit}", ""));
        dress.alarm(&number::clipped(&line, width))
    }));
    if state.has_messages() {
        lines.push(outcomes(state, width, dress));
    }
    lines.push(sides(state, width));
    lines
}

/// The line of the phase: which of how many, and how much of its time is over.
fn progress(state: &State, width: usize, dress: Dress) -> String {
    let at = seconds(state.elapsed);
    let (bar, end) = match state.remaining {
        Some(remaining) => {
            // At the begin of an empty phase both are zero, and their quotient is no number.
            let whole = (state.elapsed + remaining).as_secs_f64().max(1e-3);
            let bar = bar(state.elapsed.as_secs_f64() / whole, 24);
            (bar, format!("{at} of {}", seconds(state.elapsed + remaining)))
        }
        None => (String::new(), at),
    };
    let entries = [
        Entry::always(format!("{:<NAME$}", number_of_phase(state))),
        Entry::from_text(2, bar),
        Entry::always(end),
        Entry::from_text(
            1,
            state
                .remaining
                .map_or(String::new(), |left| format!("{} left", seconds(left))),
        ),
    ];
    dress.faint(&fitted(&entries, width))
}

fn number_of_phase(state: &State) -> String {
    if state.phase.is_empty() {
        return "starting".into();
    }
    phase(state)
}

fn phase(state: &State) -> String {
    let warm_up = if state.warm_up { " (warm-up)" } else { "" };
    number::plain(&format!("{}{warm_up}", state.phase))
}

fn rate(state: &State, width: usize, dress: Dress) -> String {
    let values: Vec<Option<f64>> = state.rates.iter().map(|rate| Some(*rate)).collect();
    if !state.has_messages() {
        let entries = [
            Entry::always(format!("{:<NAME$}", "connects")),
            Entry::always(format!("{:>9}/s", number::rate(state.now.connects))),
        ];
        return with_sparks(fitted(&entries, width), &values, width, dress);
    }
    let asked = state
        .asked_rate
        .map(number::rate)
        .map_or(String::new(), |rate| format!("of {rate}/s asked for"));
    let entries = [
        Entry::always(format!("{:<NAME$}", "rate")),
        Entry::always(format!("{:>9}/s offered", number::rate(state.now.offered))),
        Entry::always(acknowledged(state)),
        Entry::from_text(1, asked),
    ];
    with_sparks(fitted(&entries, width), &values, width, dress)
}

/// The outcomes. If nothing answers during the run, only the sent messages are known.
fn acknowledged(state: &State) -> String {
    let outcomes = &state.outcomes;
    let is_answered = outcomes.acknowledged + outcomes.delivered + outcomes.refused + outcomes.late > 0;
    // Without an answer yet, "acknowledged 0/s" would look like a target that fails.
    if is_answered || state.now.sent == 0.0 {
        let arrived = if outcomes.delivered > 0 {
            "delivered"
        } else {
            "acknowledged"
        };
        format!("{arrived} {}/s", number::rate(state.now.acknowledged))
    } else {
        format!("sent {}/s", number::rate(state.now.sent))
    }
}

fn times(state: &State) -> Option<String> {
    let times = state.now.times?;
    let [p50, p99] = [times.p50, times.p99].map(|nanos| time(Some(nanos as f64), state.now.standing));
    let limit = limit(state).map_or_else(String::new, |limit| format!(" ({limit})"));
    Some(format!("p50 {p50} p99 {p99} ms{limit}"))
}

/// What the marks at the times mean, and why they are there.
fn limit(state: &State) -> Option<String> {
    let reason = state.limit.as_ref()?;
    let said = match state.now.standing {
        Standing::Exact => return None,
        Standing::AtMost => "≤ is at most so far",
        Standing::AtLeast => "≥ is at least so far",
        Standing::Refused => "INVALID so far",
    };
    Some(format!("{said}: {reason}"))
}

fn response(state: &State, width: usize, dress: Dress) -> String {
    let values: Vec<Option<f64>> = state
        .tails
        .iter()
        .map(|tail| tail.map(|nanos| nanos as f64))
        .collect();
    let name = if state.has_messages() { "response" } else { "time" };
    let mut entries = vec![Entry::always(format!("{name:<NAME$}"))];
    match state.now.times {
        Some(times) => {
            let [p50, p99, max] =
                [times.p50, times.p99, times.max].map(|nanos| time(Some(nanos as f64), state.now.standing));
            entries.push(Entry::always(format!("p50 {p50:>6}")));
            entries.push(Entry::always(format!("p99 {p99:>6} ms")));
            entries.push(Entry::from_text(1, format!("max {max:>6} ms")));
        }
        None => entries.push(Entry::always("nothing was answered in this second".into())),
    }
    if let Some(lag) = state.now.lag {
        entries.push(Entry::from_text(
            2,
            format!("lag p99 {}", number::duration(lag as f64)),
        ));
    }
    with_sparks(fitted(&entries, width), &values, width, dress)
}

/// The failures, by number.
fn troubles(state: &State) -> Vec<String> {
    let outcomes = &state.outcomes;
    [
        ("refused", outcomes.refused),
        ("late", outcomes.late),
        ("failed", outcomes.failed),
        ("unknown", outcomes.unknown),
        ("lost", outcomes.lost),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| format!("{} {name}", number::grouped(count)))
    .collect()
}

fn outcomes(state: &State, width: usize, dress: Dress) -> String {
    let good = match state.outcomes.delivered {
        0 => format!("{} acknowledged", number::grouped(state.outcomes.acknowledged)),
        delivered => format!("{} delivered", number::grouped(delivered)),
    };
    let troubles = troubles(state).join("  ");
    let entries = [
        Entry::always(format!("{:<NAME$}", "outcomes")),
        Entry::always(good),
        Entry::always(format!("{} waiting", number::grouped(state.waiting()))),
        Entry::always(troubles.clone()),
    ];
    let line = fitted(&entries, width);
    match line.strip_suffix(&troubles) {
        Some(calm) if !troubles.is_empty() => calm.to_owned() + &dress.alarm(&troubles),
        _ => line,
    }
}

fn sides(state: &State, width: usize) -> String {
    let connected = format!(
        "{} of {} connected",
        number::grouped(state.connected),
        number::grouped(state.load.clients + state.load.subscribers)
    );
    let of_side = |name: &str, used: Option<Usage>| {
        used.map_or_else(String::new, |used| format!("{name} {}", cpu(used)))
    };
    let memory = |used: Option<Usage>| used.map_or(String::new(), |used| number::data(used.resident_bytes));
    let entries = [
        Entry::always(format!("{:<NAME$}", "machine")),
        Entry::always(connected),
        Entry::always(of_side("generator", state.generator)),
        Entry::from_text(2, memory(state.generator)),
        Entry::from_text(1, of_side("target", state.target)),
        Entry::from_text(3, memory(state.target)),
    ];
    fitted(&entries, width)
}

fn cpu(used: Usage) -> String {
    format!("{:.0} % CPU", used.cpu_share * 100.0)
}

fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        s if s < 120 => format!("{s} s"),
        s => format!("{} min {:02} s", s / 60, s % 60),
    }
}

#[cfg(test)]
mod tests;
