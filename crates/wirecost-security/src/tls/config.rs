//! Configuration of clients and servers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{RootCertStore, SupportedProtocolVersion, version};

use super::fault::certificate::complaint;
use super::raw_keys::{self, RawKeys};
use super::sessions::Sessions;
use super::trust::{Anyone, Named};
use crate::certificate::Identity;
use crate::provider::Clock;
use crate::{Epoch, KeyLog, Start, provider};

/// The default time-out of a handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The most early data that a server accepts on a connection, in bytes (RFC 8446 section 4.2.10).
pub const MAX_EARLY_DATA_BYTES: u32 = 16_384;

/// The default number of sessions that a server keeps. The oldest is dropped first.
pub const SESSIONS: usize = 16_384;

/// What is unusable where a raw public key is.
const RAW_KEY: &str = "raw public key and private key";

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not a server name.
    #[error("{0:?} is not a server name; expected a host name or an IP address")]
    ServerName(String),
    /// The list of authorities is empty.
    #[error("no authority to trust, expected at least one certificate")]
    NoAuthority,
    /// A certificate or key cannot be used.
    #[error("cannot use the {what}: {reason}")]
    Unusable {
        /// `authority`, `certificate and key`.
        what: &'static str,
        /// The reason.
        reason: String,
    },
}

/// The versions of TLS in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// TLS 1.3 alone (RFC 8446).
    #[default]
    Tls13,
    /// TLS 1.2 alone (RFC 5246).
    Tls12,
    /// Both, with a preference for 1.3.
    Both,
}

/// The suites and groups offered and accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Suites {
    /// [`provider::standard`]: few suites, so that sizes are the same everywhere.
    #[default]
    Standard,
    /// The groups of a run, and the suites of its certificates.
    Chosen(provider::Choice),
    /// The standard ones without the signature schemes of ML-DSA, for servers that end the handshake because of them.
    Classical,
    /// [`provider::wide`]: for servers that reject the standard ones.
    Wide,
    /// [`provider::wide`] with these groups alone, or the suites of this cipher alone.
    WideWith {
        /// `None` leaves all groups.
        groups: Option<provider::Groups>,
        /// `None` leaves all suites.
        cipher: Option<provider::Cipher>,
    },
}

/// The servers that a client accepts.
#[derive(Clone, PartialEq, Eq)]
pub enum Trust {
    /// Servers whose certificate one of these authorities (DER) issued, or whose self-signed certificate is one of
    /// these; or, where all of these are raw public keys, servers that have one of them (RFC 7250). A server that shows the certificate of one of the authorities itself has its key, and is accepted by any name.
    Authorities(Vec<Vec<u8>>),
    /// All servers, whatever their certificate. The channel is encrypted, but the peer is unknown.
    Anyone,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authorities(ders) => write!(f, "{} authorities", ders.len()),
            Self::Anyone => f.write_str("anyone"),
        }
    }
}

/// Options of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Versions offered.
    pub versions: Versions,
    /// Suites and groups offered.
    pub suites: Suites,
    /// Servers accepted.
    pub trust: Trust,
    /// The name that the certificate must contain. A host name is also sent to the server (RFC 6066 section 3).
    pub server_name: String,
    /// Protocols offered, by preference (RFC 7301). If empty, the extension is left out.
    pub alpn: Vec<Vec<u8>>,
    /// The client's identity, if the server requests one.
    pub identity: Option<Identity>,
    /// Receives the secrets.
    pub key_log: KeyLog,
    /// The time base for certificates and tickets.
    pub epoch: Epoch,
    /// The start of connections. A client's first connection has nothing to resume and starts cold.
    pub start: Start,
    /// Time-out of a handshake.
    pub handshake_timeout: Duration,
}

impl ClientOptions {
    /// TLS 1.3 to `server_name`, cold, without client certificate, key log and ALPN.
    pub fn new(epoch: Epoch, trust: Trust, server_name: impl Into<String>) -> Self {
        Self {
            versions: Versions::default(),
            suites: Suites::default(),
            trust,
            server_name: server_name.into(),
            alpn: Vec::new(),
            identity: None,
            key_log: KeyLog::disabled(),
            epoch,
            start: Start::Cold,
            handshake_timeout: HANDSHAKE_TIMEOUT,
        }
    }
}

/// Configuration of any number of clients. Clones share it.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    pub(super) options: Arc<ClientOptions>,
    pub(super) server_name: ServerName<'static>,
    pub(super) start: Start,
    /// Without session store and clock, which each client adds.
    pub(super) library: Arc<rustls::ClientConfig>,
}

impl ClientConfig {
    /// The configuration of `options`.
    ///
    /// # Errors
    /// [`ConfigError`] says which option cannot be used.
    pub fn new(options: ClientOptions) -> Result<Self, ConfigError> {
        let provider = options.suites.provider();
        Self::with_provider(Arc::new(options), provider)
    }

    /// The same configuration with every key and nonce from `rng`: for tests and simulation.
    ///
    /// # Errors
    /// As [`ClientConfig::new`].
    #[cfg(any(test, feature = "seeded"))]
    pub fn with_seed(&self, rng: wirecost_proto::Rng) -> Result<Self, ConfigError> {
        let provider = provider::seeded(self.options.suites.choice(), rng);
        let seeded = Self::with_provider(Arc::clone(&self.options), provider)?;
        Ok(seeded.with_start(self.start))
    }

    /// The same configuration with another start.
    pub fn with_start(&self, start: Start) -> Self {
        Self {
            start,
            ..self.clone()
        }
    }

    /// The library's configuration with a client's tickets and clock.
    pub(super) fn for_client(&self, sessions: &Sessions, clock: &Clock) -> rustls::ClientConfig {
        let mut library = (*self.library).clone();
        library.resumption = Resumption::store(Arc::new(sessions.clone()));
        library.time_provider = Arc::new(clock.clone());
        library.enable_early_data = self.start == Start::ZeroRtt;
        library
    }

    fn with_provider(
        options: Arc<ClientOptions>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, ConfigError> {
        let is_raw = |identity: &Identity| identity.is_raw_public_key();
        let has_raw_keys = options.trust.is_raw() || options.identity.as_ref().is_some_and(is_raw);
        let versions = options.versions.with_raw_keys(has_raw_keys)?;
        let provider = versions.suit(provider, options.suites);
        let server_name = parse_server_name(&options.server_name)?;
        let verifier = options.trust.verifier(&provider)?;
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions.supported())
            .map_err(unusable("versions"))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut library = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(identity) if identity.is_raw_public_key() => builder.with_client_cert_resolver(
                raw_keys::of_client(identity, &provider).map_err(unusable(RAW_KEY))?,
            ),
            Some(identity) => builder
                .with_client_auth_cert(chain_of(identity), key_of(identity))
                .map_err(|error| unusable("certificate and key")(complaint(&error)))?,
        };
        library.alpn_protocols.clone_from(&options.alpn);
        library.key_log = Arc::new(options.key_log.clone());
        Ok(Self {
            server_name,
            start: options.start,
            options,
            library: Arc::new(library),
        })
    }
}

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Versions accepted.
    pub versions: Versions,
    /// Suites and groups accepted.
    pub suites: Suites,
    /// The server's identity.
    pub identity: Identity,
    /// The authorities (DER), one of which must have issued every client's certificate, or raw public keys, one of which every client
    /// must have. If empty, none is requested.
    pub client_authorities: Vec<Vec<u8>>,
    /// Protocols accepted, by preference (RFC 7301).
    pub alpn: Vec<Vec<u8>>,
    /// Receives the secrets.
    pub key_log: KeyLog,
    /// The time base for certificates and tickets.
    pub epoch: Epoch,
    /// Whether early data, which anyone may have replayed, is accepted and answered before the handshake is complete.
    pub accept_early_data: bool,
    /// Sessions kept for resumption. The oldest is dropped first.
    pub sessions: usize,
    /// Time-out of a handshake.
    pub handshake_timeout: Duration,
}

impl ServerOptions {
    /// Both versions, any client, no early data, no key log, no ALPN.
    pub fn new(epoch: Epoch, identity: Identity) -> Self {
        Self {
            versions: Versions::Both,
            suites: Suites::default(),
            identity,
            client_authorities: Vec::new(),
            alpn: Vec::new(),
            key_log: KeyLog::disabled(),
            epoch,
            accept_early_data: false,
            sessions: SESSIONS,
            handshake_timeout: HANDSHAKE_TIMEOUT,
        }
    }
}

/// Configuration of any number of servers. Clones share it.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub(super) options: Arc<ServerOptions>,
    /// Without session store and clock, which each server adds.
    pub(super) library: Arc<rustls::ServerConfig>,
}

impl ServerConfig {
    /// The configuration of `options`.
    ///
    /// # Errors
    /// [`ConfigError`] says which option cannot be used.
    pub fn new(options: ServerOptions) -> Result<Self, ConfigError> {
        let provider = options.suites.provider();
        Self::with_provider(Arc::new(options), provider)
    }

    /// The same configuration with every key and nonce from `rng`: for tests and simulation.
    ///
    /// # Errors
    /// As [`ServerConfig::new`].
    #[cfg(any(test, feature = "seeded"))]
    pub fn with_seed(&self, rng: wirecost_proto::Rng) -> Result<Self, ConfigError> {
        let provider = provider::seeded(self.options.suites.choice(), rng);
        Self::with_provider(Arc::clone(&self.options), provider)
    }

    /// The library's configuration with a server's sessions and clock.
    pub(super) fn for_server(&self, clock: &Clock) -> rustls::ServerConfig {
        let mut library = (*self.library).clone();
        // Tickets refer to sessions stored here: stateless tickets would exclude early data.
        library.session_storage = ServerSessionMemoryCache::new(self.options.sessions);
        library.time_provider = Arc::new(clock.clone());
        library
    }

    fn with_provider(
        options: Arc<ServerOptions>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, ConfigError> {
        let identity = &options.identity;
        let has_raw_keys = raw_keys::server_has_raw_keys(identity, &options.client_authorities);
        let versions = options.versions.with_raw_keys(has_raw_keys)?;
        let provider = options.suites.accepted(versions, provider);
        let verifier = client_verifier(&options.client_authorities, &provider)?;
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions.supported())
            .map_err(unusable("versions"))?
            .with_client_cert_verifier(verifier);
        let mut library = match identity.is_raw_public_key() {
            true => builder
                .with_cert_resolver(raw_keys::of_server(identity, &provider).map_err(unusable(RAW_KEY))?),
            false => builder
                .with_single_cert(chain_of(identity), key_of(identity))
                .map_err(|error| unusable("certificate and key")(complaint(&error)))?,
        };
        library.alpn_protocols.clone_from(&options.alpn);
        library.key_log = Arc::new(options.key_log.clone());
        // One ticket for the next connection. Nothing uses further ones.
        library.send_tls13_tickets = 1;
        if options.accept_early_data {
            library.max_early_data_size = MAX_EARLY_DATA_BYTES;
            // RFC 8446 section 2.3: a server can answer early data right after its Finished.
            library.send_half_rtt_data = true;
        }
        Ok(Self {
            options,
            library: Arc::new(library),
        })
    }
}

static VERSIONS: [&SupportedProtocolVersion; 2] = [&version::TLS13, &version::TLS12];

impl Versions {
    /// The same of an end with raw public keys.
    fn with_raw_keys(self, is_raw: bool) -> Result<Self, ConfigError> {
        match (is_raw, self) {
            (false, asked) => Ok(asked),
            (true, Self::Tls13 | Self::Both) => Ok(Self::Tls13),
            (true, Self::Tls12) => Err(unusable(RAW_KEY)(
                "the library has raw public keys in TLS 1.3 alone",
            )),
        }
    }

    fn supported(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Self::Tls13 => &VERSIONS[..1],
            Self::Tls12 => &VERSIONS[1..],
            Self::Both => &VERSIONS,
        }
    }

    /// The provider with the groups that the versions need.
    fn suit(self, provider: Arc<CryptoProvider>, suites: Suites) -> Arc<CryptoProvider> {
        match (self, suites) {
            // Who names the groups means these alone.
            (_, Suites::WideWith { groups: Some(_), .. }) | (Self::Tls13, _) => provider,
            (Self::Tls12 | Self::Both, _) => provider::with_certificate_curve(&provider, suites.choice().key),
        }
    }
}

impl Suites {
    /// Every suite and group, but of these groups and this cipher alone if they are given.
    pub const fn wide(groups: Option<provider::Groups>, cipher: Option<provider::Cipher>) -> Self {
        match (groups, cipher) {
            (None, None) => Self::Wide,
            (groups, cipher) => Self::WideWith { groups, cipher },
        }
    }

    fn provider(self) -> Arc<CryptoProvider> {
        match self {
            Self::Standard => provider::standard(),
            Self::Chosen(choice) => provider::chosen(choice),
            Self::Classical => provider::classical(),
            Self::Wide => provider::wide(),
            Self::WideWith { groups, cipher } => provider::wide_with(groups, cipher),
        }
    }

    /// The groups and the key of the certificates; the standard ones where nobody chose.
    fn choice(self) -> provider::Choice {
        match self {
            Self::Chosen(choice) => choice,
            Self::WideWith { groups, cipher } => provider::Choice {
                groups: groups.unwrap_or_default(),
                cipher: cipher.unwrap_or_default(),
                ..provider::Choice::default()
            },
            Self::Standard | Self::Classical | Self::Wide => provider::Choice::default(),
        }
    }

    /// What a server accepts: chosen groups and no others, so that a client that lacks them is refused.
    fn accepted(self, versions: Versions, provider: Arc<CryptoProvider>) -> Arc<CryptoProvider> {
        match self {
            Self::Chosen(_) | Self::WideWith { groups: Some(_), .. } => provider,
            Self::Standard | Self::Classical | Self::Wide | Self::WideWith { groups: None, .. } => {
                versions.suit(provider, self)
            }
        }
    }
}

impl Trust {
    /// Whether the servers are known by raw public keys.
    fn is_raw(&self) -> bool {
        match self {
            Self::Authorities(ders) => raw_keys::are_raw(ders),
            Self::Anyone => false,
        }
    }

    pub(crate) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, ConfigError> {
        let Self::Authorities(ders) = self else {
            return Ok(Arc::new(Anyone::new(provider)));
        };
        if let Some(keys) = RawKeys::trusting(ders, provider) {
            return Ok(keys);
        }
        let roots = roots(ders)?;
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
        let verifier = verifier.map_err(unusable("authority"))?;
        Ok(Arc::new(Named::new(verifier, ders.clone())))
    }
}

pub(crate) fn client_verifier(
    authorities: &[Vec<u8>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, ConfigError> {
    if authorities.is_empty() {
        return Ok(Arc::new(NoClientAuth));
    }
    if let Some(keys) = RawKeys::trusting(authorities, provider) {
        return Ok(keys);
    }
    let roots = roots(authorities)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
    verifier.map_err(unusable("authority"))
}

fn roots(ders: &[Vec<u8>]) -> Result<Arc<RootCertStore>, ConfigError> {
    let mut roots = RootCertStore::empty();
    for der in ders {
        roots
            .add(CertificateDer::from(der.clone()))
            .map_err(|error| unusable("authority")(complaint(&error)))?;
    }
    if roots.is_empty() {
        return Err(ConfigError::NoAuthority);
    }
    Ok(Arc::new(roots))
}

pub(crate) fn parse_server_name(name: &str) -> Result<ServerName<'static>, ConfigError> {
    ServerName::try_from(name.to_owned()).map_err(|_| ConfigError::ServerName(name.to_owned()))
}

fn unusable<E: fmt::Display>(what: &'static str) -> impl Fn(E) -> ConfigError {
    move |error| ConfigError::Unusable {
        what,
        reason: error.to_string(),
    }
}

fn chain_of(identity: &Identity) -> Vec<CertificateDer<'static>> {
    let ders = identity.chain().iter().cloned();
    ders.map(CertificateDer::from).collect()
}

fn key_of(identity: &Identity) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(identity.private_key().to_vec()).into()
}
