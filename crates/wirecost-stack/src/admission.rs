//! Who a server is, and whom it lets in.

use wirecost_coap::oscore;
use wirecost_security::certificate::Identity;
use wirecost_security::{dtls, tls};

use super::Credentials;

/// Who a server is, and whom it lets in.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// The server's certificate and key; TLS and QUIC need one.
    pub identity: Option<Identity>,
    /// The authorities (in DER) of which one has issued every client's certificate; empty where clients need none.
    pub client_authorities: Vec<Vec<u8>>,
    /// The pre-shared keys of DTLS by identity.
    pub psks: Vec<dtls::Psk>,
    /// The OSCORE contexts of clients.
    pub oscore: Contexts,
    /// The names and passwords of MQTT and AMQP; empty where clients need none.
    pub users: Vec<(String, String)>,
    /// The suites and groups of TLS and QUIC.
    pub suites: tls::Suites,
}

impl Admission {
    /// The server of a run: its devices, however they are protected; with `certificates` each must have one.
    pub(super) fn of_devices(credentials: &Credentials, certificates: bool, devices: usize) -> Self {
        Self {
            identity: Some(credentials.server.clone()),
            client_authorities: if certificates {
                vec![credentials.authority.clone()]
            } else {
                Vec::new()
            },
            psks: vec![dtls::Psk::new(credentials.psk.as_bytes())],
            oscore: Contexts::Devices {
                secret: credentials.oscore_secret.to_vec(),
                count: devices,
            },
            ..Self::default()
        }
    }
}

/// The OSCORE contexts of a server's clients (RFC 8613, section 3).
#[derive(Clone)]
pub enum Contexts {
    /// One for each device of a run, of one secret; requests without protection are taken as well.
    Devices {
        /// The master secret.
        secret: Vec<u8>,
        /// How many devices there are.
        count: usize,
    },
    /// These; where there is one, requests without protection are refused.
    Given(Vec<oscore::Context>),
}

impl Contexts {
    /// Whether requests without protection are refused.
    pub const fn is_required(&self) -> bool {
        matches!(self, Self::Given(contexts) if !contexts.is_empty())
    }

    /// The contexts.
    ///
    /// # Errors
    /// The secret is of no use.
    pub fn all(&self) -> Result<Vec<oscore::Context>, oscore::ContextError> {
        let (secret, count) = match self {
            Self::Given(contexts) => return Ok(contexts.clone()),
            Self::Devices { secret, count } => (secret, *count),
        };
        let contexts = (0..count).map(|device| {
            let device = u16::try_from(device).unwrap_or(u16::MAX);
            oscore::Context::lab(secret, oscore::Role::Server, device)
        });
        contexts.collect()
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Self::Given(Vec::new())
    }
}

impl std::fmt::Debug for Contexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = match self {
            Self::Devices { count, .. } => *count,
            Self::Given(contexts) => contexts.len(),
        };
        write!(f, "{count} contexts")
    }
}
