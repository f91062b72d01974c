//! A load in virtual time: the devices, the director and the coordinator of a live load in a simulated world, with the
//! built-in server behind a link of the same kind. Everything in it is modelled.
//!
//! ```text
//! coordinator --ToPart--> Inbox -> Devices, directing the World <-> link <-> server, workers -> Counter
//!     `-- hears: lets the World go on until Devices has reported something, or for as long as it listens
//! ```

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime};

use wirecost_link::LinkConfig;
use wirecost_live::driver::client::Traffic;
use wirecost_live::emulation::{Meter, MeteredLink};
use wirecost_proto::driver::{Device, Service};
use wirecost_proto::hosts::{DEVICES_V4, HostIndex, server_address, simulated_address};
use wirecost_proto::path::Links;
use wirecost_proto::random::key_of;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, Path, Rng};
use wirecost_results::link::{achieved, link_of};
use wirecost_results::load::{LinkFigures, Load, LoadFile};
use wirecost_results::time::rfc3339;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_security::Start;
use wirecost_sim::{Settings, Tap, Workers, World};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ServerChannels, datagram_bytes};
use wirecost_stack::server::{Clients, Server};
use wirecost_stack::{Channel, Client, Command, Credentials, Event};

use crate::clock::{LoadClock, Origin};
use crate::context::{Demands, RunContext};
use crate::coordinator::{Coordinator, Surroundings};
use crate::destination::Destination;
use crate::devices::Devices;
use crate::error::LoadError;
use crate::link::LinkReport;
use crate::outcome::Outcome;
use crate::part::{FromPart, Inbox, ToPart};
use crate::parts::{Ear, Gone, Parts, Tell};
use crate::share::Share;
use crate::shared::SharedEndpoints;
use crate::sink::counter::Counter;
use crate::target::{Arrived, Measured, Used, Watched};
use crate::watch::{Announcement, Watcher};
use crate::{checked, entry, nanos};

/// How long packets of connections that have closed are waited for when the load is over.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs a load in virtual time; `None` where it was interrupted before it had begun.
///
/// # Errors
/// [`LoadError`] where there are no figures.
pub(crate) fn run(options: &LoadOptions, context: RunContext<'_>) -> Result<Option<LoadFile>, LoadError> {
    let started_at = SystemTime::now();
    let RunContext {
        watcher,
        interrupted,
        place,
        demands,
        ..
    } = context;
    watcher.begin(&Announcement::of(options, place));
    let simulated = simulate(options, watcher, interrupted, demands, ());
    watcher.end();
    let Simulated {
        outcome,
        counters,
        address,
        ..
    } = simulated.map_err(LoadError::Generator)?;
    if outcome.has_not_begun() {
        return Ok(None);
    }
    checked::check(options, address, &outcome)?;
    let link = options.link.map(|config| LinkReport {
        config,
        counters,
        figures: LinkFigures {
            link: link_of(&config, Some(achieved(&[], &config, &counters))),
            packet_path: "virtual".into(),
            emulator: None,
            dropped_packets: 0,
        },
        network: Vec::new(),
        capture: None,
    });
    let load = Load {
        started_at: rfc3339(started_at),
        ..entry::of(options, &outcome, 0.0, link.as_ref())
    };
    Ok(Some(LoadFile {
        profile: None,
        load,
        intervals: outcome.intervals,
        usage: Vec::new(),
        source_addresses: vec![format!("{DEVICES_V4}/16")],
        server: None,
    }))
}

/// What a simulated load has left.
pub struct Simulated<T> {
    /// What was counted.
    pub outcome: Outcome,
    /// What each direction of the link has decided.
    pub counters: [wirecost_link::Counters; 2],
    /// Who saw the packets.
    pub tap: T,
    /// Where the server listened.
    pub address: SocketAddr,
}

/// Simulates a load whose packets `tap` sees, while `watcher` is told of it, until it is `interrupted` or one of the demands
/// that end it early fails.
///
/// # Errors
/// A client, the server or a message cannot be made.
pub fn simulate<T: Tap + 'static>(
    options: &LoadOptions,
    watcher: &mut dyn Watcher,
    interrupted: &dyn Fn() -> bool,
    demands: Option<&Demands<'_>>,
    tap: T,
) -> Result<Simulated<T>, String> {
    let now = Rc::new(Cell::new(Instant::START));
    let meter = Arc::<Meter>::default();
    let (outbox, said) = channel();
    let inbox = Inbox::new();
    let setting = Setting::new(options)?;
    let counter = Counter::new(0, options.is_stamped());
    let world = setting.world(&inbox, &outbox, &meter, counter.clone(), tap)?;
    let world = Rc::new(RefCell::new(Some(world)));
    let mut target = SimulatedTarget {
        world: Rc::clone(&world),
        counter,
        meter,
        has_link: options.link.is_some(),
    };
    // Whoever listens is there as long as the simulation.
    drop(outbox.send((0, FromPart::Ready)));
    let simulation = Simulation {
        world: Rc::clone(&world),
        inbox: Arc::clone(&inbox),
        outbox,
        said,
        now: Rc::clone(&now),
        is_over: false,
    };
    let tell: Vec<Tell> = vec![Box::new(move |message: ToPart| inbox.put(message))];
    let parts = Parts::new(tell, simulation, Vec::new(), || {});
    let surroundings = Surroundings {
        clock: LoadClock::Virtual(now),
        target: &mut target,
        watcher,
        interrupted,
        used: &mut Used::default,
        demands,
    };
    let mut outcome = Coordinator::new(options, parts, surroundings).run();
    let world = world.borrow_mut().take();
    let mut world = world.ok_or("the simulation has left no world; please report this")?;
    world.settle(world.now() + SETTLE);
    outcome.settle_link(&target.meter.read());
    let (finished, _) = world.into_finished();
    if let Some((_, error)) = finished.service_errors.into_iter().next() {
        outcome
            .failure
            .get_or_insert(format!("the server has ended: {error}"));
    }
    Ok(Simulated {
        outcome,
        counters: finished.links.0.counters(),
        tap: finished.tap,
        address: setting.share.destination.address,
    })
}

type LoadWorld<T> = World<Counted, Devices, Server, SharedLink, T, Counter>;
type WorldCell<T> = Rc<RefCell<Option<LoadWorld<T>>>>;

/// What a simulated load is made of.
struct Setting<'a> {
    options: &'a LoadOptions,
    share: Share,
    credentials: Credentials,
    channels: ChannelOptions,
    link: LinkConfig,
}

impl<'a> Setting<'a> {
    fn new(options: &'a LoadOptions) -> Result<Self, String> {
        let link = options.link.unwrap_or_default();
        let mtu = link.up.mtu.min(link.down.mtu);
        let channels = ChannelOptions {
            datagram_bytes: datagram_bytes(mtu, options.ipv6),
            accept_early_data: options.start == Start::ZeroRtt,
            ..ChannelOptions::default()
        };
        let credentials = Credentials::simulated(options.seed).map_err(|error| error.to_string())?;
        let address = SocketAddr::new(server_address(options.ipv6), options.stack.port());
        let portable = credentials.portable().map_err(|error| error.to_string())?;
        let destination = Destination::own(address, portable);
        let share = Share::split(&Arc::new(options.clone()), &destination, 1).pop();
        Ok(Self {
            options,
            share: share.ok_or("a load without a part; please report this")?,
            credentials,
            channels,
            link,
        })
    }

    fn world<T: Tap>(
        &self,
        inbox: &Arc<Inbox>,
        outbox: &Sender<(u32, FromPart)>,
        meter: &Arc<Meter>,
        counter: Counter,
        tap: T,
    ) -> Result<LoadWorld<T>, String> {
        let traffic = Arc::<Traffic>::default();
        let director = self.share.director(Origin::simulated(), inbox, outbox)?;
        let link = MeteredLink::new(self.link, self.options.seed, Arc::clone(meter));
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
    }

    fn rng(&self, purpose: &str) -> Rng {
        Rng::new(self.options.seed).purpose(key_of(purpose))
    }

    fn devices(&self, traffic: &Arc<Traffic>) -> Result<Vec<Device<Counted, ()>>, String> {
        let channels =
            ClientChannels::simulated(&self.credentials, self.channels, self.rng("client secrets"));
        let clients = self.share.clients(&channels, &SharedEndpoints::default())?;
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

    fn service(&self) -> Result<Service<Server>, String> {
        let devices = self.options.clients.saturating_add(self.options.receivers()) as usize;
        let contexts = match self.options.stack.channel {
            Channel::Oscore => devices,
            _ => 0,
        };
        let (credentials, rng) = (self.credentials.clone(), self.rng("server secrets"));
        let channels = ServerChannels::simulated(credentials, self.channels, contexts, rng);
        let seed = self.rng("server").next_u64();
        Ok(Service {
            address: self.share.destination.address,
            transport: self.options.stack.transport(),
            endpoint: Server::new(self.options.stack, Clients::Devices, &channels, seed)?,
        })
    }
}

/// The link of all devices.
struct SharedLink(MeteredLink);

impl Links for SharedLink {
    fn link(&mut self, _: HostIndex) -> Option<&mut dyn Path> {
        Some(&mut self.0)
    }
}

/// A client whose bytes are counted, as sockets count them in a live load.
struct Counted {
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

/// Lets the world go on while the coordinator listens.
struct Simulation<T> {
    world: WorldCell<T>,
    inbox: Arc<Inbox>,
    outbox: Sender<(u32, FromPart)>,
    said: Receiver<(u32, FromPart)>,
    now: Rc<Cell<Instant>>,
    is_over: bool,
}

impl<T: Tap> Simulation<T> {
    /// Lets the world go on for so long; where it `listens`, only until the part has said something, which is returned.
    fn go_on(&mut self, span: Duration, listens: bool) -> Option<(u32, FromPart)> {
        let until = self.now.get() + span;
        let mut world = self.world.borrow_mut();
        let world = world.as_mut()?;
        if !self.inbox.is_empty() && !world.wake_director() {
            self.is_over = true;
            let last = FromPart::Finished { socket_error: None };
            // The other end is this simulation's own.
            drop(self.outbox.send((0, last)));
        }
        let hear = || listens.then(|| self.said.try_recv().ok()).flatten();
        let mut heard = hear();
        while !self.is_over && heard.is_none() && world.advance_by_one(until) {
            heard = hear();
        }
        self.now.set(world.now());
        heard
    }
}

impl<T: Tap> Ear for Simulation<T> {
    fn hear(&mut self, patience: Duration) -> Result<Option<(u32, FromPart)>, Gone> {
        let mut heard = self.go_on(patience, true);
        if let Some((_, FromPart::Alive { cpu_ns, .. })) = &mut heard {
            // What the simulation uses says nothing of a generator in virtual time.
            *cpu_ns = 0;
        }
        Ok(heard)
    }

    fn pass(&mut self, span: Duration) {
        self.go_on(span, false);
    }
}

/// The simulated server, as the coordinator watches it.
struct SimulatedTarget<T> {
    world: WorldCell<T>,
    counter: Counter,
    meter: Arc<Meter>,
    has_link: bool,
}

impl<T: Tap> Watched for SimulatedTarget<T> {
    /// The workers' time in use stands for CPU time, one CPU for each.
    fn used(&mut self) -> Option<Used> {
        let world = self.world.borrow();
        let world = world.as_ref()?;
        let workers = world.workers()?;
        let busy_ns = nanos(workers.busy_until(world.now()));
        Some(Used {
            user_ns: busy_ns,
            busiest_ns: Some(busy_ns / workers.count() as u64),
            ..Used::default()
        })
    }

    fn meter(&self) -> Option<&Meter> {
        self.has_link.then_some(&*self.meter)
    }

    fn begin(&mut self, phase: &Measured) {
        self.counter.begin_phase(phase);
    }

    fn arrived(&mut self, _: &dyn Fn() -> bool) -> Option<Arrived> {
        Some(self.counter.report().into())
    }
}
