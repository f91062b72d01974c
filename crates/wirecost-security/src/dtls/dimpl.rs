//! dimpl's engine, which does DTLS with certificates.

use std::time::Duration;

use dimpl::{Dtls, Error, Output, ProtocolVersion, SecurityError};
use rustls::AlertDescription;
use wirecost_proto::Instant;

use super::cookie::Asked;
use super::event::ConnectionEvent;
use super::provider::{Note, Observer};
use super::version::Version;
use crate::epoch::Epoch;
use crate::key_log::KeyLog;
use crate::layer::Fault;
use crate::tls::fault::alert_name;

/// A deadline further away than this means none, because dimpl always reports a deadline.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Delay of a wake-up that the engine requests for the present. An engine that lacks a fragment of the handshake and
/// has no record to acknowledge requests one on every wake-up (RFC 9147 section 7.1 wants a gap to be acknowledged at
/// once).
const STUCK_INTERVAL: Duration = Duration::from_millis(10);
/// Initial size of the output buffer. The engine says if it needs more.
const ROOM_BYTES: usize = 2048;

/// dimpl's engine, observed.
pub(super) struct Dimpl {
    engine: Dtls,
    observer: Observer,
    epoch: Epoch,
    key_log: KeyLog,
    version: Option<Version>,
    is_established: bool,
    /// Time of the last wake-up.
    woken: Option<Instant>,
    wakes: Option<Instant>,
}

impl Dimpl {
    pub(super) fn new(
        engine: Dtls,
        observer: Observer,
        version: Option<Version>,
        epoch: Epoch,
        key_log: KeyLog,
    ) -> Self {
        Self {
            engine,
            observer,
            epoch,
            key_log,
            version,
            is_established: false,
            woken: None,
            wakes: None,
        }
    }

    /// The version, once it is negotiated.
    pub(super) fn version(&self) -> Option<Version> {
        self.version
    }

    /// The time of the next wake-up.
    pub(super) fn wakes(&self) -> Option<Instant> {
        self.wakes
    }

    /// The records that were encrypted or decrypted since the notes were last cleared.
    pub(super) fn notes(&self) -> &[Note] {
        &self.observer.notes
    }

    /// Clears the notes.
    pub(super) fn clear_notes(&mut self) {
        self.observer.notes.clear();
    }

    /// Takes `asked` for the cookie that its client has to return.
    pub(super) fn ask(&mut self, asked: Option<Asked>) {
        self.observer.asked = asked;
    }

    /// Adds the secrets since the last call to the key log.
    pub(super) fn log_secrets(&mut self, client_random: &[u8; 32]) {
        for secret in self.observer.secrets.drain(..) {
            self.key_log.append(secret.label, client_random, &secret.bytes);
        }
    }

    /// Wakes the engine, which sends its first flight or retransmits one.
    pub(super) fn wake(&mut self, now: Instant) -> Result<(), Fault> {
        self.woken = Some(now);
        let now = self.epoch.monotonic_at(now);
        self.run(|engine| engine.handle_timeout(now))
    }

    /// Passes a datagram to the engine.
    pub(super) fn receive(&mut self, datagram: &[u8], now: Instant) -> Result<(), Fault> {
        let at = self.epoch.monotonic_at(now);
        self.run(|engine| {
            engine.handle_timeout(at)?;
            engine.handle_packet(datagram)
        })
    }

    /// Passes a datagram to the engine of a server whose client has yet to return its cookie. What the engine would send
    /// again because time has passed is dropped: a request for a cookie has no time-out (RFC 6347 section 4.2.1, RFC 9147
    /// section 5.8.1).
    pub(super) fn receive_unproven(&mut self, datagram: &[u8], now: Instant) -> Result<(), Fault> {
        let at = self.epoch.monotonic_at(now);
        self.run(|engine| engine.handle_timeout(at))?;
        let mut dropped = Vec::new();
        while let ConnectionEvent::Datagram(_) = self.poll(now, &mut dropped) {}
        self.run(|engine| engine.handle_packet(datagram))
    }

    /// Protects a datagram as one record in one datagram.
    pub(super) fn protect(&mut self, plaintext: &[u8], now: Instant) -> Result<(), Fault> {
        let at = self.epoch.monotonic_at(now);
        self.run(|engine| {
            engine.handle_timeout(at)?;
            engine.send_application_data(plaintext).map(drop)
        })
    }

    /// Sends close_notify.
    pub(super) fn close(&mut self) -> Result<(), Fault> {
        self.run(Dtls::close)
    }

    /// The engine's next output, its bytes in `buffer`.
    pub(super) fn poll(&mut self, now: Instant, buffer: &mut Vec<u8>) -> ConnectionEvent {
        if buffer.len() < ROOM_BYTES {
            buffer.resize(ROOM_BYTES, 0);
        }
        loop {
            let engine = &mut self.engine;
            match self.observer.during(|| engine.poll_output(buffer)) {
                Output::Packet(datagram) => return ConnectionEvent::Datagram(datagram.len()),
                Output::ApplicationData(plaintext) => return ConnectionEvent::Plaintext(plaintext.len()),
                Output::PeerCert(certificate) => return ConnectionEvent::Certificate(certificate.len()),
                Output::Connected => {
                    self.is_established = true;
                    self.observer.secrets.shrink_to_fit();
                    return ConnectionEvent::Connected;
                }
                Output::CloseNotify => return ConnectionEvent::CloseNotify,
                Output::Timeout(at) => {
                    self.wakes = self.deadline(at, now);
                    return ConnectionEvent::Wait;
                }
                Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                // Keys for SRTP are not used.
                _ => {}
            }
        }
    }

    fn run(&mut self, call: impl FnOnce(&mut Dtls) -> Result<(), Error>) -> Result<(), Fault> {
        let engine = &mut self.engine;
        let result = self.observer.during(|| call(engine));
        self.version = self.version.or_else(|| negotiated(&self.engine));
        result.map_err(|error| fault(self.version, &error))
    }

    fn deadline(&self, at: std::time::Instant, now: Instant) -> Option<Instant> {
        let at = self.epoch.instant_of(at);
        let is_stuck = at <= now && self.woken == Some(now);
        let at = if is_stuck { now + STUCK_INTERVAL } else { at };
        (at.saturating_since(now) < FOREVER).then_some(at)
    }
}

/// The version that the engine has negotiated.
fn negotiated(engine: &Dtls) -> Option<Version> {
    match engine.protocol_version()? {
        ProtocolVersion::DTLS1_3 => Some(Version::Dtls13),
        ProtocolVersion::DTLS1_2 => Some(Version::Dtls12),
        _ => None,
    }
}

/// The fault for an error of the engine. Every such error ends the connection.
fn fault(version: Option<Version>, error: &Error) -> Fault {
    let protocol = Version::name(version);
    match error {
        Error::SecurityError(SecurityError::FatalAlert { description }) => {
            Fault::Alert(alert_name(AlertDescription::from(*description)).into())
        }
        Error::Timeout(_) => Fault::TimedOut { protocol },
        Error::CertificateError(error) => Fault::Certificate(error.to_string().into()),
        _ => Fault::Protocol {
            protocol,
            reason: error.to_string().into(),
        },
    }
}
