//! The only set of algorithms of objects, as headers and contexts.

use coset::Header;
use coset::iana::{self, EnumI64};

/// Bytes of a content key and of a key-encryption key: AES-128.
pub(super) const KEY_BYTES: usize = 16;
/// Bytes of a nonce of AES-GCM (RFC 9053 section 4.1).
pub(super) const NONCE_BYTES: usize = 12;
/// Bytes of the tag of AES-GCM (RFC 9053 section 4.1).
pub(super) const TAG_BYTES: usize = 16;
/// Bytes of a wrapped content key: 8 more than the key (RFC 3394 section 2.2.1).
pub(super) const WRAPPED_BYTES: usize = KEY_BYTES + 8;
/// Bytes of a signature: the two integers of ECDSA at full width (RFC 9053 section 2.1), so the length is constant.
pub(super) const SIGNATURE_BYTES: usize = 64;
/// Bytes of a digest of a part: SHA-256.
pub(super) const DIGEST_BYTES: usize = 32;

/// The protected header of a part: `{1: 1}`, alg A128GCM (RFC 9053 section 4.1).
pub(super) const CONTENT_HEADER: [u8; 3] = [0xa1, 0x01, 0x01];

/// The protected header of a recipient: `{1: -29}`, alg ECDH-ES + A128KW (RFC 9053 section 6.4).
pub(super) const RECIPIENT_HEADER: [u8; 4] = [0xa1, 0x01, 0x38, 0x1c];

/// The additional data of a part: the Enc_structure `["Encrypt", << {1: 1} >>, h'']` (RFC 9052 section 5.3).
pub(super) const ENC_STRUCTURE: [u8; 14] = *b"\x83\x67Encrypt\x43\xa1\x01\x01\x40";

/// The context of the key-encryption key: the COSE_KDF_Context (RFC 9053 section 5.2) `[-3, [nil, nil, nil], [nil,
/// nil, nil], [128, << {1: -29} >>]]`. -3 is A128KW.
pub(super) const KDF_CONTEXT: [u8; 18] = [
    0x84, 0x22, 0x83, 0xf6, 0xf6, 0xf6, 0x83, 0xf6, 0xf6, 0xf6, 0x82, 0x18, 0x80, 0x44, 0xa1, 0x01, 0x38,
    0x1c,
];

/// Whether a header names this algorithm and has no critical parameter (RFC 9052 section 3.1, `crit`).
pub(super) fn names(header: &Header, algorithm: iana::Algorithm) -> bool {
    let asked = coset::Algorithm::Assigned(algorithm);
    header.alg.as_ref() == Some(&asked) && header.crit.is_empty()
}

/// The number that IANA assigned.
pub(super) fn number(name: impl EnumI64) -> i64 {
    name.to_i64()
}
