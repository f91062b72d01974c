//! The flows of a service and where their sockets are.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use mio::net::{TcpListener, UdpSocket};
use mio::{Interest, Poll, Token};
use wirecost_proto::bare::Transport;
use wirecost_proto::{FlowId, Instant};

use super::super::datagram;
use super::super::stream::Stream;
use super::{FlowReport, LISTENERS, Service};
use crate::congestion::set_congestion_control;
use wirecost_proto::log::FlowLog;

/// A service that listens.
pub(super) struct Running<E> {
    pub(super) service: Service<E>,
    pub(super) listener: Listener,
    next_flow: u32,
    /// Where a flow's socket is: a connection's index, or a peer's address.
    pub(super) flows: BTreeMap<FlowId, FlowPlace>,
    pub(super) peers: BTreeMap<SocketAddr, FlowId>,
}

pub(super) enum Listener {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

pub(super) enum FlowPlace {
    Connection(usize),
    Peer {
        address: SocketAddr,
        log: FlowLog,
        cpu: Duration,
    },
}

pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) service: usize,
    pub(super) flow: FlowId,
    pub(super) peer: SocketAddr,
    pub(super) congested: bool,
    pub(super) log: FlowLog,
    pub(super) cpu: Duration,
}

impl Connection {
    pub(super) fn into_report(self) -> FlowReport {
        FlowReport {
            service: self.service,
            peer: self.peer,
            log: self.log,
            cpu: self.cpu,
        }
    }
}

/// A connection that is closed on this side.
#[derive(Clone, Copy)]
pub(super) struct Lingering {
    /// When it is looked at again.
    pub(super) until: Instant,
    pub(super) index: usize,
    pub(super) service: usize,
    pub(super) flow: FlowId,
    /// Bytes that were still to be sent.
    pub(super) unsent: usize,
}

impl FlowPlace {
    /// What a peer has left; a connection reports for itself.
    pub(super) fn into_report(self, service: usize) -> Option<FlowReport> {
        match self {
            Self::Connection(_) => None,
            Self::Peer { address, log, cpu } => Some(FlowReport {
                service,
                peer: address,
                log,
                cpu,
            }),
        }
    }
}

impl<E> Running<E> {
    /// A flow whose number is no other's.
    pub(super) fn new_flow(&mut self) -> FlowId {
        while self.flows.contains_key(&FlowId(self.next_flow)) {
            self.next_flow = self.next_flow.wrapping_add(1);
        }
        let flow = FlowId(self.next_flow);
        self.next_flow = self.next_flow.wrapping_add(1);
        flow
    }

    pub(super) fn new_peer(&mut self, address: SocketAddr) -> FlowId {
        let flow = self.new_flow();
        let log = FlowLog::new(Transport::Datagram);
        self.flows.insert(
            flow,
            FlowPlace::Peer {
                address,
                log,
                cpu: Duration::ZERO,
            },
        );
        self.peers.insert(address, flow);
        flow
    }
}

pub(super) fn listen<E>(
    poll: &Poll,
    index: usize,
    mut service: Service<E>,
    congestion_control: Option<&str>,
) -> io::Result<Running<E>> {
    let token = Token(LISTENERS + index);
    let address = service.address;
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
    let listener = match service.transport {
        Transport::Stream => {
            let mut listener = TcpListener::bind(address).map_err(named)?;
            if let Some(name) = congestion_control {
                // Accepted connections inherit it; where it is refused, the run has said so.
                let _ = set_congestion_control(listener.as_fd(), name);
            }
            poll.registry()
                .register(&mut listener, token, Interest::READABLE)?;
            service.address = listener.local_addr()?;
            Listener::Tcp(listener)
        }
        Transport::Datagram => {
            let mut socket = datagram::bind(address).map_err(named)?;
            poll.registry().register(&mut socket, token, Interest::READABLE)?;
            service.address = socket.local_addr()?;
            Listener::Udp(socket)
        }
    };
    Ok(Running {
        service,
        listener,
        next_flow: 0,
        flows: BTreeMap::new(),
        peers: BTreeMap::new(),
    })
}
