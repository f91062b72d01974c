//! One connection: dimpl's engine, and the description of its datagrams.

use std::time::Duration;

use dimpl::{Dtls, Error, Output, ProtocolVersion, SecurityError};
use rustls::AlertDescription;
use wirecost_proto::Instant;

use super::config::Version;
use super::cover::{self, CCM_8_TAG_BYTES, Classified, GCM_TAG_BYTES};
use super::provider::Observer;
use super::record::{Pieces, client_hello, content, records};
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

/// An output of the engine. Its bytes are at the start of the given buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEvent {
    /// A datagram to send.
    Datagram(usize),
    /// The plaintext of an application data record.
    Plaintext(usize),
    /// The peer's certificate, not verified yet.
    Certificate(usize),
    /// The handshake is complete.
    Connected,
    /// The peer sent close_notify.
    CloseNotify,
    /// No more output now.
    Wait,
}

/// One connection.
pub(super) struct Connection {
    engine: Dtls,
    observer: Observer,
    epoch: Epoch,
    key_log: KeyLog,
    version: Option<Version>,
    client_random: Option<[u8; 32]>,
    /// Handshake fragments sent and received, to recognize repetitions.
    sent: Pieces,
    received: Pieces,
    /// Application data records that were decrypted before the handshake was complete and not handed out yet.
    undelivered: usize,
    /// How many of them were decrypted before the current input.
    earlier: usize,
    is_established: bool,
    /// Time of the last wake-up.
    woken: Option<Instant>,
    wakes: Option<Instant>,
}

impl Connection {
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
            client_random: None,
            sent: Pieces::default(),
            received: Pieces::default(),
            undelivered: 0,
            earlier: 0,
            is_established: false,
            woken: None,
            wakes: None,
        }
    }

    /// The version, once it is negotiated.
    pub(super) fn version(&self) -> Option<Version> {
        self.version
    }

    /// Whether the handshake is complete.
    pub(super) fn is_established(&self) -> bool {
        self.is_established
    }

    /// The time of the next wake-up.
    pub(super) fn wakes(&self) -> Option<Instant> {
        self.wakes
    }

    /// The random of the ClientHello that opened the connection.
    pub(super) fn client_random(&self) -> Option<[u8; 32]> {
        self.client_random
    }

    /// Wakes the engine, which sends its first flight or retransmits one.
    pub(super) fn wake(&mut self, now: Instant) -> Result<(), Fault> {
        self.earlier = self.undelivered;
        self.woken = Some(now);
        let now = self.epoch.monotonic_at(now);
        self.run(|engine| engine.handle_timeout(now))
    }

    /// Passes a datagram to the engine and appends its records to `classified`.
    pub(super) fn receive(
        &mut self,
        datagram: &[u8],
        now: Instant,
        classified: &mut Vec<Classified>,
    ) -> Result<(), Fault> {
        self.learn_client_random(datagram);
        self.earlier = self.undelivered;
        let at = self.epoch.monotonic_at(now);
        let taken = self.run(|engine| {
            engine.handle_timeout(at)?;
            engine.handle_packet(datagram)
        });
        let opened = self.observer.notes.iter();
        self.undelivered += opened
            .filter(|note| note.content == content::APPLICATION_DATA)
            .count();
        self.classify(datagram, classified, |this| &mut this.received);
        taken
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
                    self.shrink();
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

    /// Appends the records of an outgoing datagram to `classified`.
    pub(super) fn classify_sent(&mut self, datagram: &[u8], classified: &mut Vec<Classified>) {
        self.learn_client_random(datagram);
        self.classify(datagram, classified, |this| &mut this.sent);
    }

    /// Discards the notes about records after all outputs of an input.
    pub(super) fn forget_notes(&mut self) {
        self.observer.notes.clear();
        if self.is_established {
            // The engine holds nothing back any more. It has dropped everything that it did not hand out.
            self.undelivered = 0;
        }
    }

    /// Whether any record of the last received datagram was decrypted.
    pub(super) fn has_opened(&self, datagram: &[u8]) -> bool {
        let notes = &self.observer.notes;
        records(datagram).any(|record| notes.iter().any(|note| note.tag == record.tag()))
    }

    /// Whether the next plaintext arrived in an earlier datagram than the current one.
    pub(super) fn take_earlier(&mut self) -> bool {
        let is_earlier = self.earlier > 0;
        self.earlier = self.earlier.saturating_sub(1);
        self.undelivered = self.undelivered.saturating_sub(1);
        is_earlier
    }

    fn classify(
        &mut self,
        datagram: &[u8],
        classified: &mut Vec<Classified>,
        seen: impl Fn(&mut Self) -> &mut Pieces,
    ) {
        let tag_bytes = self.tag_bytes();
        for record in records(datagram) {
            let tag = record.tag();
            let note = self.observer.notes.iter().find(|note| note.tag == tag).copied();
            let pieces = seen(self);
            let is_new = |piece| pieces.note(piece);
            classified.push(cover::classify(&record, note.as_ref(), tag_bytes, is_new));
        }
    }

    /// Bytes of a tag. The handshake shows the suite: with a pre-shared key there is no certificate.
    fn tag_bytes(&self) -> usize {
        const CERTIFICATE: u8 = 11;
        match self.version {
            Some(Version::Dtls13) => GCM_TAG_BYTES,
            _ if self.sent.has_message(CERTIFICATE) || self.received.has_message(CERTIFICATE) => {
                GCM_TAG_BYTES
            }
            _ => CCM_8_TAG_BYTES,
        }
    }

    fn learn_client_random(&mut self, datagram: &[u8]) {
        if self.client_random.is_none() {
            self.client_random = client_hello(datagram);
        }
    }

    fn run(&mut self, call: impl FnOnce(&mut Dtls) -> Result<(), Error>) -> Result<(), Fault> {
        let engine = &mut self.engine;
        let result = self.observer.during(|| call(engine));
        if let Some(client_random) = &self.client_random {
            for secret in self.observer.secrets.drain(..) {
                self.key_log.append(secret.label, client_random, &secret.bytes);
            }
        }
        self.version = self.version.or_else(|| negotiated(&self.engine));
        result.map_err(|error| match error {
            // RFC 4279 section 2: a server may treat an unknown identity like a wrong key.
            Error::CryptoError(error) if !self.is_established => {
                let keys = format!("the two ends derived different keys ({error})");
                Fault::Other(format!("{keys}: the pre-shared key or its identity differs").into())
            }
            error => fault(self.version, &error),
        })
    }

    /// Frees memory that only the handshake needed.
    fn shrink(&mut self) {
        self.observer.secrets.shrink_to_fit();
        self.sent.shrink();
        self.received.shrink();
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
