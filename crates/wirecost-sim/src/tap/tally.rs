//! Sums of packets and bytes, computed without the packets' bytes.

use wirecost_cost::{Content, PacketVerdict, Totals};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Delivery, Fate, Instant};

use super::spans::describe;
use super::{Packet, Tap};

/// Adds up packets and bytes by phase, layer, cause and direction, for each group of hosts. The sums equal those of the ledger
/// over a recording of the same packets.
#[derive(Clone, Debug)]
pub struct Tally<G> {
    group: G,
    totals: Vec<Totals>,
}

impl<G: Fn(HostIndex) -> usize> Tally<G> {
    /// Empty sums of groups; `group` returns the group number of a host, from 0.
    pub const fn new(group: G) -> Self {
        Self {
            group,
            totals: Vec::new(),
        }
    }

    /// The sums of each group, up to the last group that had a packet.
    pub fn totals(&self) -> &[Totals] {
        &self.totals
    }
}

/// Adds a packet: its headers, its payload as its sender described it, and bytes without a description.
fn add(totals: &mut Totals, packet: &Packet<'_>) {
    let way = packet.direction;
    let described = describe(packet, |span| totals.add_span(way, span));
    let verdict = PacketVerdict {
        phase: packet.phase(),
        cause: packet.cause(),
        wire_bytes: u32::try_from(packet.wire_bytes).unwrap_or(u32::MAX),
        unattributed_bytes: described.unknown,
        payload_bytes_original: described.original,
        content: Content::None,
    };
    totals.add_verdict(way, &verdict);
}

impl<G: Fn(HostIndex) -> usize> Tap for Tally<G> {
    fn packet(&mut self, packet: &Packet<'_>, _: Instant, _: Fate, _: &[Delivery]) {
        let group = (self.group)(packet.host);
        if self.totals.len() <= group {
            self.totals.resize_with(group + 1, Totals::new);
        }
        if let Some(totals) = self.totals.get_mut(group) {
            add(totals, packet);
        }
    }
}
