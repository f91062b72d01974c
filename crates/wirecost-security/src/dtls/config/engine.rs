//! dimpl's configuration.

use std::sync::Arc;
use std::time::Duration;

use dimpl::{Config, ConfigBuilder, DtlsCertificate, NamedGroup};

use wirecost_proto::{Instant, Rng};

use super::Common;
use crate::Epoch;
use crate::certificate::Identity;
use crate::dtls::error::ConfigError;
use crate::dtls::provider::{Observer, SUITE_12, SUITE_13, provider};
use crate::dtls::version::Version;

/// Settings of dimpl's configuration.
pub(super) struct EngineSettings {
    pub(super) versions: Vec<Version>,
    /// Whether the server requests certificates.
    pub(super) asks: bool,
    pub(super) cookie: bool,
}

/// The groups by preference. In DTLS 1.2 they also limit the curves of certificates (RFC 8422 section 5.1.1), hence
/// P-256. A server that supports X25519 never receives a key on P-256.
const GROUPS: [NamedGroup; 2] = [NamedGroup::X25519, NamedGroup::Secp256r1];

impl EngineSettings {
    fn builder(&self, common: &Common) -> ConfigBuilder {
        // The handshake time-out ends the retransmissions. Each waits twice as long as the one before.
        const REPETITIONS: usize = 32;
        // A flight of the smallest fragments must fit: the engine fails if it does not.
        const QUEUED_DATAGRAMS: usize = 256;
        let speaks = |version| self.versions.contains(&version);
        Config::builder()
            .with_crypto_provider(provider())
            .mtu(common.mtu)
            .max_queue_tx(QUEUED_DATAGRAMS)
            .max_queue_rx(QUEUED_DATAGRAMS)
            .handshake_timeout(common.handshake_timeout)
            .flight_start_rto(common.flight_timeout)
            .flight_retries(REPETITIONS)
            .use_server_cookie(self.cookie)
            .require_client_certificate(self.asks)
            .kx_groups(if speaks(Version::Dtls12) {
                &GROUPS
            } else {
                &GROUPS[..1]
            })
            .dtls13_cipher_suites(if speaks(Version::Dtls13) { &[SUITE_13] } else { &[] })
            .dtls12_cipher_suites(if speaks(Version::Dtls12) { &[SUITE_12] } else { &[] })
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The engine's configuration: one for all connections, or one for each if a seed determines its random numbers.
pub(in crate::dtls) struct Engine {
    common: Common,
    pub(super) settings: EngineSettings,
    pub(super) shared: Arc<Config>,
}

impl Engine {
    pub(super) fn new(common: Common, settings: EngineSettings) -> Result<Arc<Self>, ConfigError> {
        let shared = built(settings.builder(&common), common.rng);
        let shared = shared.map_err(|error| ConfigError::Engine(error.to_string()))?;
        Ok(Arc::new(Self {
            common,
            settings,
            shared: Arc::new(shared),
        }))
    }

    /// The epoch of a connection that begins at `now`.
    ///
    /// A seeded connection begins at a full second of the engine's clock. DTLS 1.2 sends the seconds (RFC 5246
    /// section 7.4.1.2), which then do not depend on how precisely the engine has read the two clocks.
    pub(super) fn epoch_at(&self, now: Instant) -> Epoch {
        let epoch = self.common.epoch;
        let Some(_) = self.common.rng else {
            return epoch;
        };
        let within = Duration::from_nanos(now.as_nanos() % NANOS_PER_SECOND);
        Epoch {
            monotonic: epoch.monotonic.checked_sub(within).unwrap_or(epoch.monotonic),
            ..epoch
        }
    }

    /// The configuration of connection number `index`, and the observer with the seed of its cryptography.
    pub(super) fn config(&self, index: u64) -> (Arc<Config>, Observer) {
        let rng = self.common.rng.map(|rng| rng.purpose(index));
        let config = rng.and_then(|mut rng| {
            let builder = self.settings.builder(&self.common);
            built(builder.dangerously_set_rng_seed(rng.next_u64()), Some(rng)).ok()
        });
        let config = config.map_or_else(|| Arc::clone(&self.shared), Arc::new);
        let observer = Observer {
            rng,
            ..Observer::default()
        };
        (config, observer)
    }
}

/// The configuration that `builder` describes. dimpl tries the provider's key exchanges whenever it makes one: with a seed, their
/// keys derive from it, so that a simulation asks the system for nothing.
fn built(builder: ConfigBuilder, rng: Option<Rng>) -> Result<Config, dimpl::Error> {
    let mut tried = Observer {
        rng,
        ..Observer::default()
    };
    tried.during(|| builder.build())
}

/// The identity in the engine's form. Fails if the engine does not support the key, because the engine would panic.
pub(super) fn engine_certificate(identity: &Identity) -> Result<DtlsCertificate, ConfigError> {
    if identity.is_raw_public_key() {
        return Err(ConfigError::RawPublicKey);
    }
    let loaded = provider().key_provider.load_private_key(identity.private_key());
    loaded.map_err(|error| ConfigError::PrivateKey(error.to_string()))?;
    Ok(DtlsCertificate {
        certificate: identity.certificate().to_vec(),
        private_key: identity.private_key().to_vec(),
    })
}
