//! Alerts (RFC 8446 section 6, RFC 5246 section 7.2).

/// An alert's name in the standards, or its number.
pub(super) fn name(description: u8) -> String {
    let name = match description {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        // RFC 4279 section 2.
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        other => return format!("number {other}"),
    };
    name.to_owned()
}

/// A record with the fatal alert that refuses the peer's certificate (RFC 8446 section 6.2: bad_certificate).
///
/// The engine has no way to say it, so it is said in the clear, which a peer that has keys already may not believe.
pub(super) const REFUSED_CERTIFICATE: [u8; 15] = {
    let (fatal, bad_certificate) = (2, 42);
    // The sequence number only has to be none that the engine has used.
    [
        21,
        254,
        253,
        0,
        0,
        0,
        0,
        0,
        0,
        255,
        255,
        0,
        2,
        fatal,
        bad_certificate,
    ]
};
