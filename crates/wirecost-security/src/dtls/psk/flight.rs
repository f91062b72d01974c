//! The flight that was sent last, and when it is sent again (RFC 6347 section 4.2.4).

use std::time::Duration;

use wirecost_proto::Instant;

use super::record_layer::RecordLayer;
use crate::dtls::fields::{HEADER_BYTES, header};
use crate::dtls::record::content;

/// The longest time between two transmissions (RFC 6347 section 4.2.4.1: no less than 60 s).
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A part of a flight.
#[derive(Debug)]
pub(super) enum Part {
    Message {
        epoch: u8,
        kind: u8,
        number: u16,
        body: Vec<u8>,
    },
    ChangeCipherSpec,
}

/// The flight that was sent last.
#[derive(Debug, Default)]
pub(super) struct Flight {
    parts: Vec<Part>,
    sent: Option<Instant>,
    /// The time between the last transmission and the next one.
    wait: Duration,
    /// The time of the next transmission. The last flight of a handshake has none: it is sent again if the peer
    /// repeats its own.
    due: Option<Instant>,
}

impl Flight {
    /// Sends a new flight. If it `expects` an answer it is sent again after `wait`, then after twice that, and so on.
    pub(super) fn send(
        &mut self,
        parts: Vec<Part>,
        wait: Duration,
        expects: bool,
        now: Instant,
        layer: &mut RecordLayer,
    ) {
        *self = Self {
            parts,
            sent: Some(now),
            wait,
            due: expects.then(|| now + wait),
        };
        self.write(layer);
    }

    /// The time of the next transmission.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The handshake is complete. Only its last flight is sent again for a peer that repeats its own (RFC 6347, section
    /// 4.2.4): if both sides answered repetitions, each answer would be one.
    pub(super) fn complete(&mut self) {
        if self.due.is_some() {
            *self = Self::default();
        }
    }

    /// Sends the flight again if it is due.
    pub(super) fn wake(&mut self, now: Instant, layer: &mut RecordLayer) {
        if self.due.is_some_and(|due| due <= now) {
            self.repeat(now, layer);
        }
    }

    /// Sends the flight again because the peer has repeated its own, unless it was sent within the last half of the
    /// time-out: both sides' timers run out at about the same time.
    pub(super) fn answer_repetition(&mut self, now: Instant, layer: &mut RecordLayer) {
        let recent = |sent: Instant| now.saturating_since(sent) < self.wait / 2;
        if self.sent.is_some_and(|sent| !recent(sent)) {
            self.repeat(now, layer);
        }
    }

    fn repeat(&mut self, now: Instant, layer: &mut RecordLayer) {
        self.sent = Some(now);
        if self.due.is_some() {
            self.wait = (2 * self.wait).min(LONGEST_WAIT);
            self.due = Some(now + self.wait);
        }
        self.write(layer);
    }

    /// Writes the parts into as few datagrams as possible.
    fn write(&self, layer: &mut RecordLayer) {
        for part in &self.parts {
            match part {
                Part::ChangeCipherSpec => layer.append(0, content::CHANGE_CIPHER_SPEC, &[1]),
                Part::Message {
                    epoch,
                    kind,
                    number,
                    body,
                } => write_message(*epoch, *kind, *number, body, layer),
            }
        }
        layer.flush();
    }
}

/// Writes a message as one record, or as fragments if no datagram can carry it whole.
fn write_message(epoch: u8, kind: u8, number: u16, body: &[u8], layer: &mut RecordLayer) {
    let room = layer.largest_plaintext(epoch).saturating_sub(HEADER_BYTES).max(1);
    let mut offset = 0;
    loop {
        let end = body.len().min(offset + room);
        let fragment = body.get(offset..end).unwrap_or_default();
        let head = header(kind, body.len(), number, offset, fragment.len());
        layer.append(epoch, content::HANDSHAKE, &[&head, fragment].concat());
        offset = end;
        if offset >= body.len() {
            return;
        }
    }
}
