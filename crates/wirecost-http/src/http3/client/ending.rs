//! The end of a client's connection.

use quinn_proto::{ConnectionError, EndpointEvent};
use wirecost_proto::{FlowId, Output, ResetReason};
use wirecost_security::layer::{self, Fault};

use super::super::loss::{handshake_fault, lost};
use super::session::Stage;
use super::{Client, State};
use crate::client::{Event, Failure};
use crate::fault::{self, Code};

impl Client {
    /// Closes a connection whose peer broke a rule.
    pub(super) fn fail(&mut self, fault: fault::Fault) {
        let now = self.monotonic();
        if let State::Connected(session) = &mut self.state {
            session.connection.close(now, fault.code);
            session.stage = Stage::Ending;
        }
        self.fail_exchanges(Failure::Fault(fault));
        self.report_inner(Event::Reset(ResetReason::Local));
    }

    /// Closes a connection that did not start as requested.
    pub(super) fn give_up(&mut self, fault: Fault) {
        let now = self.monotonic();
        let State::Connected(session) = &mut self.state else {
            return;
        };
        let flow = session.connection.flow;
        session.connection.close(now, Code::NoError);
        session.stage = Stage::Ending;
        self.report(layer::Event::Failed { flow, fault });
        self.fail_exchanges(Failure::Abandoned);
    }

    /// Handles the loss of the connection.
    pub(super) fn lost(&mut self, reason: &ConnectionError) {
        let State::Connected(session) = &mut self.state else {
            return;
        };
        if matches!(session.stage, Stage::Ending | Stage::Ended) {
            return;
        }
        let is_handshaking = matches!(session.stage, Stage::Handshaking { .. });
        session.stage = match reason {
            // An error of this side, which the server must learn.
            ConnectionError::TransportError(_) => Stage::Ending,
            // A CONNECTION_CLOSE needs no answer (RFC 9000 section 10.2.2), and a lost peer gets none.
            _ => Stage::Ended,
        };
        let flow = session.connection.flow;
        let (failure, event) = lost(reason);
        if is_handshaking {
            let fault = self.tap.take_fault();
            let fault = handshake_fault(reason, fault.as_ref());
            self.report(layer::Event::Failed { flow, fault });
            return self.fail_exchanges(failure);
        }
        self.fail_exchanges(failure);
        self.report_inner(event);
    }

    /// Reports that the requests in flight will have no response.
    pub(super) fn fail_exchanges(&mut self, reason: Failure) {
        let State::Connected(session) = &mut self.state else {
            return;
        };
        let has_answered = session.has_answered;
        for exchange in std::mem::take(&mut session.exchanges).into_values() {
            let reason = match has_answered && exchange.is_unheard() {
                true => reason.unanswered(),
                false => reason,
            };
            self.report_inner(exchange.failed(reason));
        }
    }

    /// Reports the requests that the server will not process. Queued requests wait for the next connection.
    pub(super) fn fail_unprocessed(&mut self) {
        let State::Connected(session) = &mut self.state else {
            return;
        };
        for exchange in session.take_unprocessed() {
            self.report_inner(exchange.failed(Failure::NotProcessed));
        }
    }

    /// Forgets the connection, whose flow is gone.
    pub(super) fn abandon(&mut self, reason: ResetReason) {
        self.fail_exchanges(Failure::Reset(reason));
        if let State::Connected(session) = std::mem::replace(&mut self.state, State::Idle) {
            self.endpoint
                .handle_event(session.connection.handle, EndpointEvent::drained());
        }
    }

    pub(super) fn reset(&mut self, flow: FlowId, reason: ResetReason) {
        let is_mine = matches!(&self.state, State::Connected(session) if session.connection.flow == flow);
        if is_mine {
            self.abandon(reason);
            self.report_inner(Event::Reset(reason));
        }
    }

    /// Closes the connection once every request is answered, if it is to close.
    pub(super) fn close_if_done(&mut self) {
        let now = self.monotonic();
        let is_waiting = !self.waiting.is_empty();
        let State::Connected(session) = &mut self.state else {
            return;
        };
        let is_idle = session.exchanges.is_empty();
        let goes_away = session.going_away.is_some();
        let closes = self.is_closing && !is_waiting || goes_away;
        if closes && is_idle && session.stage == Stage::Established {
            session.connection.close(now, Code::NoError);
            session.stage = Stage::Ending;
            session.end = Some(match goes_away && !self.is_closing {
                true => Event::GoneAway,
                false => Event::Closed,
            });
        }
    }

    /// Closes a flow whose last packet has been sent.
    pub(super) fn end(&mut self) -> Option<Output<layer::Event<Event>>> {
        let State::Connected(session) = &mut self.state else {
            return None;
        };
        if !matches!(session.stage, Stage::Ending | Stage::Ended) {
            return None;
        }
        let flow = session.connection.flow;
        let end = session.end.take();
        // The client does not wait for stray packets, because the flow belongs to it alone (RFC 9000 section 10.2
        // would keep the state for three probe time-outs).
        self.abandon(ResetReason::Local);
        end.into_iter().for_each(|event| self.report_inner(event));
        Some(Output::Close { flow, reset: false })
    }
}
