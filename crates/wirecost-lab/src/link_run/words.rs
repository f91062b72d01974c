//! Splits a command line into words, and fills in their placeholders.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use wirecost_proto::hosts::{device_address, server_address};

use super::RESIDENT;
use super::server::AUTHORITY;

/// A command line that ends within quotes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} ends within {quote} quotes")]
pub struct UnclosedQuote {
    /// The command line.
    text: String,
    /// `single` or `double`.
    quote: &'static str,
}

/// The words of a command line, split and unquoted like in a POSIX shell, without expansion.
///
/// # Errors
/// A quote is not closed.
pub fn split(text: &str) -> Result<Vec<String>, UnclosedQuote> {
    let mut splitter = Splitter::default();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        splitter.take(letter, &mut rest);
    }
    match splitter.quote {
        Quote::None => Ok(splitter.finish()),
        Quote::Single => Err(unclosed(text, "single")),
        Quote::Double => Err(unclosed(text, "double")),
    }
}

fn unclosed(text: &str, quote: &'static str) -> UnclosedQuote {
    UnclosedQuote {
        text: text.to_owned(),
        quote,
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Single,
    Double,
}

#[derive(Default)]
struct Splitter {
    words: Vec<String>,
    /// The current word. An empty word counts once it has been quoted.
    word: Option<String>,
    quote: Quote,
}

impl Splitter {
    fn take(&mut self, letter: char, rest: &mut std::str::Chars<'_>) {
        match (self.quote, letter) {
            (Quote::None, '\'') => self.open(Quote::Single),
            (Quote::None, '"') => self.open(Quote::Double),
            (Quote::Single, '\'') | (Quote::Double, '"') => self.quote = Quote::None,
            (Quote::None | Quote::Double, '\\') => self.escaped(rest),
            (Quote::None, letter) if letter.is_ascii_whitespace() => self.words.extend(self.word.take()),
            (_, letter) => self.push(letter),
        }
    }

    fn open(&mut self, quote: Quote) {
        self.quote = quote;
        self.word.get_or_insert_default();
    }

    /// Within double quotes, a backslash stays before most characters (POSIX, shell section 2.2.3).
    fn escaped(&mut self, rest: &mut std::str::Chars<'_>) {
        let Some(letter) = rest.next() else {
            return self.push('\\');
        };
        if self.quote == Quote::Double && !"$`\"\\".contains(letter) {
            self.push('\\');
        }
        self.push(letter);
    }

    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn finish(mut self) -> Vec<String> {
        self.words.extend(self.word.take());
        self.words
    }
}

/// The placeholders of a command and their values: `{server}`, `{device}`, `{folder}`, `{authority}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places([(&'static str, String); 4]);

impl Places {
    /// The placeholders of a run whose results go into `folder`.
    pub fn new(ipv6: bool, folder: &Path) -> Self {
        let device = device_address(RESIDENT, ipv6).map(|address| address.to_string());
        Self([
            ("{server}", server_address(ipv6).to_string()),
            ("{device}", device.unwrap_or_default()),
            ("{folder}", folder.display().to_string()),
            ("{authority}", folder.join(AUTHORITY).display().to_string()),
        ])
    }

    /// `text` with every placeholder filled in. Other braces stay.
    pub fn fill(&self, text: &str) -> String {
        let places = self.0.iter();
        places.fold(text.to_owned(), |text, (name, place)| text.replace(name, place))
    }

    /// The same for a word that may not be UTF-8, which then has no placeholders.
    pub fn fill_word(&self, word: &OsStr) -> OsString {
        word.to_str()
            .map_or_else(|| word.to_owned(), |text| self.fill(text).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_as_a_shell_does() {
        let cases: [(&str, &[&str]); 9] = [
            ("mosquitto -c FILE", &["mosquitto", "-c", "FILE"]),
            ("  a \t b\n", &["a", "b"]),
            ("sh -c 'sleep 1; exit 3'", &["sh", "-c", "sleep 1; exit 3"]),
            (r#"a "b \"c\" \n" d"#, &["a", r#"b "c" \n"#, "d"]),
            (r"a\ b c\\", &["a b", r"c\"]),
            ("a'b'\"c\"", &["abc"]),
            ("a '' \"\"", &["a", "", ""]),
            ("\\", &["\\"]),
            ("", &[]),
        ];
        for (text, words) in cases {
            assert_eq!(split(text).expect("closed"), words, "{text}");
        }
    }

    #[test]
    fn an_open_quote_is_named() {
        let error = split("sh -c 'sleep 1").expect_err("open");
        assert_eq!(error.to_string(), r#""sh -c 'sleep 1" ends within single quotes"#);
        assert!(split("a \"b").is_err());
    }

    #[test]
    fn placeholders_are_filled_in_and_other_braces_stay() {
        let places = Places::new(false, Path::new("/run"));
        assert_eq!(
            places.fill("{server}:{device}:{folder} {\"t\":{}} {other}"),
            "10.78.0.1:10.77.0.2:/run {\"t\":{}} {other}"
        );
        assert_eq!(places.fill("{authority}"), "/run/authority.pem");
        assert_eq!(Places::new(true, Path::new("/")).fill("[{server}]"), "[fd78::1]");
    }
}
