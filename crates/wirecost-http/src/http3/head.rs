//! Heads of requests and responses as field sections (RFC 9114 section 4.3).

use wirecost_proto::Content;

use super::frame::{self, Header};
use super::qpack;
use crate::message::{Malformed, Method, RequestTemplate, Response, Status};

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestHead {
    /// Method; `None` where it is none that is known.
    pub(crate) method: Option<Method>,
    /// Path and query.
    pub(crate) path: String,
    /// Media type of the content.
    pub(crate) content_type: Option<String>,
    /// Bytes of the content, where the head says so.
    pub(crate) content_length: Option<u64>,
}

/// The head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    /// Status code.
    pub(crate) status: Status,
    /// Bytes of the content, where the head says so.
    pub(crate) content_length: Option<u64>,
}

/// A request up to its content: HEADERS, and the header of DATA where there is content.
pub(crate) fn encode_request(template: &RequestTemplate) -> Vec<u8> {
    let mut section = Section::new();
    section.push(":method", template.method().name());
    section.push(":scheme", "https");
    section.push(":authority", template.authority());
    section.push(":path", template.path());
    section.push_content(template.content_type(), template.content_length());
    section.into_frames(template.content().len())
}

/// A response up to its content, as [`encode_request`]; the response to a HEAD goes on with no content.
pub(crate) fn encode_response(response: &Response, to_head: bool) -> Vec<u8> {
    let status = response.status;
    let len = response.content.as_ref().map_or(0, Content::len);
    let mut section = Section::new();
    section.push(":status", status.code().to_string().as_str());
    if let Some(methods) = response.allow {
        section.push("allow", methods);
    }
    // The stream's end says the length as well; without content the field is left out.
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

    /// HEADERS with this section, and the header of a DATA frame of `content` bytes.
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
pub(crate) fn read_request(section: &[u8]) -> Result<RequestHead, Malformed> {
    let fields = Fields::read(section)?;
    let method = fields.pseudo(":method")?.ok_or(Malformed::Frames)?;
    let path = fields.pseudo(":path")?.ok_or(Malformed::Target)?;
    fields.pseudo(":scheme")?.ok_or(Malformed::Frames)?;
    let hosts = [fields.pseudo(":authority")?, fields.one("host")];
    let ([Some(_), _] | [_, Some(_)]) = hosts else {
        return Err(Malformed::Host(0));
    };
    if !path.starts_with('/') {
        return Err(Malformed::Target);
    }
    Ok(RequestHead {
        method: Method::from_name(method),
        path: path.into(),
        content_type: fields.one("content-type").map(String::from),
        content_length: fields.content_length()?,
    })
}

/// Reads the head of a response.
pub(crate) fn read_response(section: &[u8]) -> Result<ResponseHead, Malformed> {
    let fields = Fields::read(section)?;
    let status = fields.pseudo(":status")?.ok_or(Malformed::Frames)?;
    let code: u16 = status.parse().map_err(|_| Malformed::Head)?;
    Ok(ResponseHead {
        status: Status::new(code).ok_or(Malformed::Status(code))?,
        content_length: fields.content_length()?,
    })
}

/// Fields whose names and values are what HTTP allows.
struct Fields {
    fields: Vec<(String, String)>,
}

impl Fields {
    fn read(section: &[u8]) -> Result<Self, Malformed> {
        let mut fields: Vec<(String, String)> = Vec::new();
        for field in qpack::read(section).map_err(|_| Malformed::Head)? {
            let name = std::str::from_utf8(&field.name).map_err(|_| Malformed::Head)?;
            // RFC 9114 section 4.2: upper case, and the fields of a connection, are malformed.
            let is_name = !name.is_empty() && name.bytes().all(is_in_name);
            if !is_name
                || matches!(
                    name,
                    "connection" | "transfer-encoding" | "keep-alive" | "upgrade"
                )
            {
                return Err(Malformed::Head);
            }
            // Pseudo-fields stand in front (RFC 9114 section 4.3).
            let follows_regular = fields.last().is_some_and(|(last, _)| !last.starts_with(':'));
            if name.starts_with(':') && follows_regular {
                return Err(Malformed::Frames);
            }
            // RFC 9110 section 5.5: no control character.
            if field.value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
                return Err(Malformed::Head);
            }
            fields.push((name.into(), String::from_utf8_lossy(&field.value).into_owned()));
        }
        Ok(Self { fields })
    }

    /// The value of a pseudo-field, which must not stand twice.
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

/// A token (RFC 9110 section 5.6.2) without upper case; the colon is for pseudo-fields.
const fn is_in_name(byte: u8) -> bool {
    byte.is_ascii_lowercase()
        || byte.is_ascii_digit()
        || matches!(
            byte,
            b':' | b'!'
                | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

#[cfg(test)]
mod tests;
