//! Relayed datagrams: each device's address has a socket of its own to the server.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};

use super::{Counters, DATAGRAMS, TURN, count};
use wirecost_proto::hosts::any_port;

/// The tokens of the sockets to the server. Those of listeners are lower.
const FLOWS: usize = DATAGRAMS + (1 << 16);

/// The most devices' addresses at a time. The one that was silent longest makes room.
const MOST_FLOWS: usize = 16_384;

/// The address of a device, and the socket to the server that stands for it.
#[derive(Debug)]
struct Flow {
    listener: usize,
    device: SocketAddr,
    socket: UdpSocket,
    /// The number of the last datagram.
    last: u64,
}

/// All relayed datagram flows.
#[derive(Debug)]
pub(super) struct Datagrams {
    listeners: Vec<(UdpSocket, SocketAddr)>,
    /// By token.
    flows: BTreeMap<usize, Flow>,
    by_device: BTreeMap<(usize, SocketAddr), usize>,
    next_token: usize,
    datagrams: u64,
    ready: BTreeSet<usize>,
    counters: Arc<Counters>,
}

impl Datagrams {
    pub(super) const fn new(counters: Arc<Counters>) -> Self {
        Self {
            listeners: Vec::new(),
            flows: BTreeMap::new(),
            by_device: BTreeMap::new(),
            next_token: FLOWS,
            datagrams: 0,
            ready: BTreeSet::new(),
            counters,
        }
    }

    pub(super) fn clear(&mut self) {
        self.listeners.clear();
        self.flows.clear();
        self.by_device.clear();
        self.ready.clear();
    }

    pub(super) fn listen(
        &mut self,
        registry: &Registry,
        mut socket: UdpSocket,
        target: SocketAddr,
    ) -> io::Result<()> {
        let token = Token(DATAGRAMS + self.listeners.len());
        registry.register(&mut socket, token, Interest::READABLE)?;
        self.listeners.push((socket, target));
        Ok(())
    }

    /// Notes that a socket is ready.
    pub(super) fn woken(&mut self, token: usize) {
        self.ready.insert(token);
    }

    /// Whether a socket may be ready without another event.
    pub(super) fn is_behind(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Gives every ready socket a turn.
    pub(super) fn turn(&mut self, registry: &Registry, buffer: &mut [u8]) {
        for token in std::mem::take(&mut self.ready) {
            let goes_on = match token.checked_sub(FLOWS) {
                Some(_) => self.pass_down(token, buffer),
                None => self.pass_up(token - DATAGRAMS, registry, buffer),
            };
            if goes_on {
                self.ready.insert(token);
            }
        }
    }

    /// Passes datagrams of devices to the server. Returns whether there may be more.
    fn pass_up(&mut self, listener: usize, registry: &Registry, buffer: &mut [u8]) -> bool {
        for _ in 0..TURN {
            let Some((socket, target)) = self.listeners.get(listener) else {
                return false;
            };
            let target = *target;
            let (len, device) = match socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(_) => continue,
            };
            let sent = self
                .flow(listener, device, target, registry)
                .and_then(|flow| flow.socket.send(&buffer[..len]));
            if sent.is_err() {
                count(&self.counters.lost_datagrams);
            }
        }
        true
    }

    /// Passes datagrams of the server to a device. Returns whether there may be more.
    fn pass_down(&mut self, token: usize, buffer: &mut [u8]) -> bool {
        for _ in 0..TURN {
            let Some(flow) = self.flows.get(&token) else {
                return false;
            };
            let len = match flow.socket.recv(buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                // ICMP: nobody listens.
                Err(_) => {
                    count(&self.counters.lost_datagrams);
                    continue;
                }
            };
            let Some((socket, _)) = self.listeners.get(flow.listener) else {
                return false;
            };
            if socket.send_to(&buffer[..len], flow.device).is_err() {
                count(&self.counters.lost_datagrams);
            }
        }
        true
    }

    /// The flow of a device, new if it has none.
    fn flow(
        &mut self,
        listener: usize,
        device: SocketAddr,
        target: SocketAddr,
        registry: &Registry,
    ) -> io::Result<&Flow> {
        self.datagrams += 1;
        let token = match self.by_device.get(&(listener, device)) {
            Some(token) => *token,
            None => {
                self.make_room();
                let token = self.next_token;
                let mut socket = UdpSocket::bind(any_port(target))?;
                // A connected socket receives from the server alone, and hears of ICMP errors (udp(7)).
                socket.connect(target)?;
                registry.register(&mut socket, Token(token), Interest::READABLE)?;
                self.next_token += 1;
                self.by_device.insert((listener, device), token);
                let last = self.datagrams;
                let flow = Flow {
                    listener,
                    device,
                    socket,
                    last,
                };
                self.flows.insert(token, flow);
                token
            }
        };
        let flow = self.flows.get_mut(&token).ok_or(ErrorKind::NotFound)?;
        flow.last = self.datagrams;
        Ok(flow)
    }

    fn make_room(&mut self) {
        if self.flows.len() < MOST_FLOWS {
            return;
        }
        let oldest = self.flows.iter().min_by_key(|(_, flow)| flow.last);
        let Some((&token, _)) = oldest else { return };
        if let Some(flow) = self.flows.remove(&token) {
            self.by_device.remove(&(flow.listener, flow.device));
        }
    }
}
