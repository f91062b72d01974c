//! TLS 1.3 between two processes of one run: the client knows the certificate of its server by its hash, and both know
//! a secret.
//!
//! ```text
//! server: Identity -> Pin, into a file together with a Secret
//! client: Pin -> handshake, only with this very certificate -> Proof of the Secret for a nonce of its own
//! ```
//!
//! A [`Session`] has no IO: [`Session::take`] takes bytes of the peer and returns what they say, [`Session::put`]
//! returns the bytes that say something to the peer.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::str::FromStr;
use std::sync::Arc;

use aws_lc_rs::{constant_time, digest, hmac};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConnection, Connection, DigitallySignedStruct, Error, ServerConnection,
    SignatureScheme, version,
};

use crate::certificate::Identity;
use crate::entropy::{Entropy, NoEntropy};
use crate::provider;

/// Bytes of a hash, a secret and a proof.
const BYTES: usize = 32;
/// The name that a client asks for. The hash of the certificate decides, not the names in it.
const NAME: &str = "coordinator";

/// The SHA-256 hash of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin([u8; BYTES]);

/// A secret of a run. Its text is for a file of mode 0600 alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; BYTES]);

/// A text is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hexadecimal digits")]
pub struct NotHex;

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The server has another certificate than the pinned one.
    #[error("the server has another certificate")]
    OtherCertificate,
    /// The peer broke the protocol, or a key cannot be used.
    #[error("{0}")]
    Tls(String),
}

impl From<Error> for SessionError {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
                Self::OtherCertificate
            }
            other => Self::Tls(other.to_string()),
        }
    }
}

impl Pin {
    /// The hash of the first certificate of `identity`.
    pub fn from_identity(identity: &Identity) -> Self {
        Self::of_der(identity.certificate())
    }

    fn of_der(der: &[u8]) -> Self {
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, der).as_ref());
        Self(bytes)
    }
}

impl Secret {
    /// A new secret of the system's randomness.
    ///
    /// # Errors
    /// The system has none.
    pub fn generate() -> Result<Self, NoEntropy> {
        let mut bytes = [0; BYTES];
        Entropy::system().fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// What a process that knows the secret can say about `nonce`: HMAC-SHA-256 (RFC 2104).
    pub fn proof(&self, nonce: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        hex(hmac::sign(&key, nonce.as_bytes()).as_ref())
    }

    /// Whether `proof` is that of `nonce`. The time that this takes does not depend on the proof.
    pub fn is_proven(&self, nonce: &str, proof: &str) -> bool {
        constant_time::verify_slices_are_equal(self.proof(nonce).as_bytes(), proof.as_bytes()).is_ok()
    }

    /// The text for the file.
    pub fn reveal(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for Pin {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        unhex(text).map(Self)
    }
}

impl FromStr for Secret {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        unhex(text).map(Self)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<[u8; BYTES], NotHex> {
    let digits = text.as_bytes();
    if digits.len() != 2 * BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(NotHex);
    }
    let mut bytes = [0; BYTES];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| NotHex)?;
    }
    Ok(bytes)
}

/// One end of a connection.
pub struct Session(Connection);

impl Session {
    /// The server's end.
    ///
    /// # Errors
    /// The identity cannot be used.
    pub fn server(identity: &Identity) -> Result<Self, SessionError> {
        let chain = identity
            .chain()
            .iter()
            .cloned()
            .map(CertificateDer::from)
            .collect();
        let key: PrivateKeyDer<'static> = PrivatePkcs8KeyDer::from(identity.private_key().to_vec()).into();
        let mut config = rustls::ServerConfig::builder_with_provider(provider::standard())
            .with_protocol_versions(&[&version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        // No client resumes a session.
        config.send_tls13_tickets = 0;
        Ok(Self::with_room(ServerConnection::new(Arc::new(config))?.into()))
    }

    /// The client's end, which speaks only to a server with this certificate.
    ///
    /// # Errors
    /// None with a working library.
    pub fn client(pin: Pin) -> Result<Self, SessionError> {
        let provider = provider::standard();
        let algorithms = provider.signature_verification_algorithms;
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned { pin, algorithms }))
            .with_no_client_auth();
        let name = ServerName::try_from(NAME).map_err(|error| SessionError::Tls(error.to_string()))?;
        Ok(Self::with_room(
            ClientConnection::new(Arc::new(config), name)?.into(),
        ))
    }

    /// A message may be longer than the library's default limit: its caller takes all of its bytes at once.
    fn with_room(mut connection: Connection) -> Self {
        connection.set_buffer_limit(None);
        Self(connection)
    }

    /// Whether the handshake is still going on.
    pub fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Takes bytes of the peer and adds what they say to `said`.
    ///
    /// # Errors
    /// The peer is another one, or broke the protocol. [`Session::bytes`] has the alert that tells it so.
    pub fn take(&mut self, mut bytes: &[u8], said: &mut Vec<u8>) -> Result<(), SessionError> {
        while !bytes.is_empty() {
            let taken = self.0.read_tls(&mut bytes);
            if taken.map_err(|error| SessionError::Tls(error.to_string()))? == 0 {
                break;
            }
            let state = self.0.process_new_packets()?;
            let before = said.len();
            said.resize(before + state.plaintext_bytes_to_read(), 0);
            // All of these bytes are there.
            let read = self.0.reader().read_exact(&mut said[before..]);
            read.map_err(|error| SessionError::Tls(error.to_string()))?;
        }
        Ok(())
    }

    /// The bytes that say `text` to the peer, after those that are due already.
    pub fn put(&mut self, text: &[u8]) -> Vec<u8> {
        // Without a limit, writing to memory does not fail.
        drop(self.0.writer().write_all(text));
        self.bytes()
    }

    /// The bytes that are due.
    pub fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.0.wants_write() {
            if self.0.write_tls(&mut bytes).is_err() {
                break;
            }
        }
        bytes
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned {
    pin: Pin,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match Pin::of_der(end_entity) == self.pin {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Authority;

    fn identity() -> Identity {
        let authority = Authority::generate().expect("an authority");
        Identity::generate(&authority).expect("an identity")
    }

    /// Passes bytes between both ends until the handshake is over.
    fn shake(client: &mut Session, server: &mut Session) -> Result<(), SessionError> {
        let mut said = Vec::new();
        while client.is_handshaking() || server.is_handshaking() {
            server.take(&client.bytes(), &mut said)?;
            client.take(&server.bytes(), &mut said)?;
        }
        assert!(said.is_empty());
        Ok(())
    }

    #[test]
    fn both_ends_say_long_texts_to_each_other() {
        let identity = identity();
        let mut server = Session::server(&identity).expect("a server");
        let mut client = Session::client(Pin::from_identity(&identity)).expect("a client");
        shake(&mut client, &mut server).expect("a handshake");
        let text = vec![b'x'; 300_000];
        let bytes = client.put(&text);
        assert!(!bytes.windows(64).any(|window| window == &text[..64]));
        let mut said = Vec::new();
        for piece in bytes.chunks(1_000) {
            server.take(piece, &mut said).expect("it goes on");
        }
        assert_eq!(said, text);
        let mut said = Vec::new();
        client.take(&server.put(b"yes"), &mut said).expect("it goes on");
        assert_eq!(said, b"yes");
    }

    #[test]
    fn a_client_speaks_to_no_other_server() {
        let mut server = Session::server(&identity()).expect("a server");
        let mut client = Session::client(Pin::from_identity(&identity())).expect("a client");
        let refused = shake(&mut client, &mut server);
        assert_eq!(refused, Err(SessionError::OtherCertificate));
    }

    #[test]
    fn a_proof_belongs_to_one_secret_and_one_nonce() {
        let (one, other) = (Secret::generate().expect("one"), Secret::generate().expect("one"));
        let proof = one.proof("a");
        assert!(one.is_proven("a", &proof));
        assert!(!one.is_proven("b", &proof) && !other.is_proven("a", &proof) && !one.is_proven("a", ""));
        assert_eq!(one.reveal().parse::<Secret>().as_ref(), Ok(&one));
        assert!(!proof.contains(&one.reveal()) && format!("{one:?}") == "Secret");
        assert_eq!("12".parse::<Pin>(), Err(NotHex));
        assert_eq!("é".repeat(32).parse::<Pin>(), Err(NotHex));
    }
}
