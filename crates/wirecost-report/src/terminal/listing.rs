//! Rows of texts on a terminal: what does not fit is hidden, column by column, and said so.
//!
//! A column of names begins with the others of its column, one of figures ends with them, and remarks come last: they take the
//! room that is left, or lines of their own below their rows.

use super::layout::{GAP, chars, left, wrapped};
use crate::number;

/// The least room in which remarks stand beside their rows.
const REMARK_LEAST: usize = 24;
/// What a line of remarks below its row begins with.
const INDENT: usize = 4;
/// A name is not clipped to less.
const NAME_LEAST: usize = 8;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    name: String,
    kind: Kind,
    /// The place in the order in which columns are hidden; `None` for one that stays.
    hidden: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Name,
    Figure,
    Remark,
}

impl Head {
    fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            hidden: None,
        }
    }

    /// A column of names.
    pub fn name(name: impl Into<String>) -> Self {
        Self::new(name, Kind::Name)
    }

    /// A column of figures.
    pub fn figure(name: impl Into<String>) -> Self {
        Self::new(name, Kind::Figure)
    }

    /// The last column, of words.
    pub fn remark(name: impl Into<String>) -> Self {
        Self::new(name, Kind::Remark)
    }

    /// The same column, which is hidden where the terminal is too narrow: those with the least `place` first.
    #[must_use]
    pub const fn hidden_at(mut self, place: u8) -> Self {
        self.hidden = Some(place);
        self
    }

    /// Its name.
    pub fn text(&self) -> &str {
        &self.name
    }
}

/// Rows under their heads. A row that has fewer texts than there are heads ends with a remark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The columns; [`Head::remark`] is the last one, if there is one.
    pub heads: Vec<Head>,
    /// The texts of each row by column. A shorter row ends with a remark that takes the room of the others.
    pub rows: Vec<Vec<String>>,
}

impl Listing {
    /// The lines in `width` characters, each with its line end. `elsewhere` is what has the hidden columns.
    pub fn draw(&self, width: usize, elsewhere: &str) -> String {
        let layout = Layout::fit(self, width);
        let heads = self.heads.iter().map(|head| match head.kind {
            // Remarks below their rows need no head.
            Kind::Remark if layout.remark.0 == INDENT => String::new(),
            Kind::Remark | Kind::Figure | Kind::Name => head.name.clone(),
        });
        let mut lines = layout.row(&heads.collect::<Vec<_>>(), &self.heads);
        lines.extend(self.rows.iter().flat_map(|row| layout.row(row, &self.heads)));
        let hidden = self.heads.iter().zip(&layout.widths);
        let hidden: Vec<&str> = hidden
            .filter(|(_, width)| width.is_none())
            .map(|(head, _)| head.text())
            .collect();
        lines.extend(
            hidden_note(&hidden, elsewhere)
                .iter()
                .flat_map(|note| wrapped(note, width)),
        );
        lines
            .iter()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }

    /// The texts of a column that count for its width: a row's remark does not.
    fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        let whole = self.heads.len();
        let ends_in_column = move |row: &&Vec<String>| row.len() == whole || row.len() > column + 1;
        let rows = self.rows.iter().filter(ends_in_column);
        rows.filter_map(move |row| row.get(column).map(String::as_str))
    }
}

/// The columns that the terminal is too narrow for.
pub(super) fn hidden_note(names: &[&str], elsewhere: &str) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "columns hidden (terminal too narrow): {}; {elsewhere} has them",
            names.join(", ")
        )
    })
}

/// Which columns are shown, and how wide.
struct Layout {
    /// The width of each column; `None` if it is hidden.
    widths: Vec<Option<usize>>,
    /// Where remarks begin, and how long their lines are.
    remark: (usize, usize),
    width: usize,
}

impl Layout {
    fn fit(listing: &Listing, width: usize) -> Self {
        let widest = |(column, head): (usize, &Head)| match head.kind {
            Kind::Remark => Some(0),
            Kind::Name | Kind::Figure => Some(
                listing
                    .texts(column)
                    .map(chars)
                    .fold(chars(&head.name), usize::max),
            ),
        };
        let mut layout = Self {
            widths: listing.heads.iter().enumerate().map(widest).collect(),
            remark: (0, 0),
            width,
        };
        // Hidden before anything is clipped: half a name is worse than a column that --json has.
        layout.hide(&listing.heads);
        layout.clip(&listing.heads);
        layout.remark = layout.place_of_remarks(listing);
        layout
    }

    fn total(&self) -> usize {
        let shown = self.widths.iter().flatten().filter(|width| **width > 0);
        shown.map(|width| GAP + width).sum::<usize>().saturating_sub(GAP)
    }

    fn hide(&mut self, heads: &[Head]) {
        let hideable = heads.iter().enumerate();
        let mut hideable: Vec<(u8, usize)> = hideable
            .filter_map(|(column, head)| Some((head.hidden?, column)))
            .collect();
        hideable.sort_unstable();
        for (_, column) in hideable {
            if self.total() <= self.width {
                return;
            }
            self.widths[column] = None;
        }
    }

    /// Narrows the widest names until the row fits. What is narrower than its text goes on in the next line.
    fn clip(&mut self, heads: &[Head]) {
        while self.total() > self.width {
            let names = self.widths.iter_mut().zip(heads);
            let names = names.filter(|(_, head)| head.kind == Kind::Name);
            let widest = names
                .filter_map(|(width, _)| width.as_mut())
                .filter(|width| **width > NAME_LEAST)
                .max();
            let Some(widest) = widest else { return };
            *widest -= 1;
        }
    }

    fn place_of_remarks(&self, listing: &Listing) -> (usize, usize) {
        let start = self.total() + GAP;
        let room = self.width.saturating_sub(start);
        let last = listing.heads.len().saturating_sub(1);
        let longest = listing.rows.iter().filter_map(|row| row.get(last));
        let longest = longest.map(|text| chars(text)).max().unwrap_or(0);
        match room {
            room if room >= REMARK_LEAST || room >= longest => (start, room),
            _ => (INDENT, self.width.saturating_sub(INDENT)),
        }
    }

    /// The lines of a row.
    fn row(&self, row: &[String], heads: &[Head]) -> Vec<String> {
        let is_short = row.len() < heads.len();
        let mut lines = vec![String::new()];
        let columns = heads.iter().zip(&self.widths).zip(row).enumerate();
        for (column, ((head, width), text)) in columns {
            let start = lines.first().map_or(0, |line| chars(line));
            // A row that has a reason instead of figures: it takes the room of all of them.
            if is_short && column + 1 == row.len() {
                return with_remark(lines, text, start, self.width.saturating_sub(start));
            }
            let Some(width) = *width else { continue };
            let texts = match head.kind {
                Kind::Remark => return with_remark(lines, text, self.remark.0, self.remark.1),
                Kind::Figure => vec![format!("{:>width$}", number::clipped(text, width))],
                Kind::Name => words(text, width),
            };
            for (index, text) in texts.iter().enumerate() {
                if index == lines.len() {
                    lines.push(String::new());
                }
                let text = number::clipped(text, width);
                lines[index] = left(&lines[index], start) + &left(&text, width + GAP);
            }
            lines[0] = left(&lines[0], start + width + GAP);
        }
        lines
    }
}

/// The lines of a row with its remark: beside them where they end before `start`, else below them.
fn with_remark(mut lines: Vec<String>, remark: &str, start: usize, room: usize) -> Vec<String> {
    if remark.is_empty() {
        return lines;
    }
    let is_beside = lines.iter().all(|line| chars(line) <= start);
    let skipped = if is_beside { 0 } else { lines.len() };
    for (index, text) in words(remark, room).iter().enumerate() {
        let index = index + skipped;
        if index == lines.len() {
            lines.push(String::new());
        }
        lines[index] = left(&lines[index], start) + text;
    }
    lines
}

/// The lines of a text, broken between words so that none is longer than `width` unless a word is.
fn words(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if chars(line) + 1 + chars(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn listing() -> Listing {
        let row = |texts: [&str; 5]| texts.map(str::to_owned).to_vec();
        Listing {
            heads: vec![
                Head::name("stack"),
                Head::figure("bytes"),
                Head::figure("MB/month").hidden_at(0),
                Head::figure("p95").hidden_at(1),
                Head::remark("why not"),
            ],
            rows: vec![
                row(["coap-con+oscore", "166", "0.4851", "0.10 s", ""]),
                row([
                    "mqtt-qos1+tls1.3",
                    "3329",
                    "9.727",
                    "0.11 s",
                    "keep-alive is 91 % of it",
                ]),
                vec!["http3".to_owned(), "not run: needs an MTU of 1228 B".to_owned()],
            ],
        }
    }

    #[test]
    fn a_wide_terminal_has_remarks_beside_their_rows() {
        assert_eq!(
            listing().draw(80, "choice.md"),
            "stack             bytes  MB/month     p95  why not\n\
             coap-con+oscore     166    0.4851  0.10 s\n\
             mqtt-qos1+tls1.3   3329     9.727  0.11 s  keep-alive is 91 % of it\n\
             http3             not run: needs an MTU of 1228 B\n"
        );
    }

    #[test]
    fn a_narrow_terminal_hides_columns_and_says_so() {
        assert_eq!(
            listing().draw(34, "choice.md"),
            "stack             bytes     p95\n\
             coap-con+oscore     166  0.10 s\n\
             mqtt-qos1+tls1.3   3329  0.11 s\n    keep-alive is 91 % of it\n\
             http3             not run: needs\n                  an MTU of 1228 B\n\
             columns hidden (terminal too\n  narrow): MB/month; choice.md has\n  them\n"
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(width in 40_usize..200, names in prop::collection::vec("[a-z+]{1,60}", 1..6)) {
            let mut listing = listing();
            let row = |name: &String| vec![name.clone(), "1".into(), "2".into(), "3".into(), "words of a remark".into()];
            listing.rows.extend(names.iter().map(row));
            for line in listing.draw(width, "choice.md").lines() {
                prop_assert!(chars(line) <= width, "{line}");
            }
        }
    }
}
