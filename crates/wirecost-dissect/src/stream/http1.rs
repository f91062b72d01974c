//! HTTP/1.1 (RFC 9112): start line, fields and chunk framing are application, content is payload.

use std::collections::VecDeque;

use wirecost_proto::{BothWays, Direction};

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

/// The most requests without a response. No client pipelines more.
const MAX_OUTSTANDING: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct Http1 {
    next: BothWays<Next>,
    /// For each request without a response, whether its method is HEAD.
    outstanding: VecDeque<bool>,
    /// The protocol that the connection switched to.
    switched: Option<Switched>,
}

/// A protocol that follows an answer with status 101 (RFC 9110 section 7.8). Its bytes are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Switched {
    WebSocket,
    Http2,
    Other,
}

/// The kind of the next part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Head,
    Chunk,
    Trailer,
}

/// How a message's content is delimited (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Length(u64),
    Chunked,
    UntilClose,
}

impl Http1 {
    /// The part at the start of `bytes`, or `None` if too little of it has arrived.
    pub(crate) fn part(&mut self, direction: Direction, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        if self.switched.is_some() {
            return Err(Unreadable("recognized, not read"));
        }
        let parts = match &self.next[direction] {
            Next::Head => self.head(direction, bytes)?,
            Next::Chunk => self.chunk(direction, bytes)?,
            Next::Trailer => self.trailer(direction, bytes),
        };
        Ok(parts.map(|parts| Rest::new(parts, Purpose::MESSAGE)))
    }

    /// The protocol's name.
    pub(crate) const fn label(&self) -> &'static str {
        match self.switched {
            None => "HTTP/1.1",
            Some(Switched::WebSocket) => "WebSocket",
            Some(Switched::Http2) => "HTTP/2",
            Some(Switched::Other) => "HTTP/1.1 and another protocol",
        }
    }

    /// Start line and fields, or `None` while they are incomplete.
    fn head(&mut self, direction: Direction, bytes: &[u8]) -> Result<Option<[u64; 3]>, Unreadable> {
        const START: &[u8] = b"HTTP/";
        if direction == Direction::Down && !START.iter().zip(bytes).all(|(one, other)| one == other) {
            return Err(Unreadable("not an HTTP status line"));
        }
        let Some(end) = find(bytes, b"\r\n\r\n").map(|at| at + 4) else {
            return Ok(None);
        };
        let head = Head(&bytes[..end]);
        let content = match direction {
            Direction::Up => self.request(&head),
            Direction::Down => self.response(&head)?,
        };
        let head_bytes = end as u64;
        Ok(Some(match content {
            Content::Length(length) => [head_bytes, length, 0],
            Content::Chunked => {
                self.next[direction] = Next::Chunk;
                [head_bytes, 0, 0]
            }
            Content::UntilClose => [head_bytes, u64::MAX >> 1, 0],
        }))
    }

    fn request(&mut self, head: &Head<'_>) -> Content {
        if self.outstanding.len() < MAX_OUTSTANDING {
            self.outstanding.push_back(head.0.starts_with(b"HEAD "));
        }
        // RFC 9112 section 6.3: a request without a length or an encoding has no content.
        head.content().unwrap_or(Content::Length(0))
    }

    fn response(&mut self, head: &Head<'_>) -> Result<Content, Unreadable> {
        let status = head.status().ok_or(Unreadable("not an HTTP status"))?;
        if status == 101 {
            self.switched = Some(head.switched());
            return Ok(Content::Length(0));
        }
        if (100..200).contains(&status) {
            return Ok(Content::Length(0));
        }
        let answers_head = self.outstanding.pop_front().unwrap_or(false);
        // RFC 9112 section 6.3: these responses never have content.
        if answers_head || matches!(status, 204 | 304) {
            return Ok(Content::Length(0));
        }
        Ok(head.content().unwrap_or(Content::UntilClose))
    }

    /// A chunk's size, its data and its line end (RFC 9112 section 7.1).
    fn chunk(&mut self, direction: Direction, bytes: &[u8]) -> Result<Option<[u64; 3]>, Unreadable> {
        let Some(end) = find(bytes, b"\r\n") else {
            return Ok(None);
        };
        let line = &bytes[..end];
        let digits = line
            .split(|byte| matches!(byte, b';' | b' '))
            .next()
            .unwrap_or_default();
        let text = std::str::from_utf8(digits).map_err(|_| Unreadable("not an HTTP chunk size"))?;
        let size = u64::from_str_radix(text, 16).map_err(|_| Unreadable("not an HTTP chunk size"))?;
        let line_bytes = end as u64 + 2;
        if size > 0 {
            return Ok(Some([line_bytes, size, 2]));
        }
        self.next[direction] = Next::Trailer;
        Ok(Some([line_bytes, 0, 0]))
    }

    /// A trailer field, or the empty line that ends the message.
    fn trailer(&mut self, direction: Direction, bytes: &[u8]) -> Option<[u64; 3]> {
        let end = find(bytes, b"\r\n")?;
        if end == 0 {
            self.next[direction] = Next::Head;
        }
        Some([end as u64 + 2, 0, 0])
    }
}

/// The start line and the fields of a message.
struct Head<'a>(&'a [u8]);

impl Head<'_> {
    fn status(&self) -> Option<u16> {
        let code = self.0.strip_prefix(b"HTTP/1.")?.get(2..5)?;
        std::str::from_utf8(code).ok()?.parse().ok()
    }

    /// The protocol that the field Upgrade names.
    fn switched(&self) -> Switched {
        let lines = self
            .0
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::to_ascii_lowercase);
        let mut upgrades = lines.filter_map(|line| line.strip_prefix(b"upgrade:").map(<[u8]>::to_vec));
        let name = upgrades.next().unwrap_or_default();
        match name.trim_ascii() {
            b"websocket" => Switched::WebSocket,
            b"h2c" => Switched::Http2,
            _ => Switched::Other,
        }
    }

    /// The framing that the fields announce. Transfer-Encoding overrides Content-Length (RFC 9112 section 6.3).
    fn content(&self) -> Option<Content> {
        let mut length = None;
        for line in self.0.split(|byte| *byte == b'\n').skip(1) {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                continue;
            };
            let (name, value) = line.split_at(colon);
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            if name.eq_ignore_ascii_case(b"transfer-encoding") {
                let chunked = value.to_ascii_lowercase().ends_with(b"chunked");
                return Some(if chunked {
                    Content::Chunked
                } else {
                    Content::UntilClose
                });
            }
            if name.eq_ignore_ascii_case(b"content-length") {
                let value = std::str::from_utf8(value).ok();
                length = value.and_then(|value| value.parse().ok()).map(Content::Length);
            }
        }
        length
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
