//! Certificates with a signature of the usual length, and with the size of another certificate.

use rcgen::{CertificateParams, CustomExtension, Issuer, SerialNumber};

use super::key::{self, Key};
use super::{Error, SIGNATURE_TRIES};
use crate::entropy::Entropy;

/// Bytes of a serial number. The first byte is 0x40 to 0x7f, so that DER neither drops nor adds a byte (RFC 5280
/// section 4.1.2.2: at most 20 bytes).
const SERIAL_BYTES: usize = 16;

/// Other lengths of it. A comment cannot make every size: where the length of a length grows, one is skipped.
const OTHER_SERIAL_BYTES: [usize; 7] = [17, 18, 19, 20, 15, 14, 13];

/// netscape-comment: a text about the certificate, which nobody checks.
const COMMENT: [u64; 7] = [2, 16, 840, 1, 113_730, 1, 13];

/// Tag of an IA5String (X.690 section 8.23).
const IA5_STRING: u8 = 0x16;

/// Attempts at the length of a comment: the second is right unless the length of a length grows.
const COMMENT_TRIES: usize = 4;

/// The certificate for `subject` in DER, under the first serial number whose signature has the usual length.
pub(super) fn sign(
    params: &mut CertificateParams,
    entropy: &mut Entropy,
    subject: &Key,
    issuer: (&CertificateParams, &Key),
) -> Result<Vec<u8>, Error> {
    sign_with(params, entropy, subject, issuer, SERIAL_BYTES)
}

/// The same with as long a comment as it needs to have `bytes`, if they are given.
pub(super) fn sign_sized(
    mut params: CertificateParams,
    entropy: &mut Entropy,
    subject: &Key,
    issuer: (&CertificateParams, &Key),
    bytes: Option<usize>,
) -> Result<Vec<u8>, Error> {
    let plain = sign(&mut params, entropy, subject, issuer)?;
    let Some(bytes) = bytes.filter(|bytes| *bytes != plain.len()) else {
        return Ok(plain);
    };
    for serial_bytes in [SERIAL_BYTES].into_iter().chain(OTHER_SERIAL_BYTES) {
        let mut letters = bytes.saturating_sub(plain.len());
        for _ in 0..COMMENT_TRIES {
            params.custom_extensions = vec![comment(letters)];
            let certificate = sign_with(&mut params, entropy, subject, issuer, serial_bytes)?;
            if certificate.len() == bytes {
                return Ok(certificate);
            }
            match (letters + bytes).checked_sub(certificate.len()) {
                Some(other) => letters = other,
                None => break,
            }
        }
    }
    Err(Error::Size {
        bytes,
        least: plain.len(),
    })
}

/// A comment of so many letters.
fn comment(letters: usize) -> CustomExtension {
    let mut content = vec![IA5_STRING];
    let length = letters.to_be_bytes();
    let length = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    if letters > 0x7f {
        // The long form: how many bytes the length has (X.690 section 8.1.3.5).
        content.push(0x80 | length.len() as u8);
        content.extend_from_slice(length);
    } else {
        content.push(letters as u8);
    }
    content.resize(content.len() + letters, b'x');
    CustomExtension::from_oid_content(&COMMENT, content)
}

fn sign_with(
    params: &mut CertificateParams,
    entropy: &mut Entropy,
    subject: &Key,
    (issuer, key): (&CertificateParams, &Key),
    serial_bytes: usize,
) -> Result<Vec<u8>, Error> {
    let issuer = Issuer::new(issuer.clone(), key);
    for _ in 0..SIGNATURE_TRIES {
        let mut serial = vec![0; serial_bytes];
        entropy.fill(&mut serial)?;
        serial[0] = serial[0] & 0x3f | 0x40;
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        match params.signed_by(subject, &issuer) {
            Ok(certificate) => return Ok(certificate.der().to_vec()),
            Err(key::UNUSUAL_LENGTH) => {}
            Err(error) => return Err(Error::Generate(error.to_string())),
        }
    }
    Err(Error::SignatureLength)
}
