//! Hosts, their flows and the events between them.
//!
//! - `devices`: the devices' side: an endpoint, one flow after the other, and a script
//! - `services`: the servers' side: endpoints with any number of flows
//! - `service_time`: the output of servers that have a service time
//! - `upkeep`: what is kept of an endpoint of either side

mod devices;
mod service_time;
mod services;
mod upkeep;

use crate::settings::Settings;
use wirecost_proto::director::{Director, Due, Scripts};
use wirecost_proto::driver::{Device, DeviceReport, FlowReport, Observer, Service};
use wirecost_proto::path::Links;
use wirecost_proto::{Buffer, Direction, Endpoint, Instant, Script};

use crate::network::Network;
use crate::network::flight::Content;
use crate::network::streams::earlier;
use crate::queue::What;
use crate::slab::Slab;
use crate::tap::Tap;
use crate::workers::Workers;
use devices::DeviceSlot;
use service_time::{Held, Saying};
use services::ServiceSlot;

/// What a world has left.
#[derive(Debug)]
pub struct Finished<D, L, T, O> {
    /// What the devices have left, in their order; each with its script where it had one of its own.
    pub devices: Vec<DeviceReport<D>>,
    /// What the services said of their flows, with the service's port; where logs were kept.
    pub flows: Vec<(u16, FlowReport)>,
    /// Why services ended, by their index, where they did.
    pub service_errors: Vec<(usize, String)>,
    /// The links, with their counters.
    pub links: L,
    /// The tap that saw the packets.
    pub tap: T,
    /// The observer of the servers' events.
    pub observer: O,
    /// When the last thing happened.
    pub ended: Instant,
    /// Events that were handled.
    pub events: u64,
}

/// Devices, services, the links between them, and the time.
#[derive(Debug)]
pub struct World<C: Endpoint, D, S: Endpoint, L, T, O> {
    network: Network<L, T>,
    devices: Vec<DeviceSlot<C>>,
    /// What the devices do and when.
    director: D,
    /// When the director is asked next.
    director_due: Option<Instant>,
    /// Devices that are not finished.
    running: usize,
    services: Vec<ServiceSlot<S>>,
    observer: O,
    flows: Vec<FlowReport>,
    /// The workers of servers that have a service time.
    workers: Option<Workers>,
    /// Outputs that wait for their time.
    held: Slab<Held>,
    /// Outputs of the service at hand, where servers have a service time.
    sayings: Vec<Saying>,
    /// When the messages are finished that the service at hand has reported.
    done: Option<Instant>,
    /// What the endpoint at hand says.
    out: Buffer,
    /// What the socket at hand has for its endpoint.
    read: Vec<u8>,
    events: u64,
}

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Director<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Links,
    T: Tap,
    O: Observer<S>,
{
    /// A world in which nothing has happened, whose devices do what `director` says.
    pub fn directed(
        mut settings: Settings,
        devices: Vec<Device<C, ()>>,
        director: D,
        services: Vec<Service<S>>,
        links: L,
        tap: T,
        observer: O,
    ) -> Self {
        let services: Vec<ServiceSlot<S>> = services.into_iter().map(ServiceSlot::new).collect();
        let service_of = |device: &Device<C, ()>| {
            let mut services = services.iter();
            let listens = services.position(|slot| slot.listens_at(device.remote, device.transport));
            listens.and_then(|index| u32::try_from(index).ok())
        };
        let devices: Vec<DeviceSlot<C>> = devices
            .into_iter()
            .map(|device| DeviceSlot::new(service_of(&device), device))
            .collect();
        Self {
            workers: settings.workers.take(),
            network: Network::new(settings, devices.len(), links, tap),
            running: devices.len(),
            devices,
            director,
            director_due: None,
            services,
            observer,
            flows: Vec::new(),
            held: Slab::default(),
            sayings: Vec::new(),
            done: None,
            out: Buffer::new(),
            read: Vec::new(),
            events: 0,
        }
    }

    /// The present virtual time.
    pub const fn now(&self) -> Instant {
        self.network.now
    }

    /// The observer of the servers' events.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The workers of servers that have a service time.
    pub const fn workers(&self) -> Option<&Workers> {
        self.workers.as_ref()
    }

    /// Lets the director take messages from outside; false where it ends the run.
    pub fn wake_director(&mut self) -> bool {
        let goes_on = self.director.woken(self.network.now).is_continue();
        self.ask_director();
        goes_on
    }

    /// Handles the next event; returns false where the next one is later than `until`, which becomes the present time.
    pub fn advance_by_one(&mut self, until: Instant) -> bool {
        let has_happened = self.step(until);
        if !has_happened {
            self.network.now = self.network.now.max(until);
        }
        has_happened
    }

    /// Lets everything happen until `until`, or until every device has finished and what its connections still had to
    /// send has arrived: elsewhere a run goes on for others, and a late segment is not a lost one.
    pub fn run_directed(mut self, until: Instant) -> (Finished<(), L, T, O>, D) {
        self.ask_director();
        while self.running > 0 && self.step(until) {}
        self.settle(until);
        self.into_finished()
    }

    /// Lets things happen until no connection that a device has closed has anything on its way, or until `until`.
    pub fn settle(&mut self, until: Instant) {
        // What has settled may be unsettled again by an answer that comes late: the first is looked for anew.
        while let Some(flow) = self.network.first_unsettled()
            && self.settle_flow(flow, until)
        {}
    }

    /// Lets things happen until a flow's connection has nothing on its way; false where `until` comes first.
    fn settle_flow(&mut self, flow: u32, until: Instant) -> bool {
        while self.network.is_unsettled(flow) {
            if !self.step(until) {
                return false;
            }
        }
        true
    }

    /// Lets the next thing happen; false where that is later than `until`, or nothing does.
    fn step(&mut self, until: Instant) -> bool {
        let Some((at, what)) = self.network.queue.pop(until) else {
            return false;
        };
        self.network.now = at;
        self.events += 1;
        self.happen(what);
        self.ask_director();
        true
    }

    /// Lets the devices that the director names do what is due, and notes when to ask again.
    fn ask_director(&mut self) {
        let now = self.network.now;
        loop {
            match self.director.due(now) {
                Due::Device(index) => self.advance(index),
                Due::Later(None) => return,
                Due::Later(Some(at)) => {
                    if let Some(at) = earlier(&mut self.director_due, Some(at.max(now))) {
                        self.network.queue.push(at, What::Director);
                    }
                    return;
                }
            }
        }
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Arrival { flight } => self.arrive(flight),
            What::Transport { flow, sends } => self.network.transport_timeout(flow, sends),
            What::Application { flow, sends } => self.wake_application(flow, sends),
            What::Device { device } => self.wake_device(device as usize),
            What::Director => {
                self.director_due.take_if(|at| *at == self.network.now);
            }
            What::Service { service } => self.wake_service(service as usize),
            What::Served { held } => self.say_held(held),
        }
    }

    /// Takes a packet out of its link.
    fn arrive(&mut self, number: u32) {
        let Some((flow, direction, flight)) = self.network.take_flight(number) else {
            return;
        };
        match &flight.content {
            Content::Segment(segment) => {
                self.network
                    .segment_arrived(flow, direction, segment, &flight.payload);
            }
            Content::Datagram => self.datagram_arrived(flow, direction, &flight.payload),
            Content::Fragment { datagram, number } => {
                if let Some(bytes) = self.network.reassemble(*datagram, *number) {
                    self.datagram_arrived(flow, direction, &bytes);
                    self.network.reassembled(*datagram, bytes);
                }
            }
            Content::Unreachable => self.device_refused(flow, direction),
        }
        self.network.landed(number, flow, flight);
    }

    fn datagram_arrived(&mut self, flow: u32, direction: Direction, bytes: &[u8]) {
        match direction {
            Direction::Up => self.service_receives(flow, bytes),
            Direction::Down => self.device_receives(flow, bytes),
        }
    }

    /// Lets the application at one end of a connection find out what its socket has for it.
    fn wake_application(&mut self, flow: u32, sends: Direction) {
        if let Some(socket) = self.network.socket(flow, sends) {
            socket.wakes_application = false;
        }
        match sends {
            Direction::Up => self.device_socket_ready(flow),
            Direction::Down => self.service_socket_ready(flow),
        }
    }

    /// What the world has left, and its director.
    pub fn into_finished(mut self) -> (Finished<(), L, T, O>, D) {
        let flows = std::mem::take(&mut self.network.flows).into_values();
        self.flows.extend(flows.filter_map(services::report));
        let ports: Vec<u16> = self.services.iter().map(ServiceSlot::port).collect();
        let port = |flow: &FlowReport| ports.get(flow.service).copied().unwrap_or_default();
        let errors = self.services.iter_mut().enumerate();
        let finished = Finished {
            devices: self.devices.into_iter().map(DeviceSlot::into_report).collect(),
            flows: self.flows.into_iter().map(|flow| (port(&flow), flow)).collect(),
            service_errors: errors
                .filter_map(|(index, slot)| Some((index, slot.upkeep.error.take()?)))
                .collect(),
            ended: self.network.now,
            links: self.network.links,
            tap: self.network.tap,
            observer: self.observer,
            events: self.events,
        };
        (finished, self.director)
    }
}

impl<C, X, S, L, T, O> World<C, Scripts<X>, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    X: Script<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Links,
    T: Tap,
    O: Observer<S>,
{
    /// A world in which nothing has happened, whose devices have a script each.
    pub fn new(
        settings: Settings,
        devices: Vec<Device<C, X>>,
        services: Vec<Service<S>>,
        links: L,
        tap: T,
        observer: O,
    ) -> Self {
        let (devices, scripts) = devices.into_iter().map(Device::apart).unzip();
        Self::directed(
            settings,
            devices,
            Scripts::new(scripts),
            services,
            links,
            tap,
            observer,
        )
    }

    /// The same as [`World::run_directed`], each device's report with its script.
    pub fn run(self, until: Instant) -> Finished<X, L, T, O> {
        let (finished, director) = self.run_directed(until);
        let (scripts, _) = director.into_parts();
        let devices = finished.devices.into_iter().zip(scripts);
        Finished {
            devices: devices.map(|(report, script)| report.with(script)).collect(),
            flows: finished.flows,
            service_errors: finished.service_errors,
            links: finished.links,
            tap: finished.tap,
            observer: finished.observer,
            ended: finished.ended,
            events: finished.events,
        }
    }
}
