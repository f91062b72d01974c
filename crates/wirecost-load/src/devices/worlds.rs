//! Which devices of a load in virtual time share something, and so are one world.

use std::thread;

use wirecost_link::{DirectionConfig, LinkConfig};
use wirecost_results::load::Worlds;
use wirecost_scenario::options::load::{LoadEngine, LoadOptions};
use wirecost_stack::Channel;

/// The devices of one world, where a load can have several.
const DEVICES: u32 = 50_000;

/// The worlds of a load in virtual time; `ends_early` if a threshold can end it. `None` if it has no more devices than one world takes,
/// or is live.
pub fn plan(options: &LoadOptions, ends_early: bool) -> Option<Worlds> {
    if options.engine == LoadEngine::Live || options.own_clients() <= DEVICES {
        return None;
    }
    let shared = shared_by_all(options).or(ends_early.then_some("a threshold that ends the load"));
    Some(Worlds {
        count: match shared {
            Some(_) => 1,
            None => options.own_clients().div_ceil(DEVICES),
        },
        shared: shared.map(str::to_owned),
    })
}

/// The most devices that are in memory at once on a machine with so many CPUs.
pub fn devices_at_once(options: &LoadOptions, ends_early: bool, cpus: u32) -> u64 {
    let clients = u64::from(options.own_clients());
    match plan(options, ends_early) {
        Some(Worlds { count, .. }) if count > 1 => {
            clients.div_ceil(count.into()) * u64::from(count.min(cpus))
        }
        Some(_) | None => clients,
    }
}

/// The CPUs that the worlds of a load run on: as many as it asks for, or all.
pub fn cpus(options: &LoadOptions) -> u32 {
    let all =
        || thread::available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX));
    options.threads.unwrap_or_else(all)
}

/// What all devices of a load in virtual time share, so that they are one world; `None` if nothing.
fn shared_by_all(options: &LoadOptions) -> Option<&'static str> {
    let shared = [
        (options.stack.application.has_broker(), "a broker"),
        (options.sites.is_some(), "sites"),
        (options.receivers() > 0, "what devices publish"),
        (options.service_time.is_some(), "the workers of a server"),
        (options.link.is_some_and(|link| !is_only_long(&link)), "a link"),
        (
            options.stack.channel == Channel::Oscore,
            "a table of security contexts",
        ),
        (options.shared_socket, "a socket"),
        (options.capture, "a capture"),
        (options.trace.is_some(), "a trace"),
    ];
    shared
        .into_iter()
        .find_map(|(is_shared, what)| is_shared.then_some(what))
}

/// Whether a link delays packets and does nothing else: no packet meets another one there.
fn is_only_long(link: &LinkConfig) -> bool {
    let is_plain = |way: &DirectionConfig| {
        let plain = DirectionConfig {
            delay: way.delay,
            mtu: way.mtu,
            ..DirectionConfig::default()
        };
        *way == plain
    };
    is_plain(&link.up) && is_plain(&link.down) && link.cell.is_none() && link.nat == LinkConfig::default().nat
}
