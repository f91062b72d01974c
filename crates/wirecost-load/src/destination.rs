//! Where a load goes: the address, and what the two sides need to trust one another.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use wirecost_live::Clock;
use wirecost_security::dtls::Psk;
use wirecost_security::{KeyLog, certificate};
use wirecost_stack::channels::{Acquaintance, ChannelOptions, ClientChannels};
use wirecost_stack::credentials::{Portable, SERVER_NAME};

/// Where a load goes. It can be told to another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Destination {
    /// The server's address.
    pub address: SocketAddr,
    /// What HTTP calls the server: host, with a port where it needs one.
    pub authority: String,
    /// Why the server is trusted, and lets devices in.
    pub trust: Trust,
    /// The emulated link in between, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<OnLink>,
}

/// What an emulated link asks of devices and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnLink {
    /// Largest UDP payload that it carries unfragmented, in bytes.
    pub datagram_bytes: usize,
}

impl OnLink {
    /// What both sides agree on beside their credentials.
    pub fn channel_options(link: Option<Self>) -> ChannelOptions {
        let default = ChannelOptions::default();
        ChannelOptions {
            datagram_bytes: link.map_or(default.datagram_bytes, |link| link.datagram_bytes),
            ..default
        }
    }
}

/// Why a server is trusted, and lets devices in.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// It has the credentials of the run.
    Own(Box<Portable>),
    /// It has its own.
    Foreign {
        /// The name that its certificate must have.
        server_name: String,
        /// Authorities that may have issued it, in DER; `None` takes any certificate.
        authorities: Option<Vec<Vec<u8>>>,
        /// Identity and key, where the two sides share one.
        psk: Option<(Vec<u8>, Vec<u8>)>,
    },
}

impl Destination {
    /// A server that was started with the credentials of the run.
    pub fn own(address: SocketAddr, credentials: Portable) -> Self {
        Self {
            address,
            authority: SERVER_NAME.to_owned(),
            trust: Trust::Own(Box::new(credentials)),
            link: None,
        }
    }

    /// The OSCORE contexts of the first `devices` devices, as [`Portable::oscore_contexts`] gives them; `None` where the
    /// server has credentials of its own.
    pub fn oscore_contexts(&self, devices: u16) -> Option<String> {
        match &self.trust {
            Trust::Own(portable) => Some(portable.oscore_contexts(devices)),
            Trust::Foreign { .. } => None,
        }
    }

    /// What devices offer to the server. Secrets of connections go to `key_log`; those to a server that has credentials
    /// of its own, on whose link nothing is recorded, go nowhere.
    ///
    /// # Errors
    /// The credentials cannot be read.
    pub fn channels(&self, clock: Clock, key_log: &KeyLog) -> Result<ClientChannels, certificate::Error> {
        match &self.trust {
            Trust::Own(portable) => {
                let credentials = portable.unpack(clock.epoch())?;
                Ok(ClientChannels::new(
                    &credentials.with_key_log(key_log.clone()),
                    OnLink::channel_options(self.link),
                ))
            }
            Trust::Foreign {
                server_name,
                authorities,
                psk,
            } => {
                let server = Acquaintance {
                    server_name: server_name.clone(),
                    authorities: authorities.clone(),
                    psk: psk.as_ref().map(|(identity, key)| Psk {
                        identity: identity.clone(),
                        key: key.clone(),
                    }),
                };
                Ok(ClientChannels::towards(server, clock.epoch()))
            }
        }
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys stay out of logs.
        f.write_str(match self {
            Self::Own(_) => "Own",
            Self::Foreign { .. } => "Foreign",
        })
    }
}
