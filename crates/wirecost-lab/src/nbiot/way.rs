//! A device with its world, whose packets cross an ideal link until it is prepared, and the cells from then on.

use std::time::Duration;

use wirecost_proto::record::Record;
use wirecost_proto::{Delivery, Fate, Instant};
use wirecost_sim::{Carrier, Decision, Offered, Port, World};
use wirecost_stack::Client;
use wirecost_stack::server::Server;

use super::air::AirTap;
use super::reporter::{Arrival, Before, Reporter};

/// Delay of the ideal link each way. Modelled: a round trip of 500 ms is about that of a cell without load, so that the
/// retransmission time-out of a kept connection is one that such a cell gives.
const IDEAL_DELAY: Duration = Duration::from_millis(250);
/// How long each step of a preparation may take, with what follows it: tickets, delayed acknowledgments.
const STEP: Duration = Duration::from_secs(10);

/// The world of one device.
pub(super) type DeviceWorld = World<Client, Reporter, Server, Way, AirTap, Arrival>;

/// The way of a device's packets.
#[derive(Debug, Default)]
pub(super) struct Way {
    port: Port,
    is_ideal: bool,
    has_offered: bool,
}

impl Way {
    fn set_ideal(&mut self, is_ideal: bool) {
        self.is_ideal = is_ideal;
    }
}

impl Carrier for Way {
    const HOLDS: bool = true;

    fn offer(&mut self, packet: Offered, now: Instant, deliveries: &mut Vec<Delivery>) -> Fate {
        if !self.is_ideal {
            self.has_offered = true;
            return self.port.offer(packet, now, deliveries);
        }
        deliveries.push(Delivery {
            at: now + IDEAL_DELAY,
            flip_bit: None,
        });
        Fate::Delivered
    }

    fn next_decision(&self) -> Option<Instant> {
        self.port.next_decision()
    }

    fn decide(&mut self, now: Instant, decisions: &mut Vec<Decision>) {
        self.port.decide(now, decisions);
    }
}

/// Why a device cannot have what its report needs from before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unprepared {
    /// The client has given up.
    #[error("{0}")]
    Failed(String),
    /// The first connection is not made in time.
    #[error("the first connection was not made within {} s", STEP.as_secs())]
    NotReady,
    /// The kept connection is not silent.
    #[error("the kept connection is not silent until its keep-alive")]
    NotSilent,
    /// The report does not arrive, on an ideal link.
    #[error("its report does not arrive")]
    NoReport,
}

/// What a device does in the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// It sends its report.
    Report,
    /// It keeps its connection alive.
    KeepAlive,
}

/// A device in the cells. Its world's clock is ahead of theirs by the time that its preparation took.
#[derive(Debug)]
pub(super) struct Device {
    world: DeviceWorld,
    ahead: Duration,
    task: Task,
}

impl Device {
    /// A device that is prepared by `before`, and whose task begins at `now`. `keep_alive` is the time without traffic after
    /// which a kept connection is kept alive.
    pub(super) fn new(
        world: DeviceWorld,
        (before, task): (Before, Task),
        keep_alive: Duration,
        now: Instant,
    ) -> Result<Self, Unprepared> {
        let mut device = Self {
            world,
            ahead: Duration::ZERO,
            task,
        };
        device.run_until(now);
        match (before, task) {
            (Before::Nothing, _) => {}
            (Before::Ticket, _) => device.get_ticket(now)?,
            // Half of the time: at a random moment a kept connection is on average so far from its last keep-alive.
            (Before::Connection, Task::Report) => device.keep_connection(now, keep_alive / 2)?,
            (Before::Connection, Task::KeepAlive) => device.await_keep_alive(now, keep_alive)?,
        }
        Ok(device)
    }

    /// Lets it send its report.
    pub(super) fn begin(&mut self) {
        self.world.wake_director();
    }

    fn run_until(&mut self, at: Instant) {
        while self.world.advance_by_one(at) {}
    }

    /// Makes the connection before the report.
    fn connect_before(&mut self, now: Instant) -> Result<Instant, Unprepared> {
        self.world.carrier_mut().set_ideal(true);
        self.world.wake_director();
        let at = now + STEP;
        self.run_until(at);
        self.check(self.world.director().holds_connection())?;
        Ok(at)
    }

    /// Leaves the ideal link.
    fn leave_ideal(&mut self) -> Result<(), Unprepared> {
        self.check(self.world.is_quiet())?;
        self.world.carrier_mut().set_ideal(false);
        Ok(())
    }

    fn check(&self, holds: bool) -> Result<(), Unprepared> {
        match (holds, self.world.director().failure()) {
            (true, None) => Ok(()),
            (_, Some(failure)) => Err(Unprepared::Failed(failure.to_owned())),
            (false, None) => Err(Unprepared::NotReady),
        }
    }

    fn get_ticket(&mut self, now: Instant) -> Result<(), Unprepared> {
        let connected = self.connect_before(now)?;
        self.world.wake_director();
        self.run_until(connected + STEP);
        self.check(self.world.director().has_closed())?;
        self.leave_ideal()?;
        self.ahead = STEP * 2;
        Ok(())
    }

    /// Makes the connection, which is silent for `silence` before the report.
    fn keep_connection(&mut self, now: Instant, silence: Duration) -> Result<(), Unprepared> {
        let connected = self.connect_before(now)?;
        self.run_until(connected + silence);
        self.check(self.world.director().holds_connection())?;
        self.ahead = STEP + silence;
        self.leave_ideal()
    }

    /// Makes the connection, which is silent until its keep-alive leaves.
    fn await_keep_alive(&mut self, now: Instant, keep_alive: Duration) -> Result<(), Unprepared> {
        let connected = self.connect_before(now)?;
        self.leave_ideal()?;
        let latest = connected + keep_alive * 2;
        while !self.world.carrier_mut().has_offered && self.world.advance_by_one(latest) {}
        self.check(self.world.director().holds_connection())?;
        self.ahead = self.world.now().saturating_since(now);
        if self.ahead < keep_alive.saturating_sub(Duration::from_secs(1)) {
            return Err(Unprepared::NotSilent);
        }
        Ok(())
    }

    /// Sends the report over the ideal link, as a trial.
    pub(super) fn try_report(&mut self, now: Instant) -> Result<(), Unprepared> {
        self.world.carrier_mut().set_ideal(true);
        self.begin();
        self.run_until(now + self.ahead + STEP);
        let is_here = self.world.observer().0.is_some();
        match (is_here, self.world.director().failure()) {
            (true, None) => Ok(()),
            (_, Some(failure)) => Err(Unprepared::Failed(failure.to_owned())),
            (false, None) => Err(Unprepared::NoReport),
        }
    }

    /// Lets its world catch up.
    pub(super) fn advance(&mut self, now: Instant) {
        self.run_until(now + self.ahead);
    }

    /// Takes the packets that it or its server has sent, as they cross the air.
    pub(super) fn offered(&mut self) -> Vec<Offered> {
        let packets: Vec<Offered> = self.world.carrier_mut().port.offered().collect();
        let on_air = |packet: Offered| {
            let wire_bytes = self.world.tap_mut().next_on_air().unwrap_or(packet.wire_bytes);
            Offered { wire_bytes, ..packet }
        };
        packets.into_iter().map(on_air).collect()
    }

    /// Keeps its packets from now on.
    pub(super) fn record(&mut self) {
        self.world.tap_mut().recording = Some(Box::default());
    }

    /// Takes its packets, in the time of the cells.
    pub(super) fn take_recording(&mut self) -> Vec<Record> {
        let recording = self.world.tap_mut().recording.take();
        let mut records = recording.map_or_else(Vec::new, |recording| recording.into_records());
        for record in &mut records {
            match record {
                Record::Packet(packet) => packet.entered = packet.entered - self.ahead,
                Record::Delivery(delivery) => delivery.actual = delivery.actual - self.ahead,
            }
        }
        records
    }

    /// Gives back the fate of a packet, which became known at `now`.
    pub(super) fn decided(&mut self, decision: Decision, now: Instant) {
        let decision = Decision {
            arrives: decision.arrives.map(|at| at + self.ahead),
            ..decision
        };
        let now = now + self.ahead;
        self.world.carrier_mut().port.decided(decision, now);
    }

    /// When something happens to it next, in the time of the cells.
    pub(super) fn next_event(&self) -> Option<Instant> {
        Some(self.world.next_event()? - self.ahead)
    }

    /// When its report arrived at the server, in the time of the cells.
    pub(super) fn arrived(&self) -> Option<Instant> {
        Some(self.world.observer().0? - self.ahead)
    }

    /// Bytes of its IP packets that cross the cells, up and down.
    pub(super) const fn bytes(&self) -> [u64; 2] {
        self.world.tap().ip_bytes
    }

    /// The bytes of what crosses the air in their place.
    pub(super) const fn air_bytes(&self) -> [u64; 2] {
        self.world.tap().air_bytes
    }

    /// Bytes of the contents of its TCP segments and UDP datagrams that cross the cells, up and down.
    #[cfg(test)]
    pub(super) const fn contents(&self) -> [u64; 2] {
        self.world.tap().contents
    }

    /// Whether no packet is in transit and every segment is acknowledged.
    pub(super) fn is_quiet(&self) -> bool {
        self.world.is_quiet()
    }

    /// What it does in the cells.
    pub(super) const fn task(&self) -> Task {
        self.task
    }

    /// Whether its task is done: the report has arrived and needs nothing more, or the keep-alive is answered.
    pub(super) fn is_done(&self) -> bool {
        match self.task {
            Task::Report => self.arrived().is_some() && self.world.director().is_done(),
            Task::KeepAlive => self.bytes().iter().all(|bytes| *bytes > 0),
        }
    }
}
