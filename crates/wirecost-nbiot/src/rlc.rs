//! Radio link control in acknowledged mode: segmentation, polls, status reports, retransmission, delivery in order (TS 36.322).
//!
//! One entity per direction carries signalling and data. Bytes are counted, not kept.

use std::collections::{BTreeMap, VecDeque};

use crate::config::Config;

/// What one service data unit carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// An IP packet.
    Packet {
        /// The caller's name for it.
        token: u64,
    },
    /// A signalling message.
    Control(Control),
}

/// A signalling message after Msg4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// RRCConnectionResumeComplete or RRCConnectionSetupComplete.
    Msg5,
    /// SecurityModeCommand and RRCConnectionReconfiguration.
    SecurityDown,
    /// The answers to them.
    SecurityUp,
    /// RRCConnectionRelease.
    Release,
}

impl Payload {
    const fn is_packet(self) -> bool {
        matches!(self, Self::Packet { .. })
    }
}

/// A packet data unit: a part of the queue that fits into one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    number: u32,
    bytes: u32,
    /// Service data units that end in it.
    completes: u16,
    /// Whether it asks for a status report.
    pub poll: bool,
    /// What parts of it are of.
    pub carried: Carried,
}

/// The most packets that one block can have parts of: it has 125 B at most, and a packet 28 B at least.
const MOST_PACKETS: usize = 6;

/// What parts of a packet data unit are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// The first signalling message.
    pub control: Option<Control>,
    packets: [Option<u64>; MOST_PACKETS],
}

impl Carried {
    /// The names of the packets, in their order.
    pub fn packets(&self) -> impl Iterator<Item = u64> + '_ {
        self.packets.iter().copied().flatten()
    }

    fn add(&mut self, payload: Payload) {
        match payload {
            Payload::Control(control) => {
                self.control.get_or_insert(control);
            }
            Payload::Packet { token } => {
                if let Some(free) = self.packets.iter_mut().find(|packet| packet.is_none()) {
                    *free = Some(token);
                }
            }
        }
    }
}

/// A status report: what has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Every number below it has arrived, unless it is missing.
    up_to: u32,
    missing: Vec<u32>,
}

/// Bytes of headers.
#[derive(Clone, Copy, Debug)]
pub struct Overheads {
    /// Of RLC, per service data unit.
    pub rlc: u32,
    /// Of MAC, per packet data unit and control element.
    pub subheader: u32,
    status: u32,
    nack_half_bytes: u32,
    max_retransmissions: u8,
}

impl Overheads {
    /// The overheads of a configuration.
    pub const fn new(config: &Config) -> Self {
        Self {
            rlc: config.rlc.header_bytes,
            subheader: config.mac.subheader_bytes,
            status: config.rlc.status_bytes,
            nack_half_bytes: config.rlc.nack_half_bytes,
            max_retransmissions: config.rlc.max_retransmissions,
        }
    }

    /// Bytes of a status report with `missing` negative acknowledgements, MAC subheader included.
    pub const fn status_bytes(&self, missing: usize) -> u32 {
        self.subheader + self.status + (self.nack_half_bytes * missing as u32).div_ceil(2)
    }
}

#[derive(Clone, Copy, Debug)]
struct Sdu {
    payload: Payload,
    total: u32,
    left: u32,
}

#[derive(Clone, Copy, Debug)]
struct Unacknowledged {
    pdu: Pdu,
    retransmissions: u8,
    is_due: bool,
}

/// The radio link has failed: a packet data unit was sent too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFailure;

/// The sending side.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    queue: VecDeque<Sdu>,
    /// Service data units that were sent whole and not delivered, in order.
    in_flight: VecDeque<Sdu>,
    unacknowledged: VecDeque<Unacknowledged>,
    next_number: u32,
    /// Counts polls: a poll timer is valid while its number is the latest.
    poll: u32,
    is_polling: bool,
    retransmissions: u64,
}

impl Sender {
    /// Queues a payload of `bytes` bytes, headers of upper layers included.
    pub fn push(&mut self, payload: Payload, bytes: u32) {
        let sdu = Sdu {
            payload,
            total: bytes,
            left: bytes,
        };
        // Signalling goes before packets, but not before signalling or a packet that is under way.
        let is_behind = |queued: &&Sdu| !queued.payload.is_packet() || queued.left < queued.total;
        match payload.is_packet() {
            true => self.queue.push_back(sdu),
            false => {
                let at = self.queue.iter().take_while(is_behind).count();
                self.queue.insert(at, sdu);
            }
        }
    }

    /// Bytes that everything to be sent takes, headers of RLC and MAC included. Without `with_packets`, signalling alone counts.
    pub fn needed_bytes(&self, overheads: &Overheads, with_packets: bool) -> u32 {
        let due = self.unacknowledged.iter().filter(|sent| sent.is_due);
        let again: u32 = due.map(|sent| sent.pdu.bytes + overheads.subheader).sum();
        let new: u32 = self
            .sendable(with_packets)
            .map(|sdu| sdu.left + overheads.rlc)
            .sum();
        again + new + if new > 0 { overheads.subheader } else { 0 }
    }

    /// Bytes of the packet data unit that is to be sent again next, MAC subheader included.
    pub fn due_bytes(&self, overheads: &Overheads) -> Option<u32> {
        let due = self.unacknowledged.iter().find(|sent| sent.is_due);
        due.map(|sent| sent.pdu.bytes + overheads.subheader)
    }

    fn sendable(&self, with_packets: bool) -> impl Iterator<Item = &Sdu> {
        self.queue
            .iter()
            .take_while(move |sdu| with_packets || !sdu.payload.is_packet())
    }

    /// Whether there is anything to send.
    pub fn has_data(&self, with_packets: bool) -> bool {
        self.unacknowledged.iter().any(|sent| sent.is_due) || self.sendable(with_packets).next().is_some()
    }

    /// Takes a packet data unit of at most `room` bytes, MAC subheader included: one to be sent again before new ones, and whole.
    pub fn build(&mut self, overheads: &Overheads, room: u32, with_packets: bool) -> Option<Pdu> {
        if let Some(index) = self.unacknowledged.iter().position(|sent| sent.is_due) {
            if self.unacknowledged[index].pdu.bytes + overheads.subheader > room {
                return None;
            }
            self.unacknowledged[index].is_due = false;
            self.unacknowledged[index].pdu.poll = !self.has_data(with_packets);
            self.retransmissions += 1;
            return Some(self.polled(self.unacknowledged[index].pdu));
        }
        let mut pdu = Pdu {
            number: self.next_number,
            bytes: 0,
            completes: 0,
            poll: false,
            carried: Carried::default(),
        };
        let mut left = room.saturating_sub(overheads.subheader);
        while let Some(sdu) = self.queue.front_mut() {
            if left <= overheads.rlc || (!with_packets && sdu.payload.is_packet()) {
                break;
            }
            let taken = sdu.left.min(left - overheads.rlc);
            sdu.left -= taken;
            left -= taken + overheads.rlc;
            pdu.bytes += taken + overheads.rlc;
            pdu.carried.add(sdu.payload);
            if sdu.left == 0 {
                pdu.completes += 1;
                let whole = *sdu;
                self.in_flight.push_back(whole);
                self.queue.pop_front();
            }
        }
        if pdu.bytes == 0 {
            return None;
        }
        self.next_number += 1;
        pdu.poll = !self.has_data(with_packets);
        self.unacknowledged.push_back(Unacknowledged {
            pdu,
            retransmissions: 0,
            is_due: false,
        });
        Some(self.polled(pdu))
    }

    const fn polled(&mut self, pdu: Pdu) -> Pdu {
        if pdu.poll {
            self.poll += 1;
            self.is_polling = true;
        }
        pdu
    }

    /// The number of the latest poll.
    pub const fn poll_number(&self) -> u32 {
        self.poll
    }

    /// Whether a poll has no answer so far.
    pub const fn is_polling(&self) -> bool {
        self.is_polling
    }

    /// Packet data units that were sent again so far.
    pub const fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Takes a status report.
    ///
    /// # Errors
    /// A packet data unit was sent again too often.
    pub fn handle_status(&mut self, status: &Status, overheads: &Overheads) -> Result<(), LinkFailure> {
        self.is_polling = false;
        self.unacknowledged
            .retain(|sent| sent.pdu.number >= status.up_to || status.missing.contains(&sent.pdu.number));
        for sent in &mut self.unacknowledged {
            if status.missing.contains(&sent.pdu.number) && !sent.is_due {
                sent.send_again(overheads)?;
            }
        }
        Ok(())
    }

    /// Takes the end of the poll timer: without an answer to the latest poll, the last packet data unit is sent again.
    ///
    /// # Errors
    /// A packet data unit was sent again too often.
    pub fn handle_poll_timer(&mut self, poll: u32, overheads: &Overheads) -> Result<(), LinkFailure> {
        if poll != self.poll || !self.is_polling {
            return Ok(());
        }
        match self.unacknowledged.back_mut() {
            Some(sent) if !sent.is_due => sent.send_again(overheads),
            _ => Ok(()),
        }
    }

    /// Takes the payloads of `count` service data units that have arrived.
    pub fn delivered(&mut self, count: u16) -> impl Iterator<Item = Payload> + '_ {
        let count = usize::from(count).min(self.in_flight.len());
        self.in_flight.drain(..count).map(|sdu| sdu.payload)
    }

    /// Tokens of packets that the sender holds: sent and not delivered, then queued.
    pub fn held(&self) -> impl Iterator<Item = u64> + '_ {
        let all = self.in_flight.iter().chain(&self.queue);
        all.filter_map(|sdu| token(sdu.payload))
    }

    /// Whether packets are queued.
    pub fn has_packets(&self) -> bool {
        self.queue.iter().any(|sdu| sdu.payload.is_packet())
    }

    /// Starts again for the next connection: packets that were not delivered are queued again, signalling is dropped.
    pub fn reset(&mut self) {
        let undelivered = self.in_flight.len();
        self.queue.extend(self.in_flight.drain(..));
        self.queue.rotate_right(undelivered);
        self.queue.retain(|sdu| sdu.payload.is_packet());
        for sdu in &mut self.queue {
            sdu.left = sdu.total;
        }
        self.unacknowledged.clear();
        self.next_number = 0;
        self.poll += 1;
        self.is_polling = false;
    }

    /// Takes all packets away; returns their tokens, the oldest first.
    pub fn clear(&mut self) -> Vec<u64> {
        self.reset();
        self.queue
            .drain(..)
            .filter_map(|sdu| token(sdu.payload))
            .collect()
    }
}

impl Unacknowledged {
    const fn send_again(&mut self, overheads: &Overheads) -> Result<(), LinkFailure> {
        self.retransmissions += 1;
        self.is_due = true;
        match self.retransmissions > overheads.max_retransmissions {
            true => Err(LinkFailure),
            false => Ok(()),
        }
    }
}

const fn token(payload: Payload) -> Option<u64> {
    match payload {
        Payload::Packet { token } => Some(token),
        Payload::Control(_) => None,
    }
}

/// The receiving side.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Every number below has arrived.
    next_number: u32,
    /// What arrived beyond, with the service data units that end in it.
    held: BTreeMap<u32, u16>,
    /// Whether a status report is to be sent.
    pub is_status_due: bool,
}

impl Receiver {
    /// Takes a packet data unit; returns how many service data units can be delivered, in order.
    pub fn receive(&mut self, pdu: Pdu) -> u16 {
        self.is_status_due |= pdu.poll;
        if pdu.number < self.next_number || self.held.contains_key(&pdu.number) {
            return 0;
        }
        self.held.insert(pdu.number, pdu.completes);
        let mut delivered = 0;
        while let Some(completes) = self.held.remove(&self.next_number) {
            delivered += completes;
            self.next_number += 1;
        }
        delivered
    }

    /// How many numbers are missing.
    pub fn missing(&self) -> usize {
        match self.held.last_key_value() {
            Some((highest, _)) => (highest - self.next_number) as usize + 1 - self.held.len(),
            None => 0,
        }
    }

    /// Takes the status report that is due.
    pub fn take_status(&mut self) -> Status {
        self.is_status_due = false;
        let up_to = self
            .held
            .last_key_value()
            .map_or(self.next_number, |(highest, _)| highest + 1);
        let missing = (self.next_number..up_to).filter(|number| !self.held.contains_key(number));
        Status {
            up_to,
            missing: missing.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use wirecost_proto::Rng;

    fn overheads() -> Overheads {
        Overheads::new(&Config::default())
    }

    fn packet(token: u64) -> Payload {
        Payload::Packet { token }
    }

    #[test]
    fn a_packet_is_cut_to_the_room_and_polls_at_its_end() {
        let mut sender = Sender::default();
        sender.push(packet(7), 100);
        assert_eq!(sender.needed_bytes(&overheads(), true), 104);
        let first = sender.build(&overheads(), 54, true).unwrap();
        assert_eq!((first.bytes, first.completes, first.poll), (52, 0, false));
        let second = sender.build(&overheads(), 54, true).unwrap();
        assert_eq!((second.bytes, second.completes, second.poll), (52, 1, true));
        assert!(sender.build(&overheads(), 54, true).is_none());
    }

    #[test]
    fn signalling_goes_first_and_alone_where_packets_must_wait() {
        let mut sender = Sender::default();
        sender.push(packet(1), 50);
        sender.push(Payload::Control(Control::Msg5), 27);
        assert_eq!(sender.needed_bytes(&overheads(), false), 31);
        let pdu = sender.build(&overheads(), 125, false).unwrap();
        assert_eq!((pdu.bytes, pdu.completes), (29, 1));
        assert!(!sender.has_data(false) && sender.has_data(true));
    }

    #[test]
    fn an_unanswered_poll_is_sent_again_until_the_link_fails() {
        let mut sender = Sender::default();
        sender.push(packet(1), 50);
        sender.build(&overheads(), 125, true);
        for _ in 0..8 {
            sender
                .handle_poll_timer(sender.poll_number(), &overheads())
                .unwrap();
            assert!(sender.build(&overheads(), 125, true).unwrap().poll);
        }
        let failure = sender.handle_poll_timer(sender.poll_number(), &overheads());
        assert_eq!(failure, Err(LinkFailure));
        assert!(sender.held().eq([1]));
    }

    #[test]
    fn a_poll_timer_of_an_answered_poll_does_nothing() {
        let (mut sender, mut receiver) = (Sender::default(), Receiver::default());
        sender.push(packet(1), 50);
        let pdu = sender.build(&overheads(), 125, true).unwrap();
        receiver.receive(pdu);
        let poll = sender.poll_number();
        sender
            .handle_status(&receiver.take_status(), &overheads())
            .unwrap();
        sender.handle_poll_timer(poll, &overheads()).unwrap();
        assert!(!sender.has_data(true));
    }

    proptest! {
        /// Whatever is lost, packets arrive once and in order.
        #[test]
        fn packets_arrive_once_and_in_order(seed in any::<u64>(), loss in 0.0_f64..0.5) {
            let (mut rng, overheads) = (Rng::new(seed), overheads());
            let (mut sender, mut receiver) = (Sender::default(), Receiver::default());
            for token in 0..20 {
                sender.push(packet(token), 1 + rng.next_below(200) as u32);
            }
            let mut arrived = Vec::new();
            for _ in 0..10_000 {
                if let Some(pdu) = sender.build(&overheads, 125, true) {
                    if rng.next_f64() >= loss {
                        let count = receiver.receive(pdu);
                        arrived.extend(sender.delivered(count).filter_map(token));
                    }
                } else if receiver.is_status_due && rng.next_f64() >= loss {
                    let status = receiver.take_status();
                    if sender.handle_status(&status, &overheads).is_err() {
                        break;
                    }
                } else if sender.handle_poll_timer(sender.poll_number(), &overheads).is_err() {
                    break;
                }
            }
            let held: Vec<u64> = sender.held().collect();
            prop_assert!(arrived.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(arrived.len() + held.len(), 20);
        }
    }
}
