//! A load in virtual time: the devices, the director and the coordinator of a live load in a simulated world, with the
//! built-in server behind a link of the same kind. Everything in it is modelled.
//!
//! ```text
//! coordinator --ToPart--> Inbox -> Devices, directing the World <-> link <-> server, workers -> Counter
//!     `-- receives: runs the World until Devices has reported something, or until the time-out
//! ```
//!
//! - `bridges`: what brokers of different sites pass on
//! - `setting`: its devices, servers and links
//! - `parts`: its part and its target, as the coordinator sees them
//! - `spool`: its packets on disk, for a capture
//! - [`worlds`]: several of them, where devices share nothing

mod bridges;
mod counted;
mod parts;
mod setting;
mod spool;
pub mod worlds;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use wirecost_link::{Counters, LinkConfig};
use wirecost_live::emulation::capture::write_simulated;
use wirecost_live::emulation::{EmulationError, Meter};
use wirecost_live::recorder::Recording;
use wirecost_proto::hosts::{DEVICES_V4, HostIndex};
use wirecost_proto::{BothWays, Instant};
use wirecost_results::link::{achieved, link_of};
use wirecost_results::load::{LinkFigures, Load, LoadFile, Worlds};
use wirecost_results::time::rfc3339;
use wirecost_results::traffic::LoadTraffic;
use wirecost_scenario::identity;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_sim::{Tap, Watch};

use crate::context::{Demands, RunContext};
use crate::coordinator::{Coordinator, CoordinatorContext, cpus};
use crate::devices::destination::Destination;
use crate::devices::keys::{self, KeyLines};
use crate::devices::part::{FromPart, Inbox, PartError, ToPart};
use crate::devices::traffic::{DeviceKeeper, Kept};
use crate::error::LoadError;
use crate::link::capture_label::PhaseLabels;
use crate::link::{Captured, Decided, LinkReport, keep};
use crate::parts::outcome::{GeneratorError, LoadOutcome};
use crate::parts::running::{Parts, Tell};
use crate::parts::usage::Used;
use crate::schedule::clock::{LoadClock, Origin};
use crate::targets::sink::counter::Counter;
use crate::verdict::Taken;
use crate::verdict::{checked, entry};
use crate::watch::{Announcement, Watcher};
use parts::{SimulatedTarget, Simulation};
use setting::{LoadWorld, Setting};
use spool::Spool;
use worlds::Place;

/// How long the simulation waits for packets of closed connections at the end of the load.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs a load in virtual time; `None` if it was interrupted before it began.
///
/// # Errors
/// [`LoadError`] if there are no figures.
pub(crate) fn run(options: &LoadOptions, context: RunContext<'_>) -> Result<Option<LoadFile>, LoadError> {
    let started_at = SystemTime::now();
    let RunContext {
        watcher,
        interrupted,
        position,
        demands,
        folder,
        ..
    } = context;
    watcher.begin(&Announcement::from_options(options, position));
    let spool = options.capture.then(|| Spool::create(folder)).transpose();
    let spool = spool.map_err(EmulationError::doing("record packets"))?;
    let kept = Rc::new(RefCell::new(Kept::default()));
    let (clients, observed) = (options.own_clients(), Rc::clone(&kept));
    let watch = Watch::new(move |host| Kept::observer(&observed, clients, host));
    if let Some(shard) = options.shard {
        let own = options.own_devices();
        watcher.note(&format!(
            "shard {shard}: devices {} to {} of {}; what they share, they share with no other shard",
            own.start,
            own.end - 1,
            options.clients
        ));
    }
    let worlds = crate::devices::worlds::plan(options, demands.is_some());
    if let Some(Worlds {
        shared: Some(shared), ..
    }) = &worlds
    {
        watcher.note(&format!("one world, on one CPU: all devices share {shared}"));
    }
    let simulated = match worlds.as_ref().map_or(1, |worlds| worlds.count) {
        1 => simulate(options, watcher, interrupted, demands, (spool, watch)),
        of => {
            let threads = crate::devices::worlds::cpus(options).min(of);
            worlds::simulate(options, [of, threads], watcher, interrupted, (spool, watch))
        }
    };
    watcher.end();
    let Simulated {
        outcome,
        counters,
        tap: (spool, watch),
        destination,
    } = simulated?;
    if outcome.has_not_begun() {
        return Ok(None);
    }
    checked::check(options, destination.address, &outcome)?;
    let recording = spool.map(Spool::finish);
    let captured = recording.map(|packets| capture(options, folder, packets, &outcome, &destination));
    let captured = captured.transpose()?;
    let traffic = traffic(options, &outcome, watch, kept);
    let link = options.link.map(|config| link_report(options, config, &counters));
    let mut load = Load {
        started_at: rfc3339(started_at),
        worlds,
        ..entry::assemble(options, &outcome, Taken::default(), link.as_ref())
    };
    if let Some(captured) = captured {
        captured.note(&mut load);
    }
    Ok(Some(LoadFile {
        profile: None,
        load,
        intervals: outcome.intervals,
        usage: Vec::new(),
        source_addresses: vec![format!("{DEVICES_V4}/16")],
        // A simulated server is of this program, whose version the summary has anyway.
        server: None,
        traffic,
    }))
}

/// What the first devices did until the end of the last phase.
fn traffic<F: FnMut(HostIndex) -> Option<DeviceKeeper>>(
    options: &LoadOptions,
    outcome: &LoadOutcome,
    watch: Watch<DeviceKeeper, F>,
    kept: Rc<RefCell<Kept>>,
) -> Option<LoadTraffic> {
    let times = outcome.times()?;
    watch.finish(times[1]);
    Rc::into_inner(kept)?
        .into_inner()
        .finish(options.own_clients(), times)
}

/// Writes the capture of the recorded packets below the results folder.
fn capture(
    options: &LoadOptions,
    folder: &Path,
    mut packets: Recording,
    outcome: &LoadOutcome,
    destination: &Destination,
) -> Result<Captured, LoadError> {
    let contexts = keys::oscore_contexts(options, destination);
    let labels = PhaseLabels::from_options(options, outcome);
    let write = |path: &Path| {
        let utc_ns = Origin::simulated().utc_ns;
        let label = |at| labels.at(at);
        write_simulated(path, &mut packets, utc_ns, outcome.keys.text(), &label)
    };
    Ok(keep(folder, &identity::key(options), contexts.as_deref(), write)?)
}

/// The report of the link, which keeps every deadline.
fn link_report(options: &LoadOptions, config: LinkConfig, counters: &[BothWays<Counters>]) -> LinkReport {
    let decided = Decided::from_options(options, counters, &[]);
    LinkReport {
        config,
        counters: decided.of_senders,
        hops: decided.hops,
        figures: LinkFigures {
            link: link_of(&config, Some(achieved(&[], &config, &decided.of_senders))),
            packet_path: "virtual".into(),
            emulator: None,
            dropped_packets: 0,
            relay: None,
        },
        network: Vec::new(),
        capture: None,
        traffic: None,
    }
}

/// The result of a simulated load.
pub struct Simulated<T> {
    /// The counts.
    pub outcome: LoadOutcome,
    /// The decisions of each direction of each link, in the order of [`LoadOptions::hops`].
    pub counters: Vec<BothWays<Counters>>,
    /// The tap that saw the packets.
    pub tap: T,
    /// The server's address and the credentials of its clients.
    pub destination: Destination,
}

/// Simulates a load. `tap` sees its packets, and `watcher` receives progress notifications. The load ends early if it
/// is `interrupted` or if one of `demands` fails.
///
/// # Errors
/// A client, the server or a message cannot be made.
pub fn simulate<T: Tap + 'static>(
    options: &LoadOptions,
    watcher: &mut dyn Watcher,
    interrupted: &dyn Fn() -> bool,
    demands: Option<&Demands<'_>>,
    tap: T,
) -> Result<Simulated<T>, PartError> {
    simulate_world(
        options,
        Place::from_options(options, [0, 1]),
        watcher,
        interrupted,
        demands,
        tap,
    )
}

/// Simulates one world of a load.
fn simulate_world<T: Tap + 'static>(
    options: &LoadOptions,
    place: Place,
    watcher: &mut dyn Watcher,
    interrupted: &dyn Fn() -> bool,
    demands: Option<&Demands<'_>>,
    tap: T,
) -> Result<Simulated<T>, PartError> {
    let now = Rc::new(Cell::new(Instant::START));
    let setting = Setting::new(options, place)?;
    let meter = Arc::new(Meter::new(setting.hops().len()));
    meter.tell_subscribers(options.clients);
    let (outbox, said) = channel();
    let inbox = Inbox::new();
    let counter = Counter::new(0, options.is_stamped());
    let world = setting.world(&inbox, &outbox, &meter, counter.clone(), tap)?;
    let world = Rc::new(RefCell::new(Some(world)));
    let mut target = SimulatedTarget {
        world: Rc::clone(&world),
        counter,
        meter,
        has_link: options.link.is_some(),
    };
    // The receiver lives as long as the simulation.
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
    let coordinator_context = CoordinatorContext {
        clock: LoadClock::Virtual(now),
        target: &mut target,
        watcher,
        interrupted,
        used: &mut Used::default,
        cpus: cpus(),
        demands,
    };
    let outcome = Coordinator::new(options, parts, coordinator_context).run();
    let world = world.borrow_mut().take();
    let world = world.ok_or(PartError::NoWorld)?;
    Ok(settled(world, setting, &target.meter, outcome))
}

/// The result of a world, after the last packets of its connections have arrived.
fn settled<T: Tap>(
    mut world: LoadWorld<T>,
    setting: Setting<'_>,
    meter: &Meter,
    mut outcome: LoadOutcome,
) -> Simulated<T> {
    // The last acknowledgements are on their way: without them the bytes of the link would be fewer than those of the sockets.
    world.settle(world.now() + SETTLE);
    outcome.settle_link(&meter.read());
    let (finished, _) = world.into_finished();
    outcome.keys = KeyLines::from_log(&setting.credentials.key_log);
    if let Some((_, error)) = finished.service_errors.into_iter().next() {
        let failure = GeneratorError::Server(error.to_string());
        // An error of the server that came after another failure follows from it.
        outcome.failure.get_or_insert(failure);
    }
    Simulated {
        outcome,
        counters: finished.links.links.counters(),
        tap: finished.tap,
        destination: setting.share.destination,
    }
}
