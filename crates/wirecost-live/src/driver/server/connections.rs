//! Connections: reading, flushing, closing, and waiting for the client's close.

use std::io;

use mio::event::Event;
use wirecost_proto::driver::{ServiceObserver, UNSENT_LIMIT};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, ResetReason};

use super::super::stream::{MAX_UNSENT, Readable};
use super::{READS_PER_TURN, ServerLoop};

/// A connection that is closed on this side.
#[derive(Clone, Copy)]
pub(super) struct Lingering {
    /// The time of the next check.
    until: Instant,
    flow: FlowId,
    /// Unsent bytes at the last check.
    unsent: usize,
}

impl<E, O> ServerLoop<E, O>
where
    E: Endpoint<Error: std::fmt::Display>,
    O: ServiceObserver<E>,
{
    /// Flushes at once. Reading waits until every event of the turn is known.
    pub(super) fn note_connection(&mut self, flow: FlowId, event: &Event) -> io::Result<()> {
        let is_ending = event.is_read_closed() || event.is_error();
        if event.is_readable() || is_ending {
            self.read_later(flow, is_ending);
        }
        let waits = |stream: &super::Stream| !stream.is_flushed() || stream.owes_fin();
        let connection = self.flows.connection_mut(flow);
        if event.is_writable() && connection.is_some_and(|connection| waits(&connection.stream)) {
            self.lap();
            self.flush(flow)?;
            self.charge(flow);
        }
        Ok(())
    }

    pub(super) fn read_later(&mut self, flow: FlowId, to_the_end: bool) {
        if let Some(connection) = self.flows.connection_mut(flow) {
            connection.to_the_end |= to_the_end;
            if !std::mem::replace(&mut connection.is_unread, true) {
                self.unread.push(flow);
            }
        }
    }

    /// Reads a connection, and answers in one write.
    pub(super) fn read(&mut self, flow: FlowId, buffer: &mut [u8]) -> io::Result<()> {
        self.lap();
        let Some(connection) = self.flows.connection_mut(flow) else {
            return Ok(());
        };
        connection.is_unread = false;
        let to_the_end = std::mem::take(&mut connection.to_the_end);
        self.at_hand = Some(flow);
        let mut goes_on = true;
        for _ in 0..READS_PER_TURN {
            goes_on = self.read_once(flow, buffer, to_the_end)?;
            if !goes_on {
                break;
            }
        }
        self.settle(flow)?;
        if goes_on {
            self.read_later(flow, true);
        }
        self.charge(flow);
        Ok(())
    }

    /// Reads once. Returns whether there may be more to read.
    fn read_once(&mut self, flow: FlowId, buffer: &mut [u8], to_the_end: bool) -> io::Result<bool> {
        let Some(found) = self.flows.get_mut(flow) else {
            return Ok(false);
        };
        let service = found.service;
        let Some(connection) = &mut found.connection else {
            return Ok(false);
        };
        // The server does not read from a client that does not read: its requests would fill the memory with answers.
        let stream = &mut connection.stream;
        if connection.congested || (stream.fin_received && !stream.is_refused()) {
            return Ok(false);
        }
        match stream.read(buffer) {
            Readable::Bytes(len) => {
                let bytes = &buffer[..len];
                self.input(service, Some(flow), Input::Received { flow, bytes }, bytes)?;
                // A read that does not fill the buffer has read everything (epoll(7)).
                return Ok(len == buffer.len() || to_the_end);
            }
            Readable::Nothing => {}
            Readable::PeerClosed => {
                self.input(service, Some(flow), Input::PeerClosed { flow }, &[])?;
                self.settle(flow)?;
                self.drop_closed(flow);
            }
            Readable::Reset(reason) => self.lost(flow, reason)?,
        }
        Ok(false)
    }

    /// Passes bytes to a connection. On the link, each transmission is its own write. Elsewhere all answers to one read
    /// go out together, and so does the output for other connections in one turn. Returns whether too much is unsent
    /// from then on.
    pub(super) fn transmit_stream(&mut self, flow: FlowId, out: &Buffer) -> bool {
        if self.at_hand == Some(flow) && !self.on_link {
            self.answer.extend_from_slice(out.bytes());
            return self.answer.len() >= UNSENT_LIMIT && self.send_answer(flow);
        }
        let on_link = self.on_link;
        let Some(connection) = self.flows.connection_mut(flow) else {
            return false;
        };
        if on_link {
            // A failed write shows at the next read of the socket.
            let _ = connection.stream.write(out.bytes(), self.writing);
        } else {
            connection.stream.queue(out.bytes());
            if connection.stream.is_congested() {
                // A failed write shows at the next read of the socket.
                let _ = connection.stream.flush(self.writing);
            }
            if !std::mem::replace(&mut connection.is_unflushed, true) {
                self.unflushed.push(flow);
            }
        }
        connection.note_congestion()
    }

    /// Sends the collected answers of the current connection. Returns whether too much is unsent.
    fn send_answer(&mut self, flow: FlowId) -> bool {
        let mut answer = std::mem::take(&mut self.answer);
        let connection = self.flows.connection_mut(flow).filter(|_| !answer.is_empty());
        let is_congested = connection.is_some_and(|connection| {
            // A failed write shows at the next read of the socket.
            let _ = connection.stream.write(&answer, self.writing);
            connection.note_congestion()
        });
        answer.clear();
        self.answer = answer;
        is_congested
    }

    /// Sends the collected answers of the current connection at the end of its turn.
    fn settle(&mut self, flow: FlowId) -> io::Result<()> {
        if self.at_hand != Some(flow) {
            return Ok(());
        }
        let is_congested = self.send_answer(flow);
        self.at_hand = None;
        match self.flows.get(flow).map(|found| found.service) {
            Some(service) if is_congested => self.input(service, Some(flow), Input::Congested { flow }, &[]),
            _ => Ok(()),
        }
    }

    /// Sends the output that was queued in a turn for other connections.
    pub(super) fn flush_queued(&mut self) -> io::Result<()> {
        let mut queued = std::mem::take(&mut self.unflushed);
        for flow in queued.drain(..) {
            if let Some(connection) = self.flows.connection_mut(flow) {
                connection.is_unflushed = false;
                self.flush(flow)?;
                self.give_up_unread(flow)?;
            }
        }
        // Output queued by flushing is sent after the poll, which does not wait then.
        queued.append(&mut self.unflushed);
        self.unflushed = queued;
        Ok(())
    }

    fn flush(&mut self, flow: FlowId) -> io::Result<()> {
        let Some(connection) = self.flows.connection_mut(flow) else {
            return Ok(());
        };
        if connection.stream.flush(self.writing).is_err() {
            // Earlier data of the peer comes first, even of one that was not read because it did not read.
            connection.congested = false;
            self.read_later(flow, true);
            return Ok(());
        }
        if connection.congested && !connection.stream.is_congested() {
            connection.congested = false;
            self.read_later(flow, true);
            if let Some(service) = self.flows.get(flow).map(|found| found.service) {
                self.input(service, Some(flow), Input::Writable { flow }, &[])?;
            }
        }
        self.drop_closed(flow);
        Ok(())
    }

    /// Resets a connection whose client does not read what other clients send to it: the output would fill the memory.
    fn give_up_unread(&mut self, flow: FlowId) -> io::Result<()> {
        match self.flows.connection_mut(flow) {
            Some(connection) if connection.stream.unsent() > MAX_UNSENT => connection.stream.abort(),
            _ => return Ok(()),
        }
        self.lost(flow, ResetReason::Local)
    }

    pub(super) fn close_connection(&mut self, flow: FlowId, reset: bool) {
        if self.at_hand == Some(flow) {
            self.send_answer(flow);
        }
        let Some(connection) = self.flows.connection_mut(flow) else {
            return;
        };
        if reset {
            // Earlier output goes first.
            let _ = connection.stream.flush(self.writing);
            connection.stream.abort();
            return self.drop_connection(flow);
        }
        connection.stream.request_fin();
        let is_lost = connection.stream.flush(self.writing).is_err();
        if self.on_link && is_lost {
            return self.drop_connection(flow);
        }
        if !self.on_link {
            // The endpoint is in a call. It learns of the failure when the socket is read or reset.
            self.read_later(flow, true);
            self.linger(flow);
        }
        self.drop_closed(flow);
    }

    fn lost(&mut self, flow: FlowId, reason: ResetReason) -> io::Result<()> {
        let Some(service) = self.flows.get(flow).map(|found| found.service) else {
            return Ok(());
        };
        self.drop_connection(flow);
        self.input(service, Some(flow), Input::Reset { flow, reason }, &[])
    }

    fn drop_closed(&mut self, flow: FlowId) {
        let connection = self.flows.connection_mut(flow);
        if connection.is_some_and(|connection| connection.stream.is_closed()) {
            self.drop_connection(flow);
        }
    }

    fn drop_connection(&mut self, flow: FlowId) {
        let Some(mut gone) = self.flows.remove(flow) else {
            return;
        };
        if self.at_hand == Some(flow) {
            self.answer.clear();
            self.at_hand = None;
        }
        if let Some(connection) = &mut gone.connection {
            // Deregistering fails only for a socket that is not registered.
            drop(self.poll.registry().deregister(&mut connection.stream.socket));
        }
        // A waiting connection can use its descriptor.
        for service in std::mem::take(&mut self.starved) {
            self.hear_later(service);
        }
        let spent = self.lap();
        if let Some(account) = &mut gone.account {
            account.cpu += spent;
        }
        self.reports.extend(gone.into_report());
    }

    /// Waits for the client's close of a connection that is closed on this side.
    fn linger(&mut self, flow: FlowId) {
        let Some(connection) = self.flows.connection_mut(flow) else {
            return;
        };
        let unsent = connection.stream.unsent();
        let until = self.clock.now() + self.linger;
        self.lingering.push_back(Lingering { until, flow, unsent });
        self.wakes.want(self.services.len(), until);
    }

    /// Leaves connections to the kernel that their clients have not closed in time: it delivers the rest and resets
    /// later data.
    pub(super) fn end_lingering(&mut self, now: Instant) -> io::Result<()> {
        while let Some(Lingering { until, flow, unsent }) = self.lingering.front().copied() {
            if until > now {
                self.wakes.want(self.services.len(), until);
                break;
            }
            self.lingering.pop_front();
            match self.flows.connection_mut(flow) {
                Some(connection) if connection.stream.unsent() < unsent => self.linger(flow),
                Some(_) => self.lost(flow, ResetReason::TimedOut)?,
                None => {}
            }
        }
        Ok(())
    }
}
