//! Cipher suites that note the records that they encrypt and decrypt.

use dimpl::CryptoError;
use dimpl::crypto::{
    Aad, Buf, Cipher, Dtls12CipherSuite, Dtls13CipherSuite, HashAlgorithm, Nonce, SupportedDtls12CipherSuite,
    SupportedDtls13CipherSuite, TmpBuf,
};

use super::{Note, observe};
use crate::dtls::record::{Piece, last_eight};

/// The DTLS 1.2 suite `offered`, wrapped. It lives as long as the program.
pub(super) fn observed_12(
    suites: Suites<dyn SupportedDtls12CipherSuite>,
    offered: Dtls12CipherSuite,
) -> Suites<dyn SupportedDtls12CipherSuite> {
    let suites = suites.iter().filter(|suite| suite.suite() == offered);
    let wrapped =
        suites.map(|suite| -> &dyn SupportedDtls12CipherSuite { Box::leak(Box::new(Suite(*suite))) });
    wrapped.collect::<Vec<_>>().leak()
}

/// The DTLS 1.3 suite `offered`, wrapped. It lives as long as the program.
pub(super) fn observed_13(
    suites: Suites<dyn SupportedDtls13CipherSuite>,
    offered: Dtls13CipherSuite,
) -> Suites<dyn SupportedDtls13CipherSuite> {
    let suites = suites.iter().filter(|suite| suite.suite() == offered);
    let wrapped =
        suites.map(|suite| -> &dyn SupportedDtls13CipherSuite { Box::leak(Box::new(Suite(*suite))) });
    wrapped.collect::<Vec<_>>().leak()
}

type Suites<S> = &'static [&'static S];

/// A suite with observed ciphers.
#[derive(Debug)]
struct Suite<S: ?Sized + 'static>(&'static S);

impl SupportedDtls12CipherSuite for Suite<dyn SupportedDtls12CipherSuite> {
    fn suite(&self) -> Dtls12CipherSuite {
        self.0.suite()
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        self.0.hash_algorithm()
    }

    fn key_lengths(&self) -> (usize, usize, usize) {
        self.0.key_lengths()
    }

    fn explicit_nonce_len(&self) -> usize {
        self.0.explicit_nonce_len()
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        Ok(Box::new(ObservedCipher(self.0.create_cipher(key)?)))
    }
}

impl SupportedDtls13CipherSuite for Suite<dyn SupportedDtls13CipherSuite> {
    fn suite(&self) -> Dtls13CipherSuite {
        self.0.suite()
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        self.0.hash_algorithm()
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn iv_len(&self) -> usize {
        self.0.iv_len()
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        Ok(Box::new(ObservedCipher(self.0.create_cipher(key)?)))
    }

    fn encrypt_sn(&self, key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        self.0.encrypt_sn(key, sample)
    }
}

/// A cipher that notes the records that it encrypts and decrypts.
#[derive(Debug)]
struct ObservedCipher(Box<dyn Cipher>);

impl Cipher for ObservedCipher {
    fn encrypt(&mut self, plaintext: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        let note = note_of(plaintext, &aad);
        self.0.encrypt(plaintext, aad, nonce)?;
        observe(|observer| {
            observer.notes.push(Note {
                tag: last_eight(plaintext),
                ..note
            });
        });
        Ok(())
    }

    fn decrypt(&mut self, ciphertext: &mut TmpBuf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        let tag = last_eight(ciphertext.as_ref());
        // The additional data of a DTLS 1.2 record contains its content type.
        let authenticated = aad.clone();
        self.0.decrypt(ciphertext, aad, nonce)?;
        let note = note_of(ciphertext.as_ref(), &authenticated);
        observe(|observer| observer.notes.push(Note { tag, ..note }));
        Ok(())
    }
}

/// Bytes of a DTLS 1.2 record's additional data: epoch and sequence number, type, version, length (RFC 5246 section
/// 6.2.3.3).
const AUTHENTICATED_12_BYTES: usize = 13;
/// Index of the content type.
const TYPE_AT: usize = 8;

fn note_of(plaintext: &[u8], authenticated: &[u8]) -> Note {
    let (content, plaintext) = match authenticated.len() {
        AUTHENTICATED_12_BYTES => (authenticated[TYPE_AT], plaintext),
        _ => inner_plaintext(plaintext),
    };
    Note {
        tag: [0; 8],
        content,
        plaintext: plaintext.len(),
        piece: Piece::from_content(content, plaintext),
    }
}

/// Type and content of a DTLSInnerPlaintext. The type is the last byte that is not zero (RFC 9147 section 4, RFC 8446
/// section 5.4).
fn inner_plaintext(bytes: &[u8]) -> (u8, &[u8]) {
    let end = bytes.iter().rposition(|byte| *byte != 0);
    end.and_then(|end| Some((*bytes.get(end)?, bytes.get(..end)?)))
        .unwrap_or((0, &[]))
}
