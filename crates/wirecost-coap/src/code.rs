//! The code of a message: class and detail (RFC 7252 section 3), with the names of the registry.

use core::fmt;

/// A code: a class of 3 bits and a detail of 5 bits, written `c.dd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u8);

/// The class of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// 0.00: neither request nor response.
    Empty,
    /// 0.01 to 0.31.
    Request,
    /// 2.xx.
    Success,
    /// 4.xx.
    ClientError,
    /// 5.xx.
    ServerError,
    /// Classes 1, 3, 6 and 7, which a datagram must not carry. Class 7 is that of signaling messages on a stream.
    Reserved,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = ($class:literal, $detail:literal, $text:literal);)*) => {
        impl Code {
            $($(#[$doc])* pub const $name: Self = Self::new($class, $detail);)*

            /// The code's name in the registry, if it has one.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// 0.00, the empty message: ping, empty acknowledgement, reset.
    EMPTY = (0, 0, "Empty");
    /// 0.01.
    GET = (0, 1, "GET");
    /// 0.02.
    POST = (0, 2, "POST");
    /// 0.03.
    PUT = (0, 3, "PUT");
    /// 0.04.
    DELETE = (0, 4, "DELETE");
    /// 0.05 (RFC 8132).
    FETCH = (0, 5, "FETCH");
    /// 0.06 (RFC 8132).
    PATCH = (0, 6, "PATCH");
    /// 0.07 (RFC 8132).
    IPATCH = (0, 7, "iPATCH");
    /// 2.01.
    CREATED = (2, 1, "Created");
    /// 2.02.
    DELETED = (2, 2, "Deleted");
    /// 2.03.
    VALID = (2, 3, "Valid");
    /// 2.04.
    CHANGED = (2, 4, "Changed");
    /// 2.05.
    CONTENT = (2, 5, "Content");
    /// 2.31 (RFC 7959).
    CONTINUE = (2, 31, "Continue");
    /// 4.00.
    BAD_REQUEST = (4, 0, "Bad Request");
    /// 4.01.
    UNAUTHORIZED = (4, 1, "Unauthorized");
    /// 4.02.
    BAD_OPTION = (4, 2, "Bad Option");
    /// 4.03.
    FORBIDDEN = (4, 3, "Forbidden");
    /// 4.04.
    NOT_FOUND = (4, 4, "Not Found");
    /// 4.05.
    METHOD_NOT_ALLOWED = (4, 5, "Method Not Allowed");
    /// 4.06.
    NOT_ACCEPTABLE = (4, 6, "Not Acceptable");
    /// 4.08 (RFC 7959).
    REQUEST_ENTITY_INCOMPLETE = (4, 8, "Request Entity Incomplete");
    /// 4.09 (RFC 8132).
    CONFLICT = (4, 9, "Conflict");
    /// 4.12.
    PRECONDITION_FAILED = (4, 12, "Precondition Failed");
    /// 4.13.
    REQUEST_ENTITY_TOO_LARGE = (4, 13, "Request Entity Too Large");
    /// 4.15.
    UNSUPPORTED_CONTENT_FORMAT = (4, 15, "Unsupported Content-Format");
    /// 4.22 (RFC 8132).
    UNPROCESSABLE_ENTITY = (4, 22, "Unprocessable Entity");
    /// 4.29 (RFC 8516).
    TOO_MANY_REQUESTS = (4, 29, "Too Many Requests");
    /// 5.00.
    INTERNAL_SERVER_ERROR = (5, 0, "Internal Server Error");
    /// 5.01.
    NOT_IMPLEMENTED = (5, 1, "Not Implemented");
    /// 5.02.
    BAD_GATEWAY = (5, 2, "Bad Gateway");
    /// 5.03.
    SERVICE_UNAVAILABLE = (5, 3, "Service Unavailable");
    /// 5.04.
    GATEWAY_TIMEOUT = (5, 4, "Gateway Timeout");
    /// 5.05.
    PROXYING_NOT_SUPPORTED = (5, 5, "Proxying Not Supported");
    /// 5.08 (RFC 8768).
    HOP_LIMIT_REACHED = (5, 8, "Hop Limit Reached");
    /// 7.01 (RFC 8323): capabilities and settings.
    CSM = (7, 1, "CSM");
    /// 7.02 (RFC 8323).
    PING = (7, 2, "Ping");
    /// 7.03 (RFC 8323).
    PONG = (7, 3, "Pong");
    /// 7.04 (RFC 8323).
    RELEASE = (7, 4, "Release");
    /// 7.05 (RFC 8323).
    ABORT = (7, 5, "Abort");
}

impl Code {
    /// The code `class.detail`. Only the low 3 bits of `class` and 5 bits of `detail` are used.
    pub const fn new(class: u8, detail: u8) -> Self {
        Self((class & 0x07) << 5 | detail & 0x1f)
    }

    /// The code in this byte of the header.
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// The byte in the header.
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The digit before the point.
    pub const fn class_digit(self) -> u8 {
        self.0 >> 5
    }

    /// The number after the point.
    pub const fn detail(self) -> u8 {
        self.0 & 0x1f
    }

    /// The class of the code.
    pub const fn class(self) -> Class {
        match (self.class_digit(), self.detail()) {
            (0, 0) => Class::Empty,
            (0, _) => Class::Request,
            (2, _) => Class::Success,
            (4, _) => Class::ClientError,
            (5, _) => Class::ServerError,
            _ => Class::Reserved,
        }
    }

    /// Whether the message is a request.
    pub const fn is_request(self) -> bool {
        matches!(self.class(), Class::Request)
    }

    /// Whether the message is a response.
    pub(crate) const fn is_response(self) -> bool {
        matches!(
            self.class(),
            Class::Success | Class::ClientError | Class::ServerError
        )
    }

    /// Whether the message is a signaling message of a stream (RFC 8323 section 5).
    pub(crate) const fn is_signal(self) -> bool {
        self.class_digit() == 7
    }

    /// Whether the message is a response of class 2.
    pub const fn is_success(self) -> bool {
        matches!(self.class(), Class::Success)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.class_digit(), self.detail())
    }
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Retrieve a representation.
    Get,
    /// Process the enclosed representation.
    Post,
    /// Replace or create the resource.
    Put,
    /// Delete the resource.
    Delete,
    /// Retrieve with a request body (RFC 8132).
    Fetch,
    /// Modify in part (RFC 8132).
    Patch,
    /// Modify in part, idempotent (RFC 8132).
    IPatch,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 7] = [
        Self::Get,
        Self::Post,
        Self::Put,
        Self::Delete,
        Self::Fetch,
        Self::Patch,
        Self::IPatch,
    ];

    /// The code of requests with this method.
    pub const fn code(self) -> Code {
        // The methods are in the order of their codes, from 0.01 on.
        Code::new(0, self as u8 + 1)
    }

    /// The method of requests with `code`, or `None` if there is none.
    pub(crate) fn from_code(code: Code) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_code_prints_class_and_detail() {
        for (byte, text, name) in [
            (0x00, "0.00", Some("Empty")),
            (0x03, "0.03", Some("PUT")),
            (0x45, "2.05", Some("Content")),
            (0x5f, "2.31", Some("Continue")),
            (0x8d, "4.13", Some("Request Entity Too Large")),
            (0xa5, "5.05", Some("Proxying Not Supported")),
            (0xe1, "7.01", Some("CSM")),
            (0xff, "7.31", None),
        ] {
            let code = Code::from_byte(byte);
            assert_eq!(code.to_string(), text);
            assert_eq!(code.name(), name);
            assert_eq!(Code::new(code.class_digit(), code.detail()), code);
        }
    }

    #[test]
    fn classes_1_3_6_and_7_are_reserved() {
        let reserved = |class| Code::new(class, 1).class() == Class::Reserved;
        assert!([1, 3, 6, 7].into_iter().all(reserved));
        assert!(![0, 2, 4, 5].into_iter().any(reserved));
    }

    #[test]
    fn methods_and_codes_map_both_ways() {
        for method in Method::ALL {
            assert_eq!(Method::from_code(method.code()), Some(method));
        }
        assert_eq!(Method::from_code(Code::EMPTY), None);
        assert_eq!(Method::from_code(Code::new(0, 8)), None);
    }
}
