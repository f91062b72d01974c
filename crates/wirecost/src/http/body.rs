//! The content of a request as a stream: bounded in bytes and in time, and never held as a whole.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{PATIENCE, Request};

/// How long a peer may send nothing of a content that it has begun.
const STALL: Duration = Duration::from_secs(5);
/// How long a content may take from its first byte to its last.
const LONGEST: Duration = Duration::from_mins(5);

/// Why a content is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It does not say its length before (RFC 9112, section 6).
    NoLength,
    /// It has so many bytes, which are more than the bound.
    TooLarge(u64),
}

/// The content of a request. It ends where the length that the request says ends.
#[derive(Debug)]
pub struct Uploaded<'a> {
    stream: &'a TcpStream,
    /// What came with the head.
    begun: &'a [u8],
    /// Bytes that are still to come.
    left: u64,
    until: Instant,
    is_late: bool,
}

impl Request {
    /// The content, of at most `most` bytes.
    ///
    /// # Errors
    /// The request does not say how long it is, or says more than `most`: nothing of it is read then.
    pub fn body(&self, most: u64) -> Result<Uploaded<'_>, Unread> {
        // Chunks have no length that could be refused before they are read.
        let length = self.field("content-length");
        let is_number = length.bytes().all(|digit| digit.is_ascii_digit());
        let is_known = is_number && self.field("transfer-encoding").is_empty();
        let length = length.parse::<u64>().ok().filter(|_| is_known);
        let length = length.ok_or(Unread::NoLength)?;
        if length > most {
            return Err(Unread::TooLarge(length));
        }
        let begun = usize::try_from(length).map_or(self.begun.len(), |all| all.min(self.begun.len()));
        Ok(Uploaded {
            stream: &self.stream,
            begun: &self.begun[..begun],
            left: length,
            until: Instant::now() + LONGEST,
            is_late: false,
        })
    }

    /// Whether the peer has closed its side or gone: nobody waits for an answer any more.
    pub fn is_gone(&self) -> bool {
        let mut next = [0];
        if self.stream.set_nonblocking(true).is_err() {
            return true;
        }
        let seen = self.stream.peek(&mut next);
        let is_open = match seen {
            Ok(bytes) => bytes > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        !is_open || self.stream.set_nonblocking(false).is_err()
    }
}

impl Uploaded<'_> {
    /// Lets a peer that asks before it sends (`Expect: 100-continue`, RFC 9110, section 10.1.1) send.
    ///
    /// # Errors
    /// The peer has gone.
    pub fn welcome(&mut self, request: &Request) -> io::Result<()> {
        if !request.field("expect").eq_ignore_ascii_case("100-continue") {
            return Ok(());
        }
        self.stream.set_write_timeout(Some(PATIENCE))?;
        self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
    }

    /// Whether the peer took too long for it.
    pub const fn is_late(&self) -> bool {
        self.is_late
    }

    /// Bytes that the peer has not sent, or that were not read.
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Reads what is left, and forgets it: a peer that still sends could not take an answer.
    pub fn drain(&mut self) {
        // A peer that has gone, or is late, sends no more.
        drop(io::copy(self, &mut io::sink()));
    }
}

impl Read for Uploaded<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
        if wanted == 0 {
            return Ok(0);
        }
        if !self.begun.is_empty() {
            let read = self.begun.read(&mut bytes[..wanted])?;
            self.left -= read as u64;
            return Ok(read);
        }
        let patience = self.until.saturating_duration_since(Instant::now()).min(STALL);
        if patience.is_zero() || self.is_late {
            self.is_late = true;
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(patience))?;
        match self.stream.read(&mut bytes[..wanted]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.left -= read as u64;
                Ok(read)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.is_late = true;
                Err(ErrorKind::TimedOut.into())
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request;

    fn content(fields: &str, content: &str) -> Result<Vec<u8>, Unread> {
        let bytes = format!("POST / HTTP/1.1\r\n{fields}\r\n\r\n{content}");
        let request = request(bytes.as_bytes()).expect("a request");
        let mut read = Vec::new();
        drop(request.body(2_000)?.read_to_end(&mut read));
        Ok(read)
    }

    #[test]
    fn a_content_ends_where_its_length_ends() {
        assert_eq!(content("Content-Length: 3", "abcdef"), Ok(b"abc".to_vec()));
        assert_eq!(content("Content-Length: 9", "abcdef"), Ok(b"abcdef".to_vec()));
        let long = "x".repeat(1_900);
        assert_eq!(content("Content-Length: 1900", &long), Ok(long.into_bytes()));
        assert_eq!(content("Content-Length: 0", ""), Ok(Vec::new()));
    }

    #[test]
    fn a_content_without_a_length_or_above_the_bound_is_not_read() {
        for (fields, unread) in [
            ("Accept: x", Unread::NoLength),
            ("Content-Length: -1", Unread::NoLength),
            ("Content-Length: +1", Unread::NoLength),
            ("Content-Length: 1\r\nContent-Length: 2", Unread::NoLength),
            (
                "Content-Length: 1\r\nTransfer-Encoding: chunked",
                Unread::NoLength,
            ),
            ("Content-Length: 2001", Unread::TooLarge(2_001)),
        ] {
            assert_eq!(content(fields, "x"), Err(unread), "{fields}");
        }
    }
}
