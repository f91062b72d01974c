//! When the link had delivered the payload of a message.

use std::collections::BTreeMap;
use std::ops::Range;

use wirecost_cost::{DatagramId, Ports};
use wirecost_proto::bare::Transport;
use wirecost_proto::log::DirectionLog;
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

use super::account::Account;
use crate::compare::sampler::Mark;

impl Account {
    /// When the link had delivered the last payload byte of message `index` in its flow; `None` if its payload was not
    /// sent completely.
    pub(super) fn arrival_of(&self, marks: &[Mark], index: usize) -> Option<Instant> {
        let mark = &marks[index];
        let report = &self.measurement.report;
        // The connection for a ticket is before the measured ones.
        let before = usize::from(report.script.timing().start.needs_earlier());
        let (_, log) = report.logs.get(before + mark.connection)?;
        let (ports, ids) = self.datagram_ids.get(before + mark.connection)?;
        let start = mark.transmitted_before;
        let next = marks.get(index + 1);
        let next = next.filter(|next| next.connection == mark.connection);
        let end = next.map_or(u64::MAX, |next| next.transmitted_before);
        match log.transport {
            Transport::Stream => {
                let end = message_end(&log.up.stream, start, end, self.payload_bytes)?;
                self.arrivals.of_stream(*ports, Direction::Up, start..end)
            }
            Transport::Datagram if self.is_sealed => self.sealed_arrival(*ports, ids, &log.up, start..end),
            Transport::Datagram => self.datagrams_arrival(*ports, ids, &log.up, start, end),
        }
    }

    /// When the last datagram of the message among those from `start` to `end` (in bytes handed out) had arrived. A
    /// repeated payload counts with its first arrival. The payload identifies the message: a repeated non-confirmable
    /// message has a new message id (RFC 7252, section 4.3).
    fn datagrams_arrival(
        &self,
        ports: Ports,
        ids: &[DatagramId],
        log: &DirectionLog,
        start: u64,
        end: u64,
    ) -> Option<Instant> {
        let (mut offset, mut sent) = (0, 0);
        let mut first_arrival: BTreeMap<&[u8], Option<Instant>> = BTreeMap::new();
        for (datagram, id) in log.datagrams.iter().zip(ids) {
            let within = (start..end).contains(&offset);
            // One more for each datagram, so that an empty one has a place of its own too.
            offset += datagram.bytes.len() as u64 + 1;
            let payload: u64 = datagram.spans.iter().map(payload_of).sum();
            // An acknowledgement sent in between has no payload and is not part of the message.
            if !within || (payload == 0 && self.payload_bytes > 0) {
                continue;
            }
            let arrival = self.arrivals.of_datagram(ports, Direction::Up, *id);
            // The payload ends the datagram in every protocol.
            let header = datagram.bytes.len().saturating_sub(payload as usize);
            let first = first_arrival.entry(&datagram.bytes[header..]).or_insert_with(|| {
                sent += payload;
                None
            });
            *first = [*first, arrival].into_iter().flatten().min();
        }
        let arrivals: Option<Vec<Instant>> = first_arrival.into_values().collect();
        // The last part makes the message whole. If parts are missing it has not arrived.
        arrivals.filter(|_| sent == self.payload_bytes)?.into_iter().max()
    }

    /// As [`Account::datagrams_arrival`], if a repeated payload has different bytes: the endpoint marks it as repeated,
    /// and it repeats the last datagram with a new payload before it.
    fn sealed_arrival(
        &self,
        ports: Ports,
        ids: &[DatagramId],
        log: &DirectionLog,
        range: Range<u64>,
    ) -> Option<Instant> {
        let (mut offset, mut sent) = (0, 0);
        let mut arrivals: Vec<Option<Instant>> = Vec::new();
        for (datagram, id) in log.datagrams.iter().zip(ids) {
            let within = range.contains(&offset);
            // Counted as in `datagrams_arrival`.
            offset += datagram.bytes.len() as u64 + 1;
            let payload: u64 = datagram.spans.iter().map(payload_of).sum();
            let is_message = datagram.spans.iter().any(|span| span.phase == Phase::Message);
            if !within || !is_message || (payload == 0 && self.payload_bytes > 0) {
                continue;
            }
            let arrival = self.arrivals.of_datagram(ports, Direction::Up, *id);
            let is_new = |span: &Span| payload_of(span) > 0 && span.cause != Cause::Retransmission;
            match arrivals.last_mut() {
                Some(last) if payload > 0 && !datagram.spans.iter().any(is_new) => {
                    *last = [*last, arrival].into_iter().flatten().min();
                }
                // For a message without payload, the first datagram counts.
                Some(_) if payload == 0 => {}
                _ => {
                    arrivals.push(arrival);
                    sent += payload;
                }
            }
        }
        let arrivals: Option<Vec<Instant>> = arrivals.into_iter().collect();
        arrivals.filter(|_| sent == self.payload_bytes)?.into_iter().max()
    }
}

/// The offset after the last payload byte between `start` and `end`, if `payload_bytes` of them are there. For a
/// message without payload, the offset after its last byte.
fn message_end(spans: &[Span], start: u64, end: u64, payload_bytes: u64) -> Option<u64> {
    let (mut offset, mut payload) = (0, 0);
    let mut found = None;
    for span in spans {
        let (from, to) = (start.max(offset), end.min(offset + u64::from(span.len)));
        offset += u64::from(span.len);
        let is_message = span.phase == Phase::Message && (payload_bytes == 0 || payload_of(span) > 0);
        if is_message && from < to {
            payload += if payload_of(span) > 0 { to - from } else { 0 };
            found = Some(to);
        }
    }
    // With fewer bytes a part is still on its way: an arrival before the last one would be too early.
    found.filter(|_| payload == payload_bytes)
}

fn payload_of(span: &Span) -> u64 {
    match span.layer {
        Layer::Payload => u64::from(span.len),
        Layer::Ip | Layer::Transport | Layer::Security | Layer::Application => 0,
    }
}
