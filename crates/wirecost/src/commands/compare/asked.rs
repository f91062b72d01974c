//! From the arguments of `wirecost compare` to the options of a comparison.

use std::time::Duration;

use wirecost_lab::compare::Options;
use wirecost_lab::compare::options::{Fleet, Schedule};

use crate::arguments::CompareArguments;
use crate::commands::link_flags::links;
use crate::exit::Failure;

/// What the arguments ask for.
pub(super) fn options(arguments: &CompareArguments) -> Result<Options, Failure> {
    let keep_alive = u16::try_from(arguments.keep_alive.as_secs());
    let keep_alive = keep_alive
        .ok()
        .filter(|seconds| Duration::from_secs(u64::from(*seconds)) == arguments.keep_alive)
        .ok_or_else(|| Failure::usage("--keep-alive must be whole seconds, at most 65535s"))?;
    let options = Options {
        engine: arguments.engine,
        stacks: arguments.stacks.clone(),
        sizes: arguments.size.clone(),
        links: links(&arguments.link)?,
        samples: arguments.clients.unwrap_or(arguments.count),
        settle: arguments.settle,
        timeout: arguments.timeout,
        target: arguments.target,
        ipv6: arguments.ipv6,
        medium: arguments.packet_path.medium(),
        one_cpu: arguments.one_cpu,
        seed: arguments.seed,
        resource: arguments.resource.clone(),
        keep_alive,
        starts: arguments.start.clone(),
        schedules: schedules(arguments),
        keys: !arguments.no_keys,
        client_certificates: arguments.client_certificates,
        dtls_cookie: arguments.dtls_cookie,
        record_hosts: arguments.record_hosts,
        fleet: arguments.shared_link.then_some(Fleet {
            spread: arguments.spread,
        }),
    };
    options.validate()?;
    once("stack", &options.stacks)?;
    once("start", &options.starts)?;
    once("size", &options.sizes)?;
    once("link", &options.links)?;
    once("interval with its messages per connection", &options.schedules)?;
    Ok(options)
}

/// Every interval with every number of messages per connection.
fn schedules(arguments: &CompareArguments) -> Vec<Schedule> {
    let intervals: Vec<Option<Duration>> = match arguments.interval.as_slice() {
        [] => vec![None],
        intervals => intervals.iter().copied().map(Some).collect(),
    };
    // One message asked for on each connection is the whole of it.
    let messages: Vec<(u64, bool)> = match arguments.messages_per_connection.as_slice() {
        [] => vec![(1, true)],
        messages => messages
            .iter()
            .map(|messages| (*messages, *messages != 1))
            .collect(),
    };
    let of_interval = |interval: &Option<Duration>| {
        let interval = *interval;
        messages.iter().map(move |(messages, warm_up)| Schedule {
            messages: *messages,
            warm_up: *warm_up,
            interval,
        })
    };
    intervals.iter().flat_map(of_interval).collect()
}

/// Refuses a list in which something stands twice: its cells could not be told apart.
fn once<T: PartialEq>(what: &str, list: &[T]) -> Result<(), Failure> {
    let mut places = list.iter().enumerate();
    match places.find(|(place, item)| list[..*place].contains(item)) {
        Some((place, _)) => {
            let number = place + 1;
            let message = format!(
                "{what} {number} of {} has been asked for before: name each {what} once",
                list.len()
            );
            Err(Failure::usage(message))
        }
        None => Ok(()),
    }
}
