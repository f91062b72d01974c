//! Configuration of clients and servers.

mod engine;

use std::sync::Arc;
use std::time::Duration;

use dimpl::{Dtls, DtlsCertificate};
use wirecost_proto::{Instant, Rng};

use self::engine::{Engine, EngineSettings, Keys, engine_certificate};
use super::connection::Connection;
use super::peer::Verifier;
use crate::certificate::{self, Authority, Identity};
use crate::epoch::Epoch;
use crate::key_log::KeyLog;
use crate::start::Start;
use crate::tls;

/// UDP payload of a packet of 1,500 bytes on IPv4: the default MTU.
pub const DEFAULT_MTU: usize = 1500 - 28;

/// The default time-out of a handshake.
pub const DEFAULT_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(40);

/// The default time until the first retransmission of a flight. Each further one waits twice as long (RFC 9147
/// section 5.8.2, RFC 6347 section 4.2.4.1), give or take a quarter.
pub const DEFAULT_FLIGHT_TIMEOUT: Duration = Duration::from_secs(1);

/// Why DTLS has no resumption, no early data and no connection ID: the reason of a cell that is not run.
pub const NO_RESUMPTION: &str = "dimpl 0.9 has no session resumption for DTLS 1.2 and 1.3, no early data and no \
                                 connection ID";

/// A version of DTLS and its kind of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// DTLS 1.3 with certificates (RFC 9147): TLS_AES_128_GCM_SHA256 on X25519.
    Dtls13,
    /// DTLS 1.2 with certificates (RFC 6347): TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 on X25519.
    Dtls12,
    /// DTLS 1.2 with a pre-shared key (RFC 4279): TLS_PSK_WITH_AES_128_CCM_8 (RFC 6655).
    Dtls12Psk,
}

impl Version {
    /// Every version.
    pub const ALL: [Self; 3] = [Self::Dtls13, Self::Dtls12, Self::Dtls12Psk];

    /// The name in error messages, before and after the version is negotiated.
    pub(super) const fn name(version: Option<Self>) -> &'static str {
        match version {
            None => "DTLS",
            Some(Self::Dtls13) => "DTLS 1.3",
            Some(Self::Dtls12) => "DTLS 1.2",
            Some(Self::Dtls12Psk) => "DTLS 1.2 (pre-shared key)",
        }
    }
}

/// A pre-shared key and its identity.
#[derive(Clone, PartialEq, Eq)]
pub struct Psk {
    /// The identity, which the client sends unencrypted.
    pub identity: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

impl Psk {
    /// The key under the identity `wc`.
    pub fn new(key: impl Into<Vec<u8>>) -> Self {
        Self {
            identity: b"wc".to_vec(),
            key: key.into(),
        }
    }
}

impl std::fmt::Debug for Psk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Psk")
            .field("identity", &self.identity.escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}

/// Settings of either end.
#[derive(Clone, Debug)]
pub struct Common {
    /// The start of the run on the engine's clock and on the calendar.
    pub epoch: Epoch,
    /// Receives the secrets.
    pub key_log: KeyLog,
    /// The largest UDP payload of a handshake datagram in bytes, at least 64. The engine pads the ClientHello of DTLS
    /// 1.3 up to it. Application data is not fragmented: one datagram of the inner endpoint is one record.
    pub mtu: usize,
    /// Time-out of a handshake.
    pub handshake_timeout: Duration,
    /// Time until a flight is first retransmitted.
    pub flight_timeout: Duration,
    rng: Option<Rng>,
}

impl Common {
    /// The defaults.
    pub fn new(epoch: Epoch, key_log: KeyLog) -> Self {
        Self {
            epoch,
            key_log,
            mtu: DEFAULT_MTU,
            handshake_timeout: DEFAULT_HANDSHAKE_TIMEOUT,
            flight_timeout: DEFAULT_FLIGHT_TIMEOUT,
            rng: None,
        }
    }

    /// The same settings with every key, nonce and signature derived from `rng`: for tests and simulation. Each
    /// connection then builds its own configuration, which takes more than a millisecond.
    #[cfg(any(test, feature = "seeded"))]
    #[must_use]
    pub fn with_seed(self, rng: Rng) -> Self {
        Self {
            rng: Some(rng),
            ..self
        }
    }
}

/// The version that a client offers, with the credentials of both sides.
#[derive(Clone, Debug)]
pub enum Offer {
    /// DTLS 1.3 with certificates.
    Dtls13(Certificates),
    /// DTLS 1.2 with certificates.
    Dtls12(Certificates),
    /// DTLS 1.2 with a pre-shared key.
    Dtls12Psk(Psk),
}

/// Certificates of a client's connection.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The servers that the client accepts.
    pub trust: Trust,
    /// The client's own certificate, sent only if the server requests one. The engine always needs one: `None` uses a
    /// generated certificate that no authority issued.
    pub identity: Option<Identity>,
}

/// The servers that a client accepts. Only the server's own certificate is checked, because the engine does not
/// return the rest of the chain. So an authority must have issued it directly.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Servers with a valid certificate from one of these authorities for this name (a host name or an IP address).
    Authorities {
        /// The certificates of the authorities in DER.
        certificates: Vec<Vec<u8>>,
        /// The server's name.
        server_name: String,
    },
    /// Any server.
    Anyone,
}

/// A client's configuration. Clones share its parts.
#[derive(Clone)]
pub struct ClientConfig {
    pub(super) engine: Arc<Engine>,
    version: Version,
    /// The start of its connections. Any start but cold fails, see [`NO_RESUMPTION`].
    pub start: Start,
    certificate: DtlsCertificate,
    pub(super) verifier: Option<Arc<Verifier>>,
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The engine rejects a setting.
    #[error("cannot configure DTLS: {0}")]
    Engine(String),
    /// A certificate cannot be generated.
    #[error(transparent)]
    Certificate(#[from] certificate::Error),
    /// A trusted certificate or name cannot be used.
    #[error(transparent)]
    Trust(#[from] tls::ConfigError),
    /// The engine does not support the kind of private key.
    #[error("cannot use the private key: {0}; expected one on P-256 or P-384")]
    PrivateKey(String),
    /// A server has neither a certificate nor a pre-shared key.
    #[error("a server needs a certificate or a pre-shared key, got neither")]
    NoCredentials,
    /// A server requests certificates but has none of its own.
    #[error("a server that requests client certificates needs a certificate of its own")]
    NoIdentity,
}

impl ClientConfig {
    /// A configuration for connections that make this `offer`.
    ///
    /// # Errors
    /// [`ConfigError`] says what cannot be used.
    pub fn new(common: Common, offer: Offer) -> Result<Self, ConfigError> {
        let (version, certificates, psk) = match offer {
            Offer::Dtls13(certificates) => (Version::Dtls13, Some(certificates), None),
            Offer::Dtls12(certificates) => (Version::Dtls12, Some(certificates), None),
            Offer::Dtls12Psk(psk) => (Version::Dtls12Psk, None, Some(psk)),
        };
        let (verifier, identity) = match certificates {
            Some(Certificates { trust, identity }) => (Verifier::of_server(trust)?, identity),
            None => (None, None),
        };
        let identity = match identity {
            Some(identity) => identity,
            None => Identity::client(&Authority::generate()?, "wirecost")?,
        };
        let settings = EngineSettings {
            versions: vec![version],
            client_identity: psk.as_ref().map(|psk| psk.identity.clone()),
            keys: Arc::new(Keys(psk.into_iter().collect())),
            asks: false,
            cookie: false,
        };
        Ok(Self {
            engine: Engine::new(common, settings)?,
            version,
            start: Start::Cold,
            certificate: engine_certificate(&identity)?,
            verifier: verifier.map(Arc::new),
        })
    }

    /// Connection number `index`, which has sent nothing yet.
    pub(super) fn connect(&self, index: u64, now: Instant) -> Connection {
        let (config, observer) = self.engine.config(index);
        let epoch = self.engine.epoch_at(now);
        let at = epoch.monotonic_at(now);
        let certificate = || self.certificate.clone();
        let mut engine = match self.version {
            Version::Dtls12 => Dtls::new_12(config, certificate(), at),
            Version::Dtls12Psk => Dtls::new_12_psk(config, at),
            Version::Dtls13 => Dtls::new_13(config, certificate(), at),
        };
        engine.set_active(true);
        Connection::new(
            engine,
            observer,
            Some(self.version),
            epoch,
            self.engine.common.key_log.clone(),
        )
    }
}

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

/// A server's configuration. Clones share its parts.
#[derive(Clone)]
pub struct ServerConfig {
    pub(super) engine: Arc<Engine>,
    certificate: DtlsCertificate,
    pub(super) verifier: Option<Arc<Verifier>>,
}

impl ServerConfig {
    /// A configuration for a server that accepts what `accept` says.
    ///
    /// # Errors
    /// [`ConfigError`] says what cannot be used.
    pub fn new(common: Common, accept: Accept) -> Result<Self, ConfigError> {
        let versions: &[Version] = match (&accept.identity, accept.psks.is_empty()) {
            (None, true) => return Err(ConfigError::NoCredentials),
            (None, false) => &[Version::Dtls12Psk],
            (Some(_), true) => &[Version::Dtls13, Version::Dtls12],
            (Some(_), false) => &[Version::Dtls13, Version::Dtls12, Version::Dtls12Psk],
        };
        let asks = !accept.client_authorities.is_empty();
        if asks && accept.identity.is_none() {
            return Err(ConfigError::NoIdentity);
        }
        let settings = EngineSettings {
            versions: versions.to_vec(),
            client_identity: None,
            keys: Arc::new(Keys(accept.psks)),
            asks,
            cookie: accept.cookie,
        };
        let verifier = asks.then(|| Verifier::of_clients(&accept.client_authorities));
        let certificate = accept.identity.as_ref().map(engine_certificate).transpose()?;
        Ok(Self {
            engine: Engine::new(common, settings)?,
            // Without a certificate of the server the engine never uses this one.
            certificate: certificate.unwrap_or(DtlsCertificate {
                certificate: Vec::new(),
                private_key: Vec::new(),
            }),
            verifier: verifier.transpose()?.map(Arc::new),
        })
    }

    /// Connection number `index`, which has received nothing yet.
    pub(super) fn accept(&self, index: u64, now: Instant) -> Connection {
        let (config, observer) = self.engine.config(index);
        let epoch = self.engine.epoch_at(now);
        let at = epoch.monotonic_at(now);
        let engine = Dtls::new_auto(config, self.certificate.clone(), at);
        Connection::new(engine, observer, None, epoch, self.engine.common.key_log.clone())
    }
}
