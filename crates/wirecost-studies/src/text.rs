//! Judged claims for a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wirecost_proto::units::counted;
use wirecost_report::number::broken;

use crate::judge::count::{apart, by_verdict, numbers};
use crate::judge::{FigureRecord, Judged, JudgedPoint, JudgedReading, JudgedSuspect};
use crate::verdict::Verdict;

/// The claims, two or more lines each, and how many there are of each verdict; `width` is that of the terminal.
///
/// ```text
/// L4  impossible     MQTT resumed, link.rtt=100ms: 101.2ms
///                    bound 400 ms (SYN, ClientHello, CONNECT, PUBLISH: 4 x 100 ms)
///                    ours 400.4 ms
/// ```
pub fn table(judged: &[Judged], width: usize) -> String {
    let mut text = String::new();
    let id_width = judged
        .iter()
        .map(|claim| claim.id.chars().count())
        .max()
        .unwrap_or_default();
    for claim in judged {
        one(&mut text, claim, id_width, width);
    }
    text.push('\n');
    let figures = |claim: &Judged| {
        claim
            .points
            .iter()
            .any(|point| point.figures.iter().any(is_modelled))
    };
    if judged.iter().any(figures) {
        text.push_str("* modelled by a device file from packets\n");
    }
    text.push_str(&tally(judged));
    text.push('\n');
    text
}

const fn is_modelled(figure: &FigureRecord) -> bool {
    figure.modelled_by.is_some()
}

/// `1 impossible, 3 reproduced: published numbers and statements, each once`, and what is listed apart from them.
pub fn tally(judged: &[Judged]) -> String {
    let numbers = by_verdict(numbers(judged).map(|(_, _, verdict)| verdict));
    let apart = by_verdict(apart(judged).map(|point| point.verdict));
    let mut lines = Vec::new();
    if !numbers.is_empty() {
        lines.push(format!("{numbers}: published numbers and statements, each once"));
    }
    if !apart.is_empty() {
        lines.push(format!(
            "{apart}: listed apart (recomputed, or not claimed by the publication)"
        ));
    }
    lines.join("\n")
}

/// `71 of 97 figures judged; not run: 24 (rabbitmq is not installed), 2 (it was not run)`.
pub fn judged_figures(judged: &[Judged]) -> String {
    let points: Vec<&JudgedPoint> = judged.iter().flat_map(|claim| &claim.points).collect();
    let mut missing: BTreeMap<&str, usize> = BTreeMap::new();
    for point in points.iter().filter(|point| point.verdict == Verdict::NotRun) {
        *missing.entry(&point.why).or_default() += 1;
    }
    let count: usize = missing.values().sum();
    let mut text = format!(
        "{} of {} judged",
        points.len() - count,
        counted(points.len() as u64, "figure")
    );
    if count > 0 {
        let mut reasons: Vec<(&str, usize)> = missing.into_iter().collect();
        // What keeps most figures away first: it is what a reader installs first.
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let reasons = reasons.iter().map(|(why, count)| format!("{count} ({why})"));
        text.push_str(&format!("; not run: {}", reasons.collect::<Vec<_>>().join(", ")));
    }
    text
}

fn one(text: &mut String, claim: &Judged, id_width: usize, width: usize) {
    let Some(point) = claim.worst_point() else {
        return;
    };
    let head = format!("{:<id_width$}  {:<13}  ", claim.id, claim.verdict);
    let indent = head.chars().count();
    let room = width.saturating_sub(indent).max(20);
    let mut lines = broken(&said(claim, point), room, "");
    lines.extend(
        details(claim, point)
            .iter()
            .flat_map(|line| broken(line, room, "")),
    );
    for (at, line) in lines.iter().enumerate() {
        let begin = if at == 0 { head.as_str() } else { "" };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{begin:<indent$}{line}");
    }
}

fn said(claim: &Judged, point: &JudgedPoint) -> String {
    let at: Vec<String> = point
        .at
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let at = if at.is_empty() {
        String::new()
    } else {
        format!(", {}", at.join(", "))
    };
    let published = point
        .published
        .as_ref()
        .map(|number| format!(": {number}"))
        .unwrap_or_default();
    format!("{}{at}{published}", claim.says)
}

fn details(claim: &Judged, point: &JudgedPoint) -> Vec<String> {
    let mut details = Vec::new();
    let bound = point.bound.as_ref().zip(point.bound_from.as_ref());
    if let Some((bound, from)) = bound.filter(|_| point.verdict == Verdict::Impossible) {
        details.push(format!("bound {bound} ({from})"));
    }
    if let Some(ours) = &point.ours {
        details.push(format!("ours {ours}"));
    }
    details.extend(point.beside.clone());
    let says_more = point.verdict != Verdict::Impossible || bound.is_none();
    if says_more && !point.why.is_empty() {
        details.push(point.why.clone());
    }
    let reading = |reading: &JudgedReading| format!("{} if read as {}", reading.verdict, reading.sentence());
    details.extend(point.readings.iter().map(reading));
    details.extend(claim.under_different.clone());
    details.extend(point.engines_differ.clone());
    let like = claim
        .points
        .iter()
        .filter(|point| point.verdict == claim.verdict)
        .count();
    if claim.points.len() > 1 {
        details.push(format!("{like} of {} points", claim.points.len()));
    }
    details.extend(claim.suspects.iter().map(JudgedSuspect::sentence));
    details
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::evidence::Evidence;

    #[test]
    fn a_claim_takes_a_few_lines_of_eighty_letters() {
        let claims = "wirecost: 1\nstudy: test\nsource: a paper\nruns: {publish: publish.yaml}\nclaims:\n\
            - id: L4\n  says: MQTT resumed until its first message is acknowledged, as the table of connects says\n  \
            for: {link.rtt: [1ms, 100ms]}\n  published: [9ms, 101.2ms]\n  value: publish/connect_time p(50)\n  \
            bound: {flights: [SYN, ClientHello, CONNECT, PUBLISH], rtt: $link.rtt}\n\
            - {id: T1, says: a sum, published: 3, arithmetic: 1 + 2}\n";
        let claims = Claims::read(claims).expect("claims");
        let judged = claims
            .judge(&Evidence::default(), &BTreeMap::new())
            .expect("references");
        assert_eq!(
            table(&judged, 80),
            "L4  impossible     MQTT resumed until its first message is acknowledged, as the
                   table of connects says, link.rtt=100ms: 101.2ms
                   bound 400 ms (SYN, ClientHello, CONNECT, PUBLISH: 4 x 100 ms)
                   1 of 2 points
T1  reproduced     a sum: 3
                   ours 3 = 1 + 2

1 impossible, 1 not run, 1 reproduced: published numbers and statements, each once
"
        );
    }
}
