//! Files of rows: the columns' names in the first line, then a line per row, values separated by commas. A value that is
//! not there is empty.

use std::fmt::Write as _;

/// A row, by its columns.
pub trait Row: Clone + Default {
    /// Calls `each` with every column's name and field, in the order of the file. Writing and reading both go by it.
    fn fields(&mut self, each: &mut dyn FnMut(&'static str, Field<'_>));

    /// The names of the columns, separated by commas.
    fn head() -> String {
        let mut names = Vec::new();
        Self::default().fields(&mut |name, _| names.push(name));
        names.join(",")
    }

    /// The row as one line, without line end.
    fn line(&self) -> String {
        let mut line = String::new();
        self.clone().fields(&mut |_, field| {
            field.write(&mut line);
            line.push(',');
        });
        line.pop();
        line
    }

    /// Reads a line that [`Row::line`] wrote; `None` where it is not one.
    fn from_line(line: &str) -> Option<Self> {
        Self::from_columns(line, usize::MAX)
    }

    /// Reads the first `columns` columns of a line; `None` where it has others.
    fn from_columns(line: &str, columns: usize) -> Option<Self> {
        let mut row = Self::default();
        let mut texts = line.split(',');
        let (mut is_read, mut index) = (true, 0);
        row.fields(&mut |_, field| {
            if index < columns {
                is_read &= texts.next().and_then(|text| field.set(text)).is_some();
            }
            index += 1;
        });
        (is_read && texts.next().is_none()).then_some(row)
    }

    /// How many columns a file with this first line has; `None` where it is not one of [`Row::file`]. An earlier version
    /// has fewer: of the last columns, numbers that may be missing are.
    fn columns_of(head: &str) -> Option<usize> {
        let (mut known, mut count) = (Vec::new(), 0);
        Self::default().fields(&mut |name, field| {
            known.push(name);
            if !matches!(field, Field::Optional(_)) {
                count = known.len();
            }
        });
        let columns = head.split(',').count();
        (columns >= count && known.get(..columns)?.join(",") == head).then_some(columns)
    }

    /// The whole file.
    fn file(rows: &[Self]) -> String {
        let head = std::iter::once(Self::head());
        head.chain(rows.iter().map(Self::line))
            .map(|line| line + "\n")
            .collect()
    }

    /// The rows of a file that [`Row::file`] wrote.
    ///
    /// # Errors
    /// The number of the first line, from 1, that is not one of its.
    fn read(file: &str) -> Result<Vec<Self>, usize> {
        let mut lines = file.lines().zip(1..);
        let head = lines.next().and_then(|(first, _)| Self::columns_of(first));
        let columns = head.ok_or(1_usize)?;
        lines
            .map(|(line, number)| Self::from_columns(line, columns).ok_or(number))
            .collect()
    }
}

/// A field of a row.
#[derive(Debug)]
pub enum Field<'a> {
    /// A number that is always there.
    Count(&'a mut u64),
    /// A number that may be missing.
    Optional(&'a mut Option<u64>),
    /// A text without commas.
    Text(&'a mut String),
}

impl Field<'_> {
    fn write(&self, line: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Count(count) => write!(line, "{count}"),
            Self::Optional(count) => count.map_or(Ok(()), |count| write!(line, "{count}")),
            Self::Text(text) => line.write_str(text),
        };
    }

    /// Takes the value of a text; `None` where the text is not a value.
    fn set(self, text: &str) -> Option<()> {
        match self {
            Self::Count(count) => *count = text.parse().ok()?,
            Self::Optional(value) if text.is_empty() => *value = None,
            Self::Optional(value) => *value = Some(text.parse().ok()?),
            Self::Text(value) => text.clone_into(value),
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Pair {
        one: u64,
        other: Option<u64>,
    }

    impl Row for Pair {
        fn fields(&mut self, each: &mut dyn FnMut(&'static str, Field<'_>)) {
            each("one", Field::Count(&mut self.one));
            each("other", Field::Optional(&mut self.other));
        }
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let pair = |one, other| Pair { one, other };
        let rows = [pair(1, Some(2)), pair(3, None)];
        let file = Pair::file(&rows);
        assert_eq!(file, "one,other\n1,2\n3,\n");
        assert_eq!(Pair::read(&file), Ok(rows.to_vec()));
    }

    #[test]
    fn a_file_of_an_earlier_version_lacks_the_last_column() {
        let earlier = Pair { one: 1, other: None };
        assert_eq!(Pair::read("one\n1\n"), Ok(vec![earlier]));
        assert_eq!(Pair::read("other\n1\n"), Err(1), "the first one is always there");
        assert_eq!(Pair::read("one\n1,2\n"), Err(2));
    }

    #[test]
    fn a_malformed_line_is_named() {
        assert_eq!(Pair::read("two,other\n1,2\n"), Err(1));
        assert_eq!(Pair::read("one,other\n1,2\n3\n"), Err(3));
        assert_eq!(Pair::read("one,other\nx,2\n"), Err(2));
        assert_eq!(Pair::read("one,other\n1,2,3\n"), Err(2));
    }
}
