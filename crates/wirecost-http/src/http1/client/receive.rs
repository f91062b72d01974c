//! Handles received bytes at the client.

use wirecost_proto::{Cause, Layer};

use super::{Client, Connection, Exchange, ResponseState, Stage, Timer};
use crate::client::{Event, Failure};
use crate::http1::body::Body;
use crate::http1::emit::cause;
use crate::http1::head::ResponseHead;
use crate::message::{Malformed, Status};

/// A complete response.
struct Complete {
    status: Status,
    keeps_alive: bool,
    body_bytes: u64,
    kept: Vec<u8>,
}

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
                Some(exchange) => self.go_on(&mut connection, exchange, &mut bytes),
                None => {
                    self.ignore(&mut connection, bytes);
                    break;
                }
            };
            if let Err(reason) = outcome {
                self.misbehaved(&mut connection, reason, bytes);
                break;
            }
        }
        self.connection = Some(connection);
        self.settle();
    }

    /// Handles the next part of a response.
    fn go_on(
        &mut self,
        connection: &mut Connection,
        mut exchange: Exchange,
        bytes: &mut &[u8],
    ) -> Result<(), Failed> {
        let complete = match &exchange.response {
            ResponseState::AwaitHead => self.take_head(connection, &mut exchange, bytes),
            ResponseState::AwaitBody { .. } => self.take_body(connection, &mut exchange, bytes),
        };
        match complete {
            Ok(None) => connection.exchange = Some(exchange),
            Ok(Some(mut complete)) => {
                // If the request is not fully sent, no other request may follow it.
                complete.keeps_alive &= exchange.unsent.is_none();
                self.complete(connection, exchange.message, complete);
            }
            Err(reason) => {
                return Err(Failed {
                    message: exchange.message,
                    reason,
                });
            }
        }
        Ok(())
    }

    fn take_head(
        &mut self,
        connection: &mut Connection,
        exchange: &mut Exchange,
        bytes: &mut &[u8],
    ) -> Result<Option<Complete>, Malformed> {
        let flow = connection.flow;
        let Some(head) = connection.collector.next(bytes)? else {
            return Ok(None);
        };
        let parsed = ResponseHead::parse(head, exchange.method);
        let cause = match &parsed {
            Ok(parsed) => cause(parsed.status, parsed.framing, exchange.method),
            Err(_) => Cause::Original,
        };
        let len = head.len();
        self.consumed(flow, len, Layer::Application, cause);
        let ResponseHead {
            status,
            framing,
            keeps_alive,
        } = parsed?;
        // RFC 9110 section 15.2: any number of interim responses precedes the final one.
        if status.is_interim() {
            self.stats.interim += 1;
            return Ok(None);
        }
        let (body_bytes, kept) = (0, Vec::new());
        match Body::new(framing) {
            Some(body) => {
                exchange.response = ResponseState::AwaitBody {
                    status,
                    keeps_alive,
                    body,
                    body_bytes,
                    kept,
                };
                Ok(None)
            }
            None => Ok(Some(Complete {
                status,
                keeps_alive,
                body_bytes,
                kept,
            })),
        }
    }

    fn take_body(
        &mut self,
        connection: &Connection,
        exchange: &mut Exchange,
        bytes: &mut &[u8],
    ) -> Result<Option<Complete>, Malformed> {
        let ResponseState::AwaitBody {
            status,
            keeps_alive,
            body,
            body_bytes,
            kept,
        } = &mut exchange.response
        else {
            return Ok(None);
        };
        let piece = body.take(bytes)?;
        let (taken, rest) = bytes.split_at(piece.len);
        *bytes = rest;
        self.consumed(connection.flow, piece.len, piece.layer, Cause::Original);
        if piece.layer == Layer::Payload {
            *body_bytes += piece.len as u64;
            let room = self.config.keep_body_bytes.saturating_sub(kept.len());
            kept.extend_from_slice(&taken[..room.min(taken.len())]);
        }
        Ok(piece.is_last.then(|| Complete {
            status: *status,
            keeps_alive: *keeps_alive,
            body_bytes: *body_bytes,
            kept: std::mem::take(kept),
        }))
    }

    fn complete(&mut self, connection: &mut Connection, message: Option<u64>, complete: Complete) {
        self.timers.stop(Timer::Response);
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
        if ends && connection.stage == Stage::Open {
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
        if connection.stage == Stage::Open {
            connection.stage = Stage::AwaitClose;
            self.timers
                .set(Timer::Close, self.now + self.config.close_timeout);
        }
    }

    /// Gives up on a server that does not speak HTTP. Nothing after `bytes` can be read.
    fn misbehaved(&mut self, connection: &mut Connection, failed: Failed, bytes: &[u8]) {
        let Failed { message, reason } = failed;
        if let Some(message) = message {
            let reason = Failure::Malformed(reason);
            self.report(Event::Failed { message, reason });
        }
        let rest = connection.collector.clear() + bytes.len();
        self.consumed(connection.flow, rest, Layer::Application, Cause::Original);
        connection.stage = match connection.stage {
            Stage::Closing => Stage::Closing,
            Stage::Open | Stage::AwaitClose => Stage::AwaitClose,
        };
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
        if let Some(Exchange {
            message,
            response:
                ResponseState::AwaitBody {
                    status,
                    body: Body::UntilClose,
                    body_bytes,
                    kept,
                    ..
                },
            ..
        }) = &mut connection.exchange
        {
            let complete = Complete {
                status: *status,
                keeps_alive: false,
                body_bytes: *body_bytes,
                kept: std::mem::take(kept),
            };
            let message = message.take();
            connection.exchange = None;
            self.complete(&mut connection, message, complete);
        }
        self.connection = Some(connection);
    }
}

/// What the server did wrong, and the affected request.
struct Failed {
    message: Option<u64>,
    reason: Malformed,
}
