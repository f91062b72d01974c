//! A server that runs already: its address, whom it must convince, and the relay to it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use wirecost_live::Side;
use wirecost_live::patience::Patience;
use wirecost_live::relay::{Relay, Relayed, Route};
use wirecost_load::targets::server::trusted_authorities;
use wirecost_probe::reach::{self, Trial, Waits};
use wirecost_proto::bare::Transport;
use wirecost_proto::hosts::{HostIndex, server_address};
use wirecost_scenario::options::compare::{Options, Running, ServerPath};
use wirecost_scenario::plan::{Plan, PlannedCell};
use wirecost_security::{Epoch, KeyLog, tls};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ClientOffer};
use wirecost_stack::client::Session;
use wirecost_stack::run_tag::RunTag;

use super::super::device::device_name;
use super::RunError;

/// How long the resolver may take.
const RESOLVE_PATIENCE: Duration = Duration::from_secs(10);
/// How long the server may take to accept a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// A server that runs already and that can be reached.
pub struct Reached {
    running: Running,
    address: IpAddr,
    trust: tls::Trust,
    /// The groups and ciphers that devices offer.
    suites: tls::Suites,
    /// The relay, if devices are behind an emulated link.
    relay: Option<Relay>,
    before: Relayed,
    /// The characters of this run in the names of its devices.
    tag: RunTag,
    /// The addresses of its name that did not accept a connection, in one sentence.
    passed_over: Option<String>,
}

impl Reached {
    /// Finds the server of `options`; `None` if wirecost starts the servers. Call it in the network namespace from which the
    /// server can be reached.
    ///
    /// # Errors
    /// Its name has no address, it does not accept a connection, or the certificates to trust are unreadable.
    pub fn find(
        options: &Options,
        plan: &Plan,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, RunError> {
        let Some(running) = &options.running else {
            return Ok(None);
        };
        let url = &running.url;
        let unreachable = |reason: String| RunError::Unreachable {
            target: url.to_string(),
            reason,
        };
        let waits = Waits {
            resolver: Patience::new(RESOLVE_PATIENCE, is_over),
            connect: Patience::new(CONNECT_PATIENCE, is_over),
        };
        // Cells at other ports, such as CoAP beside MQTT, say nothing about the port of the URL.
        let is_at_url = |cell: &&PlannedCell| cell.not_run.is_none() && cell.port == url.port;
        let mut cells = plan.cells.iter().filter(is_at_url);
        let has_streams = cells.any(|cell| cell.stack.transport() == Transport::Stream);
        let server = reach::Server {
            host: &url.host,
            port: url.port,
            transport: match has_streams {
                // Only a stream can be tried: a datagram service need not answer.
                true => Transport::Stream,
                false => Transport::Datagram,
            },
        };
        let reached =
            reach::reach(server, Trial::OfAny, waits).map_err(|error| unreachable(error.to_string()))?;
        // Client identifiers of two runs at one broker must differ: MQTT ends the older connection of the same identifier
        // (MQTT 3.1.1, section 3.1.4).
        let tag = RunTag::draw().map_err(|error| unreachable(error.to_string()))?;
        let trust = match trusted_authorities(running.ca.as_deref(), running.insecure, true)? {
            Some(authorities) => tls::Trust::Authorities(authorities),
            None => tls::Trust::Anyone,
        };
        Ok(Some(Self {
            relay: match running.path {
                ServerPath::Relay => Some(Relay::start()?),
                ServerPath::Real => None,
            },
            suites: tls::Suites::wide(options.handshake.group, options.handshake.cipher),
            before: Relayed::default(),
            running: running.clone(),
            address: reached.address.ip(),
            passed_over: reached.remark(),
            tag,
            trust,
        }))
    }

    /// Whether devices reach the server without an emulated link.
    pub const fn is_on_real_path(&self) -> bool {
        self.relay.is_none()
    }

    /// The line about the path of the devices.
    pub fn said(&self) -> String {
        let url = &self.running.url;
        let path = match &self.relay {
            Some(_) => format!(
                "a relay on the emulated link stands in the place of {url}: bytes and packets are those between device and relay"
            ),
            None => format!(
                "real path to {url}: no link is emulated; packets are recorded on the interface of this machine"
            ),
        };
        match &self.passed_over {
            Some(remark) => format!("{path}; {remark}"),
            None => path,
        }
    }

    /// Where the devices of a cell find their server.
    pub fn destination(&self, cell: &PlannedCell) -> SocketAddr {
        let ip = match self.relay {
            Some(_) => server_address(self.address.is_ipv6()),
            None => self.address,
        };
        SocketAddr::new(ip, cell.port)
    }

    /// Whether devices speak IPv6.
    pub const fn is_ipv6(&self) -> bool {
        self.address.is_ipv6()
    }

    /// The addresses of the servers of all cells.
    pub fn servers(&self, plan: &Plan) -> BTreeSet<SocketAddr> {
        let cells = plan.cells.iter().filter(|cell| cell.not_run.is_none());
        cells
            .map(|cell| SocketAddr::new(self.address, cell.port))
            .collect()
    }

    /// Lets the relay, if there is one, listen on the server's side for the cells of a batch.
    pub fn listen(&mut self, side: &Side, plan: &Plan) -> Result<(), RunError> {
        let Some(relay) = &self.relay else {
            return Ok(());
        };
        let cells = plan.cells.iter().filter(|cell| cell.not_run.is_none());
        let routes: BTreeMap<(u16, bool), Route> = cells
            .map(|cell| {
                let transport = cell.stack.transport();
                let route = Route {
                    listen: self.destination(cell),
                    target: SocketAddr::new(self.address, cell.port),
                    transport,
                };
                // Several stacks share a port; the relay may listen only once on it.
                ((cell.port, transport == Transport::Stream), route)
            })
            .collect();
        // The relay counts over all batches; the shortfall of this one is the difference.
        self.before = relay.relayed();
        let routes: Vec<Route> = routes.into_values().collect();
        Ok(relay.listen(side, &routes)?)
    }

    /// What did not pass the relay since it began to listen.
    pub fn shortfall(&self) -> Option<String> {
        let relayed = self.relay.as_ref()?.relayed();
        relayed.since(self.before).shortfall()
    }

    /// The channels of devices.
    pub fn channels(&self, epoch: Epoch, key_log: &KeyLog, options: ChannelOptions) -> ClientChannels {
        let host = self.running.url.host.as_str();
        ClientChannels::offering(ClientOffer {
            key_log: key_log.clone(),
            datagram_bytes: options.datagram_bytes,
            suites: self.suites,
            ..ClientOffer::new(epoch, host, self.trust.clone())
        })
    }

    /// The client identifier of a device, which no other run has at this server.
    pub fn client_id(&self, number: HostIndex) -> String {
        device_name(self.tag, number)
    }

    /// The host of HTTP requests.
    pub fn authority(&self) -> String {
        self.running.url.authority()
    }

    /// The host that devices name to an AMQP server.
    pub fn hostname(&self) -> String {
        self.running.url.host.clone()
    }

    /// The login in the URL.
    pub fn session(&self) -> Option<Box<Session>> {
        let login = self.running.url.login.as_ref()?;
        Some(Box::new(Session {
            login: Some((login.user.clone(), login.password.clone())),
            ..Session::default()
        }))
    }
}
