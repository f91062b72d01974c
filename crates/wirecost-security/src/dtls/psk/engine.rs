//! One connection: its inputs and outputs, and what both sides have in common.

use std::collections::VecDeque;
use std::time::Duration;

use rustls::AlertDescription;
use wirecost_proto::Instant;

use super::client::Client;
use super::flight::{Flight, Part};
use super::incoming::{Incoming, Message};
use super::message::kind;
use super::prf::{Master, verify_data};
use super::protection::KeyPair;
use super::record_layer::{Opened, Out, RecordLayer};
use super::server::Server;
use super::sessions::{Session, Sessions};
use crate::dtls::event::ConnectionEvent;
use crate::dtls::fields::header;
use crate::dtls::provider::Note;
use crate::dtls::record::{content, records_with};
use crate::dtls::version::{Psk, Version};
use crate::entropy::Entropy;
use crate::key_log::KeyLog;
use crate::layer::Fault;
use crate::start::Start;
use crate::tls::fault::alert_name;

/// The most records of application data that are kept until the handshake is complete, in case they overtake it.
const MAX_HELD: usize = 16;
/// Level and description of a close_notify (RFC 5246 section 7.2).
const CLOSE_NOTIFY: [u8; 2] = [1, 0];
const FATAL: u8 = 2;

/// What the connections of one side share.
#[derive(Clone)]
pub(in crate::dtls) struct Settings {
    pub(in crate::dtls) key_log: KeyLog,
    /// The largest UDP payload.
    pub(in crate::dtls) mtu: usize,
    pub(in crate::dtls) handshake_timeout: Duration,
    pub(in crate::dtls) flight_timeout: Duration,
    /// The pre-shared keys: one at a client.
    pub(in crate::dtls) psks: Vec<Psk>,
    /// Whether a client asks for connection IDs. A server grants them to every client that asks.
    pub(in crate::dtls) asks_for_ids: bool,
    /// Whether a server asks for a cookie.
    pub(in crate::dtls) cookie: bool,
    /// The sessions of a server.
    pub(in crate::dtls) sessions: Sessions,
}

/// The state of either side's handshake.
pub(super) enum Side {
    Client(Client),
    Server(Server),
}

/// One connection.
pub(in crate::dtls) struct Engine {
    pub(super) settings: std::sync::Arc<Settings>,
    pub(super) entropy: Entropy,
    pub(super) side: Side,
    pub(super) layer: RecordLayer,
    pub(super) flight: Flight,
    pub(super) incoming: Incoming,
    /// The handshake messages that the Finished covers.
    pub(super) transcript: Vec<u8>,
    /// The number of our next message.
    next_message: u16,
    pub(super) client_random: [u8; 32],
    pub(super) server_random: [u8; 32],
    pub(super) session: Option<Session>,
    pub(super) start: Start,
    pub(super) uses_ids: bool,
    begun: Option<Instant>,
    is_established: bool,
    /// Application data that arrived before the handshake was complete.
    held: VecDeque<Vec<u8>>,
    has_closed: bool,
    /// Whether the peer of a server that asks for a cookie has returned it.
    pub(super) is_reachable: bool,
    /// The identity of a client that the server does not know.
    pub(super) unknown_identity: Option<Vec<u8>>,
}

impl Engine {
    pub(super) fn new(settings: std::sync::Arc<Settings>, entropy: Entropy, side: Side) -> Self {
        Self {
            layer: RecordLayer::new(settings.mtu),
            uses_ids: settings.asks_for_ids,
            settings,
            entropy,
            side,
            flight: Flight::default(),
            incoming: Incoming::default(),
            transcript: Vec::new(),
            next_message: 0,
            client_random: [0; 32],
            server_random: [0; 32],
            session: None,
            start: Start::Cold,
            begun: None,
            is_established: false,
            held: VecDeque::new(),
            has_closed: false,
            is_reachable: false,
            unknown_identity: None,
        }
    }

    /// The version, for messages.
    pub(in crate::dtls) fn version(&self) -> Version {
        if self.uses_ids {
            Version::Dtls12Cid
        } else {
            Version::Dtls12Psk
        }
    }

    /// How the connection started.
    pub(in crate::dtls) fn start(&self) -> Start {
        self.start
    }

    /// What a client keeps for a resumption, once the handshake is complete.
    pub(in crate::dtls) fn session(&self) -> Option<&Session> {
        self.session
            .as_ref()
            .filter(|session| self.is_established && !session.id.is_empty())
    }

    /// Whether the client has returned its cookie.
    pub(in crate::dtls) fn is_reachable(&self) -> bool {
        self.is_reachable
    }

    /// The connection ID in the peer's records.
    pub(in crate::dtls) fn own_id(&self) -> &[u8] {
        &self.layer.own_id
    }

    /// The connection ID in our records.
    pub(in crate::dtls) fn peer_id(&self) -> &[u8] {
        &self.layer.peer_id
    }

    /// Whether the last datagram received is authentic and newer than all before.
    pub(in crate::dtls) fn is_newest(&self) -> bool {
        self.layer.is_newest()
    }

    /// The records of epoch 1 since the notes were last cleared.
    pub(in crate::dtls) fn notes(&self) -> &[Note] {
        &self.layer.notes
    }

    /// Clears the notes.
    pub(in crate::dtls) fn clear_notes(&mut self) {
        self.layer.notes.clear();
    }

    /// The time of the next wake-up.
    pub(in crate::dtls) fn wakes(&self) -> Option<Instant> {
        if self.is_established {
            return None;
        }
        let until = self.begun.map(|begun| begun + self.settings.handshake_timeout);
        [self.flight.due(), until].into_iter().flatten().min()
    }

    /// Sends a client's first flight, or a flight again.
    pub(in crate::dtls) fn wake(&mut self, now: Instant) -> Result<(), Fault> {
        let begun = *self.begun.get_or_insert(now);
        if self.is_established {
            return Ok(());
        }
        if now.saturating_since(begun) >= self.settings.handshake_timeout {
            let protocol = Version::name(Some(self.version()));
            return Err(Fault::TimedOut { protocol });
        }
        if matches!(self.side, Side::Client(Client::Idle { .. })) {
            return self.begin(now);
        }
        self.flight.wake(now, &mut self.layer);
        Ok(())
    }

    /// Handles a datagram of the peer.
    pub(in crate::dtls) fn receive(&mut self, datagram: &[u8], now: Instant) -> Result<(), Fault> {
        self.layer.begin_datagram();
        self.wake(now)?;
        let mut rest = datagram;
        // The handshake in a record decides the length of the connection IDs behind it.
        while let Some(record) = records_with(rest, self.layer.own_id.len()).next() {
            rest = rest.get(record.bytes.len()..).unwrap_or_default();
            match self.layer.open(&record) {
                Opened::Content { epoch, content } => {
                    if let (Side::Server(Server::AwaitHello { .. }), Some(number)) =
                        (&self.side, record.number())
                    {
                        self.layer.begin_with(number);
                    }
                    let plaintext = std::mem::take(&mut self.layer.plaintext);
                    let handled = self.handle(epoch, content, &plaintext, now);
                    self.layer.plaintext = plaintext;
                    handled?;
                }
                Opened::Forged if !self.is_established => return Err(self.different_keys()),
                Opened::Forged | Opened::Ignored => {}
            }
        }
        Ok(())
    }

    /// Protects a datagram as one record in one datagram.
    pub(in crate::dtls) fn protect(&mut self, plaintext: &[u8]) {
        self.layer.append(1, content::APPLICATION_DATA, plaintext);
        self.layer.flush();
    }

    /// Sends close_notify.
    pub(in crate::dtls) fn close(&mut self) {
        if !std::mem::replace(&mut self.has_closed, true) {
            let epoch = u8::from(self.is_established);
            self.layer.append(epoch, content::ALERT, &CLOSE_NOTIFY);
            self.layer.flush();
        }
    }

    /// The next output, its bytes in `buffer`.
    pub(in crate::dtls) fn poll(&mut self, buffer: &mut Vec<u8>) -> ConnectionEvent {
        let mut copy = |bytes: &[u8]| {
            if buffer.len() < bytes.len() {
                buffer.resize(bytes.len(), 0);
            }
            buffer[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        };
        match self.layer.ready.pop_front() {
            None => ConnectionEvent::Wait,
            Some(Out::Datagram(bytes)) => ConnectionEvent::Datagram(copy(&bytes)),
            Some(Out::Plaintext(bytes)) => ConnectionEvent::Plaintext(copy(&bytes)),
            Some(Out::Connected) => ConnectionEvent::Connected,
            Some(Out::CloseNotify) => ConnectionEvent::CloseNotify,
        }
    }

    fn handle(&mut self, epoch: u8, content: u8, bytes: &[u8], now: Instant) -> Result<(), Fault> {
        match content {
            content::HANDSHAKE => self.take_handshake(epoch, bytes, now),
            content::ALERT => self.take_alert(epoch, bytes),
            content::APPLICATION_DATA if epoch == 1 => {
                if self.is_established {
                    self.layer.ready.push_back(Out::Plaintext(bytes.to_vec()));
                } else if self.held.len() < MAX_HELD {
                    self.held.push_back(bytes.to_vec());
                }
                Ok(())
            }
            // The epoch of a record shows its keys: ChangeCipherSpec says nothing more.
            _ => Ok(()),
        }
    }

    fn take_handshake(&mut self, epoch: u8, bytes: &[u8], now: Instant) -> Result<(), Fault> {
        // Anyone can repeat messages of epoch 0. When the handshake is complete, only the Finished counts.
        if epoch == 0 && self.is_established {
            return Ok(());
        }
        if self.incoming.take(epoch, bytes) {
            self.flight.answer_repetition(now, &mut self.layer);
        }
        while let Some(message) = self.incoming.pop() {
            if self.is_established {
                continue;
            }
            match &self.side {
                Side::Client(_) => self.client_message(&message, now)?,
                Side::Server(_) => self.server_message(&message, now)?,
            }
        }
        Ok(())
    }

    fn take_alert(&mut self, epoch: u8, bytes: &[u8]) -> Result<(), Fault> {
        // Anyone can send an alert without protection: it ends no connection that has keys.
        if epoch == 0 && self.is_established {
            return Ok(());
        }
        match bytes {
            [_, 0] => {
                self.close();
                self.layer.ready.push_back(Out::CloseNotify);
                Ok(())
            }
            [FATAL, description] => {
                let name = alert_name(AlertDescription::from(*description));
                Err(Fault::Alert(name.into()))
            }
            _ => Ok(()),
        }
    }

    /// Random bytes.
    pub(super) fn draw<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        match self.entropy.fill(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(Fault::Other(error.to_string().into())),
        }
    }

    /// Our next message. It counts for the Finished.
    pub(super) fn message(&mut self, epoch: u8, kind: u8, body: Vec<u8>) -> Part {
        let number = self.next_message;
        self.next_message += 1;
        let head = header(kind, body.len(), number, 0, body.len());
        self.transcript.extend_from_slice(&head);
        self.transcript.extend_from_slice(&body);
        Part::Message {
            epoch,
            kind,
            number,
            body,
        }
    }

    /// Sends a flight. Whether it `expects` an answer decides whether it is sent again without one.
    pub(super) fn send_flight(&mut self, parts: Vec<Part>, expects: bool, now: Instant) {
        let wait = self.settings.flight_timeout;
        self.flight.send(parts, wait, expects, now, &mut self.layer);
    }

    /// ChangeCipherSpec and our Finished, which `label` names.
    pub(super) fn finished(&mut self, master: &Master, label: &str) -> [Part; 2] {
        let data = verify_data(master, label, &self.transcript);
        let finished = self.message(1, kind::FINISHED, data.to_vec());
        [Part::ChangeCipherSpec, finished]
    }

    /// Verifies the peer's Finished, which `label` names.
    pub(super) fn verify(&mut self, finished: &Message, master: &Master, label: &str) -> Result<(), Fault> {
        let expected = verify_data(master, label, &self.transcript);
        // Whoever sent it has the keys: the comparison need not take constant time.
        if finished.body() != expected {
            return Err(self.refuse(AlertDescription::DecryptError, "its Finished is wrong"));
        }
        self.transcript.extend_from_slice(&finished.whole);
        Ok(())
    }

    /// Derives the keys from the master secret, which goes into the key log.
    pub(super) fn set_master(&mut self, master: &Master) {
        let log = &self.settings.key_log;
        log.append("CLIENT_RANDOM", &self.client_random, master);
        let keys = KeyPair::derive(master, &self.client_random, &self.server_random);
        self.layer.set_keys(keys, matches!(self.side, Side::Server(_)));
    }

    /// The handshake is complete: application data may pass.
    pub(super) fn establish(&mut self) {
        self.is_established = true;
        self.flight.complete();
        self.transcript = Vec::new();
        self.layer.ready.push_back(Out::Connected);
        let held = std::mem::take(&mut self.held);
        self.layer.ready.extend(held.into_iter().map(Out::Plaintext));
    }

    /// Refuses a handshake message that the peer may not send now.
    pub(super) fn out_of_turn(&mut self, message: &Message) -> Fault {
        let reason = format!("it sent handshake message {} out of turn", message.kind);
        self.refuse(AlertDescription::UnexpectedMessage, &reason)
    }

    /// Both ends have keys, and not the same.
    fn different_keys(&self) -> Fault {
        let what = match &self.unknown_identity {
            None => {
                "the two ends derived different keys: the pre-shared key or its identity differs".to_owned()
            }
            Some(identity) => {
                let identity = identity.escape_ascii();
                format!("the pre-shared key or its identity differs: \"{identity}\" is unknown")
            }
        };
        Fault::Other(what.as_str().into())
    }

    /// Sends a fatal alert. The fault says what the peer did wrong.
    pub(super) fn refuse(&mut self, alert: AlertDescription, reason: &str) -> Fault {
        self.layer.append(0, content::ALERT, &[FATAL, u8::from(alert)]);
        self.layer.flush();
        Fault::Protocol {
            protocol: Version::name(Some(self.version())),
            reason: reason.into(),
        }
    }
}
