//! The client on a stream (RFC 8323).

use alloc::boxed::Box;

use wirecost_proto::bare::Transport;
use wirecost_proto::{FlowId, Instant, PeerText};

use super::exchange::Subject;
use super::protection::Incoming;
use super::receive::is_acceptable;
use super::{Client, Event};
use crate::code::{Class, Code};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::Repr;
use crate::option::OptionsView;
use crate::stream::{self, Connection, Fault, Signal};

/// The most bytes of a request without the options of its template and its content: header 6, token 8, block options and
/// payload marker.
const OVERHEAD_BYTES: usize = 40;

impl Client {
    /// Whether the flow is a stream.
    pub(super) fn is_stream(&self) -> bool {
        self.config.transport == Transport::Stream
    }

    /// Sends the CSM, which is the first message (section 5.3).
    pub(super) fn begin_connection(&mut self, flow: FlowId) {
        if self.is_stream() {
            let limit = self.config.max_message_bytes;
            self.connection = Some(Box::new(Connection::new(limit)));
            self.outbox.send_signal(flow, |out| stream::emit_csm(limit, out));
        }
    }

    /// Whether the next waiting exchange may start: nothing was released, and the server's CSM has arrived or does not matter.
    pub(super) fn may_start_on_stream(&self) -> bool {
        let Some(connection) = self
            .connection
            .as_ref()
            .filter(|connection| !connection.is_released)
        else {
            return false;
        };
        let transfer = self
            .waiting
            .front()
            .and_then(|waiting| waiting.subject.transfer());
        let bytes = transfer.map_or(0, |transfer| {
            OVERHEAD_BYTES + transfer.template.options_bytes() + transfer.template.content.len()
        });
        connection.knows_limit_for(bytes)
    }

    /// Splits a content that exceeds the server's Max-Message-Size into blocks.
    pub(super) fn fit_to_peer(&mut self, subject: &mut Subject) {
        if let (Some(connection), Subject::Transfer(transfer)) = (&self.connection, subject)
            && transfer.purpose != super::Purpose::Notification
        {
            let overhead = OVERHEAD_BYTES + transfer.template.options_bytes();
            transfer.fit(connection.portion(overhead));
        }
    }

    /// Sends a Release, unless the flow carries datagrams.
    pub(super) fn release(&mut self) {
        if let (Some(_), Some(flow)) = (self.connection.take(), self.flow) {
            self.outbox.send_signal(flow, stream::emit_release);
        }
    }

    /// Closes the connection after the server's Release, when every request has its response (section 5.5).
    pub(super) fn close_if_released(&mut self) {
        let released = self
            .connection
            .as_ref()
            .is_some_and(|connection| connection.is_released);
        if let Some(flow) = self.flow.filter(|_| released && self.exchanges.is_empty()) {
            self.end_connection(flow, Event::PeerClosed);
        }
    }

    /// Closes the flow, and reports why after the failures of what was outstanding.
    pub(super) fn end_connection(&mut self, flow: FlowId, why: Event) {
        self.flow = None;
        if let Some(connection) = self.connection.take() {
            let held = Layout::plain(connection.framer.held(), 0);
            if held.len() > 0 {
                self.outbox.consumed(flow, held, Kind::ORIGINAL);
            }
        }
        self.abandon();
        self.outbox.close(flow);
        self.outbox.event(why);
    }

    pub(super) fn receive_stream(&mut self, flow: FlowId, bytes: &[u8], now: Instant) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let mut framer = core::mem::take(&mut connection.framer);
        let (unread, outcome) = framer.read(bytes, |message| {
            self.take_message(flow, message, now)?;
            Ok(self.connection.is_some())
        });
        if unread > 0 {
            self.outbox
                .consumed(flow, Layout::plain(unread, 0), Kind::ORIGINAL);
        }
        if let Some(connection) = &mut self.connection {
            connection.framer = framer;
        }
        if let Err(fault) = outcome {
            self.abort(flow, fault);
        }
    }

    /// Ends a connection whose server does not keep to the standard (section 5.6).
    fn abort(&mut self, flow: FlowId, fault: Fault) {
        self.outbox
            .send_signal(flow, |out| stream::emit_abort(&fault, out));
        self.end_connection(flow, Event::Faulted(fault));
    }

    /// Takes one whole message.
    fn take_message(&mut self, flow: FlowId, message: &[u8], now: Instant) -> Result<(), Fault> {
        let repr = Repr::parse_stream(message).inspect_err(|_| {
            self.stats.made().malformed += 1;
            let layout = Layout::plain(message.len(), 0);
            self.outbox.consumed(flow, layout, Kind::ORIGINAL);
        })?;
        let incoming = Incoming::on_stream(repr, message.len());
        let kind = Kind::of_code(repr.code, incoming.layout.payload);
        self.outbox.consumed(flow, incoming.layout, kind);
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        if repr.code != Code::EMPTY {
            connection.admit(repr.code)?;
        }
        match repr.code.class() {
            // Section 5.4: an empty message is ignored.
            Class::Empty => {}
            _ if repr.code.is_signal() => {
                let signal = connection.take_signal(&repr)?;
                self.take_signal(flow, signal, &repr);
            }
            Class::Request => self.refuse_request(flow, &repr),
            _ => self.take_answer(&incoming, now),
        }
        Ok(())
    }

    fn take_signal(&mut self, flow: FlowId, signal: Signal, repr: &Repr<'_>) {
        match signal {
            Signal::Ping => self.outbox.send_signal(flow, |out| stream::emit_pong(repr, out)),
            Signal::Pong => {
                let mut exchanges = self.exchanges.iter();
                match exchanges.position(|exchange| exchange.awaits_pong(repr.token)) {
                    Some(at) => self.take_pong(at),
                    None => self.stats.made().unmatched += 1,
                }
            }
            Signal::Abort => self.end_connection(flow, Event::Aborted(PeerText::from_bytes(repr.payload))),
            Signal::Csm | Signal::Release | Signal::Unknown => {}
        }
    }

    /// Answers a request of the server (section 3.3): this end has no resources.
    fn refuse_request(&mut self, flow: FlowId, request: &Repr<'_>) {
        self.stats.made().rejected += 1;
        let token = request.token;
        let response = Repr::on_stream(Code::NOT_IMPLEMENTED, token, OptionsView::default(), &[]);
        self.outbox.send_signal(flow, |out| {
            let emitted = response.emit_stream(out);
            debug_assert_eq!(emitted, Ok(()), "a response without content");
        });
    }

    /// Takes a response or a notification.
    fn take_answer(&mut self, incoming: &Incoming<'_>, now: Instant) {
        let repr = &incoming.repr;
        let mut exchanges = self.exchanges.iter();
        let mut observations = self.observations.iter();
        if !is_acceptable(repr) {
            self.ignore_answer(repr);
        } else if let Some(at) = exchanges.position(|exchange| exchange.awaits_response(repr.token)) {
            self.take_response(at, incoming, now);
        } else if let Some(at) = observations.position(|observation| observation.token == repr.token) {
            self.take_notification(at, incoming, now);
        } else {
            self.ignore_answer(repr);
        }
    }

    fn ignore_answer(&mut self, repr: &Repr<'_>) {
        self.stats.made().unmatched += 1;
        self.record_mismatch(repr);
    }
}

impl<'a> Incoming<'a> {
    /// A message of `len` bytes on a stream, which nothing protects but the channel.
    fn on_stream(repr: Repr<'a>, len: usize) -> Self {
        Self {
            layout: Layout::from_repr(&repr, len),
            ..Self::plain(repr, len)
        }
    }
}
