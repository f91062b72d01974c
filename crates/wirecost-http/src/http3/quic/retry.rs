//! The integrity of Retry packets (RFC 9001 section 5.8).

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

/// The fixed key and nonce of version 1.
const KEY: [u8; 16] = [
    0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e,
];
const NONCE: [u8; 12] = [
    0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb,
];

/// The integrity tag of a Retry packet without its tag. `original` is the Destination Connection ID of the first packet.
pub(crate) fn tag(original: &[u8], packet: &[u8]) -> Option<[u8; 16]> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).ok()?);
    let len = u8::try_from(original.len()).ok()?;
    let pseudo_packet = [&[len], original, packet].concat();
    let nonce = Nonce::assume_unique_for_key(NONCE);
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(pseudo_packet), &mut []);
    tag.ok()?.as_ref().try_into().ok()
}

/// Whether the last 16 bytes of `payload` are the integrity tag of the Retry packet before them.
pub(crate) fn is_valid(original: &[u8], header: &[u8], payload: &[u8]) -> bool {
    payload
        .split_last_chunk()
        .is_some_and(|(token, found)| tag(original, &[header, token].concat()) == Some(*found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9001 appendix A.4.
    #[test]
    fn only_a_genuine_retry_is_valid() {
        let original = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
        let header = [
            0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x08, 0xf0, 0x67, 0xa5, 0x50, 0x2a, 0x42, 0x62, 0xb5,
        ];
        let mut payload = [
            0x74, 0x6f, 0x6b, 0x65, 0x6e, 0x04, 0xa2, 0x65, 0xba, 0x2e, 0xff, 0x4d, 0x82, 0x90, 0x58, 0xfb,
            0x3f, 0x0f, 0x24, 0x96, 0xba,
        ];
        assert!(is_valid(&original, &header, &payload));
        payload[0] ^= 1;
        assert!(!is_valid(&original, &header, &payload));
        assert!(!is_valid(&original, &header, &payload[..3]));
    }
}
