//! The pseudorandom function of TLS 1.2 with SHA-256 (RFC 5246 section 5), and the secrets that it derives.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;

/// Bytes of a master secret (RFC 5246 section 8.1).
pub(super) const MASTER_SECRET_BYTES: usize = 48;
/// Bytes of the verify data in a Finished (RFC 5246 section 7.4.9).
pub(super) const VERIFY_DATA_BYTES: usize = 12;

/// A master secret.
pub(super) type Master = [u8; MASTER_SECRET_BYTES];

/// Fills `out` with the function's output for `secret`, `label` and the concatenated `seeds`.
pub(super) fn prf(secret: &[u8], label: &str, seeds: &[&[u8]], out: &mut [u8]) {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let seed = [label.as_bytes(), &seeds.concat()].concat();
    let mut chain = hmac::sign(&key, &seed);
    for block in out.chunks_mut(32) {
        let piece = hmac::sign(&key, &[chain.as_ref(), &seed].concat());
        block
            .iter_mut()
            .zip(piece.as_ref())
            .for_each(|(to, from)| *to = *from);
        chain = hmac::sign(&key, chain.as_ref());
    }
}

/// The premaster secret of a pre-shared key: as many zeros as the key has bytes, then the key, each after its length
/// (RFC 4279 section 2).
pub(super) fn premaster(key: &[u8]) -> Vec<u8> {
    let length = u16::try_from(key.len()).unwrap_or(u16::MAX).to_be_bytes();
    [&length[..], &vec![0; key.len()], &length, key].concat()
}

/// The master secret with the extension of RFC 7627 section 4: bound to the handshake up to ClientKeyExchange.
pub(super) fn extended_master(premaster: &[u8], transcript: &[u8]) -> Master {
    let mut master = [0; MASTER_SECRET_BYTES];
    let hash = digest(&SHA256, transcript);
    prf(premaster, "extended master secret", &[hash.as_ref()], &mut master);
    master
}

/// The master secret without that extension (RFC 5246 section 8.1).
pub(super) fn plain_master(premaster: &[u8], client_random: &[u8], server_random: &[u8]) -> Master {
    let mut master = [0; MASTER_SECRET_BYTES];
    prf(
        premaster,
        "master secret",
        &[client_random, server_random],
        &mut master,
    );
    master
}

/// The verify data of the Finished that `label` names, after the handshake messages of `transcript`.
pub(super) fn verify_data(master: &Master, label: &str, transcript: &[u8]) -> [u8; VERIFY_DATA_BYTES] {
    let mut data = [0; VERIFY_DATA_BYTES];
    prf(master, label, &[digest(&SHA256, transcript).as_ref()], &mut data);
    data
}
