//! An authority, a server and its clients, for tests and benches of DTLS.
#![allow(dead_code, reason = "not every test needs everything")]

use std::time::Duration;

use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::dtls::{
    Accept, Certificates, ClientConfig, Common, Offer, Psk, ServerConfig, Trust, Version,
};
use wirecost_security::{Epoch, KeyLog};

/// The pre-shared key, printable because foreign programs take it as an argument.
pub(crate) const KEY: &str = "0123456789abcdef";

pub(crate) struct World {
    pub(crate) authority: Authority,
    pub(crate) server: Identity,
    pub(crate) client: Identity,
    pub(crate) key_log: KeyLog,
    pub(crate) epoch: Epoch,
    /// Whether the server asks for a cookie.
    pub(crate) cookie: bool,
}

impl World {
    #[allow(
        clippy::disallowed_methods,
        reason = "any instant does, but there is no other way to have one"
    )]
    pub(crate) fn new() -> Self {
        let authority = Authority::generate().expect("an authority");
        Self {
            server: Identity::generate(&authority).expect("a server"),
            client: Identity::client(&authority, "wc-00001").expect("a client"),
            authority,
            key_log: KeyLog::new(),
            cookie: false,
            epoch: Epoch {
                monotonic: std::time::Instant::now(),
                unix: VALID_FROM + Duration::from_secs(86_400),
            },
        }
    }

    pub(crate) fn common(&self) -> Common {
        Common::new(self.epoch, self.key_log.clone())
    }

    pub(crate) fn client_config(&self, version: Version) -> ClientConfig {
        let certificates = Certificates {
            trust: Trust::Authorities {
                certificates: vec![self.authority.certificate().to_vec()],
                server_name: "127.0.0.1".to_owned(),
            },
            identity: Some(self.client.clone()),
        };
        let offer = match version {
            Version::Dtls13 => Offer::Dtls13(certificates),
            Version::Dtls12 => Offer::Dtls12(certificates),
            Version::Dtls12Psk => Offer::Dtls12Psk(Psk::new(KEY)),
            Version::Dtls12Cid => Offer::Dtls12Cid(Psk::new(KEY)),
        };
        ClientConfig::new(self.common(), offer).expect("a client")
    }

    pub(crate) fn server_config(&self) -> ServerConfig {
        let accept = Accept {
            identity: Some(self.server.clone()),
            psks: vec![Psk::new(KEY)],
            cookie: self.cookie,
            ..Accept::default()
        };
        ServerConfig::new(self.common(), accept).expect("a server")
    }
}
