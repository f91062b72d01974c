//! Formats commands as a user would type them.

use std::ffi::OsStr;
use std::fmt::Write as _;

use wirecost_stack::secret::without_secrets;

/// The character that stands for the byte 0, where bytes of a word are not UTF-8. It and the next 255 are for private use, at
/// the end of Unicode; [`quoted`] writes them as the bytes that they stand for.
const BYTE: u32 = 0x10_fe00;

/// The command of this process, quoted for a shell if necessary. The results keep it, so it contains no secrets.
pub fn recorded() -> String {
    quoted(without_secrets(words()).into_iter())
}

/// The words of this process's command line after the program's name. Paths need not be UTF-8: see [`word`].
pub fn words() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|given| word(&given))
}

/// A word of a command line as text, from which [`quoted`] restores its bytes.
pub fn word(given: &OsStr) -> String {
    let mut text = String::new();
    for chunk in given.as_encoded_bytes().utf8_chunks() {
        text += chunk.valid();
        let rest = chunk.invalid().iter();
        text.extend(rest.filter_map(|byte| char::from_u32(BYTE + u32::from(*byte))));
    }
    text
}

/// A command with these arguments, quoted for a shell if necessary.
pub fn quoted(arguments: impl Iterator<Item = String>) -> String {
    std::iter::once("wirecost".to_owned())
        .chain(arguments.map(quote))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quote(argument: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:%@".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument
    } else if argument.chars().any(is_escaped) {
        with_escapes(&argument)
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

/// Whether a terminal does something else than show a character, or there is no character for a byte.
fn is_escaped(c: char) -> bool {
    c.is_control() || byte_of(c).is_some()
}

fn byte_of(c: char) -> Option<u8> {
    u32::from(c)
        .checked_sub(BYTE)
        .and_then(|byte| u8::try_from(byte).ok())
}

/// The quotes with escapes that bash, ksh and zsh read (POSIX.1-2024, section 2.2.4).
fn with_escapes(argument: &str) -> String {
    let mut quoted = String::from("$'");
    for c in argument.chars() {
        // Writing to a text cannot fail.
        let _ = match (byte_of(c), c) {
            (Some(byte), _) => write!(quoted, "\\{byte:03o}"),
            (None, '\'' | '\\') => write!(quoted, "\\{c}"),
            (None, c) if c.is_control() => c
                .to_string()
                .bytes()
                .try_for_each(|byte| write!(quoted, "\\{byte:03o}")),
            (None, c) => write!(quoted, "{c}"),
        };
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn special_characters_of_the_shell_are_quoted() {
        let command = quoted(["load", "a b", "it's", "x/%d", ""].map(String::from).into_iter());
        assert_eq!(command, r"wirecost load 'a b' 'it'\''s' x/%d ''");
    }

    #[test]
    fn bytes_that_are_not_text_and_control_characters_are_escaped() {
        let words = [&b"caf\xe9/it's"[..], b"\x1b]0;\x07", "größe \u{9b}".as_bytes()];
        let words = words.map(|bytes| word(OsStr::from_bytes(bytes)));
        let command = quoted(words.into_iter());
        assert_eq!(
            command,
            r"wirecost $'caf\351/it\'s' $'\033]0;\007' $'größe \302\233'"
        );
    }
}
