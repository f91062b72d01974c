//! One request, until it is answered.

use super::super::error::{Code, Fault};
use super::super::head::{RequestHead, read_request};
use super::super::reader::{Part, Reader};
use crate::message::{Malformed, Method};
use crate::resource::Request;

/// A request so far.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub(super) reader: Reader,
    pub(super) message: Message,
    /// Whether any of it came as early data (RFC 8470 section 3).
    pub(super) is_early: bool,
    /// Whether it is complete, and its answer comes later.
    pub(super) is_waiting: bool,
}

/// What of a request is there.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) head: Option<Result<RequestHead, Malformed>>,
    pub(super) body: Vec<u8>,
}

impl Message {
    /// Takes a part of the request; content above `limit` bytes is not kept.
    pub(super) fn hear(&mut self, part: Part<'_>, limit: u64) -> Result<(), Fault> {
        match part {
            Part::Frame { .. } => {}
            Part::Section(section) if self.head.is_none() => self.head = Some(read_request(&section)),
            // Trailers, of which nothing is wanted.
            Part::Section(_) => {}
            Part::Data(data) => {
                if self.body.len() as u64 <= limit {
                    self.body.extend_from_slice(data);
                }
            }
        }
        Ok(())
    }

    /// The head, if it is there and a request's.
    pub(super) fn head(&self) -> Option<&RequestHead> {
        self.head.as_ref()?.as_ref().ok()
    }

    /// What is wrong with the message, once it is complete.
    pub(super) fn fault(&self) -> Option<Fault> {
        match &self.head {
            None => Some(Fault::new(Code::RequestIncomplete, "a request without HEADERS")),
            Some(Err(_)) => Some(Fault::new(Code::MessageError, "a malformed request")),
            // RFC 9114 section 4.1.2.
            Some(Ok(head)) => {
                let said = head.content_length.unwrap_or(self.body.len() as u64);
                (said != self.body.len() as u64)
                    .then(|| Fault::new(Code::MessageError, "content of another length than was said"))
            }
        }
    }
}

impl Exchange {
    /// What the resources are asked; `None` where the method is none that is known.
    pub(super) fn request(&self) -> Option<Request<'_>> {
        let head = self.message.head()?;
        Some(Request {
            method: head.method?,
            target: &head.path,
            content_type: head.content_type.as_deref(),
            early: self.is_early,
        })
    }

    /// The request's method, or GET where there is none yet.
    pub(super) fn method(&self) -> Method {
        let method = self.message.head().and_then(|head| head.method);
        method.unwrap_or(Method::Get)
    }
}
