//! The texts of JSON in a results folder.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;
use wirecost_proto::peer_text::visible;

/// The value of a text of JSON. A stranger may have made the file, so what controls a terminal is escaped in its texts.
///
/// # Errors
/// It is not JSON, or of another shape.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    // Almost no file has such an escape.
    let shown = match !may_escape_controls(text) && matches!(visible(text), Cow::Borrowed(_)) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(escaped(text)),
    };
    // From a text in both cases: a tree of values would be a second reader of every type, a fifth of this crate's code.
    serde_json::from_str(&shown)
}

/// Whether a text of JSON may have the escape of a control character, such as `\r` or `\u001b` (RFC 8259 section 7). The escapes `\"`, `\\`,
/// `\/`, `\n` and `\t` give characters that are displayed as they are.
fn may_escape_controls(text: &str) -> bool {
    let mut bytes = text.bytes();
    while bytes.any(|byte| byte == b'\\') {
        if !matches!(bytes.next(), Some(b'"' | b'\\' | b'/' | b'n' | b't')) {
            return true;
        }
    }
    false
}

/// A text of JSON whose texts have escapes in the place of what controls a terminal. So have its keys: they may be names that a file
/// or a server has given.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        let (before, from) = rest.split_at(start);
        let (quoted, after) = from.split_at(quoted_len(from));
        shown += before;
        match serde_json::from_str::<String>(quoted) {
            Ok(text) => shown += &Value::from(visible(&text)).to_string(),
            // Who reads the whole says what is wrong with it.
            Err(_) => shown += quoted,
        }
        rest = after;
    }
    shown + rest
}

/// The bytes of the text in quotation marks that begins here, with both marks.
fn quoted_len(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_a_terminal_is_escaped_in_texts_and_keys() {
        let text =
            "{\n  \"\\u001b[2J\": [\"a \\\" b\\\\\", \"\\u009b1m\", 0.1],\n  \"plain\": \"line\\nline\"\n}";
        let value: Value = from_json(text).expect("JSON");
        let expected = serde_json::json!({"\\x1b[2J": ["a \" b\\", "\\x9b1m", 0.1], "plain": "line\nline"});
        assert_eq!(value, expected);
    }

    #[test]
    fn every_escape_of_a_control_character_is_escaped() {
        // Each alone: one that is seen makes the whole text be read again.
        for (escape, shown) in [
            ("\\b", "\\x08"),
            ("\\f", "\\x0c"),
            ("\\r", "\\r"),
            ("\\u001b", "\\x1b"),
            ("\\\\\\r", "\\\\r"),
            ("\\n\\t\\/\\\"\\\\r", "\n\t/\"\\r"),
        ] {
            let value: String = from_json(&format!("\"a{escape}b\"")).expect("JSON");
            assert_eq!(value, format!("a{shown}b"), "{escape}");
        }
    }

    #[test]
    fn the_place_of_a_fault_is_the_one_in_the_file() {
        for text in [
            "{\n  \"\\u001b\": \"open}",
            "{\n  \"\\u001b\" 1}",
            "{\n  \"\\u001\": 1}",
        ] {
            let error = from_json::<Value>(text).expect_err("no JSON");
            assert_eq!(error.line(), 2, "{error}");
        }
    }
}
