//! Packets and bytes of one direction.

use core::ops::AddAssign;

use wirecost_proto::{Cause, Layer, Span};

const LAYERS: usize = Layer::ALL.len();
const CAUSES: usize = Cause::ALL.len();

/// Packets of one direction by cause, and their bytes by layer and cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    packets: [u64; CAUSES],
    bytes: [[u64; CAUSES]; LAYERS],
}

impl Traffic {
    /// Counts a packet. Add its bytes with [`Traffic::add_span`].
    pub fn add_packet(&mut self, cause: Cause) {
        self.packets[cause as usize] += 1;
    }

    /// Adds some bytes of a packet.
    pub fn add_span(&mut self, span: &Span) {
        self.bytes[span.layer as usize][span.cause as usize] += u64::from(span.len);
    }

    /// Packets.
    pub fn packets(&self) -> u64 {
        self.packets.iter().sum()
    }

    /// Packets whose headers have this cause.
    pub const fn packets_by_cause(&self, cause: Cause) -> u64 {
        self.packets[cause as usize]
    }

    /// Bytes of one layer, of every cause.
    pub fn bytes(&self, layer: Layer) -> u64 {
        self.bytes[layer as usize].iter().sum()
    }

    /// Bytes of one layer and cause.
    pub const fn bytes_of(&self, layer: Layer, cause: Cause) -> u64 {
        self.bytes[layer as usize][cause as usize]
    }

    /// Bytes of one cause, of every layer.
    pub fn bytes_by_cause(&self, cause: Cause) -> u64 {
        self.bytes.iter().map(|causes| causes[cause as usize]).sum()
    }

    /// Bytes of whole IP packets.
    pub fn wire_bytes(&self) -> u64 {
        self.bytes.as_flattened().iter().sum()
    }
}

impl AddAssign<&Self> for Traffic {
    fn add_assign(&mut self, other: &Self) {
        add(&mut self.packets, &other.packets);
        add(self.bytes.as_flattened_mut(), other.bytes.as_flattened());
    }
}

fn add(sums: &mut [u64], others: &[u64]) {
    for (sum, other) in sums.iter_mut().zip(others) {
        *sum += other;
    }
}
