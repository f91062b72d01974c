//! How a client is set up.

use std::time::Duration;

use wirecost_proto::Rng;
use wirecost_security::tls;

use crate::http3::Transport;

/// How a client behaves. Building the TLS part once and cloning it is cheap.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Whom to trust, how to start, where secrets go. TLS 1.3 is all that QUIC knows (RFC 9001 section 4.2), and the
    /// protocol offered is `h3` whatever this says.
    pub tls: tls::ClientConfig,
    /// Connection ids, and what else QUIC leaves to chance.
    pub rng: Rng,
    /// QUIC.
    pub transport: Transport,
    /// How long a response may take from the moment its request is handed to QUIC.
    pub response_timeout: Duration,
    /// Whether anybody asks what each byte is. Otherwise the content of packets is not looked at, and a datagram is one span of the
    /// transport.
    pub describes: bool,
    /// Bytes of a response's content that its event gives back.
    pub kept_body_bytes: usize,
}

impl ClientConfig {
    /// The defaults: 30 s for a response, every byte described, nothing of the content kept.
    pub fn new(tls: tls::ClientConfig, rng: Rng) -> Self {
        Self {
            tls,
            rng,
            transport: Transport::default(),
            response_timeout: Duration::from_secs(30),
            describes: true,
            kept_body_bytes: 0,
        }
    }
}
