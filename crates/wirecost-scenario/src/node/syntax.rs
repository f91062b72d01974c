//! What is said of a text that is no YAML, or has in it what a scenario takes none of.

use serde_saphyr::Error;

const SYNTAX: &str =
    "look at indentation (by spaces), quotes and brackets in this line and the ones before it";

/// What is wrong, in one sentence, and the way out.
pub(super) fn told(error: &Error) -> [String; 2] {
    let (text, hint) = match error {
        Error::MergeKeyNotAllowed { .. } => (
            "a merge key (<<) is not taken".to_owned(),
            "write the keys out, or let an alias stand for the whole table",
        ),
        Error::UnsupportedTag { tag, .. } => (
            format!("the tag {tag} is not taken"),
            "leave it out: the key says what its value is",
        ),
        Error::DuplicateMappingKey { key, .. } => (
            match key {
                Some(key) => format!("{key} is given twice in this table"),
                None => "a key is given twice in this table".to_owned(),
            },
            "leave one of them out",
        ),
        Error::UnknownAnchor { .. } => (
            "nothing above has the anchor that this alias names".to_owned(),
            "write &name in front of the value that *name stands for, or quote a text that begins with *",
        ),
        Error::NonFiniteFloat { value, .. } => (
            format!("{value} is no value of a scenario"),
            "write a number, or quote a text",
        ),
        other => (plain(other), SYNTAX),
    };
    [text, hint.to_owned()]
}

/// The parser's own words without the position, which is printed before them.
fn plain(error: &Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    text.trim_end_matches([',', ':', ' ']).to_owned()
}
