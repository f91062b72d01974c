//! A page of `/messages`, as a client reads it.

use serde::Deserialize;
use serde_json::Value;

/// The messages of a page, oldest first, and the key of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// What was posted: bytes that the page has in base64, and JSON in a shortest form.
    pub messages: Vec<Vec<u8>>,
    /// The key to ask for next.
    pub next_key: u64,
}

#[derive(Deserialize)]
struct Body {
    result: Vec<Value>,
    next_key: u64,
}

impl Page {
    /// Reads the content of an answer; `None` where it is no page.
    pub fn read(content: &[u8]) -> Option<Self> {
        let body: Body = serde_json::from_slice(content).ok()?;
        Some(Self {
            messages: body.result.iter().map(message).collect(),
            next_key: body.next_key,
        })
    }
}

/// The bytes of a message. A JSON string that is no base64 was posted as JSON.
fn message(value: &Value) -> Vec<u8> {
    let bytes = value.as_str().and_then(from_base64);
    bytes.unwrap_or_else(|| value.to_string().into_bytes())
}

/// The bytes of a base64 text with padding (RFC 4648, section 4).
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.as_bytes().chunks(4) {
        let mut bits = 0;
        for digit in group {
            bits = bits << 6 | value_of(*digit)?;
        }
        let [_, whole @ ..] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend_from_slice(&whole[..group.len() * 3 / 4]);
    }
    Some(bytes)
}

/// The value of a base64 digit.
const fn value_of(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value as u32)
}

#[cfg(test)]
mod tests {
    use super::super::log::Log;
    use super::*;

    #[test]
    fn a_page_gives_back_what_was_posted() {
        let mut log = Log::new(100, 1 << 20);
        let all: Vec<Vec<u8>> = (0..10)
            .map(|len| (0..len).map(|byte| byte * 29).collect())
            .collect();
        for bytes in &all {
            log.push(Some("application/octet-stream"), bytes);
        }
        log.push(Some("application/json"), b"{\"test\":1234}");
        let page = Page::read(&log.page(0, 100)).expect("a page");
        assert_eq!(page.messages[..10], all);
        assert_eq!(
            (&page.messages[10][..], page.next_key),
            (&b"{\"test\":1234}"[..], 11)
        );
        let empty = Page::read(&log.page(11, 100)).expect("a page");
        assert_eq!((empty.messages.len(), empty.next_key), (0, 11));
    }

    #[test]
    fn other_content_is_no_page() {
        for content in [
            "",
            "[]",
            "{}",
            "{\"result\":[]}",
            "{\"result\":[],\"next_key\":-1}",
            "<html>",
        ] {
            assert_eq!(Page::read(content.as_bytes()), None, "{content}");
        }
        for text in ["QUI", "Q===", "Q\u{e9}==", "QU-="] {
            assert_eq!(from_base64(text), None, "{text}");
        }
    }
}
