//! How the client sends frames.

use wirecost_proto::{Buffer, Output};

use super::connection::{CHANNEL, Connection, Current, HANDLE, Link, State};
use super::{Client, Event, Refusal, Request};
use crate::codec::TransferHead;

impl Client {
    /// Returns encoded frames first, then transfers while credit and window last, then the end of the flow.
    pub(super) fn transmit(&mut self, out: &mut Buffer) -> Option<Output<Event>> {
        let connection = self.connection.as_mut()?;
        let flow = connection.frames.flow;
        if connection.frames.take_outgoing(out) {
            connection.frames.sent(self.now);
            return Some(Output::Transmit { flow });
        }
        self.send(out).or_else(|| self.end())
    }

    fn end(&mut self) -> Option<Output<Event>> {
        let connection = self.connection.as_mut()?;
        if !matches!(connection.state, State::Finishing) {
            return None;
        }
        connection.state = State::Finished;
        Some(Output::Close {
            flow: connection.frames.flow,
            reset: false,
        })
    }

    /// The next transfer frame.
    fn send(&mut self, out: &mut Buffer) -> Option<Output<Event>> {
        let connection = self.connection.as_mut()?;
        let State::Attached(session, link) = &mut connection.state else {
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
            link.credit.take_one();
            link.current = Some(Current::new(request, session.next_delivery()));
        }
        let current = link.current.as_mut()?;
        let max_frame_size = connection.frames.max_frame_size;
        let is_done = current.emit(self.config.settled, max_frame_size, &mut self.scratch, out);
        session.sent();
        if is_done {
            self.sent();
        }
        let connection = self.connection.as_mut()?;
        connection.frames.sent(self.now);
        Some(Output::Transmit {
            flow: connection.frames.flow,
        })
    }

    /// Records that all frames of the current message are handed out.
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
    /// The next message if there is credit for it, or the event for a message that is too large.
    fn take(&self, requests: &mut alloc::collections::VecDeque<Request>) -> Option<Result<Request, Event>> {
        if self.credit.left == 0 {
            return None;
        }
        let request = requests.pop_front()?;
        // The sizes of a data section have 32 bits (section 1.6.19).
        let limit = self.max_message_size.min(u32::MAX.into());
        let bytes = request.template.message_bytes();
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

    /// Appends the next transfer frame of this message. Returns whether it is the last.
    fn emit(
        &mut self,
        settled: bool,
        max_frame_size: usize,
        scratch: &mut alloc::vec::Vec<u8>,
        out: &mut Buffer,
    ) -> bool {
        let head = TransferHead {
            channel: CHANNEL,
            handle: HANDLE,
            delivery_id: self.delivery_id,
            settled,
            is_first: self.sent == 0,
            max_frame_size,
        };
        let total = self.template.message_bytes();
        let taken = head.emit(total - self.sent, scratch, out);
        self.template.push(self.sent..self.sent + taken, out);
        self.sent += taken;
        self.sent == total
    }
}
