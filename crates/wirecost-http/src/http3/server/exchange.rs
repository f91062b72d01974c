//! One request until it is answered.

use quinn_proto::Side;

use super::super::head::{RequestHead, read_request, read_trailers};
use super::super::reader::{Part, Reader};
use crate::fault::{Code, Fault};
use crate::message::{Malformed, Method};
use crate::resource::Request;

/// A request so far.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) reader: Reader,
    pub(super) message: Message,
    /// Whether any part of it is early data (RFC 8470 section 3).
    pub(super) is_early: bool,
    /// Whether it is complete and waits for its response.
    pub(super) is_waiting: bool,
}

/// The received part of a request.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) head: Option<Result<RequestHead, Malformed>>,
    pub(super) body: Vec<u8>,
    has_trailers: bool,
}

impl Message {
    /// Handles a part of the request. Content above `limit` bytes is not kept.
    pub(super) fn handle_part(&mut self, part: Part<'_>, limit: u64) -> Result<(), Fault> {
        match part {
            Part::Section(_) | Part::Frame { is_content: true, .. } if self.has_trailers => {
                return Err(Code::FrameUnexpected.fault("HEADERS or DATA after trailers"));
            }
            Part::Frame { .. } => {}
            Part::Section(section) if self.head.is_none() => self.head = Some(read_request(&section)?),
            Part::Section(section) => {
                self.has_trailers = true;
                if let Err(malformed) = read_trailers(&section)? {
                    self.head = Some(Err(malformed));
                }
            }
            Part::Data(data) => {
                if self.body.len() as u64 <= limit {
                    self.body.extend_from_slice(data);
                }
            }
        }
        Ok(())
    }

    /// The head, if it has arrived and is valid.
    pub(super) fn head(&self) -> Option<&RequestHead> {
        self.head.as_ref()?.as_ref().ok()
    }

    /// What is wrong with the message so far, or with the whole message if `is_complete`.
    pub(super) fn fault(&self, is_complete: bool) -> Option<Code> {
        match &self.head {
            None => is_complete.then_some(Code::RequestIncomplete),
            Some(Err(_)) => Some(Code::MessageError),
            // RFC 9114 section 4.1.2.
            Some(Ok(head)) => {
                let here = self.body.len() as u64;
                let is_wrong = |said| here > said || is_complete && here < said;
                head.content_length
                    .is_some_and(is_wrong)
                    .then_some(Code::MessageError)
            }
        }
    }
}

impl Exchange {
    /// A request that begins.
    pub(super) fn new(is_early: bool) -> Self {
        Self {
            reader: Reader::new(Side::Server),
            message: Message::default(),
            is_early,
            is_waiting: false,
        }
    }

    /// The request for the resources, or `None` if the method is unknown.
    pub(super) fn request(&self) -> Option<Request<'_>> {
        let head = self.message.head()?;
        Some(Request {
            method: head.method?,
            target: &head.path,
            content_type: head.content_type.as_deref(),
            early: self.is_early,
        })
    }

    /// The request's method, or GET if it has none yet.
    pub(super) fn method(&self) -> Method {
        let method = self.message.head().and_then(|head| head.method);
        method.unwrap_or(Method::Get)
    }
}
