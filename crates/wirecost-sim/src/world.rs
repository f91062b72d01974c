//! Hosts, their flows and the events between them.

use wirecost_proto::driver::{Device, DeviceReport, FlowReport, Observer, Service};
use wirecost_proto::path::Links;
use wirecost_proto::{Endpoint, Instant, Rng, Script};
use wirecost_tcp::Config;

use crate::tap::Tap;

/// What a world is like, beside its hosts and links.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How devices' TCP behaves.
    pub device_tcp: Config,
    /// How servers' TCP behaves.
    pub server_tcp: Config,
    /// The largest IP packet that hosts send: larger datagrams are fragmented.
    pub mtu: u16,
    /// Ports, initial sequence numbers and IP identifications.
    pub rng: Rng,
    /// Whether what the endpoints say of their bytes is kept until the end, for the ledger.
    pub keeps_logs: bool,
}

/// What a world has left.
#[derive(Debug)]
pub struct Finished<D, L, T, O> {
    /// What the devices have left, in their order.
    pub devices: Vec<DeviceReport<D>>,
    /// What the services said of their flows, with the service's port; where logs were kept.
    pub flows: Vec<(u16, FlowReport)>,
    /// The links, with their counters.
    pub links: L,
    /// Who saw the packets.
    pub tap: T,
    /// Who took the servers' events.
    pub observer: O,
    /// When the last thing happened.
    pub ended: Instant,
    /// Events that were handled.
    pub events: u64,
}

/// Devices, services, the links between them, and the time.
pub struct World<C: Endpoint, D, S: Endpoint, L, T, O> {
    _parts: (Vec<Device<C, D>>, Vec<Service<S>>, L, T, O),
}

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Script<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Links,
    T: Tap,
    O: Observer<S>,
{
    /// A world in which nothing has happened.
    pub fn new(
        settings: Settings,
        devices: Vec<Device<C, D>>,
        services: Vec<Service<S>>,
        links: L,
        tap: T,
        observer: O,
    ) -> Self {
        let _ = settings;
        Self {
            _parts: (devices, services, links, tap, observer),
        }
    }

    /// Lets everything happen until every device has finished or `until`.
    pub fn run(self, until: Instant) -> Finished<D, L, T, O> {
        let _ = until;
        unimplemented!()
    }
}
