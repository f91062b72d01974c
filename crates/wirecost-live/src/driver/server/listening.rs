//! Where services listen, and who comes.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use mio::net::{TcpListener, UdpSocket};
use mio::{Interest, Poll, Token};
use socket2::{Domain, Protocol, Socket, Type};
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{Observer, Service};
use wirecost_proto::{Endpoint, FlowId, Input, ResetReason};

use super::super::datagram;
use super::super::stream::Stream;
use super::flows::{Connection, Flow};
use super::{LISTENERS, READS_PER_TURN, ServerLoop};
use crate::congestion::set_congestion_control;

/// Connections that may wait to be accepted; the kernel takes less where net.core.somaxconn is less (listen(2)).
const BACKLOG: i32 = 65_535;

/// A service that listens.
pub(super) struct Running<E> {
    pub(super) service: Service<E>,
    pub(super) listener: Listener,
    /// The flows of a datagram service by their peers.
    pub(super) peers: BTreeMap<SocketAddr, FlowId>,
    /// Whether somebody may wait to be accepted or received.
    pub(super) is_unheard: bool,
    /// The place at which the oldest peer is looked for.
    oldest: usize,
}

pub(super) enum Listener {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

/// Whether other processes listen at the same port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    Alone,
    Shared,
}

pub(super) fn listen<E>(
    poll: &Poll,
    index: usize,
    mut service: Service<E>,
    congestion_control: Option<&str>,
    port: Port,
) -> io::Result<Running<E>> {
    let token = Token(LISTENERS + index);
    let address = service.address;
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
    let listener = match service.transport {
        Transport::Stream => {
            let mut listener = listen_at(address, port).map_err(named)?;
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
            let mut socket = datagram::bind(address, port == Port::Shared).map_err(named)?;
            poll.registry().register(&mut socket, token, Interest::READABLE)?;
            service.address = socket.local_addr()?;
            Listener::Udp(socket)
        }
    };
    Ok(Running {
        service,
        listener,
        peers: BTreeMap::new(),
        is_unheard: false,
        oldest: 0,
    })
}

fn listen_at(address: SocketAddr, port: Port) -> io::Result<TcpListener> {
    let kind = Type::STREAM.nonblocking();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(port == Port::Shared)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into()))
}

impl<E, O> ServerLoop<E, O>
where
    E: Endpoint<Error: std::fmt::Display>,
    O: Observer<E>,
{
    pub(super) fn hear(&mut self, service: usize, buffer: &mut [u8]) -> io::Result<()> {
        self.lap();
        self.services[service].is_unheard = false;
        match self.services[service].listener {
            Listener::Tcp(_) => self.accept(service),
            Listener::Udp(_) => self.receive_datagrams(service, buffer),
        }
    }

    fn accept(&mut self, service: usize) -> io::Result<()> {
        loop {
            let Listener::Tcp(listener) = &self.services[service].listener else {
                return Ok(());
            };
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // This one is gone already (accept(2)); the next may not be.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // No descriptor is left: the poll has said so once, and says no more until another one comes.
                Err(_) => {
                    self.starved.insert(service);
                    return Ok(());
                }
            };
            let connection = Connection::new(Stream::accepted(socket));
            let flow = Flow::new(service, peer, Some(connection), self.on_link);
            let Some(flow) = self.flows.insert(flow) else {
                // The client sees its connection close.
                continue;
            };
            let interest = Interest::READABLE | Interest::WRITABLE;
            if let Some(connection) = self.flows.connection_mut(flow) {
                let socket = &mut connection.stream.socket;
                self.poll
                    .registry()
                    .register(socket, Token(flow.0 as usize), interest)?;
            }
            self.input(service, Some(flow), Input::Opened { flow, peer }, &[])?;
        }
    }

    fn receive_datagrams(&mut self, service: usize, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..READS_PER_TURN {
            let running = &mut self.services[service];
            let Listener::Udp(socket) = &running.listener else {
                return Ok(());
            };
            let (len, peer) = match socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // An ICMP error of an earlier answer: the peer is gone, the socket is not.
                Err(_) => continue,
            };
            let flow = match running.peers.get(&peer) {
                Some(flow) => Some(*flow),
                None => self.open_peer(service, peer)?,
            };
            let Some(flow) = flow else {
                continue;
            };
            let bytes = &buffer[..len];
            self.input(service, Some(flow), Input::Received { flow, bytes }, bytes)?;
        }
        self.hear_later(service);
        Ok(())
    }

    /// A flow for a new peer. Anyone can send from any number of addresses: off the link the oldest peer makes room.
    fn open_peer(&mut self, service: usize, peer: SocketAddr) -> io::Result<Option<FlowId>> {
        if !self.on_link && self.services[service].peers.len() >= self.max_peers {
            self.drop_oldest_peer(service)?;
        }
        let Some(flow) = self.flows.insert(Flow::new(service, peer, None, self.on_link)) else {
            return Ok(None);
        };
        self.services[service].peers.insert(peer, flow);
        self.input(service, Some(flow), Input::Opened { flow, peer }, &[])?;
        Ok(Some(flow))
    }

    /// A new peer takes the place of the one that went last, so the next place has the one that has been there longest.
    fn drop_oldest_peer(&mut self, service: usize) -> io::Result<()> {
        let is_peer = |flow: &Flow| flow.service == service && flow.connection.is_none();
        let oldest = self.services[service].oldest;
        let Some((flow, next)) = self.flows.find_from(oldest, is_peer) else {
            return Ok(());
        };
        self.services[service].oldest = next;
        self.forget_peer(flow);
        let reason = ResetReason::TimedOut;
        self.input(service, Some(flow), Input::Reset { flow, reason }, &[])
    }

    pub(super) fn forget_peer(&mut self, flow: FlowId) {
        let Some(gone) = self.flows.remove(flow) else {
            return;
        };
        self.services[gone.service].peers.remove(&gone.peer);
        self.reports.extend(gone.into_report());
    }
}
