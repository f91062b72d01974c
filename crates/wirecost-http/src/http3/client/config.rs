//! Configuration of a client.

use std::time::Duration;

use wirecost_proto::Rng;
use wirecost_security::tls;

use crate::http3::Transport;

/// Configuration of a client. Build the TLS part once: cloning it is cheap.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Trust, start and key log. QUIC uses TLS 1.3 only (RFC 9001 section 4.2), and the ALPN protocol is always `h3`.
    pub tls: tls::ClientConfig,
    /// The source of connection IDs and other random values of QUIC.
    pub rng: Rng,
    /// Settings of QUIC.
    pub transport: Transport,
    /// Time-out of a response, from the moment when the request is passed to QUIC.
    pub response_timeout: Duration,
    /// Whether bytes are described. If not, the content of packets is not read, and a datagram is one span of the
    /// transport layer.
    pub describes: bool,
    /// Bytes of a response's content that its event carries.
    pub keep_body_bytes: usize,
}

impl ClientConfig {
    /// The defaults: 30 s for a response, every byte described, no content kept.
    pub fn new(tls: tls::ClientConfig, rng: Rng) -> Self {
        Self {
            tls,
            rng,
            transport: Transport::default(),
            response_timeout: Duration::from_secs(30),
            describes: true,
            keep_body_bytes: 0,
        }
    }
}
