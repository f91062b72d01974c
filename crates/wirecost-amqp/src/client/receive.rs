//! What the client receives.

use wirecost_proto::Instant;

use super::connection::{Connection, Link, Remote, State};
use super::{Client, Config, Event, Failure, Refusal, Stats};
use crate::codec::frame::MIN_MAX_FRAME_SIZE;
use crate::codec::sasl::SASL_OK;
use crate::codec::{
    Attach, Attribution, Begin, DecodeError, DeliveryState, Disposition, Flow, Frame, FrameType, Open,
    OwnedCondition, Performative, ProtocolHeader, Role, Sasl, Sections, Unit,
};
use crate::outgoing::keep_alive;
use crate::session::{Session, first_covered};

impl Client {
    pub(super) fn receive(&mut self, mut bytes: &[u8]) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        connection.heard(self.now);
        let mut framer = core::mem::take(&mut connection.framer);
        let mut receiver = Receiver {
            connection,
            config: &self.config,
            now: self.now,
            events: &mut self.events,
            stats: &mut self.stats,
        };
        let failure = loop {
            if receiver.connection.is_peer_heard_out() {
                break None;
            }
            match framer.next(&mut bytes) {
                Ok(Some(unit)) => match receiver.receive(unit) {
                    Ok(()) => {}
                    Err(failure) => break Some(failure),
                },
                Ok(None) => break None,
                Err(_) if receiver.connection.awaits_header() => break Some(Failure::NotAmqp),
                Err(error) => break Some(error.into()),
            }
        };
        // Nothing is read any more after the end.
        let unread = bytes.len() + if failure.is_some() { framer.held() } else { 0 };
        Attribution::CLOSE.cover(unread, &mut receiver.connection.consumed);
        connection.framer = framer;
        if let Some(failure) = failure {
            self.fail(failure);
        }
    }
}

/// What it takes to receive a header or frame.
struct Receiver<'a> {
    connection: &'a mut Connection,
    config: &'a Config,
    now: Instant,
    events: &'a mut alloc::collections::VecDeque<Event>,
    stats: &'a mut Stats,
}

impl Receiver<'_> {
    fn receive(&mut self, unit: Unit<'_>) -> Result<(), Failure> {
        let frame = match unit {
            Unit::Header(header) => return self.header(header),
            Unit::Frame(frame) => frame,
        };
        match frame.frame_type().and_then(|kind| Ok((kind, frame.body()?))) {
            Ok((FrameType::Sasl, body)) => self.sasl(frame, body),
            Ok((FrameType::Amqp, [])) => {
                self.consumed(frame, Attribution::KEEP_ALIVE);
                Ok(())
            }
            Ok((FrameType::Amqp, body)) => self.amqp(frame, body),
            Err(error) => self.unreadable(frame, error),
        }
    }

    fn consumed(&mut self, frame: Frame<'_>, attribution: Attribution) {
        attribution.cover(frame.bytes().len(), &mut self.connection.consumed);
    }

    fn unreadable(&mut self, frame: Frame<'_>, error: DecodeError) -> Result<(), Failure> {
        self.consumed(frame, Attribution::CLOSE);
        Err(error.into())
    }

    fn header(&mut self, got: ProtocolHeader) -> Result<(), Failure> {
        Attribution::CONNECT.cover(got.bytes().len(), &mut self.connection.consumed);
        let expected = match self.connection.state {
            State::AwaitSaslHeader => ProtocolHeader::SASL,
            State::AwaitHeader => ProtocolHeader::AMQP,
            _ => return Err(Failure::Unexpected("protocol header")),
        };
        if got != expected {
            return Err(Failure::Protocol { expected, got });
        }
        self.connection.state = match self.connection.state {
            State::AwaitSaslHeader => State::AwaitMechanisms,
            _ => State::AwaitOpen,
        };
        Ok(())
    }

    fn sasl(&mut self, frame: Frame<'_>, body: &[u8]) -> Result<(), Failure> {
        let sasl = match Sasl::decode(body) {
            Ok(sasl) => sasl,
            Err(malformed) => return self.unreadable(frame, malformed.into()),
        };
        self.consumed(frame, Attribution::CONNECT);
        match (&self.connection.state, sasl) {
            (State::AwaitMechanisms, Sasl::Mechanisms(mechanisms)) => {
                let wanted = self.config.sasl.mechanism();
                if !mechanisms.contains(wanted) {
                    return Err(Failure::Mechanism(wanted));
                }
                self.connection.choose_mechanism(&self.config.sasl);
            }
            (State::AwaitOutcome, Sasl::Outcome(SASL_OK)) => self.connection.open_all(self.config),
            (State::AwaitOutcome, Sasl::Outcome(code)) => return Err(Failure::Authentication(code)),
            (_, other) => return Err(Failure::Unexpected(other.name())),
        }
        Ok(())
    }

    fn amqp(&mut self, frame: Frame<'_>, body: &[u8]) -> Result<(), Failure> {
        let (performative, payload) = match Performative::decode(body) {
            Ok(decoded) => decoded,
            Err(malformed) => return self.unreadable(frame, malformed.into()),
        };
        let has_credit = self.connection.link().is_some_and(|link| link.has_credit);
        let head = frame.bytes().len() - payload.len();
        Attribution::of(&performative, has_credit).cover(head, &mut self.connection.consumed);
        // The client attaches no receiver; a transfer is accounted all the same.
        Sections::default().cover(payload, &mut self.connection.consumed);
        self.performative(performative)
    }

    fn performative(&mut self, performative: Performative<'_>) -> Result<(), Failure> {
        match (&mut self.connection.state, performative) {
            (
                State::AwaitSaslHeader | State::AwaitMechanisms | State::AwaitOutcome | State::AwaitHeader,
                other,
            ) => return Err(Failure::Unexpected(other.name())),
            (_, Performative::Close(close)) => {
                self.connection.closed();
                let error = close.error.map(OwnedCondition::from);
                self.events.push_back(Event::Closed { error });
            }
            // What crossed our close on its way says nothing any more (section 2.4.6).
            (State::AwaitClose, _) => {}
            (State::AwaitOpen, Performative::Open(open)) => self.opened(open),
            (&mut State::AwaitBegin(remote), Performative::Begin(begin)) => self.begun(remote, begin),
            (&mut State::AwaitAttach(remote, session), Performative::Attach(attach)) => {
                self.attached(remote, session, attach);
            }
            (State::AwaitAttach(_, session), Performative::Flow(flow)) => session.flowed(&flow),
            (State::Attached(..), Performative::Flow(flow)) => self.flowed(&flow),
            (State::Attached(.., link), Performative::Disposition(disposition)) => {
                let settles = settle(link, &disposition, self.events, self.stats);
                self.answer(&disposition, settles);
            }
            (_, Performative::Detach(detach)) => {
                return Err(Failure::Detached(detach.error.map(OwnedCondition::from)));
            }
            (_, Performative::End(end)) => return Err(Failure::Ended(end.error.map(OwnedCondition::from))),
            (_, other) => return Err(Failure::Unexpected(other.name())),
        }
        Ok(())
    }

    fn opened(&mut self, open: Open<'_>) {
        let max_frame_size = open.max_frame_size.max(MIN_MAX_FRAME_SIZE);
        self.connection.state = State::AwaitBegin(Remote {
            max_frame_size: usize::try_from(max_frame_size).unwrap_or(usize::MAX),
            keep_alive: keep_alive(open.idle_time_out),
        });
        self.connection.demand_frames(self.config, self.now);
        self.connection.said(self.now);
    }

    fn begun(&mut self, remote: Remote, begin: Begin) {
        let mut session = Session::new(self.config.session_window);
        session.begun(&begin);
        self.connection.state = State::AwaitAttach(remote, session);
    }

    fn attached(&mut self, remote: Remote, session: Session, attach: Attach<'_>) {
        let link = Link {
            remote_handle: attach.handle,
            max_message_size: attach
                .max_message_size
                .filter(|size| *size > 0)
                .unwrap_or(u64::MAX),
            delivery_count: 0,
            credit: 0,
            has_credit: false,
            unsettled: Default::default(),
            current: None,
        };
        self.connection.state = State::Attached(remote, session, link);
    }

    fn flowed(&mut self, flow: &Flow) {
        let State::Attached(_, session, link) = &mut self.connection.state else {
            return;
        };
        session.flowed(flow);
        let is_first = match flow.handle {
            Some(handle) if handle == link.remote_handle => link.grant(flow),
            _ => false,
        };
        if flow.drain {
            // Section 2.6.7: what is not used is given back, and the receiver is told.
            link.delivery_count = link.delivery_count.wrapping_add(link.credit);
            link.credit = 0;
        }
        if flow.echo || flow.drain {
            let answer = Performative::Flow(Flow {
                handle: flow.handle.map(|_| super::connection::HANDLE),
                delivery_count: flow.handle.map(|_| link.delivery_count),
                link_credit: flow.handle.map(|_| link.credit),
                drain: flow.drain,
                ..session.flow()
            });
            let attribution = Attribution::of(&answer, link.has_credit);
            answer.emit(
                super::connection::CHANNEL,
                attribution,
                &mut self.connection.outgoing,
            );
        }
        if is_first {
            self.connection.opened();
            self.events.push_back(Event::Opened);
        }
    }

    /// A receiver that gave an outcome without settling waits for the sender to settle (section 2.6.12).
    fn answer(&mut self, disposition: &Disposition<'_>, settles: bool) {
        if !settles || disposition.settled {
            return;
        }
        let answer = Performative::Disposition(Disposition {
            role: Role::Sender,
            settled: true,
            ..*disposition
        });
        answer.emit(
            super::connection::CHANNEL,
            Attribution::ACKNOWLEDGEMENT,
            &mut self.connection.outgoing,
        );
    }
}

impl Link {
    /// Takes the receiver's credit (section 2.6.7); whether it is the first.
    fn grant(&mut self, flow: &Flow) -> bool {
        let Some(link_credit) = flow.link_credit else {
            return false;
        };
        let delivery_count = flow.delivery_count.unwrap_or(0);
        let credit = delivery_count
            .wrapping_add(link_credit)
            .wrapping_sub(self.delivery_count);
        self.credit = if credit > link_credit { 0 } else { credit };
        let is_first = !self.has_credit && self.credit > 0;
        self.has_credit |= is_first;
        is_first
    }
}

/// Takes what became of deliveries; whether one of them was in flight.
fn settle(
    link: &mut Link,
    disposition: &Disposition<'_>,
    events: &mut alloc::collections::VecDeque<Event>,
    stats: &mut Stats,
) -> bool {
    let is_outcome = disposition.state.is_some_and(|state| state.is_outcome());
    if disposition.role == Role::Sender || !(is_outcome || disposition.settled) {
        return false;
    }
    let mut settles = false;
    while let Some(at) = first_covered(&link.unsettled, disposition) {
        if let Some((_, message)) = link.unsettled.remove(at) {
            events.push_back(outcome(message, disposition.state));
        }
        settles = true;
    }
    stats.unexpected_answers += u64::from(!settles);
    settles
}

fn outcome(message: u64, state: Option<DeliveryState<'_>>) -> Event {
    let reason = match state {
        Some(DeliveryState::Accepted) => return Event::Acknowledged { message },
        Some(DeliveryState::Rejected(error)) => Refusal::Rejected(error.map(OwnedCondition::from)),
        Some(DeliveryState::Released) => Refusal::Released,
        Some(DeliveryState::Modified { .. }) => Refusal::Modified,
        Some(DeliveryState::Received | DeliveryState::Other(_)) | None => Refusal::NoOutcome,
    };
    Event::Refused { message, reason }
}
