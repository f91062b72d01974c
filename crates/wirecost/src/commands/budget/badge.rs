//! The verdict of a budget as a badge.

use super::judged::JudgedBudget;

/// Pixels of a letter of 11 pixels, on average.
const LETTER: usize = 7;
/// Pixels beside a text.
const MARGIN: usize = 10;
/// What the badge is about.
const TITLE: &str = "wirecost budget";

/// An SVG image: how many limits hold, in green, or how many are missed, in red.
pub fn svg(judged: &JudgedBudget) -> String {
    let (all, missed) = (judged.rows().count(), judged.missed().count());
    let failed: usize = judged.parts.iter().map(|part| part.failed.len()).sum();
    let (verdict, colour) = match missed + failed {
        0 => (format!("{all} limits hold"), "#2e7d32"),
        broken => (format!("{broken} of {} missed", all + failed), "#c62828"),
    };
    let [left, right] = [TITLE, &verdict].map(|text| text.chars().count() * LETTER + 2 * MARGIN);
    let width = left + right;
    let text = |from: usize, width: usize, text: &str| {
        format!("<text x=\"{}\" y=\"14\">{text}</text>", from + width / 2)
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"20\" role=\"img\" aria-label=\"{TITLE}: {verdict}\">\
         <title>{TITLE}: {verdict}</title><rect width=\"{left}\" height=\"20\" fill=\"#424242\"/>\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" text-anchor=\"middle\">{}{}</g></svg>\n",
        text(0, left, TITLE),
        text(left, right, &verdict)
    )
}
