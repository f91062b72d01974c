//! The flights of a ladder as text: their contents and bytes.

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_results::{Ladder, LadderPacket};

use super::{is_up, phase, sum, wire};
use crate::number;

/// The packets that one side sent before it received more from its peer (RFC 9147 section 5.1).
#[derive(Serialize)]
pub(super) struct Flight {
    number: u32,
    arrow: &'static str,
    bytes: u64,
    /// The bytes by layer.
    sum: String,
    carried: Vec<Carried>,
}

/// The content of a packet, or of several consecutive packets with the same label.
#[derive(Serialize)]
struct Carried {
    label: String,
    phase: &'static str,
    times: usize,
    lost: usize,
}

/// The flights of a ladder; empty in results of older versions, which do not number flights.
pub(super) fn all(ladder: &Ladder) -> Vec<Flight> {
    let mut by_number: BTreeMap<u32, Vec<&LadderPacket>> = BTreeMap::new();
    for packet in ladder.packets.iter().filter(|packet| packet.flight > 0) {
        by_number.entry(packet.flight).or_default().push(packet);
    }
    by_number
        .into_iter()
        .map(|(number, packets)| flight(number, &packets))
        .collect()
}

fn flight(number: u32, packets: &[&LadderPacket]) -> Flight {
    let goes_up = packets.first().is_some_and(|packet| is_up(packet));
    let total = |sum: LadderPacket, packet: &&LadderPacket| LadderPacket {
        ip: sum.ip.saturating_add(packet.ip),
        transport: sum.transport.saturating_add(packet.transport),
        security: sum.security.saturating_add(packet.security),
        application: sum.application.saturating_add(packet.application),
        payload: sum.payload.saturating_add(packet.payload),
        ..sum
    };
    let total = packets.iter().fold(LadderPacket::default(), total);
    Flight {
        number,
        arrow: if goes_up { "↑" } else { "↓" },
        bytes: wire(&total),
        sum: sum(&total),
        carried: carried(packets),
    }
}

fn carried(packets: &[&LadderPacket]) -> Vec<Carried> {
    let mut all: Vec<Carried> = Vec::new();
    for packet in packets {
        let (label, phase) = (number::plain(&packet.label), phase(packet));
        let lost = usize::from(packet.delivered_ns.is_none());
        match all.last_mut() {
            // A message in several packets is one thing for a reader; only neighbours, so that the order in time stays.
            Some(last) if last.label == label && last.phase == phase => {
                last.times += 1;
                last.lost += lost;
            }
            _ => all.push(Carried {
                label,
                phase,
                times: 1,
                lost,
            }),
        }
    }
    all
}
