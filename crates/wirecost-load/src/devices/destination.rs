//! The destination of a load: its address, and the credentials of both sides.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use wirecost_live::Clock;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_security::certificate::Identity;
use wirecost_security::dtls::Psk;
use wirecost_security::{KeyLog, certificate, tls};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ClientOffer};
use wirecost_stack::credentials::{Portable, SERVER_NAME};

/// The destination of a load. It serializes, for worker processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Destination {
    /// The server's address.
    pub address: SocketAddr,
    /// The host of HTTP requests, with a port if needed.
    pub authority: String,
    /// How devices and server authenticate each other.
    pub trust: Trust,
    /// The address of the server of the devices that subscribe, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<SocketAddr>,
    /// The emulated link in between, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<OnLink>,
    /// The mark of the run on the stamps of its messages, which tells them from those of others at the same server; 0 where the
    /// server is the run's own.
    #[serde(default)]
    pub mark: u32,
    /// Whether devices leave out the signature schemes of ML-DSA, with credentials of the run.
    #[serde(default)]
    pub classical_signatures: bool,
}

/// The settings that an emulated link imposes on devices and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnLink {
    /// The largest UDP payload that the link carries unfragmented, in bytes.
    pub datagram_bytes: usize,
}

impl OnLink {
    /// The channel options of both sides, apart from credentials.
    pub fn channel_options(link: Option<Self>) -> ChannelOptions {
        let default = ChannelOptions::default();
        ChannelOptions {
            datagram_bytes: link.map_or(default.datagram_bytes, |link| link.datagram_bytes),
            ..default
        }
    }
}

/// How devices and server authenticate each other.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// With the credentials of the run.
    Own(Box<Portable>),
    /// With the server's own credentials.
    Foreign {
        /// The name that its certificate must have.
        server_name: String,
        /// Authorities that may have issued it, in DER; `None` accepts any certificate.
        authorities: Option<Vec<Vec<u8>>>,
        /// The pre-shared key: identity and key, if there is one.
        psk: Option<(Vec<u8>, Vec<u8>)>,
        /// The certificates of the devices, with their keys: none, one for all devices, or one for each.
        #[serde(default)]
        identities: Vec<PemIdentity>,
    },
}

/// A certificate and its private key, both in PEM.
#[derive(Clone, Serialize, Deserialize)]
pub struct PemIdentity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Destination {
    /// Whether each device has a certificate of its own.
    pub(crate) const fn has_identity_of_each(&self) -> bool {
        match &self.trust {
            Trust::Own(_) => false,
            Trust::Foreign { identities, .. } => identities.len() > 1,
        }
    }

    /// A server that was started with the credentials of the run.
    pub fn own(address: SocketAddr, credentials: Portable) -> Self {
        Self {
            address,
            authority: SERVER_NAME.to_owned(),
            trust: Trust::Own(Box::new(credentials)),
            subscribers: None,
            link: None,
            mark: 0,
            classical_signatures: false,
        }
    }

    /// The OSCORE contexts of the first `devices` devices, as [`Portable::oscore_contexts`] returns them; `None` if the
    /// server has its own credentials.
    pub fn oscore_contexts(&self, devices: u16) -> Option<String> {
        match &self.trust {
            Trust::Own(portable) => Some(portable.oscore_contexts(devices)),
            Trust::Foreign { .. } => None,
        }
    }

    /// The channels that all devices offer to the server, with the certificate of the first. `key_log` receives the secrets of connections, except for a
    /// server with its own credentials without an emulated link.
    ///
    /// # Errors
    /// The credentials are unusable.
    pub fn channels(
        &self,
        handshake: &Handshake,
        clock: Clock,
        key_log: &KeyLog,
    ) -> Result<ClientChannels, certificate::Error> {
        self.channels_of(0, handshake, clock, key_log)
    }

    /// The channels that a device offers to the server, as [`Destination::channels`]. Subscribers are counted behind those that send.
    ///
    /// # Errors
    /// The credentials are unusable.
    pub(crate) fn channels_of(
        &self,
        device: u32,
        handshake: &Handshake,
        clock: Clock,
        key_log: &KeyLog,
    ) -> Result<ClientChannels, certificate::Error> {
        match &self.trust {
            Trust::Own(portable) => {
                let credentials = portable.unpack(clock.epoch())?;
                Ok(ClientChannels::new(
                    &credentials.with_key_log(key_log.clone()),
                    ChannelOptions {
                        classical_signatures: self.classical_signatures,
                        offered: handshake.offered(),
                        accepted: handshake.accepted(),
                        ..OnLink::channel_options(self.link)
                    },
                ))
            }
            Trust::Foreign {
                server_name,
                authorities,
                psk,
                identities,
            } => {
                let identity = identities.get(device as usize);
                let identity = identity.map(|own| Identity::from_pem(&own.certificate, &own.key));
                let trust = match authorities.clone() {
                    Some(authorities) => tls::Trust::Authorities(authorities),
                    None => tls::Trust::Anyone,
                };
                let psk = psk.clone().map(|(identity, key)| Psk { identity, key });
                // Secrets serve the capture, and only what passes the emulated link is captured.
                let key_log = self.link.map_or_else(KeyLog::disabled, |_| key_log.clone());
                Ok(ClientChannels::offering(ClientOffer {
                    psk,
                    identity: identity.transpose()?,
                    suites: tls::Suites::wide(handshake.group, handshake.cipher),
                    key_log,
                    datagram_bytes: OnLink::channel_options(self.link).datagram_bytes,
                    ..ClientOffer::new(clock.epoch(), server_name.as_str(), trust)
                }))
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
