//! The return codes of MQTT 3.1.1, as reason codes of MQTT 5.

use crate::codec::{Malformed, PacketType, ReasonCode};

/// The CONNACK return codes (3.1.1, section 3.2.2.3), indexed by their number.
const RETURN_CODES: [ReasonCode; 6] = [
    ReasonCode::Success,
    ReasonCode::UnsupportedProtocolVersion,
    ReasonCode::ClientIdentifierNotValid,
    ReasonCode::ServerUnavailable,
    ReasonCode::BadUserNameOrPassword,
    ReasonCode::NotAuthorized,
];

/// The number of "Server unavailable", for every reason without a 3.1.1 code.
const SERVER_UNAVAILABLE: u8 = 3;

/// The body of a CONNACK that refuses the version (3.1.1, section 3.2.2).
pub(crate) const UNACCEPTABLE_VERSION: [u8; 2] = [0, 1];

/// The failure code in a SUBACK (3.1.1, section 3.9.3).
pub(crate) const SUBSCRIBE_FAILURE: u8 = 0x80;

/// The reason code for a CONNACK return code.
///
/// # Errors
/// Codes above 5 are reserved.
pub(crate) fn reason_of_return_code(code: u8) -> Result<ReasonCode, Malformed> {
    let packet = PacketType::Connack;
    RETURN_CODES
        .get(usize::from(code))
        .copied()
        .ok_or(Malformed::ReasonCode { packet, code })
}

/// The closest CONNACK return code for `reason`.
pub(crate) fn return_code_of(reason: ReasonCode) -> u8 {
    let numbered = (0..).zip(RETURN_CODES);
    let found = numbered.into_iter().find(|(_, known)| *known == reason);
    found.map_or(SERVER_UNAVAILABLE, |(code, _)| code)
}

/// The SUBACK return code for `reason`: the granted QoS, or the only failure code.
pub(crate) const fn subscribe_return_code_of(reason: ReasonCode) -> u8 {
    if reason.is_failure() {
        SUBSCRIBE_FAILURE
    } else {
        reason.code()
    }
}
