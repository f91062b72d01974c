//! The server's side of the handshake.

use std::sync::Arc;

use rustls::AlertDescription;
use wirecost_proto::Instant;

use super::engine::{Engine, Settings, Side};
use super::flight::{Flight, Part};
use super::incoming::Message;
use super::message::{self, ClientHello, kind};
use super::sessions::{SESSION_ID_BYTES, Session};
use crate::dtls::cookie::Cookie;
use crate::dtls::record::CONNECTION_ID_BYTES;
use crate::entropy::Entropy;
use crate::layer::Fault;
use crate::start::Start;

/// What a server waits for.
pub(super) enum Server {
    /// The first ClientHello, to ask for this cookie if the server asks for one.
    AwaitHello { cookie: Option<Cookie> },
    /// The ClientHello with this cookie.
    AwaitCookie { cookie: Cookie },
    /// The ClientKeyExchange of a full handshake.
    AwaitKeyExchange { session_id: Vec<u8>, is_extended: bool },
    /// The client's Finished.
    AwaitFinished { session: Session, is_abbreviated: bool },
    /// Nothing: the handshake is complete, or has failed.
    Done,
}

/// Bytes of the key that takes the place of one that is not known: those of the key that AES-128 in CCM_8 needs.
const UNKNOWN_KEY_BYTES: usize = 16;
const CLIENT_FINISHED: &str = "client finished";
const SERVER_FINISHED: &str = "server finished";

impl Engine {
    /// A server's connection. If the server asks for a cookie, it is this one or, if the connection is kept until the client
    /// returns it, any one.
    pub(in crate::dtls) fn server(settings: Arc<Settings>, entropy: Entropy, cookie: Option<Cookie>) -> Self {
        Self::new(settings, entropy, Side::Server(Server::AwaitHello { cookie }))
    }

    pub(super) fn server_message(&mut self, message: &Message, now: Instant) -> Result<(), Fault> {
        let Side::Server(state) = &mut self.side else {
            return Ok(());
        };
        let state = std::mem::replace(state, Server::Done);
        match (state, message.kind) {
            (Server::AwaitHello { cookie }, kind::CLIENT_HELLO) if self.settings.cookie => {
                self.ask_for_cookie(cookie, now)
            }
            (Server::AwaitHello { .. }, kind::CLIENT_HELLO) => self.client_hello(message, None, now),
            (Server::AwaitCookie { cookie }, kind::CLIENT_HELLO) => {
                self.client_hello(message, Some(cookie), now)
            }
            (
                Server::AwaitKeyExchange {
                    session_id,
                    is_extended,
                },
                kind::CLIENT_KEY_EXCHANGE,
            ) => self.client_key_exchange(message, session_id, is_extended),
            (
                Server::AwaitFinished {
                    session,
                    is_abbreviated,
                },
                kind::FINISHED,
            ) => self.client_finished(message, session, is_abbreviated, now),
            _ => Err(self.out_of_turn(message)),
        }
    }

    fn ask_for_cookie(&mut self, cookie: Option<Cookie>, now: Instant) -> Result<(), Fault> {
        let cookie = match cookie {
            Some(cookie) => cookie,
            None => self.draw()?,
        };
        let request = self.message(
            0,
            kind::HELLO_VERIFY_REQUEST,
            message::hello_verify_request(&cookie),
        );
        // The client repeats its hello until this arrives (RFC 6347 section 4.2.1).
        self.send_flight(vec![request], false, now);
        self.transcript.clear();
        self.side = Side::Server(Server::AwaitCookie { cookie });
        Ok(())
    }

    fn client_hello(&mut self, message: &Message, cookie: Option<Cookie>, now: Instant) -> Result<(), Fault> {
        let Some(hello) = ClientHello::parse(message.body()) else {
            return Err(self.refuse(AlertDescription::DecodeError, "its ClientHello is cut off"));
        };
        if !hello.is_acceptable() {
            let reason = "it does not offer TLS_PSK_WITH_AES_128_CCM_8 in DTLS 1.2";
            return Err(self.refuse(AlertDescription::HandshakeFailure, reason));
        }
        if cookie.is_some_and(|cookie| hello.cookie != cookie) {
            let reason = "its cookie is not the one that it received";
            return Err(self.refuse(AlertDescription::IllegalParameter, reason));
        }
        self.is_reachable = true;
        self.client_random = hello.random;
        self.transcript.extend_from_slice(&message.whole);
        self.server_random = self.draw()?;
        let is_extended = hello.extensions.extended_master_secret;
        // RFC 7627 section 5.3: a resumption does not change the kind of master secret.
        let session = self.settings.sessions.find(hello.session_id);
        match session.filter(|session| session.is_extended == is_extended) {
            Some(session) => self.resume(&hello, session, now),
            None => self.offer_keys(&hello, now),
        }
    }

    /// The ServerHello. It sets the connection IDs.
    fn answer(&mut self, hello: &ClientHello<'_>, session_id: &[u8]) -> Result<Part, Fault> {
        self.uses_ids = hello.extensions.connection_id.is_some();
        if let Some(id) = hello.extensions.connection_id {
            self.layer.peer_id = id.to_vec();
            self.layer.own_id = self.draw::<CONNECTION_ID_BYTES>()?.to_vec();
        }
        let own = self.uses_ids.then_some(&self.layer.own_id[..]);
        let body = message::server_hello(hello, &self.server_random, session_id, own);
        Ok(self.message(0, kind::SERVER_HELLO, body))
    }

    fn offer_keys(&mut self, hello: &ClientHello<'_>, now: Instant) -> Result<(), Fault> {
        let session_id = self.draw::<SESSION_ID_BYTES>()?.to_vec();
        let answer = self.answer(hello, &session_id)?;
        let done = self.message(0, kind::SERVER_HELLO_DONE, Vec::new());
        self.send_flight(vec![answer, done], true, now);
        self.side = Side::Server(Server::AwaitKeyExchange {
            session_id,
            is_extended: hello.extensions.extended_master_secret,
        });
        Ok(())
    }

    fn resume(&mut self, hello: &ClientHello<'_>, session: Session, now: Instant) -> Result<(), Fault> {
        let answer = self.answer(hello, &session.id)?;
        self.start = Start::Resumed;
        self.set_master(&session.master);
        let [change, finished] = self.finished(&session.master, SERVER_FINISHED);
        self.send_flight(vec![answer, change, finished], true, now);
        self.side = Side::Server(Server::AwaitFinished {
            session,
            is_abbreviated: true,
        });
        Ok(())
    }

    fn client_key_exchange(
        &mut self,
        message: &Message,
        id: Vec<u8>,
        is_extended: bool,
    ) -> Result<(), Fault> {
        let identity = message::identity(message.body()).unwrap_or_default();
        // RFC 4279 section 2 lets a server go on with an identity that it does not know, as with a wrong key. It does, so
        // that nobody learns which identities it knows: the client's Finished then does not open, and nothing is sent.
        let unknown = self.draw::<UNKNOWN_KEY_BYTES>()?;
        let known = self.settings.psks.iter().find(|psk| psk.identity == identity);
        let key = known.map_or(unknown.to_vec(), |psk| psk.key.clone());
        if known.is_none() {
            self.unknown_identity = Some(identity.to_vec());
        }
        self.transcript.extend_from_slice(&message.whole);
        // The client repeats its flight until it has our Finished: ours is not sent again.
        self.flight = Flight::default();
        let master = self.master(&key, is_extended);
        self.set_master(&master);
        let session = Session {
            id,
            master,
            is_extended,
        };
        self.side = Side::Server(Server::AwaitFinished {
            session,
            is_abbreviated: false,
        });
        Ok(())
    }

    fn client_finished(
        &mut self,
        message: &Message,
        session: Session,
        is_abbreviated: bool,
        now: Instant,
    ) -> Result<(), Fault> {
        self.verify(message, &session.master, CLIENT_FINISHED)?;
        if !is_abbreviated {
            let parts = self.finished(&session.master, SERVER_FINISHED);
            self.send_flight(parts.into(), false, now);
            self.settings.sessions.keep(session);
        }
        self.establish();
        Ok(())
    }
}
