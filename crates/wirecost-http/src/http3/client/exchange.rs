//! One request and its response.

use quinn_proto::Side;
use wirecost_proto::Instant;

use super::super::head::{read_response, read_trailers};
use super::super::reader::{Part, Reader};
use super::Request;
use crate::client::{Event, Failure};
use crate::fault::{Code, Fault};
use crate::message::{Malformed, Status};

/// A request in flight, and its response so far.
pub(super) struct Exchange {
    pub(super) request: Request,
    pub(super) deadline: Instant,
    pub(super) reader: Reader,
    pub(super) answer: Answer,
}

impl Exchange {
    pub(super) fn new(request: Request, deadline: Instant) -> Self {
        Self {
            request,
            deadline,
            reader: Reader::new(Side::Client),
            answer: Answer::default(),
        }
    }

    /// The event of an exchange without a response.
    pub(super) fn failed(&self, reason: Failure) -> Event {
        let message = self.request.message;
        Event::Failed { message, reason }
    }

    /// Whether nothing has come of the response.
    pub(super) fn is_unheard(&self) -> bool {
        self.answer.status.is_none() && self.answer.malformed.is_none()
    }

    /// The event of an exchange whose stream has ended.
    pub(super) fn finish(self) -> Event {
        self.answer.finish(&self.request)
    }
}

/// A response so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    status: Option<Status>,
    content_length: Option<u64>,
    body_bytes: u64,
    body: Vec<u8>,
    malformed: Option<Malformed>,
    has_trailers: bool,
}

impl Answer {
    /// Handles a part of the response. Keeps the first `kept` bytes of its content.
    pub(super) fn handle_part(&mut self, part: Part<'_>, kept: usize) -> Result<(), Fault> {
        match part {
            Part::Section(_) | Part::Frame { is_content: true, .. } if self.has_trailers => {
                return Err(Code::FrameUnexpected.fault("HEADERS or DATA after trailers"));
            }
            Part::Frame { is_content: true, .. } if self.status.is_none() && self.malformed.is_none() => {
                return Err(Code::FrameUnexpected.fault("DATA before a final response"));
            }
            Part::Frame { .. } => {}
            Part::Section(section) => self.handle_section(&section)?,
            Part::Data(data) => {
                self.body_bytes += data.len() as u64;
                let room = kept.saturating_sub(self.body.len()).min(data.len());
                self.body.extend_from_slice(data.get(..room).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn handle_section(&mut self, section: &[u8]) -> Result<(), Fault> {
        if self.status.is_some() {
            self.has_trailers = true;
            self.malformed = self.malformed.or(read_trailers(section)?.err());
            return Ok(());
        }
        match read_response(section)? {
            Ok(head) if head.status.is_interim() => {}
            Ok(head) => {
                self.status = Some(head.status);
                self.content_length = head.content_length;
            }
            Err(malformed) => self.malformed = Some(malformed),
        }
        Ok(())
    }

    /// What is wrong with the response so far.
    pub(super) fn malformed(&self, request: &Request) -> Option<Malformed> {
        let is_longer = |len| self.body_bytes > len;
        let length = self.expected_bytes(request).is_some_and(is_longer);
        self.malformed.or(length.then_some(Malformed::Length))
    }

    /// Bytes of content that the head announces (RFC 9114 section 4.1.2). The response to a HEAD announces content
    /// that it does not carry.
    fn expected_bytes(&self, request: &Request) -> Option<u64> {
        let is_head = request.template.method() == crate::message::Method::Head;
        match is_head || self.status?.forbids_content() {
            true => Some(0),
            false => self.content_length,
        }
    }

    /// The event of a response whose stream has ended.
    fn finish(self, request: &Request) -> Event {
        let message = request.message;
        let failed = |malformed| Event::Failed {
            message,
            reason: Failure::Malformed(malformed),
        };
        if let Some(malformed) = self.malformed {
            return failed(malformed);
        }
        let Some(status) = self.status else {
            return failed(Malformed::Frames);
        };
        let expected = self.expected_bytes(request);
        if expected.is_some_and(|len| len != self.body_bytes) {
            return failed(Malformed::Length);
        }
        Event::Response {
            message,
            status,
            body_bytes: self.body_bytes,
            body: self.body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_counted_and_kept_up_to_the_limit() {
        let mut answer = Answer {
            status: Some(Status::OK),
            ..Answer::default()
        };
        let piece = [7; 10_000];
        for _ in 0..1_000 {
            let heard = answer.handle_part(Part::Data(&piece), 100);
            assert!(heard.is_ok());
        }
        assert_eq!((answer.body_bytes, answer.body.len()), (10_000_000, 100));
        assert!(answer.body.capacity() <= 1_000, "{}", answer.body.capacity());
    }
}
