//! Certificates and keys in PEM (RFC 7468).

use p256::pkcs8::LineEnding;
use p256::pkcs8::der::pem::encode_string;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};

use super::{Error, is_raw_public_key, key};

/// All certificates, one after another; a raw public key under its own label.
pub(super) fn certificates<'a>(chain: impl IntoIterator<Item = &'a [u8]>) -> Result<String, Error> {
    let label = |der: &[u8]| match is_raw_public_key(der) {
        true => "PUBLIC KEY",
        false => "CERTIFICATE",
    };
    let texts = chain.into_iter().map(|der| encode(label(der), der));
    texts.collect()
}

/// One object in PEM.
pub(super) fn encode(label: &'static str, der: &[u8]) -> Result<String, Error> {
    encode_string(label, LineEnding::LF, der).map_err(|error| Error::Pem {
        what: label,
        reason: error.to_string(),
    })
}

/// Every certificate of a text in DER, or else every raw public key, at least one.
pub(super) fn read_trusted(text: &str) -> Result<Vec<Vec<u8>>, Error> {
    let keys = SubjectPublicKeyInfoDer::pem_slice_iter(text.as_bytes());
    let keys: Vec<Vec<u8>> = keys.flatten().map(|der| der.to_vec()).collect();
    match read_certificates(text) {
        Err(Error::NoCertificate) if !keys.is_empty() => Ok(keys),
        certificates => certificates,
    }
}

/// Every certificate of a text in DER, at least one.
pub(super) fn read_certificates(text: &str) -> Result<Vec<Vec<u8>>, Error> {
    let found = CertificateDer::pem_slice_iter(text.as_bytes());
    let chain: Result<Vec<_>, _> = found.map(|der| der.map(|der| der.to_vec())).collect();
    let chain = chain.map_err(|error| unreadable("certificates", &error))?;
    if chain.is_empty() {
        return Err(Error::NoCertificate);
    }
    Ok(chain)
}

/// The first private key of a text in PKCS #8.
pub(super) fn read_private_key(text: &str) -> Result<Vec<u8>, Error> {
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes());
    match key.map_err(|error| unreadable("private key", &error))? {
        PrivateKeyDer::Pkcs8(der) => Ok(der.secret_pkcs8_der().to_vec()),
        PrivateKeyDer::Sec1(der) => key::sec1_to_pkcs8(der.secret_sec1_der()),
        _ => Err(Error::PrivateKey("it is in PKCS #1 form".to_owned())),
    }
}

fn unreadable(what: &'static str, error: &PemError) -> Error {
    Error::Pem {
        what,
        reason: error.to_string(),
    }
}
