//! Numbers of content formats (RFC 7252 section 12.3 and the registry).

/// text/plain; charset=utf-8.
pub const TEXT_PLAIN: u16 = 0;
/// application/link-format.
pub const LINK_FORMAT: u16 = 40;
/// application/xml.
pub const XML: u16 = 41;
/// application/octet-stream.
pub const OCTET_STREAM: u16 = 42;
/// application/json.
pub const JSON: u16 = 50;
/// application/cbor.
pub const CBOR: u16 = 60;
