//! A device's place in its loop: small, because there are many.

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
    /// Flows opened so far; the current one is the last.
    pub(super) flows: u32,
    /// Index of its target.
    pub(super) target: u32,
    /// Whether so much is unsent that it is given no commands.
    pub(super) is_congested: bool,
    /// Whether the director has not been told yet that everything so far is sent.
    pub(super) owes_sent: bool,
    /// Whether it is among the turns that are to be finished.
    pub(super) continues: bool,
    /// Whether there is more to be read than one turn takes.
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
    /// One that it shares, by index.
    Shared(u32),
}

/// Where devices connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) remote: SocketAddr,
    pub(super) transport: Transport,
}

/// A UDP socket that devices share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) target: u32,
    /// Which of the sockets it is that the devices of a target share.
    pub(super) number: usize,
    pub(super) socket: UdpSocket,
    pub(super) batch: Batch,
    /// Devices whose commands are sent when the batch is.
    pub(super) waiting: Vec<usize>,
    /// Whether there is more to be received than one turn takes.
    pub(super) is_unread: bool,
}

impl<E> Slot<E> {
    /// A device that has done nothing yet. Devices with the same target share it in `targets`.
    pub(super) fn new(endpoint: E, target: Target, targets: &mut Vec<Target>) -> Self {
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
    fn a_device_takes_few_bytes_beside_its_endpoint() {
        assert!(size_of::<Slot<()>>() <= 48, "{}", size_of::<Slot<()>>());
    }
}
