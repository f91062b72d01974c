//! `summary.md` of loads as GitHub-flavoured Markdown: a row per load, thresholds, remarks, links to the distributions.

use wirecost_results::curves::CurveKind;
use wirecost_results::load::{Load, LoadSummary, PhaseFigures};
use wirecost_results::rate_search::RateSearch;

use super::words;
use crate::export::escaped;
use crate::number;

/// The summary as GitHub-flavoured Markdown.
pub fn markdown(summary: &LoadSummary) -> String {
    let labels = words::labels(&summary.loads);
    let mut text = format!("### {}\n\n", escaped(&summary.name));
    text += &searches(summary);
    text += "| load | offered/s | acknowledged/s | outcomes | time | p50 (ms) | p99 (ms) | p99.9 (ms) | max (ms) | lag p99 | \
             generator CPU s/M | target CPU s/M | bottleneck |\n\
             |:--|--:|--:|:--|:--|--:|--:|--:|--:|--:|--:|--:|:--|\n";
    for (load, label) in summary.loads.iter().zip(&labels) {
        text += &row(load, label);
    }
    if summary.loads.iter().any(Load::is_modelled) {
        text += "\nModelled in virtual time: no CPU is measured.\n";
    }
    if words::is_interrupted(summary) {
        text += "\nInterrupted: the figures are of what was measured until then.\n";
    }
    text += &hops(summary, &labels);
    for (label, line) in words::agents::all_agents(&summary.loads, &labels) {
        text += &format!("\n{}: {}\n", escaped(&label), escaped(&line));
    }
    for (label, settings) in words::all_settings(&summary.loads, &labels) {
        text += &format!(
            "\n{}: settings of the target: {}\n",
            escaped(&label),
            escaped(&settings)
        );
    }
    text += &repeats(summary);
    text += &thresholds(summary);
    for (index, (load, label)) in summary.loads.iter().zip(&labels).enumerate() {
        text += &remarks(load, label);
        text += &distributions(index, load, label);
    }
    // A command may hold anything: three backticks would end the block, and what follows would be Markdown.
    let command = number::plain(&summary.command).replace("```", "'''");
    text + &format!("\n```sh\n{command}\n```\n")
}

/// What repeated searches for the highest rate say together, and the conclusion of each search.
fn searches(summary: &LoadSummary) -> String {
    let of_one = |search: &RateSearch| {
        let limit = words::search::limit(search).map_or(String::new(), |limit| format!(" Limit: {limit}."));
        let answer = if search.ended_by_generator {
            ""
        } else {
            "highest rate "
        };
        let text = format!("{answer}{}.{limit}", words::search::conclusion(search));
        format!("**{}**: {}\n\n", escaped(&search.name), escaped(&text))
    };
    let over_runs = words::search::over_runs(&summary.searches);
    let together = over_runs
        .iter()
        .map(|line| format!("The highest rate {}.\n\n", escaped(line)));
    together.chain(summary.searches.iter().map(of_one)).collect()
}

/// The bytes of each hop between sites.
fn hops(summary: &LoadSummary, labels: &[String]) -> String {
    let mut text = String::new();
    for (load, label) in summary.loads.iter().zip(labels) {
        for hop in &load.hops {
            text += &format!("\n{}: {}: {}\n", escaped(label), hop.hop, words::hop(hop));
        }
    }
    text
}

/// The means of repeated loads over their runs.
fn repeats(summary: &LoadSummary) -> String {
    let mut text = String::new();
    for runs in words::repeat::all(summary) {
        text += &format!(
            "\n{}, means over runs:\n\n| phase | figure | mean | 95 % interval |\n|:--|:--|--:|:--|\n",
            escaped(&runs.name)
        );
        for (phase, figure) in runs.figures {
            let [mean, interval] = figure.texts();
            text += &format!(
                "| {} | {} {} | {mean} | {interval} |\n",
                phase.name, figure.metric, figure.aggregation
            );
        }
    }
    text
}

fn row(load: &Load, label: &str) -> String {
    let label = escaped(label);
    let none = number::NONE;
    let Some(phase) = words::main_phase(load).filter(|_| load.not_run.is_none()) else {
        // A row with fewer columns than the head breaks the table in GitHub.
        return format!("| {label} (not run) |{}\n", format!(" {none} |").repeat(12));
    };
    let invalid = words::invalid(load, phase).is_some();
    let mark = if invalid { " **INVALID**" } else { "" };
    let time = words::judged(phase).map_or(none, |timed| timed.name);
    let values = words::row_values(load, phase);
    let ([p50, _, p99, p999, max], [generator, target]) = (values.times, values.cpu);
    let values = [
        values.offered,
        values.acknowledged,
        outcomes(phase),
        time.to_owned(),
        p50,
        p99,
        p999,
        max,
        values.lag,
        generator,
        target,
        escaped(&values.bottleneck),
    ];
    format!("| {label}{mark} | {} |\n", values.join(" | "))
}

fn outcomes(phase: &PhaseFigures) -> String {
    let told: Vec<String> = words::outcomes(&phase.outcomes)
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{} {name}", number::grouped(count)))
        .collect();
    let missing = words::missing(phase).map_or(String::new(), |text| format!("; deliveries: {text}"));
    format!(
        "{} of {}{missing}",
        told.join(", "),
        number::grouped(phase.outcomes.offered)
    )
}

fn thresholds(summary: &LoadSummary) -> String {
    let Some((held, count)) = words::thresholds(summary) else {
        return String::new();
    };
    let line = |threshold: &wirecost_results::threshold::Threshold| {
        let verdict = if threshold.pass { "pass" } else { "**FAIL**" };
        let actual = number::optional(threshold.actual, |value| number::trimmed(value, 6));
        format!(
            "| {verdict} | {} | {} | {actual} |\n",
            escaped(&threshold.metric),
            escaped(&threshold.expression)
        )
    };
    let rows: String = summary.thresholds.iter().map(line).collect();
    format!("\n{held} of {count} thresholds hold.\n\n| | metric | demanded | is |\n|:--|:--|:--|--:|\n{rows}")
}

fn remarks(load: &Load, label: &str) -> String {
    let line = |kind: &str, text: &str| format!("\n- {kind}: {}: {}\n", escaped(label), escaped(text));
    let remarks = words::remarks(load);
    let remarks = remarks.iter().map(|remark| line(remark.kind, &remark.text));
    let bottleneck = load.bottleneck.iter().filter(|found| found.who != "none");
    let bottleneck = bottleneck.map(|found| line(&format!("bottleneck {}", escaped(&found.who)), &found.why));
    remarks.chain(bottleneck).collect()
}

/// Links to the distributions that the folder has of the load.
fn distributions(index: usize, load: &Load, label: &str) -> String {
    let links: Vec<String> = load
        .phases
        .iter()
        .enumerate()
        .flat_map(|(number, phase)| {
            let kinds = [
                (CurveKind::Response, &phase.response_time_ns),
                (CurveKind::Service, &phase.service_time_ns),
                (CurveKind::Lag, &phase.schedule_lag_ns),
                (CurveKind::Connect, &phase.connect_time_ns),
                (CurveKind::Delay, &phase.one_way_delay_ns),
            ];
            let link = move |kind: CurveKind| {
                let name = escaped(&words::kind_in(phase, kind));
                format!("[{name}]({})", kind.file(index, number))
            };
            kinds
                .into_iter()
                .filter(|(_, times)| times.as_ref().is_some_and(|times| times.n > 0))
                .map(move |(kind, _)| link(kind))
        })
        .collect();
    if links.is_empty() {
        return String::new();
    }
    format!("\n- distributions: {}: {}\n", escaped(label), links.join(", "))
}
