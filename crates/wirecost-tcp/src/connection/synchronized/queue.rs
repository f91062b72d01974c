//! Writes to the send buffer, and their packets: several segments that leave at once, split and joined as the windows
//! allow (`burst`). (Linux: `tcp_sendmsg_locked`)

use wirecost_proto::Instant;

use super::burst::Burst;
use super::{Fin, Synchronized};
use crate::config::{BurstConfig, Config};
use crate::connection::{Event, Events};

/// A packet may be as long as the window of a peer that never offered more than this. (Linux: `TCP_MSS_DEFAULT`)
const TINY_WINDOW: u32 = 536;

/// The size of the send buffer with this congestion window (Linux: `tcp_sndbuf_expand`).
pub(super) fn send_limit(config: &Config, congestion_window: u32) -> u32 {
    let buffer = &config.send_buffer;
    let segments = congestion_window.max(config.recovery.initial_window);
    let grown = buffer.per_segment.saturating_mul(segments as usize);
    let limit = grown.clamp(buffer.minimum, buffer.maximum);
    u32::try_from(limit).unwrap_or(u32::MAX)
}

impl Synchronized {
    pub(crate) fn write(&mut self, bytes: &[u8], events: &mut Events, now: Instant) -> usize {
        if self.fin != Fin::Open {
            return 0;
        }
        if !bytes.is_empty() && !self.is_in_flight() {
            self.recovery.resume(now);
        }
        let taken = match self.config.burst {
            Some(burst) => self.write_packets(bytes, &burst, events, now),
            None => self.write_bytes(bytes),
        };
        self.waits_for_room = taken < bytes.len();
        self.pushes |= taken > 0;
        taken
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> usize {
        let room = (self.send_limit as usize).saturating_sub(self.send.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.send.write(taken);
        taken.len()
    }

    /// Fills packets while the buffer has room for another one; the last packet may exceed the room.
    fn write_packets(
        &mut self,
        bytes: &[u8],
        burst: &BurstConfig,
        events: &mut Events,
        now: Instant,
    ) -> usize {
        let longest = self.longest_packet(burst, bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            let held = self.send.last_packet_bytes(self.sent) as usize;
            let is_new = held == 0 || held >= longest;
            if is_new && self.held_bytes() >= self.send_limit as usize {
                break;
            }
            let room = if is_new { longest } else { longest - held };
            let (part, behind) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            if is_new {
                self.send.start_packet(part);
            } else {
                self.send.fill_packet(part, rest.len() < bytes.len());
            }
            rest = behind;
            if !rest.is_empty() {
                self.packet_filled(events, now);
            }
        }
        if rest.len() < bytes.len() {
            self.push();
        }
        bytes.len() - rest.len()
    }

    /// Handles a full packet with more bytes to be written. If it is the first waiting packet, it leaves as far as possible. If
    /// half of the peer's window waits for a push, all waiting packets leave (Linux: `forced_push`, `tcp_push_one`).
    fn packet_filled(&mut self, events: &mut Events, now: Instant) {
        let is_push_due = self.send.end() > self.pushed + u64::from(self.window.maximum / 2);
        if is_push_due {
            self.push();
        }
        let is_first = self.send.packet_at(self.sent).next_bytes == 0;
        if is_push_due || is_first {
            self.send_early(is_push_due, events, now);
        }
    }

    fn push(&mut self) {
        self.send.push();
        self.pushed = self.send.end();
    }

    /// Sends during a write: all bytes that may leave, or one burst.
    fn send_early(&mut self, is_all: bool, events: &mut Events, now: Instant) {
        while let Some(part) = self.next_part() {
            if is_all && self.is_deferred(part, now) {
                break;
            }
            let transmit = self.transmit_new(part, events, now);
            self.early.push_back(transmit);
            if !is_all && self.burst.left == 0 {
                break;
            }
        }
        self.burst = Burst::default();
    }

    /// Bytes of the longest packet for a write of `written` bytes: at most half of the peer's largest window, in whole segments
    /// (Linux: `tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn longest_packet(&self, burst: &BurstConfig, written: usize) -> usize {
        let segment = self.room_in_segment();
        if written <= segment as usize && self.send.end() == self.sent {
            // The write starts a packet and fills no other; the next write computes its largest length.
            return segment as usize;
        }
        let offered = self.window.maximum;
        let half = if offered > TINY_WINDOW {
            offered / 2
        } else {
            offered
        };
        let whole = burst.maximum_bytes.min(half) / segment * segment;
        whole.max(segment) as usize
    }

    /// The used bytes of the send buffer, including the bookkeeping of packets.
    fn held_bytes(&self) -> usize {
        self.send.len() + self.send.packets() * self.config.send_buffer.per_packet
    }

    /// Grows the buffer with the congestion window if that has room, and tells the application when a third of the buffer is
    /// free (Linux: `tcp_check_space`, `sk_stream_write_space`).
    pub(super) fn tell_of_room(&mut self, events: &mut Events) {
        if !self.waits_for_room {
            return;
        }
        let window = self.recovery.congestion_window();
        if self.recovery.in_flight() < window {
            self.send_limit = self.send_limit.max(send_limit(&self.config, window));
        }
        let held = self.held_bytes();
        if (self.send_limit as usize).saturating_sub(held) >= held / 2 {
            self.waits_for_room = false;
            events.push(Event::Writable);
        }
    }
}
