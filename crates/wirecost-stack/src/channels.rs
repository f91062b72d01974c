//! The layers of a run, set up once: what devices offer and what servers accept.

use std::sync::{Arc, OnceLock};

use wirecost_coap::oscore;
use wirecost_proto::Rng;
use wirecost_proto::hosts::HostIndex;
use wirecost_security::{Epoch, KeyLog, Start, dtls, tls};

use super::admission::Admission;
use super::credentials::{Credentials, SERVER_NAME};
use super::{Channel, Stack};

/// Bytes of an IPv4 header without options and a UDP header.
const IPV4_UDP_BYTES: usize = 20 + 8;
/// Bytes of an IPv6 header and a UDP header.
const IPV6_UDP_BYTES: usize = 40 + 8;

/// What both sides of a run agree on beside its credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelOptions {
    /// Whether servers accept early data, which anyone may have replayed.
    pub accept_early_data: bool,
    /// Whether servers demand a certificate of devices.
    pub client_certificates: bool,
    /// Whether DTLS servers ask for a cookie.
    pub dtls_cookie: bool,
    /// Largest UDP payload that the path carries unfragmented, in bytes.
    pub datagram_bytes: usize,
}

impl Default for ChannelOptions {
    /// No early data, no certificates of clients, no cookie, and what a path of 1,500 B carries over IPv4.
    fn default() -> Self {
        Self {
            accept_early_data: false,
            client_certificates: false,
            dtls_cookie: false,
            datagram_bytes: dtls::DEFAULT_MTU,
        }
    }
}

/// What is known of a server that wirecost has not started.
#[derive(Clone, Debug)]
pub struct Acquaintance {
    /// The name that its certificate must have.
    pub server_name: String,
    /// Authorities that may have issued it, in DER; `None` takes any certificate.
    pub authorities: Option<Vec<Vec<u8>>>,
    /// The key that it shares with devices.
    pub psk: Option<dtls::Psk>,
}

/// What devices offer: one configuration per channel, set up when a device first asks for it and shared by all that use
/// it. What cannot be set up is an error where it is asked for.
#[derive(Clone)]
pub struct ClientChannels(Arc<Offers>);

struct Offers {
    server: Towards,
    tls: [OnceLock<Result<tls::ClientConfig, String>>; 2],
    dtls: [OnceLock<Result<dtls::ClientConfig, String>>; 3],
}

/// The server that devices connect to.
enum Towards {
    /// That of a run. What devices draw follows from `rng` where there is one.
    Run {
        credentials: Credentials,
        options: ChannelOptions,
        rng: Option<Rng>,
    },
    /// One that wirecost has not started, which may want any suite.
    Stranger { server: Acquaintance, epoch: Epoch },
}

impl ClientChannels {
    /// Channels to the server of `credentials`.
    pub fn new(credentials: &Credentials, options: ChannelOptions) -> Self {
        Self::to(Towards::Run {
            credentials: credentials.clone(),
            options,
            rng: None,
        })
    }

    /// The channels of one simulated device: every key and nonce follows from `rng`.
    pub fn simulated(credentials: &Credentials, options: ChannelOptions, rng: Rng) -> Self {
        Self::to(Towards::Run {
            credentials: credentials.clone(),
            options,
            rng: Some(rng),
        })
    }

    /// Channels to a server that wirecost has not started, which may want any suite.
    pub fn towards(server: Acquaintance, epoch: Epoch) -> Self {
        Self::to(Towards::Stranger { server, epoch })
    }

    fn to(server: Towards) -> Self {
        Self(Arc::new(Offers {
            server,
            tls: Default::default(),
            dtls: Default::default(),
        }))
    }

    /// TLS of a channel for connections that start so; the first one of a device starts cold.
    pub(super) fn tls(&self, channel: Channel, start: Start) -> Result<tls::ClientConfig, String> {
        let (index, versions) = match channel {
            Channel::Tls12 => (1, tls::Versions::Tls12),
            Channel::Tls13 => (0, tls::Versions::Tls13),
            // HTTP/3 brings its TLS 1.3 along.
            Channel::Plain => (0, tls::Versions::Tls13),
            Channel::Dtls13 | Channel::Dtls12 | Channel::Dtls12Psk | Channel::Oscore => {
                return Err(format!("{channel:?} is no TLS"));
            }
        };
        let config = self.0.tls[index].get_or_init(|| self.0.server.tls(versions));
        config.clone().map(|config| config.with_start(start))
    }

    /// DTLS of a channel.
    pub(super) fn dtls(&self, channel: Channel) -> Result<dtls::ClientConfig, String> {
        let index = match channel {
            Channel::Dtls13 => 0,
            Channel::Dtls12 => 1,
            Channel::Dtls12Psk => 2,
            Channel::Plain | Channel::Tls13 | Channel::Tls12 | Channel::Oscore => {
                return Err(format!("{channel:?} is no DTLS"));
            }
        };
        self.0.dtls[index]
            .get_or_init(|| self.0.server.dtls(channel))
            .clone()
    }

    /// The OSCORE context of a device, where the channel is OSCORE.
    pub(super) fn oscore(
        &self,
        channel: Channel,
        host: HostIndex,
    ) -> Option<Result<oscore::Context, oscore::ContextError>> {
        let secret: &[u8] = match &self.0.server {
            Towards::Run { credentials, .. } => &credentials.oscore_secret,
            Towards::Stranger { .. } => &[],
        };
        (channel == Channel::Oscore).then(|| {
            let device = u16::try_from(host).unwrap_or(u16::MAX);
            oscore::Context::lab(secret, oscore::Role::Client, device)
        })
    }
}

impl Towards {
    fn tls(&self, versions: tls::Versions) -> Result<tls::ClientConfig, String> {
        let config = match self {
            Self::Run {
                credentials,
                options,
                rng,
            } => {
                let config = tls_client(credentials, *options, versions);
                match rng {
                    Some(rng) => config.and_then(|config| config.with_seed(*rng)),
                    None => config,
                }
            }
            Self::Stranger { server, epoch } => tls_towards(server, *epoch, versions),
        };
        config.map_err(|error| error.to_string())
    }

    fn dtls(&self, channel: Channel) -> Result<dtls::ClientConfig, String> {
        let (common, offer) = match self {
            Self::Run {
                credentials,
                options,
                rng,
            } => {
                let common = dtls_common(credentials.epoch, credentials.key_log.clone(), *options);
                let common = match rng {
                    Some(rng) => common.with_seed(*rng),
                    None => common,
                };
                (common, dtls_offer(credentials, *options, channel))
            }
            Self::Stranger { server, epoch } => {
                let common = dtls::Common::new(*epoch, KeyLog::disabled());
                (common, dtls_towards(server, channel)?)
            }
        };
        dtls::ClientConfig::new(common, offer).map_err(|error| error.to_string())
    }
}

fn tls_client(
    credentials: &Credentials,
    channel: ChannelOptions,
    versions: tls::Versions,
) -> Result<tls::ClientConfig, tls::ConfigError> {
    let trust = tls::Trust::Authorities(vec![credentials.authority.clone()]);
    let options = tls::ClientOptions {
        versions,
        identity: credentials.client_where(channel.client_certificates),
        key_log: credentials.key_log.clone(),
        ..tls::ClientOptions::new(credentials.epoch, trust, SERVER_NAME)
    };
    tls::ClientConfig::new(options)
}

fn tls_towards(
    server: &Acquaintance,
    epoch: Epoch,
    versions: tls::Versions,
) -> Result<tls::ClientConfig, tls::ConfigError> {
    let trust = match server.authorities.clone() {
        Some(authorities) => tls::Trust::Authorities(authorities),
        None => tls::Trust::Anyone,
    };
    let options = tls::ClientOptions {
        versions,
        suites: tls::Suites::Wide,
        key_log: KeyLog::disabled(),
        ..tls::ClientOptions::new(epoch, trust, server.server_name.as_str())
    };
    tls::ClientConfig::new(options)
}

fn dtls_common(epoch: Epoch, key_log: KeyLog, options: ChannelOptions) -> dtls::Common {
    let mut common = dtls::Common::new(epoch, key_log);
    common.mtu = options.datagram_bytes;
    common
}

fn dtls_towards(server: &Acquaintance, channel: Channel) -> Result<dtls::Offer, String> {
    let certificates = || dtls::Certificates {
        trust: match server.authorities.clone() {
            Some(certificates) => dtls::Trust::Authorities {
                certificates,
                server_name: server.server_name.clone(),
            },
            None => dtls::Trust::Anyone,
        },
        identity: None,
    };
    match channel {
        Channel::Dtls12 => Ok(dtls::Offer::Dtls12(certificates())),
        Channel::Dtls12Psk => {
            let psk = server.psk.clone().ok_or("no pre-shared key was given")?;
            Ok(dtls::Offer::Dtls12Psk(psk))
        }
        Channel::Dtls13 => Ok(dtls::Offer::Dtls13(certificates())),
        Channel::Plain | Channel::Tls13 | Channel::Tls12 | Channel::Oscore => {
            Err(format!("{channel:?} is no DTLS"))
        }
    }
}

fn dtls_offer(credentials: &Credentials, options: ChannelOptions, channel: Channel) -> dtls::Offer {
    let certificates = || dtls::Certificates {
        trust: dtls::Trust::Authorities {
            certificates: vec![credentials.authority.clone()],
            server_name: SERVER_NAME.to_owned(),
        },
        identity: credentials.client_where(options.client_certificates),
    };
    match channel {
        Channel::Dtls12 => dtls::Offer::Dtls12(certificates()),
        Channel::Dtls12Psk => dtls::Offer::Dtls12Psk(dtls::Psk::new(credentials.psk.as_bytes())),
        Channel::Dtls13 | Channel::Plain | Channel::Tls13 | Channel::Tls12 | Channel::Oscore => {
            dtls::Offer::Dtls13(certificates())
        }
    }
}

/// What servers accept, set up once per run.
#[derive(Clone, Debug)]
pub struct ServerChannels {
    common: dtls::Common,
    options: ChannelOptions,
    admission: Admission,
    /// What every key and nonce of a simulated server follows from.
    seed: Option<Rng>,
}

impl ServerChannels {
    /// Channels of the server of `credentials`; each of its `devices` has an OSCORE context of its own.
    pub fn new(credentials: Credentials, options: ChannelOptions, devices: usize) -> Self {
        let admission = Admission::of_devices(&credentials, options.client_certificates, devices);
        Self::admitting(admission, credentials.epoch, credentials.key_log, options)
    }

    /// Channels of a server that stands alone.
    pub fn admitting(admission: Admission, epoch: Epoch, key_log: KeyLog, options: ChannelOptions) -> Self {
        Self {
            common: dtls_common(epoch, key_log, options),
            options,
            admission,
            seed: None,
        }
    }

    /// Channels of the server of simulated devices, each with an OSCORE context of its own: every key and nonce follows from
    /// `rng`.
    pub fn simulated(credentials: Credentials, options: ChannelOptions, devices: usize, rng: Rng) -> Self {
        let channels = Self::new(credentials, options, devices);
        Self {
            common: channels.common.with_seed(rng),
            seed: Some(rng),
            ..channels
        }
    }

    /// TLS, whichever version a client offers.
    ///
    /// # Errors
    /// There is no certificate, or it cannot be used.
    pub fn tls(&self, stack: Stack) -> Result<tls::ServerConfig, String> {
        let Some(identity) = self.admission.identity.clone() else {
            return Err(format!("{stack} needs a certificate"));
        };
        let options = tls::ServerOptions {
            suites: self.admission.suites,
            client_authorities: self.admission.client_authorities.clone(),
            key_log: self.common.key_log.clone(),
            accept_early_data: self.options.accept_early_data,
            alpn: if stack.is_http() {
                vec![b"http/1.1".to_vec()]
            } else {
                Vec::new()
            },
            ..tls::ServerOptions::new(self.common.epoch, identity)
        };
        let config = tls::ServerConfig::new(options);
        let config = match self.seed {
            Some(rng) => config.and_then(|config| config.with_seed(rng)),
            None => config,
        };
        config.map_err(|error| error.to_string())
    }

    /// DTLS, whichever version a client offers.
    ///
    /// # Errors
    /// There is neither certificate nor key, or they cannot be used.
    pub fn dtls(&self) -> Result<dtls::ServerConfig, String> {
        let accept = dtls::Accept {
            identity: self.admission.identity.clone(),
            psks: self.admission.psks.clone(),
            client_authorities: self.admission.client_authorities.clone(),
            cookie: self.options.dtls_cookie,
        };
        dtls::ServerConfig::new(self.common.clone(), accept).map_err(|error| error.to_string())
    }

    /// Whether early data is accepted.
    pub const fn accepts_early_data(&self) -> bool {
        self.options.accept_early_data
    }

    /// Whom the server lets in.
    pub const fn admission(&self) -> &Admission {
        &self.admission
    }
}

/// The largest UDP payload that a path carries unfragmented.
pub fn datagram_bytes(mtu: u16, ipv6: bool) -> usize {
    let headers = if ipv6 { IPV6_UDP_BYTES } else { IPV4_UDP_BYTES };
    usize::from(mtu).saturating_sub(headers)
}
