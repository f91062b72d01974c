//! Connections: reading, flushing, closing, and waiting for the client's close.

use std::io;
use std::time::Duration;

use mio::event::Event;
use wirecost_proto::driver::{ServiceObserver, UNSENT_LIMIT};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, ResetReason};

use super::super::stream::{MAX_UNSENT, Readable};
use super::flows::Rest;
use super::{BACKLOG_TIME, FEW_BYTES, READS_PER_TURN, ServerLoop, TURN_TIME};

/// The most bytes of a stream that an endpoint receives at once off the link. A piece is answered whole, also for a client
/// that does not read, and answers can be a hundred times as long as requests.
const PIECE_BYTES: usize = 1_024;

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

    /// Reads a connection, off the link for the time of its `turn`, and answers in one write.
    pub(super) fn read(&mut self, flow: FlowId, turn: Duration, buffer: &mut [u8]) -> io::Result<()> {
        self.lap();
        let Some(connection) = self.flows.connection_mut(flow) else {
            return Ok(());
        };
        connection.is_unread = false;
        let to_the_end = std::mem::take(&mut connection.to_the_end);
        self.at_hand = Some(flow);
        // A short turn cannot handle 64 KiB: the rest would have to be kept.
        let few = (!self.on_link && turn < TURN_TIME).then_some(FEW_BYTES);
        let most = few.map_or(buffer.len(), |few| few.min(buffer.len()));
        let buffer = &mut buffer[..most];
        self.turn_ends = (!self.on_link).then(|| self.clock.now() + turn);
        let mut goes_on = true;
        for _ in 0..READS_PER_TURN {
            goes_on = self.read_once(flow, buffer, to_the_end)?;
            if !goes_on || self.is_turn_over() {
                break;
            }
        }
        self.settle(flow)?;
        match goes_on {
            true if self.on_link => self.read_later(flow, true),
            true => self.read_again(flow),
            false => {}
        }
        self.charge(flow);
        Ok(())
    }

    fn is_turn_over(&self) -> bool {
        self.turn_ends.is_some_and(|end| self.clock.now() >= end)
    }

    /// Has a connection wait for its next turn.
    fn read_again(&mut self, flow: FlowId) {
        if let Some(connection) = self.flows.connection_mut(flow) {
            connection.to_the_end = true;
            if !std::mem::replace(&mut connection.is_unread, true) {
                self.backlog.push_back(flow);
            }
        }
    }

    /// Reads connections that had a turn before, for a while: those on which something has just arrived come first.
    pub(super) fn read_backlog(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        if self.backlog.is_empty() {
            return Ok(());
        }
        let end = self.clock.now() + BACKLOG_TIME;
        while let Some(flow) = self.backlog.pop_front() {
            self.read(flow, TURN_TIME, buffer)?;
            self.end_doomed()?;
            if self.clock.now() >= end {
                break;
            }
        }
        Ok(())
    }

    /// Passes the rest of an earlier read on, or reads once. Returns whether there may be more to read.
    fn read_once(&mut self, flow: FlowId, buffer: &mut [u8], to_the_end: bool) -> io::Result<bool> {
        let Some(found) = self.flows.get_mut(flow).filter(|found| !found.is_doomed) else {
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
        if connection.rest.len() > 0 {
            let rest = std::mem::take(&mut connection.rest);
            return self.pass_rest(service, flow, rest);
        }
        match stream.read(buffer) {
            Readable::Bytes(len) => {
                // A peer that sends is not stalled, however slow it is.
                self.note_moved(flow);
                let taken = self.pass(service, flow, &buffer[..len])?;
                if taken < len {
                    let bytes = buffer[taken..len].to_vec();
                    return Ok(self.keep_rest(flow, Rest { bytes, taken: 0 }));
                }
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

    /// Passes received bytes to the endpoint, until the turn is over or the client must read answers first. Returns how many.
    fn pass(&mut self, service: usize, flow: FlowId, bytes: &[u8]) -> io::Result<usize> {
        let piece = if self.on_link { bytes.len() } else { PIECE_BYTES };
        let mut taken = 0;
        for bytes in bytes.chunks(piece.max(1)) {
            if taken > 0 && (self.is_turn_over() || !self.takes_more(flow)) {
                break;
            }
            self.input(service, Some(flow), Input::Received { flow, bytes }, bytes)?;
            taken += bytes.len();
        }
        Ok(taken)
    }

    /// Whether a connection still exists and its client reads its answers.
    fn takes_more(&mut self, flow: FlowId) -> bool {
        let found = self.flows.get_mut(flow).filter(|found| !found.is_doomed);
        let connection = found.and_then(|found| found.connection.as_mut());
        connection.is_some_and(|connection| !connection.congested)
    }

    fn pass_rest(&mut self, service: usize, flow: FlowId, mut rest: Rest) -> io::Result<bool> {
        rest.taken += self.pass(service, flow, &rest.bytes[rest.taken..])?;
        if rest.len() > 0 {
            return Ok(self.keep_rest(flow, rest));
        }
        self.weigh(flow);
        Ok(true)
    }

    /// Keeps the rest of a read for the connection's next turn. Returns whether it may have one now.
    fn keep_rest(&mut self, flow: FlowId, rest: Rest) -> bool {
        let takes_more = self.takes_more(flow);
        if let Some(found) = self.flows.get_mut(flow).filter(|found| !found.is_doomed)
            && let Some(connection) = &mut found.connection
        {
            connection.rest = rest;
            self.weigh(flow);
        }
        takes_more
    }

    /// Notes that bytes have arrived or left.
    pub(super) fn note_moved(&mut self, flow: FlowId) {
        if self.budget.is_limited() {
            let now = self.clock.now();
            if let Some(flow) = self.flows.get_mut(flow) {
                flow.holding.moved = now;
            }
        }
    }

    /// Passes bytes to a connection. On the link, each transmission is its own write. Elsewhere all answers to one read
    /// go out together, and so does the output for other connections in one turn. Returns whether too much is unsent
    /// from then on.
    pub(super) fn transmit_stream(&mut self, flow: FlowId, out: &Buffer) -> bool {
        // One write for all answers to one read. On the link each is measured by itself.
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
        let (is_new, is_congested) = (connection.note_congestion(), connection.congested);
        if is_congested {
            self.weigh(flow);
        }
        is_new
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
        self.weigh(flow);
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
        let Ok(sent) = connection.stream.flush(self.writing) else {
            // Earlier data of the peer comes first, even of one that was not read because it did not read.
            connection.congested = false;
            self.read_later(flow, true);
            return Ok(());
        };
        if connection.congested && !connection.stream.is_congested() {
            connection.congested = false;
            self.read_later(flow, true);
            if let Some(service) = self.flows.get(flow).map(|found| found.service) {
                self.input(service, Some(flow), Input::Writable { flow }, &[])?;
            }
        }
        if sent > 0 {
            self.note_moved(flow);
        }
        self.weigh(flow);
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
        // The FIN leaves after the output that is still queued.
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

    fn drop_closed(&mut self, flow: FlowId) {
        let connection = self.flows.connection_mut(flow);
        if connection.is_some_and(|connection| connection.stream.is_closed()) {
            self.drop_connection(flow);
        }
    }

    pub(super) fn drop_connection(&mut self, flow: FlowId) {
        let Some(mut gone) = self.flows.remove(flow) else {
            return;
        };
        self.budget.remove(flow, &gone.holding);
        if self.at_hand == Some(flow) {
            // The next connection would otherwise send what was meant for this one.
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
                // It still takes bytes, slowly: a long answer over a slow link is no reason to cut it.
                Some(connection) if connection.stream.unsent() < unsent => self.linger(flow),
                Some(_) => self.lost(flow, ResetReason::TimedOut)?,
                None => {}
            }
        }
        Ok(())
    }
}
