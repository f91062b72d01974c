//! Error messages for texts that are not YAML, or that use features of YAML which scenarios do not allow.

use serde_saphyr::Error;

const SYNTAX: &str =
    "look at indentation (by spaces), quotes and brackets in this line and the ones before it";

/// The message and the hint of an error.
pub(super) fn told(error: &Error) -> [String; 2] {
    let (text, hint) = match error {
        Error::MergeKeyNotAllowed { .. } => (
            "a merge key (<<) is not taken".to_owned(),
            "write the keys out, or use an alias for the whole table",
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
            "write &name in front of the value that *name refers to, or quote a text that begins with *",
        ),
        Error::NonFiniteFloat { value, .. } => (
            format!("{value} is not a value of a scenario"),
            "write a number, or quote a text",
        ),
        other => (plain(other), SYNTAX),
    };
    [text, hint.to_owned()]
}

/// The message of the parser without the position, which is printed before it.
fn plain(error: &Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    text.trim_end_matches([',', ':', ' ']).to_owned()
}
