//! The keys of each direction, and the kind of each record.
//!
//! ```text
//! TLS 1.2   both    plain --ChangeCipherSpec--> protected
//! TLS 1.3   server  plain --ServerHello--> handshake --Finished--> application --KeyUpdate--> application
//!           client  plain --ServerHello--> handshake --Finished--> application
//!           client  plain --data before ServerHello--> early --EndOfEarlyData or refusal--> handshake
//! ```
//!
//! Without secrets, the type of a TLS 1.2 record shows its kind. In TLS 1.3 the handshake ends with the client's Finished, whose
//! length the suite decides.

use aws_lc_rs::hmac;
use wirecost_http::http3::open::{Label, Secrets, expand_label};
use wirecost_proto::{BothWays, Direction};
use wirecost_security::dtls::record::content as content_type;

use crate::crypto::aead::nonce;
use crate::crypto::record::open_1_2;
use crate::crypto::schedule::Keys;
use crate::crypto::suite::{Cipher, Suite};
use crate::handshakes;
use crate::hello::{Handshake, accepts_early_data, client_random, handshake_type, message};
use crate::server_flight::ServerFlight;

/// The most bytes kept of an incomplete handshake message.
const MAX_HANDSHAKE_BYTES: usize = 1 << 18;

const TLS_1_3: u16 = 0x0304;
const NO_SECRETS: &str = "encrypted, no secrets";

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    Handshake,
    Alert,
    /// Content of the inner stream, in this part of the body.
    Data {
        start: usize,
        end: usize,
    },
    /// A record that cannot be decrypted, with the reason.
    Opaque(&'static str),
}

#[derive(Debug, Default)]
pub(super) struct Session {
    handshake: Handshake,
    sides: BothWays<Side>,
    refused_early_data: bool,
    flight: ServerFlight,
    client_flight: ClientFlight,
}

/// The client's last flight of a TLS 1.3 handshake (RFC 8446 section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ClientFlight {
    #[default]
    NotSeen,
    Begun,
    Ended,
}

#[derive(Debug, Default)]
struct Side {
    protection: Protection,
    /// Incomplete handshake messages.
    messages: Vec<u8>,
}

#[derive(Debug, Default)]
enum Protection {
    #[default]
    None,
    /// Of TLS 1.2.
    Static {
        suite: Suite,
        keys: Keys,
        sequence: u64,
    },
    /// Of TLS 1.3.
    Traffic {
        stage: Stage,
        suite: Suite,
        secret: Vec<u8>,
        keys: Keys,
        sequence: u64,
    },
    Opaque(&'static str),
}

/// The traffic secret in use (RFC 8446 section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Early,
    Handshake,
    Application,
}

impl Stage {
    const fn label(self, direction: Direction) -> Label {
        match (self, direction) {
            (Self::Early, _) => Label::ClientEarlyTraffic,
            (Self::Handshake, Direction::Up) => Label::ClientHandshakeTraffic,
            (Self::Handshake, Direction::Down) => Label::ServerHandshakeTraffic,
            (Self::Application, Direction::Up) => Label::ClientTraffic0,
            (Self::Application, Direction::Down) => Label::ServerTraffic0,
        }
    }
}

impl Session {
    /// The version's name, or `TLS` if no ServerHello was seen.
    pub(super) fn version(&self) -> &'static str {
        match self.handshake.version() {
            Some(TLS_1_3) => "TLS 1.3",
            Some(0x0303) => "TLS 1.2",
            Some(0x0302) => "TLS 1.1",
            Some(0x0301) => "TLS 1.0",
            _ => "TLS",
        }
    }

    /// What the handshake had; `None` until ServerHello.
    pub(super) fn seen(&self) -> Option<handshakes::TlsHandshake> {
        let hello = self.handshake.server_hello?;
        let is_resumed = match self.is_tls_1_3() {
            true => hello.takes_psk,
            // RFC 5246 section 7.3: ServerHello is followed by ChangeCipherSpec.
            false => {
                !self.flight.has_certificates()
                    && !matches!(self.sides[Direction::Down].protection, Protection::None)
            }
        };
        Some(self.flight.handshake(&hello, is_resumed))
    }

    /// Whether the server has just refused early data. Resets the flag.
    pub(super) const fn has_refused_early_data(&mut self) -> bool {
        std::mem::replace(&mut self.refused_early_data, false)
    }

    /// Handles a record and decrypts its body in place if possible.
    pub(super) fn record(
        &mut self,
        direction: Direction,
        header: &[u8; 5],
        body: &mut [u8],
        secrets: &Secrets,
    ) -> Opened {
        let opened = self.open(direction, header, body, secrets);
        match opened {
            Opened::Opaque(NO_SECRETS) if self.is_closed_handshake(direction, body.len()) => {
                Opened::Handshake
            }
            _ => opened,
        }
    }

    fn open(&mut self, direction: Direction, header: &[u8; 5], body: &mut [u8], secrets: &Secrets) -> Opened {
        let kind = header[0];
        match self.sides[direction].protection {
            Protection::Static { .. } => self.open_static(direction, header, body),
            Protection::Opaque(why) => match kind {
                content_type::CHANGE_CIPHER_SPEC => {
                    self.change_cipher_spec(direction, secrets);
                    Opened::Handshake
                }
                content_type::HANDSHAKE => Opened::Handshake,
                content_type::ALERT => Opened::Alert,
                _ => Opened::Opaque(why),
            },
            _ => match kind {
                content_type::APPLICATION_DATA => self.open_traffic(direction, header, body, secrets),
                content_type::CHANGE_CIPHER_SPEC => {
                    self.change_cipher_spec(direction, secrets);
                    Opened::Handshake
                }
                content_type::ALERT => Opened::Alert,
                _ => {
                    self.handshake(direction, body, secrets);
                    Opened::Handshake
                }
            },
        }
    }

    /// Whether an encrypted record belongs to the handshake of TLS 1.3, whose records all look like application data (RFC 8446
    /// section 5.2): the server's before the client's last flight, and the client's up to its Finished.
    fn is_closed_handshake(&mut self, direction: Direction, body_bytes: usize) -> bool {
        if !self.is_tls_1_3() || self.client_flight == ClientFlight::Ended {
            return false;
        }
        match direction {
            Direction::Down if self.client_flight == ClientFlight::NotSeen => true,
            // The server answers nothing before Finished, so Finished was in a record with other messages.
            Direction::Down => {
                self.client_flight = ClientFlight::Ended;
                false
            }
            Direction::Up => {
                let is_finished = self.finished_bytes() == Some(body_bytes);
                self.client_flight = match is_finished {
                    true => ClientFlight::Ended,
                    false => ClientFlight::Begun,
                };
                true
            }
        }
    }

    /// Bytes of an encrypted Finished: header, a hash, content type and tag (RFC 8446 sections 4.4.4 and 5.2).
    fn finished_bytes(&self) -> Option<usize> {
        let suite = Suite::new(self.handshake.server_hello?.suite)?;
        let hash_bytes = suite.hash.digest_algorithm().output_len();
        Some(4 + hash_bytes + 1 + suite.cipher.tag_bytes())
    }

    fn is_tls_1_3(&self) -> bool {
        self.handshake.version() == Some(TLS_1_3)
    }

    /// RFC 5246 section 7.1. In TLS 1.3 the message has no meaning (RFC 8446 section 5).
    fn change_cipher_spec(&mut self, direction: Direction, secrets: &Secrets) {
        if self.handshake.server_hello.is_none() || self.is_tls_1_3() {
            return;
        }
        let protection = self.static_protection(direction, secrets);
        self.sides[direction].protection = protection.unwrap_or_else(Protection::Opaque);
    }

    fn static_protection(&self, direction: Direction, secrets: &Secrets) -> Result<Protection, &'static str> {
        let (suite, BothWays { up, down }) = self.handshake.keys_1_2(secrets)?;
        Ok(Protection::Static {
            suite,
            keys: if direction == Direction::Up { up } else { down },
            sequence: 0,
        })
    }

    fn open_static(&mut self, direction: Direction, header: &[u8; 5], body: &mut [u8]) -> Opened {
        let Protection::Static {
            suite,
            keys,
            sequence,
        } = &mut self.sides[direction].protection
        else {
            return Opened::Opaque(NO_SECRETS);
        };
        let opened = open_1_2(*suite, keys, &sequence.to_be_bytes(), (header, &[]), body);
        *sequence += 1;
        let Some((start, end)) = opened else {
            const WRONG: &str = "a record that its secrets do not decrypt";
            self.sides[direction].protection = Protection::Opaque(WRONG);
            return Opened::Opaque(WRONG);
        };
        match header[0] {
            content_type::APPLICATION_DATA => Opened::Data { start, end },
            content_type::ALERT => Opened::Alert,
            _ => Opened::Handshake,
        }
    }

    /// A protected TLS 1.3 record (RFC 8446 section 5.2).
    fn open_traffic(
        &mut self,
        direction: Direction,
        header: &[u8; 5],
        body: &mut [u8],
        secrets: &Secrets,
    ) -> Opened {
        if matches!(self.sides[direction].protection, Protection::None) {
            self.begin_traffic(direction, header, body, secrets);
        }
        let opened = self.try_open(direction, header, body);
        let opened = opened.or_else(|| {
            // RFC 8446 section 4.2.10: after a refusal of its early data, the client continues with handshake keys.
            let stage = self.stage(direction).filter(|stage| *stage == Stage::Early);
            stage.and_then(|_| {
                self.enter(direction, Stage::Handshake, secrets);
                self.try_open(direction, header, body)
            })
        });
        let Some(plain) = opened else {
            let side = &mut self.sides[direction];
            let why = match side.protection {
                Protection::Opaque(why) => why,
                _ => "a record that its secrets do not decrypt",
            };
            side.protection = Protection::Opaque(why);
            return Opened::Opaque(why);
        };
        let padded = body.get(..plain).unwrap_or_default();
        // Section 5.4: the content type is the last byte that is not zero.
        let Some(end) = padded.iter().rposition(|byte| *byte != 0) else {
            return Opened::Opaque("a record without content type");
        };
        let content = body.get(..end).unwrap_or_default();
        match body.get(end) {
            Some(&content_type::APPLICATION_DATA) => Opened::Data { start: 0, end },
            Some(&content_type::ALERT) => Opened::Alert,
            Some(&content_type::HANDSHAKE) => {
                self.handshake(direction, content, secrets);
                Opened::Handshake
            }
            _ => Opened::Opaque("a record without content type"),
        }
    }

    fn stage(&self, direction: Direction) -> Option<Stage> {
        match self.sides[direction].protection {
            Protection::Traffic { stage, .. } => Some(stage),
            _ => None,
        }
    }

    /// Starts decryption of a direction. Records of the client before ServerHello are early data.
    fn begin_traffic(&mut self, direction: Direction, header: &[u8; 5], body: &[u8], secrets: &Secrets) {
        if self.handshake.server_hello.is_some() {
            return self.enter(direction, Stage::Handshake, secrets);
        }
        let protection = self.early_protection(direction, header, body, secrets);
        self.sides[direction].protection = protection.unwrap_or_else(Protection::Opaque);
    }

    /// Early data uses the suite of the earlier connection, which this connection does not name. So every suite whose
    /// hash has the secret's length is tried.
    fn early_protection(
        &self,
        direction: Direction,
        header: &[u8; 5],
        body: &[u8],
        secrets: &Secrets,
    ) -> Result<Protection, &'static str> {
        let random = self
            .handshake
            .client_random
            .ok_or("a handshake that was not captured")?;
        let secret = secrets
            .find(&random, Stage::Early.label(direction))
            .ok_or(NO_SECRETS)?;
        let (ciphers, hash): (&[Cipher], _) = match secret.len() {
            32 => (&[Cipher::Aes128Gcm, Cipher::Chacha20Poly1305], hmac::HMAC_SHA256),
            _ => (&[Cipher::Aes256Gcm], hmac::HMAC_SHA384),
        };
        for &cipher in ciphers {
            let suite = Suite { cipher, hash };
            let keys = Keys::of_traffic_secret(suite, secret).ok_or("an invalid secret")?;
            let opened = keys.key.open(keys.iv, header, &mut body.to_vec());
            if opened.is_some() {
                return Ok(traffic(Stage::Early, suite, secret, keys));
            }
        }
        Err("early data that its secret does not decrypt")
    }

    fn try_open(&mut self, direction: Direction, header: &[u8; 5], body: &mut [u8]) -> Option<usize> {
        let Protection::Traffic { keys, sequence, .. } = &mut self.sides[direction].protection else {
            return None;
        };
        let plain = keys.key.open(nonce(keys.iv, *sequence), header, body)?;
        *sequence += 1;
        Some(plain)
    }

    fn enter(&mut self, direction: Direction, stage: Stage, secrets: &Secrets) {
        let protection = self.traffic_protection(direction, stage, secrets);
        self.sides[direction].protection = protection.unwrap_or_else(Protection::Opaque);
    }

    fn traffic_protection(
        &self,
        direction: Direction,
        stage: Stage,
        secrets: &Secrets,
    ) -> Result<Protection, &'static str> {
        let (suite, secret) = self.handshake.secret(secrets, stage.label(direction))?;
        let keys = Keys::of_traffic_secret(suite, secret).ok_or("an invalid secret")?;
        Ok(traffic(stage, suite, secret, keys))
    }

    /// Reads bytes of handshake messages. Records may cut messages anywhere (RFC 8446 section 5.1).
    fn handshake(&mut self, direction: Direction, bytes: &[u8], secrets: &Secrets) {
        let mut messages = std::mem::take(&mut self.sides[direction].messages);
        messages.extend_from_slice(bytes);
        let mut rest = messages.as_slice();
        while let Some((kind, body, after)) = message(rest) {
            self.message(direction, kind, body, secrets);
            rest = after;
        }
        if rest.len() < MAX_HANDSHAKE_BYTES {
            self.sides[direction].messages = rest.to_vec();
        }
    }

    fn message(&mut self, direction: Direction, kind: u8, body: &[u8], secrets: &Secrets) {
        if direction == Direction::Down {
            self.flight.message(kind, body, self.is_tls_1_3());
        }
        match kind {
            handshake_type::CLIENT_HELLO => self.handshake.client_random = client_random(body),
            handshake_type::SERVER_HELLO => self.server_hello(body, secrets),
            handshake_type::ENCRYPTED_EXTENSIONS if self.stage(Direction::Up) == Some(Stage::Early) => {
                self.refused_early_data = !accepts_early_data(body);
            }
            handshake_type::END_OF_EARLY_DATA => self.enter(direction, Stage::Handshake, secrets),
            handshake_type::FINISHED if self.is_tls_1_3() => {
                if direction == Direction::Up {
                    self.client_flight = ClientFlight::Ended;
                }
                self.enter(direction, Stage::Application, secrets);
            }
            handshake_type::KEY_UPDATE => self.update_keys(direction),
            _ => {}
        }
    }

    fn server_hello(&mut self, body: &[u8], secrets: &Secrets) {
        let Some(hello) = self.flight.hello(body) else {
            return;
        };
        self.handshake.server_hello = Some(hello);
        if self.is_tls_1_3() {
            self.enter(Direction::Down, Stage::Handshake, secrets);
        }
    }

    /// RFC 8446 section 7.2.
    fn update_keys(&mut self, direction: Direction) {
        let side = &mut self.sides[direction];
        if let Protection::Traffic { suite, secret, .. } = &side.protection {
            let next = expand_label(suite.hash, secret, "traffic upd", secret.len());
            let keys = Keys::of_traffic_secret(*suite, &next);
            let renewed = keys.map(|keys| traffic(Stage::Application, *suite, &next, keys));
            side.protection = renewed.unwrap_or(Protection::Opaque("an invalid secret"));
        }
    }
}

fn traffic(stage: Stage, suite: Suite, secret: &[u8], keys: Keys) -> Protection {
    Protection::Traffic {
        stage,
        suite,
        secret: secret.to_vec(),
        keys,
        sequence: 0,
    }
}
