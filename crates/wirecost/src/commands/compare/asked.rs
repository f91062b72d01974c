//! From the arguments of `wirecost compare` to the options of a comparison.

use wirecost_lab::compare::in_cell::EchoFigures;
use wirecost_proto::ByteSize;
use wirecost_scenario::link::LinkLists;
use wirecost_scenario::options::compare::{
    Engine, LinkConfig, Options, Running, Schedule, ServerPath, SharedLink, Target,
};
use wirecost_scenario::options::content::Contents;
use wirecost_scenario::options::load::LoadTarget;
use wirecost_scenario::options::refusal::{About, Refusal};
use wirecost_stack::url::{Url, percent_decoded};

use crate::arguments::{CompareArguments, of_flags};
use crate::commands::link_flags::links;
use crate::commands::payload_of;
use crate::exit::Failure;

/// The options of these arguments.
pub(super) fn options(arguments: &CompareArguments) -> Result<Options, Failure> {
    let mut options = Options {
        contents: Contents::from_lists(&arguments.size, &arguments.readings.lists()),
        links: links(&lists(arguments))?,
        starts: arguments.start.clone(),
        schedules: Schedule::every(&arguments.interval, &arguments.messages_per_connection, None),
        keys: !arguments.no_keys,
        record_hosts: arguments.record_hosts,
        shared_link: arguments.shared_link.then_some(SharedLink {
            spread: arguments.spread,
        }),
        ..Options::new(arguments.stacks.clone())
    };
    arguments.typed.set(&mut options)?;
    if let Some(clients) = arguments.clients {
        options.samples = clients;
    }
    options.sending.payload = arguments.payload_file.as_deref().map(payload_of).transpose()?;
    if let Some(payload) = &options.sending.payload {
        options.contents = Contents::Sizes(vec![ByteSize::from_bytes(payload.len() as u64)]);
    }
    // Before the target: a modelled cell decides for virtual time first.
    options.settle_engine();
    match &arguments.target {
        LoadTarget::Started(target) => options.target = *target,
        LoadTarget::Url(url) => running(arguments, url, &mut options),
    }
    let is_url = options.running.is_some();
    // Our own servers are trusted by their authority: the flags would change nothing in silence.
    if !is_url && (arguments.cacert.is_some() || arguments.insecure || arguments.i_own_this_target) {
        let text = "--cacert, --insecure and --i-own-this-target go with a URL: --target mqtts://HOST";
        return Err(Failure::usage(text));
    }
    options
        .validate()
        .map_err(|refusal| refused(&options, &refusal))?;
    Ok(options)
}

/// The settings of the links, those of a modelled cell included.
fn lists(arguments: &CompareArguments) -> LinkLists {
    let mut lists = arguments.link.clone();
    lists.cell.profile = arguments.cell_profile;
    lists.cell.load = arguments.cell_load;
    lists.cell.coupling_loss_db = arguments.coupling_loss;
    lists
}

/// A refusal; that of a modelled cell on the engine live says which emulated link comes near, from the cell's own echoes.
fn refused(options: &Options, refusal: &Refusal) -> Failure {
    let failure = of_flags("compare", refusal);
    let Some(link) = options
        .live_cell()
        .filter(|_| refusal.about == About::Key("engine"))
    else {
        return failure;
    };
    failure.with_hint(match EchoFigures::from_link(link) {
        Ok(figures) => format!(
            "take --engine sim; or a link with fixed figures, from {} simulated echoes of {} B through the unloaded cell: \
             --rtt {}ms, their median within a connection, or --rtt {}ms, that from idle with random access",
            figures.echoes, figures.bytes, figures.connected_ms, figures.idle_ms
        ),
        Err(error) => format!("take --engine sim ({error})"),
    })
}

/// Takes a server that runs already as the target: on the real path, or with options of a link behind a relay.
fn running(arguments: &CompareArguments, url: &Url, options: &mut Options) {
    let is_given = |name: &str| arguments.given.has(name);
    let path = match arguments.link.is_given() {
        true => ServerPath::Relay,
        false => ServerPath::Real,
    };
    if path == ServerPath::Real {
        options.links = vec![LinkConfig::default()];
    }
    // Virtual time has only the built-in servers.
    if options.engine == Engine::Auto {
        options.engine = Engine::Live;
    }
    if !is_given("stacks") && !arguments.vary.iter().any(|vary| vary.starts_with("stack=")) {
        options.stacks = vec![url.scheme.stack()];
    }
    if !is_given("resource") && !url.resource.is_empty() {
        options.resource = percent_decoded(&url.resource);
    }
    options.target = Target::Running;
    options.running = Some(Running {
        path,
        ca: arguments.cacert.clone(),
        insecure: arguments.insecure,
        is_permitted: arguments.i_own_this_target,
        ..Running::new(url.clone())
    });
}
