//! Splits a command line into words, and fills in their placeholders.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use wirecost_proto::hosts::{device_address, server_address};

use super::RESIDENT;

/// The certificate of the built-in server's issuer, in the results folder.
pub(super) const AUTHORITY: &str = "authority.pem";

/// A command line that no shell would accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} has a quote that is not closed, or ends with a backslash")]
pub struct UnclosedQuote(String);

/// The words of a command line, split and unquoted like in a POSIX shell, without expansion.
///
/// # Errors
/// A quote is not closed, or the line ends with a backslash.
pub fn split(text: &str) -> Result<Vec<String>, UnclosedQuote> {
    shlex::split(text).ok_or_else(|| UnclosedQuote(text.to_owned()))
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
    fn an_open_quote_is_named() {
        let words = split("sh -c 'sleep 1; exit 3' \"\"").expect("closed");
        assert_eq!(words, ["sh", "-c", "sleep 1; exit 3", ""]);
        let error = split("sh -c 'sleep 1").expect_err("open").to_string();
        assert_eq!(
            error,
            r#""sh -c 'sleep 1" has a quote that is not closed, or ends with a backslash"#
        );
        assert!(split("a \"b").is_err() && split("\\").is_err());
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
