//! What the client sends.

use wirecost_proto::{Buffer, Output};

use super::connection::{CHANNEL, Connection, Current, HANDLE, Link, State};
use super::{Client, Event, Refusal, Request};
use crate::codec::{Transfer, emit_transfer};
use crate::outgoing;

/// The format of the messages that the standard describes (section 3.2.16).
const MESSAGE_FORMAT: u32 = 0;

impl Client {
    /// What is written, then messages as far as credit and window go, then the end.
    pub(super) fn transmit(&mut self, out: &mut Buffer) -> Option<Output<Event>> {
        let connection = self.connection.as_mut()?;
        let flow = connection.flow;
        if !connection.outgoing.is_empty() {
            outgoing::move_into(&mut connection.outgoing, out);
            connection.said(self.now);
            return Some(Output::Transmit { flow });
        }
        if let Some(output) = self.send(out) {
            return Some(output);
        }
        self.end()
    }

    fn end(&mut self) -> Option<Output<Event>> {
        let connection = self.connection.as_mut()?;
        if !matches!(connection.state, State::Finishing) {
            return None;
        }
        connection.state = State::Finished;
        Some(Output::Close {
            flow: connection.flow,
            reset: false,
        })
    }

    /// The next transfer frame.
    fn send(&mut self, out: &mut Buffer) -> Option<Output<Event>> {
        let connection = self.connection.as_mut()?;
        let State::Attached(remote, session, link) = &mut connection.state else {
            return None;
        };
        if !session.may_transfer() {
            return None;
        }
        if link.current.is_none() {
            let request = match link.take(&mut self.requests)? {
                Ok(request) => request,
                Err(event) => return Some(Output::Event(event)),
            };
            link.delivery_count = link.delivery_count.wrapping_add(1);
            link.credit -= 1;
            link.current = Some(Current::new(request, session.next_delivery()));
        }
        let current = link.current.as_mut()?;
        let max_frame_size = remote.max_frame_size;
        let is_done = current.emit(self.config.settled, max_frame_size, &mut self.scratch, out);
        session.sent();
        if is_done {
            self.sent();
        }
        let connection = self.connection.as_mut()?;
        connection.said(self.now);
        Some(Output::Transmit {
            flow: connection.flow,
        })
    }

    /// The whole of a message is handed out.
    fn sent(&mut self) {
        let Some(State::Attached(.., link)) = self.connection.as_mut().map(Connection::state_mut) else {
            return;
        };
        let Some(Current {
            message, delivery_id, ..
        }) = link.current.take()
        else {
            return;
        };
        if !self.config.settled {
            link.unsettled.push_back((delivery_id, message));
        }
        self.events.push_back(Event::Sent { message });
    }
}

impl Link {
    /// The next message, if there is credit for it, or what to report of one that is too large.
    fn take(&self, requests: &mut alloc::collections::VecDeque<Request>) -> Option<Result<Request, Event>> {
        if self.credit == 0 {
            return None;
        }
        let request = requests.pop_front()?;
        let (bytes, limit) = (request.template.message_bytes(), self.max_message_size);
        if bytes as u64 <= limit {
            return Some(Ok(request));
        }
        Some(Err(Event::Refused {
            message: request.message,
            reason: Refusal::TooLarge { bytes, limit },
        }))
    }
}

impl Current {
    fn new(request: Request, delivery_id: u32) -> Self {
        Self {
            message: request.message,
            template: request.template,
            delivery_id,
            sent: 0,
        }
    }

    /// Appends the next transfer frame of this message; whether it is the last.
    fn emit(
        &mut self,
        settled: bool,
        max_frame_size: usize,
        scratch: &mut alloc::vec::Vec<u8>,
        out: &mut Buffer,
    ) -> bool {
        let tag = self.delivery_id.to_be_bytes();
        let transfer = match self.sent {
            0 => Transfer {
                handle: HANDLE,
                delivery_id: Some(self.delivery_id),
                delivery_tag: Some(&tag),
                message_format: Some(MESSAGE_FORMAT),
                // Section 2.7.5: not given is unsettled.
                settled: settled.then_some(true),
                ..Transfer::default()
            },
            _ => Transfer {
                handle: HANDLE,
                ..Transfer::default()
            },
        };
        let total = self.template.message_bytes();
        let left = total - self.sent;
        let taken = emit_transfer(transfer, CHANNEL, left, max_frame_size, scratch, out);
        self.template.push(self.sent..self.sent + taken, out);
        self.sent += taken;
        self.sent == total
    }
}
