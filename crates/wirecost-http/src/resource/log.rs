//! All posted messages, in pages.

use std::collections::VecDeque;

use serde::de::IgnoredAny;

use super::copy_text;

/// A page ends after this many bytes.
const PAGE_BYTES: usize = 1 << 20;

/// The last messages, oldest first. A new message reuses the memory of a dropped one.
#[derive(Debug)]
pub(super) struct Log {
    messages: VecDeque<Message>,
    /// The key of the oldest message.
    first_key: u64,
    max_messages: usize,
    max_bytes: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Message {
    content_type: Option<String>,
    bytes: Vec<u8>,
}

impl Log {
    pub(super) const fn new(max_messages: usize, max_bytes: usize) -> Self {
        Self {
            messages: VecDeque::new(),
            first_key: 0,
            max_messages,
            max_bytes,
            bytes: 0,
        }
    }

    /// The number of messages posted so far, which is the key of the next one.
    pub(super) fn posted(&self) -> u64 {
        self.first_key + self.messages.len() as u64
    }

    /// Bytes of content of all messages.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, content_type: Option<&str>, bytes: &[u8]) {
        let mut message = self.make_room(bytes.len()).unwrap_or_default();
        copy_text(&mut message.content_type, content_type);
        message.bytes.clear();
        message.bytes.extend_from_slice(bytes);
        self.bytes += bytes.len();
        self.messages.push_back(message);
    }

    /// Drops messages until one of `bytes` bytes fits. Returns the last dropped one.
    fn make_room(&mut self, bytes: usize) -> Option<Message> {
        let mut dropped = None;
        while self.messages.len() >= self.max_messages || self.bytes + bytes > self.max_bytes {
            let Some(oldest) = self.messages.pop_front() else {
                break;
            };
            self.first_key += 1;
            self.bytes -= oldest.bytes.len();
            dropped = Some(oldest);
        }
        dropped
    }

    /// At most `limit` messages from `next_key` as JSON: `{"result":[...],"next_key":K}`. Long messages make the page
    /// shorter. A JSON message is included as it was posted, any other as a base64 string (RFC 4648 section 4).
    pub(super) fn page(&self, next_key: u64, limit: usize) -> Vec<u8> {
        let skip = next_key.saturating_sub(self.first_key);
        let skip = usize::try_from(skip)
            .unwrap_or(usize::MAX)
            .min(self.messages.len());
        let mut page = b"{\"result\":[".to_vec();
        let messages = self.messages.iter().skip(skip).take(limit);
        let mut shown = 0;
        for message in messages {
            if page.len() > PAGE_BYTES {
                break;
            }
            if shown > 0 {
                page.push(b',');
            }
            message.write(&mut page);
            shown += 1;
        }
        let next = self.first_key + (skip + shown) as u64;
        page.extend_from_slice(format!("],\"next_key\":{next}}}").as_bytes());
        page
    }
}

impl Message {
    fn write(&self, page: &mut Vec<u8>) {
        if self.is_json() {
            return page.extend_from_slice(&self.bytes);
        }
        page.push(b'"');
        for group in self.bytes.chunks(3) {
            page.extend_from_slice(&base64(group));
        }
        page.push(b'"');
    }

    fn is_json(&self) -> bool {
        self.content_type.as_deref() == Some("application/json")
            && serde_json::from_slice::<IgnoredAny>(&self.bytes).is_ok()
    }
}

/// The four base64 characters of at most three bytes.
fn base64(group: &[u8]) -> [u8; 4] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    let character = |index: usize| match index <= group.len() {
        true => ALPHABET[(bits >> (18 - 6 * index) & 63) as usize],
        false => b'=',
    };
    [character(0), character(1), character(2), character(3)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_maximum_length() {
        let mut log = Log::new(1_000, 10 * PAGE_BYTES);
        for _ in 0..5 {
            log.push(Some("application/json"), &b"1".repeat(PAGE_BYTES / 2 + 1));
        }
        let page = log.page(0, 1_000);
        assert!(page.len() < 2 * PAGE_BYTES && page.ends_with(b"\"next_key\":2}"));
        assert!(log.page(4, 1_000).ends_with(b"\"next_key\":5}"));
    }
}
