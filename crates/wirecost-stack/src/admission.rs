//! The identity of a server, and the clients that it accepts.

use wirecost_coap::{edhoc, oscore};
use wirecost_security::certificate::Identity;
use wirecost_security::{dtls, tls};

use super::Credentials;

/// The identity of a server, and the clients that it accepts.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// The server's certificate and key. TLS and QUIC need them.
    pub identity: Option<Identity>,
    /// The authorities (in DER) that may issue clients' certificates. If empty, clients need no certificate.
    pub client_authorities: Vec<Vec<u8>>,
    /// The certificate and key of DTLS, where they are others.
    pub dtls_identity: Option<Identity>,
    /// The authority of clients' certificates of DTLS, where it is another one.
    pub dtls_authority: Option<Vec<u8>>,
    /// The pre-shared keys of DTLS by identity.
    pub psks: Vec<dtls::Psk>,
    /// The OSCORE contexts of clients.
    pub oscore: Contexts,
    /// The names and passwords of MQTT and AMQP. If empty, clients need no login.
    pub users: Vec<(String, String)>,
    /// The suites and groups of TLS and QUIC.
    pub suites: tls::Suites,
}

impl Admission {
    /// The admission of a run's server: it accepts the devices over every channel. With `certificates` each device needs one.
    pub(super) fn of_devices(credentials: &Credentials, certificates: bool, devices: usize) -> Self {
        let dtls = credentials.of_dtls();
        Self {
            dtls_identity: Some(dtls.server),
            dtls_authority: Some(dtls.authority),
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
    /// One context for each device of a run, derived from one secret. The server also accepts requests without protection.
    Devices {
        /// The master secret.
        secret: Vec<u8>,
        /// The number of devices.
        count: usize,
    },
    /// These contexts. If there are any, the server refuses requests without protection.
    Given(Vec<oscore::Context>),
    /// Those that the server agrees on by EDHOC. It refuses requests without protection.
    Agreed(Box<edhoc::ServerConfig>),
}

impl Contexts {
    /// Whether the server refuses requests without protection.
    pub const fn is_required(&self) -> bool {
        match self {
            Self::Devices { .. } => false,
            Self::Given(contexts) => !contexts.is_empty(),
            Self::Agreed(_) => true,
        }
    }

    /// The contexts that were given as such.
    pub fn given(&self) -> &[oscore::Context] {
        match self {
            Self::Given(contexts) => contexts,
            Self::Agreed(_) | Self::Devices { .. } => &[],
        }
    }

    /// The contexts.
    ///
    /// # Errors
    /// The secret cannot be used.
    pub fn all(&self) -> Result<Vec<oscore::Context>, oscore::ContextError> {
        let Self::Devices { secret, count } = self else {
            return Ok(self.given().to_vec());
        };
        let count = *count;
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
            Self::Agreed(_) => return f.write_str("contexts of EDHOC"),
        };
        write!(f, "{count} contexts")
    }
}
