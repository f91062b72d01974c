//! Handles received bytes at the server.

use wirecost_proto::{Front, Layer, kept};

use super::connection::{Connection, Stage};
use super::{Action, Core};
use crate::http1::body::Body;
use crate::http1::fields::Expect;
use crate::http1::head::RequestHead;
use crate::message::{Malformed, Response, Status};

impl Core {
    pub(super) fn receive(&mut self, connection: &mut Connection, mut bytes: &[u8]) {
        let len = bytes.len();
        let held = connection.collector.held();
        connection.answered_bytes = 0;
        while !bytes.is_empty() {
            let has_much = connection.answered_bytes > self.config.max_pipelined_bytes;
            let outcome = match &mut connection.stage {
                Stage::AwaitHead if has_much => {
                    self.end(connection);
                    Ok(())
                }
                Stage::AwaitHead => self.take_head(connection, &mut bytes),
                Stage::AwaitBody { .. } => self.take_body(connection, &mut bytes),
                Stage::Waiting { .. } => return self.hold(connection, bytes),
                Stage::Lingering { .. } => self.drain(connection, &mut bytes),
            };
            if let Err(reason) = outcome {
                self.misbehaved(connection, reason, bytes);
                break;
            }
        }
        connection.early_bytes = connection.early_bytes.saturating_sub(len);
        // All the bytes continue a head that had begun before.
        let is_same_head = held > 0 && connection.collector.held() == held + len;
        connection.deadline = connection.next_deadline(is_same_head, &self.config, self.now);
        self.schedule(connection);
    }

    fn take_head(&mut self, connection: &mut Connection, bytes: &mut &[u8]) -> Result<(), Malformed> {
        let Connection {
            collector,
            current,
            early_bytes,
            ..
        } = connection;
        let Some(head) = collector.next(bytes)? else {
            return Ok(());
        };
        self.consumed(connection.flow, head.len(), Layer::Application);
        let head = RequestHead::parse(head)?;
        current.replace(&head, *early_bytes > 0);
        let (body, expect) = (head.body, head.expect);
        connection.requests += 1;
        if let Some(refusal) = self.refusal(connection, body, expect) {
            self.refuse(connection, refusal, body, expect);
            return Ok(());
        }
        match body {
            None => self.answer(connection),
            Some(body) => {
                // RFC 9110 section 10.1.1: not if content has already arrived.
                if expect == Expect::Continue && bytes.is_empty() {
                    self.actions.push_back(Action::Continue(connection.flow));
                }
                let refused = false;
                connection.stage = Stage::AwaitBody { body, refused };
            }
        }
        Ok(())
    }

    /// The response that refuses a request before its content arrives.
    fn refusal(&self, connection: &Connection, body: Option<Body>, expect: Expect) -> Option<Response> {
        if expect == Expect::Unknown {
            return Some(Response::empty(Status::EXPECTATION_FAILED));
        }
        let length = match body {
            Some(Body::Length(bytes)) => Some(bytes),
            _ => None,
        };
        self.resources.check(&connection.current.request(), length).err()
    }

    /// Refuses a request before its content has arrived. The connection continues if that content is limited and
    /// certain to arrive.
    fn refuse(&mut self, connection: &mut Connection, refusal: Response, body: Option<Body>, expect: Expect) {
        let Some(body) = body else {
            return self.respond(connection, refusal);
        };
        // RFC 9110 section 10.1.1: after a final response the client may or may not send its content.
        let is_unbounded = refusal.status == Status::CONTENT_TOO_LARGE;
        connection.current.keeps_alive &= expect == Expect::Nothing && !is_unbounded;
        self.respond(connection, refusal);
        connection.stage = match connection.stage {
            Stage::Lingering { .. } => Stage::Lingering { body: Some(body) },
            _ => Stage::AwaitBody { body, refused: true },
        };
    }

    fn take_body(&mut self, connection: &mut Connection, bytes: &mut &[u8]) -> Result<(), Malformed> {
        let Stage::AwaitBody { body, refused } = &mut connection.stage else {
            return Ok(());
        };
        let refused = *refused;
        let piece = body.take(bytes)?;
        let rest_of_body = *body;
        let (taken, rest) = bytes.split_at(piece.len);
        *bytes = rest;
        self.consumed(connection.flow, piece.len, piece.layer);
        if piece.layer == Layer::Payload {
            connection.current.content_bytes += piece.len as u64;
            connection.current.front.extend(taken);
            if connection.current.content_bytes > self.config.resources.max_body_bytes {
                self.refuse_rest(connection, rest_of_body, piece.is_last, refused);
                return Ok(());
            }
            if !refused {
                kept::append(&mut connection.content, taken);
            }
        }
        match (piece.is_last, refused) {
            (false, _) => {}
            (true, true) => connection.stage = Stage::AwaitHead,
            (true, false) => self.answer(connection),
        }
        Ok(())
    }

    /// Refuses a request whose content exceeds the limit.
    fn refuse_rest(&mut self, connection: &mut Connection, body: Body, is_last: bool, refused: bool) {
        connection.current.keeps_alive = false;
        match refused {
            false => self.respond(connection, Response::empty(Status::CONTENT_TOO_LARGE)),
            true => self.end(connection),
        }
        let body = (!is_last).then_some(body);
        connection.stage = Stage::Lingering { body };
    }

    /// Answers a complete request, or lets it wait.
    fn answer(&mut self, connection: &mut Connection) {
        if let Ok(Some(reading)) = connection.current.request().reading() {
            connection.current.content_bytes = reading.len() as u64;
            connection.current.front = Front::from_payload(&reading);
            connection.content = reading;
        }
        let id = connection.request_id();
        let request = connection.current.request();
        let answer = self.resources.answer(id, &request, &connection.content, self.now);
        match answer {
            Some(response) => self.respond(connection, response),
            None => connection.stage = Stage::Waiting { held: Vec::new() },
        }
    }

    /// Holds the bytes after a request that waits.
    fn hold(&mut self, connection: &mut Connection, bytes: &[u8]) {
        let Stage::Waiting { held } = &mut connection.stage else {
            return;
        };
        kept::append(held, bytes);
        if held.len() > self.config.max_held_bytes {
            self.resources.forget_request(connection.request_id());
            let held = connection.drop_held();
            self.ignore(connection.flow, held);
            self.end(connection);
        }
        connection.deadline = connection.next_deadline(false, &self.config, self.now);
        self.schedule(connection);
    }

    /// Reads bytes that arrive after the server has closed.
    fn drain(&mut self, connection: &mut Connection, bytes: &mut &[u8]) -> Result<(), Malformed> {
        let Stage::Lingering { body } = &mut connection.stage else {
            return Ok(());
        };
        let Some(rest) = body else {
            self.ignore(connection.flow, bytes.len());
            *bytes = &[];
            return Ok(());
        };
        let piece = rest.take(bytes)?;
        if piece.is_last {
            *body = None;
        }
        *bytes = bytes.get(piece.len..).unwrap_or(&[]);
        self.consumed(connection.flow, piece.len, piece.layer);
        Ok(())
    }

    /// Answers bytes that are not a request. Nothing after them can be read.
    fn misbehaved(&mut self, connection: &mut Connection, reason: Malformed, bytes: &[u8]) {
        let rest = connection.drop_held() + bytes.len();
        self.ignore(connection.flow, rest);
        self.fail(connection, reason);
    }
}
