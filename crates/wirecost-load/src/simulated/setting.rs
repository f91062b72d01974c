//! Builds a load in virtual time: devices, the built-in server, and the link of all devices.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use wirecost_link::{Hop, LinkConfig};
use wirecost_live::driver::client::Traffic;
use wirecost_live::emulation::{Meter, MeteredLink};
use wirecost_proto::driver::{Device, Service};
use wirecost_proto::hosts::{HostIndex, server_address, simulated_address};
use wirecost_proto::path::Links;
use wirecost_proto::random::key_of;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, Path, Rng};
use wirecost_scenario::options::load::LoadOptions;
use wirecost_security::{Start, certificate};
use wirecost_sim::{Settings, Tap, Workers, World};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ServerChannels, datagram_bytes};
use wirecost_stack::server::{Clients, Server};
use wirecost_stack::{Client, Command, Credentials, Event};

use crate::clock::Origin;
use crate::destination::Destination;
use crate::devices::Devices;
use crate::keys::{context_count, key_log};
use crate::part::PartError;
use crate::part::{FromPart, Inbox};
use crate::share::Share;
use crate::shared::SharedEndpoints;
use crate::sink::counter::Counter;

pub(super) type LoadWorld<T> = World<Counted, Devices, Server, SharedLink, T, Counter>;
pub(super) type WorldCell<T> = Rc<RefCell<Option<LoadWorld<T>>>>;

/// The components of a simulated load.
pub(super) struct Setting<'a> {
    options: &'a LoadOptions,
    pub(super) share: Share,
    pub(super) credentials: Credentials,
    channels: ChannelOptions,
    link: LinkConfig,
}

impl<'a> Setting<'a> {
    pub(super) fn new(options: &'a LoadOptions) -> Result<Self, certificate::Error> {
        let link = options.link.unwrap_or_default();
        let mtu = link.up.mtu.min(link.down.mtu);
        let channels = ChannelOptions {
            datagram_bytes: datagram_bytes(mtu, options.ipv6),
            accept_early_data: options.start == Start::ZeroRtt,
            response_body: options.http.body_bytes(),
            ..ChannelOptions::default()
        };
        let credentials = Credentials::simulated(options.seed)?.with_key_log(key_log(options));
        let address = SocketAddr::new(server_address(options.ipv6), options.stack.port());
        Ok(Self {
            options,
            share: Share {
                options: Arc::new(options.clone()),
                destination: Destination::own(address, credentials.portable()?),
                number: 0,
                devices: 0..options.clients,
                subscribers: 0..options.receivers(),
                offset_ns: 0,
                clock_error_ns: 0,
            },
            credentials,
            channels,
            link,
        })
    }

    pub(super) fn world<T: Tap>(
        &self,
        inbox: &Arc<Inbox>,
        outbox: &Sender<(u32, FromPart)>,
        meter: &Arc<Meter>,
        counter: Counter,
        tap: T,
    ) -> Result<LoadWorld<T>, PartError> {
        let traffic = Arc::<Traffic>::default();
        let director = self.share.director(Origin::simulated(), inbox, outbox)?;
        let link = MeteredLink::of_hops(&self.hops(), self.options.seed, Arc::clone(meter));
        Ok(World::directed(
            self.settings(),
            self.devices(&traffic)?,
            director.with_traffic(traffic),
            vec![self.service()?],
            SharedLink(link),
            tap,
            counter,
        ))
    }

    /// The links, each with its devices; one without delay for all devices if the load has no link.
    pub(super) fn hops(&self) -> Vec<Hop> {
        match self.options.hops() {
            hops if hops.is_empty() => vec![Hop::of_all(self.link)],
            hops => hops,
        }
    }

    fn settings(&self) -> Settings {
        let mtu = self.link.up.mtu.min(self.link.down.mtu);
        let workers = self
            .options
            .service_time
            .map(|service_time| Workers::new(self.options.workers, service_time, self.rng("service time")));
        Settings {
            keeps_logs: false,
            workers,
            ..Settings::linux(mtu, self.options.ipv6, self.rng("hosts"))
        }
        .with_writing(self.options.writing())
    }

    fn rng(&self, purpose: &str) -> Rng {
        Rng::new(self.options.seed).purpose(key_of(purpose))
    }

    fn devices(&self, traffic: &Arc<Traffic>) -> Result<Vec<Device<Counted, ()>>, PartError> {
        let channels =
            ClientChannels::simulated(&self.credentials, self.channels, self.rng("client secrets"));
        let clients = self.share.clients(&|_| &channels, &SharedEndpoints::default())?;
        let remote = self.share.destination.address;
        let transport = self.options.stack.transport();
        let device = |(host, client): (HostIndex, Client)| Device {
            host,
            local: SocketAddr::new(self.address(host), 0),
            remote,
            transport,
            endpoint: Counted {
                client,
                traffic: Arc::clone(traffic),
            },
            script: (),
        };
        Ok((0..).zip(clients).map(device).collect())
    }

    fn address(&self, host: HostIndex) -> IpAddr {
        let remote = self.share.destination.address.ip();
        simulated_address(host, self.options.ipv6).unwrap_or(remote)
    }

    fn service(&self) -> Result<Service<Server>, PartError> {
        let devices = self.options.clients.saturating_add(self.options.receivers());
        let contexts = context_count(self.options.stack, devices);
        let (credentials, rng) = (self.credentials.clone(), self.rng("server secrets"));
        let channels = ServerChannels::simulated(credentials, self.channels, contexts, rng);
        let seed = self.rng("server").next_u64();
        let endpoint = Server::new(self.options.stack, Clients::Devices, &channels, seed);
        Ok(Service {
            address: self.share.destination.address,
            transport: self.options.stack.transport(),
            endpoint: endpoint.map_err(|error| PartError::Server(error.to_string()))?,
        })
    }
}

/// The link of all devices.
pub(super) struct SharedLink(pub(super) MeteredLink);

impl Links for SharedLink {
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path> {
        self.0.of(host).map(|link| link as &mut dyn Path)
    }
}

/// A client that counts its bytes as sockets do in a live load.
pub(super) struct Counted {
    client: Client,
    traffic: Arc<Traffic>,
}

impl Endpoint for Counted {
    type Command = Command;
    type Event = Event;
    type Error = <Client as Endpoint>::Error;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Self::Error> {
        if let Input::Received { bytes, .. } = &input {
            self.traffic.add_received(bytes.len());
        }
        self.client.handle_input(input, now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        let output = self.client.poll_output(out);
        if let Output::Transmit { .. } = &output {
            self.traffic.add_sent(out.bytes().len());
        }
        output
    }
}
