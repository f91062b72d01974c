//! Builds a load in virtual time: devices, the built-in servers, the links, and the bridges between brokers.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use wirecost_link::{Hop, LinkConfig};
use wirecost_live::driver::client::Traffic;
use wirecost_live::emulation::{Meter, MeteredLink};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{Device, Service};
use wirecost_proto::hosts::{HostIndex, server_address, simulated_address, site_address};
use wirecost_proto::path::{Delivery, Direction, Fate, Links};
use wirecost_proto::random::key_of;
use wirecost_proto::{Instant, Path, Rng};
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::load::sites::Placement;
use wirecost_scenario::options::sending::frame_bytes;
use wirecost_security::{Start, certificate};
use wirecost_sim::{Settings, Tap, Workers, World};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ServerChannels, datagram_bytes};
use wirecost_stack::server::{Clients, Server};
use wirecost_stack::{Client, ClientConfig, Credentials};

use crate::devices::destination::Destination;
use crate::devices::keys::{context_count, key_log};
use crate::devices::part::PartError;
use crate::devices::part::{FromPart, Inbox};
use crate::devices::share::Share;
use crate::devices::shared::SharedEndpoints;
use crate::schedule::clock::Origin;
use crate::targets::sink::counter::Counter;

use super::bridges::{Arrivals, Bridge, Directed, SharedOutbox, Station, Taker};
use super::counted::Counted;
use super::worlds::Place;

pub(super) type LoadWorld<T> = World<Counted, Directed, Station, SharedLink, T, Arrivals>;
pub(super) type WorldCell<T> = Rc<RefCell<Option<LoadWorld<T>>>>;

/// The components of a simulated load.
pub(super) struct Setting<'a> {
    options: &'a LoadOptions,
    pub(super) share: Share,
    pub(super) credentials: Credentials,
    channels: ChannelOptions,
    link: LinkConfig,
    placement: Option<Placement>,
}

impl<'a> Setting<'a> {
    pub(super) fn new(options: &'a LoadOptions, place: Place) -> Result<Self, certificate::Error> {
        let link = options.link.unwrap_or_default();
        // DTLS and QUIC size datagrams for both directions by one setting: the narrower way decides.
        let mtu = link.up.mtu.min(link.down.mtu);
        let channels = ChannelOptions {
            datagram_bytes: datagram_bytes(mtu, options.ipv6),
            accept_early_data: options.start == Start::ZeroRtt,
            response_body: options.http.body_bytes(),
            offered: options.handshake.offered(),
            accepted: options.handshake.accepted(),
            amqp_frame_size: frame_bytes(options.amqp_frame_size),
            ..ChannelOptions::default()
        };
        let credentials = Credentials::simulated_of_kind(options.handshake.kind(), options.seed)?
            .with_key_log(key_log(options));
        let address = SocketAddr::new(server_address(options.ipv6), options.stack.port());
        Ok(Self {
            options,
            share: Share::of_part(
                &Arc::new(options.clone()),
                &Destination::own(address, credentials.portable()?),
                [place.number, place.of],
            ),
            credentials,
            channels,
            link,
            placement: options.sites.as_ref().and_then(|sites| sites.place().ok()),
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
        let link = MeteredLink::of_hops(&self.hops(), self.seed_of_links(), Arc::clone(meter));
        let plans = self.bridges();
        let mut devices = self.devices(&traffic)?;
        let own = devices.len();
        devices.extend(self.clients_of(&plans)?);
        let bridges = plans.iter().map(|plan| Bridge::new(Rc::clone(&plan.outbox)));
        Ok(World::directed(
            self.settings(),
            devices,
            Directed::new(
                director.in_virtual_time().with_traffic(traffic),
                own,
                bridges.collect(),
            ),
            self.services(&plans)?,
            SharedLink::new(link, &plans),
            tap,
            Arrivals(counter),
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
        let workers = self.options.service_time.map(|service_time| {
            let rng = self.rng_of_world("service time");
            Workers::new(self.options.workers, service_time, rng)
        });
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

    /// Random numbers that every world has of its own.
    fn rng_of_world(&self, purpose: &str) -> Rng {
        match self.share.number {
            0 => self.rng(purpose),
            later => self.rng(purpose).host(u64::from(later)),
        }
    }

    /// The seed of the links: another one in each world, so that no two of them lose the same packets.
    fn seed_of_links(&self) -> u64 {
        match self.share.number {
            0 => self.options.seed,
            _ => self.rng_of_world("links").next_u64(),
        }
    }

    fn devices(&self, traffic: &Arc<Traffic>) -> Result<Vec<Device<Counted, ()>>, PartError> {
        let channels = ClientChannels::simulated(
            &self.credentials,
            self.channels,
            self.rng_of_world("client secrets"),
        );
        let clients = self.share.clients(&|_| &channels, &SharedEndpoints::default())?;
        let transport = self.options.stack.transport();
        let of_subscribers = self
            .placement
            .as_ref()
            .map_or(0, |placement| placement.of_subscribers);
        let device = |(host, client): (HostIndex, Client)| Device {
            host,
            local: SocketAddr::new(self.address(host), 0),
            remote: match host < self.options.clients {
                true => self.at(0),
                false => self.at(of_subscribers),
            },
            transport,
            endpoint: Counted {
                client,
                traffic: Arc::clone(traffic),
            },
            script: (),
        };
        // Subscribers are hosts behind all senders.
        Ok((self.share.devices.start..).zip(clients).map(device).collect())
    }

    fn address(&self, host: HostIndex) -> IpAddr {
        let remote = self.share.destination.address.ip();
        simulated_address(host, self.options.ipv6).unwrap_or(remote)
    }

    /// Where the server of a site listens.
    fn at(&self, site: u8) -> SocketAddr {
        SocketAddr::new(site_address(site, self.options.ipv6), self.options.stack.port())
    }

    /// The bridges from each broker to another one, in the order of the sites.
    fn bridges(&self) -> Vec<BridgePlan> {
        let (Some(sites), Some(placement)) = (&self.options.sites, &self.placement) else {
            return Vec::new();
        };
        let index = |name: &String| placement.servers.iter().position(|server| server == name);
        let hops = self.hops();
        let mut plans: Vec<BridgePlan> = Vec::new();
        for (from, name) in (0..).zip(&placement.servers) {
            for bridge in sites.named(name).iter().flat_map(|site| &site.bridges) {
                let Some(to) = index(&bridge.to).and_then(|to| u8::try_from(to).ok()) else {
                    continue;
                };
                let filter = (
                    bridge.topic.clone(),
                    QoS::from_bits(bridge.qos).unwrap_or_default(),
                );
                // One connection carries all topics of a bridge, as one `connection` of Mosquitto does.
                if let Some(known) = plans.iter_mut().find(|plan| (plan.from, plan.to) == (from, to)) {
                    known.filters.push(filter);
                    continue;
                }
                let joins = |hop: &Hop| {
                    hop.servers()
                        .filter(|(ends, _)| [[from, to], [to, from]].contains(ends))
                };
                let Some((ends, host)) = hops.iter().find_map(joins) else {
                    continue;
                };
                plans.push(BridgePlan {
                    name: format!("{name}-{}", bridge.to),
                    from,
                    to,
                    host,
                    is_reversed: ends == [to, from],
                    filters: vec![filter],
                    outbox: SharedOutbox::default(),
                });
            }
        }
        plans
    }

    /// The clients of the bridges, each with the address of its broker.
    fn clients_of(&self, plans: &[BridgePlan]) -> Result<Vec<Device<Counted, ()>>, PartError> {
        let channels =
            ClientChannels::simulated(&self.credentials, self.channels, self.rng("bridge secrets"));
        let device = |plan: &BridgePlan| {
            let rng = self.rng("bridges").host(u64::from(plan.host));
            let config = ClientConfig {
                host: plan.host,
                describes_received: false,
                ..ClientConfig::new(plan.name.clone(), rng)
            };
            Ok(Device {
                host: plan.host,
                local: SocketAddr::new(self.at(plan.from).ip(), 0),
                remote: self.at(plan.to),
                transport: self.options.stack.transport(),
                endpoint: Counted {
                    client: Client::idle(self.options.stack, "", &config, &channels)?,
                    traffic: Arc::default(),
                },
                script: (),
            })
        };
        plans.iter().map(device).collect()
    }

    /// The server of each site, that of the devices that send first.
    fn services(&self, plans: &[BridgePlan]) -> Result<Vec<Service<Station>>, PartError> {
        let sites = self
            .placement
            .as_ref()
            .map_or(1, |placement| placement.servers.len());
        let service = |site: u8| {
            let own = (0..).zip(plans).filter(|(_, plan)| plan.from == site);
            let takers =
                own.map(|(number, plan)| Taker::new(number, plan.filters.clone(), Rc::clone(&plan.outbox)));
            self.service(site, takers.collect())
        };
        (0..=u8::MAX).take(sites).map(service).collect()
    }

    fn service(&self, site: u8, takers: Vec<Taker>) -> Result<Service<Station>, PartError> {
        let devices = self.options.clients.saturating_add(self.options.receivers());
        // The server's OSCORE contexts are made beforehand, one for each device (RFC 8613, section 3).
        let contexts = context_count(self.options.stack, devices);
        let (credentials, rng) = (self.credentials.clone(), self.rng_of_world("server secrets"));
        let channels = ServerChannels::simulated(credentials, self.channels, contexts, rng);
        let rng = self.rng_of_world("server");
        let seed = match site {
            0 => rng,
            // The first server has the random stream of a load with one site, so that its bytes do not depend on further sites.
            later => rng.host(u64::from(later)),
        }
        .next_u64();
        let endpoint = Server::new(self.options.stack, Clients::Devices, &channels, seed);
        let server = endpoint.map_err(|error| PartError::Server(error.to_string()))?;
        let address = self.at(site);
        Ok(Service {
            address,
            transport: self.options.stack.transport(),
            endpoint: Station::new(server, address, site == 0, takers),
        })
    }
}

/// A bridge from the broker of one site to that of another one.
struct BridgePlan {
    name: String,
    from: u8,
    to: u8,
    /// The host whose link its packets cross.
    host: HostIndex,
    /// Whether its packets go down: from the second site of the link to the first one.
    is_reversed: bool,
    filters: Vec<(String, QoS)>,
    outbox: SharedOutbox,
}

/// The links of all devices and bridges.
pub(super) struct SharedLink {
    pub(super) links: MeteredLink,
    /// The hosts whose packets go the other way than those of a device.
    reversed: Vec<HostIndex>,
    is_reversed: bool,
}

impl SharedLink {
    fn new(links: MeteredLink, plans: &[BridgePlan]) -> Self {
        let reversed = plans.iter().filter(|plan| plan.is_reversed).map(|plan| plan.host);
        Self {
            links,
            reversed: reversed.collect(),
            is_reversed: false,
        }
    }

    const fn way(&self, direction: Direction) -> Direction {
        match self.is_reversed {
            true => direction.reverse(),
            false => direction,
        }
    }
}

impl Links for SharedLink {
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path> {
        self.links.link_to(host)?;
        self.is_reversed = self.reversed.contains(&host);
        Some(self)
    }
}

impl Path for SharedLink {
    fn offer(
        &mut self,
        direction: Direction,
        wire_bytes: usize,
        now: Instant,
        deliveries: &mut Vec<Delivery>,
    ) -> Fate {
        self.links.offer(self.way(direction), wire_bytes, now, deliveries)
    }

    fn translate(
        &mut self,
        direction: Direction,
        end: (Transport, IpAddr),
        port: u16,
        now: Instant,
    ) -> Option<u16> {
        self.links.translate(self.way(direction), end, port, now)
    }

    fn own_port(&self, end: (Transport, IpAddr), seen: u16) -> u16 {
        self.links.own_port(end, seen)
    }
}
