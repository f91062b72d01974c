//! The fields that determine the end of a message and the fate of its connection.

use super::head::RawFields;
use crate::message::{Malformed, is_authority};

/// The value of Transfer-Encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transfer {
    /// It is absent.
    #[default]
    None,
    /// Chunked and nothing else.
    Chunked,
    /// Other codings, and chunked last.
    CodedChunked,
    /// Other codings.
    Other,
}

/// What a client expects before it sends its content (RFC 9110 section 10.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    #[default]
    Nothing,
    /// An interim 100.
    Continue,
    /// An unknown expectation.
    Unknown,
}

/// The fields that are used. All others are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The number of Host fields.
    pub hosts: usize,
    /// Whether a Host field is neither a valid host nor empty (RFC 9110 section 7.2).
    pub has_bad_host: bool,
    /// Content-Length in bytes.
    pub content_length: Option<u64>,
    /// Transfer-Encoding.
    pub transfer: Transfer,
    /// Whether Connection has the option `close`.
    pub close: bool,
    /// Whether Connection has the option `keep-alive`.
    pub keep_alive: bool,
    /// Expect.
    pub expect: Expect,
    /// Content-Type.
    pub content_type: Option<&'a str>,
}

impl<'a> Fields<'a> {
    /// Parses a head's fields.
    ///
    /// # Errors
    /// Content-Length or Transfer-Encoding is invalid.
    pub(super) fn parse(headers: &RawFields<'a>) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        for header in headers {
            fields.add(header.name, header.value)?;
        }
        Ok(fields)
    }

    fn add(&mut self, name: &str, value: &'a [u8]) -> Result<(), Malformed> {
        // Names are case-insensitive (RFC 9110 section 5.1).
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("host") {
            self.hosts += 1;
            self.has_bad_host |= !is_authority(value);
        } else if is("content-length") {
            self.content_length = Some(content_length(value, self.content_length)?);
        } else if is("transfer-encoding") {
            self.transfer = transfer(value, self.transfer)?;
        } else if is("connection") {
            self.close |= has_option(value, "close");
            self.keep_alive |= has_option(value, "keep-alive");
        } else if is("expect") {
            self.expect = match value.eq_ignore_ascii_case(b"100-continue") {
                true => Expect::Continue,
                false => Expect::Unknown,
            };
        } else if is("content-type") {
            self.content_type = std::str::from_utf8(value).ok();
        }
        Ok(())
    }
}

/// Content-Length is digits. A list or a second field must repeat the same number (RFC 9112 section 6.3, rule 5).
fn content_length(value: &[u8], before: Option<u64>) -> Result<u64, Malformed> {
    let mut length = before;
    for item in list(value) {
        let digits = !item.is_empty() && item.bytes().all(|byte| byte.is_ascii_digit());
        let number = item.parse().ok().filter(|_| digits);
        let number = number.ok_or(Malformed::ContentLength)?;
        if length.is_some_and(|length| length != number) {
            return Err(Malformed::ContentLength);
        }
        length = Some(number);
    }
    length.ok_or(Malformed::ContentLength)
}

/// RFC 9112 section 6.1: chunked occurs once, at the end. Other codings may be unknown.
fn transfer(value: &[u8], before: Transfer) -> Result<Transfer, Malformed> {
    let mut transfer = before;
    for coding in list(value).filter(|coding| !coding.is_empty()) {
        transfer = match (transfer, coding.eq_ignore_ascii_case("chunked")) {
            (Transfer::None, true) => Transfer::Chunked,
            (Transfer::Other, true) => Transfer::CodedChunked,
            (Transfer::None | Transfer::Other, false) => Transfer::Other,
            (Transfer::Chunked | Transfer::CodedChunked, _) => return Err(Malformed::TransferOrder),
        };
    }
    match transfer {
        Transfer::None => Err(Malformed::TransferOrder),
        found => Ok(found),
    }
}

fn has_option(value: &[u8], option: &str) -> bool {
    list(value).any(|item| item.eq_ignore_ascii_case(option))
}

/// The items of a list (RFC 9110 section 5.6.1). A value that is not text is one unknown item.
fn list(value: &[u8]) -> impl Iterator<Item = &str> {
    let text = std::str::from_utf8(value).unwrap_or("?");
    text.split(',').map(|item| item.trim_matches([' ', '\t']))
}
