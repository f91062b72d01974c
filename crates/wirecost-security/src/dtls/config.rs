//! Configuration of clients and servers.

mod engine;
mod server;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dimpl::{Dtls, DtlsCertificate};
use wirecost_proto::{Instant, Rng};

use self::engine::{Engine, EngineSettings, engine_certificate};
pub use self::server::{Accept, ServerConfig};
use super::connection::Connection;
use super::dimpl::Dimpl;
use super::error::ConfigError;
use super::peer::{Trust, Verifier};
use super::psk::{self, Session};
use super::version::{Psk, Version};
use crate::certificate::{Authority, Identity};
use crate::entropy::Entropy;
use crate::epoch::Epoch;
use crate::key_log::KeyLog;
use crate::start::Start;

/// UDP payload of a packet of 1,500 bytes on IPv4: the default MTU.
pub const DEFAULT_MTU: usize = 1500 - 28;

/// The default time-out of a handshake.
pub const DEFAULT_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(40);

/// The default time until the first retransmission of a flight. Each further one waits twice as long (RFC 9147
/// section 5.8.2, RFC 6347 section 4.2.4.1). dimpl varies each by up to a quarter.
pub const DEFAULT_FLIGHT_TIMEOUT: Duration = Duration::from_secs(1);

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
    /// connection then builds its own configuration, for which dimpl tries its whole cryptography.
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
        None => stand_in(common)?,
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

/// The identity of a client that has none. dimpl needs one, and sends it only to a server that asks for a certificate, which does not
/// trust this one. It is made once, because its keys and signatures take longer than a handshake. In simulations it derives from a
/// seed, so that it is the same in each run.
pub(in crate::dtls) fn stand_in(common: &Common) -> Result<Identity, ConfigError> {
    static LIVE: OnceLock<Identity> = OnceLock::new();
    static SIMULATED: OnceLock<Identity> = OnceLock::new();
    let kept = if common.rng.is_some() { &SIMULATED } else { &LIVE };
    if let Some(identity) = kept.get() {
        return Ok(identity.clone());
    }
    let of_all = Common {
        rng: common.rng.map(|_| Rng::new(0)),
        ..common.clone()
    };
    let authority = Authority::from_entropy(of_all.entropy(0).derive("a client without an identity"))?;
    let identity = Identity::client(&authority, "wirecost")?;
    Ok(kept.get_or_init(|| identity).clone())
}
