//! Handshake messages (RFC 5246 section 7.4, RFC 6347 section 4.2).

use super::protection::VERSION;
use crate::dtls::fields::{Reader, push_vector};

/// Types of handshake messages.
pub(super) mod kind {
    pub(in crate::dtls::psk) const CLIENT_HELLO: u8 = 1;
    pub(in crate::dtls::psk) const SERVER_HELLO: u8 = 2;
    pub(in crate::dtls::psk) const HELLO_VERIFY_REQUEST: u8 = 3;
    pub(in crate::dtls::psk) const SERVER_KEY_EXCHANGE: u8 = 12;
    pub(in crate::dtls::psk) const SERVER_HELLO_DONE: u8 = 14;
    pub(in crate::dtls::psk) const CLIENT_KEY_EXCHANGE: u8 = 16;
    pub(in crate::dtls::psk) const FINISHED: u8 = 20;
}

/// TLS_PSK_WITH_AES_128_CCM_8 (RFC 6655 section 4).
pub(super) const PSK_AES_128_CCM_8: u16 = 0xc0a8;
/// TLS_EMPTY_RENEGOTIATION_INFO_SCSV (RFC 5746 section 3.3).
const RENEGOTIATION_SCSV: u16 = 0x00ff;

/// Numbers of extensions.
mod extension {
    /// RFC 7627 section 5.1.
    pub(super) const EXTENDED_MASTER_SECRET: u16 = 23;
    /// RFC 8446 section 4.2.1.
    pub(super) const SUPPORTED_VERSIONS: u16 = 43;
    /// RFC 9146 section 3.
    pub(super) const CONNECTION_ID: u16 = 54;
    /// RFC 5746 section 3.2.
    pub(super) const RENEGOTIATION_INFO: u16 = 0xff01;
}

/// The numbers of two bytes in a list.
fn pairs(list: &[u8]) -> impl Iterator<Item = u16> {
    list.chunks_exact(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

/// The extensions that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extensions<'a> {
    pub(super) extended_master_secret: bool,
    /// The ID that the sender wants to receive, which may be empty.
    pub(super) connection_id: Option<&'a [u8]>,
    /// Whether the sender knows RFC 5746.
    renegotiation_info: bool,
    /// Whether the sender offers DTLS 1.3.
    dtls_13: bool,
}

impl<'a> Extensions<'a> {
    fn parse(mut reader: Reader<'a>) -> Option<Self> {
        let mut found = Self::default();
        if reader.is_empty() {
            return Some(found);
        }
        let mut list = Reader::new(reader.vector(2)?);
        while !list.is_empty() {
            let number = u16::try_from(list.number(2)?).ok()?;
            let body = list.vector(2)?;
            match number {
                extension::EXTENDED_MASTER_SECRET => found.extended_master_secret = true,
                extension::CONNECTION_ID => found.connection_id = Some(Reader::new(body).vector(1)?),
                extension::RENEGOTIATION_INFO => found.renegotiation_info = true,
                extension::SUPPORTED_VERSIONS => {
                    let versions = Reader::new(body).vector(1).unwrap_or_default();
                    found.dtls_13 = pairs(versions).any(|version| version == 0xfefc);
                }
                _ => {}
            }
        }
        Some(found)
    }

    fn push(self, out: &mut Vec<u8>) {
        let mut list = Vec::new();
        let mut push = |number: u16, body: &[u8]| {
            list.extend_from_slice(&number.to_be_bytes());
            push_vector(2, body, &mut list);
        };
        if self.extended_master_secret {
            push(extension::EXTENDED_MASTER_SECRET, &[]);
        }
        if self.renegotiation_info {
            push(extension::RENEGOTIATION_INFO, &[0]);
        }
        if let Some(id) = self.connection_id {
            let mut body = Vec::with_capacity(1 + id.len());
            push_vector(1, id, &mut body);
            push(extension::CONNECTION_ID, &body);
        }
        if !list.is_empty() {
            push_vector(2, &list, out);
        }
    }
}

/// A ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientHello<'a> {
    version: [u8; 2],
    pub(super) random: [u8; 32],
    pub(super) session_id: &'a [u8],
    pub(super) cookie: &'a [u8],
    suites: &'a [u8],
    compressions: &'a [u8],
    pub(super) extensions: Extensions<'a>,
}

impl<'a> ClientHello<'a> {
    /// Parses the body of a whole message.
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        Some(Self {
            version: reader.array()?,
            random: reader.array()?,
            session_id: reader.vector(1)?,
            cookie: reader.vector(1)?,
            suites: reader.vector(2)?,
            compressions: reader.vector(1)?,
            extensions: Extensions::parse(reader)?,
        })
    }

    /// Whether a server with a pre-shared key can accept it.
    pub(super) fn is_acceptable(&self) -> bool {
        // Versions count down: 255 is DTLS 1.0, 253 is DTLS 1.2.
        self.version[0] == VERSION[0]
            && self.version[1] <= VERSION[1]
            && pairs(self.suites).any(|suite| suite == PSK_AES_128_CCM_8)
            && self.compressions.contains(&0)
    }

    /// Whether the client knows RFC 5746 and expects its extension.
    pub(super) fn has_renegotiation_info(&self) -> bool {
        self.extensions.renegotiation_info || pairs(self.suites).any(|suite| suite == RENEGOTIATION_SCSV)
    }
}

/// What a ClientHello offers to a server that has other credentials besides pre-shared keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dtls) struct Offered {
    /// Whether it offers DTLS 1.3.
    pub(in crate::dtls) dtls_13: bool,
    /// Whether it offers our suite of pre-shared keys before `other`, or without it.
    pub(in crate::dtls) psk_first: bool,
}

/// What the whole ClientHello in `body` offers. `other` is the suite of the server's other credentials.
pub(in crate::dtls) fn offers(body: &[u8], other: u16) -> Option<Offered> {
    let hello = ClientHello::parse(body)?;
    let first = pairs(hello.suites).find(|suite| [PSK_AES_128_CCM_8, other].contains(suite));
    Some(Offered {
        dtls_13: hello.extensions.dtls_13,
        psk_first: first == Some(PSK_AES_128_CCM_8),
    })
}

/// The body of a ClientHello with our suite. `connection_id` is the ID that the client wants to receive.
pub(super) fn client_hello(
    random: &[u8; 32],
    session_id: &[u8],
    cookie: &[u8],
    connection_id: Option<&[u8]>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(&VERSION);
    out.extend_from_slice(random);
    push_vector(1, session_id, &mut out);
    push_vector(1, cookie, &mut out);
    let suites = [PSK_AES_128_CCM_8, RENEGOTIATION_SCSV].map(u16::to_be_bytes);
    push_vector(2, suites.as_flattened(), &mut out);
    push_vector(1, &[0], &mut out);
    let extensions = Extensions {
        extended_master_secret: true,
        connection_id,
        ..Extensions::default()
    };
    extensions.push(&mut out);
    out
}

/// A ServerHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerHello<'a> {
    version: [u8; 2],
    pub(super) random: [u8; 32],
    pub(super) session_id: &'a [u8],
    suite: u16,
    compression: u8,
    pub(super) extensions: Extensions<'a>,
}

impl<'a> ServerHello<'a> {
    /// Parses the body of a whole message.
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        Some(Self {
            version: reader.array()?,
            random: reader.array()?,
            session_id: reader.vector(1)?,
            suite: u16::from_be_bytes(reader.array()?),
            compression: reader.array::<1>()?[0],
            extensions: Extensions::parse(reader)?,
        })
    }

    /// Whether it accepts what [`client_hello`] offers.
    pub(super) fn is_acceptable(&self) -> bool {
        self.version == VERSION && self.suite == PSK_AES_128_CCM_8 && self.compression == 0
    }
}

/// The body of the ServerHello that answers `hello`.
pub(super) fn server_hello(
    hello: &ClientHello<'_>,
    random: &[u8; 32],
    session_id: &[u8],
    connection_id: Option<&[u8]>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    out.extend_from_slice(&VERSION);
    out.extend_from_slice(random);
    push_vector(1, session_id, &mut out);
    out.extend_from_slice(&PSK_AES_128_CCM_8.to_be_bytes());
    out.push(0);
    let extensions = Extensions {
        extended_master_secret: hello.extensions.extended_master_secret,
        renegotiation_info: hello.has_renegotiation_info(),
        connection_id,
        ..Extensions::default()
    };
    extensions.push(&mut out);
    out
}

/// The body of a HelloVerifyRequest. Its version is that of DTLS 1.0, whatever is negotiated later (RFC 6347 section
/// 4.2.1).
pub(super) fn hello_verify_request(cookie: &[u8]) -> Vec<u8> {
    let mut out = vec![254, 255];
    push_vector(1, cookie, &mut out);
    out
}

/// The cookie of a HelloVerifyRequest.
pub(super) fn cookie(body: &[u8]) -> Option<&[u8]> {
    Reader::new(body.get(2..)?).vector(1)
}

/// The body of a ClientKeyExchange: the identity (RFC 4279 section 2).
pub(super) fn client_key_exchange(identity: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + identity.len());
    push_vector(2, identity, &mut out);
    out
}

/// The identity of a ClientKeyExchange.
pub(super) fn identity(body: &[u8]) -> Option<&[u8]> {
    Reader::new(body).vector(2)
}
