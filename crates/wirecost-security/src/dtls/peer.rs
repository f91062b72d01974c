//! Verification of the peer's certificate. dimpl only proves that the peer has the private key.

use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::config::{ConfigError, Trust};
use crate::layer::Fault;
use crate::tls::fault::certificate::complaint;

/// Verifies the peer's certificate.
#[derive(Debug)]
pub(super) enum Judge {
    /// A server's certificate, by issuer, name and dates (RFC 5280 section 6).
    Server {
        verifier: Arc<WebPkiServerVerifier>,
        name: ServerName<'static>,
    },
    /// A client's certificate, by issuer and dates.
    Client(Arc<dyn ClientCertVerifier>),
    /// Exactly this certificate.
    Exactly(Vec<u8>),
    /// Any certificate.
    Anyone,
}

impl Judge {
    /// Verifies servers for a client.
    pub(super) fn of_server(trust: Trust) -> Result<Self, ConfigError> {
        let (certificates, server_name) = match trust {
            Trust::Exactly(certificate) => return Ok(Self::Exactly(certificate)),
            Trust::Anyone => return Ok(Self::Anyone),
            Trust::Authorities {
                certificates,
                server_name,
            } => (certificates, server_name),
        };
        let name = ServerName::try_from(server_name.clone()).map_err(|error| ConfigError::Trust {
            what: format!("a server named {server_name:?}"),
            reason: error.to_string(),
        })?;
        let verifier = WebPkiServerVerifier::builder_with_provider(anchors(&certificates)?, crypto()).build();
        let verifier = verifier.map_err(|error| untrusted(&error))?;
        Ok(Self::Server { verifier, name })
    }

    /// Verifies clients for a server.
    pub(super) fn of_clients(authorities: &[Vec<u8>]) -> Result<Self, ConfigError> {
        let verifier = WebPkiClientVerifier::builder_with_provider(anchors(authorities)?, crypto()).build();
        verifier.map(Self::Client).map_err(|error| untrusted(&error))
    }

    /// Verifies the certificate `der` at the time `unix` after 1970-01-01 00:00 UTC.
    pub(super) fn judge(&self, der: &[u8], unix: Duration) -> Result<(), Fault> {
        let certificate = CertificateDer::from(der);
        let now = UnixTime::since_unix_epoch(unix);
        let refused = |error: rustls::Error| Fault::Certificate(complaint(&error).into());
        match self {
            Self::Server { verifier, name } => verifier
                .verify_server_cert(&certificate, &[], name, &[], now)
                .map(drop)
                .map_err(refused),
            Self::Client(verifier) => verifier
                .verify_client_cert(&certificate, &[], now)
                .map(drop)
                .map_err(refused),
            Self::Exactly(expected) if expected != der => {
                Err(Fault::Certificate("it is not the expected one".into()))
            }
            Self::Exactly(_) | Self::Anyone => Ok(()),
        }
    }
}

fn crypto() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn anchors(certificates: &[Vec<u8>]) -> Result<Arc<RootCertStore>, ConfigError> {
    let mut anchors = RootCertStore::empty();
    for certificate in certificates {
        let added = anchors.add(CertificateDer::from(certificate.clone()));
        added.map_err(|error| untrusted(&complaint(&error)))?;
    }
    Ok(Arc::new(anchors))
}

fn untrusted(error: &impl std::fmt::Display) -> ConfigError {
    ConfigError::Trust {
        what: "these authorities".to_owned(),
        reason: error.to_string(),
    }
}
