//! A device's endpoint: its input, its events, and its output on the way to the kernel.

use wirecost_proto::driver::UNSENT_LIMIT;
use wirecost_proto::{Buffer, Director, Endpoint, Input, Output, ResetReason};

use super::super::datagram::{MOST_WAITING, Sent};
use super::super::stream::reason_of;
use super::ClientLoop;
use super::setting::Setting;
use super::slot::Socket;

/// The most bytes of a stream that a turn makes within a microsecond: a message of a usual size, and one record of TLS around it.
const SMALL_OUTPUT: usize = 1_024;

impl<E, D, S> ClientLoop<E, D, S>
where
    E: Endpoint<Error: std::fmt::Display>,
    D: Director<E>,
    S: Setting,
{
    pub(super) fn input(&mut self, index: usize, input: Input<'_, E::Command>) {
        self.input_of(index, input, &[]);
    }

    /// Passes an input to the endpoint and handles its events. `received` are the bytes of the input, if any.
    pub(super) fn input_of(&mut self, index: usize, input: Input<'_, E::Command>, received: &[u8]) {
        let now = self.now();
        let slot = &mut self.slots[index];
        if slot.has_ended {
            return;
        }
        if let Err(error) = slot.endpoint.handle_input(input, now) {
            slot.has_ended = true;
            return self.director.ended(index, &error, now);
        }
        if !received.is_empty() {
            self.setting.used(index, now);
        }
        // Borrowed from `self` for the loop below, and put back after it: one buffer for all devices.
        let mut out = std::mem::take(&mut self.out);
        loop {
            out.clear();
            match self.slots[index].endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => {
                    self.setting.used(index, now);
                    self.transmit(index, &out);
                }
                Output::Consumed { .. } => self.setting.consumed(index, received, &out),
                Output::Close { flow, reset } if flow == self.slots[index].flow() => {
                    self.close_flow(index, reset);
                }
                // The socket is that of a later flow: an endpoint may end one that its successor has replaced.
                Output::Close { .. } => {}
                Output::Event(event) => self.director.event(index, event, now),
                Output::Timeout(at) => {
                    if let Some(at) = at {
                        self.wakes.want(index, at);
                    }
                    break;
                }
            }
        }
        self.out = out;
        let waiting = self.pending.datagrams.len() >= MOST_WAITING;
        // A load sends what several inputs gave in one call. A measurement of one device sends each output when it is made.
        if S::EXACT || waiting || self.pending.stream.len() >= UNSENT_LIMIT {
            self.flush(index);
        }
    }

    fn transmit(&mut self, index: usize, out: &Buffer) {
        self.setting.transmitted(index, out);
        self.slots[index].owes_sent = true;
        match self.slots[index].socket {
            Socket::None => {}
            Socket::Stream(_) => self.pending.stream.extend_from_slice(out.bytes()),
            Socket::Datagram(_) => self.pending.datagrams.push(out.bytes()),
            Socket::Shared(shared) => self.shared[shared as usize].batch.push(out.bytes()),
        }
    }

    /// Passes a device's output to the kernel. Returns whether this caused an event for the director or the endpoint.
    pub(super) fn flush(&mut self, index: usize) -> bool {
        let slot = &self.slots[index];
        let has_output = !self.pending.stream.is_empty() || !self.pending.datagrams.is_empty();
        let owes_fin = matches!(&slot.socket, Socket::Stream(stream) if stream.owes_fin());
        if has_output || owes_fin || slot.owes_sent {
            return self.write_out(index);
        }
        self.drop_closed(index);
        false
    }

    /// Passes a device's output to the kernel and notifies its owner.
    pub(super) fn write_out(&mut self, index: usize) -> bool {
        // Before the kernel has it: when the call returns, the peer may have answered already. One small message is made within a microsecond
        // of the time at which its turn began.
        if self.pending.stream.len() > SMALL_OUTPUT || !self.pending.datagrams.is_empty() {
            self.is_past = true;
        }
        let leaves = self.current();
        let is_flushed = match self.hand_over(index) {
            Ok(is_flushed) => is_flushed,
            Err(refusal) => {
                self.read_out(index, refusal);
                return true;
            }
        };
        let mut has_news = false;
        if is_flushed && std::mem::take(&mut self.slots[index].owes_sent) {
            has_news = self.director.flushed(index, leaves);
        }
        has_news |= self.note_congestion(index);
        self.drop_closed(index);
        has_news
    }

    /// Passes the current device's output to the kernel. Returns whether none is left.
    pub(super) fn hand_over(&mut self, index: usize) -> Result<bool, ResetReason> {
        self.is_past = true;
        let slot = &mut self.slots[index];
        match &mut slot.socket {
            Socket::Stream(stream) => {
                if slot.is_congested {
                    stream.note_answers(self.pending.stream.len());
                }
                let written = stream.write(&self.pending.stream, self.writing);
                self.pending.stream.clear();
                self.counted.sent_bytes += written? as u64;
                Ok(stream.is_flushed())
            }
            Socket::Datagram(socket) => {
                let sent = self.pending.datagrams.send(socket);
                self.count_sent(index, sent);
                Ok(true)
            }
            // Sent at the end of the round, with the output of other devices.
            Socket::Shared(shared) => {
                if std::mem::take(&mut slot.owes_sent) {
                    self.shared[*shared as usize].waiting.push(index);
                }
                Ok(false)
            }
            // Output for a closed socket is gone with it.
            Socket::None => Ok(false),
        }
    }

    fn count_sent(&mut self, index: usize, sent: Sent) {
        self.counted.sent_bytes += sent.bytes as u64;
        self.counted.dropped_datagrams += sent.dropped;
        if let Some(error) = sent.refusal {
            let now = self.now();
            self.director.failed(index, reason_of(&error), now);
        }
    }

    /// Withholds commands while too much is unsent, and notifies the endpoint afterwards. Returns whether it did.
    fn note_congestion(&mut self, index: usize) -> bool {
        let slot = &mut self.slots[index];
        let is_congested = matches!(&slot.socket, Socket::Stream(stream) if stream.is_congested());
        let was_congested = std::mem::replace(&mut slot.is_congested, is_congested);
        let has_room_again = was_congested && !is_congested;
        if has_room_again {
            let flow = slot.flow();
            self.input(index, Input::Writable { flow });
        }
        has_room_again
    }

    /// Resets the connection of a peer that causes output without reading it: the output would fill the memory.
    pub(super) fn give_up_unread(&mut self, index: usize) {
        let slot = &self.slots[index];
        match &slot.socket {
            Socket::Stream(stream) if stream.is_flooded() => stream.abort(),
            _ => return,
        }
        self.lost(index, ResetReason::Unread, false);
    }

    /// Sends the output of devices on shared sockets.
    pub(super) fn send_shared(&mut self) {
        if self.shared.is_empty() {
            return;
        }
        for shared in 0..self.shared.len() {
            let leaves = self.tick();
            let place = &mut self.shared[shared];
            let sent = place.batch.send(&place.socket);
            let mut waiting = std::mem::take(&mut place.waiting);
            self.counted.sent_bytes += sent.bytes as u64;
            // The kernel does not say which datagrams failed: they are lost, as on the link.
            self.counted.dropped_datagrams += sent.dropped;
            if let Some(error) = sent.refusal {
                self.shared_failed(&error);
            }
            for index in waiting.drain(..) {
                if self.director.flushed(index, leaves) {
                    self.continue_later(index);
                }
            }
            self.shared[shared].waiting = waiting;
        }
        self.tick();
    }
}
