//! Handles received bytes at the client.

use wirecost_proto::{Cause, Layer};

use super::{Client, Connection, Exchange, Received, ResponseState, Stage, Timer};
use crate::client::{Event, Failure};
use crate::http1::body::Body;
use crate::http1::emit::cause;
use crate::http1::head::ResponseHead;
use crate::message::Malformed;

impl Client {
    pub(super) fn receive(&mut self, mut bytes: &[u8]) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        if !bytes.is_empty() && self.timers.deadline(Timer::Response).is_some() {
            self.expect_bytes();
        }
        while !bytes.is_empty() {
            let outcome = match connection.exchange.take() {
                Some(mut exchange) => {
                    exchange.is_heard = true;
                    self.continue_response(&mut connection, exchange, &mut bytes)
                }
                None => {
                    self.ignore(&mut connection, bytes);
                    break;
                }
            };
            if let Err((message, reason)) = outcome {
                self.reject(&mut connection, message, reason, bytes);
                break;
            }
        }
        self.connection = Some(connection);
        self.settle();
    }

    /// Handles the next part of a response.
    fn continue_response(
        &mut self,
        connection: &mut Connection,
        mut exchange: Exchange,
        bytes: &mut &[u8],
    ) -> Result<(), (Option<u64>, Malformed)> {
        let message = exchange.message;
        let complete = match &exchange.response {
            ResponseState::AwaitHead => self.take_head(connection, &mut exchange, bytes),
            ResponseState::AwaitBody(..) => self.take_body(connection, &mut exchange, bytes),
        };
        match complete.map_err(|reason| (message, reason))? {
            None => connection.exchange = Some(exchange),
            Some(mut complete) => {
                // If the request is not fully sent, no other request may follow it.
                complete.keeps_alive &= exchange.unsent.is_none();
                self.complete(connection, message, complete);
            }
        }
        Ok(())
    }

    fn take_head(
        &mut self,
        connection: &mut Connection,
        exchange: &mut Exchange,
        bytes: &mut &[u8],
    ) -> Result<Option<Received>, Malformed> {
        let flow = connection.flow;
        let Some(head) = connection.collector.next(bytes)? else {
            return Ok(None);
        };
        let parsed = ResponseHead::parse(head, exchange.method);
        let cause = match &parsed {
            Ok(parsed) => cause(parsed.status, parsed.body.is_some(), exchange.method),
            Err(_) => Cause::Original,
        };
        let len = head.len();
        self.consumed(flow, len, Layer::Application, cause);
        let ResponseHead {
            status,
            body,
            keeps_alive,
        } = parsed?;
        // RFC 9110 section 15.2: any number of interim responses precedes the final one.
        if status.is_interim() {
            self.stats.interim += 1;
            return Ok(None);
        }
        let received = Received {
            status,
            keeps_alive,
            body_bytes: 0,
            kept: Vec::new(),
        };
        let Some(body) = body else {
            return Ok(Some(received));
        };
        exchange.response = ResponseState::AwaitBody(body, received);
        Ok(None)
    }

    fn take_body(
        &mut self,
        connection: &Connection,
        exchange: &mut Exchange,
        bytes: &mut &[u8],
    ) -> Result<Option<Received>, Malformed> {
        let ResponseState::AwaitBody(body, received) = &mut exchange.response else {
            return Ok(None);
        };
        let piece = body.take(bytes)?;
        let (taken, rest) = bytes.split_at(piece.len);
        *bytes = rest;
        self.consumed(connection.flow, piece.len, piece.layer, Cause::Original);
        if piece.layer == Layer::Payload {
            received.body_bytes += piece.len as u64;
            let room = self.config.keep_body_bytes.saturating_sub(received.kept.len());
            received.kept.extend_from_slice(&taken[..room.min(taken.len())]);
        }
        if !piece.is_last {
            return Ok(None);
        }
        match std::mem::replace(&mut exchange.response, ResponseState::AwaitHead) {
            ResponseState::AwaitHead => Ok(None),
            ResponseState::AwaitBody(_, received) => Ok(Some(received)),
        }
    }

    fn complete(&mut self, connection: &mut Connection, message: Option<u64>, complete: Received) {
        self.timers.stop(Timer::Response);
        connection.has_answered = true;
        if let Some(message) = message {
            self.report(Event::Response {
                message,
                status: complete.status,
                body_bytes: complete.body_bytes,
                body: complete.kept,
            });
        }
        // RFC 9112 section 9.6: if either side says close, nothing more may be sent.
        let ends = self.config.connection_close || !complete.keeps_alive;
        if ends {
            self.await_close(connection);
        }
    }

    /// Lets the server close first.
    fn await_close(&mut self, connection: &mut Connection) {
        if connection.stage == Stage::Open {
            connection.stage = Stage::AwaitClose;
            self.timers
                .set(Timer::Close, self.now + self.config.close_timeout);
        }
    }

    /// Ignores bytes that belong to no response, such as a 408 before the server closes (RFC 9110 section 15.5.9).
    /// They must not be taken for a response, and the connection is closed (RFC 9112 section 9.2).
    fn ignore(&mut self, connection: &mut Connection, bytes: &[u8]) {
        self.stats.unasked_bytes += bytes.len() as u64;
        self.consumed(connection.flow, bytes.len(), Layer::Application, Cause::Original);
        self.await_close(connection);
    }

    /// Gives up on a server that does not speak HTTP. Nothing after `bytes` can be read.
    fn reject(&mut self, connection: &mut Connection, message: Option<u64>, reason: Malformed, bytes: &[u8]) {
        if let Some(message) = message {
            let reason = Failure::Malformed(reason);
            self.report(Event::Failed { message, reason });
        }
        let rest = connection.collector.clear() + bytes.len();
        self.consumed(connection.flow, rest, Layer::Application, Cause::Original);
        if connection.stage == Stage::Open {
            connection.stage = Stage::AwaitClose;
        }
        self.timers.stop(Timer::Response);
        self.timers.set(Timer::Close, self.now);
    }

    /// Closes at once if the time to close has come.
    fn settle(&mut self) {
        if self.timers.expire(Timer::Close, self.now) {
            self.close();
        }
    }

    /// Completes a response that lasts until the connection closes (RFC 9112 section 6.3, rule 8).
    pub(super) fn finish_until_close(&mut self) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        match connection.exchange.take() {
            Some(Exchange {
                message,
                response: ResponseState::AwaitBody(Body::UntilClose, received),
                ..
            }) => self.complete(&mut connection, message, received),
            other => connection.exchange = other,
        }
        self.connection = Some(connection);
    }
}
