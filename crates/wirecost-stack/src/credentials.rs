//! The certificates and keys of both sides of a run. Each run has new ones, whose sizes are always the same.

mod portable;

use std::fmt;
use std::time::Duration;

use wirecost_proto::Rng;
use wirecost_proto::random::key_of;
use wirecost_security::certificate::{self, Authority, Identity};
use wirecost_security::entropy::Entropy;
use wirecost_security::{Epoch, KeyLog};

pub use portable::Portable;

/// Bytes of the pre-shared key and of the OSCORE master secret.
const SECRET_BYTES: usize = 16;

/// The name that devices expect in the server's certificate.
pub const SERVER_NAME: &str = "server";

/// The name in the devices' certificate: as long as a client identifier.
const CLIENT_NAME: &str = "wc-00001";

/// Certificates, keys, and the log of the secrets of connections.
#[derive(Clone)]
pub struct Credentials {
    /// The run's clock among the clocks of the security libraries.
    pub epoch: Epoch,
    /// Where every endpoint writes its secrets.
    pub key_log: KeyLog,
    /// The authority that has issued the server's certificate. Devices trust it.
    pub authority: Vec<u8>,
    /// The authority's certificate in PEM, for other programs.
    pub authority_pem: String,
    /// The server's certificate and key.
    pub server: Identity,
    /// The certificate and key of all devices, for servers that require one. All devices have the same, so that sizes are the
    /// same.
    pub client: Identity,
    /// The key of `+dtls1.2-psk`. It is printable, because servers read it from their command line.
    pub psk: String,
    /// The master secret of `+oscore` (RFC 8613, section 3.2).
    pub oscore_secret: [u8; SECRET_BYTES],
    /// What DTLS has in place of the certificates above, where they are a chain that its library cannot send.
    dtls: Option<Box<Certificates>>,
}

/// The certificates of both sides, as one protocol has them.
#[derive(Clone)]
pub(super) struct Certificates {
    /// The authority that the peers trust.
    pub(super) authority: Vec<u8>,
    pub(super) server: Identity,
    pub(super) client: Identity,
}

impl Credentials {
    /// New credentials for a run whose clock is at `epoch`. Without `keys` the secrets of connections are not kept.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub fn generate(epoch: Epoch, keys: bool) -> Result<Self, certificate::Error> {
        Self::generate_of_kind(certificate::Kind::default(), epoch, keys)
    }

    /// The same with certificates of a kind.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub fn generate_of_kind(
        kind: certificate::Kind,
        epoch: Epoch,
        keys: bool,
    ) -> Result<Self, certificate::Error> {
        let key_log = if keys { KeyLog::new() } else { KeyLog::disabled() };
        Self::from_entropy(kind, (epoch, key_log), Entropy::system())
    }

    /// The credentials of a simulation. They follow from its seed, byte for byte, and the secrets of connections are not kept.
    ///
    /// # Errors
    /// No signature has the usual length.
    pub fn simulated(seed: u64) -> Result<Self, certificate::Error> {
        Self::simulated_of_kind(certificate::Kind::default(), seed)
    }

    /// The same with certificates of a kind. On other keys than P-256 their lengths alone follow from the seed.
    ///
    /// # Errors
    /// No signature has the usual length.
    pub fn simulated_of_kind(kind: certificate::Kind, seed: u64) -> Result<Self, certificate::Error> {
        let entropy = Entropy::seeded(Rng::new(seed).purpose(key_of("credentials")));
        Self::from_entropy(kind, (virtual_epoch(), KeyLog::disabled()), entropy)
    }

    /// The same credentials with another log of secrets.
    #[must_use]
    pub fn with_key_log(self, key_log: KeyLog) -> Self {
        Self { key_log, ..self }
    }

    /// The same credentials with the certificates of `other` for DTLS.
    #[must_use]
    pub fn with_dtls_of(self, other: &Self) -> Self {
        let dtls = Some(Box::new(other.of_tls()));
        Self { dtls, ..self }
    }

    /// The certificates of TLS and QUIC.
    fn of_tls(&self) -> Certificates {
        Certificates {
            authority: self.authority.clone(),
            server: self.server.clone(),
            client: self.client.clone(),
        }
    }

    /// The certificates of DTLS.
    pub(super) fn of_dtls(&self) -> Certificates {
        self.dtls.as_deref().cloned().unwrap_or_else(|| self.of_tls())
    }

    fn from_entropy(
        kind: certificate::Kind,
        (epoch, key_log): (Epoch, KeyLog),
        mut entropy: Entropy,
    ) -> Result<Self, certificate::Error> {
        let authority = Authority::of_kind(kind, entropy.derive("authority"))?;
        let mut psk = [0; SECRET_BYTES / 2];
        let mut oscore_secret = [0; SECRET_BYTES];
        entropy.fill(&mut psk)?;
        entropy.fill(&mut oscore_secret)?;
        Ok(Self {
            epoch,
            key_log,
            authority: authority.certificate().to_vec(),
            authority_pem: authority.to_pem()?,
            server: Identity::generate(&authority)?,
            client: Identity::client(&authority, CLIENT_NAME)?,
            psk: psk.iter().map(|byte| format!("{byte:02x}")).collect(),
            oscore_secret,
            dtls: None,
        })
    }
}

impl Credentials {
    /// The OSCORE contexts of the first `devices` devices in the format of Wireshark's preference file `oscore_contexts`: sender
    /// id, recipient id, master secret, master salt, ID context and algorithm.
    pub fn oscore_contexts(&self, devices: u16) -> String {
        oscore_contexts(&self.oscore_secret, devices)
    }

    /// The devices' certificate and key, where they are needed.
    pub(super) fn client_where(&self, needed: bool) -> Option<Identity> {
        needed.then(|| self.client.clone())
    }
}

fn oscore_contexts(secret: &[u8; SECRET_BYTES], devices: u16) -> String {
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = |device: u16| {
        format!("\"{device:04x}\",\"01\",\"{secret}\",\"\",\"\",\"AES-CCM-16-64-128 (CCM*)\"\n")
    };
    (0..devices).map(line).collect()
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys stay out of logs.
        f.debug_struct("Credentials")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// The start of every simulation since 1970-01-01 00:00 UTC: 2035-01-01. Certificates are valid then, and the bytes of a
/// simulation do not depend on the day on which it runs. The time is in the future, because the DTLS engine replaces each time
/// before the start of the program by the start of the program.
pub const VIRTUAL_EPOCH: Duration = Duration::from_secs(2_051_222_400);

/// Virtual time on the clocks of the security libraries. Only differences of the monotonic clock matter, except that the DTLS
/// engine turns it into calendar seconds. The half second makes these seconds the same, although the two clocks are read at
/// different times.
#[expect(
    clippy::disallowed_methods,
    reason = "an Instant comes from no other place, and only differences count"
)]
pub fn virtual_epoch() -> Epoch {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ahead = VIRTUAL_EPOCH.saturating_sub(unix.unwrap_or_default()) + Duration::from_millis(500);
    Epoch {
        monotonic: std::time::Instant::now() + ahead,
        unix: VIRTUAL_EPOCH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_printed() {
        let credentials = Credentials::generate(virtual_epoch(), true).expect("credentials");
        let printed = format!("{credentials:?}");
        assert!(!printed.contains(&credentials.psk));
        assert!(!printed.contains("oscore_secret"));
    }

    #[test]
    fn only_simulated_credentials_follow_from_the_seed() {
        let parts = |credentials: Credentials| {
            let Credentials {
                authority,
                server,
                client,
                psk,
                oscore_secret,
                ..
            } = credentials;
            let keys = [server.private_key().to_vec(), client.private_key().to_vec()];
            let chains = [server.chain().to_vec(), client.chain().to_vec()];
            (authority, keys, chains, psk, oscore_secret)
        };
        let simulated = |seed| parts(Credentials::simulated(seed).expect("credentials"));
        assert_eq!(simulated(1), simulated(1));
        assert_ne!(simulated(1), simulated(2));
        let live = || parts(Credentials::generate(virtual_epoch(), false).expect("credentials"));
        let (one, two) = (live(), live());
        assert_ne!(one.0, two.0, "the authority");
        assert_ne!(one.1, two.1, "the keys");
        assert_ne!(one.3, two.3, "the pre-shared key");
        assert_ne!(one.4, two.4, "the OSCORE secret");
    }

    #[test]
    fn certificates_are_valid_throughout_a_simulated_year() {
        let end = VIRTUAL_EPOCH + Duration::from_secs(360 * 86_400);
        assert!(certificate::VALID_FROM < VIRTUAL_EPOCH && end < certificate::VALID_UNTIL);
    }
}
