//! The judged limits as a comment of a pull request.

use super::judged::{BudgetPart, JudgedBudget, Row, why};

/// The comment. Its first line lets a program find and replace it.
pub fn comment(judged: &JudgedBudget) -> String {
    let verdict = if judged.holds() { "holds" } else { "is missed" };
    let mut text = format!(
        "<!-- wirecost budget -->\n### The budget {verdict}\n\n{}.\n\n| scenario | of | figure | before | after | change | limit | |\n|---|---|---|--:|--:|--:|---|---|\n",
        plain(&judged.answer())
    );
    for (part, row) in judged.rows() {
        text += &line(part, row);
    }
    for part in &judged.parts {
        text += &moved(part);
        for failed in &part.failed {
            text += &format!("\n**{}**: threshold {}\n", plain(&part.name), plain(failed));
        }
    }
    text += match judged.has_before {
        true => {
            "\nBytes are counted in virtual time, where the same program gives the same bytes on every machine: a change here is a change of the program or of the scenario.\n"
        }
        false => "\nThere is no earlier run to compare with.\n",
    };
    text
}

fn line(part: &BudgetPart, row: &Row) -> String {
    let verdict = match row.holds {
        Some(false) => "**missed**",
        Some(true) | None => row.verdict(),
    };
    let before = row
        .before
        .map_or_else(|| "-".to_owned(), |before| row.limit.shown(before));
    let cells = [
        plain(&part.name),
        plain(&row.of),
        format!("`{}`", row.limit.figure_name()),
        plain(&before),
        plain(&row.limit.shown(row.after)),
        plain(&row.change()),
        plain(&row.limit.text),
        verdict.to_owned(),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// What moved the figures of a scenario, figure by figure; those that the same bytes moved share a list.
fn moved(part: &BudgetPart) -> String {
    let mut told: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for row in part.rows.iter().filter(|row| !row.change().is_empty()) {
        let name = format!("{} {}", plain(&row.of), row.limit.figure_name());
        let reasons = why(part, row);
        match told.iter_mut().find(|(known, _)| *known == reasons) {
            Some((_, names)) => names.push(name),
            None => told.push((reasons, vec![name])),
        }
    }
    let group = |(reasons, names): &(Vec<String>, Vec<String>)| {
        let list: String = reasons
            .iter()
            .map(|reason| format!("- {}\n", plain(reason)))
            .collect();
        format!(
            "\n**{}**: what moved {}\n\n{list}",
            plain(&part.name),
            names.join(", ")
        )
    };
    told.iter().map(group).collect()
}

/// A text without what Markdown and HTML read as theirs.
fn plain(text: &str) -> String {
    let escaped = |c: char| match c {
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '&' => "&amp;".to_owned(),
        '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '@' | '#' => format!("&#{};", u32::from(c)),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_budget_calls_itself_is_no_markup() {
        assert_eq!(plain("<b>|@me_x"), "&lt;b&gt;&#124;&#64;me&#95;x");
        assert_eq!(plain("a\nb"), "a b");
    }
}
