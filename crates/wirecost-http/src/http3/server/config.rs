//! How a server is set up.

use wirecost_proto::Rng;
use wirecost_security::tls;

use crate::http3::Transport;
use crate::resource;

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Identity, whether early data is accepted, where secrets go. The protocol accepted is `h3` whatever this says.
    pub tls: tls::ServerConfig,
    /// Connection ids, and what else QUIC leaves to chance.
    pub rng: Rng,
    /// QUIC.
    pub transport: Transport,
    /// What is served.
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
