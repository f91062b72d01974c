//! TLS 1.3 of rustls for quinn-proto (RFC 9001), with keys that note their packets.
//!
//! quinn-proto has an adapter of its own. But it does not report whether a handshake resumed, and its keys cannot be
//! wrapped.

use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;

use quinn_proto::crypto::{
    self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;
use rustls::quic::{Connection, KeyChange, Secrets, Suite, Version};

use rustls::HandshakeKind;
use wirecost_security::tls::ConfigError;

use super::packet::VERSION_1;
use super::tap::{Tap, header_key};
use crate::http3::varint;

/// Creates a client's sessions.
pub(crate) struct ClientCrypto {
    tls: Arc<rustls::ClientConfig>,
    initial: Suite,
    tap: Tap,
}

impl ClientCrypto {
    /// The crypto of a client.
    pub(crate) fn new(tls: Arc<rustls::ClientConfig>, tap: Tap) -> Result<Self, ConfigError> {
        let initial = initial_suite().ok_or(unusable(NO_SUITE))?;
        Ok(Self { tls, initial, tap })
    }
}

impl crypto::ClientConfig for ClientCrypto {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        if version != VERSION_1 {
            return Err(ConnectError::UnsupportedVersion);
        }
        let invalid = || ConnectError::InvalidServerName(server_name.into());
        let name = ServerName::try_from(server_name)
            .map_err(|_| invalid())?
            .to_owned();
        let connection =
            rustls::quic::ClientConnection::new(self.tls.clone(), Version::V1, name, encode(params))
                .map_err(|_| invalid())?;
        Ok(Box::new(Session::new(
            Some(connection.into()),
            self.initial,
            self.tap.clone(),
        )))
    }
}

/// Creates a server's sessions.
pub(crate) struct ServerCrypto {
    tls: Arc<rustls::ServerConfig>,
    initial: Suite,
    tap: Tap,
}

impl ServerCrypto {
    /// The crypto of a server. Tests the configuration once.
    pub(crate) fn new(tls: Arc<rustls::ServerConfig>, tap: Tap) -> Result<Self, ConfigError> {
        let initial = initial_suite().ok_or(unusable(NO_SUITE))?;
        rustls::quic::ServerConnection::new(tls.clone(), Version::V1, Vec::new()).map_err(unusable)?;
        Ok(Self { tls, initial, tap })
    }
}

fn unusable(reason: impl ToString) -> ConfigError {
    ConfigError::Unusable {
        what: "versions",
        reason: reason.to_string(),
    }
}

/// Why a provider cannot be used.
const NO_SUITE: &str = "no TLS_AES_128_GCM_SHA256";

/// The suite of Initial packets (RFC 9001 section 5.2), whichever suite TLS has.
fn initial_suite() -> Option<Suite> {
    TLS13_AES_128_GCM_SHA256.tls13()?.quic_suite()
}

impl crypto::ServerConfig for ServerCrypto {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        if version != VERSION_1 {
            return Err(UnsupportedVersion);
        }
        Ok(initial_keys(self.initial, dst_cid, Side::Server, &self.tap))
    }

    fn retry_tag(&self, _version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        super::retry::tag(orig_dst_cid, packet).unwrap_or_default()
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        // The configuration was tested when the server was created. Only missing random bytes can make this fail.
        let connection = rustls::quic::ServerConnection::new(self.tls.clone(), Version::V1, encode(params))
            .inspect_err(|error| self.tap.note_fault(error.clone()));
        let connection = connection.ok().map(Connection::from);
        Box::new(Session::new(connection, self.initial, self.tap.clone()))
    }
}

/// The transport parameters without the reserved one. Its random length would make sizes depend on chance (RFC 9000
/// section 18.1 allows it but does not require it).
fn encode(params: &TransportParameters) -> Vec<u8> {
    let mut bytes = Vec::new();
    params.write(&mut bytes);
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while let Some((number, parameter)) = next_parameter(&mut rest) {
        if number % 31 != 27 {
            kept.extend_from_slice(parameter);
        }
    }
    kept
}

/// Removes the first parameter. Returns its number and all its bytes.
fn next_parameter<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let (number, number_len) = varint::read(rest)?;
    let (len, len_len) = varint::read(rest.get(number_len..)?)?;
    let whole = (number_len + len_len).checked_add(usize::try_from(len).ok()?)?;
    let (parameter, tail) = rest.split_at_checked(whole)?;
    *rest = tail;
    Some((number, parameter))
}

fn initial_keys(suite: Suite, dst_cid: &ConnectionId, side: Side, tap: &Tap) -> Keys {
    tap.keys(suite.keys(dst_cid, side.into(), Version::V1))
}

/// A handshake and its keys.
struct Session {
    /// `None` if the system failed to start it. Every step then fails.
    tls: Option<Connection>,
    initial: Suite,
    tap: Tap,
    /// The secrets for the keys of the next key phase.
    next: Option<Secrets>,
    has_reported: bool,
}

impl Session {
    fn new(tls: Option<Connection>, initial: Suite, tap: Tap) -> Self {
        Self {
            tls,
            initial,
            tap,
            next: None,
            has_reported: false,
        }
    }

    fn transport_error(&self, error: &rustls::Error) -> TransportError {
        self.tap.note_fault(error.clone());
        // RFC 9001 section 4.8: an alert becomes the error code 0x100 plus the alert's number.
        let alert = self.tls.as_ref().and_then(Connection::alert);
        let code = alert.map_or(TransportErrorCode::PROTOCOL_VIOLATION, |alert| {
            TransportErrorCode::crypto(alert.into())
        });
        TransportError {
            code,
            frame: None,
            reason: error.to_string(),
        }
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        initial_keys(self.initial, dst_cid, side, &self.tap)
    }

    /// A `bool`: whether an earlier session was resumed.
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let kind = self.tls.as_ref()?.handshake_kind()?;
        Some(Box::new(kind == HandshakeKind::Resumed))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.tls.as_ref()?.zero_rtt_keys()?;
        Some((header_key(keys.header), self.tap.packet_key(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        match self.tls.as_ref()? {
            Connection::Client(client) => Some(client.is_early_data_accepted()),
            Connection::Server(_) => None,
        }
    }

    fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.is_handshaking())
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let Some(tls) = &mut self.tls else {
            return Err(TransportError {
                code: TransportErrorCode::INTERNAL_ERROR,
                frame: None,
                reason: "the handshake could not start".to_owned(),
            });
        };
        if let Err(error) = tls.read_hs(buf) {
            return Err(self.transport_error(&error));
        }
        let is_news = !self.has_reported && tls.handshake_kind().is_some();
        self.has_reported |= is_news;
        Ok(is_news)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(tls) = &self.tls else { return Ok(None) };
        let side = match tls {
            Connection::Client(_) => Side::Client,
            Connection::Server(_) => Side::Server,
        };
        let parameters = tls.quic_transport_parameters();
        let read = parameters.map(|bytes| TransportParameters::read(side, &mut Cursor::new(bytes)));
        Ok(read.transpose()?)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = match self.tls.as_mut()?.write_hs(buf)? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        };
        Some(self.tap.keys(keys))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(self.tap.packet_keys(keys))
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        super::retry::is_valid(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let tls = self.tls.as_ref().ok_or(ExportKeyingMaterialError)?;
        tls.export_keying_material(output, label, Some(context))
            .map_err(|_| ExportKeyingMaterialError)?;
        Ok(())
    }
}
