//! The state of a device in its loop, kept small because there are many.

use std::net::SocketAddr;

use mio::net::UdpSocket;
use wirecost_proto::FlowId;
use wirecost_proto::bare::Transport;

use super::super::datagram::Batch;
use super::super::stream::Stream;

/// A device.
#[derive(Debug)]
pub(super) struct Slot<E> {
    pub(super) endpoint: E,
    pub(super) socket: Socket,
    /// The number of flows opened so far. The current flow is the last.
    pub(super) flows: u32,
    /// Index of its target.
    pub(super) target: u32,
    /// Whether commands are withheld because too much is unsent.
    pub(super) is_congested: bool,
    /// Whether the director still has to learn that everything so far is sent.
    pub(super) owes_sent: bool,
    /// Whether its turn is unfinished.
    pub(super) continues: bool,
    /// Whether its socket has more to read than one turn allows.
    pub(super) is_unread: bool,
    /// Whether its endpoint has ended.
    pub(super) has_ended: bool,
    pub(super) is_finished: bool,
}

#[derive(Debug)]
pub(super) enum Socket {
    None,
    Stream(Stream),
    Datagram(UdpSocket),
    /// A shared socket, by index.
    Shared(u32),
}

/// The address and transport of devices' connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) remote: SocketAddr,
    pub(super) transport: Transport,
}

/// A UDP socket that devices share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) target: u32,
    /// The number of this socket among those that the devices of a target share.
    pub(super) number: usize,
    pub(super) socket: UdpSocket,
    pub(super) batch: Batch,
    /// Devices whose commands are complete when the batch is sent.
    pub(super) waiting: Vec<usize>,
    /// Whether its socket has more to read than one turn allows.
    pub(super) is_unread: bool,
}

impl<E> Slot<E> {
    /// A new device. Devices with the same target share its entry in `targets`.
    pub(super) fn new(endpoint: E, target: Target, targets: &mut Vec<Target>) -> Self {
        // A hundred thousand devices have a handful of targets: an address in each would be the largest part of a device.
        let known = targets.iter().position(|known| *known == target);
        let index = known.unwrap_or_else(|| {
            targets.push(target);
            targets.len() - 1
        });
        Self {
            endpoint,
            socket: Socket::None,
            flows: 0,
            target: index as u32,
            is_congested: false,
            owes_sent: false,
            continues: false,
            is_unread: false,
            has_ended: false,
            is_finished: false,
        }
    }

    /// The current flow.
    pub(super) fn flow(&self) -> FlowId {
        FlowId(self.flows.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_takes_few_bytes_on_top_of_its_endpoint() {
        assert!(size_of::<Slot<()>>() <= 48, "{}", size_of::<Slot<()>>());
    }
}
