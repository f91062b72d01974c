//! What the container receives before and around sessions: headers, SASL, open, begin, close.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use super::connection::{Connection, SessionState, State};
use super::fault::{Fault, NOT_ALLOWED};
use super::session::{SessionFrame, sections_of};
use super::{Config, Event, Shared};
use crate::codec::sasl::{Mechanisms, SASL_AUTH, SASL_OK, plain_credentials};
use crate::codec::{
    Attribution, Begin, Condition, DecodeError, Frame, FrameType, OwnedCondition, Performative,
    ProtocolHeader, Sasl, Unit,
};
use crate::session::Session;

const ANONYMOUS: &str = "ANONYMOUS";
const PLAIN: &str = "PLAIN";

/// Why reading ends.
enum Stop {
    /// What came cannot be read.
    Unreadable(DecodeError),
    /// What came has no place here.
    Fault(&'static str, &'static str),
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error)
    }
}

/// Takes received bytes.
pub(super) fn receive(connection: &mut Connection, shared: &mut Shared, mut bytes: &[u8]) {
    connection.heard(shared.now);
    let mut framer = core::mem::take(&mut connection.framer);
    let stop = loop {
        if connection.is_over() {
            break None;
        }
        match framer.next(&mut bytes) {
            Ok(Some(unit)) => {
                if let Err(stop) = receive_unit(connection, shared, unit) {
                    break Some(stop);
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error.into()),
        }
    };
    // Nothing is read any more after the end.
    let unread = bytes.len() + if stop.is_some() { framer.held() } else { 0 };
    Attribution::CLOSE.cover(unread, &mut connection.consumed);
    connection.framer = framer;
    match stop {
        Some(Stop::Unreadable(error)) => {
            let text = alloc::string::ToString::to_string(&error);
            let description = Some(text.as_str());
            let name = error.condition();
            shared.fail(connection, Condition { name, description });
        }
        Some(Stop::Fault(name, description)) => {
            let description = Some(description);
            shared.fail(connection, Condition { name, description });
        }
        None => {}
    }
}

fn receive_unit(connection: &mut Connection, shared: &mut Shared, unit: Unit<'_>) -> Result<(), Stop> {
    let frame = match unit {
        Unit::Header(header) => return receive_header(connection, shared, header),
        Unit::Frame(frame) => frame,
    };
    let len = frame.bytes().len();
    match frame.frame_type().and_then(|kind| Ok((kind, frame.body()?))) {
        Ok((FrameType::Sasl, body)) => receive_sasl(connection, shared, frame, body),
        Ok((FrameType::Amqp, [])) => {
            Attribution::KEEP_ALIVE.cover(len, &mut connection.consumed);
            Ok(())
        }
        Ok((FrameType::Amqp, body)) => receive_amqp(connection, shared, frame, body),
        Err(error) => {
            Attribution::CLOSE.cover(len, &mut connection.consumed);
            Err(error.into())
        }
    }
}

fn receive_header(
    connection: &mut Connection,
    shared: &mut Shared,
    header: ProtocolHeader,
) -> Result<(), Stop> {
    Attribution::CONNECT.cover(header.bytes().len(), &mut connection.consumed);
    let State::AwaitHeader { may_open } = connection.state else {
        return Err(Stop::Fault(NOT_ALLOWED, "protocol header amid frames"));
    };
    if header == ProtocolHeader::AMQP && may_open {
        header.emit(&mut connection.outgoing);
        connection.state = State::AwaitOpen;
        return Ok(());
    }
    if header == ProtocolHeader::SASL {
        header.emit(&mut connection.outgoing);
        let config = &shared.config;
        let names: &[&str] = match (config.anonymous, config.users.is_empty()) {
            (true, true) => &[ANONYMOUS],
            (true, false) => &[ANONYMOUS, PLAIN],
            (false, _) => &[PLAIN],
        };
        Sasl::Mechanisms(Mechanisms::Given(names)).emit(&mut connection.outgoing);
        connection.state = State::AwaitInit;
        return Ok(());
    }
    // Section 2.2: what is not spoken is answered with what is, and closed.
    let spoken = if may_open {
        ProtocolHeader::AMQP
    } else {
        ProtocolHeader::SASL
    };
    spoken.emit(&mut connection.outgoing);
    connection.finish();
    Ok(())
}

fn receive_sasl(
    connection: &mut Connection,
    shared: &mut Shared,
    frame: Frame<'_>,
    body: &[u8],
) -> Result<(), Stop> {
    let decoded = Sasl::decode(body).map_err(DecodeError::from);
    let attribution = if decoded.is_ok() {
        Attribution::CONNECT
    } else {
        Attribution::CLOSE
    };
    attribution.cover(frame.bytes().len(), &mut connection.consumed);
    let (
        State::AwaitInit,
        Sasl::Init {
            mechanism,
            initial_response,
        },
    ) = (&connection.state, decoded?)
    else {
        return Err(Stop::Fault(NOT_ALLOWED, "SASL frame out of place"));
    };
    if is_let_in(&shared.config, mechanism, initial_response.unwrap_or_default()) {
        Sasl::Outcome(SASL_OK).emit(&mut connection.outgoing);
        connection.state = State::AwaitHeader { may_open: true };
        return Ok(());
    }
    Sasl::Outcome(SASL_AUTH).emit(&mut connection.outgoing);
    shared.events.push_back(Event::Refused {
        flow: connection.flow,
    });
    connection.finish();
    Ok(())
}

fn is_let_in(config: &Config, mechanism: &str, response: &[u8]) -> bool {
    match mechanism {
        ANONYMOUS => config.anonymous,
        PLAIN => plain_credentials(response).is_some_and(|(user, password)| {
            let mut users = config.users.iter();
            users.any(|(name, secret)| name == user && secret == password)
        }),
        _ => false,
    }
}

fn receive_amqp(
    connection: &mut Connection,
    shared: &mut Shared,
    frame: Frame<'_>,
    body: &[u8],
) -> Result<(), Stop> {
    let (performative, payload) = match Performative::decode(body) {
        Ok(decoded) => decoded,
        Err(malformed) => {
            Attribution::CLOSE.cover(frame.bytes().len(), &mut connection.consumed);
            return Err(DecodeError::from(malformed).into());
        }
    };
    let head = frame.bytes().len() - payload.len();
    cover_head(connection, frame.channel(), &performative, head);
    let mut sections = sections_of(connection, frame.channel(), &performative);
    sections.cover(payload, &mut connection.consumed);
    let flow = connection.flow;
    match (&connection.state, performative) {
        (State::Opened(_) | State::AwaitClose, Performative::Close(close)) => {
            let error = close.error.map(OwnedCondition::from);
            receive_close(connection, shared, error);
        }
        // What crossed our close on its way says nothing any more (section 2.4.6).
        (State::AwaitClose, _) => {}
        (State::AwaitOpen, Performative::Open(open)) => {
            connection.open(&open, &shared.config, shared.now);
            let container_id = Arc::from(open.container_id);
            shared.events.push_back(Event::Connected { flow, container_id });
        }
        (State::Opened(_), Performative::Begin(begin)) => {
            return receive_begin(connection, &shared.config, frame.channel(), begin);
        }
        (State::Opened(_), performative) => {
            let received = SessionFrame {
                connection,
                shared,
                channel: frame.channel(),
            }
            .receive(performative, payload, sections);
            return received.map_err(|Fault { name, description }| Stop::Fault(name, description));
        }
        _ => return Err(Stop::Fault(NOT_ALLOWED, "frame out of place")),
    }
    Ok(())
}

/// Says what the head of a frame was.
fn cover_head(connection: &mut Connection, channel: u16, performative: &Performative<'_>, len: usize) {
    let handle = match performative {
        Performative::Flow(flow) => flow.handle,
        _ => None,
    };
    let sending = handle.and_then(|handle| connection.sending(channel, handle));
    let has_credit = sending.is_some_and(|(_, sending)| sending.has_credit);
    Attribution::of(performative, has_credit).cover(len, &mut connection.consumed);
}

fn receive_close(connection: &mut Connection, shared: &mut Shared, error: Option<OwnedCondition>) {
    if matches!(connection.state, State::Opened(_)) {
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
) -> Result<(), Stop> {
    if channel > config.channel_max || connection.sessions.contains_key(&channel) {
        return Err(Stop::Fault(NOT_ALLOWED, "begin on a channel that is not free"));
    }
    let mut session = Session::new(config.session_window);
    session.begun(&begin);
    let answer = Performative::Begin(Begin {
        handle_max: config.handle_max,
        ..session.begin(Some(channel))
    });
    connection.emit(answer, channel, Attribution::CONNECT);
    let links = BTreeMap::new();
    connection
        .sessions
        .insert(channel, SessionState::Mapped { session, links });
    Ok(())
}
