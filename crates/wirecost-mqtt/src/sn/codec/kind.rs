//! The types of messages.

/// The types of messages with their numbers and names (section 5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "the specification names them so")]
pub enum MessageType {
    Advertise = 0x00,
    SearchGw = 0x01,
    GwInfo = 0x02,
    Connect = 0x04,
    Connack = 0x05,
    WillTopicReq = 0x06,
    WillTopic = 0x07,
    WillMsgReq = 0x08,
    WillMsg = 0x09,
    Register = 0x0a,
    Regack = 0x0b,
    Publish = 0x0c,
    Puback = 0x0d,
    Pubcomp = 0x0e,
    Pubrec = 0x0f,
    Pubrel = 0x10,
    Subscribe = 0x12,
    Suback = 0x13,
    Unsubscribe = 0x14,
    Unsuback = 0x15,
    Pingreq = 0x16,
    Pingresp = 0x17,
    Disconnect = 0x18,
    WillTopicUpd = 0x1a,
    WillTopicResp = 0x1b,
    WillMsgUpd = 0x1c,
    WillMsgResp = 0x1d,
}

impl MessageType {
    /// Every type with its name.
    pub const ALL: [(Self, &'static str); 27] = [
        (Self::Advertise, "ADVERTISE"),
        (Self::SearchGw, "SEARCHGW"),
        (Self::GwInfo, "GWINFO"),
        (Self::Connect, "CONNECT"),
        (Self::Connack, "CONNACK"),
        (Self::WillTopicReq, "WILLTOPICREQ"),
        (Self::WillTopic, "WILLTOPIC"),
        (Self::WillMsgReq, "WILLMSGREQ"),
        (Self::WillMsg, "WILLMSG"),
        (Self::Register, "REGISTER"),
        (Self::Regack, "REGACK"),
        (Self::Publish, "PUBLISH"),
        (Self::Puback, "PUBACK"),
        (Self::Pubcomp, "PUBCOMP"),
        (Self::Pubrec, "PUBREC"),
        (Self::Pubrel, "PUBREL"),
        (Self::Subscribe, "SUBSCRIBE"),
        (Self::Suback, "SUBACK"),
        (Self::Unsubscribe, "UNSUBSCRIBE"),
        (Self::Unsuback, "UNSUBACK"),
        (Self::Pingreq, "PINGREQ"),
        (Self::Pingresp, "PINGRESP"),
        (Self::Disconnect, "DISCONNECT"),
        (Self::WillTopicUpd, "WILLTOPICUPD"),
        (Self::WillTopicResp, "WILLTOPICRESP"),
        (Self::WillMsgUpd, "WILLMSGUPD"),
        (Self::WillMsgResp, "WILLMSGRESP"),
    ];

    /// The type with this number; `None` if the number is reserved.
    pub fn from_number(number: u8) -> Option<Self> {
        let mut types = Self::ALL.iter().map(|(kind, _)| *kind);
        types.find(|kind| *kind as u8 == number)
    }

    /// The name in the specification.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.map_or("", |(_, name)| name)
    }
}
