//! dimpl's cryptography, observed and, for simulation, seeded.
//!
//! dimpl has no key log and does not report the content of the records that it protects. Both pass through its
//! cryptography, which is replaceable. So this module wraps that of `aws-lc-rs` and notes the secrets and the content
//! of each record. The caller of dimpl receives the notes: [`Observer::during`].
//!
//! The module also repeats P-256 signatures until the DER form has the usual length, so that the size of a handshake
//! does not depend on chance. With a seed, keys and signatures derive from it.

mod cipher;
mod exchange;
mod signature;

use std::cell::RefCell;
use std::sync::LazyLock;

use dimpl::CryptoError;
use dimpl::crypto::{
    CryptoProvider, Dtls12CipherSuite, Dtls13CipherSuite, HashAlgorithm, HmacProvider, aws_lc_rs,
};
use wirecost_proto::Rng;

use super::cookie::{Asked, Cookie};
use super::record::Piece;

/// The suite of DTLS 1.3.
pub(super) const SUITE_13: Dtls13CipherSuite = Dtls13CipherSuite::AES_128_GCM_SHA256;
/// The suite of DTLS 1.2 with certificates.
pub(super) const SUITE_12: Dtls12CipherSuite = Dtls12CipherSuite::ECDHE_ECDSA_AES128_GCM_SHA256;

/// The wrapped provider, the same for every connection. It has no suite that no connection offers: dimpl tries the signatures, hashes
/// and ciphers of each whenever it makes a configuration, and each simulated connection has one of its own.
pub(super) fn provider() -> CryptoProvider {
    static PROVIDER: LazyLock<CryptoProvider> = LazyLock::new(|| {
        let plain = aws_lc_rs::default_provider();
        CryptoProvider {
            kx_groups: exchange::groups(plain.kx_groups),
            key_provider: &signature::Keys,
            hmac_provider: &ObservedHmac,
            cipher_suites: cipher::observed_12(plain.cipher_suites, SUITE_12),
            dtls13_cipher_suites: cipher::observed_13(plain.dtls13_cipher_suites, SUITE_13),
            ..plain
        }
    });
    PROVIDER.clone()
}

/// A protected record that was encrypted or decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The last 8 bytes of the record.
    pub(super) tag: [u8; 8],
    /// The content type.
    pub(super) content: u8,
    /// Bytes of plaintext without content type and padding.
    pub(super) plaintext: usize,
    /// The handshake fragment in it.
    pub(super) piece: Option<Piece>,
}

/// A secret with its key log label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) label: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// The observed cryptography of a connection, and its seed.
#[derive(Debug, Default)]
pub(super) struct Observer {
    pub(super) notes: Vec<Note>,
    pub(super) secrets: Vec<Secret>,
    pub(super) rng: Option<Rng>,
    /// The cookie of the connection's client, in the place of the one that dimpl would make.
    pub(super) asked: Option<Asked>,
}

thread_local! {
    /// The connection whose cryptography runs on this thread now. It is `None` outside [`Observer::during`].
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

impl Observer {
    /// Runs `call` and records its cryptography.
    pub(super) fn during<T>(&mut self, call: impl FnOnce() -> T) -> T {
        OBSERVER.set(Some(std::mem::take(self)));
        let result = call();
        *self = OBSERVER.take().unwrap_or_default();
        result
    }
}

/// Passes a note to the current connection.
fn observe(note: impl FnOnce(&mut Observer)) {
    OBSERVER.with_borrow_mut(|observer| observer.as_mut().map(note));
}

/// Bytes from the seed, if there is one.
fn seeded<const N: usize>() -> Option<[u8; N]> {
    OBSERVER.with_borrow_mut(|observer| {
        let rng = observer.as_mut()?.rng.as_mut()?;
        let mut bytes = [0; N];
        rng.fill(&mut bytes);
        Some(bytes)
    })
}

/// HMAC. dimpl builds the PRF of DTLS 1.2 and the HKDF of DTLS 1.3 on it.
#[derive(Debug)]
struct ObservedHmac;

impl HmacProvider for ObservedHmac {
    fn hmac(
        &self,
        hash: HashAlgorithm,
        key: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        if let (Some(cookie), Some(room)) = (cookie_of(hash, data), out.first_chunk_mut()) {
            *room = cookie;
            return Ok(cookie.len());
        }
        let plain = aws_lc_rs::default_provider().hmac_provider;
        let written = plain.hmac(hash, key, data, out)?;
        if let Some(secret) = secret_of(key, data, out.get(..written).unwrap_or_default()) {
            observe(|observer| observer.secrets.push(secret));
        }
        Ok(written)
    }
}

/// The cookie that this HMAC is asked for: dimpl's cookie is that of the client's random alone, with a secret of the
/// connection's own, so that another connection could not know it.
fn cookie_of(hash: HashAlgorithm, data: &[u8]) -> Option<Cookie> {
    OBSERVER.with_borrow(|observer| {
        let asked = observer.as_ref()?.asked.as_ref()?;
        (hash == HashAlgorithm::SHA256 && asked.random == data).then_some(asked.cookie)
    })
}

/// Bytes of a master secret (RFC 5246 section 8.1).
const MASTER_SECRET_BYTES: usize = 48;

/// The secret that this HMAC uses or returns.
fn secret_of(key: &[u8], data: &[u8], result: &[u8]) -> Option<Secret> {
    // RFC 5246 section 6.3: key expansion uses the master secret with this label.
    if key.len() == MASTER_SECRET_BYTES && data.starts_with(b"key expansion") {
        return Some(Secret {
            label: "CLIENT_RANDOM",
            bytes: key.to_vec(),
        });
    }
    // RFC 8446 section 7.1: HkdfLabel is the length, the label and the context, each after its length. RFC 9147
    // section 5.9 prefixes the label with "dtls13". One block of HKDF is a whole secret.
    let (length, behind) = data.get(2..)?.split_first()?;
    let label = behind.get(..usize::from(*length))?.strip_prefix(b"dtls13")?;
    let label = match label {
        b"c hs traffic" => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        b"s hs traffic" => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        b"c ap traffic" => "CLIENT_TRAFFIC_SECRET_0",
        b"s ap traffic" => "SERVER_TRAFFIC_SECRET_0",
        b"exp master" => "EXPORTER_SECRET",
        _ => return None,
    };
    Some(Secret {
        label,
        bytes: result.to_vec(),
    })
}
