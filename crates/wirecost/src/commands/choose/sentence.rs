//! The answer in words: for the terminal, and for the pages of a design document.

use wirecost_proto::shown::money;
use wirecost_proto::units::counted;
use wirecost_results::link_text::LinkShown;

use wirecost_scenario::certificates::public_broker;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_security::certificate::Chain;

use super::rows::Row;
use super::{Decision, Inputs};
use crate::arguments::By;
use crate::commands::cost::sure::how_sure;
use crate::commands::cost::table::{number, time};

/// The most rows that a sentence names.
const MOST_NAMED: usize = 3;

/// The stack that was chosen, and how its connections are used.
pub(super) fn answer(rows: &[Row]) -> String {
    rows.first().filter(|row| row.is_met()).map_or_else(
        || "No stack meets the requirements.".to_owned(),
        |row| format!("{} ({})", row.stack, row.way.name()),
    )
}

/// What the answer costs, how many rows meet the requirements, and which cannot be told apart from it.
pub(super) fn reasons(decision: &Decision<'_>) -> Vec<String> {
    let Decision { inputs, rows, .. } = decision;
    let met = rows.iter().filter(|row| row.is_met()).count();
    let mut reasons = Vec::new();
    match rows.first().filter(|row| row.is_met()) {
        Some(best) => reasons.push(format!(
            "It has the least {} of those that meet the requirements: {}.",
            by_words(inputs.arguments.by),
            figures(inputs, best)
        )),
        None => reasons.extend(rows.first().map(|nearest| {
            format!(
                "The nearest is {} ({}): {}.",
                nearest.stack,
                nearest.way.name(),
                nearest.fails.join("; ")
            )
        })),
    }
    let lives = inputs.battery.and(inputs.device.as_ref());
    reasons.extend(lives.map(|device| how_sure(device, inputs.beside)));
    reasons.push(match (met, rows.len()) {
        // "1 of 1 meets" would look like a choice.
        (1, 1) => "Nothing else was compared.".to_owned(),
        (0, 1) => "Nothing else was tried.".to_owned(),
        (met, all) if met == all => format!("All {all} stacks and ways meet the requirements."),
        (met, all) => {
            let verb = if met == 1 { "meets" } else { "meet" };
            format!("{met} of {all} stacks and ways {verb} the requirements.")
        }
    });
    let alike = rows.iter().filter_map(|row| {
        let words = row.beside_first()?;
        Some(format!("{} ({}): {words}", row.stack, row.way.name()))
    });
    let alike: Vec<String> = alike.collect();
    if !alike.is_empty() {
        let named = alike.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>();
        let others = match alike.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            others => format!(" and {}", counted(others as u64, "other")),
        };
        reasons.push(format!("Not behind it: {}{others}.", named.join("; ")));
    }
    reasons
}

/// The same as a paragraph.
pub(super) fn paragraph(decision: &Decision<'_>) -> String {
    let answer = answer(&decision.rows);
    let stop = if answer.ends_with('.') { "" } else { "." };
    format!("{answer}{stop} {}", reasons(decision).join(" "))
}

const fn by_words(by: By) -> &'static str {
    match by {
        By::Bytes => "bytes",
        By::Energy => "energy",
        By::Money => "money",
        By::Time => "time",
    }
}

/// The figures of a row in a sentence.
pub(super) fn figures(inputs: &Inputs<'_>, row: &Row) -> String {
    let mut parts = brief(inputs, row);
    let fleet = inputs.arguments.fleet;
    let per = fleet.per.name();
    if let Some(figures) = &row.figures {
        parts[0] += " a reading";
        let bytes = number(fleet.scaled(figures.month_bytes) / 1e6);
        parts.insert(1, format!("{bytes} MB a {per}"));
    }
    let of = match fleet.devices {
        1 => String::new(),
        devices => format!(
            " (bytes a {per} and money of {})",
            counted(devices.into(), "device")
        ),
    };
    parts.join(", ") + &of
}

/// The figures of a row, each in a few words; bytes are the first.
pub(super) fn brief(inputs: &Inputs<'_>, row: &Row) -> Vec<String> {
    let Some(figures) = &row.figures else {
        return vec!["not run".to_owned()];
    };
    let fleet = inputs.arguments.fleet;
    let mut parts = vec![format!("{} B", number(figures.bytes.mean.mean.round()))];
    let years = figures.outcome.years;
    parts.extend(years.map(|[years, ..]| format!("{years:.1} years on the battery")));
    parts.extend(row.time().map(|time| {
        format!(
            "{} for a reading ({})",
            self::time(time.total()),
            time.statistic.name()
        )
    }));
    if let Some((bill, tariff)) = figures.outcome.bill.as_ref().zip(inputs.tariff.as_ref()) {
        let money = money(&tariff.currency, fleet.scaled(bill.amount));
        parts.push(format!("{money} a {}", fleet.per.name()));
    }
    parts
}

/// What was asked, in the words of the command line.
pub(super) fn asked(inputs: &Inputs<'_>) -> String {
    format!("{} over {}{}", reading(inputs), link(inputs), handshake(inputs))
}

/// The handshakes, where they are not those of a comparison.
fn handshake(inputs: &Inputs<'_>) -> String {
    let used = inputs.handshake_used();
    if used == Handshake::default() {
        return String::new();
    }
    let (kind, groups) = (used.kind(), used.offered().groups);
    let whose = match kind.chain == public_broker() {
        true => " of a public broker",
        false => "",
    };
    let dtls = match used.dtls_leaf {
        true => ", DTLS with a p256 leaf",
        false => "",
    };
    let shown = match kind.chain {
        Chain::RawPublicKey => "raw public keys".to_owned(),
        chain => format!("the chain {chain}"),
    };
    format!(", TLS with {shown} ({}){whose} and {groups}{dtls}", kind.key)
}

/// The question in a line: a link without a name takes several, and stands among the requirements.
pub(super) fn title(inputs: &Inputs<'_>) -> String {
    match inputs.arguments.link.link.as_slice() {
        [named] => format!("Which stack for {} over {}?", reading(inputs), named.name),
        _ => format!("Which stack for {}?", reading(inputs)),
    }
}

fn reading(inputs: &Inputs<'_>) -> String {
    let arguments = inputs.arguments;
    let every = time(arguments.every.unwrap_or_default());
    let contents = arguments.contents().each();
    let contents: Vec<String> = contents
        .iter()
        .map(|content| spaced(&content.to_string()))
        .collect();
    format!("{} every {every}", contents.join(" or "))
}

/// The link as text, which says so if it loses nothing.
pub(super) fn properties(inputs: &Inputs<'_>) -> String {
    let text = LinkShown(inputs.link).to_string();
    match text.contains("loss") {
        true => text,
        false => text + ", no loss",
    }
}

/// The link as it was named, with what was asked for beside its name; without a name its properties.
fn link(inputs: &Inputs<'_>) -> String {
    let lists = &inputs.arguments.link;
    let [named] = lists.link.as_slice() else {
        return properties(inputs);
    };
    let mut text = named.name.clone();
    let rtt = lists.rtt.first().map(|rtt| format!(", RTT {}", time(*rtt)));
    text += &rtt.unwrap_or_default();
    let loss = inputs.link.up.loss.rate().max(inputs.link.down.loss.rate());
    if loss > 0.0 {
        text += &format!(", {} % loss", number(loss * 100.0));
    }
    text
}

/// A blank between each number and its unit: `15min` becomes `15 min`.
pub(super) fn spaced(text: &str) -> String {
    let mut spaced = String::new();
    let mut last = ' ';
    for letter in text.chars() {
        if last.is_ascii_digit() && letter.is_ascii_alphabetic() {
            spaced.push(' ');
        }
        spaced.push(letter);
        last = letter;
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_a_blank_before_it() {
        assert_eq!(spaced("64B every 15min, 0.5%"), "64 B every 15 min, 0.5%");
    }
}
