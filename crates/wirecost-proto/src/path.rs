//! Paths: the interface between packets and the link that carries them.

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::Instant;
use crate::bare::Transport;
use crate::hosts::HostIndex;

crate::named! {
    /// The direction in which a packet travels.
    ///
    /// Named as in results files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Direction {
        /// From the device to the server.
        Up => "up",
        /// From the server to the device.
        Down => "down",
    }
}

impl Direction {
    /// The other direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// One copy of a packet on its way out of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When the last bit arrives at the other side.
    pub at: Instant,
    /// The bit to flip in a corrupted copy, counted from the packet's first bit.
    pub flip_bit: Option<u32>,
}

crate::named! {
    /// The fate of a packet, decided when it enters the link unless the link holds it.
    ///
    /// Named as in captures and results.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fate {
        /// Delivered once, intact.
        Delivered => "delivered",
        /// Lost on the link.
        Lost => "lost",
        /// Dropped by a full queue.
        QueueDropped => "queue-dropped",
        /// Larger than the link's MTU.
        TooLarge => "too-large",
        /// Delivered more than once.
        Duplicated => "duplicated",
        /// Delivered with a flipped bit.
        Corrupted => "corrupted",
        /// Not decided yet: the link holds it (a cell).
        Held => "held",
    }
}

/// Something that carries IP packets both ways between a device and a server.
///
/// It decides the fate of a packet when the packet enters. A forwarder and a simulator can therefore share one
/// implementation: both only wait until `Delivery::at`.
pub trait Path {
    /// Accepts a packet of `wire_bytes` bytes at `now` and appends its deliveries (none, one or more, in any order of time).
    /// `now` never goes back within a direction.
    fn offer(
        &mut self,
        direction: Direction,
        wire_bytes: usize,
        now: Instant,
        deliveries: &mut Vec<Delivery>,
    ) -> Fate;

    /// Translates a port of a packet at the path's address translator (NAT), before [`Path::offer`]. `end` is the device's
    /// end of the flow. Up, `port` is the device's own one, and the result the one that the server sees; down it is the other
    /// way round, and `None` means that there is no mapping: the packet ends there, and does not enter the path.
    fn translate(
        &mut self,
        _direction: Direction,
        _end: (Transport, IpAddr),
        port: u16,
        _now: Instant,
    ) -> Option<u16> {
        Some(port)
    }

    /// The device's own port behind a port that the server has seen of it: the reverse of [`Path::translate`], also of mappings
    /// that are forgotten.
    fn own_port(&self, _end: (Transport, IpAddr), seen: u16) -> u16 {
        seen
    }
}

/// The links of the devices, chosen by the device's address.
pub trait Links {
    /// The link of `host`; `None` if `host` is not a device of the run.
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path>;
}

/// A path that delivers every packet after the same time, for tests without a link model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedDelay(pub core::time::Duration);

impl Path for FixedDelay {
    fn offer(&mut self, _: Direction, _: usize, now: Instant, deliveries: &mut Vec<Delivery>) -> Fate {
        deliveries.push(Delivery {
            at: now + self.0,
            flip_bit: None,
        });
        Fate::Delivered
    }
}
