//! Protocols on a byte stream, described as the bytes arrive.
//!
//! - [`detect`](mod@detect): recognizes the protocol by the first bytes and the server's port
//! - [`bare`], [`mqtt`], [`coap`], [`http1`], [`amqp`], [`postgres`], [`mariadb`], [`mongodb`]: the protocols
//! - [`opening`]: who sends the first bytes
//! - [`tls`]: TLS records and the stream inside
//!
//! A protocol reads bytes from the front of one direction and describes them as soon as possible. If a message's
//! header is incomplete, its bytes are kept until it is complete.

mod amqp;
mod bare;
mod coap;
mod detect;
mod http1;
mod mariadb;
mod mongodb;
mod mqtt;
pub(crate) mod opening;
mod postgres;
pub(crate) mod tls;

#[cfg(test)]
mod tests;

use wirecost_http::http3::open::Secrets;
use wirecost_proto::{BothWays, Direction};

use crate::handshakes::TlsHandshake;
use crate::span_list::{Rest, SpanList};
use amqp::Amqp;
use detect::{Detected, detect};
use http1::Http1;
use mariadb::Mariadb;
use mongodb::Mongodb;
use mqtt::Mqtt;
use postgres::Postgres;
use tls::Tls;

/// Why the rest of a direction cannot be described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) &'static str);

/// Why the bytes of an unknown protocol are left out.
pub(crate) const UNKNOWN: &str = "unknown protocol";

/// Why the bytes of a protocol with this name are left out, which this crate does not read.
pub(crate) fn not_read(name: &str) -> &'static str {
    match name {
        "unknown" => UNKNOWN,
        _ => "recognized, not read",
    }
}

/// Resources for reading.
pub(crate) struct Context<'a> {
    pub(crate) secrets: &'a Secrets,
    /// A buffer for decrypting records.
    pub(crate) scratch: &'a mut Vec<u8>,
}

/// The most bytes kept of a message whose header is incomplete.
const MAX_KEPT_BYTES: usize = 1 << 17;

/// Both directions of a connection.
#[derive(Debug)]
pub(crate) struct Stream {
    server_port: u16,
    protocol: Protocol,
    /// The rest of the current message in each direction.
    rests: BothWays<Rest>,
    kept: BothWays<Vec<u8>>,
    lost: BothWays<Option<Unreadable>>,
}

/// The protocol that describes the bytes.
#[derive(Debug)]
pub(crate) enum Protocol {
    /// Too few bytes have arrived.
    Undecided,
    Bare,
    Mqtt(Mqtt),
    Coap,
    Http1(Http1),
    Amqp(Box<Amqp>),
    Postgres(Postgres),
    Mariadb(Mariadb),
    Mongodb(Mongodb),
    Tls(Box<Tls>),
    /// A protocol that this crate does not know.
    Unknown(&'static str),
}

impl Stream {
    pub(crate) fn new(server_port: u16) -> Self {
        Self {
            server_port,
            protocol: Protocol::Undecided,
            rests: BothWays::default(),
            kept: BothWays::default(),
            lost: BothWays::default(),
        }
    }

    /// Reads the next bytes of a direction and appends all known spans to `out`.
    pub(crate) fn feed(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) {
        if self.lost[direction].is_some() {
            out.leave_out(bytes.len() as u64);
            return;
        }
        let mut kept = std::mem::take(&mut self.kept[direction]);
        let outcome = if kept.is_empty() {
            self.take_all(direction, bytes, context, out)
                .inspect(|taken| kept.extend_from_slice(&bytes[*taken..]))
                .map_err(|(taken, why)| (bytes.len() - taken, why))
        } else {
            kept.extend_from_slice(bytes);
            self.take_all(direction, &kept, context, out)
                .inspect(|taken| drop(kept.drain(..*taken)))
                .map_err(|(taken, why)| (kept.len() - taken, why))
        };
        let outcome = match outcome {
            Ok(_) if kept.len() > MAX_KEPT_BYTES => {
                Err((kept.len(), Unreadable("a header of more than 128 KiB")))
            }
            outcome => outcome,
        };
        match outcome {
            Ok(_) => self.kept[direction] = kept,
            Err((left, why)) => self.lose(direction, left as u64, why, out),
        }
    }

    /// Skips bytes that were not captured. If they lie inside a message, the stream goes on. Otherwise the rest of
    /// the direction is lost.
    pub(crate) fn gap(&mut self, direction: Direction, bytes: u64, out: &mut SpanList) {
        let rest = &mut self.rests[direction];
        if rest.bytes() >= bytes {
            rest.take(usize::try_from(bytes).unwrap_or(usize::MAX), out);
            return;
        }
        let left = self.kept[direction].len() as u64 + bytes;
        self.kept[direction].clear();
        self.lose(direction, left, Unreadable("bytes that were not captured"), out);
    }

    /// The protocol's name.
    pub(crate) fn label(&self) -> String {
        match &self.protocol {
            Protocol::Undecided => "no data".to_owned(),
            Protocol::Bare => "bare".to_owned(),
            Protocol::Mqtt(mqtt) => mqtt.label().to_owned(),
            Protocol::Coap => "CoAP over TCP".to_owned(),
            Protocol::Http1(http) => http.label().to_owned(),
            Protocol::Amqp(_) => "AMQP 1.0".to_owned(),
            Protocol::Postgres(_) => "PostgreSQL".to_owned(),
            Protocol::Mariadb(_) => "MariaDB or MySQL".to_owned(),
            Protocol::Mongodb(_) => "MongoDB".to_owned(),
            Protocol::Tls(tls) => tls.label(),
            Protocol::Unknown(name) => (*name).to_owned(),
        }
    }

    /// What the handshake of TLS had, if there was one.
    pub(crate) fn handshake(&self) -> Option<TlsHandshake> {
        match &self.protocol {
            Protocol::Tls(tls) => tls.handshake(),
            _ => None,
        }
    }

    /// Bytes kept of incomplete messages.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let kept = |direction| self.kept[direction].len() as u64;
        let inside = match &self.protocol {
            Protocol::Tls(tls) => tls.kept_bytes(),
            _ => 0,
        };
        kept(Direction::Up) + kept(Direction::Down) + inside
    }

    /// Whether too few bytes have arrived to recognize the protocol.
    pub(crate) const fn is_undecided(&self) -> bool {
        matches!(self.protocol, Protocol::Undecided)
    }

    /// Why bytes were left out.
    pub(crate) fn reason(&self) -> &'static str {
        let lost = Direction::ALL.iter().find_map(|direction| self.lost[*direction]);
        match (lost, &self.protocol) {
            (Some(Unreadable(why)), _) => why,
            (None, Protocol::Tls(tls)) => tls.reason(),
            (None, _) => "a message whose end was not captured",
        }
    }

    /// Describes messages at the front of `bytes`. Returns the number of bytes described, or that number and the
    /// error.
    fn take_all(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) -> Result<usize, (usize, Unreadable)> {
        let mut taken = 0;
        while taken < bytes.len() {
            match self.take(direction, &bytes[taken..], context, out) {
                Ok(0) => break,
                Ok(more) => taken += more,
                Err(why) => return Err((taken, why)),
            }
        }
        Ok(taken)
    }

    fn take(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) -> Result<usize, Unreadable> {
        if self.rests[direction].is_empty() {
            if matches!(self.protocol, Protocol::Undecided) {
                match detect(self.server_port, direction, bytes) {
                    Detected::Protocol(protocol) => self.protocol = protocol,
                    Detected::TooFewBytes => return Ok(0),
                }
            }
            let next = match &mut self.protocol {
                Protocol::Undecided => None,
                Protocol::Bare => bare::message(direction, bytes)?,
                Protocol::Mqtt(mqtt) => mqtt.packet(bytes)?,
                Protocol::Coap => coap::message(bytes)?,
                Protocol::Http1(http) => http.part(direction, bytes)?,
                Protocol::Amqp(amqp) => amqp.frame(direction, bytes)?,
                Protocol::Postgres(postgres) => postgres.message(direction, bytes)?,
                Protocol::Mariadb(mariadb) => mariadb.packet(direction, bytes)?,
                Protocol::Mongodb(mongodb) => mongodb.message(direction, bytes)?,
                Protocol::Tls(tls) => return tls.take(direction, bytes, context, out),
                Protocol::Unknown(name) => return Err(Unreadable(not_read(name))),
            };
            let Some(next) = next else { return Ok(0) };
            self.rests[direction] = next;
        }
        Ok(self.rests[direction].take(bytes.len(), out))
    }

    fn lose(&mut self, direction: Direction, left: u64, why: Unreadable, out: &mut SpanList) {
        if let Protocol::Tls(tls) = &mut self.protocol {
            tls.abandon(direction, out);
        }
        out.leave_out(left);
        self.lost[direction] = Some(why);
    }
}
