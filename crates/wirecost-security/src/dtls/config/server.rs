//! Configuration of servers.

use std::sync::Arc;

use dimpl::{Dtls, DtlsCertificate};
use wirecost_proto::{Instant, Peer};

use super::Common;
use super::engine::{Engine, EngineSettings, engine_certificate};
use crate::certificate::Identity;
use crate::dtls::connection::Connection;
use crate::dtls::cookie::{Asked, Cookies, Meeting};
use crate::dtls::dimpl::Dimpl;
use crate::dtls::error::ConfigError;
use crate::dtls::peer::Verifier;
use crate::dtls::psk;
use crate::dtls::record::records;
use crate::dtls::version::{Psk, Version};

/// What a server accepts. With a certificate it accepts DTLS 1.3 and 1.2. With a pre-shared key it accepts DTLS 1.2
/// on that key.
#[derive(Clone, Debug, Default)]
pub struct Accept {
    /// The server's certificate.
    pub identity: Option<Identity>,
    /// The pre-shared keys by identity.
    pub psks: Vec<Psk>,
    /// The authorities (in DER), one of which must have issued every client's certificate. If empty, clients need no
    /// certificate.
    pub client_authorities: Vec<Vec<u8>>,
    /// Whether clients must return a cookie to prove that they are reachable (RFC 6347 section 4.2.1, RFC 9147
    /// section 5.1). It costs one more round trip.
    pub cookie: bool,
}

/// A server's configuration. Clones share its parts, and the sessions that clients may resume.
#[derive(Clone)]
pub struct ServerConfig {
    pub(in crate::dtls) common: Common,
    certificates: Option<ServerCertificates>,
    psk: Option<Arc<psk::Settings>>,
    /// If it asks for them.
    cookies: Option<Arc<Cookies>>,
}

#[derive(Clone)]
struct ServerCertificates {
    engine: Arc<Engine>,
    certificate: DtlsCertificate,
    verifier: Option<Arc<Verifier>>,
}

impl ServerConfig {
    /// A configuration for a server that accepts what `accept` says.
    ///
    /// # Errors
    /// [`ConfigError`] says what cannot be used.
    pub fn new(common: Common, accept: Accept) -> Result<Self, ConfigError> {
        if accept.identity.is_none() && accept.psks.is_empty() {
            return Err(ConfigError::NoCredentials);
        }
        if accept.identity.is_none() && !accept.client_authorities.is_empty() {
            return Err(ConfigError::NoIdentity);
        }
        let certificates = accept.identity.as_ref().map(|identity| {
            let asks = !accept.client_authorities.is_empty();
            let settings = EngineSettings {
                versions: vec![Version::Dtls13, Version::Dtls12],
                asks,
                cookie: accept.cookie,
            };
            let verifier = asks.then(|| Verifier::of_clients(&accept.client_authorities));
            Ok::<_, ConfigError>(ServerCertificates {
                engine: Engine::new(common.clone(), settings)?,
                certificate: engine_certificate(identity)?,
                verifier: verifier.transpose()?.map(Arc::new),
            })
        });
        let has_psk = !accept.psks.is_empty();
        let psk = has_psk.then(|| common.psk(accept.psks, false, accept.cookie));
        let entropy = || common.entropy(0).derive("cookies");
        let cookies = accept
            .cookie
            .then(|| Cookies::new(entropy(), common.handshake_timeout));
        Ok(Self {
            certificates: certificates.transpose()?,
            psk: psk.transpose()?,
            cookies: cookies.transpose()?.map(Arc::new),
            common,
        })
    }

    /// Verifies clients.
    pub(in crate::dtls) fn verifier(&self) -> Option<&Verifier> {
        self.certificates.as_ref()?.verifier.as_deref()
    }

    /// What to do about the ClientHello of `peer` in `datagram`.
    pub(in crate::dtls) fn meet(&self, datagram: &[u8], peer: Peer, now: Instant) -> Meeting {
        let Some(cookies) = &self.cookies else {
            return Meeting::Accept;
        };
        let speaks_13 =
            self.certificates.is_some() && Self::offered(datagram).is_some_and(|offered| offered.dtls_13);
        cookies.meet(datagram, peer, speaks_13, now)
    }

    /// Connection number `index`, for the ClientHello in `datagram`, which it has not received yet. Its client has to return
    /// the cookie `asked`, or one that only this connection knows, if the server asks for cookies.
    pub(in crate::dtls) fn accept(
        &self,
        index: u64,
        datagram: &[u8],
        asked: Option<Asked>,
        now: Instant,
    ) -> Option<Connection> {
        let connection = self.connection(index, datagram, asked, now)?;
        Some(match &self.cookies {
            Some(_) => connection.unproven(now + self.common.handshake_timeout, asked),
            None => connection,
        })
    }

    fn connection(
        &self,
        index: u64,
        datagram: &[u8],
        asked: Option<Asked>,
        now: Instant,
    ) -> Option<Connection> {
        let psk = self.psk.as_ref().filter(|_| self.uses_psk(datagram));
        if let Some(settings) = psk {
            let entropy = self.common.entropy(index);
            let cookie = asked.map(|asked| asked.cookie);
            return Some(psk::Engine::server(Arc::clone(settings), entropy, cookie).into());
        }
        let own = self.certificates.as_ref()?;
        let (config, observer) = own.engine.config(index);
        let epoch = own.engine.epoch_at(now);
        let at = epoch.monotonic_at(now);
        let engine = Dtls::new_auto(config, own.certificate.clone(), at);
        let key_log = self.common.key_log.clone();
        Some(Dimpl::new(engine, observer, None, epoch, key_log).into())
    }

    /// Whether the first suite of a ClientHello for which the server has credentials is that of pre-shared keys. A
    /// fragmented ClientHello is taken for one with certificates, if the server has one: those are the long ones.
    fn uses_psk(&self, datagram: &[u8]) -> bool {
        let offered = || Self::offered(datagram);
        self.certificates.is_none() || offered().is_some_and(|offered| offered.psk_first && !offered.dtls_13)
    }

    /// What the whole ClientHello in `datagram` offers.
    fn offered(datagram: &[u8]) -> Option<psk::Offered> {
        /// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (RFC 5289 section 3.2).
        const ECDHE_ECDSA_AES_128_GCM_SHA256: u16 = 0xc02b;
        let hello = records(datagram).next()?.message()?;
        psk::offers(hello.whole_client_hello()?, ECDHE_ECDSA_AES_128_GCM_SHA256)
    }
}
