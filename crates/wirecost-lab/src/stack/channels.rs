//! The layers of a run, set up once: what devices offer and what servers accept.

use wirecost_coap::oscore;
use wirecost_live::hosts::HostIndex;
use wirecost_security::{Start, dtls, tls};

use super::credentials::{Credentials, SERVER_NAME};
use super::{Channel, Stack};

/// What both sides of a run agree on beside its credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelOptions {
    /// Whether servers accept early data, which anyone may have replayed.
    pub accept_early_data: bool,
    /// Whether DTLS servers ask for a cookie.
    pub dtls_cookie: bool,
    /// Largest UDP payload that the path carries unfragmented, in bytes.
    pub datagram_bytes: usize,
}

impl Default for ChannelOptions {
    /// No early data, no cookie, and what a path of 1,500 B carries over IPv4.
    fn default() -> Self {
        Self {
            accept_early_data: false,
            dtls_cookie: false,
            datagram_bytes: dtls::DEFAULT_MTU,
        }
    }
}

/// What devices offer: one configuration per channel, shared by all that use it.
#[derive(Clone)]
pub struct ClientChannels {
    tls: [Result<tls::ClientConfig, String>; 2],
    dtls: [Result<dtls::ClientConfig, String>; 3],
    oscore_secret: Vec<u8>,
}

impl ClientChannels {
    /// Channels to the server of `credentials`. What cannot be set up is an error where it is asked for.
    pub fn new(credentials: &Credentials, options: ChannelOptions) -> Self {
        Self {
            tls: [tls::Versions::Tls13, tls::Versions::Tls12]
                .map(|versions| tls_client(credentials, versions)),
            dtls: dtls_offers(credentials).map(|offer| {
                let common = dtls_common(credentials, options);
                dtls::ClientConfig::new(common, offer).map_err(|error| error.to_string())
            }),
            oscore_secret: credentials.oscore_secret.to_vec(),
        }
    }

    /// TLS of a channel for connections that start so; the first one of a device starts cold.
    pub(super) fn tls(&self, channel: Channel, start: Start) -> Result<tls::ClientConfig, String> {
        let index = usize::from(channel == Channel::Tls12);
        self.tls[index].clone().map(|config| config.with_start(start))
    }

    /// DTLS of a channel.
    pub(super) fn dtls(&self, channel: Channel) -> Result<dtls::ClientConfig, String> {
        let index = match channel {
            Channel::Dtls12 => 1,
            Channel::Dtls12Psk => 2,
            _ => 0,
        };
        self.dtls[index].clone()
    }

    /// The OSCORE context of a device, where the channel is OSCORE.
    pub(super) fn oscore(
        &self,
        channel: Channel,
        host: HostIndex,
    ) -> Option<Result<oscore::Context, oscore::ContextError>> {
        (channel == Channel::Oscore).then(|| {
            let device = u16::try_from(host).unwrap_or(u16::MAX);
            oscore::Context::lab(&self.oscore_secret, oscore::Role::Client, device)
        })
    }
}

fn tls_client(credentials: &Credentials, versions: tls::Versions) -> Result<tls::ClientConfig, String> {
    let trust = tls::Trust::Authorities(vec![credentials.authority.clone()]);
    let options = tls::ClientOptions {
        versions,
        key_log: credentials.key_log.clone(),
        ..tls::ClientOptions::new(credentials.epoch, trust, SERVER_NAME)
    };
    tls::ClientConfig::new(options).map_err(|error| error.to_string())
}

fn dtls_common(credentials: &Credentials, options: ChannelOptions) -> dtls::Common {
    let mut common = dtls::Common::new(credentials.epoch, credentials.key_log.clone());
    common.mtu = options.datagram_bytes;
    common
}

fn dtls_offers(credentials: &Credentials) -> [dtls::Offer; 3] {
    let certificates = || dtls::Certificates {
        trust: dtls::Trust::Authorities {
            certificates: vec![credentials.authority.clone()],
            server_name: SERVER_NAME.to_owned(),
        },
        identity: None,
    };
    [
        dtls::Offer::Dtls13(certificates()),
        dtls::Offer::Dtls12(certificates()),
        dtls::Offer::Dtls12Psk(dtls::Psk::new(credentials.psk.as_bytes())),
    ]
}

/// What servers accept, set up once per run.
#[derive(Clone, Debug)]
pub struct ServerChannels {
    credentials: Credentials,
    options: ChannelOptions,
    /// How many devices there are: each has an OSCORE context of its own.
    devices: usize,
}

impl ServerChannels {
    /// Channels of the server of `credentials`.
    pub const fn new(credentials: Credentials, options: ChannelOptions, devices: usize) -> Self {
        Self {
            credentials,
            options,
            devices,
        }
    }

    /// TLS, whichever version a client offers.
    ///
    /// # Errors
    /// The certificate cannot be used.
    pub fn tls(&self, stack: Stack) -> Result<tls::ServerConfig, String> {
        let credentials = &self.credentials;
        let options = tls::ServerOptions {
            key_log: credentials.key_log.clone(),
            accept_early_data: self.options.accept_early_data,
            alpn: if stack.is_http() {
                vec![b"http/1.1".to_vec()]
            } else {
                Vec::new()
            },
            ..tls::ServerOptions::new(credentials.epoch, credentials.server.clone())
        };
        tls::ServerConfig::new(options).map_err(|error| error.to_string())
    }

    /// DTLS, whichever version a client offers.
    ///
    /// # Errors
    /// The certificate cannot be used.
    pub fn dtls(&self) -> Result<dtls::ServerConfig, String> {
        let credentials = &self.credentials;
        let accept = dtls::Accept {
            identity: Some(credentials.server.clone()),
            psks: vec![dtls::Psk::new(credentials.psk.as_bytes())],
            client_authorities: Vec::new(),
            cookie: self.options.dtls_cookie,
        };
        let common = dtls_common(credentials, self.options);
        dtls::ServerConfig::new(common, accept).map_err(|error| error.to_string())
    }

    /// Whether early data is accepted.
    pub const fn accepts_early_data(&self) -> bool {
        self.options.accept_early_data
    }

    /// The OSCORE contexts of all devices.
    ///
    /// # Errors
    /// The secret is of no use.
    pub fn oscore(&self) -> Result<Vec<oscore::Context>, String> {
        let contexts = (0..self.devices).map(|device| {
            let device = u16::try_from(device).unwrap_or(u16::MAX);
            oscore::Context::lab(&self.credentials.oscore_secret, oscore::Role::Server, device)
        });
        contexts
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())
    }
}
