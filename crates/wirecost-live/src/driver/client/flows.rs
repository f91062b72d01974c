//! Opens and closes the sockets of devices.

use std::io;

use mio::{Interest, Token};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Director, Endpoint, Input, ResetReason};

use super::super::datagram::{self, Batch};
use super::super::stream::{Stream, reason_of_none};
use super::setting::Setting;
use super::slot::{Shared, Socket};
use super::{ClientLoop, SHARED_SOCKETS};

impl<E, D, S> ClientLoop<E, D, S>
where
    E: Endpoint<Error: std::fmt::Display>,
    D: Director<E>,
    S: Setting,
{
    pub(super) fn connect(&mut self, index: usize) {
        self.flush(index);
        self.close_socket(index);
        self.is_past = true;
        if let Err(error) = self.try_connect(index) {
            let (reason, now) = (reason_of_none(&error), self.now());
            self.director.failed(index, reason, now);
            self.socket_error.get_or_insert(error);
        }
    }

    fn try_connect(&mut self, index: usize) -> io::Result<()> {
        let slot = &mut self.slots[index];
        // Before it connects, so that a failure also has a number of its own, and a late event of it is not taken for one of the next.
        slot.flows += 1;
        let target = slot.target;
        match self.targets[target as usize].transport {
            Transport::Stream => self.connect_stream(index),
            Transport::Datagram if self.setting.shared_sockets() > 0 => {
                let shared = self.shared_socket(target, index % self.setting.shared_sockets())?;
                self.slots[index].socket = Socket::Shared(shared);
                self.opened(index);
                Ok(())
            }
            Transport::Datagram => self.connect_datagram(index),
        }
    }

    fn connect_stream(&mut self, index: usize) -> io::Result<()> {
        let remote = self.targets[self.slots[index].target as usize].remote;
        let mut stream = Stream::connect(self.setting.origin(index), remote, self.writing)?;
        if self.setting.needs_addresses() {
            let address = stream.socket.local_addr()?;
            self.setting.opened(index, address, Transport::Stream);
        }
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll
            .registry()
            .register(&mut stream.socket, Token(index), interest)?;
        self.slots[index].socket = Socket::Stream(stream);
        Ok(())
    }

    fn connect_datagram(&mut self, index: usize) -> io::Result<()> {
        let remote = self.targets[self.slots[index].target as usize].remote;
        let mut socket = datagram::connect(self.setting.origin(index), remote, false)?;
        if self.setting.needs_addresses() {
            let address = socket.local_addr()?;
            self.setting.opened(index, address, Transport::Datagram);
        }
        self.poll
            .registry()
            .register(&mut socket, Token(index), Interest::READABLE)?;
        self.slots[index].socket = Socket::Datagram(socket);
        self.opened(index);
        Ok(())
    }

    /// One of the sockets that the devices of a target share.
    fn shared_socket(&mut self, target: u32, number: usize) -> io::Result<u32> {
        let is_it = |shared: &Shared| (shared.target, shared.number) == (target, number);
        if let Some(known) = self.shared.iter().position(is_it) {
            return Ok(known as u32);
        }
        let index = self.shared.len();
        let remote = self.targets[target as usize].remote;
        let mut socket = datagram::connect(self.setting.origin(index), remote, true)?;
        if self.setting.needs_addresses() {
            let address = socket.local_addr()?;
            self.setting.opened(index, address, Transport::Datagram);
        }
        let token = Token(SHARED_SOCKETS + index);
        self.poll
            .registry()
            .register(&mut socket, token, Interest::READABLE)?;
        self.shared.push(Shared {
            target,
            number,
            socket,
            batch: Batch::default(),
            waiting: Vec::new(),
            is_unread: false,
        });
        Ok(index as u32)
    }

    pub(super) fn opened(&mut self, index: usize) {
        let slot = &self.slots[index];
        let (flow, peer) = (slot.flow(), self.targets[slot.target as usize].remote);
        self.input(index, Input::Opened { flow, peer });
    }

    /// Drops a device's socket on behalf of the director.
    pub(super) fn abort(&mut self, index: usize, reset: bool) {
        let slot = &self.slots[index];
        let flow = slot.flow();
        match &slot.socket {
            Socket::None => return,
            Socket::Stream(stream) if reset => stream.abort(),
            _ => {}
        }
        self.close_socket(index);
        let reason = ResetReason::Local;
        self.input(index, Input::Reset { flow, reason });
    }

    /// Closes a device's flow on behalf of its endpoint.
    pub(super) fn close_flow(&mut self, index: usize, reset: bool) {
        if !S::EXACT || matches!(self.slots[index].socket, Socket::Datagram(_)) {
            // Earlier output goes first. A refusal no longer matters.
            let _ = self.hand_over(index);
        }
        match &mut self.slots[index].socket {
            Socket::Stream(stream) if reset => {
                stream.abort();
                self.close_socket(index);
            }
            Socket::Stream(stream) => stream.request_fin(),
            Socket::Datagram(_) | Socket::Shared(_) => self.close_socket(index),
            Socket::None => {}
        }
    }

    /// Drops a stream that is closed in both directions.
    pub(super) fn drop_closed(&mut self, index: usize) {
        if matches!(&self.slots[index].socket, Socket::Stream(stream) if stream.is_closed()) {
            self.close_socket(index);
        }
    }

    pub(super) fn close_socket(&mut self, index: usize) {
        self.pending.stream.clear();
        self.pending.datagrams.clear();
        match std::mem::replace(&mut self.slots[index].socket, Socket::None) {
            Socket::None | Socket::Shared(_) => {}
            // Deregistering fails only for a socket that is not registered.
            Socket::Stream(mut stream) => drop(self.poll.registry().deregister(&mut stream.socket)),
            Socket::Datagram(mut socket) => drop(self.poll.registry().deregister(&mut socket)),
        }
    }
}
