//! Heads of requests and responses as field sections (RFC 9114 section 4.3).

use wirecost_proto::Content;

use super::frame::{self, Header};
use super::qpack::{self, SectionError};
use crate::fault::{Code, Fault};
use crate::message::{Malformed, Method, RequestTemplate, Response, Status, is_authority, is_in_token};

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestHead {
    /// The method, or `None` if it is unknown.
    pub(crate) method: Option<Method>,
    /// Path and query.
    pub(crate) path: String,
    /// Media type of the content.
    pub(crate) content_type: Option<String>,
    /// Announced bytes of content.
    pub(crate) content_length: Option<u64>,
}

/// The head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    /// Status code.
    pub(crate) status: Status,
    /// Announced bytes of content.
    pub(crate) content_length: Option<u64>,
}

/// A request up to its content: HEADERS and, if there is content, the header of DATA.
pub(crate) fn encode_request(template: &RequestTemplate) -> Vec<u8> {
    let mut section = Section::new();
    section.push(":method", template.method().name());
    section.push(":scheme", "https");
    section.push(":authority", template.authority());
    section.push(":path", template.path());
    if let Some(text) = template.user_agent() {
        section.push("user-agent", text);
    }
    if let Some(coding) = template.content_coding() {
        section.push("content-encoding", coding);
    }
    section.push_content(template.content_type(), template.content_length());
    section.into_frames(template.content().len())
}

/// A response up to its content, like [`encode_request`]. The response to a HEAD has no DATA.
pub(crate) fn encode_response(response: &Response, to_head: bool) -> Vec<u8> {
    let status = response.status;
    let len = response.content.as_ref().map_or(0, Content::len);
    let mut section = Section::new();
    section.push(":status", status.code().to_string().as_str());
    if let Some(methods) = response.allow {
        section.push("allow", methods);
    }
    // The end of the stream shows the length too. Without content, the field is left out.
    let says = (len > 0 && !status.forbids_content()).then_some(len);
    section.push_content(response.content_type.as_deref(), says);
    section.into_frames(if to_head { 0 } else { len })
}

struct Section {
    bytes: Vec<u8>,
}

impl Section {
    fn new() -> Self {
        let mut bytes = Vec::with_capacity(64);
        qpack::begin(&mut bytes);
        Self { bytes }
    }

    fn push(&mut self, name: &str, value: &str) {
        qpack::push(name.as_bytes(), value.as_bytes(), &mut self.bytes);
    }

    fn push_content(&mut self, content_type: Option<&str>, len: Option<usize>) {
        if let Some(text) = content_type {
            self.push("content-type", text);
        }
        if let Some(len) = len {
            self.push("content-length", len.to_string().as_str());
        }
    }

    /// HEADERS with this section, and the header of a DATA frame with `content` bytes.
    fn into_frames(self, content: usize) -> Vec<u8> {
        let mut frames = Vec::with_capacity(self.bytes.len() + 16);
        frame::push(frame::HEADERS, &self.bytes, &mut frames);
        if content > 0 {
            let len = content as u64;
            let kind = frame::DATA;
            Header { kind, len }.push(&mut frames);
        }
        frames
    }
}

/// Reads the head of a request.
///
/// # Errors
/// The outer error ends the connection: the section cannot be decoded (RFC 9204 section 6). The inner error ends the
/// request.
pub(crate) fn read_request(section: &[u8]) -> Result<Result<RequestHead, Malformed>, Fault> {
    Ok(Fields::read(section)?.and_then(|fields| request_head(&fields)))
}

fn request_head(fields: &Fields) -> Result<RequestHead, Malformed> {
    fields.expect_pseudo(&[":method", ":scheme", ":authority", ":path"])?;
    let method = fields.pseudo(":method")?.ok_or(Malformed::Frames)?;
    let (scheme, path) = (fields.pseudo(":scheme")?, fields.pseudo(":path")?);
    let (authority, host) = (fields.pseudo(":authority")?, fields.one("host"));
    // RFC 9114 section 4.3.1: if both are present, they are equal.
    if authority.zip(host).is_some_and(|(one, other)| one != other) {
        return Err(Malformed::Authority);
    }
    let name = authority.or(host).ok_or(Malformed::Host(0))?;
    if !is_authority(name.as_bytes()) || name.is_empty() {
        return Err(Malformed::Authority);
    }
    let method = Method::by_name(method);
    if method == Some(Method::Connect) {
        // RFC 9114 section 4.4.
        if scheme.is_some() || path.is_some() || authority.is_none() {
            return Err(Malformed::Frames);
        }
    } else {
        scheme.ok_or(Malformed::Frames)?;
        let is_of_server = method == Some(Method::Options) && path == Some("*");
        if !path.ok_or(Malformed::Target)?.starts_with('/') && !is_of_server {
            return Err(Malformed::Target);
        }
    }
    Ok(RequestHead {
        // This server is not a tunnel (RFC 9110 section 9.3.6).
        method: method.filter(|method| *method != Method::Connect),
        path: path.unwrap_or_default().into(),
        content_type: fields.one("content-type").map(String::from),
        content_length: fields.content_length()?,
    })
}

/// Reads the head of a response.
///
/// # Errors
/// As for [`read_request`].
pub(crate) fn read_response(section: &[u8]) -> Result<Result<ResponseHead, Malformed>, Fault> {
    Ok(Fields::read(section)?.and_then(|fields| response_head(&fields)))
}

fn response_head(fields: &Fields) -> Result<ResponseHead, Malformed> {
    fields.expect_pseudo(&[":status"])?;
    let status = fields.pseudo(":status")?.ok_or(Malformed::Frames)?;
    let is_code = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    let code: u16 = status.parse().ok().filter(|_| is_code).ok_or(Malformed::Head)?;
    if code == 101 {
        return Err(Malformed::Switching);
    }
    Ok(ResponseHead {
        status: Status::new(code).ok_or(Malformed::Status(code))?,
        content_length: fields.content_length()?,
    })
}

/// Checks trailers, which are otherwise ignored (RFC 9114 section 4.3: no pseudo-field).
///
/// # Errors
/// As for [`read_request`].
pub(crate) fn read_trailers(section: &[u8]) -> Result<Result<(), Malformed>, Fault> {
    Ok(Fields::read(section)?.and_then(|fields| fields.expect_pseudo(&[])))
}

/// Fields with valid names and values.
struct Fields {
    fields: Vec<(String, String)>,
}

impl Fields {
    fn read(section: &[u8]) -> Result<Result<Self, Malformed>, Fault> {
        // RFC 9204 section 2.2: a section that cannot be decoded ends the connection.
        let failed = |error: SectionError| Code::QpackDecompressionFailed.fault(error.reason());
        let read = qpack::read(section).map_err(failed)?;
        Ok(Self::check(&read))
    }

    fn check(read: &[qpack::Field<'_>]) -> Result<Self, Malformed> {
        let mut fields: Vec<(String, String)> = Vec::with_capacity(read.len());
        for field in read {
            let name = std::str::from_utf8(&field.name).map_err(|_| Malformed::Field)?;
            // RFC 9114 section 4.2: upper case and connection-specific fields are malformed.
            let is_name = !name.is_empty() && name.bytes().all(is_in_name);
            let is_value = field.value.iter().all(|byte| is_in_value(*byte));
            if !is_name || !is_value || is_of_connection(name, &field.value) {
                return Err(Malformed::Field);
            }
            // Pseudo-fields come first (RFC 9114 section 4.3).
            let follows_regular = fields.last().is_some_and(|(last, _)| !last.starts_with(':'));
            if name.starts_with(':') && follows_regular {
                return Err(Malformed::Frames);
            }
            fields.push((name.into(), String::from_utf8_lossy(&field.value).into_owned()));
        }
        Ok(Self { fields })
    }

    /// Checks that there are no pseudo-fields but these (RFC 9114 section 4.3).
    fn expect_pseudo(&self, known: &[&str]) -> Result<(), Malformed> {
        let mut pseudo = self.fields.iter().filter(|(name, _)| name.starts_with(':'));
        match pseudo.all(|(name, _)| known.contains(&name.as_str())) {
            true => Ok(()),
            false => Err(Malformed::Frames),
        }
    }

    /// The value of a pseudo-field, which must not occur twice.
    fn pseudo(&self, name: &str) -> Result<Option<&str>, Malformed> {
        let mut values = self.values(name);
        let first = values.next();
        match values.next() {
            Some(_) => Err(Malformed::Frames),
            None => Ok(first),
        }
    }

    fn one(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    fn content_length(&self) -> Result<Option<u64>, Malformed> {
        let mut lengths = self.values("content-length");
        let Some(first) = lengths.next() else {
            return Ok(None);
        };
        let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || lengths.any(|other| other != first) {
            return Err(Malformed::ContentLength);
        }
        first.parse().map(Some).map_err(|_| Malformed::ContentLength)
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.fields.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }
}

/// Whether a field is connection-specific (RFC 9114 section 4.2). TE may announce that trailers are accepted.
fn is_of_connection(name: &str, value: &[u8]) -> bool {
    match name {
        "connection" | "transfer-encoding" | "keep-alive" | "upgrade" | "proxy-connection" => true,
        "te" => !value.eq_ignore_ascii_case(b"trailers"),
        _ => false,
    }
}

/// RFC 9110 section 5.5: no control characters except the tab.
const fn is_in_value(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

/// A token (RFC 9110 section 5.6.2) without upper case. The colon is for pseudo-fields.
fn is_in_name(byte: u8) -> bool {
    byte == b':' || is_in_token(byte) && !byte.is_ascii_uppercase()
}

#[cfg(test)]
mod tests;
