//! Cells whose devices share one link and one server: a whole fleet in one world of virtual time.
//!
//! ```text
//! device i of n       0                 interval            2 x interval
//! connects at         interval x i/n
//! sends message k at                    interval x (k + 1) + spread x i/n
//! ```
//!
//! Connections are kept, and come up evenly within the first interval, so that a burst is one of messages. A device whose
//! connection is lost sends no more: nobody connects again. Nothing is recorded: packets and bytes are added up by
//! phase, layer and cause as the link takes them, times go into histograms.
//!
//! - `script`: what a device does
//! - `book`: what the devices of a fleet note together
//! - `delays`: how long the link held the packets
//! - `figures`: from sums and histograms to a cell

mod book;
mod delays;
mod figures;
mod script;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use wirecost_cost::Totals;
use wirecost_link::{Counters, Link};
use wirecost_proto::driver::{Device, Service};
use wirecost_proto::hosts::{HostIndex, server_address, simulated_address};
use wirecost_proto::path::Links;
use wirecost_proto::random::key_of;
use wirecost_proto::{Direction, Instant, Path};
use wirecost_results::Cell;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{Plan, PlannedCell, mtu_of};
use wirecost_sim::{Finished, Settings, Tally, World};
use wirecost_stack::channels::{ClientChannels, ServerChannels};
use wirecost_stack::server::{Clients, Discard};
use wirecost_stack::{Client, Credentials, Message, Server};

use super::device::{CONNECT_TIMEOUT, channel_options, client_config};
use super::simulated::{SimulationError, side_by_side};
use book::MessageTracker;
use delays::Delays;
use script::{FleetConfig, FleetScript};

/// What a fleet has come to.
#[derive(Debug)]
pub struct FleetResult {
    /// Which cell of the plan it is.
    pub index: usize,
    /// Its figures.
    pub cell: Cell,
    /// The distribution of its response times, as a `.hgrm` file has it; none where there are none.
    pub distribution: Option<String>,
}

/// How far the fleets are that are at work, and whether they are to go on.
#[derive(Debug, Default)]
pub struct Pace {
    /// Where the one that was heard of last is, in nanoseconds of virtual time.
    at: AtomicU64,
    stopped: AtomicBool,
}

impl Pace {
    /// Where the fleet that was heard of last is in its virtual time.
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.at.load(Ordering::Relaxed))
    }

    /// Stops every device.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// The virtual time that the messages of a cell take.
pub fn duration(options: &Options, cell: &PlannedCell) -> Duration {
    let orders = FleetConfig::new(options, cell);
    orders.message_at(orders.devices.saturating_sub(1), orders.messages)
}

/// Simulates `cells` of a plan on `jobs` threads, and hands their results over in the order of `cells`. A fleet that was
/// stopped on its way is handed over, too, with what it had measured.
///
/// # Errors
/// The first cell that cannot be simulated.
pub fn simulate(
    options: &Options,
    plan: &Plan,
    cells: &[usize],
    jobs: usize,
    pace: &Pace,
    on_cell: &mut dyn FnMut(FleetResult),
    stop: &dyn Fn() -> bool,
) -> Result<(), SimulationError> {
    let run = |index: usize| {
        let fleet = Fleet {
            options,
            planned: &plan.cells[index],
        };
        let (cell, distribution) = fleet.play(pace)?;
        Ok(FleetResult {
            index,
            cell,
            distribution,
        })
    };
    let stop = || {
        let stopped = stop();
        if stopped {
            pace.stop();
        }
        stopped
    };
    side_by_side(cells, jobs, &run, on_cell, &stop)
}

/// One cell.
struct Fleet<'a> {
    options: &'a Options,
    planned: &'a PlannedCell,
}

/// What a fleet has left.
struct Played<'a> {
    book: MessageTracker,
    totals: Totals,
    delays: Delays<'a>,
    /// What the link decided, up and down.
    counters: [Counters; 2],
    service_error: Option<String>,
}

impl Fleet<'_> {
    fn play(&self, pace: &Pace) -> Result<(Cell, Option<String>), SimulationError> {
        if self.planned.not_run.is_some() {
            return Ok((figures::not_run(self.options, self.planned), None));
        }
        let book = Rc::new(RefCell::new(MessageTracker::default()));
        let devices = self.devices(&book, pace)?;
        let rng = self.planned.rng;
        let link = SharedLink(Link::new(
            self.options.links[self.planned.link],
            rng.purpose(key_of("shared link")),
        ));
        let settings = Settings {
            keeps_logs: false,
            ..Settings::linux(self.mtu(), self.options.ipv6, rng.purpose(key_of("hosts")))
        };
        let taps = (Tally::new(|_| 0), Delays::new(pace));
        let world = World::new(settings, devices, vec![self.service()?], link, taps, Discard);
        let Finished {
            devices,
            links: SharedLink(link),
            tap: (tally, delays),
            service_errors,
            ..
        } = world.run(Instant::from_nanos(u64::MAX));
        // Each device holds the book; they are gone now.
        drop(devices);
        let played = Played {
            book: book.take(),
            totals: tally.totals().first().cloned().unwrap_or_default(),
            delays,
            counters: Direction::ALL.map(|way| *link.counters(way)),
            service_error: service_errors.into_iter().next().map(|(_, error)| error),
        };
        Ok(figures::cell(self.options, self.planned, &played))
    }

    fn devices<'a>(
        &self,
        book: &Rc<RefCell<MessageTracker>>,
        pace: &'a Pace,
    ) -> Result<Vec<Device<Client, FleetScript<'a>>>, SimulationError> {
        let (options, planned) = (self.options, self.planned);
        let rng = planned.rng.purpose(key_of("object"));
        let message = Message::simulated(planned.stack, &options.resource, &planned.payload, rng)?;
        let credentials = Credentials::simulated(options.seed)?;
        let channels = channel_options(options, self.mtu());
        let channels = ClientChannels::simulated(&credentials, channels, rng);
        let orders = Rc::new(FleetConfig::new(options, planned));
        let remote = self.server();
        let device = |host: HostIndex| {
            let config = client_config(options, planned, host, host);
            let address = simulated_address(host, options.ipv6).unwrap_or(remote.ip());
            Ok(Device {
                host,
                local: SocketAddr::new(address, 0),
                remote,
                transport: planned.stack.transport(),
                endpoint: Client::new(&message, &config, &channels)?,
                script: FleetScript::new(host, Rc::clone(&orders), Rc::clone(book), pace),
            })
        };
        (0..options.samples).map(device).collect()
    }

    fn service(&self) -> Result<Service<Server>, SimulationError> {
        let (options, planned) = (self.options, self.planned);
        let credentials = Credentials::simulated(options.seed)?;
        let rng = planned.rng.purpose(key_of("server secrets"));
        let channels = channel_options(options, self.mtu());
        let channels = ServerChannels::simulated(credentials, channels, 1, rng);
        let seed = planned.rng.purpose(key_of("server")).next_u64();
        let endpoint = Server::new(planned.stack, Clients::Devices, &channels, seed);
        Ok(Service {
            address: self.server(),
            transport: planned.stack.transport(),
            endpoint: endpoint.map_err(SimulationError::Server)?,
        })
    }

    fn server(&self) -> SocketAddr {
        SocketAddr::new(server_address(self.options.ipv6), self.planned.stack.port())
    }

    fn mtu(&self) -> u16 {
        mtu_of(&self.options.links[self.planned.link])
    }
}

/// How long a device waits for its connection, beside four round trips.
fn connect_timeout(options: &Options, cell: &PlannedCell) -> Duration {
    CONNECT_TIMEOUT + options.links[cell.link].rtt() * 4
}

/// The link of all devices.
struct SharedLink(Link);

impl Links for SharedLink {
    fn link(&mut self, _: HostIndex) -> Option<&mut dyn Path> {
        Some(&mut self.0)
    }
}

#[cfg(test)]
mod tests;
