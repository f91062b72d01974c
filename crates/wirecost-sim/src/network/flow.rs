//! Flows: a device's port and a service.

use std::net::SocketAddr;

use wirecost_proto::hosts::HostIndex;
use wirecost_proto::log::FlowLog;
use wirecost_proto::{BothWays, Direction, FlowId, Instant, Phase};

use super::socket::Socket;
use super::stream_spans::StreamSpans;

/// A connection, or the datagrams between a device's UDP port and a service.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Index of the device.
    pub(crate) device: u32,
    pub(crate) host: HostIndex,
    /// The device's address and port.
    pub(crate) client: SocketAddr,
    /// The device's port as the server sees it, which an address translator may change.
    pub(crate) seen_port: u16,
    /// The number of the service's address and port, or of an address at which no service listens.
    pub(crate) server: u32,
    /// Index of the service; `None` if no service listens.
    pub(crate) service: Option<u32>,
    /// The service's end; `None` unless the service has the flow.
    pub(crate) server_end: Option<ServerEnd>,
    pub(crate) body: Body,
    /// The phase of the last packet.
    pub(crate) phase: Phase,
    /// Copies of packets in transit.
    pub(crate) in_flight: u32,
    /// The next IP identification, by direction.
    pub(crate) identifications: BothWays<u16>,
}

/// The transport of a flow, and its sockets.
#[derive(Debug)]
pub(crate) enum Body {
    Datagram {
        /// Whether the device's socket is open.
        is_open: bool,
    },
    Stream(Box<Streams>),
}

/// The two ends of a connection, by the direction in which they send.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(super) spans: BothWays<StreamSpans>,
    /// Beside the spans, and not in memory of their own: each message needs all of them, and one device after the other has its turn.
    pub(super) sockets: BothWays<Option<Socket>>,
}

impl Streams {
    /// Whether neither end is left.
    pub(crate) fn is_over(&self) -> bool {
        self.sockets.iter().all(Option::is_none)
    }
}

/// A flow as a service knows it.
#[derive(Debug)]
pub(crate) struct ServerEnd {
    pub(crate) id: FlowId,
    /// The device's port that it knows.
    pub(crate) seen_port: u16,
    /// Whether the service must wait until its bytes have left.
    pub(crate) congested: bool,
    /// When the last output of the service leaves, if the service has a service time.
    pub(crate) last_output_at: Instant,
    pub(crate) log: Option<Box<FlowLog>>,
}

impl Flow {
    /// Whether the server's end belongs to a mapping that the address translator has forgotten: packets that come in now
    /// belong to no connection.
    pub(crate) const fn is_unknown_to_server(&self) -> bool {
        self.seen_port != self.client.port()
    }

    /// The sender and the receiver in `direction`, if the server is one of `servers`.
    pub(crate) fn addresses(
        &self,
        direction: Direction,
        servers: &[SocketAddr],
    ) -> Option<(SocketAddr, SocketAddr)> {
        let server = *servers.get(self.server as usize)?;
        Some(match direction {
            Direction::Up => (self.client, server),
            Direction::Down => (server, self.client),
        })
    }

    /// The identification of the next packet that travels in `direction`.
    pub(crate) fn next_identification(&mut self, direction: Direction) -> u16 {
        let next = &mut self.identifications[direction];
        *next = next.wrapping_add(1);
        *next
    }

    /// Whether neither side uses it anymore.
    pub(crate) fn is_over(&self) -> bool {
        let is_closed = match &self.body {
            Body::Datagram { is_open } => !is_open,
            Body::Stream(streams) => streams.is_over(),
        };
        is_closed && self.in_flight == 0 && self.server_end.is_none()
    }

    /// The end that sends in `direction`.
    pub(crate) fn socket_mut(&mut self, direction: Direction) -> Option<&mut Socket> {
        let Body::Stream(streams) = &mut self.body else {
            return None;
        };
        streams.sockets[direction].as_mut()
    }

    pub(crate) fn spans_mut(&mut self, direction: Direction) -> Option<&mut StreamSpans> {
        match &mut self.body {
            Body::Stream(streams) => Some(&mut streams.spans[direction]),
            Body::Datagram { .. } => None,
        }
    }

    /// Whether one end has sent something that is not acknowledged.
    pub(super) fn is_unsettled(&self) -> bool {
        let Body::Stream(streams) = &self.body else {
            return false;
        };
        let mut sockets = streams.sockets.iter().flatten();
        sockets.any(|socket| socket.is_unsettled())
    }

    /// Places an end that has this initial sequence number.
    pub(super) fn place(&mut self, direction: Direction, socket: Socket, initial: u32) {
        if let Body::Stream(streams) = &mut self.body {
            streams.spans[direction].sequence.initial = initial;
            streams.sockets[direction] = Some(socket);
        }
    }

    pub(super) fn remove_if_over(&mut self, direction: Direction) {
        let Body::Stream(streams) = &mut self.body else {
            return;
        };
        let place = &mut streams.sockets[direction];
        if place.as_ref().is_some_and(|socket| socket.is_over()) {
            *place = None;
        }
    }
}
