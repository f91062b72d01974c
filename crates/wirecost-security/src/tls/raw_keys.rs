//! Raw public keys in place of certificates (RFC 7250). The library has them in TLS 1.3 alone.

use std::sync::Arc;

use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, SignatureScheme,
};

use crate::certificate::{Identity, is_raw_public_key};

/// Accepts peers that have one of these keys, whatever their name.
#[derive(Debug)]
pub(super) struct RawKeys {
    /// In DER (SubjectPublicKeyInfo).
    trusted: Vec<Vec<u8>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl RawKeys {
    /// Those that are trusted; `None` if they are not all raw public keys.
    pub(super) fn trusting(trusted: &[Vec<u8>], provider: &CryptoProvider) -> Option<Arc<Self>> {
        are_raw(trusted).then(|| {
            Arc::new(Self {
                trusted: trusted.to_vec(),
                algorithms: provider.signature_verification_algorithms,
            })
        })
    }

    fn check(&self, key: &CertificateDer<'_>) -> Result<(), Error> {
        match self
            .trusted
            .iter()
            .any(|trusted| trusted.as_slice() == key.as_ref())
        {
            true => Ok(()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }
}

impl ServerCertVerifier for RawKeys {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for RawKeys {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// Whether a server with this identity and these authorities of its clients has raw public keys, which the library has in TLS 1.3 alone.
pub fn server_has_raw_keys(identity: &Identity, client_authorities: &[Vec<u8>]) -> bool {
    identity.is_raw_public_key() || are_raw(client_authorities)
}

/// Whether these are raw public keys, and there is one.
pub(super) fn are_raw(trusted: &[Vec<u8>]) -> bool {
    !trusted.is_empty() && trusted.iter().all(|der| is_raw_public_key(der))
}

/// What a server sends in place of its certificates.
///
/// # Errors
/// The private key is not that of the public key, or of no kind that the library knows.
pub(super) fn of_server(
    identity: &Identity,
    provider: &CryptoProvider,
) -> Result<Arc<AlwaysResolvesServerRawPublicKeys>, String> {
    let key = certified(identity, provider)?;
    Ok(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key)))
}

/// The same of a client.
pub(super) fn of_client(
    identity: &Identity,
    provider: &CryptoProvider,
) -> Result<Arc<AlwaysResolvesClientRawPublicKeys>, String> {
    let key = certified(identity, provider)?;
    Ok(Arc::new(AlwaysResolvesClientRawPublicKeys::new(key)))
}

/// The public key with its private key.
fn certified(identity: &Identity, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, String> {
    let private = PrivatePkcs8KeyDer::from(identity.private_key().to_vec());
    let key = provider.key_provider.load_private_key(private.into());
    let key = key.map_err(|error| error.to_string())?;
    let is_own = |public: SubjectPublicKeyInfoDer<'_>| public.as_ref() == identity.certificate();
    // The keys of a simulation do not say their public key.
    if !key.public_key().is_none_or(is_own) {
        return Err("the private key is not that of the public key".to_owned());
    }
    let public = CertificateDer::from(identity.certificate().to_vec());
    Ok(Arc::new(CertifiedKey::new(vec![public], key)))
}
