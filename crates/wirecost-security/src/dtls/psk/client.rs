//! The client's side of the handshake.

use std::sync::Arc;

use rustls::AlertDescription;
use wirecost_proto::Instant;

use super::engine::{Engine, Settings, Side};
use super::incoming::Message;
use super::message::{self, ServerHello, client_key_exchange, kind};
use super::prf::{Master, extended_master, plain_master, premaster};
use super::sessions::Session;
use crate::dtls::version::Psk;
use crate::entropy::Entropy;
use crate::layer::Fault;
use crate::start::Start;

/// What a client waits for.
pub(super) enum Client {
    /// The first wake-up.
    Idle { session: Option<Session> },
    /// A ServerHello or a HelloVerifyRequest.
    AwaitHello { session: Option<Session> },
    /// The ServerHelloDone of a full handshake.
    AwaitDone { session_id: Vec<u8>, is_extended: bool },
    /// The server's Finished.
    AwaitFinished { session: Session, is_abbreviated: bool },
    /// Nothing: the handshake is complete, or has failed.
    Done,
}

const CLIENT_FINISHED: &str = "client finished";
const SERVER_FINISHED: &str = "server finished";

impl Engine {
    /// A client's connection. With a `session` it asks for an abbreviated handshake.
    pub(in crate::dtls) fn client(
        settings: Arc<Settings>,
        entropy: Entropy,
        session: Option<Session>,
    ) -> Self {
        Self::new(settings, entropy, Side::Client(Client::Idle { session }))
    }

    /// Sends the first ClientHello.
    pub(super) fn begin(&mut self, now: Instant) -> Result<(), Fault> {
        let Side::Client(Client::Idle { session }) = &mut self.side else {
            return Ok(());
        };
        let session = session.take();
        self.client_random = self.draw()?;
        self.send_hello(session, &[], now);
        Ok(())
    }

    fn send_hello(&mut self, session: Option<Session>, cookie: &[u8], now: Instant) {
        let id = session.as_ref().map_or(&[][..], |session| &session.id);
        let asked = self.settings.asks_for_ids.then_some(&[][..]);
        let body = message::client_hello(&self.client_random, id, cookie, asked);
        // RFC 6347 section 4.2.6: the hello without a cookie and its answer do not count for the Finished.
        self.transcript.clear();
        let hello = self.message(0, kind::CLIENT_HELLO, body);
        self.send_flight(vec![hello], true, now);
        self.side = Side::Client(Client::AwaitHello { session });
    }

    pub(super) fn client_message(&mut self, message: &Message, now: Instant) -> Result<(), Fault> {
        let Side::Client(state) = &mut self.side else {
            return Ok(());
        };
        let state = std::mem::replace(state, Client::Done);
        match (state, message.kind) {
            (Client::AwaitHello { session }, kind::HELLO_VERIFY_REQUEST) => {
                let Some(cookie) = message::cookie(message.body()) else {
                    return Err(
                        self.refuse(AlertDescription::DecodeError, "its HelloVerifyRequest is cut off")
                    );
                };
                self.send_hello(session, cookie, now);
                Ok(())
            }
            (Client::AwaitHello { session }, kind::SERVER_HELLO) => self.server_hello(message, session),
            (state @ Client::AwaitDone { .. }, kind::SERVER_KEY_EXCHANGE) => {
                // A hint about the identity, which our client does not need.
                self.transcript.extend_from_slice(&message.whole);
                self.side = Side::Client(state);
                Ok(())
            }
            (
                Client::AwaitDone {
                    session_id,
                    is_extended,
                },
                kind::SERVER_HELLO_DONE,
            ) => {
                self.transcript.extend_from_slice(&message.whole);
                self.exchange_keys(session_id, is_extended, now);
                Ok(())
            }
            (
                Client::AwaitFinished {
                    session,
                    is_abbreviated,
                },
                kind::FINISHED,
            ) => self.server_finished(message, session, is_abbreviated, now),
            _ => Err(self.out_of_turn(message)),
        }
    }

    fn server_hello(&mut self, message: &Message, session: Option<Session>) -> Result<(), Fault> {
        let Some(hello) = ServerHello::parse(message.body()).filter(ServerHello::is_acceptable) else {
            let reason = "its ServerHello does not accept what was offered";
            return Err(self.refuse(AlertDescription::IllegalParameter, reason));
        };
        self.server_random = hello.random;
        self.transcript.extend_from_slice(&message.whole);
        match hello.extensions.connection_id {
            Some(id) if self.settings.asks_for_ids => self.layer.peer_id = id.to_vec(),
            None if !self.settings.asks_for_ids => {}
            Some(_) => {
                let reason = "it sent a connection ID that nobody asked for";
                return Err(self.refuse(AlertDescription::UnsupportedExtension, reason));
            }
            None => {
                self.refuse(AlertDescription::HandshakeFailure, "");
                return Err(Fault::Other(NO_CONNECTION_ID.into()));
            }
        }
        let is_extended = hello.extensions.extended_master_secret;
        let state = match session {
            Some(session) if session.id == hello.session_id => {
                if session.is_extended != is_extended {
                    let reason = "it resumes a session with another kind of master secret (RFC 7627)";
                    return Err(self.refuse(AlertDescription::HandshakeFailure, reason));
                }
                self.start = Start::Resumed;
                self.set_master(&session.master);
                Client::AwaitFinished {
                    session,
                    is_abbreviated: true,
                }
            }
            _ => Client::AwaitDone {
                session_id: hello.session_id.to_vec(),
                is_extended,
            },
        };
        self.side = Side::Client(state);
        Ok(())
    }

    /// Sends the last flight of a full handshake.
    fn exchange_keys(&mut self, id: Vec<u8>, is_extended: bool, now: Instant) {
        let Some(Psk { identity, key }) = self.settings.psks.first().cloned() else {
            return;
        };
        let exchange = self.message(0, kind::CLIENT_KEY_EXCHANGE, client_key_exchange(&identity));
        let master = self.master(&key, is_extended);
        self.set_master(&master);
        let [change, finished] = self.finished(&master, CLIENT_FINISHED);
        self.send_flight(vec![exchange, change, finished], true, now);
        let session = Session {
            id,
            master,
            is_extended,
        };
        self.side = Side::Client(Client::AwaitFinished {
            session,
            is_abbreviated: false,
        });
    }

    fn server_finished(
        &mut self,
        message: &Message,
        session: Session,
        is_abbreviated: bool,
        now: Instant,
    ) -> Result<(), Fault> {
        self.verify(message, &session.master, SERVER_FINISHED)?;
        if is_abbreviated {
            let parts = self.finished(&session.master, CLIENT_FINISHED);
            self.send_flight(parts.into(), false, now);
        }
        self.session = Some(session);
        self.establish();
        Ok(())
    }

    /// The master secret of a full handshake, when the transcript ends with the ClientKeyExchange.
    pub(super) fn master(&self, key: &[u8], is_extended: bool) -> Master {
        let premaster = premaster(key);
        if is_extended {
            extended_master(&premaster, &self.transcript)
        } else {
            plain_master(&premaster, &self.client_random, &self.server_random)
        }
    }
}

/// Why a client that asks for connection IDs does not go on without them.
const NO_CONNECTION_ID: &str = "the server grants no connection ID (RFC 9146)";
