//! The table at the end of a run of loads. One load: the answer in three lines, then its phases with outcomes, times and the CPU of both sides. Several
//! loads: one row each.
//!
//! No line is wider than `width`: columns are dropped, and texts are clipped or wrapped between words.

mod columns;
mod rows;
mod search;

use wirecost_proto::units::counted;
use wirecost_results::load::{Load, LoadSummary, PhaseFigures, ProcessUse};
use wirecost_results::rate_search::{RateSearch, RateTrial};
use wirecost_results::standing::Standing;
use wirecost_results::summary::Times;

use super::layout::wrapped;
use super::style::Style;
use super::{TableOptions, finished, thresholds};
use crate::load::words::{self, Remark};
use crate::number;
use columns::Columns;

/// Width of the name at the beginning of a line.
const NAME: usize = 13;

/// The run as a table: configuration, figures, bottleneck, validity.
pub fn table(summary: &LoadSummary, options: &TableOptions) -> String {
    let page = Page {
        style: Style::new(options.color),
        width: options.width,
    };
    let mut lines = match (summary.searches.as_slice(), summary.loads.as_slice()) {
        (_, []) => vec!["no load was run".to_owned()],
        ([], [load]) => page.load(load, summary),
        ([], loads) => page.loads(loads),
        (searches, loads) => page.searches(searches, loads),
    };
    lines.extend(page.repeats(summary));
    if words::is_interrupted(summary) {
        lines.push(page.alarm("interrupted: the figures above cover the time until then"));
    }
    let has_invalid = summary.loads.iter().any(|load| !load.valid);
    lines.extend(thresholds::lines(
        &summary.thresholds,
        has_invalid,
        &page.style,
        page.width,
    ));
    finished(lines)
}

/// A load of a search in one line, for a user who watches the search.
pub fn trial_line(search: &RateSearch, trial: &RateTrial) -> String {
    search::trial_line(search, trial)
}

/// Style and width of the table.
struct Page {
    style: Style,
    width: usize,
}

impl Page {
    /// All figures of one load.
    fn load(&self, load: &Load, summary: &LoadSummary) -> Vec<String> {
        let mut lines = self.answer(load, summary);
        if load.not_run.is_some() {
            lines.extend(self.remarks(load, ""));
            return lines;
        }
        for phase in load.phases.iter().filter(|phase| has_figures(phase)) {
            lines.push(String::new());
            lines.extend(self.phase(load, phase));
        }
        lines.push(String::new());
        // The CPU time of a simulation says nothing of a target.
        if load.is_modelled() {
            lines.extend(self.entry(
                "engine",
                "virtual time: all figures are modelled, and no CPU is measured",
            ));
        } else {
            lines.extend(self.side("generator", load.generator.as_ref()));
            lines.extend(self.side("target", load.target_use.as_ref()));
        }
        if let Some(worlds) = &load.worlds {
            lines.extend(self.entry("worlds", &words::worlds(worlds)));
        }
        if let Some(figures) = &load.service {
            lines.extend(self.entry("server", &words::service(figures)));
        }
        if let Some(why) = &load.wire_not_counted {
            lines.extend(self.entry("wire", &format!("bytes on the wire are not counted: {why}")));
        }
        if load.wire_of_all {
            let text = "the count is of every program that used the target: worker processes sent the packets of the load";
            lines.extend(self.entry("wire", text));
        }
        if let Some(agents) = &load.agents {
            for agent in &agents.each {
                let name = format!("agent {}", agent.number);
                lines.extend(self.entry(&name, &words::agents::agent(agent)));
            }
            lines.extend(self.entry("agents", &words::agents::all(agents)));
        }
        if let Some(figures) = &load.link {
            lines.extend(self.entry("link", &words::link_kept(figures)));
        }
        for hop in &load.hops {
            lines.extend(self.entry(&hop.hop, &words::hop(hop)));
        }
        if !load.settings.is_empty() {
            lines.extend(self.entry("settings", &words::settings(load)));
        }
        lines.extend(self.entry("bottleneck", &words::bottleneck(load)));
        lines.extend(self.remarks(load, ""));
        lines
    }

    /// Rate and times, the verdict, and what was loaded: one line each.
    fn answer(&self, load: &Load, summary: &LoadSummary) -> Vec<String> {
        let line = |text: &str| number::clipped(text, self.width);
        let figures = words::answer::rate_and_times(load).map(|text| self.style.bold(&line(&text)));
        let mut lines: Vec<String> = figures.into_iter().collect();
        let judgement = words::answer::judgement(load, &summary.thresholds);
        let text = line(&judgement.text);
        lines.push(match judgement.alarms {
            true => self.style.alarm(&text),
            false => text,
        });
        lines.push(line(&words::headline(load)));
        lines
    }

    fn phase(&self, load: &Load, phase: &PhaseFigures) -> Vec<String> {
        let seconds = |s: f64| number::trimmed(s, 1);
        let measured = match phase.measured_s {
            s if s > 0.0 => format!("{} s measured of ", seconds(s)),
            _ => String::new(),
        };
        let mut lines = self.entry(&phase.name, &format!("{measured}{} s", seconds(phase.duration_s)));
        if phase.outcomes.offered > 0 {
            lines.extend(self.entry(&format!("{}s", words::offered(phase)), &outcomes(phase)));
            lines.extend(self.entry("rate", &rates(phase)));
        }
        if let Some(deliveries) = phase.deliveries.filter(|_| has_deliveries(phase)) {
            let missing = words::missing(phase).map_or(String::new(), |text| format!(" ({text})"));
            let text = format!(
                "{} arrived{missing}, {} duplicates, {} out of order, {} replayed",
                number::grouped(deliveries.arrived),
                number::grouped(deliveries.duplicates),
                number::grouped(deliveries.out_of_order),
                number::grouped(deliveries.replayed)
            );
            lines.extend(self.entry("deliveries", &text));
        }
        if let Some(deliveries) = phase.deliveries.filter(|found| found.polls > 0) {
            let (polls, empty) = (deliveries.polls, deliveries.empty_polls);
            let text = format!(
                "{}, {} brought nothing",
                number::grouped(polls),
                number::grouped(empty)
            );
            lines.extend(self.entry("polls", &text));
        }
        if phase.connects.attempted > 0 {
            lines.extend(self.entry("connects", &connects(phase)));
        }
        if phase.socket_bytes_up + phase.socket_bytes_down > 0 {
            lines.extend(self.entry("bytes", &bytes(phase)));
        }
        if let Some(used) = &phase.wire {
            for (name, way) in [("wire up", &used.up), ("wire down", &used.down)] {
                lines.extend(self.entry(name, &words::wire_use(way)));
            }
        }
        if let Some(used) = &phase.link {
            for (name, way) in [("link up", &used.up), ("link down", &used.down)] {
                lines.extend(self.entry(name, &words::direction_use(way)));
            }
        }
        for hop in &phase.hops {
            lines.extend(self.entry(&hop.hop, &words::hop_use(hop)));
        }
        for (reason, times) in &phase.reasons {
            let text = format!("{} × {}", number::grouped(*times), number::plain(reason));
            lines.extend(self.entry("reason", &text));
        }
        lines.extend(self.times(load, phase));
        lines
    }

    /// Every kind of time that can be used, side by side.
    fn times(&self, load: &Load, phase: &PhaseFigures) -> Vec<String> {
        let (times, refused): (Vec<_>, Vec<_>) = words::times(phase)
            .into_iter()
            .map(|timed| (words::standing(load, phase, timed.kind), timed))
            // A time that the generator has spoiled is not printed at all: numbers are copied without their mark.
            .partition(|(standing, _)| *standing != Standing::Refused);
        let mut lines = match words::invalid(load, phase) {
            Some(reason) => {
                let is_at_most = times.iter().any(|(standing, _)| *standing == Standing::AtMost);
                let refused: Vec<&str> = refused.iter().map(|(_, timed)| timed.name).collect();
                let text = match (is_at_most, refused.as_slice()) {
                    (true, []) => format!("≤ is at most: {reason}"),
                    (true, refused) => format!("≤ is at most, {} INVALID: {reason}", refused.join(" and ")),
                    (false, _) => format!("INVALID: {reason}"),
                };
                self.entry("times", &text)
            }
            None => Vec::new(),
        };
        if times.is_empty() {
            return lines;
        }
        let mut columns = Columns::new("ms", ["mean", "p50", "p90", "p99", "p99.9", "max", "n"]);
        columns.drop_order(&[6, 0, 4, 2, 5, 3]);
        for (standing, timed) in &times {
            columns.row(timed.name, time_values(timed.times, *standing));
        }
        for (index, (_, timed)) in times.iter().enumerate() {
            columns.note(index, timed.what);
        }
        lines.push(String::new());
        lines.extend(columns.lines(NAME, self.width, &self.style));
        let low = times
            .iter()
            .filter_map(|(_, timed)| low_n(timed.name, timed.times));
        let low: Vec<String> = low.collect();
        if !low.is_empty() {
            let text = format!("low n: fewer than ten samples beyond {}", low.join(", "));
            lines.extend(self.wrap(&text));
        }
        lines
    }

    fn side(&self, name: &str, used: Option<&ProcessUse>) -> Vec<String> {
        // Left out, a reader would look for it; zero would claim that it took nothing.
        let Some(used) = used else {
            return self.entry(name, "not started by wirecost: its CPU was not measured");
        };
        let per_million = used.cpu_s_per_million.map_or(String::new(), |seconds| {
            format!(", {} CPU s per million messages", number::digits(seconds, 3))
        });
        let busiest = used.busiest_thread_share.map_or(String::new(), |share| {
            format!(" (busiest thread {})", number::percent(share))
        });
        let share = used.cpu_share.map_or_else(
            || format!("not measured: {} ms", number::trimmed(used.wall_s * 1e3, 1)),
            |share| format!("{} of one CPU{busiest}", number::percent(share)),
        );
        let text = format!(
            "{share}, {} user + {} system s{per_million}, {} in {}",
            number::trimmed(used.user_s, 2),
            number::trimmed(used.system_s, 2),
            number::data(used.resident_bytes),
            counted(used.processes.into(), "process")
        );
        self.entry(name, &text)
    }

    /// A row per load, then the remarks on each.
    fn loads(&self, loads: &[Load]) -> Vec<String> {
        let labels = words::labels(loads);
        let mut lines = rows::lines(loads, &labels, self.width, &self.style);
        if loads.iter().any(Load::is_modelled) {
            lines.push("modelled in virtual time: no CPU is measured".to_owned());
        }
        lines.push(String::new());
        for (load, label) in loads.iter().zip(&labels) {
            if let Some(found) = load.bottleneck.as_ref().filter(|found| found.who != "none") {
                let text = format!("{label}: bottleneck {}: {}", found.who, found.why);
                lines.extend(self.wrap(&number::plain(&text)));
            }
            lines.extend(self.remarks(load, &format!("{label}: ")));
        }
        lines
    }

    /// The means of repeated loads over their runs, with 95 % intervals.
    fn repeats(&self, summary: &LoadSummary) -> Vec<String> {
        let mut lines = Vec::new();
        for runs in words::repeat::all(summary) {
            let title = format!("{}: mean over runs, 95 % interval", runs.name);
            lines.extend([
                String::new(),
                self.style.bold(&number::clipped(&title, self.width)),
            ]);
            lines.extend(runs.figures.into_iter().map(|(phase, figure)| {
                let [mean, interval] = figure.texts();
                let name = format!("{} {}", figure.metric, figure.aggregation);
                let text = format!("  {:<10}  {name:<22}  {mean:>12}  {interval}", phase.name);
                number::clipped(&text, self.width)
            }));
        }
        lines
    }

    /// The searches for the highest rate, one below the other.
    fn searches(&self, searches: &[RateSearch], loads: &[Load]) -> Vec<String> {
        let mut lines = Vec::new();
        for over_runs in words::search::over_runs(searches) {
            lines.extend(self.entry("highest rate", &over_runs));
        }
        for search in searches {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.extend(self.search(search));
        }
        if loads.iter().any(Load::is_modelled) {
            lines.push("modelled in virtual time: no CPU is measured".to_owned());
        }
        lines
    }

    /// The remarks on a load; reasons for invalid figures come first.
    fn remarks(&self, load: &Load, whose: &str) -> Vec<String> {
        let lines = |remark: Remark| {
            let lines = self.wrap(&format!("{}: {whose}{}", remark.kind, remark.text));
            let dressed = |line: String| match remark.alarms() {
                true => self.style.alarm(&line),
                false => line,
            };
            lines.into_iter().map(dressed).collect::<Vec<String>>()
        };
        words::remarks(load).into_iter().flat_map(lines).collect()
    }

    /// A name and its text, wrapped between words.
    fn entry(&self, name: &str, text: &str) -> Vec<String> {
        let room = self.width.saturating_sub(NAME).max(20);
        let mut lines = broken(text, room).into_iter();
        let first = lines.next().unwrap_or_default();
        let first = format!("{:<NAME$}{first}", number::clipped(name, NAME - 1));
        std::iter::once(first)
            .chain(lines.map(|line| format!("{:NAME$}{line}", "")))
            .collect()
    }

    fn wrap(&self, text: &str) -> Vec<String> {
        wrapped(text, self.width)
            .iter()
            .map(|line| number::clipped(line, self.width))
            .collect()
    }

    fn alarm(&self, text: &str) -> String {
        self.style.alarm(&number::clipped(text, self.width))
    }
}

/// The lines of `text`, none longer than `width`.
fn broken(text: &str, width: usize) -> Vec<String> {
    wrapped(text, width.saturating_sub(2))
        .iter()
        .map(|line| number::clipped(line.trim_start(), width))
        .collect()
}

/// Whether a phase has figures.
fn has_figures(phase: &PhaseFigures) -> bool {
    phase.outcomes.offered > 0 || phase.connects.attempted > 0 || has_deliveries(phase)
}

/// Whether deliveries arrived or are missing.
fn has_deliveries(phase: &PhaseFigures) -> bool {
    phase.deliveries.is_some_and(|found| found.arrived > 0) || words::missing(phase).is_some()
}

fn outcomes(phase: &PhaseFigures) -> String {
    let offered = phase.outcomes.offered;
    let ended: Vec<String> = words::outcomes(&phase.outcomes)
        .into_iter()
        .filter(|(name, count)| *count > 0 || matches!(*name, "acknowledged" | "delivered"))
        .map(|(name, count)| {
            let share = count as f64 / offered.max(1) as f64;
            format!("{} {name} ({})", number::grouped(count), number::percent(share))
        })
        .collect();
    format!("{} offered: {}", number::grouped(offered), ended.join(", "))
}

fn rates(phase: &PhaseFigures) -> String {
    let rate = number::optional(phase.carried_rate, number::rate);
    let arrived = words::arrived(phase);
    match phase.offered_rate {
        Some(offered) => format!("{}/s offered, {rate}/s {arrived}", number::rate(offered)),
        None if phase.name == "reconnect" => format!("{rate}/s {arrived}: devices come back when they can"),
        None => format!("{rate}/s {arrived}: a closed loop offers what is answered"),
    }
}

fn connects(phase: &PhaseFigures) -> String {
    let connects = &phase.connects;
    let counts = [
        ("established", connects.established),
        ("resumed", connects.resumed),
        ("with early data", connects.early),
        ("refused", connects.refused),
        ("failed", connects.failed),
        ("timed out", connects.timed_out),
        ("given up", connects.given_up),
        ("lost later", connects.lost),
    ];
    let told: Vec<String> = counts
        .into_iter()
        // None established is the news; other zeros are noise.
        .filter(|(name, count)| *count > 0 || *name == "established")
        .map(|(name, count)| format!("{} {name}", number::grouped(count)))
        .collect();
    format!(
        "{} begun: {}",
        number::grouped(connects.attempted),
        told.join(", ")
    )
}

fn bytes(phase: &PhaseFigures) -> String {
    let (up, down) = (phase.socket_bytes_up, phase.socket_bytes_down);
    let each = match phase.sent {
        0 => String::new(),
        sent => format!(
            ", {} B a {} up, {} B down",
            number::trimmed(up as f64 / sent as f64, 1),
            words::offered(phase),
            number::trimmed(down as f64 / sent as f64, 1)
        ),
    };
    format!(
        "{} up, {} down, above TCP or UDP{each}",
        number::data(up),
        number::data(down)
    )
}

fn time_values(of: &Times, standing: Standing) -> [String; 7] {
    let quantile = |value: Option<u64>| words::time(value.map(|nanos| nanos as f64), standing);
    [
        words::time(Some(of.mean), standing),
        quantile(of.p50),
        quantile(of.p90),
        quantile(of.p99),
        quantile(of.p999),
        quantile(Some(of.max)),
        number::grouped(of.n),
    ]
}

/// The quantiles from too few samples.
fn low_n(name: &str, of: &Times) -> Option<String> {
    (!of.low_n.is_empty()).then(|| format!("{} of {name}", of.low_n.join(" and ")))
}
