//! One end of a DTLS 1.3 connection that wolfSSL keeps, without sockets: datagrams go in and come out of queues.

use std::collections::VecDeque;

use bytes::BytesMut;
use wolfssl::{
    Context, ContextBuilder, CurveGroup, IOCallbackResult, IOCallbacks, Method, Poll, ProtocolVersion,
    RootCertificate, Secret, Session, SessionConfig,
};

/// Datagrams that wait on either side of a session.
#[derive(Debug, Default)]
struct Queues {
    received: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

impl IOCallbacks for Queues {
    fn recv(&mut self, buffer: &mut [u8]) -> IOCallbackResult<usize> {
        let Some(datagram) = self.received.pop_front() else {
            return IOCallbackResult::WouldBlock;
        };
        let taken = datagram.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&datagram[..taken]);
        IOCallbackResult::Ok(taken)
    }

    fn send(&mut self, bytes: &[u8]) -> IOCallbackResult<usize> {
        self.sent.push(bytes.to_vec());
        IOCallbackResult::Ok(bytes.len())
    }
}

/// One end of a connection.
pub struct Peer(Session<Queues>);

impl Peer {
    /// A client that trusts `authority`, a certificate in DER, and knows the server by `name`.
    pub fn client(authority: &[u8], name: &str) -> Self {
        let context = ContextBuilder::new(Method::DtlsClientV1_3)
            .expect("DTLS 1.3")
            .with_root_certificate(RootCertificate::Asn1Buffer(authority))
            .expect("an authority");
        let config = SessionConfig::new(Queues::default())
            .with_keyshare_group(CurveGroup::EccX25519)
            .with_checked_domain_name(name);
        Self::new(&context.build(), config)
    }

    /// A server with a certificate and a key in DER.
    pub fn server(certificate: &[u8], key: &[u8]) -> Self {
        let context = ContextBuilder::new(Method::DtlsServerV1_3)
            .expect("DTLS 1.3")
            .with_certificate(Secret::Asn1Buffer(certificate))
            .expect("a certificate")
            .with_private_key(Secret::Asn1Buffer(key))
            .expect("a private key");
        Self::new(&context.build(), SessionConfig::new(Queues::default()))
    }

    fn new(context: &Context, config: SessionConfig<Queues>) -> Self {
        let session = context.new_session(config.with_dtls_nonblocking(true));
        Self(session.expect("a session"))
    }

    /// Takes a datagram.
    pub fn receive(&mut self, datagram: &[u8]) {
        self.0.io_cb_mut().received.push_back(datagram.to_vec());
    }

    /// The datagrams to send.
    pub fn sent(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.0.io_cb_mut().sent)
    }

    /// Goes on with the handshake; returns whether it is over.
    pub fn shake_hands(&mut self) -> bool {
        let progress = self.0.try_negotiate().expect("the handshake goes on");
        matches!(progress, Poll::Ready(()))
    }

    /// The version of a connection that is established.
    pub fn is_dtls13(&mut self) -> bool {
        self.0.version() == ProtocolVersion::DtlsV1_3
    }

    /// Sends a message.
    pub fn write(&mut self, message: &[u8]) {
        let written = self
            .0
            .try_write(&mut BytesMut::from(message))
            .expect("it is sent");
        assert!(matches!(written, Poll::Ready(bytes) if bytes == message.len()));
    }

    /// The next message that came, empty where none did.
    pub fn read(&mut self) -> Vec<u8> {
        let mut message = BytesMut::with_capacity(2_048);
        match self.0.try_read(&mut message).expect("it can be read") {
            Poll::Ready(_) | Poll::AppData(_) => message.to_vec(),
            Poll::PendingRead | Poll::PendingWrite => Vec::new(),
        }
    }
}
