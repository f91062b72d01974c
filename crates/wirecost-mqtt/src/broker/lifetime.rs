//! How connections and sessions end, and when wills are published (sections 3.1.2.5, 3.1.2.11.2 and 3.14.4).

use core::time::Duration;

use wirecost_proto::FlowId;

use super::connection::State;
use super::session::{NEVER, Session, SessionId};
use super::{Action, Broker, Command, Deadline, Event};
use crate::codec::{ReasonCode, Version};
use crate::reply::Reply;

/// Whether the will is published when a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WillHandling {
    Publish,
    Discard,
}

impl Broker {
    pub(super) fn command(&mut self, command: Command) {
        match command {
            Command::Publish(template) => self.publish_own(&template),
            Command::DisconnectClient { client_id, reason } => {
                let session = self.sessions.find(&client_id);
                let flow = session.and_then(|id| self.sessions.get(id)?.flow);
                if let Some(flow) = flow {
                    self.disconnect(flow, reason);
                }
            }
            Command::Shutdown => {
                let flows: alloc::vec::Vec<FlowId> = self.connections.keys().copied().collect();
                for flow in flows {
                    self.disconnect(flow, ReasonCode::ServerShuttingDown);
                }
            }
        }
    }

    /// Ends a connection. MQTT 5 clients get a DISCONNECT with the reason. An MQTT 3.1.1 server sends no DISCONNECT.
    pub(super) fn disconnect(&mut self, flow: FlowId, reason: ReasonCode) {
        if self
            .accepted(flow)
            .is_some_and(|accepted| accepted.version == Version::V5)
        {
            self.send(flow, Version::V5, Reply::Disconnect(reason));
        }
        self.end(flow, reason, WillHandling::Publish);
    }

    /// Detaches the session of a connection and closes the flow.
    pub(super) fn end(&mut self, flow: FlowId, reason: ReasonCode, will: WillHandling) {
        if self.leave(flow, reason, will) {
            self.actions.push_back(Action::Close(flow));
        }
    }

    /// Detaches the session of a client that sent DISCONNECT. The client closes the flow. The broker closes it only if
    /// the client does not, after a while [MQTT-3.14.4-1], 3.1.1 section 3.14.4.
    pub(super) fn end_after_client(&mut self, flow: FlowId, reason: ReasonCode, will: WillHandling) {
        if self.leave(flow, reason, will) {
            let at = self.now + self.config.close_timeout;
            self.timers.set(Deadline::Close(flow), at);
        }
    }

    /// Detaches the session of a connection that ends. Returns false if the connection had ended before.
    fn leave(&mut self, flow: FlowId, reason: ReasonCode, will: WillHandling) -> bool {
        let Some(connection) = self.connections.get_mut(&flow) else {
            return false;
        };
        self.timers.stop(Deadline::Connect(flow));
        self.timers.stop(Deadline::KeepAlive(flow));
        match core::mem::replace(&mut connection.state, State::Ending) {
            State::Ending => return false,
            State::AwaitConnect => {}
            State::Connected(accepted) => self.detach(accepted.session, flow, reason, will),
        }
        true
    }

    /// Closes a flow that the client should have closed, if there is one.
    pub(super) fn close_now(&mut self, flow: FlowId) {
        if self.timers.stop(Deadline::Close(flow)) {
            self.actions.push_back(Action::Close(flow));
        }
    }

    pub(super) fn peer_closed(&mut self, flow: FlowId) {
        self.close_now(flow);
        // Without a DISCONNECT the will is published [MQTT-3.1.2-8].
        self.end(flow, ReasonCode::UnspecifiedError, WillHandling::Publish);
    }

    pub(super) fn reset(&mut self, flow: FlowId) {
        self.timers.stop(Deadline::Close(flow));
        self.end(flow, ReasonCode::UnspecifiedError, WillHandling::Publish);
        self.connections.remove(&flow);
    }

    fn detach(&mut self, id: SessionId, flow: FlowId, reason: ReasonCode, will: WillHandling) {
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        session.flow = None;
        let client_id = session.client_id.clone();
        if will == WillHandling::Discard {
            // [MQTT-3.14.4-3]
            session.take_will();
        }
        let expiry = session.expiry;
        let delay = session.will_delay();
        self.report(Event::ClientDisconnected {
            flow,
            client_id,
            reason,
        });
        match delay {
            Some(Duration::ZERO) => self.publish_will(id),
            Some(delay) => self.timers.set(Deadline::Will(id), self.now + delay),
            None => {}
        }
        match expiry {
            // [MQTT-4.1.0-2], and clean sessions of 3.1.1
            0 => self.end_session(id),
            NEVER => {}
            seconds => {
                let at = self.now + Duration::from_secs(seconds.into());
                self.timers.set(Deadline::SessionExpiry(id), at);
            }
        }
    }

    /// Removes a session. A delayed will is published now [MQTT-3.1.2-8].
    pub(super) fn end_session(&mut self, id: SessionId) {
        self.publish_will(id);
        self.timers.stop(Deadline::SessionExpiry(id));
        let Some(session) = self.sessions.remove(id) else {
            return;
        };
        for filter in &session.filters {
            self.subscriptions.unsubscribe(filter, id);
        }
    }

    fn publish_will(&mut self, id: SessionId) {
        self.timers.stop(Deadline::Will(id));
        let will = self.sessions.get_mut(id).and_then(Session::take_will);
        if let Some(will) = will {
            self.route_will(id, will.as_will());
        }
    }

    pub(super) fn expire_timers(&mut self) {
        while let Some(deadline) = self.timers.expire(self.now) {
            match deadline {
                Deadline::Connect(flow) => {
                    self.end(flow, ReasonCode::MaximumConnectTime, WillHandling::Discard);
                }
                Deadline::Close(flow) => self.actions.push_back(Action::Close(flow)),
                Deadline::KeepAlive(flow) => self.check_keep_alive(flow),
                Deadline::Will(id) => self.publish_will(id),
                Deadline::SessionExpiry(id) => self.end_session(id),
            }
        }
    }

    /// Restarts the keep-alive timer, or ends a connection without packets for too long [MQTT-3.1.2-22].
    fn check_keep_alive(&mut self, flow: FlowId) {
        let Some(connection) = self.connections.get(&flow) else {
            return;
        };
        let Some(time_out) = connection.accepted().and_then(|accepted| accepted.time_out) else {
            return;
        };
        let deadline = connection.last_received + time_out;
        if deadline > self.now {
            self.timers.set(Deadline::KeepAlive(flow), deadline);
        } else {
            self.disconnect(flow, ReasonCode::KeepAliveTimeout);
        }
    }
}
