//! One limit for everything that a loop holds for its flows: incomplete messages and handshakes, unread answers.
//!
//! Above the limit, the flow that holds most ends first, and of those that hold the same, the one that was opened first. A
//! flow on which nothing moves ends after a while.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use wirecost_proto::driver::{Ended, ServiceObserver};
use wirecost_proto::{Endpoint, FlowId, Held, Input, Instant, ResetReason};

use super::ServerLoop;
use super::flows::{Flow, Flows};

/// How long nothing may move on a flow with an incomplete message or unread answers: the default of nginx
/// (`client_body_timeout`, `send_timeout`).
pub(super) const STALL: Duration = Duration::from_secs(60);
/// How often stalled flows are looked for, within the time after which they are.
const LOOKS: u32 = 12;
/// How long a connection without a complete message keeps its descriptor while others wait for one.
const SILENCE: Duration = Duration::from_secs(5);

/// What the flows of a loop hold.
#[derive(Debug)]
pub(super) struct Budget {
    /// The limit; `None` if nothing is accounted.
    most: Option<usize>,
    /// Bytes of all flows.
    total: usize,
    /// The flows that hold anything, by size. Of equal ones the oldest is last.
    holders: BTreeSet<(usize, Reverse<Instant>, FlowId)>,
}

/// What one flow holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    bytes: usize,
    is_unfinished: bool,
    opened: Instant,
    /// When bytes last arrived or left.
    pub(super) moved: Instant,
    /// Whether the endpoint has consumed anything.
    pub(super) has_spoken: bool,
}

impl Holding {
    /// A flow that opens now.
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            bytes: 0,
            is_unfinished: false,
            opened: now,
            moved: now,
            has_spoken: false,
        }
    }
}

impl Budget {
    pub(super) const fn new(most: Option<usize>) -> Self {
        Self {
            most,
            total: 0,
            holders: BTreeSet::new(),
        }
    }

    pub(super) const fn is_limited(&self) -> bool {
        self.most.is_some()
    }

    /// Notes what a flow holds from now on.
    fn set(&mut self, id: FlowId, holding: &mut Holding, held: Held) {
        holding.is_unfinished = held.is_unfinished;
        if holding.bytes == held.bytes {
            return;
        }
        self.remove(id, holding);
        holding.bytes = held.bytes;
        if held.bytes > 0 {
            self.total += held.bytes;
            self.holders.insert((held.bytes, Reverse(holding.opened), id));
        }
    }

    /// Forgets what a flow holds.
    pub(super) fn remove(&mut self, id: FlowId, holding: &Holding) {
        if holding.bytes > 0 && self.holders.remove(&(holding.bytes, Reverse(holding.opened), id)) {
            self.total -= holding.bytes;
        }
    }

    /// Removes the flow that holds most if all flows, together with `stored` bytes, hold more than the limit.
    fn take_largest(&mut self, stored: usize) -> Option<FlowId> {
        if self.total + stored <= self.most? {
            return None;
        }
        let (bytes, _, flow) = self.holders.pop_last()?;
        self.total -= bytes;
        Some(flow)
    }

    /// The flows on which nothing has moved for `stall`, although something is unfinished.
    fn stalled(&self, flows: &Flows, now: Instant, stall: Duration) -> Vec<FlowId> {
        let is_stalled =
            |flow: &Flow| flow.holding.is_unfinished && now.saturating_since(flow.holding.moved) >= stall;
        let holders = self.holders.iter().map(|(_, _, id)| *id);
        holders
            .filter(|id| flows.get(*id).is_some_and(is_stalled))
            .collect()
    }
}

impl<E, O> ServerLoop<E, O>
where
    E: Endpoint<Error: std::fmt::Display>,
    O: ServiceObserver<E>,
{
    /// Limits what the loop holds for all flows together, in bytes, with what its endpoints store. Above the limit, it ends
    /// the flow that holds most. It also ends flows with an incomplete message or unread answers on which nothing moves for
    /// a minute. The default is no limit.
    #[must_use]
    pub fn with_budget(mut self, bytes: usize) -> Self {
        self.budget = Budget::new(Some(bytes));
        self
    }

    /// Sets how long nothing may move on a flow with an incomplete message or unread answers, if there is a limit. The
    /// default is a minute.
    #[must_use]
    pub fn with_stall(self, stall: Duration) -> Self {
        Self { stall, ..self }
    }

    /// Notes what a flow holds now, and ends flows until the limit is kept.
    pub(super) fn weigh(&mut self, id: FlowId) {
        if !self.budget.is_limited() {
            return;
        }
        let Some(flow) = self.flows.get_mut(id).filter(|flow| !flow.is_doomed) else {
            return;
        };
        let held = self.services[flow.service].service.endpoint.held(id);
        let waiting = flow.connection.as_ref().map_or(0, |connection| connection.held());
        let held = held.and(Held::incomplete(waiting));
        let held_before = flow.holding.bytes;
        self.budget.set(id, &mut flow.holding, held);
        // Only what has grown can have passed the limit.
        if held.bytes > held_before {
            self.keep_budget();
        }
        if held.is_unfinished {
            self.look_for_stalled();
        }
    }

    fn keep_budget(&mut self) {
        let services = self.services.iter();
        let stored = services
            .map(|running| running.service.endpoint.stored_bytes())
            .sum();
        while let Some(largest) = self.budget.take_largest(stored) {
            self.doom(largest, Ended::LargestHolder);
        }
    }

    /// Drops what the driver holds for a flow. The endpoint learns of its end when it is not in a call.
    fn doom(&mut self, id: FlowId, why: Ended) {
        let Some(flow) = self.flows.get_mut(id).filter(|flow| !flow.is_doomed) else {
            return;
        };
        flow.is_doomed = true;
        let (peer, bytes) = (flow.peer, flow.holding.bytes);
        self.budget.remove(id, &flow.holding);
        flow.holding.bytes = 0;
        if let Some(connection) = &mut flow.connection {
            connection.give_up();
        }
        if self.at_hand == Some(id) {
            self.answer = Vec::new();
        }
        // Ended later: an endpoint that is in a call must not lose its flow under its hands.
        self.doomed.push(id);
        self.observer.ended(peer, bytes, why);
    }

    /// Ends the flows for which there was no room.
    pub(super) fn end_doomed(&mut self) -> io::Result<()> {
        while let Some(flow) = self.doomed.pop() {
            self.lost(flow, ResetReason::Local)?;
        }
        Ok(())
    }

    fn look_for_stalled(&mut self) {
        let next = self.clock.now() + self.stall / LOOKS;
        self.wakes.want(self.services.len() + 1, next);
    }

    /// Ends the flows on which nothing moves.
    pub(super) fn end_stalled(&mut self, now: Instant) {
        for flow in self.budget.stalled(&self.flows, now, self.stall) {
            self.doom(flow, Ended::Stalled(self.stall));
        }
        if !self.budget.holders.is_empty() {
            self.look_for_stalled();
        }
        // Connections that were silent too briefly may have been silent for long enough.
        for service in std::mem::take(&mut self.starved) {
            self.hear_later(service);
        }
    }

    /// Looks again for a silent connection whose descriptor a waiting one can have.
    pub(super) fn wait_for_silence(&mut self) {
        if self.budget.is_limited() {
            let then = self.clock.now() + SILENCE;
            self.wakes.want(self.services.len() + 1, then);
        }
    }

    /// Takes the descriptor of the oldest connection on which nothing complete has arrived. Returns whether there was one.
    pub(super) fn free_descriptor(&mut self, service: usize) -> io::Result<bool> {
        if !self.budget.is_limited() {
            return Ok(false);
        }
        let now = self.clock.now();
        let is_silent = |flow: &Flow| {
            let age = now.saturating_since(flow.holding.opened);
            flow.connection.is_some() && !flow.holding.has_spoken && age >= SILENCE
        };
        let start = self.services[service].oldest;
        let Some((silent, next)) = self.flows.find_from(start, is_silent) else {
            return Ok(false);
        };
        self.services[service].oldest = next;
        self.doom(silent, Ended::Silent(SILENCE));
        self.end_doomed()?;
        Ok(true)
    }

    /// Passes the loss of a flow to its endpoint.
    pub(super) fn lost(&mut self, flow: FlowId, reason: ResetReason) -> io::Result<()> {
        let Some(found) = self.flows.get(flow) else {
            return Ok(());
        };
        let service = found.service;
        match found.connection.is_some() {
            true => self.drop_connection(flow),
            false => self.forget_peer(flow),
        }
        self.input(service, Some(flow), Input::Reset { flow, reason }, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn flow(number: u32, opened_ms: u64) -> (FlowId, Holding) {
        (FlowId(number), Holding::new(Instant::from_millis(opened_ms)))
    }

    #[test]
    fn the_largest_holder_goes_first_and_of_equal_ones_the_oldest() {
        let mut budget = Budget::new(Some(100));
        let mut flows = [flow(7, 3), flow(8, 1), flow(9, 2), flow(1, 4)];
        for ((id, holding), bytes) in flows.iter_mut().zip([40, 40, 50, 10]) {
            budget.set(*id, holding, Held::incomplete(bytes));
        }
        assert_eq!(budget.take_largest(0), Some(FlowId(9)));
        assert_eq!(budget.take_largest(0), None, "90 B are within the limit");
        assert_eq!(budget.take_largest(11), Some(FlowId(8)), "what is stored counts");
        assert_eq!((budget.total, budget.take_largest(11)), (50, None));
    }

    #[test]
    fn what_a_flow_holds_no_longer_does_not_count() {
        let mut budget = Budget::new(Some(100));
        let (id, mut holding) = flow(0, 0);
        for bytes in [70, 90, 0, 30] {
            budget.set(id, &mut holding, Held::incomplete(bytes));
            assert_eq!((budget.total, holding.bytes), (bytes, bytes));
        }
        budget.remove(id, &holding);
        assert_eq!((budget.total, budget.holders.len()), (0, 0));
    }
}
