//! Socket events: connected, readable, writable, closed.

use std::io;

use mio::event::Event;
use wirecost_proto::{Director, Endpoint, Input, ResetReason};

use super::super::READ_BYTES;
use super::super::datagram::Received;
use super::super::stream::{Readable, State, reason_of};
use super::ClientLoop;
use super::setting::Setting;
use super::slot::Socket;

/// The most reads of one socket before other sockets have their turn.
const READS_PER_TURN: usize = 16;

impl<E, D, S> ClientLoop<E, D, S>
where
    E: Endpoint<Error: std::fmt::Display>,
    D: Director<E>,
    S: Setting,
{
    pub(super) fn handle_ready(&mut self, index: usize, event: &Event) {
        // A read that does not fill the buffer has read everything, unless the peer has closed the connection.
        let is_ending = event.is_read_closed() || event.is_error();
        let (is_writable, is_readable) = (event.is_writable(), event.is_readable());
        self.hear(index, |this| {
            if is_writable || is_ending {
                this.handle_writable(index);
            }
            if is_readable || is_ending {
                this.read(index, is_ending);
            }
        });
    }

    fn handle_writable(&mut self, index: usize) {
        let Socket::Stream(stream) = &mut self.slots[index].socket else {
            return;
        };
        if stream.state == State::Connecting {
            match stream.finish_connect() {
                Ok(true) => self.opened(index),
                Ok(false) => return,
                Err(reason) => return self.lost(index, reason, true),
            }
        }
        let Socket::Stream(stream) = &mut self.slots[index].socket else {
            return;
        };
        if stream.is_flushed() {
            return;
        }
        self.is_past = true;
        match stream.flush(self.writing) {
            Ok(written) => {
                self.counted.sent_bytes += written as u64;
                self.write_out(index);
            }
            Err(refusal) => self.read_out(index, refusal),
        }
    }

    /// Continues reading from an earlier turn.
    pub(super) fn read_on(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.continues = false;
        if std::mem::take(&mut slot.is_unread) {
            self.read(index, true);
        }
    }

    /// Reads a device's socket. With `to_the_end`, a short read may not be the last.
    fn read(&mut self, index: usize, to_the_end: bool) {
        match self.slots[index].socket {
            Socket::Stream(_) => self.read_stream(index, to_the_end),
            Socket::Datagram(_) => self.receive_own(index, to_the_end),
            Socket::None | Socket::Shared(_) => {}
        }
    }

    fn read_stream(&mut self, index: usize, to_the_end: bool) {
        let mut buffer = std::mem::take(&mut self.stream_bytes);
        let goes_on = (0..READS_PER_TURN).all(|_| self.read_once(index, &mut buffer, to_the_end));
        self.stream_bytes = buffer;
        self.note_unread(index, goes_on);
    }

    /// Gives a device another turn if its socket may hold more.
    fn note_unread(&mut self, index: usize, has_more: bool) {
        if has_more {
            self.slots[index].is_unread = true;
            self.continue_later(index);
        }
    }

    /// Reads once. Returns whether there may be more to read.
    fn read_once(&mut self, index: usize, buffer: &mut [u8], to_the_end: bool) -> bool {
        let slot = &mut self.slots[index];
        let flow = slot.flow();
        self.is_past = true;
        let readable = match &mut slot.socket {
            Socket::Stream(stream) if stream.state == State::Connecting || stream.fin_received => {
                return false;
            }
            Socket::Stream(stream) => stream.read(buffer),
            _ => return false,
        };
        match readable {
            Readable::Bytes(len) => {
                self.received(index, &buffer[..len]);
                // The bytes may have made the endpoint close the connection.
                self.drop_closed(index);
                // A read that did not fill the buffer has emptied the socket: a further one would only return EAGAIN. After the end of the
                // connection nothing more is reported, so that everything is read.
                len == buffer.len() || to_the_end
            }
            Readable::Nothing => false,
            Readable::PeerClosed => {
                self.input(index, Input::PeerClosed { flow });
                self.drop_closed(index);
                false
            }
            Readable::Reset(reason) => {
                self.lost(index, reason, false);
                false
            }
        }
    }

    fn received(&mut self, index: usize, bytes: &[u8]) {
        self.counted.received_bytes += bytes.len() as u64;
        let flow = self.slots[index].flow();
        self.input_of(index, Input::Received { flow, bytes }, bytes);
        self.give_up_unread(index);
    }

    fn receive_own(&mut self, index: usize, to_the_end: bool) {
        let mut received = self.received.take().unwrap_or_default();
        let goes_on = (0..READS_PER_TURN).all(|_| self.receive_once(index, &mut received, to_the_end));
        self.received = Some(received);
        self.note_unread(index, goes_on);
    }

    /// Receives once. Returns whether there may be more to read.
    fn receive_once(&mut self, index: usize, received: &mut Received, to_the_end: bool) -> bool {
        let Socket::Datagram(socket) = &self.slots[index].socket else {
            return false;
        };
        // Checking for more costs a third of a call that receives several datagrams.
        let alone = !to_the_end && self.director.awaited(index) == Some(1);
        self.is_past = true;
        let filled = if alone {
            received.fill_one(socket)
        } else {
            received.fill(socket)
        };
        match filled {
            Ok((0, _)) => false,
            Ok((count, is_full)) => {
                for number in 0..count {
                    self.received(index, received.datagram(number));
                }
                if alone {
                    return self.director.awaited(index) != Some(0);
                }
                is_full || to_the_end
            }
            // The kernel reports an ICMP error before the datagrams that arrived with it. Nothing else signals that
            // there are more.
            Err(error) => {
                self.lost(index, reason_of(&error), false);
                true
            }
        }
    }

    /// Receives on a shared socket and passes each datagram to its device.
    pub(super) fn receive_shared(&mut self, shared: usize) {
        let mut received = self.received.take().unwrap_or_default();
        // A socket that is never empty would keep the timers and all other devices waiting.
        let is_unread = (0..READS_PER_TURN).all(|_| {
            let filled = received.fill(&self.shared[shared].socket);
            let (count, is_full) = filled.unwrap_or_else(|error| {
                self.shared_failed(&error);
                (0, true)
            });
            for number in 0..count {
                self.deliver(shared, received.datagram(number));
            }
            is_full
        });
        self.received = Some(received);
        self.shared[shared].is_unread = is_unread;
    }

    /// Reports an ICMP error to the director. The error does not name the device.
    pub(super) fn shared_failed(&mut self, error: &io::Error) {
        let now = self.tick();
        self.director.shared_failed(reason_of(error), now);
    }

    fn deliver(&mut self, shared: usize, datagram: &[u8]) {
        self.tick();
        let number = self.shared[shared].number;
        let device = self.director.route(number, datagram).filter(|device| {
            let socket = self.slots.get(*device).map(|slot| &slot.socket);
            matches!(socket, Some(Socket::Shared(its)) if *its as usize == shared)
        });
        if let Some(index) = device {
            self.turn(index, |this| this.received(index, datagram));
        }
    }

    /// The flow is lost; `unopened` means that it was never usable.
    pub(super) fn lost(&mut self, index: usize, reason: ResetReason, unopened: bool) {
        let flow = self.slots[index].flow();
        // A connected UDP socket survives an ICMP error.
        if matches!(self.slots[index].socket, Socket::Stream(_)) {
            self.close_socket(index);
        }
        if unopened {
            let now = self.now();
            self.director.failed(index, reason, now);
        }
        self.input(index, Input::Reset { flow, reason });
    }

    /// The peer accepts no more data: reads its earlier data, and then the flow is lost.
    pub(super) fn read_out(&mut self, index: usize, refusal: ResetReason) {
        let mut buffer = vec![0; READ_BYTES];
        let reason = loop {
            let Socket::Stream(stream) = &mut self.slots[index].socket else {
                return;
            };
            match stream.read(&mut buffer) {
                Readable::Bytes(len) => self.received(index, &buffer[..len]),
                Readable::Reset(reason) => break reason,
                // The write failed first, and its reason is the better one: the end of the data is only its consequence.
                Readable::Nothing | Readable::PeerClosed => break refusal,
            }
        };
        self.lost(index, reason, false);
    }
}
