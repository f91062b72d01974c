//! Verification of the peer's certificate. dimpl only proves that the peer has the private key.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;

use super::error::ConfigError;
use crate::layer::Fault;
use crate::tls;
use crate::tls::fault::certificate::complaint;

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

/// Verifies the peer's certificate.
#[derive(Debug)]
pub(super) enum Verifier {
    /// A server's certificate, by issuer, name and dates (RFC 5280 section 6).
    Server {
        verifier: Arc<dyn ServerCertVerifier>,
        name: ServerName<'static>,
    },
    /// A client's certificate, by issuer and dates.
    Client(Arc<dyn ClientCertVerifier>),
}

impl Verifier {
    /// Verifies servers for a client. `None` accepts any server.
    pub(super) fn of_server(trust: Trust) -> Result<Option<Self>, ConfigError> {
        let Trust::Authorities {
            certificates,
            server_name,
        } = trust
        else {
            return Ok(None);
        };
        Ok(Some(Self::Server {
            verifier: tls::Trust::Authorities(certificates).verifier(&crypto())?,
            name: tls::parse_server_name(&server_name)?,
        }))
    }

    /// Verifies clients for a server.
    pub(super) fn of_clients(authorities: &[Vec<u8>]) -> Result<Self, ConfigError> {
        Ok(Self::Client(tls::client_verifier(authorities, &crypto())?))
    }

    /// Verifies the certificate `der` at the time `unix` after 1970-01-01 00:00 UTC.
    pub(super) fn verify(&self, der: &[u8], unix: Duration) -> Result<(), Fault> {
        let certificate = CertificateDer::from(der);
        let now = UnixTime::since_unix_epoch(unix);
        let verified = match self {
            Self::Server { verifier, name } => verifier
                .verify_server_cert(&certificate, &[], name, &[], now)
                .map(drop),
            Self::Client(verifier) => verifier.verify_client_cert(&certificate, &[], now).map(drop),
        };
        verified.map_err(|error| Fault::Certificate(complaint(&error).into()))
    }
}

fn crypto() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}
