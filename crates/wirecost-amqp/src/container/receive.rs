//! How the container receives frames outside a session: headers, SASL, open, begin, close.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;

use wirecost_proto::credentials::is_secret;

use super::connection::{Connection, SessionState, State};
use super::fault::Fault;
use super::session::{SessionFrame, sections_of};
use super::{Config, Event, Shared};
use crate::codec::sasl::{Mechanisms, SASL_AUTH, SASL_OK, plain_credentials};
use crate::codec::{
    Attribution, Begin, Body, Condition, OwnedCondition, Performative, ProtocolHeader, Sasl, Unit,
};
use crate::session::Session;

const ANONYMOUS: &str = "ANONYMOUS";
const PLAIN: &str = "PLAIN";

/// Takes received bytes.
pub(super) fn receive(connection: &mut Connection, shared: &mut Shared, mut bytes: &[u8]) {
    connection.frames.received(shared.now);
    let mut framer = core::mem::take(&mut connection.frames.framer);
    let was_opening = matches!(connection.state, State::AwaitHeader { .. } | State::AwaitInit);
    let fault = loop {
        if connection.is_over() {
            break None;
        }
        match framer.next(&mut bytes) {
            Ok(Some(unit)) => {
                if let Err(fault) = receive_unit(connection, shared, unit) {
                    break Some(fault);
                }
                if let Some(too_large) = connection.frames.too_large.take() {
                    break Some(too_large.into());
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error.into()),
        }
    };
    // After the end of the connection the rest of the bytes is skipped. Of a client that is refused, it is what it has sent behind its
    // sasl-init (section 2.4.2).
    let unread = bytes.len() + if fault.is_some() { framer.held() } else { 0 };
    connection.was_refused |= was_opening && (fault.is_some() || connection.is_over());
    let skipped = match connection.was_refused {
        true => Attribution::CONNECT,
        false => Attribution::CLOSE,
    };
    skipped.cover(unread, &mut connection.frames.consumed);
    connection.frames.framer = framer;
    if let Some(fault) = fault {
        let error = Condition {
            name: fault.condition(),
            description: Some(&fault.to_string()),
        };
        shared.fail(connection, error);
    }
}

fn receive_unit(connection: &mut Connection, shared: &mut Shared, unit: Unit<'_>) -> Result<(), Fault> {
    let frame = match unit {
        Unit::Header(header) => return receive_header(connection, shared, header),
        Unit::Frame(frame) => frame,
    };
    let len = frame.bytes().len();
    let consumed = &mut connection.frames.consumed;
    let body = frame
        .decode()
        .inspect_err(|_| Attribution::CLOSE.cover(len, consumed))?;
    match body {
        Body::Empty => Attribution::KEEP_ALIVE.cover(len, consumed),
        Body::Sasl(sasl) => {
            Attribution::CONNECT.cover(len, consumed);
            receive_sasl(connection, shared, sasl)?;
        }
        Body::Amqp(performative, payload) => {
            cover_head(connection, frame.channel(), &performative, len - payload.len());
            receive_amqp(connection, shared, frame.channel(), performative, payload)?;
        }
    }
    Ok(())
}

fn receive_header(
    connection: &mut Connection,
    shared: &mut Shared,
    header: ProtocolHeader,
) -> Result<(), Fault> {
    Attribution::CONNECT.cover(header.bytes().len(), &mut connection.frames.consumed);
    let State::AwaitHeader { may_open } = connection.state else {
        return Err(Fault::NotAllowed("protocol header after other frames"));
    };
    if header == ProtocolHeader::AMQP && may_open {
        header.emit(&mut connection.frames.outgoing);
        connection.state = State::AwaitOpen;
        return Ok(());
    }
    if header == ProtocolHeader::SASL {
        header.emit(&mut connection.frames.outgoing);
        let config = &shared.config;
        let names: &[&str] = match (config.anonymous, config.users.is_empty()) {
            (true, true) => &[ANONYMOUS],
            (true, false) => &[ANONYMOUS, PLAIN],
            (false, _) => &[PLAIN],
        };
        connection
            .frames
            .emit_sasl(&Sasl::Mechanisms(Mechanisms::Given(names)));
        connection.state = State::AwaitInit;
        return Ok(());
    }
    // Section 2.2: answer an unsupported header with a supported one, and close.
    let spoken = if may_open {
        ProtocolHeader::AMQP
    } else {
        ProtocolHeader::SASL
    };
    spoken.emit(&mut connection.frames.outgoing);
    connection.finish();
    Ok(())
}

fn receive_sasl(connection: &mut Connection, shared: &mut Shared, sasl: Sasl<'_>) -> Result<(), Fault> {
    let (
        State::AwaitInit,
        Sasl::Init {
            mechanism,
            initial_response,
        },
    ) = (&connection.state, sasl)
    else {
        return Err(Fault::NotAllowed("SASL frame out of place"));
    };
    if is_authenticated(&shared.config, mechanism, initial_response.unwrap_or_default()) {
        connection.frames.emit_sasl(&Sasl::Outcome(SASL_OK));
        connection.state = State::AwaitHeader { may_open: true };
        return Ok(());
    }
    connection.frames.emit_sasl(&Sasl::Outcome(SASL_AUTH));
    shared.events.push_back(Event::Refused {
        flow: connection.frames.flow,
    });
    connection.finish();
    Ok(())
}

fn is_authenticated(config: &Config, mechanism: &str, response: &[u8]) -> bool {
    match mechanism {
        ANONYMOUS => config.anonymous,
        PLAIN => plain_credentials(response).is_some_and(|(user, password)| {
            // All users are compared, and an unknown one costs as much as a wrong password.
            let mut is_known = false;
            for (name, secret) in &config.users {
                let is_user = is_secret(Some(name.as_bytes()), user.as_bytes());
                is_known |= is_user & is_secret(Some(secret.as_bytes()), password.as_bytes());
            }
            is_known
        }),
        _ => false,
    }
}

fn receive_amqp(
    connection: &mut Connection,
    shared: &mut Shared,
    channel: u16,
    performative: Performative<'_>,
    payload: &[u8],
) -> Result<(), Fault> {
    let mut sections = sections_of(connection, channel, &performative);
    sections.cover(payload, &mut connection.frames.consumed);
    let flow = connection.frames.flow;
    match (&connection.state, performative) {
        (State::Opened | State::AwaitClose, Performative::Close(error)) => {
            receive_close(connection, shared, error.map(OwnedCondition::from));
        }
        // Frames that crossed our close are ignored (section 2.4.6).
        (State::AwaitClose, _) => {}
        (State::AwaitOpen, Performative::Open(open)) => {
            connection.open(&open, &shared.config, shared.now);
            let container_id = Arc::from(open.container_id);
            shared.events.push_back(Event::Connected { flow, container_id });
        }
        (State::Opened, Performative::Begin(begin)) => {
            return receive_begin(connection, &shared.config, channel, begin);
        }
        (State::Opened, performative) => {
            let mut frame = SessionFrame {
                connection,
                shared,
                channel,
            };
            return frame.receive(performative, payload, sections);
        }
        _ => return Err(Fault::NotAllowed("frame out of place")),
    }
    Ok(())
}

/// Adds the span of a frame's head.
fn cover_head(connection: &mut Connection, channel: u16, performative: &Performative<'_>, len: usize) {
    let handle = match performative {
        Performative::Flow(flow) => flow.handle,
        _ => None,
    };
    let sending = handle.and_then(|handle| connection.sending(channel, handle));
    let has_credit = sending.is_some_and(|(_, sending)| sending.credit.was_granted);
    Attribution::from_performative(performative, has_credit).cover(len, &mut connection.frames.consumed);
}

fn receive_close(connection: &mut Connection, shared: &mut Shared, error: Option<OwnedCondition>) {
    if matches!(connection.state, State::Opened) {
        connection.send_close(None);
        shared.disconnect(connection, error);
    }
    connection.finish();
}

fn receive_begin(
    connection: &mut Connection,
    config: &Config,
    channel: u16,
    begin: Begin,
) -> Result<(), Fault> {
    if channel > config.channel_max || connection.sessions.contains_key(&channel) {
        return Err(Fault::NotAllowed("begin on a channel that is not free"));
    }
    let mut session = Session::new(config.session_window);
    session.accept_begin(&begin);
    let answer = Performative::Begin(Begin {
        handle_max: config.handle_max,
        ..session.begin(Some(channel))
    });
    connection.frames.emit(answer, channel, Attribution::CONNECT);
    let session = SessionState::Mapped(session, BTreeMap::new());
    connection.sessions.insert(channel, session);
    Ok(())
}
