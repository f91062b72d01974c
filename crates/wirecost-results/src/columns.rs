//! Files of rows: the columns' names in the first line, then a line per row, values separated by commas. A value that is
//! not there is empty.

/// A row, by its columns.
pub trait Row: Clone + Default {
    /// Every field by its column's name, in order: the one place that writing and reading go by.
    fn fields(&mut self) -> Vec<(&'static str, Field<'_>)>;

    /// The whole file.
    fn file(rows: &[Self]) -> String {
        let line = |row: &Self| {
            let mut row = row.clone();
            let values = row.fields().into_iter().map(|(_, value)| value.text());
            values.collect::<Vec<String>>().join(",") + "\n"
        };
        std::iter::once(head::<Self>() + "\n")
            .chain(rows.iter().map(line))
            .collect()
    }

    /// The rows of a file that [`Row::file`] wrote.
    ///
    /// # Errors
    /// The number of the first line, from 1, that is not one of its.
    fn read(file: &str) -> Result<Vec<Self>, usize> {
        let mut lines = file.lines().zip(1..);
        match lines.next() {
            Some((first, _)) if first == head::<Self>() => {}
            _ => return Err(1),
        }
        lines.map(|(line, number)| row(line).ok_or(number)).collect()
    }
}

/// A field of a row.
#[derive(Debug)]
pub enum Field<'a> {
    /// A number that is always there.
    Count(&'a mut u64),
    /// A number that may be missing.
    Optional(&'a mut Option<u64>),
}

impl Field<'_> {
    fn text(&self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Optional(value) => value.map(|value| value.to_string()).unwrap_or_default(),
        }
    }

    /// Takes the value of a text; `None` where it is none.
    fn set(self, text: &str) -> Option<()> {
        match self {
            Self::Count(count) => *count = text.parse().ok()?,
            Self::Optional(value) if text.is_empty() => *value = None,
            Self::Optional(value) => *value = Some(text.parse().ok()?),
        }
        Some(())
    }
}

fn head<R: Row>() -> String {
    let mut row = R::default();
    let names = row.fields().into_iter().map(|(name, _)| name);
    names.collect::<Vec<&str>>().join(",")
}

fn row<R: Row>(line: &str) -> Option<R> {
    let mut row = R::default();
    let mut texts = line.split(',');
    for (_, value) in row.fields() {
        value.set(texts.next()?)?;
    }
    texts.next().is_none().then_some(row)
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
        fn fields(&mut self) -> Vec<(&'static str, Field<'_>)> {
            vec![
                ("one", Field::Count(&mut self.one)),
                ("other", Field::Optional(&mut self.other)),
            ]
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
    fn a_line_that_is_none_is_named() {
        assert_eq!(Pair::read("two,other\n1,2\n"), Err(1));
        assert_eq!(Pair::read("one,other\n1,2\n3\n"), Err(3));
        assert_eq!(Pair::read("one,other\nx,2\n"), Err(2));
        assert_eq!(Pair::read("one,other\n1,2,3\n"), Err(2));
    }
}
