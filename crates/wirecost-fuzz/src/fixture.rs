//! A fixture for secure endpoints: an authority, a server's identity and a time, the same in every run.

use std::sync::OnceLock;
use std::time::Duration;

use wirecost_proto::Rng;
use wirecost_security::Epoch;
use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::entropy::Entropy;
use wirecost_security::layer::Event;
use wirecost_security::tls::{ClientConfig, ClientOptions, ServerConfig, ServerOptions, Trust, Versions};

/// It is created once, because certificates take longer than most inputs.
pub(crate) struct Fixture {
    pub(crate) authority: Authority,
    pub(crate) server: Identity,
    pub(crate) epoch: Epoch,
}

impl Fixture {
    pub(crate) fn get() -> &'static Self {
        static FIXTURE: OnceLock<Fixture> = OnceLock::new();
        FIXTURE.get_or_init(Self::new)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "any instant works, and there is no other way to get one"
    )]
    fn new() -> Self {
        let authority = Authority::from_entropy(Entropy::seeded(Rng::new(1))).expect("an authority");
        Self {
            server: Identity::generate(&authority).expect("a server"),
            authority,
            epoch: Epoch {
                monotonic: std::time::Instant::now(),
                unix: VALID_FROM + Duration::from_secs(86_400),
            },
        }
    }

    pub(crate) fn tls_client(&self, versions: Versions, alpn: &[&[u8]]) -> ClientConfig {
        let trust = Trust::Authorities(vec![self.authority.certificate().to_vec()]);
        let options = ClientOptions {
            versions,
            alpn: alpn.iter().map(|name| name.to_vec()).collect(),
            ..ClientOptions::new(self.epoch, trust, "server")
        };
        let config = ClientConfig::new(options).and_then(|config| config.with_seed(Rng::new(2)));
        config.expect("a client")
    }

    pub(crate) fn tls_server(&self, accept_early_data: bool, alpn: &[&[u8]]) -> ServerConfig {
        let options = ServerOptions {
            accept_early_data,
            sessions: 4,
            alpn: alpn.iter().map(|name| name.to_vec()).collect(),
            ..ServerOptions::new(self.epoch, self.server.clone())
        };
        let config = ServerConfig::new(options).and_then(|config| config.with_seed(Rng::new(3)));
        config.expect("a server")
    }
}

/// Whether no handshake and no protection of a flow failed.
pub(crate) fn is_without_fault<E>(events: &[Event<E>]) -> bool {
    !events.iter().any(|event| matches!(event, Event::Failed { .. }))
}
