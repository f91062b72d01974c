//! A server that runs already: its address, whom it must convince, and the relay to it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use wirecost_live::Side;
use wirecost_live::patience::Patience;
use wirecost_live::relay::{Relay, Relayed, Route};
use wirecost_load::server::trusted_authorities;
use wirecost_probe::resolve::resolve;
use wirecost_proto::ResetReason;
use wirecost_proto::bare::Transport;
use wirecost_proto::hosts::server_address;
use wirecost_scenario::options::compare::{Options, Running, ServerPath};
use wirecost_scenario::plan::{Plan, PlannedCell};
use wirecost_security::{Epoch, KeyLog, tls};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ClientOffer};
use wirecost_stack::client::Session;

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
    /// The relay, if devices are behind an emulated link.
    relay: Option<Relay>,
    before: Relayed,
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
        let patience = Patience::new(RESOLVE_PATIENCE, is_over);
        let found =
            resolve(&url.host, url.port, None, patience).map_err(|error| unreachable(error.to_string()))?;
        let address = found
            .first()
            .ok_or_else(|| unreachable("no address".into()))?
            .ip();
        let is_at_url = |cell: &&PlannedCell| cell.not_run.is_none() && cell.port == url.port;
        let cells = plan.cells.iter().filter(is_at_url);
        if cells
            .into_iter()
            .any(|cell| cell.stack.transport() == Transport::Stream)
        {
            let at = SocketAddr::new(address, url.port);
            let connected = TcpStream::connect_timeout(&at, CONNECT_PATIENCE);
            connected.map_err(|error| unreachable(reason(&error)))?;
        }
        let trust = match trusted_authorities(running.ca.as_deref(), running.insecure, true)? {
            Some(authorities) => tls::Trust::Authorities(authorities),
            None => tls::Trust::Anyone,
        };
        Ok(Some(Self {
            relay: match running.path {
                ServerPath::Relay => Some(Relay::start()?),
                ServerPath::Real => None,
            },
            before: Relayed::default(),
            running: running.clone(),
            address,
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
        match &self.relay {
            Some(_) => format!(
                "a relay on the emulated link stands in the place of {url}: bytes and packets are those between device and relay"
            ),
            None => format!(
                "real path to {url}: no link is emulated; packets are recorded on the interface of this machine"
            ),
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
                ((cell.port, transport == Transport::Stream), route)
            })
            .collect();
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
            ..ClientOffer::new(epoch, host, self.trust.clone())
        })
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

/// Why a connection was not accepted.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => ResetReason::Refused.to_string(),
        ErrorKind::TimedOut => "no answer".into(),
        _ => error.to_string(),
    }
}
