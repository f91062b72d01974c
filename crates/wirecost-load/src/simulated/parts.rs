//! The part and the target of a load in virtual time, as the coordinator sees them.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use wirecost_live::emulation::Meter;
use wirecost_proto::Instant;
use wirecost_sim::Tap;

use super::setting::WorldCell;
use crate::devices::part::{FromPart, Inbox};
use crate::nanos;
use crate::parts::running::{Gone, Incoming};
use crate::parts::usage::{Arrived, Measured, Used, Watched};
use crate::targets::sink::counter::Counter;

/// Runs the world while the coordinator waits for messages.
pub(super) struct Simulation<T> {
    pub(super) world: WorldCell<T>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) outbox: Sender<(u32, FromPart)>,
    pub(super) said: Receiver<(u32, FromPart)>,
    pub(super) now: Rc<Cell<Instant>>,
    pub(super) is_over: bool,
}

impl<T: Tap> Simulation<T> {
    /// Runs the world for `span`. If it `listens`, the run ends with the part's first message, which it returns.
    fn go_on(&mut self, span: Duration, listens: bool) -> Option<(u32, FromPart)> {
        let until = self.now.get() + span;
        let mut world = self.world.borrow_mut();
        let world = world.as_mut()?;
        if !self.inbox.is_empty() && !world.wake_director() {
            self.is_over = true;
            let last = FromPart::Finished { socket_error: None };
            // This simulation owns the receiver.
            drop(self.outbox.send((0, last)));
        }
        // The coordinator of a world has one part.
        let said = || self.said.try_recv().ok().map(|(_, message)| (0, message));
        let receive = || listens.then(said).flatten();
        let mut heard = receive();
        while !self.is_over && heard.is_none() && world.advance_by_one(until) {
            heard = receive();
        }
        self.now.set(world.now());
        heard
    }
}

impl<T: Tap> Incoming for Simulation<T> {
    fn receive(&mut self, patience: Duration) -> Result<Option<(u32, FromPart)>, Gone> {
        Ok(self.go_on(patience, true))
    }

    fn wait(&mut self, span: Duration) {
        self.go_on(span, false);
    }
}

/// The simulated server, as the coordinator sees it.
pub(super) struct SimulatedTarget<T> {
    pub(super) world: WorldCell<T>,
    pub(super) counter: Counter,
    pub(super) meter: Arc<Meter>,
    pub(super) has_link: bool,
}

impl<T: Tap> Watched for SimulatedTarget<T> {
    /// The busy time of the workers counts as CPU time, with one CPU for each worker.
    fn used(&mut self) -> Option<Used> {
        let world = self.world.borrow();
        let world = world.as_ref()?;
        let workers = world.workers()?;
        let busy_ns = nanos(workers.busy_until(world.now()));
        Some(Used {
            user_ns: busy_ns,
            busiest_ns: Some(busy_ns / workers.count() as u64),
            ..Used::default()
        })
    }

    fn meter(&self) -> Option<&Meter> {
        self.has_link.then_some(&*self.meter)
    }

    fn begin(&mut self, phase: &Measured) {
        self.counter.begin_phase(phase);
    }

    fn arrived(&mut self, _: &dyn Fn() -> bool) -> Option<Arrived> {
        Some(self.counter.report().into())
    }
}
