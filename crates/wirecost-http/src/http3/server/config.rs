//! Configuration of a server.

use wirecost_proto::Rng;
use wirecost_security::tls;

use crate::http3::Transport;
use crate::resource;

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Identity, acceptance of early data, and key log. The ALPN protocol is always `h3`.
    pub tls: tls::ServerConfig,
    /// The source of connection IDs and other random values of QUIC.
    pub rng: Rng,
    /// Settings of QUIC.
    pub transport: Transport,
    /// The limits of the resources.
    pub resources: resource::Config,
}

impl ServerConfig {
    /// The defaults.
    pub fn new(tls: tls::ServerConfig, rng: Rng) -> Self {
        Self {
            tls,
            rng,
            transport: Transport::default(),
            resources: resource::Config::default(),
        }
    }
}
