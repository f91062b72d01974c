//! The state of QoS 1 and 2 messages on either side of a session (section 4.3), and the flow control of section 4.9.
//! Client and broker use it for both protocol versions.
//!
//! ```text
//! sender                                     receiver
//!   PUBLISH qos 1  -- AwaitPuback -->
//!                                        <-- PUBACK
//!   PUBLISH qos 2  -- AwaitPubrec -->          store the identifier
//!                                        <-- PUBREC
//!   PUBREL         -- AwaitPubcomp -->         remove it
//!                                        <-- PUBCOMP
//! ```

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::codec::{PacketType, ProtocolError};
use crate::quality::{PacketId, QoS};

/// The packet that an exchange waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "an exchange's state is what it awaits")]
pub(crate) enum Stage {
    AwaitPuback,
    AwaitPubrec,
    AwaitPubcomp,
    AwaitSuback,
    AwaitUnsuback,
}

impl Stage {
    /// Whether PUBLISH is the packet to resend.
    const fn awaits_first_answer(self) -> bool {
        matches!(self, Self::AwaitPuback | Self::AwaitPubrec)
    }

    /// The type of the awaited packet.
    pub(crate) const fn answer(self) -> PacketType {
        match self {
            Self::AwaitPuback => PacketType::Puback,
            Self::AwaitPubrec => PacketType::Pubrec,
            Self::AwaitPubcomp => PacketType::Pubcomp,
            Self::AwaitSuback => PacketType::Suback,
            Self::AwaitUnsuback => PacketType::Unsuback,
        }
    }

    /// Whether the exchange belongs to the session. Otherwise it ends with the connection.
    const fn is_session_state(self) -> bool {
        !matches!(self, Self::AwaitSuback | Self::AwaitUnsuback)
    }
}

/// An unfinished exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange<M> {
    pub(crate) id: PacketId,
    pub(crate) stage: Stage,
    pub(crate) message: M,
    /// Whether its PUBLISH was sent on this connection, and so counts for the receive maximum.
    holds_quota: bool,
}

/// Why an answer ends no exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// No exchange has this identifier, for example because it ended. A network can cause this.
    Unknown,
    /// The exchange waits for another packet. A receiver that follows section 4.3 cannot cause this.
    OtherKind,
}

impl Mismatch {
    /// The protocol error of the answer, if it is one (section 4.13.1).
    pub(crate) const fn fault(self, answer: PacketType) -> Result<(), ProtocolError> {
        match self {
            Self::Unknown => Ok(()),
            Self::OtherKind => Err(ProtocolError::Unexpected(answer)),
        }
    }
}

/// The result of a PUBREC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pubrec<M> {
    /// Answer with PUBREL.
    Release,
    /// The receiver refused the message. The exchange ended.
    Refused(M),
}

/// The exchanges that this side started, in the order of their first packets.
#[derive(Clone, Debug)]
pub(crate) struct Outbound<M> {
    exchanges: VecDeque<Exchange<M>>,
    last_id: u16,
    /// The send quota of section 4.9.
    quota: u16,
    receive_maximum: u16,
    /// The number of exchanges that were sent on this connection.
    resent: usize,
}

impl<M> Outbound<M> {
    pub(crate) const fn new() -> Self {
        Self {
            exchanges: VecDeque::new(),
            last_id: 0,
            quota: 0,
            receive_maximum: 0,
            resent: 0,
        }
    }

    /// Starts a connection with this receive maximum. Unfinished exchanges will be resent.
    pub(crate) fn connect(&mut self, receive_maximum: u16) {
        self.exchanges
            .retain(|exchange| exchange.stage.is_session_state());
        for exchange in &mut self.exchanges {
            exchange.holds_quota = false;
        }
        self.receive_maximum = receive_maximum;
        // Section 4.9: every connection starts with the full quota.
        self.quota = receive_maximum;
        self.resent = 0;
    }

    /// Takes the receive maximum of this connection, which becomes known after its first message was sent.
    pub(crate) fn learn(&mut self, receive_maximum: u16) {
        let holds = self.exchanges.iter().filter(|exchange| exchange.holds_quota);
        let held = u16::try_from(holds.count()).unwrap_or(u16::MAX);
        self.receive_maximum = receive_maximum;
        self.quota = receive_maximum.saturating_sub(held);
    }

    /// Gives back the memory of an empty list of exchanges.
    pub(crate) fn rest(&mut self) {
        if self.exchanges.is_empty() {
            self.exchanges = VecDeque::new();
        }
    }

    /// Drops all exchanges, oldest first.
    pub(crate) fn discard(&mut self) -> impl Iterator<Item = M> + '_ {
        self.resent = 0;
        self.exchanges.drain(..).map(|exchange| exchange.message)
    }

    /// Whether a new QoS 1 or 2 message may be sent now: in order [MQTT-4.6.0-1], within the send quota [MQTT-4.9.0-2]
    /// and with a free packet identifier.
    pub(crate) fn is_ready(&self) -> bool {
        self.quota > 0 && self.resent == self.exchanges.len() && self.next_id().is_some()
    }

    /// Starts the exchange of a QoS 1 or 2 message; `None` if it must wait.
    pub(crate) fn publish(&mut self, qos: QoS, message: M) -> Option<PacketId> {
        if !self.is_ready() {
            return None;
        }
        let stage = match qos {
            QoS::ExactlyOnce => Stage::AwaitPubrec,
            _ => Stage::AwaitPuback,
        };
        let id = self.start(stage, message)?;
        self.quota -= 1;
        if let Some(newest) = self.exchanges.back_mut() {
            newest.holds_quota = true;
        }
        Some(id)
    }

    /// Starts an exchange that does not count for the receive maximum; `None` if no identifier is free.
    pub(crate) fn start(&mut self, stage: Stage, message: M) -> Option<PacketId> {
        let id = self.next_id()?;
        self.last_id = id.get();
        if self.resent == self.exchanges.len() {
            self.resent += 1;
        }
        // In a ring of one, the exchange is always in the same place, which stays in the caches.
        if self.exchanges.capacity() == 0 {
            self.exchanges.reserve_exact(1);
        }
        self.exchanges.push_back(Exchange {
            id,
            stage,
            message,
            holds_quota: false,
        });
        Some(id)
    }

    /// The identifier after the last one. Identifiers are used in a ring. Those in use are in order between the oldest
    /// and the newest one, so the next is free unless it is the oldest [MQTT-2.2.1-3].
    pub(crate) fn next_id(&self) -> Option<PacketId> {
        let id = PacketId::new(self.last_id.wrapping_add(1)).unwrap_or(PacketId::MIN);
        let oldest = self.exchanges.front().map(|exchange| exchange.id);
        (oldest != Some(id)).then_some(id)
    }

    /// Ends the exchange `id`, which must be in `stage`.
    pub(crate) fn finish(&mut self, id: PacketId, stage: Stage) -> Result<M, Mismatch> {
        let index = self.position(id).ok_or(Mismatch::Unknown)?;
        let is_awaited = |exchange: &Exchange<M>| exchange.stage == stage;
        if !self.exchanges.get(index).is_some_and(is_awaited) {
            return Err(Mismatch::OtherKind);
        }
        let exchange = match index {
            0 => self.exchanges.pop_front(),
            _ => self.exchanges.remove(index),
        };
        let exchange = exchange.ok_or(Mismatch::Unknown)?;
        if index < self.resent {
            self.resent -= 1;
        }
        // Section 4.9 returns one for every PUBACK and PUBCOMP (and for a PUBREC with a failure, see `pubrec`), up to
        // the maximum. A resent PUBREL has taken none on this connection. To return one for it would break
        // [MQTT-4.9.0-2].
        if exchange.holds_quota {
            self.quota = self.quota.saturating_add(1).min(self.receive_maximum);
        }
        Ok(exchange.message)
    }

    /// Handles a PUBREC for `id`.
    pub(crate) fn pubrec(&mut self, id: PacketId, refused: bool) -> Result<Pubrec<M>, Mismatch> {
        if refused {
            return self.finish(id, Stage::AwaitPubrec).map(Pubrec::Refused);
        }
        let index = self.position(id);
        match index.and_then(|index| self.exchanges.get_mut(index)) {
            Some(exchange) if matches!(exchange.stage, Stage::AwaitPubrec | Stage::AwaitPubcomp) => {
                // [MQTT-4.3.3-6]: from now on PUBREL is resent, never PUBLISH.
                exchange.stage = Stage::AwaitPubcomp;
                Ok(Pubrec::Release)
            }
            Some(_) => Err(Mismatch::OtherKind),
            None => Err(Mismatch::Unknown),
        }
    }

    /// The next exchange to resend on this connection [MQTT-4.4.0-1]; `None` if there is none or the quota is used up.
    pub(crate) fn next_resend(&mut self) -> Option<&Exchange<M>> {
        let exchange = self.exchanges.get_mut(self.resent)?;
        if exchange.stage.awaits_first_answer() {
            self.quota = self.quota.checked_sub(1)?;
            exchange.holds_quota = true;
        }
        self.resent += 1;
        Some(exchange)
    }

    /// Whether a packet identifier is free for another exchange.
    pub(crate) fn has_free_id(&self) -> bool {
        self.next_id().is_some()
    }

    /// The number of unfinished exchanges.
    pub(crate) fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// The packet identifier and the stage of the oldest exchange.
    pub(crate) fn oldest(&self) -> Option<(PacketId, Stage)> {
        self.exchanges
            .front()
            .map(|exchange| (exchange.id, exchange.stage))
    }

    /// The index of `id`. The exchanges are in the order of the ring.
    fn position(&self, id: PacketId) -> Option<usize> {
        let oldest = self.exchanges.front()?.id;
        // Most exchanges are answered in order.
        if id == oldest {
            return Some(0);
        }
        let distance = |id: PacketId| match id.get().checked_sub(oldest.get()) {
            Some(ahead) => u32::from(ahead),
            None => 65_535 + u32::from(id.get()) - u32::from(oldest.get()),
        };
        self.exchanges
            .binary_search_by_key(&distance(id), |exchange| distance(exchange.id))
            .ok()
    }
}

/// The identifiers of received QoS 2 messages without PUBREL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbound {
    unreleased: Vec<PacketId>,
}

impl Inbound {
    /// Stores `id`. Returns whether its message is new [MQTT-4.3.3-10].
    pub(crate) fn receive(&mut self, id: PacketId) -> bool {
        let position = self.unreleased.binary_search(&id);
        if let Err(position) = position {
            self.unreleased.insert(position, id);
        }
        position.is_err()
    }

    /// Removes `id` after its PUBREL. Returns whether it was stored.
    pub(crate) fn release(&mut self, id: PacketId) -> bool {
        let position = self.unreleased.binary_search(&id);
        if let Ok(position) = position {
            self.unreleased.remove(position);
        }
        position.is_ok()
    }

    /// Whether the message of `id` waits for its PUBREL.
    pub(crate) fn contains(&self, id: PacketId) -> bool {
        self.unreleased.binary_search(&id).is_ok()
    }

    /// The number of messages that wait for their PUBREL.
    pub(crate) fn len(&self) -> usize {
        self.unreleased.len()
    }

    /// Gives back the memory of an empty list.
    pub(crate) fn rest(&mut self) {
        if self.unreleased.is_empty() {
            self.unreleased = Vec::new();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.unreleased.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(id: u16) -> PacketId {
        PacketId::new(id).unwrap()
    }

    fn connected(receive_maximum: u16) -> Outbound<u16> {
        let mut outbound = Outbound::new();
        outbound.connect(receive_maximum);
        outbound
    }

    #[test]
    fn identifiers_are_used_in_a_ring_and_never_twice_at_once() {
        let mut outbound = connected(u16::MAX);
        for number in 1..=u16::MAX {
            assert_eq!(outbound.publish(QoS::AtLeastOnce, number), Some(id(number)));
        }
        assert_eq!(outbound.publish(QoS::AtLeastOnce, 0), None, "all are in use");
        assert_eq!(outbound.finish(id(2), Stage::AwaitPuback), Ok(2));
        assert!(!outbound.is_ready(), "the oldest is in the way");
        assert_eq!(outbound.finish(id(1), Stage::AwaitPuback), Ok(1));
        assert_eq!(outbound.publish(QoS::AtLeastOnce, 7), Some(id(1)));
        assert_eq!(outbound.finish(id(40_000), Stage::AwaitPuback), Ok(40_000));
        assert_eq!(outbound.finish(id(1), Stage::AwaitPuback), Ok(7));
    }

    #[test]
    fn an_answer_of_the_wrong_type_ends_no_exchange() {
        let mut outbound = connected(2);
        outbound.publish(QoS::AtLeastOnce, 1);
        outbound.publish(QoS::ExactlyOnce, 2);
        let (unknown, other_kind) = (Mismatch::Unknown, Mismatch::OtherKind);
        assert_eq!(outbound.finish(id(3), Stage::AwaitPuback), Err(unknown));
        assert_eq!(outbound.finish(id(1), Stage::AwaitPubcomp), Err(other_kind));
        assert_eq!(outbound.pubrec(id(1), false), Err(other_kind));
        assert_eq!(outbound.pubrec(id(1), true), Err(other_kind));
        assert_eq!(outbound.pubrec(id(3), true), Err(unknown));
        assert_eq!(outbound.finish(id(2), Stage::AwaitPubcomp), Err(other_kind));
        assert_eq!(outbound.pubrec(id(2), false), Ok(Pubrec::Release));
        assert_eq!(outbound.pubrec(id(2), false), Ok(Pubrec::Release), "PUBREC again");
        assert_eq!(outbound.finish(id(2), Stage::AwaitPubcomp), Ok(2));
        assert_eq!(outbound.len(), 1);
    }

    /// [MQTT-4.9.0-2] across connections
    #[test]
    fn a_resent_pubrel_returns_no_quota() {
        let mut outbound = connected(2);
        outbound.publish(QoS::ExactlyOnce, 1);
        outbound.publish(QoS::ExactlyOnce, 2);
        assert_eq!(outbound.pubrec(id(1), false), Ok(Pubrec::Release));
        outbound.connect(2);
        let mut resent = Vec::new();
        while let Some(exchange) = outbound.next_resend() {
            resent.push(exchange.stage);
        }
        assert_eq!(resent, [Stage::AwaitPubcomp, Stage::AwaitPubrec]);
        assert!(outbound.publish(QoS::ExactlyOnce, 3).is_some());
        assert_eq!(outbound.finish(id(1), Stage::AwaitPubcomp), Ok(1));
        assert!(!outbound.is_ready(), "2 and 3 are on their way");
    }

    #[test]
    fn resent_and_new_messages_wait_for_the_receive_maximum() {
        let mut outbound = connected(3);
        for number in 1..=3 {
            outbound.publish(QoS::AtLeastOnce, number);
        }
        outbound.connect(1);
        assert_eq!(outbound.next_resend().map(|exchange| exchange.message), Some(1));
        assert!(outbound.next_resend().is_none());
        assert!(!outbound.is_ready());
        assert_eq!(outbound.finish(id(1), Stage::AwaitPuback), Ok(1));
        assert_eq!(outbound.next_resend().map(|exchange| exchange.message), Some(2));
    }
}
