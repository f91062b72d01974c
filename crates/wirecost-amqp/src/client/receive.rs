//! How the client receives frames.

use wirecost_proto::Instant;

use super::connection::{CHANNEL, Connection, HANDLE, Link, State};
use super::{Client, Config, Event, Failure, Refusal, Stats};
use crate::codec::sasl::SASL_OK;
use crate::codec::{
    Attach, Attribution, Begin, Body, DeliveryState, Disposition, Flow, Open, OwnedCondition, Performative,
    ProtocolHeader, Sasl, Sections, Unit,
};
use crate::frames::Timer;
use crate::session::{Credit, Session, take_covered};

impl Client {
    pub(super) fn receive(&mut self, mut bytes: &[u8]) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        connection.frames.received(self.now);
        let mut framer = core::mem::take(&mut connection.frames.framer);
        let mut receiver = Receiver {
            connection,
            config: &self.config,
            now: self.now,
            events: &mut self.events,
            stats: &mut self.stats,
        };
        let failure = loop {
            if receiver.connection.is_over() {
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
        // After the end of the connection the rest of the bytes is skipped. Of a server that refuses the login, it is its answer to what
        // was sent ahead.
        let unread = bytes.len() + if failure.is_some() { framer.held() } else { 0 };
        let skipped = match failure {
            Some(Failure::Authentication(_) | Failure::Mechanism(_)) => Attribution::CONNECT,
            _ => Attribution::CLOSE,
        };
        skipped.cover(unread, &mut receiver.connection.frames.consumed);
        connection.frames.framer = framer;
        if let Some(failure) = failure {
            self.fail(failure);
        }
    }
}

/// The parts of the client that receiving changes.
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
        let len = frame.bytes().len();
        let body = frame
            .decode()
            .inspect_err(|_| self.consumed(len, Attribution::CLOSE))?;
        match body {
            Body::Empty => self.consumed(len, Attribution::KEEP_ALIVE),
            Body::Sasl(sasl) => {
                self.consumed(len, Attribution::CONNECT);
                self.sasl(sasl)?;
            }
            Body::Amqp(performative, payload) => {
                let has_credit = self.connection.link().is_some_and(|link| link.credit.was_granted);
                let head = len - payload.len();
                self.consumed(head, Attribution::from_performative(&performative, has_credit));
                // The client has no receiving link; the payload of a transfer is accounted for anyway.
                Sections::default().cover(payload, &mut self.connection.frames.consumed);
                self.performative(performative)?;
            }
        }
        Ok(())
    }

    fn consumed(&mut self, len: usize, attribution: Attribution) {
        attribution.cover(len, &mut self.connection.frames.consumed);
    }

    fn header(&mut self, got: ProtocolHeader) -> Result<(), Failure> {
        self.consumed(got.bytes().len(), Attribution::CONNECT);
        let (expected, next) = match self.connection.state {
            State::AwaitSaslHeader => (ProtocolHeader::SASL, State::AwaitMechanisms),
            State::AwaitHeader => (ProtocolHeader::AMQP, State::AwaitOpen),
            _ => return Err(Failure::Unexpected("protocol header")),
        };
        if got != expected {
            return Err(Failure::Protocol { expected, got });
        }
        self.connection.state = next;
        Ok(())
    }

    fn sasl(&mut self, sasl: Sasl<'_>) -> Result<(), Failure> {
        match (&self.connection.state, sasl) {
            (State::AwaitMechanisms, Sasl::Mechanisms(mechanisms)) => {
                let wanted = self.config.sasl.mechanism();
                if !mechanisms.contains(wanted) {
                    return Err(Failure::Mechanism(wanted));
                }
                if !self.config.pipelines {
                    self.connection.initiate(&self.config.sasl);
                }
                self.connection.state = State::AwaitOutcome;
            }
            (State::AwaitOutcome, Sasl::Outcome(SASL_OK)) if self.config.pipelines => {
                self.connection.state = State::AwaitHeader;
            }
            (State::AwaitOutcome, Sasl::Outcome(SASL_OK)) => self.connection.open_all(self.config),
            (State::AwaitOutcome, Sasl::Outcome(code)) => return Err(Failure::Authentication(code)),
            (_, other) => return Err(Failure::Unexpected(other.name())),
        }
        Ok(())
    }

    fn performative(&mut self, performative: Performative<'_>) -> Result<(), Failure> {
        match (&mut self.connection.state, performative) {
            (
                State::AwaitSaslHeader | State::AwaitMechanisms | State::AwaitOutcome | State::AwaitHeader,
                other,
            ) => return Err(Failure::Unexpected(other.name())),
            (_, Performative::Close(error)) => {
                self.connection.closed();
                let error = error.map(OwnedCondition::from);
                self.events.push_back(Event::Closed { error });
            }
            // Frames that crossed our close are ignored (section 2.4.6).
            (State::AwaitClose, _) => {}
            (State::AwaitOpen, Performative::Open(open)) => self.opened(open),
            (State::AwaitBegin, Performative::Begin(begin)) => self.receive_begin(begin),
            (&mut State::AwaitAttach(session), Performative::Attach(attach)) => {
                self.attached(session, attach);
            }
            (State::AwaitAttach(session), Performative::Flow(flow)) => session.flowed(&flow),
            (State::Attached(..), Performative::Flow(flow)) => self.flowed(&flow),
            (State::Attached(.., link), Performative::Disposition(disposition)) => {
                if settle(link, &disposition, self.events, self.stats)
                    && let Some(answer) = disposition.settlement()
                {
                    self.connection
                        .frames
                        .emit(answer, CHANNEL, Attribution::ACKNOWLEDGEMENT);
                }
            }
            (_, Performative::Detach(detach)) => {
                return Err(Failure::Detached(detach.error.map(OwnedCondition::from)));
            }
            (_, Performative::End(error)) => return Err(Failure::Ended(error.map(OwnedCondition::from))),
            (_, other) => return Err(Failure::Unexpected(other.name())),
        }
        Ok(())
    }

    fn opened(&mut self, open: Open<'_>) {
        self.connection.state = State::AwaitBegin;
        let frames = &mut self.connection.frames;
        frames.peer_opened(&open, self.config.idle_time_out, self.now);
        frames.sent(self.now);
    }

    fn receive_begin(&mut self, begin: Begin) {
        let mut session = Session::new(self.config.session_window);
        session.accept_begin(&begin);
        self.connection.state = State::AwaitAttach(session);
    }

    fn attached(&mut self, session: Session, attach: Attach<'_>) {
        let link = Link {
            remote_handle: attach.handle,
            max_message_size: attach
                .max_message_size
                .filter(|size| *size > 0)
                .unwrap_or(u64::MAX),
            credit: Credit::default(),
            unsettled: Default::default(),
            current: None,
        };
        self.connection.state = State::Attached(session, link);
    }

    fn flowed(&mut self, flow: &Flow) {
        let State::Attached(session, link) = &mut self.connection.state else {
            return;
        };
        session.flowed(flow);
        let is_first = match flow.handle {
            Some(handle) if handle == link.remote_handle => link.credit.grant(flow),
            _ => false,
        };
        if flow.drain {
            // Section 2.6.7: the sender gives unused credit back and tells the receiver.
            link.credit.give_back();
        }
        if flow.echo || flow.drain {
            let answer = Performative::Flow(Flow {
                handle: flow.handle.map(|_| HANDLE),
                delivery_count: flow.handle.map(|_| link.credit.delivery_count),
                link_credit: flow.handle.map(|_| link.credit.left),
                drain: flow.drain,
                ..session.flow()
            });
            let attribution = Attribution::from_performative(&answer, link.credit.was_granted);
            self.connection.frames.emit(answer, CHANNEL, attribution);
        }
        if is_first {
            self.connection.frames.timers.stop(Timer::Answer);
            self.events.push_back(Event::Opened);
        }
    }
}

/// Reports the outcome of deliveries. Returns whether one of them was in flight.
fn settle(
    link: &mut Link,
    disposition: &Disposition<'_>,
    events: &mut alloc::collections::VecDeque<Event>,
    stats: &mut Stats,
) -> bool {
    if !disposition.is_final() {
        return false;
    }
    let before = events.len();
    let settled = take_covered(&mut link.unsettled, disposition);
    events.extend(settled.map(|message| outcome(message, disposition.state)));
    let settles = events.len() > before;
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
