//! What was on the air for one device of a modelled NB-IoT cell: its message sequence, and when each of its packets was sent.

use std::collections::BTreeMap;

use wirecost_nbiot::{Channel, Control, Message, Transmission};
use wirecost_proto::Instant;
use wirecost_results::nbiot::sequence::AirTransmission;
use wirecost_sim::{Decision, Offered};

/// When a packet was on the air.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketOnAir {
    /// The begin of the first block with a part of it.
    pub began: Option<Instant>,
    /// The end of the last block with a part of it so far.
    pub ended: Option<Instant>,
    /// Transmissions of blocks with a part of it.
    pub transmissions: u32,
}

/// Records the transmissions of one device and the times of its packets.
#[derive(Debug, Default)]
pub struct AirRecorder {
    /// Bytes and times of the device's packets, in the order in which they entered.
    packets: Vec<(usize, PacketOnAir)>,
    /// The positions of the packets that are on their way, by the world's numbers.
    on_their_way: BTreeMap<u32, usize>,
    /// With the positions of their packets.
    transmissions: Vec<(Transmission, Vec<usize>)>,
}

impl AirRecorder {
    /// A packet of the device enters.
    pub fn offered(&mut self, packet: &Offered) {
        self.on_their_way.insert(packet.number, self.packets.len());
        self.packets.push((packet.wire_bytes, PacketOnAir::default()));
    }

    /// The fate of a packet is decided.
    pub fn decided(&mut self, decision: Decision) {
        self.on_their_way.remove(&decision.number);
    }

    /// A transmission to or from the device.
    pub fn transmission(&mut self, transmission: Transmission) {
        // Names of packets on the air are the world's numbers.
        let numbers = transmission
            .carried
            .packets()
            .filter_map(|name| u32::try_from(name).ok());
        let packets: Vec<usize> = numbers
            .filter_map(|number| self.on_their_way.get(&number).copied())
            .collect();
        for position in &packets {
            let (_, times) = &mut self.packets[*position];
            times.began.get_or_insert(transmission.start);
            times.ended = Some(transmission.end);
            times.transmissions += 1;
        }
        self.transmissions.push((transmission, packets));
    }

    /// The times of the packets, in the order in which they entered.
    pub fn packets(&self) -> Vec<PacketOnAir> {
        self.packets.iter().map(|(_, times)| *times).collect()
    }

    /// What was on the air from `from` until `until`, in the order in which it began. Times count from `from`.
    pub fn sequence(&self, from: Instant, until: Instant) -> Vec<AirTransmission> {
        // What began before `from` and still lasts delays what follows, so it belongs to the sequence.
        let within = |(on_air, _): &&(Transmission, _)| on_air.end > from && on_air.start < until;
        let mut sorted: Vec<&(Transmission, Vec<usize>)> = self.transmissions.iter().filter(within).collect();
        sorted.sort_by_key(|(on_air, _)| (on_air.start, on_air.end));
        let mut silent_since = from;
        let mut sequence = Vec::with_capacity(sorted.len());
        for (position, (on_air, packets)) in sorted.iter().enumerate() {
            let announced = announced_channel(on_air).and_then(|channel| {
                let mut later = sorted[position + 1..].iter().map(|(later, _)| later);
                later.find(|later| later.channel == channel)
            });
            sequence.push(AirTransmission {
                at_ms: ms(from, on_air.start),
                duration_ms: ms(on_air.start, on_air.end),
                channel: channel_name(on_air.channel).into(),
                direction: on_air.channel.direction().name().into(),
                // A preamble, or a scheduling grant, carries no bytes; 0 B would look like an empty block.
                bytes: (on_air.bytes > 0).then_some(on_air.bytes),
                repetitions: Some(on_air.repetitions),
                what: words(on_air, announced),
                packet: self.named(packets),
                waited_ms: ms(silent_since, on_air.start),
                is_received: on_air.is_received,
            });
            // Transmissions on different channels may overlap: a short one that ends early does not make the air silent.
            silent_since = silent_since.max(on_air.end);
        }
        sequence
    }

    /// Numbers from 1 and sizes of packets: `1 (46 B), 2 (40 B)`.
    fn named(&self, packets: &[usize]) -> Option<String> {
        let name = |position: &usize| format!("{} ({} B)", position + 1, self.packets[*position].0);
        let names: Vec<String> = packets.iter().map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

fn ms(from: Instant, to: Instant) -> f64 {
    to.saturating_since(from).as_secs_f64() * 1e3
}

const fn channel_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Nprach => "NPRACH",
        Channel::Npdcch => "NPDCCH",
        Channel::Npdsch => "NPDSCH",
        Channel::NpuschData => "NPUSCH format 1",
        Channel::NpuschAck => "NPUSCH format 2",
    }
}

/// The channel of the block that a DCI announces, if it is a DCI that the device has decoded.
const fn announced_channel(on_air: &Transmission) -> Option<Channel> {
    match on_air.message {
        Message::Assignment if on_air.is_received => Some(Channel::Npdsch),
        Message::UplinkGrant if on_air.is_received => Some(Channel::NpuschData),
        _ => None,
    }
}

/// What a transmission carries, and which one it is if not the first. A DCI `announced` another one.
fn words(on_air: &Transmission, announced: Option<&Transmission>) -> String {
    let mut words = content(on_air);
    if let Some(announced) = announced {
        words = format!("{words} for {}", content(announced));
    }
    if on_air.attempt > 1 {
        words += &format!(", transmission {}", on_air.attempt);
    }
    if !on_air.is_received {
        words += ", not received";
    }
    words
}

fn content(on_air: &Transmission) -> String {
    match on_air.message {
        Message::Preamble => "random access preamble (Msg1)".to_owned(),
        Message::Assignment => "DCI".to_owned(),
        Message::UplinkGrant => "DCI, uplink grant".to_owned(),
        Message::RandomAccessResponse => "random access response (Msg2)".to_owned(),
        Message::HarqAck => "HARQ-ACK".to_owned(),
        Message::Msg3 => with_content("Msg3", on_air),
        Message::Msg4 => with_content("Msg4", on_air),
        Message::Data => with_content("", on_air),
    }
}

/// The name of a block and what is in it.
fn with_content(name: &str, on_air: &Transmission) -> String {
    let control = on_air.carried.control.map(|control| match control {
        Control::Msg5 => "Msg5",
        Control::SecurityDown => "security and reconfiguration",
        Control::SecurityUp => "answers to security and reconfiguration",
        Control::Release => "release",
    });
    let has_packet = on_air.carried.packets().next().is_some();
    let parts = [
        (!name.is_empty()).then_some(name),
        on_air.has_status.then_some("RLC status"),
        control,
        has_packet.then_some("packet"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "buffer status".to_owned(),
        false => parts.join(" + "),
    }
}
