//! Builds the activity of each phase.

use std::time::Duration;

use wirecost_proto::Rng;
use wirecost_scenario::expected::{Matching, retained_before};
use wirecost_scenario::link::forgotten_after;
use wirecost_scenario::options::load::{Arrivals, Offer, Phase, Who, close_rounds, connects_at_once};
use wirecost_scenario::options::sending::Connection;
use wirecost_security::Start;

use super::{BACKOFF, Share};
use crate::devices::activities::close::Close;
use crate::devices::activities::connect::{Connect, Group};
use crate::devices::activities::drop_all::DropAll;
use crate::devices::activities::handshakes::{Handshakes, Handshaking, TICKET_WAIT};
use crate::devices::activities::hold::Hold;
use crate::devices::activities::publish::{Publish, Publishing};
use crate::devices::activities::reconnect::Reconnect;
use crate::devices::activities::replay::AwaitReplay;
use crate::devices::activity::{Activity, Kind};
use crate::devices::population::Phases;
use crate::devices::tracker::Span;
use crate::schedule::arrivals::Flow;

impl Share {
    /// The activity of each phase.
    pub(super) fn phases(&self) -> Phases {
        let share = self.clone();
        Box::new(move |index| {
            let phase = share.options.phases.get(index as usize)?;
            let span = Span {
                warm_up: phase.warm_up(),
                offered: phase
                    .offer()
                    .and_then(|offer| offer.length(share.options.emulated())),
            };
            Some((share.activity(index, phase)?, span))
        })
    }

    /// The times at which the part is to offer messages or handshakes in a phase, since its beginning, in nanoseconds; `None` in a
    /// closed loop, and in a phase that offers nothing.
    pub(crate) fn scheduled(&self, index: u32) -> Option<impl Iterator<Item = u64>> {
        let phase = self.options.phases.get(index as usize)?;
        let trace = self.options.trace.as_ref();
        let trace = trace.filter(|_| matches!(phase, Phase::Publish(_)));
        let rng = self.arrivals(index);
        Flow::new(phase.offer()?, &self.devices, self.options.clients, rng, trace).offsets()
    }

    fn activity(&self, index: u32, phase: &Phase) -> Option<Box<dyn Activity>> {
        Some(match phase {
            Phase::Connect { who, rate } => self.connect(index, *who, *rate),
            Phase::Publish(offer) => self.publish(index, offer, Kind::Message),
            Phase::Request(offer) => self.publish(index, offer, Kind::Request),
            Phase::Handshakes { offer, start } => self.handshakes(index, offer, *start),
            Phase::Hold { duration } => Box::new(Hold::new(*duration, BACKOFF)),
            Phase::DropAll { who, reset } => {
                let wills = Matching::of_wills(&self.options, self.devices.clone(), index);
                Box::new(DropAll::new(*who, *reset, wills))
            }
            Phase::Reconnect {
                who,
                backoff,
                timeout,
            } => {
                let retained = retained_before(&self.options, index);
                Box::new(Reconnect::new(*who, *backoff, *timeout, retained))
            }
            Phase::AwaitReplay { timeout } => Box::new(AwaitReplay::new(*timeout, self.options.stillness())),
            Phase::Close { rate } => {
                let gap = rate.map_or(Duration::ZERO, |rate| self.gap(rate));
                Box::new(Close::new(gap, close_rounds(self.options.engine)))
            }
        })
    }

    /// After which silence the server does not know a sender any more.
    fn forgotten_after(&self) -> Option<Duration> {
        let hops = self.options.hops();
        let own = hops.iter().find(|hop| hop.is_of(0))?;
        forgotten_after(&own.link, self.options.stack)
    }

    fn handshakes(&self, index: u32, offer: &Offer, start: Start) -> Box<dyn Activity> {
        let stack = self.options.stack;
        // The answer to CONNECT or open follows the ticket.
        let is_answered = stack.has_login();
        let linger = match start {
            start if !start.needs_earlier() => Duration::ZERO,
            _ if is_answered => Duration::ZERO,
            _ => TICKET_WAIT,
        };
        Box::new(Handshakes::new(Handshaking {
            offer: *offer,
            devices: self.devices.clone(),
            of: self.options.clients,
            transport: stack.transport(),
            linger,
            rng: self.arrivals(index),
        }))
    }

    /// The random numbers for the arrivals of a phase.
    fn arrivals(&self, index: u32) -> Rng {
        self.rng("arrivals")
            .cell(u64::from(index))
            .host(u64::from(self.number))
    }

    fn connect(&self, index: u32, who: Who, rate: Option<f64>) -> Box<dyn Activity> {
        let subscribers = self.options.receivers();
        let first = if who == Who::Senders { 0 } else { subscribers };
        let groups = [
            (
                Who::Senders,
                Group {
                    first: self.devices.len(),
                    places: self.subscribers.clone(),
                },
            ),
            (
                Who::Subscribers,
                Group {
                    first: 0,
                    places: self.devices.start + first..self.devices.end + first,
                },
            ),
        ];
        // Each group is named by the choice that leaves it out.
        let groups = groups.into_iter().filter(|(without, _)| *without != who);
        let groups: Vec<Group> = groups.map(|(_, group)| group).collect();
        let of = match who {
            Who::All => self.options.clients + subscribers,
            Who::Senders => self.options.clients,
            Who::Subscribers => subscribers,
        };
        let retained = retained_before(&self.options, index);
        let at_once = connects_at_once(self.options.engine, self.count()) as usize;
        Box::new(Connect::new(rate, &groups, of, at_once, retained))
    }

    fn publish(&self, index: u32, offer: &Offer, kind: Kind) -> Box<dyn Activity> {
        let closed = matches!(offer.arrivals, Arrivals::Closed);
        let per_message = self.options.connection == Connection::PerMessage;
        let at_most = self.options.stack.application.most_in_flight();
        // An open loop sends whatever happens to earlier messages: a limit would let a slow server slow the offer (coordinated omission).
        let asked = self.options.inflight.unwrap_or(if closed { 1 } else { u32::MAX });
        Box::new(Publish::new(Publishing {
            offer: *offer,
            devices: self.devices.clone(),
            of: self.options.clients,
            // A connection per message has one message, whatever was asked.
            inflight: match per_message {
                true => 1,
                false => asked.min(at_most),
            },
            backoff: BACKOFF,
            per_message,
            forgotten_after: self.forgotten_after().filter(|_| !per_message),
            transport: self.options.stack.transport(),
            kind,
            trace: self.options.trace.clone().filter(|_| kind == Kind::Message),
            matching: match kind {
                Kind::Message => Matching::in_phase(&self.options, self.devices.clone(), index),
                // A request is answered to its sender; no subscriber receives it.
                Kind::Request => Matching::Same(0),
            },
            rng: self.arrivals(index),
        }))
    }
}
