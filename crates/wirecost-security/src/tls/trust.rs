//! Acceptance of any server, and of the servers that an authority vouches for.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

use super::fault::certificate::is_of_an_authority;

/// Accepts every certificate. It still checks that the peer has the private key.
#[derive(Debug)]
pub(super) struct Anyone {
    algorithms: WebPkiSupportedAlgorithms,
}

impl Anyone {
    pub(super) fn new(provider: &Arc<CryptoProvider>) -> Self {
        Self {
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

/// Accepts what the library does, and a server that shows one of the trusted certificates itself although it belongs to an
/// authority, as `openssl req -x509` makes it: the user has named this very certificate.
#[derive(Debug)]
pub(super) struct Named {
    inner: Arc<WebPkiServerVerifier>,
    /// The trusted certificates, in DER.
    trusted: Vec<Vec<u8>>,
}

impl Named {
    pub(super) const fn new(inner: Arc<WebPkiServerVerifier>, trusted: Vec<Vec<u8>>) -> Self {
        Self { inner, trusted }
    }
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.inner
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        // The library checks the dates before this.
        let is_authoritys = matches!(&verified, Err(error) if is_of_an_authority(error));
        let is_named = || {
            self.trusted
                .iter()
                .any(|der| der.as_slice() == end_entity.as_ref())
        };
        match is_authoritys && is_named() {
            true => Ok(ServerCertVerified::assertion()),
            false => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
