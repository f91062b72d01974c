//! Responses, and the end of connections.

use super::connection::{Connection, Stage};
use super::{Action, Core, Reply};
use crate::message::{Malformed, Method, Response, Status};
use crate::server::Event;

impl Core {
    /// Answers the request of `connection`.
    pub(super) fn respond(&mut self, connection: &mut Connection, response: Response) {
        self.stats.answered += 1;
        let current = &connection.current;
        let (method, close) = (current.method, !current.keeps_alive);
        self.report(Event::Answered {
            flow: connection.flow,
            method,
            status: response.status,
            payload_bytes: current.content_bytes,
            front: current.front,
        });
        connection.answered_bytes += response.content_length();
        self.send(connection, response, method, close);
        connection.drop_content();
        match close {
            true => self.end(connection),
            false => connection.stage = Stage::AwaitHead,
        }
    }

    fn send(&mut self, connection: &Connection, response: Response, method: Method, close: bool) {
        let reply = Reply {
            response,
            method,
            close,
            sent: 0,
        };
        self.actions.push_back(Action::Send(connection.flow, reply));
    }

    /// Fails a connection that received something other than a request.
    pub(super) fn fail(&mut self, connection: &mut Connection, reason: Malformed) {
        self.stats.malformed += 1;
        let flow = connection.flow;
        self.report(Event::Failed { flow, reason });
        self.answer_and_end(connection, reason.status());
    }

    /// Sends a response of its own, unless the request is already answered, and closes.
    fn answer_and_end(&mut self, connection: &mut Connection, status: Status) {
        let is_answered = matches!(
            connection.stage,
            Stage::Lingering { .. } | Stage::AwaitBody { refused: true, .. }
        );
        if !is_answered {
            self.send(connection, Response::empty(status), Method::Get, true);
        }
        self.end(connection);
    }

    /// Closes the server's side, once. Later bytes are drained.
    pub(super) fn end(&mut self, connection: &mut Connection) {
        if !matches!(connection.stage, Stage::Lingering { .. }) {
            self.actions.push_back(Action::Close(connection.flow, false));
        }
        connection.stage = Stage::Lingering { body: None };
    }

    /// Checks a connection for time-outs. Returns whether it has ended.
    pub(super) fn expire(&mut self, connection: &mut Connection) -> bool {
        if connection.deadline.is_some_and(|at| at <= self.now) {
            let flow = connection.flow;
            match &connection.stage {
                Stage::Lingering { .. } => {
                    self.actions.push_back(Action::Close(flow, true));
                    return true;
                }
                // RFC 9110 section 15.5.9: 408 is for an incomplete request, and there is no request.
                Stage::AwaitHead if connection.collector.held() == 0 => self.end(connection),
                _ => {
                    self.stats.timed_out += 1;
                    self.report(Event::TimedOut { flow });
                    let held = connection.drop_held();
                    self.ignore(flow, held);
                    self.answer_and_end(connection, Status::REQUEST_TIMEOUT);
                }
            }
            connection.deadline = connection.next_deadline(false, &self.config, self.now);
        }
        self.schedule(connection);
        false
    }

    /// Schedules the next check of `connection`. Checking too early costs less than moving every deadline.
    pub(super) fn schedule(&mut self, connection: &mut Connection) {
        let Some(deadline) = connection.deadline else {
            return;
        };
        if connection.scheduled.is_some_and(|at| at <= deadline) {
            return;
        }
        if let Some(at) = connection.scheduled.replace(deadline) {
            self.deadlines.remove(&(at, connection.flow));
        }
        self.deadlines.insert((deadline, connection.flow));
    }
}
