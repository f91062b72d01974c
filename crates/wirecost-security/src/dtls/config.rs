//! Configuration of clients and servers.

mod engine;
mod server;

use std::sync::Arc;
use std::time::Duration;

use dimpl::{Dtls, DtlsCertificate};
use wirecost_proto::{Instant, Rng};

use self::engine::{Engine, EngineSettings, engine_certificate};
pub use self::server::{Accept, ServerConfig};
use super::connection::Connection;
use super::dimpl::Dimpl;
use super::peer::Verifier;
use super::psk::{self, Session};
use crate::certificate::{self, Authority, Identity};
use crate::entropy::{Entropy, NoEntropy};
use crate::epoch::Epoch;
use crate::key_log::KeyLog;
use crate::start::Start;
use crate::tls;

/// UDP payload of a packet of 1,500 bytes on IPv4: the default MTU.
pub const DEFAULT_MTU: usize = 1500 - 28;

/// The default time-out of a handshake.
pub const DEFAULT_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(40);

/// The default time until the first retransmission of a flight. Each further one waits twice as long (RFC 9147
/// section 5.8.2, RFC 6347 section 4.2.4.1). dimpl varies each by up to a quarter.
pub const DEFAULT_FLIGHT_TIMEOUT: Duration = Duration::from_secs(1);

/// Why DTLS with certificates has no resumption: the reason of a cell that is not run.
pub const NO_RESUMPTION: &str = "dimpl 0.9, which does DTLS with certificates, has no session resumption";

/// Why DTLS 1.2 has no early data.
pub const NO_EARLY_DATA: &str = "DTLS 1.2 has no 0-RTT (RFC 9147, section 5.6)";

/// A version of DTLS and its kind of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// DTLS 1.3 with certificates (RFC 9147): TLS_AES_128_GCM_SHA256 on X25519.
    Dtls13,
    /// DTLS 1.2 with certificates (RFC 6347): TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 on X25519.
    Dtls12,
    /// DTLS 1.2 with a pre-shared key (RFC 4279): TLS_PSK_WITH_AES_128_CCM_8 (RFC 6655).
    Dtls12Psk,
    /// The same with connection IDs (RFC 9146).
    Dtls12Cid,
}

impl Version {
    /// Every version.
    pub const ALL: [Self; 4] = [Self::Dtls13, Self::Dtls12, Self::Dtls12Psk, Self::Dtls12Cid];

    /// The name in error messages, before and after the version is negotiated.
    pub(super) const fn name(version: Option<Self>) -> &'static str {
        match version {
            None => "DTLS",
            Some(Self::Dtls13) => "DTLS 1.3",
            Some(Self::Dtls12) => "DTLS 1.2",
            Some(Self::Dtls12Psk) => "DTLS 1.2 (pre-shared key)",
            Some(Self::Dtls12Cid) => "DTLS 1.2 (connection ID)",
        }
    }

    /// Why connections of the version cannot have a start; `None` if they can.
    pub const fn cannot_start(self, start: Start) -> Option<&'static str> {
        match (start, self) {
            (Start::Cold, _) | (Start::Resumed, Self::Dtls12Psk | Self::Dtls12Cid) => None,
            (Start::ZeroRtt, Self::Dtls12 | Self::Dtls12Psk | Self::Dtls12Cid) => Some(NO_EARLY_DATA),
            (Start::Resumed | Start::ZeroRtt, _) => Some(NO_RESUMPTION),
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

impl Common {
    /// The source of random bytes of connection number `index`.
    #[cfg(any(test, feature = "seeded"))]
    fn entropy(&self, index: u64) -> Entropy {
        let seeded = |rng: Rng| Entropy::seeded(rng.purpose(index));
        self.rng.map_or_else(Entropy::system, seeded)
    }

    /// The source of random bytes of a connection.
    #[cfg(not(any(test, feature = "seeded")))]
    fn entropy(&self, _index: u64) -> Entropy {
        Entropy::system()
    }

    fn psk(
        &self,
        psks: Vec<Psk>,
        asks_for_ids: bool,
        cookie: bool,
    ) -> Result<Arc<psk::Settings>, ConfigError> {
        // RFC 4279 section 2 frames both with 16 bits.
        let is_too_long = |bytes: &[u8]| u16::try_from(bytes.len()).is_err();
        if psks
            .iter()
            .any(|psk| is_too_long(&psk.identity) || is_too_long(&psk.key))
        {
            return Err(ConfigError::PskTooLong);
        }
        Ok(Arc::new(psk::Settings {
            key_log: self.key_log.clone(),
            mtu: self.mtu,
            handshake_timeout: self.handshake_timeout,
            flight_timeout: self.flight_timeout,
            psks,
            asks_for_ids,
            cookie,
            sessions: psk::Sessions::default(),
        }))
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
    /// DTLS 1.2 with a pre-shared key. The server must grant a connection ID.
    Dtls12Cid(Psk),
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
    pub(super) common: Common,
    version: Version,
    /// The start of its connections but the first, which starts cold. One that the version does not have fails: see
    /// [`Version::cannot_start`].
    start: Start,
    credentials: ClientCredentials,
}

#[derive(Clone)]
enum ClientCredentials {
    Certificates {
        engine: Arc<Engine>,
        certificate: DtlsCertificate,
        verifier: Option<Arc<Verifier>>,
    },
    Psk(Arc<psk::Settings>),
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
    /// A pre-shared key or its identity is longer than the handshake can say.
    #[error("a pre-shared key and its identity must have at most 65535 B each")]
    PskTooLong,
    /// There is no secret for cookies.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
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
        let (version, credentials) = match offer {
            Offer::Dtls13(own) => (Version::Dtls13, certificates(&common, Version::Dtls13, own)?),
            Offer::Dtls12(own) => (Version::Dtls12, certificates(&common, Version::Dtls12, own)?),
            Offer::Dtls12Psk(psk) => {
                let settings = common.psk(vec![psk], false, false)?;
                (Version::Dtls12Psk, ClientCredentials::Psk(settings))
            }
            Offer::Dtls12Cid(psk) => {
                let settings = common.psk(vec![psk], true, false)?;
                (Version::Dtls12Cid, ClientCredentials::Psk(settings))
            }
        };
        Ok(Self {
            common,
            version,
            start: Start::Cold,
            credentials,
        })
    }

    /// The same configuration with another start.
    #[must_use]
    pub fn with_start(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// The start of its connections but the first.
    pub(super) fn start(&self) -> Start {
        self.start
    }

    /// The version that its connections offer.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Verifies servers.
    pub(super) fn verifier(&self) -> Option<&Verifier> {
        match &self.credentials {
            ClientCredentials::Certificates { verifier, .. } => verifier.as_deref(),
            ClientCredentials::Psk(_) => None,
        }
    }

    /// Connection number `index`, which has sent nothing yet. With a `session` it asks for an abbreviated handshake.
    pub(super) fn connect(&self, index: u64, session: Option<Session>, now: Instant) -> Connection {
        let (engine, certificate) = match &self.credentials {
            ClientCredentials::Psk(settings) => {
                let entropy = self.common.entropy(index);
                return psk::Engine::client(Arc::clone(settings), entropy, session).into();
            }
            ClientCredentials::Certificates {
                engine, certificate, ..
            } => (engine, certificate),
        };
        let (config, observer) = engine.config(index);
        let epoch = engine.epoch_at(now);
        let at = epoch.monotonic_at(now);
        let mut machine = match self.version {
            Version::Dtls13 => Dtls::new_13(config, certificate.clone(), at),
            _ => Dtls::new_12(config, certificate.clone(), at),
        };
        machine.set_active(true);
        let key_log = self.common.key_log.clone();
        Dimpl::new(machine, observer, Some(self.version), epoch, key_log).into()
    }
}

fn certificates(
    common: &Common,
    version: Version,
    own: Certificates,
) -> Result<ClientCredentials, ConfigError> {
    let identity = match own.identity {
        Some(identity) => identity,
        None => Identity::client(&Authority::generate()?, "wirecost")?,
    };
    let settings = EngineSettings {
        versions: vec![version],
        asks: false,
        cookie: false,
    };
    Ok(ClientCredentials::Certificates {
        engine: Engine::new(common.clone(), settings)?,
        certificate: engine_certificate(&identity)?,
        verifier: Verifier::of_server(own.trust)?.map(Arc::new),
    })
}
