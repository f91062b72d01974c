//! The server's own messages that are waiting or unacknowledged, of all peers.
//!
//! Every lookup uses an index, so that many messages of one peer do not slow down the others.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use wirecost_proto::{FlowId, Instant};

use crate::layout::Layout;
use crate::parameters::{Backoff, Expiry, TransmissionParameters};
use crate::token::Token;

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The response to a request that was acknowledged before.
    Separate,
    /// A notification for the observer with this token.
    Notification { token: Token },
    /// The last message of an observation that the server ended.
    Ending,
}

/// The state of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Must not be sent before `due`.
    Delayed { due: Instant },
    /// Waits for its turn (NSTART).
    Waiting,
    /// Sent, not yet acknowledged.
    AwaitAck(Backoff),
}

/// A message that the server sends on its own.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) flow: FlowId,
    pub(super) message_id: u16,
    pub(super) confirmable: bool,
    pub(super) datagram: Vec<u8>,
    pub(super) layout: Layout,
    pub(super) purpose: Purpose,
    pub(super) state: State,
}

/// Identifies a message by its number in the order of creation, and its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageKey {
    number: u64,
    pub(super) flow: FlowId,
}

/// The messages to one peer.
#[derive(Debug, Default)]
struct Peer {
    /// Sent but unacknowledged messages, at most NSTART.
    sent: Vec<u64>,
    /// Confirmable messages that wait for their turn.
    waiting: BTreeSet<u64>,
    separate: usize,
}

/// All messages to all peers.
#[derive(Debug)]
pub(super) struct Outgoings {
    nstart: usize,
    messages: BTreeMap<(FlowId, u64), Outgoing>,
    peers: BTreeMap<FlowId, Peer>,
    delays: BTreeSet<(Instant, MessageKey)>,
    backoffs: BTreeSet<(Instant, MessageKey)>,
    /// Messages that may be sent. Of a peer's confirmable messages only the first one, if NSTART allows it.
    turns: BTreeSet<MessageKey>,
    /// The number of messages created so far.
    made: u64,
    separate: usize,
    /// The number of visited messages.
    #[cfg(test)]
    pub(super) visits: u64,
}

impl Outgoings {
    pub(super) const fn new(nstart: usize) -> Self {
        Self {
            nstart,
            messages: BTreeMap::new(),
            peers: BTreeMap::new(),
            delays: BTreeSet::new(),
            backoffs: BTreeSet::new(),
            turns: BTreeSet::new(),
            made: 0,
            separate: 0,
            #[cfg(test)]
            visits: 0,
        }
    }

    /// Adds a message that is delayed or waits.
    pub(super) fn push(&mut self, outgoing: Outgoing) -> MessageKey {
        let flow = outgoing.flow;
        let number = self.made;
        let key = MessageKey { number, flow };
        self.made += 1;
        let separate = usize::from(outgoing.purpose == Purpose::Separate);
        self.separate += separate;
        self.peers.entry(flow).or_default().separate += separate;
        let (state, confirmable) = (outgoing.state, outgoing.confirmable);
        self.messages.insert((flow, number), outgoing);
        match state {
            State::Delayed { due } => drop(self.delays.insert((due, key))),
            _ => self.wait(key, confirmable),
        }
        key
    }

    /// The number of separate responses to a peer, and to all peers.
    pub(super) fn separate(&self, flow: FlowId) -> (usize, usize) {
        let of_peer = self.peers.get(&flow).map_or(0, |peer| peer.separate);
        (of_peer, self.separate)
    }

    /// When the next message must be sent or retransmitted.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let firsts = [self.delays.first(), self.backoffs.first()];
        firsts.into_iter().flatten().map(|(at, _)| *at).min()
    }

    /// Ends the delay of messages that are due. They may still have to wait for their turn.
    pub(super) fn end_delays(&mut self, now: Instant) {
        while let Some((_, key)) = pop_due(&mut self.delays, now) {
            let Some(outgoing) = self.get_mut(key) else {
                continue;
            };
            outgoing.state = State::Waiting;
            let confirmable = outgoing.confirmable;
            self.wait(key, confirmable);
        }
    }

    /// Takes the first message that may be sent: its peer has fewer than NSTART outstanding ones.
    pub(super) fn next_turn(&mut self) -> Option<MessageKey> {
        while let Some(key) = self.turns.pop_first() {
            let confirmable = self.get_mut(key).is_some_and(|outgoing| outgoing.confirmable);
            if !confirmable || self.may_send(key.flow) {
                return Some(key);
            }
        }
        None
    }

    /// Records that a confirmable message was sent.
    pub(super) fn await_ack(&mut self, key: MessageKey, backoff: Backoff) {
        let Some(outgoing) = self.get_mut(key) else {
            return;
        };
        outgoing.state = State::AwaitAck(backoff);
        self.backoffs.insert((backoff.deadline(), key));
        if let Some(peer) = self.peers.get_mut(&key.flow) {
            peer.waiting.remove(&key.number);
            peer.sent.push(key.number);
        }
        self.schedule_next(key.flow);
    }

    /// Takes the first message whose time-out expired, and the resulting action.
    pub(super) fn expire(
        &mut self,
        parameters: &TransmissionParameters,
        now: Instant,
    ) -> Option<(MessageKey, Expiry)> {
        while let Some((_, key)) = pop_due(&mut self.backoffs, now) {
            let Some(State::AwaitAck(backoff)) = self.get_mut(key).map(|outgoing| &mut outgoing.state) else {
                continue;
            };
            let expiry = backoff.expire(parameters, now);
            let again = backoff.deadline();
            self.backoffs.insert((again, key));
            if let Some(expiry) = expiry {
                return Some((key, expiry));
            }
        }
        None
    }

    /// Removes the message that an ACK or RST refers to.
    pub(super) fn settle(&mut self, flow: FlowId, message_id: u16) -> Option<Outgoing> {
        let sent = &self.peers.get(&flow)?.sent;
        let matches = |number: &&u64| {
            let outgoing = self.messages.get(&(flow, **number));
            outgoing.is_some_and(|outgoing| outgoing.message_id == message_id)
        };
        let number = *sent.iter().find(matches)?;
        self.remove(MessageKey { number, flow })
    }

    pub(super) fn get_mut(&mut self, key: MessageKey) -> Option<&mut Outgoing> {
        #[cfg(test)]
        {
            self.visits += 1;
        }
        self.messages.get_mut(&(key.flow, key.number))
    }

    /// Removes a message. The next one of its peer may get its turn.
    pub(super) fn remove(&mut self, key: MessageKey) -> Option<Outgoing> {
        let outgoing = self.messages.remove(&(key.flow, key.number))?;
        match &outgoing.state {
            State::Delayed { due } => drop(self.delays.remove(&(*due, key))),
            State::Waiting => drop(self.turns.remove(&key)),
            State::AwaitAck(backoff) => drop(self.backoffs.remove(&(backoff.deadline(), key))),
        }
        let separate = usize::from(outgoing.purpose == Purpose::Separate);
        self.separate -= separate;
        if let Some(peer) = self.peers.get_mut(&key.flow) {
            peer.separate -= separate;
            peer.waiting.remove(&key.number);
            peer.sent.retain(|number| *number != key.number);
        }
        self.schedule_next(key.flow);
        Some(outgoing)
    }

    /// Removes the first message of a peer.
    pub(super) fn remove_any(&mut self, flow: FlowId) -> Option<Outgoing> {
        let mut of_peer = self.messages.range((flow, 0)..=(flow, u64::MAX));
        let number = of_peer.next().map(|((_, number), _)| *number);
        match number {
            Some(number) => self.remove(MessageKey { number, flow }),
            None => {
                self.peers.remove(&flow);
                None
            }
        }
    }

    fn wait(&mut self, key: MessageKey, confirmable: bool) {
        if !confirmable {
            self.turns.insert(key);
            return;
        }
        self.peers.entry(key.flow).or_default().waiting.insert(key.number);
        self.schedule_next(key.flow);
    }

    fn may_send(&self, flow: FlowId) -> bool {
        let peer = self.peers.get(&flow);
        peer.is_none_or(|peer| peer.sent.len() < self.nstart)
    }

    /// Gives the first waiting confirmable message of a peer its turn, if NSTART allows it.
    fn schedule_next(&mut self, flow: FlowId) {
        let may_send = self.may_send(flow);
        let Some(peer) = self.peers.get(&flow) else {
            return;
        };
        let idle = peer.sent.is_empty() && peer.waiting.is_empty() && peer.separate == 0;
        match peer.waiting.first() {
            Some(&number) if may_send => drop(self.turns.insert(MessageKey { number, flow })),
            _ if idle => drop(self.peers.remove(&flow)),
            _ => {}
        }
    }
}

fn pop_due(times: &mut BTreeSet<(Instant, MessageKey)>, now: Instant) -> Option<(Instant, MessageKey)> {
    times.first().filter(|(at, _)| *at <= now)?;
    times.pop_first()
}
