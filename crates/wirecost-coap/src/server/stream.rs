//! The server on streams (RFC 8323).

use wirecost_proto::bare::Transport;
use wirecost_proto::{FlowId, Instant};

use super::Server;
use super::protection::Incoming;
use super::respond::Exchange;
use crate::block::Portion;
use crate::code::{Class, Code};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::Repr;
use crate::stream::{self, Connection, Fault, Signal, kind_of};

/// The most bytes of a response without its body.
const OVERHEAD_BYTES: usize = 128;

impl Server {
    /// Whether flows are streams.
    pub(super) fn is_stream(&self) -> bool {
        self.config.transport == Transport::Stream
    }

    /// How much of a body one message to this peer carries.
    pub(super) fn portion(&self, flow: FlowId) -> Portion {
        match self.connections.get(&flow) {
            Some(connection) => connection.portion(OVERHEAD_BYTES),
            None => Portion::block(self.config.block_size),
        }
    }

    /// The kind of an encoded message that answers no confirmable message.
    pub(super) fn sent_kind(&self, message: &[u8], layout: Layout) -> Kind {
        match self.is_stream() {
            true => kind_of(message, layout),
            false => Kind::ORIGINAL,
        }
    }

    pub(super) fn begin_connection(&mut self, flow: FlowId) {
        if self.is_stream() {
            let connection = Connection::new(self.config.max_message_bytes);
            self.connections.insert(flow, connection);
        }
    }

    /// Sends the CSM, which is the first message (section 5.3), when the first bytes of the client are here. The client sends its own
    /// without waiting for it. So the packets of a connection do not depend on which end is faster.
    fn greet(&mut self, flow: FlowId) {
        let limit = self.config.max_message_bytes;
        let Some(connection) = self.connections.get_mut(&flow) else {
            return;
        };
        if !core::mem::replace(&mut connection.has_greeted, true) {
            self.outbox.send_signal(flow, |out| stream::emit_csm(limit, out));
        }
    }

    /// Whether notifications to a peer wait, because it does not read them.
    pub(super) fn is_congested(&self, flow: FlowId) -> bool {
        let connection = self.connections.get(&flow);
        connection.is_some_and(|connection| connection.is_congested)
    }

    /// Holds notifications back, or sends the current state of what has changed since.
    pub(super) fn set_congested(&mut self, flow: FlowId, is_congested: bool, now: Instant) {
        let Some(connection) = self.connections.get_mut(&flow) else {
            return;
        };
        connection.is_congested = is_congested;
        if is_congested {
            return;
        }
        for token in self.observers.all_of(flow) {
            if self.is_outdated(flow, token) {
                self.notify_one(flow, token, now);
            }
        }
    }

    /// Closes a stream.
    pub(super) fn close(&mut self, flow: FlowId) {
        if let Some(connection) = self.connections.remove(&flow) {
            let held = Layout::plain(connection.framer.held(), 0);
            if held.len() > 0 {
                self.outbox.consumed(flow, held, Kind::ORIGINAL);
            }
            self.outbox.close(flow);
        }
        self.forget_flow(flow);
    }

    /// Closes the streams whose peers sent a Release and await no separate response (section 5.5).
    pub(super) fn close_released(&mut self) {
        while let Some(flow) = self.next_released() {
            self.close(flow);
        }
    }

    fn next_released(&self) -> Option<FlowId> {
        let mut released = self.released.iter();
        released
            .find(|flow| self.outgoings.separate(**flow).0 == 0)
            .copied()
    }

    pub(super) fn receive_stream(&mut self, flow: FlowId, bytes: &[u8], now: Instant) {
        self.greet(flow);
        let Some(connection) = self.connections.get_mut(&flow) else {
            let ignored = Layout::plain(bytes.len(), 0);
            return self.outbox.consumed(flow, ignored, Kind::ORIGINAL);
        };
        let mut framer = core::mem::take(&mut connection.framer);
        let (unread, outcome) = framer.read(bytes, |message| {
            self.take_stream_message(flow, message, now)?;
            Ok(self.connections.contains_key(&flow))
        });
        if unread > 0 {
            self.outbox
                .consumed(flow, Layout::plain(unread, 0), Kind::ORIGINAL);
        }
        if let Some(connection) = self.connections.get_mut(&flow) {
            connection.framer = framer;
        }
        if let Err(fault) = outcome {
            self.abort(flow, &fault);
        }
    }

    /// Ends a connection whose client does not keep to the standard (section 5.6).
    fn abort(&mut self, flow: FlowId, fault: &Fault) {
        self.stats.malformed += 1;
        self.outbox
            .send_signal(flow, |out| stream::emit_abort(fault, out));
        self.close(flow);
    }

    /// Takes one whole message.
    fn take_stream_message(&mut self, flow: FlowId, message: &[u8], now: Instant) -> Result<(), Fault> {
        let repr = Repr::parse_stream(message).inspect_err(|_| {
            let layout = Layout::plain(message.len(), 0);
            self.outbox.consumed(flow, layout, Kind::ORIGINAL);
        })?;
        let layout = Layout::from_repr(&repr, message.len());
        let kind = Kind::of_code(repr.code, layout.payload);
        self.outbox.consumed(flow, layout, kind);
        let Some(connection) = self.connections.get_mut(&flow) else {
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
            Class::Request if connection.is_released => self.stats.ignored += 1,
            Class::Request => self.take_stream_request(flow, repr, layout, now),
            _ => self.stats.unmatched += 1,
        }
        Ok(())
    }

    fn take_stream_request(&mut self, flow: FlowId, repr: Repr<'_>, layout: Layout, now: Instant) {
        if self.must_be_protected(&repr) {
            self.stats.unverified += 1;
            let exchange = Exchange::new(flow, &repr, None);
            return self.respond_code(&exchange, Code::UNAUTHORIZED, None);
        }
        let protected = None;
        let incoming = Incoming {
            repr,
            layout,
            protected,
        };
        self.take_request(flow, &incoming, now);
    }

    fn take_signal(&mut self, flow: FlowId, signal: Signal, repr: &Repr<'_>) {
        match signal {
            Signal::Ping => self.outbox.send_signal(flow, |out| stream::emit_pong(repr, out)),
            Signal::Release => drop(self.released.insert(flow)),
            Signal::Abort => self.close(flow),
            Signal::Csm | Signal::Pong | Signal::Unknown => {}
        }
    }
}
