//! What a command tells of costs: an answer, tables, and what to know about them. A terminal and a page show the same.

use wirecost_report::terminal::listing::Listing;
use wirecost_report::terminal::paragraph;

/// What has the columns that do not fit a terminal.
const ELSEWHERE: &str = "--json";

/// An answer with its tables.
pub struct Told {
    /// The answer in sentences; empty where there is none.
    pub answers: Vec<String>,
    /// What the tables are of.
    pub heading: String,
    /// The tables.
    pub tables: Vec<ToldTable>,
    /// What to know about the figures.
    pub notes: Vec<String>,
}

/// A table.
pub struct ToldTable {
    /// What it shows; empty for what the heading says already.
    pub caption: &'static str,
    /// Its columns and rows.
    pub listing: Listing,
    /// How to read it; may be empty.
    pub note: &'static str,
}

impl Told {
    /// The text for a terminal of `width` columns. Every line ends with a line end.
    pub fn draw(&self, width: usize) -> String {
        let answers = self.answers.iter();
        let mut text: String = answers.map(|answer| paragraph(answer, width) + "\n").collect();
        text.push_str(&paragraph(&self.heading, width));
        text.push('\n');
        for ToldTable {
            caption,
            listing,
            note,
        } in &self.tables
        {
            if !caption.is_empty() {
                text.push_str(&format!("\n{caption}\n"));
            }
            text.push_str(&listing.draw(width, ELSEWHERE));
            if !note.is_empty() {
                text.push_str(&paragraph(note, width));
            }
        }
        text.push('\n');
        for note in &self.notes {
            text.push_str(&paragraph(note, width));
        }
        text
    }
}
