//! The codes of MQTT 3.1.1, in terms of the reason codes of MQTT 5.

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

/// The number of "Server unavailable", for every reason that 3.1.1 has no code for.
const SERVER_UNAVAILABLE: u8 = 3;

/// The failure of a subscription in SUBACK (3.1.1, section 3.9.3).
pub(crate) const SUBSCRIBE_FAILURE: u8 = 0x80;

/// The reason code that a CONNACK return code represents.
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

/// The CONNACK return code that comes closest to `reason`.
pub(crate) fn return_code_of(reason: ReasonCode) -> u8 {
    let numbered = (0..).zip(RETURN_CODES);
    let found = numbered.into_iter().find(|(_, known)| *known == reason);
    found.map_or(SERVER_UNAVAILABLE, |(code, _)| code)
}

/// The SUBACK return code for `reason`: the granted QoS or the one failure there is.
pub(crate) const fn subscribe_return_code_of(reason: ReasonCode) -> u8 {
    if reason.is_failure() {
        SUBSCRIBE_FAILURE
    } else {
        reason.code()
    }
}
