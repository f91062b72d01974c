//! Handles received datagrams and events at the client.

use bytes::BytesMut;
use quinn_proto::{DatagramEvent, Dir, StreamEvent, StreamId};
use wirecost_proto::FlowId;
use wirecost_security::Start;
use wirecost_security::layer::{self, Fault};

use super::exchange::Exchange;
use super::session::Stage;
use super::{Client, State};
use crate::client::{Event, Failure};
use crate::http3::connection::Progress;
use crate::http3::{describe, error};

impl Client {
    pub(super) fn received(&mut self, flow: FlowId, bytes: &[u8]) {
        self.consumed.clear();
        let now = self.monotonic();
        let session = match &mut self.state {
            State::Connected(session) if session.connection.flow == flow => session,
            _ => return describe(bytes, &mut self.consumed),
        };
        let data = BytesMut::from(bytes);
        // The endpoint's own answers (stateless resets) are only for servers.
        let event = self
            .endpoint
            .handle(now, session.peer, None, None, data, &mut Vec::new());
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            session.connection.quic.handle_event(event);
        }
        self.pump();
        match &mut self.state {
            State::Connected(session) => {
                let opened = self.tap.take_opened();
                session.connection.consumed(bytes, &opened, &mut self.consumed);
            }
            State::Idle => describe(bytes, &mut self.consumed),
        }
    }

    /// Handles all events of the connection.
    pub(super) fn pump(&mut self) {
        loop {
            let State::Connected(session) = &mut self.state else {
                return;
            };
            session.connection.exchange_events(&mut self.endpoint);
            match session.connection.quic.poll() {
                Some(event) => self.handle_event(event),
                None => break,
            }
        }
        self.send_waiting();
    }

    pub(super) fn handle_event(&mut self, event: quinn_proto::Event) {
        match event {
            quinn_proto::Event::Connected => self.connected(),
            quinn_proto::Event::ConnectionLost { reason } => self.lost(&reason),
            quinn_proto::Event::Stream(event) => {
                if let Err(fault) = self.handle_stream_event(event) {
                    self.fail(fault);
                }
            }
            quinn_proto::Event::HandshakeDataReady
            | quinn_proto::Event::DatagramReceived
            | quinn_proto::Event::DatagramsUnblocked => {}
        }
    }

    pub(super) fn connected(&mut self) {
        let State::Connected(session) = &mut self.state else {
            return;
        };
        let Stage::Handshaking { is_early, .. } = session.stage else {
            return;
        };
        let connection = &mut session.connection;
        let accepted = is_early && connection.quic.accepted_0rtt();
        let granted = match (accepted, connection.is_resumed()) {
            (true, _) => Start::ZeroRtt,
            (false, true) => Start::Resumed,
            (false, false) => Start::Cold,
        };
        let asked = session.asked;
        if granted < asked.min(Start::Resumed) {
            return self.give_up(Fault::Start { asked, granted });
        }
        session.stage = Stage::Established;
        if is_early && !accepted {
            self.waiting.extend(session.take_back());
            self.waiting
                .make_contiguous()
                .sort_by_key(|request| request.order);
        }
        if !accepted {
            session.connection.open_control();
        }
        let flow = session.connection.flow;
        self.has_connected = true;
        let start = granted;
        self.report(layer::Event::Established { flow, start });
        if !is_early {
            self.report_inner(Event::Opened);
        }
    }

    pub(super) fn handle_stream_event(&mut self, event: StreamEvent) -> Result<(), error::Fault> {
        let State::Connected(session) = &mut self.state else {
            return Ok(());
        };
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = session.connection.accept_unidirectional() {
                    session.read_unidirectional(id)?;
                }
                self.fail_unprocessed();
            }
            StreamEvent::Readable { id } if id.dir() == Dir::Uni => {
                session.read_unidirectional(id)?;
                self.fail_unprocessed();
            }
            StreamEvent::Readable { id } => self.read_response(id)?,
            StreamEvent::Writable { id } => session.connection.flush(id),
            StreamEvent::Stopped { id, .. } => session.connection.stopped(id),
            StreamEvent::Finished { id } => session.connection.acknowledged(id),
            // Servers open no bidirectional streams: QUIC is configured to allow none.
            StreamEvent::Opened { dir: Dir::Bi } | StreamEvent::Available { .. } => {}
        }
        Ok(())
    }

    pub(super) fn read_response(&mut self, id: StreamId) -> Result<(), error::Fault> {
        let State::Connected(session) = &mut self.state else {
            return Ok(());
        };
        let Some(exchange) = session.exchanges.get_mut(&id) else {
            return Ok(());
        };
        let kept = self.config.keep_body_bytes;
        let Exchange {
            reader,
            answer,
            request,
            ..
        } = exchange;
        let progress = session
            .connection
            .read_message(id, reader, |part| answer.handle_part(part, kept))?;
        let is_open = progress == Progress::Open;
        if let Some(malformed) = answer.malformed(request).filter(|_| is_open) {
            let failed = exchange.failed(Failure::Malformed(malformed));
            session.exchanges.remove(&id);
            session.connection.refuse(id, error::Code::MessageError);
            self.report_inner(failed);
            return Ok(());
        }
        if is_open {
            return Ok(());
        }
        let Some(exchange) = session.exchanges.remove(&id) else {
            return Ok(());
        };
        let event = match progress {
            Progress::Reset(code) => exchange.failed(Failure::Code(code)),
            _ => {
                session.has_answered = true;
                exchange.finish()
            }
        };
        self.report_inner(event);
        Ok(())
    }
}
