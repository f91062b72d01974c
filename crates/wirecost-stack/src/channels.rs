//! The security layers of a run: what clients offer and what servers accept.

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wirecost_coap::{edhoc, oscore};
use wirecost_proto::Rng;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::random::key_of;
use wirecost_security::certificate::Identity;
use wirecost_security::provider::Choice;
use wirecost_security::{Epoch, KeyLog, Start, dtls, tls};

use super::admission::{Admission, Contexts};
use super::credentials::{Credentials, SERVER_NAME};
use super::error::StackError;
use super::{Application, Channel, Stack};

/// Bytes of an IPv4 header without options and a UDP header.
const IPV4_UDP_BYTES: usize = 20 + 8;
/// Bytes of an IPv6 header and a UDP header.
const IPV6_UDP_BYTES: usize = 40 + 8;

/// What both sides of a run agree on besides its credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelOptions {
    /// Whether servers accept early data, which an attacker may replay.
    pub accept_early_data: bool,
    /// Whether servers require a certificate of each device.
    pub client_certificates: bool,
    /// Whether DTLS servers ask for a cookie.
    pub dtls_cookie: bool,
    /// Largest UDP payload that the path carries unfragmented, in bytes.
    pub datagram_bytes: usize,
    /// Bytes of content in the answers of HTTP servers to what they store.
    pub response_body: usize,
    /// The largest frame that AMQP servers accept; `None` is their usual one.
    pub amqp_frame_size: Option<u32>,
    /// Whether clients of TLS leave out the signature schemes of ML-DSA (FIPS 204).
    pub classical_signatures: bool,
    /// The groups of clients of TLS, and the key of the certificates.
    pub offered: Choice,
    /// The groups of servers of TLS, and the key of the certificates.
    pub accepted: Choice,
}

impl ChannelOptions {
    /// The suites of clients, and of servers.
    fn suites(&self) -> [tls::Suites; 2] {
        let is_standard = self.offered == Choice::default() && self.accepted == Choice::default();
        match (self.classical_signatures, is_standard) {
            (true, _) => [tls::Suites::Classical, tls::Suites::Standard],
            (false, true) => [tls::Suites::Standard; 2],
            (false, false) => [self.offered, self.accepted].map(tls::Suites::Chosen),
        }
    }
}

impl Default for ChannelOptions {
    /// No early data, no certificates of clients, no cookie, answers without content, and the UDP payload of a path of 1,500 B over IPv4.
    fn default() -> Self {
        Self {
            accept_early_data: false,
            client_certificates: false,
            dtls_cookie: false,
            datagram_bytes: dtls::DEFAULT_MTU,
            response_body: 0,
            amqp_frame_size: None,
            classical_signatures: false,
            offered: Choice::default(),
            accepted: Choice::default(),
        }
    }
}

/// What clients offer to a server, and which servers they trust. It holds secrets, so that it has no `Debug`.
#[derive(Clone)]
pub struct ClientOffer {
    /// The run's clock among the clocks of the security libraries.
    pub epoch: Epoch,
    /// Where the secrets of connections go.
    pub key_log: KeyLog,
    /// The name that the server's certificate must have.
    pub server_name: String,
    /// The servers that are trusted.
    pub trust: tls::Trust,
    /// The clients' certificate and key.
    pub identity: Option<Identity>,
    /// The authority and the clients' identity of DTLS, where they are others than those above.
    pub dtls: Option<(Vec<u8>, Option<Identity>)>,
    /// The key that the server shares with clients (DTLS).
    pub psk: Option<dtls::Psk>,
    /// The versions of TLS; `None` is the one that the channel names.
    pub versions: Option<tls::Versions>,
    /// The suites and groups of TLS.
    pub suites: tls::Suites,
    /// The protocols that clients offer by ALPN (RFC 7301), the best first. CoAP offers its own.
    pub alpn: Vec<Vec<u8>>,
    /// How long a handshake may take; `None` is the layer's default.
    pub handshake_timeout: Option<Duration>,
    /// Largest UDP payload that the path carries unfragmented, in bytes.
    pub datagram_bytes: usize,
    /// The master secret of OSCORE.
    pub oscore_secret: Vec<u8>,
}

impl ClientOffer {
    /// The offer to a server that wirecost has not started, and whose suites it does not know. Secrets are not kept.
    pub fn new(epoch: Epoch, server_name: impl Into<String>, trust: tls::Trust) -> Self {
        Self {
            epoch,
            key_log: KeyLog::disabled(),
            server_name: server_name.into(),
            trust,
            identity: None,
            dtls: None,
            psk: None,
            versions: None,
            suites: tls::Suites::Wide,
            alpn: Vec::new(),
            handshake_timeout: None,
            datagram_bytes: dtls::DEFAULT_MTU,
            oscore_secret: Vec::new(),
        }
    }

    /// The offer of a run's devices to its server.
    fn of_run(credentials: &Credentials, options: ChannelOptions) -> Self {
        let trust = tls::Trust::Authorities(vec![credentials.authority.clone()]);
        let dtls = credentials.of_dtls();
        Self {
            key_log: credentials.key_log.clone(),
            identity: credentials.client_where(options.client_certificates),
            dtls: Some((dtls.authority, options.client_certificates.then_some(dtls.client))),
            psk: Some(dtls::Psk::new(credentials.psk.as_bytes())),
            suites: options.suites()[0],
            datagram_bytes: options.datagram_bytes,
            oscore_secret: credentials.oscore_secret.to_vec(),
            ..Self::new(credentials.epoch, SERVER_NAME, trust)
        }
    }

    fn tls(
        &self,
        application: Application,
        versions: tls::Versions,
        seed: Option<Rng>,
    ) -> Result<tls::ClientConfig, StackError> {
        let options = tls::ClientOptions::new(self.epoch, self.trust.clone(), self.server_name.as_str());
        let config = tls::ClientConfig::new(tls::ClientOptions {
            versions: self.versions.unwrap_or(versions),
            suites: self.suites,
            alpn: match alpn_of(application) {
                Some(own) if application == Application::CoapTcp => vec![own],
                _ => self.alpn.clone(),
            },
            identity: self.identity.clone(),
            key_log: self.key_log.clone(),
            handshake_timeout: self.handshake_timeout.unwrap_or(options.handshake_timeout),
            ..options
        })?;
        Ok(match seed {
            Some(rng) => config.with_seed(rng)?,
            None => config,
        })
    }

    fn dtls(&self, channel: Channel, seed: Option<Rng>) -> Result<dtls::ClientConfig, StackError> {
        let authorities = |certificates| dtls::Trust::Authorities {
            certificates,
            server_name: self.server_name.clone(),
        };
        let certificates = || match (&self.dtls, self.trust.clone()) {
            (Some((authority, identity)), _) => dtls::Certificates {
                trust: authorities(vec![authority.clone()]),
                identity: identity.clone(),
            },
            (None, trust) => dtls::Certificates {
                trust: match trust {
                    tls::Trust::Authorities(certificates) => authorities(certificates),
                    tls::Trust::Anyone => dtls::Trust::Anyone,
                },
                identity: self.identity.clone(),
            },
        };
        let offer = match channel {
            Channel::Dtls13 => dtls::Offer::Dtls13(certificates()),
            Channel::Dtls12 => dtls::Offer::Dtls12(certificates()),
            Channel::Dtls12Psk => dtls::Offer::Dtls12Psk(self.psk.clone().ok_or(StackError::NoPsk)?),
            Channel::Dtls12Cid => dtls::Offer::Dtls12Cid(self.psk.clone().ok_or(StackError::NoPsk)?),
            Channel::Plain | Channel::Tls13 | Channel::Tls12 | Channel::Oscore => {
                return Err(StackError::NotDtls(channel));
            }
        };
        let mut common = dtls_common(self.epoch, self.key_log.clone(), self.datagram_bytes, seed);
        if let Some(timeout) = self.handshake_timeout {
            common.handshake_timeout = timeout;
        }
        Ok(dtls::ClientConfig::new(common, offer)?)
    }
}

fn dtls_common(epoch: Epoch, key_log: KeyLog, datagram_bytes: usize, seed: Option<Rng>) -> dtls::Common {
    let mut common = dtls::Common::new(epoch, key_log);
    common.mtu = datagram_bytes;
    match seed {
        Some(rng) => common.with_seed(rng),
        None => common,
    }
}

/// The layers of clients. Each is set up when a client first needs it, and all clients share it.
#[derive(Clone)]
pub struct ClientChannels(Arc<Layers>);

/// The keys of EDHOC, which follow from the run's secret. They take milliseconds, and are made when they are first needed.
type SharedLab = Arc<OnceLock<Result<edhoc::Lab, edhoc::Failure>>>;

struct Layers {
    offer: Arc<ClientOffer>,
    /// What every key and nonce of a simulated device follows from.
    seed: Option<Rng>,
    /// Of TLS 1.3 and 1.2; those of CoAP follow.
    tls: [OnceLock<Result<tls::ClientConfig, StackError>>; 4],
    dtls: [OnceLock<Result<dtls::ClientConfig, StackError>>; 4],
    lab: SharedLab,
}

impl ClientChannels {
    /// Channels to the server of `credentials`.
    pub fn new(credentials: &Credentials, options: ChannelOptions) -> Self {
        Self::offering(ClientOffer::of_run(credentials, options))
    }

    /// The channels of one simulated device: every key and nonce follows from `rng`.
    pub fn simulated(credentials: &Credentials, options: ChannelOptions, rng: Rng) -> Self {
        Self::new(credentials, options).seeded(rng)
    }

    /// The channels of `offer`.
    pub fn offering(offer: ClientOffer) -> Self {
        Self::sharing(Arc::new(offer), None, SharedLab::default())
    }

    /// The same offer of another simulated device: every key and nonce follows from `rng`.
    #[must_use]
    pub fn seeded(&self, rng: Rng) -> Self {
        let Layers { offer, lab, .. } = &*self.0;
        Self::sharing(offer.clone(), Some(rng), lab.clone())
    }

    fn sharing(offer: Arc<ClientOffer>, seed: Option<Rng>, lab: SharedLab) -> Self {
        Self(Arc::new(Layers {
            offer,
            seed,
            tls: Default::default(),
            dtls: Default::default(),
            lab,
        }))
    }

    /// TLS for connections that begin with `start`. The first connection of a device starts cold.
    pub(super) fn tls(
        &self,
        application: Application,
        channel: Channel,
        start: Start,
    ) -> Result<tls::ClientConfig, StackError> {
        let (index, versions) = match channel {
            Channel::Tls12 => (1, tls::Versions::Tls12),
            // HTTP/3 has TLS 1.3 of its own.
            Channel::Tls13 | Channel::Plain => (0, tls::Versions::Tls13),
            Channel::Dtls13 | Channel::Dtls12 | Channel::Dtls12Psk | Channel::Dtls12Cid | Channel::Oscore => {
                return Err(StackError::NotTls(channel));
            }
        };
        let is_coap = application == Application::CoapTcp;
        let index = if is_coap { index + 2 } else { index };
        let config = self.0.tls[index].get_or_init(|| self.0.offer.tls(application, versions, self.0.seed));
        config.clone().map(|config| config.with_start(start))
    }

    /// DTLS for connections that begin with `start`. The first connection of a device starts cold.
    pub(super) fn dtls(&self, channel: Channel, start: Start) -> Result<dtls::ClientConfig, StackError> {
        let index = match channel {
            Channel::Dtls13 => 0,
            Channel::Dtls12 => 1,
            Channel::Dtls12Psk => 2,
            Channel::Dtls12Cid => 3,
            Channel::Plain | Channel::Tls13 | Channel::Tls12 | Channel::Oscore => {
                return Err(StackError::NotDtls(channel));
            }
        };
        let config = self.0.dtls[index].get_or_init(|| self.0.offer.dtls(channel, self.0.seed));
        config.clone().map(|config| config.with_start(start))
    }

    /// The side of a device in handshakes of EDHOC. Its ephemeral keys follow from the run's secret, its number and `rng`, which no
    /// other client has.
    pub(super) fn edhoc(
        &self,
        start: Start,
        host: HostIndex,
        rng: Rng,
    ) -> Result<edhoc::Initiator, edhoc::Failure> {
        let secret = &self.0.offer.oscore_secret;
        let lab = self.0.lab.get_or_init(|| edhoc::Lab::new(secret)).as_ref();
        let transfer = match start {
            Start::EdhocByValue => edhoc::Transfer::ByValue,
            Start::Cold | Start::Resumed | Start::ZeroRtt | Start::Edhoc => edhoc::Transfer::ByReference,
        };
        let own = rng.purpose(key_of("edhoc")).at(0);
        let client = [host.to_be_bytes().as_slice(), &own.to_be_bytes()].concat();
        Ok(lab.map_err(|failure| *failure)?.initiator(transfer, &client))
    }

    /// The OSCORE context of a device, where the channel is OSCORE.
    pub(super) fn oscore(
        &self,
        channel: Channel,
        host: HostIndex,
    ) -> Option<Result<oscore::Context, oscore::ContextError>> {
        (channel == Channel::Oscore).then(|| {
            let device = u16::try_from(host).unwrap_or(u16::MAX);
            oscore::Context::lab(&self.0.offer.oscore_secret, oscore::Role::Client, device)
        })
    }
}

/// The security layers of a run's servers.
#[derive(Clone, Debug)]
pub struct ServerChannels {
    epoch: Epoch,
    key_log: KeyLog,
    options: ChannelOptions,
    admission: Arc<Admission>,
    /// What every key and nonce of a simulated server follows from.
    seed: Option<Rng>,
    lab: SharedLab,
}

impl ServerChannels {
    /// Channels of the server of `credentials`, with an OSCORE context for each of its `devices`.
    pub fn new(credentials: Credentials, options: ChannelOptions, devices: usize) -> Self {
        let admission = Admission {
            suites: options.suites()[1],
            ..Admission::of_devices(&credentials, options.client_certificates, devices)
        };
        Self::admitting(admission, credentials.epoch, credentials.key_log, options)
    }

    /// Channels of a server that is not part of a run.
    pub fn admitting(admission: Admission, epoch: Epoch, key_log: KeyLog, options: ChannelOptions) -> Self {
        Self {
            epoch,
            key_log,
            options,
            admission: Arc::new(admission),
            seed: None,
            lab: SharedLab::default(),
        }
    }

    /// Channels of the server of simulated devices. Every key and nonce follows from `rng`.
    pub fn simulated(credentials: Credentials, options: ChannelOptions, devices: usize, rng: Rng) -> Self {
        Self::new(credentials, options, devices).seeded(rng)
    }

    /// The same admission by another simulated server: every key and nonce follows from `rng`.
    #[must_use]
    pub fn seeded(&self, rng: Rng) -> Self {
        Self {
            seed: Some(rng),
            ..self.clone()
        }
    }

    /// TLS in every version that a client offers.
    ///
    /// # Errors
    /// There is no certificate, or it cannot be used.
    pub fn tls(&self, stack: Stack) -> Result<tls::ServerConfig, StackError> {
        let identity = self.admission.identity.clone();
        let identity = identity.ok_or(StackError::NoCertificate(stack))?;
        let alpn = alpn_of(stack.application);
        let config = tls::ServerConfig::new(tls::ServerOptions {
            suites: self.admission.suites,
            client_authorities: self.admission.client_authorities.clone(),
            key_log: self.key_log.clone(),
            accept_early_data: self.options.accept_early_data,
            alpn: alpn.into_iter().collect(),
            ..tls::ServerOptions::new(self.epoch, identity)
        })?;
        Ok(match self.seed {
            Some(rng) => config.with_seed(rng)?,
            None => config,
        })
    }

    /// DTLS in every version that a client offers.
    ///
    /// # Errors
    /// There is neither a certificate nor a key, or they cannot be used.
    pub fn dtls(&self) -> Result<dtls::ServerConfig, StackError> {
        let admission = &self.admission;
        let accept = dtls::Accept {
            identity: admission
                .dtls_identity
                .as_ref()
                .or(admission.identity.as_ref())
                .cloned(),
            psks: admission.psks.clone(),
            client_authorities: match &admission.dtls_authority {
                Some(own) if !admission.client_authorities.is_empty() => vec![own.clone()],
                _ => admission.client_authorities.clone(),
            },
            cookie: self.options.dtls_cookie,
        };
        let (key_log, datagram_bytes) = (self.key_log.clone(), self.options.datagram_bytes);
        let common = dtls_common(self.epoch, key_log, datagram_bytes, self.seed);
        Ok(dtls::ServerConfig::new(common, accept)?)
    }

    /// Whether early data is accepted.
    pub const fn accepts_early_data(&self) -> bool {
        self.options.accept_early_data
    }

    /// Bytes of content in the answers of HTTP servers to what they store.
    pub const fn response_body(&self) -> usize {
        self.options.response_body
    }

    /// The largest frame that AMQP servers accept; `None` is their usual one.
    pub const fn amqp_frame_size(&self) -> Option<u32> {
        self.options.amqp_frame_size
    }

    /// The clients that the server accepts.
    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// How the server agrees on further contexts of OSCORE; `None` if it does not.
    pub(super) fn edhoc(&self) -> Result<Option<edhoc::ServerConfig>, edhoc::Failure> {
        match &self.admission.oscore {
            Contexts::Given(_) => Ok(None),
            Contexts::Agreed(config) => Ok(Some((**config).clone())),
            Contexts::Devices { secret, count } => {
                let lab = self.lab.get_or_init(|| edhoc::Lab::new(secret)).as_ref();
                let devices = u32::try_from(*count).unwrap_or(u32::MAX);
                Ok(Some(lab.map_err(|failure| *failure)?.server(devices)))
            }
        }
    }
}

/// The protocol that a server of an application on TLS selects by ALPN: RFC 7301 section 6, RFC 8323 section 8.2.
fn alpn_of(application: Application) -> Option<Vec<u8>> {
    match application {
        Application::Http1 | Application::Http3 => Some(b"http/1.1".to_vec()),
        Application::CoapTcp => Some(b"coap".to_vec()),
        Application::Tcp
        | Application::Udp
        | Application::Mqtt311(_)
        | Application::Mqtt5(_)
        | Application::MqttSn(_)
        | Application::CoapNon
        | Application::CoapCon
        | Application::AmqpSettled
        | Application::AmqpUnsettled
        | Application::Store(_) => None,
    }
}

/// The largest UDP payload that a path carries unfragmented.
pub fn datagram_bytes(mtu: u16, ipv6: bool) -> usize {
    let headers = if ipv6 { IPV6_UDP_BYTES } else { IPV4_UDP_BYTES };
    usize::from(mtu).saturating_sub(headers)
}
