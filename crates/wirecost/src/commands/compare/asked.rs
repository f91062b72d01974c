//! From the arguments of `wirecost compare` to the options of a comparison.

use wirecost_scenario::options::compare::{Options, Schedule, SharedLink};

use crate::arguments::CompareArguments;
use crate::commands::keep_alive_seconds;
use crate::commands::link_flags::links;
use crate::exit::Failure;

/// The options of these arguments.
pub(super) fn options(arguments: &CompareArguments) -> Result<Options, Failure> {
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
        keep_alive: keep_alive_seconds(arguments.keep_alive)?,
        starts: arguments.start.clone(),
        schedules: Schedule::every(&arguments.interval, &arguments.messages_per_connection, None),
        reconnect: arguments.reconnect,
        keys: !arguments.no_keys,
        client_certificates: arguments.client_certificates,
        dtls_cookie: arguments.dtls_cookie,
        record_hosts: arguments.record_hosts,
        shared_link: arguments.shared_link.then_some(SharedLink {
            spread: arguments.spread,
        }),
        exclude: Vec::new(),
        shard: None,
    };
    options.validate()?;
    Ok(options)
}
