//! The registered options (RFC 7252 section 5.10, and the documents named next to the numbers).

/// An option number. Its lowest bit tells a recipient that does not support the option what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OptionNumber(pub u16);

impl OptionNumber {
    /// Whether a recipient that does not support the option must not process the message (RFC 7252 section 5.4.6).
    pub(crate) const fn is_critical(self) -> bool {
        self.0 & 1 != 0
    }

    /// The option's entry in the registry, or `None` if it is not registered here.
    pub fn definition(self) -> Option<&'static Definition> {
        DEFINITIONS.iter().find(|definition| definition.number == self)
    }
}

impl Definition {
    /// Whether the value has a valid length.
    pub(super) fn fits(&self, value: &[u8]) -> bool {
        (self.min..=self.max).contains(&value.len())
    }
}

/// The format of an option's value (RFC 7252 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// No bytes.
    Empty,
    /// Any bytes.
    Opaque,
    /// A non-negative integer, big-endian.
    Uint,
    /// UTF-8 text.
    String,
}

/// A registered option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its number.
    pub number: OptionNumber,
    /// Its name in the registry.
    pub name: &'static str,
    /// The format of its value.
    pub format: Format,
    /// The shortest value, in bytes.
    pub min: usize,
    /// The longest value, in bytes.
    pub max: usize,
    /// Whether it may occur more than once.
    pub repeatable: bool,
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal, $format:ident, $min:literal ..= $max:literal, $repeatable:literal;)*) => {
        impl OptionNumber {
            $($(#[$doc])* pub const $name: Self = Self($number);)*
        }

        static DEFINITIONS: &[Definition] = &[$(Definition {
            number: OptionNumber::$name,
            name: $text,
            format: Format::$format,
            min: $min,
            max: $max,
            repeatable: $repeatable,
        }),*];
    };
}

options! {
    /// If-Match.
    IF_MATCH = 1, "If-Match", Opaque, 0..=8, true;
    /// Uri-Host.
    URI_HOST = 3, "Uri-Host", String, 1..=255, false;
    /// ETag.
    ETAG = 4, "ETag", Opaque, 1..=8, true;
    /// If-None-Match.
    IF_NONE_MATCH = 5, "If-None-Match", Empty, 0..=0, false;
    /// Observe (RFC 7641).
    OBSERVE = 6, "Observe", Uint, 0..=3, false;
    /// Uri-Port.
    URI_PORT = 7, "Uri-Port", Uint, 0..=2, false;
    /// Location-Path.
    LOCATION_PATH = 8, "Location-Path", String, 0..=255, true;
    /// OSCORE (RFC 8613).
    OSCORE = 9, "OSCORE", Opaque, 0..=255, false;
    /// Uri-Path.
    URI_PATH = 11, "Uri-Path", String, 0..=255, true;
    /// Content-Format.
    CONTENT_FORMAT = 12, "Content-Format", Uint, 0..=2, false;
    /// Max-Age.
    MAX_AGE = 14, "Max-Age", Uint, 0..=4, false;
    /// Uri-Query.
    URI_QUERY = 15, "Uri-Query", String, 0..=255, true;
    /// Hop-Limit (RFC 8768).
    HOP_LIMIT = 16, "Hop-Limit", Uint, 1..=1, false;
    /// Accept.
    ACCEPT = 17, "Accept", Uint, 0..=2, false;
    /// Q-Block1 (RFC 9177).
    Q_BLOCK1 = 19, "Q-Block1", Uint, 0..=3, false;
    /// Location-Query.
    LOCATION_QUERY = 20, "Location-Query", String, 0..=255, true;
    /// EDHOC (RFC 9668).
    EDHOC = 21, "EDHOC", Empty, 0..=0, false;
    /// Block2 (RFC 7959).
    BLOCK2 = 23, "Block2", Uint, 0..=3, false;
    /// Block1 (RFC 7959).
    BLOCK1 = 27, "Block1", Uint, 0..=3, false;
    /// Size2 (RFC 7959).
    SIZE2 = 28, "Size2", Uint, 0..=4, false;
    /// Q-Block2 (RFC 9177).
    Q_BLOCK2 = 31, "Q-Block2", Uint, 0..=3, true;
    /// Proxy-Uri.
    PROXY_URI = 35, "Proxy-Uri", String, 1..=1034, false;
    /// Proxy-Scheme.
    PROXY_SCHEME = 39, "Proxy-Scheme", String, 1..=255, false;
    /// Size1.
    SIZE1 = 60, "Size1", Uint, 0..=4, false;
    /// Echo (RFC 9175).
    ECHO = 252, "Echo", Opaque, 1..=40, false;
    /// No-Response (RFC 7967).
    NO_RESPONSE = 258, "No-Response", Uint, 0..=1, false;
    /// Request-Tag (RFC 9175).
    REQUEST_TAG = 292, "Request-Tag", Opaque, 0..=8, true;
}
