//! The packet that goes behind CONNECT, before CONNACK (section 3.1.4 of MQTT 3.1.1 and of MQTT 5).
//!
//! ```text
//! client                                     server
//!   CONNECT       -- AwaitConnack, Allowed -->
//!   PUBLISH or SUBSCRIBE -- Message, Request -->
//!                                        <-- CONNACK
//!                                        <-- PUBACK or SUBACK          Connected
//! ```
//!
//! Before CONNACK the client knows no limit of the server (section 3.2.2.3). It assumes the least that each server accepts: one message
//! without an answer, because a Receive Maximum of 0 is a protocol error (section 3.2.2.3.3), and no topic alias (section 3.2.2.3.8).
//! A Maximum QoS, a Maximum Packet Size and Retain Available have no such least: a server whose limit the packet breaks ends the
//! connection. A server that refuses CONNECT does not process the packet [MQTT-3.1.4-6].

use alloc::boxed::Box;

use super::{Action, Client, Event, ServerReason, State};

/// What a client has sent behind CONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Nothing: every packet waits for CONNACK.
    Nothing,
    /// Nothing yet: the first packet may go.
    Allowed,
    /// A message, with this number.
    Message(u64),
    /// A subscription, or the removal of one.
    Request,
}

impl Client {
    /// Whether a packet has gone behind CONNECT, and CONNACK is not there.
    pub(super) const fn is_ahead(&self) -> bool {
        matches!(
            self.state,
            State::AwaitConnack(_, Ahead::Message(_) | Ahead::Request)
        )
    }

    /// Whether the connection that opens may send ahead. Unfinished messages of an earlier connection keep the client from it: they
    /// go first [MQTT-4.6.0-1], and CONNACK says whether the server still has their session.
    pub(super) fn open_ahead(&mut self) -> Ahead {
        if !self.config.pipelines {
            return Ahead::Nothing;
        }
        if self.config.clean_start {
            // [MQTT-3.1.2-4]
            self.forget_session();
        }
        self.outbound.connect(1);
        match self.outbound.len() {
            0 => Ahead::Allowed,
            _ => Ahead::Nothing,
        }
    }

    /// Notes what has just been sent, if it is the first packet before CONNACK.
    pub(super) const fn note_ahead(&mut self, sent: Ahead) {
        if let State::AwaitConnack(_, ahead) = &mut self.state {
            *ahead = sent;
        }
    }

    /// The server refuses the connection, and with it what has gone ahead.
    pub(super) fn rejected(&mut self, reason: ServerReason) {
        let reason = Box::new(reason);
        if self.is_ahead() {
            // There was no exchange before the one that went ahead.
            self.outbound.discard().for_each(drop);
        }
        if let State::AwaitConnack(_, Ahead::Message(message)) = self.state {
            let reason = reason.clone();
            self.actions
                .push_back(Action::Event(Event::Unprocessed { message, reason }));
        }
        self.actions.push_back(Action::Event(Event::Rejected { reason }));
        self.end();
    }
}
