//! The packets between a device and its server, without the parts that differ between runs: time stamps, initial
//! sequence numbers, ports, IP identifications and secrets.

use std::collections::BTreeMap;
use std::fmt;

use wirecost_proto::Direction;
use wirecost_wire::ip::{Packet, Protocol};
use wirecost_wire::tcp::{Flags, Segment};

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) direction: Direction,
    /// Bytes of the IP packet.
    pub(crate) length: usize,
    /// The TCP header, if there is one.
    pub(crate) tcp: Option<TcpStep>,
}

/// A TCP header, its numbers relative to the initial ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpStep {
    /// The flags except PSH, which depends on the sender's writes.
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    /// `None` without the ACK flag.
    pub(crate) acknowledgment: Option<u32>,
    /// Bytes after the header.
    pub(crate) payload: usize,
}

/// The counts of one direction of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Segments with data.
    pub(crate) data_segments: u64,
    /// Bytes of data, including repeated ones.
    pub(crate) data_bytes: u64,
    /// Bytes of data that were sent before.
    pub(crate) resent_bytes: u64,
    /// Segments that only acknowledge.
    pub(crate) pure_acknowledgments: u64,
}

impl Counts {
    /// Counts a segment. `sent` is the end of the data that its sender has sent on the current connection.
    fn count(&mut self, tcp: TcpStep, sent: &mut u64) {
        let starts = tcp.flags & (Flags::SYN.bits() | Flags::FIN.bits() | Flags::RST.bits()) != 0;
        if tcp.flags & Flags::SYN.bits() != 0 {
            *sent = 0;
        }
        let (start, payload) = (u64::from(tcp.sequence), tcp.payload as u64);
        if payload > 0 {
            self.data_segments += 1;
            self.data_bytes += payload;
            self.resent_bytes += sent.saturating_sub(start).min(payload);
            *sent = (*sent).max(start + payload);
        } else if !starts {
            self.pure_acknowledgments += 1;
        }
    }
}

/// The round trips of a sending connection.
#[derive(Clone, Copy, Debug, Default)]
struct Trips {
    count: u32,
    acknowledged: u32,
    /// The sequence number that must be acknowledged before the next round trip begins.
    ends_at: u32,
}

impl Trips {
    fn data(&mut self, tcp: TcpStep) {
        if tcp.payload == 0 {
            return;
        }
        if self.acknowledged >= self.ends_at {
            self.count += 1;
            // The first segment of a burst: its acknowledgment ends the round trip.
            self.ends_at = tcp.sequence + tcp.payload as u32;
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>4} {:>4} B", self.direction.name(), self.length)?;
        let Some(tcp) = self.tcp else { return Ok(()) };
        let names = [("FIN", 1), ("SYN", 2), ("RST", 4), ("ACK", 16)];
        let flags = names.iter().filter(|(_, bit)| tcp.flags & bit != 0);
        let flags: Vec<&str> = flags.map(|(name, _)| *name).collect();
        write!(f, " {} seq {}", flags.join("+"), tcp.sequence)?;
        if let Some(acknowledgment) = tcp.acknowledgment {
            write!(f, " ack {acknowledgment}")?;
        }
        write!(f, " len {}", tcp.payload)
    }
}

/// The packets between one device and its server, in the order of entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) steps: Vec<Step>,
    /// The initial sequence numbers of the current connection, by direction.
    initial: BTreeMap<Direction, u32>,
}

impl Trace {
    /// Takes the next packet.
    pub(crate) fn push(&mut self, direction: Direction, bytes: &[u8]) {
        let packet = Packet::new(bytes).expect("an IP packet");
        let tcp = (packet.protocol() == Protocol::Tcp && packet.has_upper_header())
            .then(|| self.tcp(direction, packet.payload()));
        self.steps.push(Step {
            direction,
            length: packet.total_bytes(),
            tcp,
        });
    }

    fn tcp(&mut self, direction: Direction, bytes: &[u8]) -> TcpStep {
        let segment = Segment::new(bytes).expect("a TCP segment");
        let flags = segment.flags();
        if flags.contains(Flags::SYN) {
            self.initial.insert(direction, segment.sequence_number());
        }
        let initial = |way: Direction| self.initial.get(&way).copied().unwrap_or_default();
        let acknowledgment = segment
            .acknowledgment_number()
            .wrapping_sub(initial(direction.reverse()));
        TcpStep {
            flags: flags.bits() & !Flags::PSH.bits(),
            sequence: segment.sequence_number().wrapping_sub(initial(direction)),
            acknowledgment: flags.contains(Flags::ACK).then_some(acknowledgment),
            payload: segment.payload().len(),
        }
    }

    /// The TCP counts, up and down.
    pub(crate) fn counts(&self) -> [Counts; 2] {
        let mut counts = [Counts::default(); 2];
        let mut sent = [0; 2];
        for step in &self.steps {
            let Some(tcp) = step.tcp else { continue };
            let way = step.direction as usize;
            counts[way].count(tcp, &mut sent[way]);
        }
        counts
    }

    /// In how many round trips the data of a connection went up, by sequence numbers: the next one begins with the first
    /// segment that is sent when all that the last one began with is acknowledged.
    pub(crate) fn round_trips(&self) -> u32 {
        let mut trips = Trips::default();
        for step in &self.steps {
            let Some(tcp) = step.tcp else { continue };
            match step.direction {
                Direction::Up => trips.data(tcp),
                Direction::Down => {
                    trips.acknowledged = trips.acknowledged.max(tcp.acknowledgment.unwrap_or(0))
                }
            }
        }
        trips.count
    }

    /// The first packet that differs, with the packets before it; `None` if there is none.
    pub(crate) fn difference(&self, simulated: &Self) -> Option<String> {
        let pairs = self.steps.iter().zip(&simulated.steps);
        let same = pairs.take_while(|(live, simulated)| live == simulated).count();
        if same == self.steps.len() && same == simulated.steps.len() {
            return None;
        }
        let mut text = format!("the first {same} packets are the same; then\n");
        let context = same.saturating_sub(4);
        for (name, steps) in [("live", &self.steps), ("simulated", &simulated.steps)] {
            text += &format!("  {name}:\n");
            for (place, step) in steps.iter().enumerate().skip(context).take(same + 4 - context) {
                let mark = if place < same { ' ' } else { '!' };
                text += &format!("   {mark}{place:>4} {step}\n");
            }
        }
        Some(text)
    }
}
