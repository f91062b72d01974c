//! ClientHello and ServerHello: the fields that determine the keys (RFC 5246 section 7.4.1, RFC 8446 section 4.1).

use wirecost_http::http3::open::{Label, Secrets};
use wirecost_proto::BothWays;

use crate::crypto::schedule::Keys;
use crate::crypto::suite::Suite;

/// Handshake types (RFC 8446 section 4, RFC 5246 section 7.4).
pub(crate) mod handshake_type {
    pub(crate) const CLIENT_HELLO: u8 = 1;
    pub(crate) const SERVER_HELLO: u8 = 2;
    /// Of DTLS 1.2 (RFC 6347 section 4.2.1).
    pub(crate) const HELLO_VERIFY_REQUEST: u8 = 3;
    pub(crate) const END_OF_EARLY_DATA: u8 = 5;
    pub(crate) const ENCRYPTED_EXTENSIONS: u8 = 8;
    pub(crate) const CERTIFICATE: u8 = 11;
    /// Of TLS 1.2.
    pub(crate) const SERVER_KEY_EXCHANGE: u8 = 12;
    /// Of TLS 1.2.
    pub(crate) const SERVER_HELLO_DONE: u8 = 14;
    pub(crate) const FINISHED: u8 = 20;
    pub(crate) const KEY_UPDATE: u8 = 24;
}

/// Extension types (RFC 8446 section 4.2).
const PRE_SHARED_KEY: u16 = 41;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;
const COOKIE: u16 = 44;
const KEY_SHARE: u16 = 51;
/// RFC 9146 section 3.
const CONNECTION_ID: u16 = 54;

/// The most certificates of a chain that are read.
const MAX_CERTIFICATES: usize = 16;

/// The random of a HelloRetryRequest (RFC 8446 section 4.1.3).
const HELLO_RETRY_REQUEST: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// The fields of a ServerHello that determine the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerHello {
    pub(crate) random: [u8; 32],
    pub(crate) suite: u16,
    /// The version on the wire: from supported_versions if the extension is present.
    pub(crate) version: u16,
    /// The group of its key share, or the one that a HelloRetryRequest asks for.
    pub(crate) group: Option<u16>,
    /// Whether it takes a pre-shared key: that of a ticket, if the client had one.
    pub(crate) takes_psk: bool,
    /// Whether it asks for a cookie, in a HelloRetryRequest.
    pub(crate) has_cookie: bool,
}

impl ServerHello {
    /// The ServerHello in a handshake message's body.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let legacy_version = fields.u16()?;
        let random = *fields.take(32)?.first_chunk()?;
        fields.vector8()?;
        let suite = fields.u16()?;
        fields.take(1)?;
        let extensions = fields.vector16().unwrap_or_default();
        let chosen = extension(extensions, SUPPORTED_VERSIONS).and_then(|body| Fields(body).u16());
        Some(Self {
            random,
            suite,
            version: chosen.unwrap_or(legacy_version),
            group: extension(extensions, KEY_SHARE).and_then(|body| Fields(body).u16()),
            takes_psk: extension(extensions, PRE_SHARED_KEY).is_some(),
            has_cookie: extension(extensions, COOKIE).is_some(),
        })
    }

    /// Bytes of the connection ID that the server wants to receive; `None` if it grants none.
    pub(crate) fn connection_id_bytes(body: &[u8]) -> Option<usize> {
        let mut fields = Fields(body);
        fields.take(2 + 32)?;
        fields.vector8()?;
        fields.take(2 + 1)?;
        Some(
            Fields(extension(fields.vector16()?, CONNECTION_ID)?)
                .vector8()?
                .len(),
        )
    }

    /// Whether it is a HelloRetryRequest.
    pub(crate) fn is_retry(&self) -> bool {
        self.random == HELLO_RETRY_REQUEST
    }
}

/// The hellos of a connection, which determine its keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    pub(crate) client_random: Option<[u8; 32]>,
    pub(crate) server_hello: Option<ServerHello>,
}

impl Handshake {
    /// The negotiated version on the wire.
    pub(crate) fn version(&self) -> Option<u16> {
        self.server_hello.map(|hello| hello.version)
    }

    /// The suite and a secret of the connection, or why they are unknown.
    pub(crate) fn secret<'a>(
        &self,
        secrets: &'a Secrets,
        label: Label,
    ) -> Result<(Suite, &'a [u8]), &'static str> {
        let (random, hello) = self.hellos()?;
        let suite = Suite::new(hello.suite).ok_or("an unsupported cipher suite")?;
        let secret = secrets.find(&random, label).ok_or("encrypted, no secrets")?;
        Ok((suite, secret))
    }

    /// The suite and both sides' keys of TLS 1.2 or DTLS 1.2, or why they are unknown.
    pub(crate) fn keys_1_2(&self, secrets: &Secrets) -> Result<(Suite, BothWays<Keys>), &'static str> {
        let (suite, master) = self.secret(secrets, Label::Master)?;
        let (random, hello) = self.hellos()?;
        let keys = Keys::of_master_secret(suite, master, &random, &hello.random);
        Ok((suite, keys.ok_or("an invalid secret")?))
    }

    fn hellos(&self) -> Result<([u8; 32], ServerHello), &'static str> {
        let hellos = self.client_random.zip(self.server_hello);
        hellos.ok_or("a handshake that was not captured")
    }
}

/// The random of a ClientHello in a handshake message's body.
pub(crate) fn client_random(body: &[u8]) -> Option<[u8; 32]> {
    body.get(2..)?.first_chunk().copied()
}

/// The certificates in the body of a Certificate message, the leaf first (RFC 8446 section 4.4.2, RFC 5246 section 7.4.2).
pub(crate) fn certificates(body: &[u8], is_tls_1_3: bool) -> Vec<&[u8]> {
    let mut fields = Fields(body);
    if is_tls_1_3 {
        fields.vector8();
    }
    let mut list = Fields(fields.vector24().unwrap_or_default());
    let mut all = Vec::new();
    while let Some(certificate) = list.vector24().filter(|_| all.len() < MAX_CERTIFICATES) {
        all.push(certificate);
        if is_tls_1_3 && list.vector16().is_none() {
            break;
        }
    }
    all
}

/// The group of a ServerKeyExchange of TLS 1.2 (RFC 8422 section 5.4).
pub(crate) fn key_exchange_group(body: &[u8]) -> Option<u16> {
    /// named_curve.
    const NAMED: &[u8] = &[3];
    let mut fields = Fields(body);
    fields.take(1).filter(|kind| *kind == NAMED)?;
    fields.u16()
}

/// Type and body of the handshake message at the start of `bytes`, and the bytes after it (RFC 8446 section 4).
pub(crate) fn message(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let ([kind, a, b, c], rest) = bytes.split_first_chunk()?;
    let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
    let (body, after) = rest.split_at_checked(length)?;
    Some((*kind, body, after))
}

/// Bytes of the connection ID that the client of a DTLS ClientHello wants to receive; 0 if it asks for none.
pub(crate) fn client_id_bytes(body: &[u8]) -> usize {
    let id = || {
        let mut fields = Fields(body);
        fields.take(2 + 32)?;
        // Session ID and cookie (RFC 6347 section 4.2.1), suites, compressions.
        fields.vector8()?;
        fields.vector8()?;
        fields.vector16()?;
        fields.vector8()?;
        Fields(extension(fields.vector16()?, CONNECTION_ID)?).vector8()
    };
    id().map_or(0, <[u8]>::len)
}

/// Whether EncryptedExtensions say that the server accepts early data (RFC 8446 section 4.2.10).
pub(crate) fn accepts_early_data(body: &[u8]) -> bool {
    let extensions = Fields(body).vector16().unwrap_or_default();
    extension(extensions, EARLY_DATA).is_some()
}

fn extension(extensions: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut fields = Fields(extensions);
    loop {
        let kind = fields.u16()?;
        let body = fields.vector16()?;
        if kind == wanted {
            return Some(body);
        }
    }
}

/// Reads fields from front to back.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.first_chunk()?;
        Some(u16::from_be_bytes(*bytes))
    }

    /// A vector with a length of one byte.
    fn vector8(&mut self) -> Option<&'a [u8]> {
        let length = *self.take(1)?.first()?;
        self.take(usize::from(length))
    }

    /// A vector with a length of three bytes.
    fn vector24(&mut self) -> Option<&'a [u8]> {
        let high = *self.take(1)?.first()?;
        let low = self.u16()?;
        self.take(usize::from(high) << 16 | usize::from(low))
    }

    /// A vector with a length of two bytes.
    fn vector16(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }
}
