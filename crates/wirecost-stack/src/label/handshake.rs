//! Handshake messages of TLS and DTLS.

/// Handshake messages that are encrypted.
pub(super) const ENCRYPTED: &str = "handshake (encrypted)";
/// The Finished of TLS 1.2 and DTLS 1.2, the first message under the new keys (RFC 5246 section 7.4.9).
pub(super) const FINISHED: &str = "Finished (encrypted)";
/// The message after which the sender uses the new keys (RFC 5246 section 7.1).
pub(super) const CHANGE_CIPHER_SPEC: &str = "ChangeCipherSpec";

/// The name of a handshake message in plaintext (RFC 5246 section 7.4, RFC 6347 section 4.3.2, RFC 8446 section 4); `None` where
/// the type is unknown.
pub(super) const fn name(handshake_type: u8) -> Option<&'static str> {
    Some(match handshake_type {
        1 => "ClientHello",
        2 => "ServerHello",
        3 => "HelloVerifyRequest",
        4 => "NewSessionTicket",
        11 => "Certificate",
        12 => "ServerKeyExchange",
        13 => "CertificateRequest",
        14 => "ServerHelloDone",
        15 => "CertificateVerify",
        16 => "ClientKeyExchange",
        22 => "CertificateStatus",
        _ => return None,
    })
}

/// A ServerHello that asks for another group (RFC 8446 section 4.1.4).
const HELLO_RETRY_REQUEST: &str = "HelloRetryRequest";

/// SHA-256 of its name: the random of a ServerHello that is one (RFC 8446 section 4.1.3).
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Whether a message is a HelloRetryRequest. `rest` begins behind its length: two bytes of version, then the random.
fn asks_again(kind: u8, rest: &[u8]) -> bool {
    kind == 2 && rest.get(2..34) == Some(&RETRY_RANDOM)
}

/// The messages in a record of TLS, each with its type and its length before it (RFC 8446 section 4). Empty where the record does
/// not consist of such messages, because it is protected. The last message may continue in the next segment.
pub(super) fn messages(mut fragment: &[u8], is_whole: bool) -> Vec<&'static str> {
    let mut names = Vec::new();
    while let Some((&[kind, high, middle, low], rest)) = fragment.split_first_chunk() {
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let Some(name) = name(kind).filter(|_| length <= rest.len() || !is_whole) else {
            return Vec::new();
        };
        names.push(if asks_again(kind, rest) {
            HELLO_RETRY_REQUEST
        } else {
            name
        });
        fragment = rest.get(length..).unwrap_or_default();
    }
    names
}
