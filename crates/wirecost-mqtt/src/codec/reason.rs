//! The reason codes of MQTT 5 (section 2.4), with their names and the packets that may carry them.

use crate::codec::{Malformed, PacketType};

macro_rules! reason_codes {
    ($($variant:ident = $code:literal, $name:literal, [$($packet:ident)*];)*) => {
        /// The result of an operation: below 0x80 success, from 0x80 on failure (section 2.4).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum ReasonCode {
            $(
                #[doc = concat!("`", stringify!($code), "` ", $name, ".")]
                $variant = $code,
            )*
        }

        impl ReasonCode {
            /// Every reason code, in the order of the standard's table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The reason code with this number, if there is one.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The name in the standard.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The packet types that may carry it, one bit each.
            const fn packets(self) -> u16 {
                match self {
                    $(Self::$variant => 0 $(| PacketType::$packet.bit())*,)*
                }
            }
        }
    };
}

#[rustfmt::skip]
reason_codes! {
    Success = 0x00, "Success", [Connack Puback Pubrec Pubrel Pubcomp Suback Unsuback Disconnect Auth];
    GrantedQos1 = 0x01, "Granted QoS 1", [Suback];
    GrantedQos2 = 0x02, "Granted QoS 2", [Suback];
    DisconnectWithWill = 0x04, "Disconnect with Will Message", [Disconnect];
    NoMatchingSubscribers = 0x10, "No matching subscribers", [Puback Pubrec];
    NoSubscriptionExisted = 0x11, "No subscription existed", [Unsuback];
    ContinueAuthentication = 0x18, "Continue authentication", [Auth];
    ReAuthenticate = 0x19, "Re-authenticate", [Auth];
    UnspecifiedError = 0x80, "Unspecified error", [Connack Puback Pubrec Suback Unsuback Disconnect];
    MalformedPacket = 0x81, "Malformed Packet", [Connack Disconnect];
    ProtocolError = 0x82, "Protocol Error", [Connack Disconnect];
    ImplementationSpecificError = 0x83, "Implementation specific error", [Connack Puback Pubrec Suback Unsuback Disconnect];
    UnsupportedProtocolVersion = 0x84, "Unsupported Protocol Version", [Connack];
    ClientIdentifierNotValid = 0x85, "Client Identifier not valid", [Connack];
    BadUserNameOrPassword = 0x86, "Bad User Name or Password", [Connack];
    NotAuthorized = 0x87, "Not authorized", [Connack Puback Pubrec Suback Unsuback Disconnect];
    ServerUnavailable = 0x88, "Server unavailable", [Connack];
    ServerBusy = 0x89, "Server busy", [Connack Disconnect];
    Banned = 0x8a, "Banned", [Connack];
    ServerShuttingDown = 0x8b, "Server shutting down", [Disconnect];
    BadAuthenticationMethod = 0x8c, "Bad authentication method", [Connack Disconnect];
    KeepAliveTimeout = 0x8d, "Keep Alive timeout", [Disconnect];
    SessionTakenOver = 0x8e, "Session taken over", [Disconnect];
    TopicFilterInvalid = 0x8f, "Topic Filter invalid", [Suback Unsuback Disconnect];
    TopicNameInvalid = 0x90, "Topic Name invalid", [Connack Puback Pubrec Disconnect];
    PacketIdentifierInUse = 0x91, "Packet Identifier in use", [Puback Pubrec Suback Unsuback];
    PacketIdentifierNotFound = 0x92, "Packet Identifier not found", [Pubrel Pubcomp];
    ReceiveMaximumExceeded = 0x93, "Receive Maximum exceeded", [Disconnect];
    TopicAliasInvalid = 0x94, "Topic Alias invalid", [Disconnect];
    PacketTooLarge = 0x95, "Packet too large", [Connack Disconnect];
    MessageRateTooHigh = 0x96, "Message rate too high", [Disconnect];
    QuotaExceeded = 0x97, "Quota exceeded", [Connack Puback Pubrec Suback Disconnect];
    AdministrativeAction = 0x98, "Administrative action", [Disconnect];
    PayloadFormatInvalid = 0x99, "Payload format invalid", [Connack Puback Pubrec Disconnect];
    RetainNotSupported = 0x9a, "Retain not supported", [Connack Disconnect];
    QosNotSupported = 0x9b, "QoS not supported", [Connack Disconnect];
    UseAnotherServer = 0x9c, "Use another server", [Connack Disconnect];
    ServerMoved = 0x9d, "Server moved", [Connack Disconnect];
    SharedSubscriptionsNotSupported = 0x9e, "Shared Subscriptions not supported", [Suback Disconnect];
    ConnectionRateExceeded = 0x9f, "Connection rate exceeded", [Connack Disconnect];
    MaximumConnectTime = 0xa0, "Maximum connect time", [Disconnect];
    SubscriptionIdentifiersNotSupported = 0xa1, "Subscription Identifiers not supported", [Suback Disconnect];
    WildcardSubscriptionsNotSupported = 0xa2, "Wildcard Subscriptions not supported", [Suback Disconnect];
}

impl ReasonCode {
    /// The byte on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Whether the operation failed: 0x80 and above.
    pub const fn is_failure(self) -> bool {
        self as u8 >= 0x80
    }

    /// The reason code with this number, if a packet of this type may carry it.
    pub(crate) fn decode(code: u8, packet: PacketType) -> Result<Self, Malformed> {
        Self::from_code(code)
            .filter(|reason| reason.packets() & packet.bit() != 0)
            .ok_or(Malformed::ReasonCode { packet, code })
    }
}

impl core::fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#04x} {}", self.code(), self.name())
    }
}
