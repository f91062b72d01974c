//! Hosts, their flows and the events between them.
//!
//! - `devices`: the devices' side: an endpoint, one flow after the other, and a script
//! - `services`: the servers' side: endpoints with any number of flows
//! - `service_time`: the output of servers that have a service time
//! - `status`: the driver's state of an endpoint

mod devices;
mod service_time;
mod services;
mod status;

use std::net::SocketAddr;

use crate::awake::Sleeper;
use crate::carrier::Carrier;
use crate::settings::Settings;
use wirecost_proto::director::{Director, Due, Scripts};
use wirecost_proto::driver::{Device, DeviceReport, FlowReport, Service, ServiceObserver};
use wirecost_proto::{Buffer, Direction, Endpoint, Instant, Script};

use crate::network::Network;
use crate::network::in_flight::Content;
use crate::network::streams::earlier;
use crate::queue::Event;
use crate::slab::Slab;
use crate::tap::Tap;
use crate::workers::Workers;
use devices::DeviceSlot;
use service_time::{DelayedOutput, PendingOutput};
use services::ServiceSlot;

/// The results of a world.
#[derive(Debug)]
pub struct Finished<D, L, T, O> {
    /// The reports of the devices, in their order; each with its script if it had one.
    pub devices: Vec<DeviceReport<D>>,
    /// The reports of the services' flows with the services' ports, if logs were kept.
    pub flows: Vec<(u16, FlowReport)>,
    /// The errors that ended services, by the services' index.
    pub service_errors: Vec<(usize, String)>,
    /// The links, with their counters.
    pub links: L,
    /// The tap that saw the packets.
    pub tap: T,
    /// The observer of the servers' events.
    pub observer: O,
    /// When the last event happened.
    pub ended: Instant,
    /// Events that were handled.
    pub events: u64,
}

/// Devices, services, the links between them, and the current time.
#[derive(Debug)]
pub struct World<C: Endpoint, D, S: Endpoint, L, T, O> {
    network: Network<L, T>,
    devices: Vec<DeviceSlot<C>>,
    /// Decides what the devices do and when.
    director: D,
    /// When to ask the director next.
    director_due: Option<Instant>,
    /// Devices that are not finished.
    running: usize,
    services: Vec<ServiceSlot<S>>,
    observer: O,
    flows: Vec<FlowReport>,
    /// The workers of servers that have a service time.
    workers: Option<Workers>,
    /// Outputs that wait for their service time.
    delayed: Slab<DelayedOutput>,
    /// Outputs of the current service, if servers have a service time.
    pending: Vec<PendingOutput>,
    /// When the messages that the current service has reported are finished.
    done: Option<Instant>,
    /// The output of the current endpoint.
    out: Buffer,
    /// The bytes read from the current socket.
    read: Vec<u8>,
    events: u64,
}

/// The number of a server's address among all of them, of which there are few.
fn number_of(server: SocketAddr, servers: &mut Vec<SocketAddr>) -> u32 {
    let known = servers.iter().position(|known| *known == server);
    let number = known.unwrap_or_else(|| {
        servers.push(server);
        servers.len() - 1
    });
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Director<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Carrier,
    T: Tap,
    O: ServiceObserver<S>,
{
    /// A world at the start of its run, whose devices follow `director`.
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
        let mut servers = Vec::new();
        let devices: Vec<DeviceSlot<C>> = devices
            .into_iter()
            .map(|device| {
                DeviceSlot::new(
                    service_of(&device),
                    number_of(device.remote, &mut servers),
                    device,
                )
            })
            .collect();
        Self {
            workers: settings.workers.take(),
            network: Network::new(settings, devices.len(), servers, links, tap),
            running: devices.len(),
            devices,
            director,
            director_due: None,
            services,
            observer,
            flows: Vec::new(),
            delayed: Slab::default(),
            pending: Vec::new(),
            done: None,
            out: Buffer::new(),
            read: Vec::new(),
            events: 0,
        }
    }

    /// The current virtual time.
    pub const fn now(&self) -> Instant {
        self.network.now
    }

    /// What carries the packets, for its owner.
    pub const fn carrier_mut(&mut self) -> &mut L {
        &mut self.network.links
    }

    /// The director.
    pub const fn director(&self) -> &D {
        &self.director
    }

    /// The tap that sees the packets.
    pub const fn tap(&self) -> &T {
        &self.network.tap
    }

    /// The tap that sees the packets, for its owner.
    pub const fn tap_mut(&mut self) -> &mut T {
        &mut self.network.tap
    }

    /// When something happens next, without further calls; `None` where nothing does.
    pub fn next_event(&self) -> Option<Instant> {
        let decision = self.network.next_decision();
        let event = self.network.queue.next();
        event.into_iter().chain(decision).min()
    }

    /// Whether no packet is in transit and every segment is acknowledged.
    pub fn is_quiet(&self) -> bool {
        !self.network.is_carrying() && self.network.unsettled_from(0).is_none()
    }

    /// The observer of the servers' events.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The workers of servers that have a service time.
    pub const fn workers(&self) -> Option<&Workers> {
        self.workers.as_ref()
    }

    /// Tells the director that messages from outside wait for it; returns false if it ends the run.
    pub fn wake_director(&mut self) -> bool {
        let goes_on = self.director.woken(self.network.now).is_continue();
        self.ask_director();
        goes_on
    }

    /// Handles the next event. Returns false if that is later than `until`, which is then the current time.
    pub fn advance_by_one(&mut self, until: Instant) -> bool {
        let has_happened = self.step(until);
        if !has_happened {
            self.network.now = self.network.now.max(until);
        }
        has_happened
    }

    /// Handles all events until `until`, or until every device has finished and its connections have delivered their last
    /// bytes. A live run continues for other devices, so that a late segment is not lost there.
    pub fn run_directed(mut self, until: Instant) -> (Finished<(), L, T, O>, D) {
        self.ask_director();
        while self.running > 0 && self.step(until) {}
        self.settle(until);
        self.into_finished()
    }

    /// Handles events until no connection has unacknowledged segments, or until `until`.
    pub fn settle(&mut self, until: Instant) {
        // A late answer may leave an earlier connection with unacknowledged segments again, so that every search looks at all of
        // them. It begins where the last one ended: what lies before has settled, and is mostly passed once.
        let mut settled = 0;
        while let Some(flow) = self.network.unsettled_from(settled)
            && self.settle_flow(flow, until)
        {
            settled = flow;
        }
    }

    /// Handles events until a flow's connection has no unacknowledged segments; returns false if `until` comes first.
    fn settle_flow(&mut self, flow: u32, until: Instant) -> bool {
        while self.network.is_unsettled(flow) {
            if !self.step(until) {
                return false;
            }
        }
        true
    }

    /// Handles the next event; returns false if there is none until `until`.
    fn step(&mut self, until: Instant) -> bool {
        let decision = self.network.next_decision().filter(|at| *at <= until);
        let Some((at, event)) = self.network.queue.pop(decision.unwrap_or(until)) else {
            let Some(at) = decision else {
                return false;
            };
            self.network.decide(at);
            return true;
        };
        self.network.now = at;
        self.events += 1;
        self.handle(event);
        self.ask_director();
        self.rest();
        true
    }

    /// Lets endpoints and sockets that have handled nothing lately give back the memory that they keep for reuse.
    fn rest(&mut self) {
        while let Some(entry) = self.network.awake.next(self.network.now) {
            match entry.sleeper {
                Sleeper::Device { device } => self.rest_device(device, entry),
                Sleeper::Socket { flow, sends } => self.network.rest(flow, sends, entry),
            }
        }
    }

    /// Advances the devices that the director names, and schedules when to ask again.
    fn ask_director(&mut self) {
        let now = self.network.now;
        loop {
            match self.director.due(now) {
                Due::Device(index) => {
                    self.advance(index);
                    // All devices may have something to do at one instant.
                    self.rest();
                }
                Due::Later(None) => return,
                Due::Later(Some(at)) => {
                    if let Some(at) = earlier(&mut self.director_due, Some(at.max(now))) {
                        self.network.queue.push(at, Event::Director);
                    }
                    return;
                }
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival { packet } => self.arrive(packet),
            Event::Transport { flow, sends } => self.network.transport_timeout(flow, sends),
            Event::Application { flow, sends } => self.wake_application(flow, sends),
            Event::Device { device } => self.wake_device(device as usize),
            Event::Director => {
                self.director_due.take_if(|at| *at == self.network.now);
            }
            Event::Service { service } => self.wake_service(service as usize),
            Event::ServiceDone { delayed } => self.send_delayed(delayed),
        }
    }

    /// Handles the arrival of a packet.
    fn arrive(&mut self, number: u32) {
        let Some((flow, direction, packet)) = self.network.take_packet(number) else {
            return;
        };
        match &packet.content {
            Content::Segment(segment) => {
                self.network
                    .segment_arrived(flow, direction, segment, &packet.payload);
            }
            Content::Datagram => self.datagram_arrived(flow, direction, &packet.payload),
            Content::Fragment { datagram, number } => {
                if let Some(bytes) = self.network.reassemble(*datagram, *number) {
                    self.datagram_arrived(flow, direction, &bytes);
                    self.network.reassembled(*datagram, bytes);
                }
            }
            Content::Unreachable => self.device_refused(flow, direction),
        }
        self.network.finish_arrival(number, flow, packet);
    }

    fn datagram_arrived(&mut self, flow: u32, direction: Direction, bytes: &[u8]) {
        match direction {
            Direction::Up => self.service_receives(flow, bytes),
            Direction::Down => self.device_receives(flow, bytes),
        }
    }

    /// Wakes the application at one end of a connection, which checks its socket.
    fn wake_application(&mut self, flow: u32, sends: Direction) {
        if let Some(socket) = self.network.socket(flow, sends) {
            socket.wakes_application = false;
        }
        match sends {
            Direction::Up => self.device_socket_ready(flow),
            Direction::Down => self.service_socket_ready(flow),
        }
    }

    /// The results of the world, and its director.
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
                .filter_map(|(index, slot)| Some((index, slot.status.error.take()?)))
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
    L: Carrier,
    T: Tap,
    O: ServiceObserver<S>,
{
    /// A world at the start of its run, whose devices have one script each.
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
