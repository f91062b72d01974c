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

/// The messages in a record of TLS, each with its type and its length before it (RFC 8446 section 4). Empty where the record does
/// not consist of such messages, because it is protected. The last message may continue in the next segment.
pub(super) fn messages(mut fragment: &[u8], is_whole: bool) -> Vec<&'static str> {
    let mut names = Vec::new();
    while let Some((&[kind, high, middle, low], rest)) = fragment.split_first_chunk() {
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let Some(name) = name(kind).filter(|_| length <= rest.len() || !is_whole) else {
            return Vec::new();
        };
        names.push(name);
        fragment = rest.get(length..).unwrap_or_default();
    }
    names
}
