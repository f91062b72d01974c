//! Comma-separated values (RFC 4180, with `\n` as line end).

/// A column's name and a row's value in it.
pub(crate) type Field = (String, String);

/// A field of a value that is always there.
pub(crate) fn field(name: &str, value: impl ToString) -> Field {
    (name.to_owned(), value.to_string())
}

/// A field of a value that may be missing: it is empty then.
pub(crate) fn optional(name: &str, value: Option<impl ToString>) -> Field {
    let text = value.map(|value| value.to_string()).unwrap_or_default();
    (name.to_owned(), text)
}

/// The header that the first row names, then a line per row.
pub(crate) fn file(rows: &[Vec<Field>]) -> String {
    let header = rows.first().map(|row| line(row.iter().map(|(name, _)| name)));
    let lines = rows.iter().map(|row| line(row.iter().map(|(_, value)| value)));
    header.into_iter().chain(lines).collect()
}

fn line<'a>(values: impl Iterator<Item = &'a String>) -> String {
    let values: Vec<String> = values.map(|value| quoted(value)).collect();
    values.join(",") + "\n"
}

/// A field that holds a separator, a quote or a line end is in quotes (RFC 4180 section 2).
pub fn quoted(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}
