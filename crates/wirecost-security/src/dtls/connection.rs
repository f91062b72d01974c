//! One connection: an engine, and the description of its datagrams.

use wirecost_proto::Instant;

use super::cookie::Asked;
use super::cover::{self, CCM_8_TAG_BYTES, Classified, GCM_TAG_BYTES};
use super::dimpl::Dimpl;
use super::event::ConnectionEvent;
use super::proof::{self, Unproven};
use super::provider::Note;
use super::psk::{self, Session};
use super::record::{Pieces, client_hello, content, records_with};
use super::version::Version;
use crate::layer::Fault;
use crate::start::Start;

/// The engine of a connection.
enum Machine {
    /// dimpl: certificates.
    Dimpl(Box<Dimpl>),
    /// Pre-shared keys.
    Psk(Box<psk::Engine>),
}

/// One connection.
pub(super) struct Connection {
    machine: Machine,
    client_random: Option<[u8; 32]>,
    /// Handshake fragments sent and received, to recognize repetitions.
    sent: Pieces,
    received: Pieces,
    /// Application data records that were decrypted before the handshake was complete and not handed out yet.
    undelivered: usize,
    /// How many of them were decrypted before the current input.
    earlier: usize,
    is_established: bool,
    /// A server's, whose client has yet to return its cookie.
    unproven: Option<Unproven>,
    /// Whether the client repeats a ClientHello of which nothing was kept.
    is_repeated: bool,
    /// Bytes that arrived during the handshake: the engine keeps fragments of incomplete messages.
    arrived: usize,
}

/// What an engine for certificates and one for pre-shared keys take for a handshake, in bytes.
const CERTIFICATE_HANDSHAKE_BYTES: usize = 24 << 10;
const PSK_HANDSHAKE_BYTES: usize = 6 << 10;

impl From<Dimpl> for Connection {
    fn from(engine: Dimpl) -> Self {
        Self::new(Machine::Dimpl(Box::new(engine)))
    }
}

impl From<psk::Engine> for Connection {
    fn from(engine: psk::Engine) -> Self {
        Self::new(Machine::Psk(Box::new(engine)))
    }
}

impl Connection {
    fn new(machine: Machine) -> Self {
        Self {
            machine,
            client_random: None,
            sent: Pieces::default(),
            received: Pieces::default(),
            undelivered: 0,
            earlier: 0,
            is_established: false,
            unproven: None,
            is_repeated: false,
            arrived: 0,
        }
    }

    /// The connection of a server whose client must return a cookie before `until`: `asked`, or one of the engine's own.
    pub(super) fn unproven(mut self, until: Instant, asked: Option<Asked>) -> Self {
        if let Machine::Dimpl(engine) = &mut self.machine {
            engine.ask(asked);
        }
        Self {
            unproven: Some(Unproven::new(until)),
            ..self
        }
    }

    /// The same for a client that repeats a ClientHello of which nothing was kept.
    pub(super) fn repeated(self, is_repeated: bool) -> Self {
        Self { is_repeated, ..self }
    }

    /// Whether the client has yet to return its cookie.
    pub(super) fn is_unproven(&self) -> bool {
        self.unproven.is_some()
    }

    /// Whether a cookie cannot say what the server must know of the first ClientHello.
    pub(super) fn depends_on_first(&self) -> bool {
        self.unproven
            .as_ref()
            .is_some_and(|unproven| unproven.asks_for_share)
    }

    /// Takes the first ClientHello again, of which nothing was kept. It was answered when it came.
    pub(super) fn replay(&mut self, first: &[u8], now: Instant) -> Result<(), Fault> {
        let (mut described, mut buffer) = (Vec::new(), Vec::new());
        let taken = self.receive(first, now, &mut described);
        while let ConnectionEvent::Datagram(len) = self.poll(now, &mut buffer) {
            self.classify_sent(buffer.get(..len).unwrap_or_default(), &mut described);
        }
        self.forget_notes();
        taken
    }

    /// What an incomplete handshake takes, in bytes.
    pub(super) fn handshake_bytes(&self) -> usize {
        let engine = match &self.machine {
            Machine::Dimpl(_) => CERTIFICATE_HANDSHAKE_BYTES,
            Machine::Psk(_) => PSK_HANDSHAKE_BYTES,
        };
        engine + self.arrived
    }

    /// The version, once it is negotiated.
    pub(super) fn version(&self) -> Option<Version> {
        match &self.machine {
            Machine::Dimpl(engine) => engine.version(),
            Machine::Psk(engine) => Some(engine.version()),
        }
    }

    /// Whether the handshake is complete.
    pub(super) fn is_established(&self) -> bool {
        self.is_established
    }

    /// How the connection started.
    pub(super) fn start(&self) -> Start {
        match &self.machine {
            Machine::Dimpl(_) => Start::Cold,
            Machine::Psk(engine) => engine.start(),
        }
    }

    /// What a client keeps for a resumption.
    pub(super) fn session(&self) -> Option<&Session> {
        match &self.machine {
            Machine::Dimpl(_) => None,
            Machine::Psk(engine) => engine.session(),
        }
    }

    /// The time of the next wake-up.
    pub(super) fn wakes(&self) -> Option<Instant> {
        if let Some(unproven) = &self.unproven {
            return Some(unproven.until);
        }
        match &self.machine {
            Machine::Dimpl(engine) => engine.wakes(),
            Machine::Psk(engine) => engine.wakes(),
        }
    }

    /// The random of the ClientHello that opened the connection.
    pub(super) fn client_random(&self) -> Option<[u8; 32]> {
        self.client_random
    }

    /// The connection ID in the peer's records, empty if they have none (RFC 9146).
    pub(super) fn own_id(&self) -> &[u8] {
        match &self.machine {
            Machine::Dimpl(_) => &[],
            Machine::Psk(engine) => engine.own_id(),
        }
    }

    /// The connection ID in our records, empty if they have none.
    fn peer_id(&self) -> &[u8] {
        match &self.machine {
            Machine::Dimpl(_) => &[],
            Machine::Psk(engine) => engine.peer_id(),
        }
    }

    /// Whether the last record received is authentic and newer than all before (RFC 9146 section 6).
    pub(super) fn is_newest(&self) -> bool {
        match &self.machine {
            Machine::Dimpl(_) => false,
            Machine::Psk(engine) => engine.is_newest(),
        }
    }

    /// Wakes the engine, which sends its first flight or retransmits one.
    pub(super) fn wake(&mut self, now: Instant) -> Result<(), Fault> {
        self.earlier = self.undelivered;
        if let Some(unproven) = &self.unproven {
            let protocol = Version::name(self.version());
            let is_late = unproven.until <= now;
            return if is_late {
                Err(Fault::TimedOut { protocol })
            } else {
                Ok(())
            };
        }
        let woken = match &mut self.machine {
            Machine::Dimpl(engine) => engine.wake(now),
            Machine::Psk(engine) => engine.wake(now),
        };
        self.log_secrets();
        woken
    }

    /// Passes a datagram to the engine and appends its records to `classified`.
    pub(super) fn receive(
        &mut self,
        datagram: &[u8],
        now: Instant,
        classified: &mut Vec<Classified>,
    ) -> Result<(), Fault> {
        self.learn_client_random(datagram);
        if !self.is_established {
            self.arrived += datagram.len();
        }
        self.earlier = self.undelivered;
        if let Some(unproven) = &mut self.unproven {
            unproven.received(datagram.len());
        }
        let taken = match &mut self.machine {
            Machine::Dimpl(engine) if self.unproven.is_some() => engine.receive_unproven(datagram, now),
            Machine::Dimpl(engine) => engine.receive(datagram, now),
            Machine::Psk(engine) => engine.receive(datagram, now),
        };
        self.log_secrets();
        let opened = self.notes().iter();
        self.undelivered += opened
            .filter(|note| note.content == content::APPLICATION_DATA)
            .count();
        let id_bytes = self.own_id().len();
        self.classify(datagram, id_bytes, classified, |this| &mut this.received);
        taken
    }

    /// Protects a datagram as one record in one datagram.
    pub(super) fn protect(&mut self, plaintext: &[u8], now: Instant) -> Result<(), Fault> {
        match &mut self.machine {
            Machine::Dimpl(engine) => engine.protect(plaintext, now),
            Machine::Psk(engine) => {
                engine.protect(plaintext);
                Ok(())
            }
        }
    }

    /// Sends close_notify.
    pub(super) fn close(&mut self) -> Result<(), Fault> {
        match &mut self.machine {
            Machine::Dimpl(engine) => engine.close(),
            Machine::Psk(engine) => {
                engine.close();
                Ok(())
            }
        }
    }

    /// The engine's next output, its bytes in `buffer`.
    pub(super) fn poll(&mut self, now: Instant, buffer: &mut Vec<u8>) -> ConnectionEvent {
        let event = loop {
            let event = match &mut self.machine {
                Machine::Dimpl(engine) => engine.poll(now, buffer),
                Machine::Psk(engine) => engine.poll(buffer),
            };
            match event {
                ConnectionEvent::Datagram(len) if !self.may_send(buffer.get(..len).unwrap_or_default()) => {}
                other => break other,
            }
        };
        if event == ConnectionEvent::Connected {
            self.is_established = true;
            self.sent.shrink();
            self.received.shrink();
        }
        event
    }

    /// Whether a datagram of the engine may be sent to a client that has perhaps yet to prove its address.
    fn may_send(&mut self, datagram: &[u8]) -> bool {
        let Some(unproven) = &mut self.unproven else {
            return true;
        };
        let is_proven = match &self.machine {
            Machine::Dimpl(_) => proof::has_answered(datagram),
            Machine::Psk(engine) => engine.is_reachable(),
        };
        if is_proven {
            self.unproven = None;
            if let Machine::Dimpl(engine) = &mut self.machine {
                engine.ask(None);
            }
            return true;
        }
        unproven.asks_for_share |= proof::asks_for_share(datagram);
        unproven.may_send(datagram.len())
    }

    /// Appends the records of an outgoing datagram to `classified`.
    pub(super) fn classify_sent(&mut self, datagram: &[u8], classified: &mut Vec<Classified>) {
        self.learn_client_random(datagram);
        let id_bytes = self.peer_id().len();
        self.classify(datagram, id_bytes, classified, |this| &mut this.sent);
    }

    /// Discards the notes about records after all outputs of an input.
    pub(super) fn forget_notes(&mut self) {
        match &mut self.machine {
            Machine::Dimpl(engine) => engine.clear_notes(),
            Machine::Psk(engine) => engine.clear_notes(),
        }
        if self.is_established {
            // The engine holds nothing back any more. It has dropped everything that it did not hand out.
            self.undelivered = 0;
        }
    }

    /// Whether any record of the last received datagram was decrypted.
    pub(super) fn has_opened(&self, datagram: &[u8]) -> bool {
        let notes = self.notes();
        records_with(datagram, self.own_id().len())
            .any(|record| notes.iter().any(|note| note.tag == record.tag()))
    }

    /// Whether the next plaintext arrived in an earlier datagram than the current one.
    pub(super) fn take_earlier(&mut self) -> bool {
        let is_earlier = self.earlier > 0;
        self.earlier = self.earlier.saturating_sub(1);
        self.undelivered = self.undelivered.saturating_sub(1);
        is_earlier
    }

    fn notes(&self) -> &[Note] {
        match &self.machine {
            Machine::Dimpl(engine) => engine.notes(),
            Machine::Psk(engine) => engine.notes(),
        }
    }

    fn log_secrets(&mut self) {
        if let (Machine::Dimpl(engine), Some(client_random)) = (&mut self.machine, &self.client_random) {
            engine.log_secrets(client_random);
        }
    }

    fn classify(
        &mut self,
        datagram: &[u8],
        id_bytes: usize,
        classified: &mut Vec<Classified>,
        seen: impl Fn(&mut Self) -> &mut Pieces,
    ) {
        let (tag_bytes, is_repeated) = (self.tag_bytes(), self.is_repeated);
        for record in records_with(datagram, id_bytes) {
            let tag = record.tag();
            let note = self.notes().iter().find(|note| note.tag == tag).copied();
            let pieces = seen(self);
            let is_new = |piece| pieces.note(piece) && !is_repeated;
            classified.push(cover::classify(&record, note.as_ref(), tag_bytes, is_new));
        }
    }

    fn tag_bytes(&self) -> usize {
        match self.machine {
            Machine::Dimpl(_) => GCM_TAG_BYTES,
            Machine::Psk(_) => CCM_8_TAG_BYTES,
        }
    }

    fn learn_client_random(&mut self, datagram: &[u8]) {
        if self.client_random.is_none() {
            self.client_random = client_hello(datagram);
        }
    }
}
