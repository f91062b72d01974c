//! Listeners, new connections and datagrams.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use mio::net::{TcpListener, UdpSocket};
use mio::{Interest, Poll, Token};
use socket2::{Domain, Protocol, Socket, Type};
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{Service, ServiceObserver};
use wirecost_proto::{Congestion, Endpoint, FlowId, Input, ResetReason};

use super::super::datagram::{self, Batch, Received};
use super::super::stream::Stream;
use super::flows::{Connection, Flow};
use super::{LISTENERS, READS_PER_TURN, ServerLoop};
use crate::congestion::set_congestion_control;

/// The accept backlog. The kernel caps it at net.core.somaxconn (listen(2)).
const BACKLOG: i32 = 65_535;

/// The most connections to accept before existing ones have their turn.
const ACCEPTED_PER_TURN: usize = 64;

/// A service that listens.
pub(super) struct Running<E> {
    pub(super) service: Service<E>,
    pub(super) listener: Listener,
    /// The flows of a datagram service by their peers.
    pub(super) peers: BTreeMap<SocketAddr, FlowId>,
    /// Whether connections or datagrams may be waiting.
    pub(super) is_unheard: bool,
    /// The index at which the search for the oldest flow starts.
    pub(super) oldest: usize,
}

pub(super) enum Listener {
    Tcp(TcpListener),
    /// With the batch of its output.
    Udp(UdpSocket, Batch),
}

/// Whether other processes listen on the same port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    Alone,
    Shared,
}

impl Listener {
    /// Chooses the congestion control of the connections that it accepts: they inherit it.
    pub(super) fn choose(&self, congestion: Congestion) {
        match self {
            // A refusal was reported by the run.
            Self::Tcp(listener) => drop(set_congestion_control(listener.as_fd(), congestion.name())),
            Self::Udp(..) => {}
        }
    }
}

pub(super) fn listen<E>(
    poll: &Poll,
    index: usize,
    mut service: Service<E>,
    port: Port,
) -> io::Result<Running<E>> {
    let token = Token(LISTENERS + index);
    let address = service.address;
    // "Address already in use" alone does not say which of several ports it is.
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
    let listener = match service.transport {
        Transport::Stream => {
            let mut listener = listen_at(address, port == Port::Shared).map_err(named)?;
            poll.registry()
                .register(&mut listener, token, Interest::READABLE)?;
            // Port 0 asks the kernel for a free one.
            service.address = listener.local_addr()?;
            Listener::Tcp(listener)
        }
        Transport::Datagram => {
            let mut socket = datagram::bind(address, port == Port::Shared).map_err(named)?;
            poll.registry().register(&mut socket, token, Interest::READABLE)?;
            service.address = socket.local_addr()?;
            Listener::Udp(socket, Batch::default())
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

/// A listener. With `shared`, others may listen on the same port.
pub(in crate::driver) fn listen_at(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let kind = Type::STREAM.nonblocking();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into()))
}

impl<E, O> ServerLoop<E, O>
where
    E: Endpoint<Error: std::fmt::Display>,
    O: ServiceObserver<E>,
{
    pub(super) fn hear(&mut self, service: usize) -> io::Result<()> {
        self.lap();
        self.services[service].is_unheard = false;
        match self.services[service].listener {
            Listener::Tcp(_) => self.accept(service),
            Listener::Udp(..) => self.receive_datagrams(service),
        }
    }

    fn accept(&mut self, service: usize) -> io::Result<()> {
        for _ in 0..ACCEPTED_PER_TURN {
            let Listener::Tcp(listener) = &self.services[service].listener else {
                return Ok(());
            };
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // This connection is gone already (accept(2)). The next one may not be.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_out_of_descriptors(&error) && self.free_descriptor(service)? => continue,
                // No descriptor is left. The poll reports this once, and again only with another connection.
                Err(_) => {
                    self.starved.insert(service);
                    self.wait_for_silence();
                    return Ok(());
                }
            };
            let connection = Connection::new(Stream::accepted(socket, self.writing));
            let flow = Flow::new(service, peer, Some(connection), self.on_link, self.clock.now());
            let Some(flow) = self.flows.insert(flow) else {
                // The client sees its connection close.
                continue;
            };
            if self.register(flow).is_err() {
                // The kernel allows no further watch (epoll(7), max_user_watches): the client sees its connection
                // close.
                self.flows.remove(flow);
                continue;
            }
            self.input(service, Some(flow), Input::Opened { flow, peer }, &[])?;
        }
        self.hear_later(service);
        Ok(())
    }

    fn register(&mut self, flow: FlowId) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let Some(connection) = self.flows.connection_mut(flow) else {
            return Ok(());
        };
        let socket = &mut connection.stream.socket;
        self.poll
            .registry()
            .register(socket, Token(flow.0 as usize), interest)
    }

    fn receive_datagrams(&mut self, service: usize) -> io::Result<()> {
        let mut received = self.received.take().unwrap_or_default();
        let is_over = self.receive_into(&mut received, service);
        self.received = Some(received);
        if !is_over? {
            self.hear_later(service);
        }
        Ok(())
    }

    /// Receives the waiting datagrams, and sends the answers of each call together. Returns false if there may be more.
    /// On the link each datagram is received separately, so that its CPU time is charged to its flow.
    fn receive_into(&mut self, received: &mut Received, service: usize) -> io::Result<bool> {
        let limit = if self.on_link { 1 } else { datagram::TOGETHER };
        for _ in 0..READS_PER_TURN / limit {
            let Listener::Udp(socket, _) = &self.services[service].listener else {
                return Ok(true);
            };
            // An ICMP error of an earlier answer: the peer is gone, but the socket works.
            let Ok((count, is_full)) = received.fill_from_peers(socket, limit) else {
                continue;
            };
            for number in 0..count {
                if let Some(peer) = received.peer(number) {
                    self.receive_datagram(service, peer, received.datagram(number))?;
                }
            }
            self.send_datagrams(service);
            if !is_full {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn receive_datagram(&mut self, service: usize, peer: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let flow = match self.services[service].peers.get(&peer) {
            Some(flow) => Some(*flow),
            None => self.open_peer(service, peer)?,
        };
        let Some(flow) = flow else {
            return Ok(());
        };
        self.note_moved(flow);
        self.input(service, Some(flow), Input::Received { flow, bytes }, bytes)?;
        self.end_doomed()
    }

    /// Sends the batched datagrams. Refused datagrams are lost, and the protocol may repair the loss.
    pub(super) fn send_datagrams(&mut self, service: usize) {
        if let Listener::Udp(socket, batch) = &mut self.services[service].listener
            && !batch.is_empty()
        {
            batch.send(socket);
        }
    }

    /// Opens a flow for a new peer. Anyone can send from any number of addresses: off the link, a new peer replaces the
    /// oldest.
    fn open_peer(&mut self, service: usize, peer: SocketAddr) -> io::Result<Option<FlowId>> {
        if !self.on_link && self.services[service].peers.len() >= self.max_peers {
            self.drop_oldest_peer(service)?;
        }
        let opened = Flow::new(service, peer, None, self.on_link, self.clock.now());
        let Some(flow) = self.flows.insert(opened) else {
            return Ok(None);
        };
        self.services[service].peers.insert(peer, flow);
        self.input(service, Some(flow), Input::Opened { flow, peer }, &[])?;
        Ok(Some(flow))
    }

    /// Drops the oldest peer. A new peer takes the index of the dropped one, so the next index holds the next oldest.
    fn drop_oldest_peer(&mut self, service: usize) -> io::Result<()> {
        let is_peer = |flow: &Flow| flow.service == service && flow.connection.is_none();
        let oldest = self.services[service].oldest;
        let Some((flow, next)) = self.flows.find_from(oldest, is_peer) else {
            return Ok(());
        };
        self.services[service].oldest = next;
        self.lost(flow, ResetReason::TimedOut)
    }

    pub(super) fn forget_peer(&mut self, flow: FlowId) {
        let Some(gone) = self.flows.remove(flow) else {
            return;
        };
        self.budget.remove(flow, &gone.holding);
        self.services[gone.service].peers.remove(&gone.peer);
        self.reports.extend(gone.into_report());
    }
}

/// Whether the process or the machine can open no more files (accept(2)).
fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
