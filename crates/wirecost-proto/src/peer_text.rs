//! Text from a peer that is safe to display on a terminal or to write to a file.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::{self, Write as _};

/// The length limit of the text, in displayed characters.
pub(crate) const MAX_CHARACTERS: usize = 200;
/// The character that stands for the rest of a longer text.
const ELLIPSIS: char = '…';

/// Text from a peer. Characters that control a terminal, or that a reader cannot see at their position, are replaced by
/// escapes: control characters (C0, C1, DEL), line and paragraph separators, marks and overrides of the writing direction
/// (Unicode Standard Annex #9), characters without a width, and bytes that are not UTF-8. Long text is truncated. Each
/// output format does its own quoting, for example in CSV.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerText(String);

impl PeerText {
    /// The text with escapes.
    pub fn new(text: &str) -> Self {
        let mut cleaned = Cleaned::default();
        cleaned.text(text);
        Self(cleaned.shown)
    }

    /// The text of bytes that should be UTF-8, with escapes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut cleaned = Cleaned::default();
        for chunk in bytes.utf8_chunks() {
            cleaned.text(chunk.valid());
            for byte in chunk.invalid() {
                cleaned.escape(format_args!("\\x{byte:02x}"), 4);
            }
        }
        Self(cleaned.shown)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Builds the text.
#[derive(Default)]
struct Cleaned {
    shown: String,
    characters: usize,
    is_cut: bool,
}

impl Cleaned {
    fn text(&mut self, text: &str) {
        for character in text.chars() {
            if self.is_cut {
                return;
            }
            self.character(character);
        }
    }

    fn character(&mut self, character: char) {
        match u32::from(character) {
            0x0a => self.escape(format_args!("\\n"), 2),
            0x0d => self.escape(format_args!("\\r"), 2),
            0x09 => self.escape(format_args!("\\t"), 2),
            code if !is_shown(character) && code < 0x100 => self.escape(format_args!("\\x{code:02x}"), 4),
            code if !is_shown(character) => self.escape(format_args!("\\u{{{code:x}}}"), 9),
            _ => self.escape(format_args!("{character}"), 1),
        }
    }

    /// Appends `shown`, which is at most `characters` long, whole or not at all.
    fn escape(&mut self, shown: fmt::Arguments<'_>, characters: usize) {
        if self.is_cut {
            return;
        }
        self.is_cut = self.characters + characters > MAX_CHARACTERS;
        if self.is_cut {
            return self.shown.push(ELLIPSIS);
        }
        self.characters += characters;
        // Writing to a String cannot fail.
        let _ = self.shown.write_fmt(shown);
    }
}

/// Text of any length and of many lines that is safe to display on a terminal: from a file that a stranger may have made. Ends
/// of lines and tabulators stay; everything else is escaped as in [`PeerText`].
pub fn visible(text: &str) -> Cow<'_, str> {
    let stays = |character: char| matches!(character, '\n' | '\t') || is_shown(character);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        // Writing to a String cannot fail.
        let _ = match u32::from(character) {
            _ if stays(character) => write!(shown, "{character}"),
            0x0d => shown.write_str("\\r"),
            code if code < 0x100 => write!(shown, "\\x{code:02x}"),
            code => write!(shown, "\\u{{{code:x}}}"),
        };
    }
    Cow::Owned(shown)
}

/// Whether a character is visible at its position.
fn is_shown(character: char) -> bool {
    let is_hidden = matches!(
        character,
        '\u{ad}'                           // soft hyphen
            | '\u{61c}'                    // Arabic letter mark
            | '\u{180e}'                   // Mongolian vowel separator
            | '\u{200b}'..='\u{200f}'      // zero width, marks of direction
            | '\u{2028}'..='\u{202e}'      // line, paragraph; embeddings and overrides of direction
            | '\u{2060}'..='\u{206f}'      // word joiner, invisible operators, isolates of direction
            | '\u{feff}'                   // zero width no-break space
            | '\u{fff9}'..='\u{fffb}'      // interlinear annotations
            | '\u{fffe}'..='\u{ffff}'      // no characters
            | '\u{e0000}'..='\u{e007f}' // tags
    );
    !character.is_control() && !is_hidden
}

impl fmt::Display for PeerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// In quotes; escapes are not escaped again.
impl fmt::Debug for PeerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\\\""))
    }
}

impl From<&str> for PeerText {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for PeerText {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl PartialEq<str> for PeerText {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for PeerText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn terminal_control_characters_become_escapes() {
        let table = [
            ("plain, \"quoted\" and größer", "plain, \"quoted\" and größer"),
            ("\x1b]0;title\x07\x1b[2J", "\\x1b]0;title\\x07\\x1b[2J"),
            ("a\r\nb\tc\0", "a\\r\\nb\\tc\\x00"),
            ("\u{9b}31m\u{7f}", "\\x9b31m\\x7f"),
            ("a\u{202e}b\u{2066}c\u{200b}d", "a\\u{202e}b\\u{2066}c\\u{200b}d"),
            ("\u{2028}\u{feff}\u{e0041}", "\\u{2028}\\u{feff}\\u{e0041}"),
        ];
        for (said, shown) in table {
            assert_eq!(PeerText::new(said), shown);
            assert_eq!(PeerText::from_bytes(said.as_bytes()), shown);
        }
        assert_eq!(PeerText::from_bytes(b"a\xff\xc3b"), "a\\xff\\xc3b");
        assert_eq!(format!("{:?}", PeerText::new("\x1b\"")), "\"\\x1b\\\"\"");
    }

    #[test]
    fn a_text_of_many_lines_keeps_its_lines() {
        let long = "größe\t1\n".repeat(MAX_CHARACTERS);
        assert!(matches!(visible(&long), Cow::Borrowed(text) if text == long));
        assert_eq!(
            visible("a\x1b[2J\x07\r\n\u{9b}b\u{202e}"),
            "a\\x1b[2J\\x07\\r\n\\x9bb\\u{202e}"
        );
    }

    #[test]
    fn a_long_text_is_cut_at_a_whole_character() {
        let long = PeerText::new(&"ä".repeat(1_000));
        assert_eq!(long.to_string(), format!("{}…", "ä".repeat(MAX_CHARACTERS)));
        let whole = "x".repeat(MAX_CHARACTERS);
        assert_eq!(PeerText::new(&whole), whole.as_str());
        let escapes = PeerText::from_bytes(&[0xff; 1_000]);
        assert_eq!(
            escapes.as_str(),
            format!("{}…", "\\xff".repeat(MAX_CHARACTERS / 4))
        );
    }

    #[test]
    fn any_bytes_become_visible_characters() {
        let mut random = crate::Rng::new(7);
        for _ in 0..5_000 {
            let mut bytes = [0; 64];
            random.fill(&mut bytes);
            let shown = PeerText::from_bytes(&bytes);
            assert!(shown.as_str().chars().all(is_shown), "{bytes:?}");
            assert_eq!(PeerText::new(shown.as_str()), shown);
        }
    }
}
