//! From the arguments to the options of loads.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use wirecost_proto::ByteSize;
use wirecost_scenario::edit::MAX_COMBINATIONS;
use wirecost_scenario::load::credentials::roster_of;
use wirecost_scenario::options::compare::LinkConfig;
use wirecost_scenario::options::content::{Content, Contents};
use wirecost_scenario::options::load::roster::Roster;
use wirecost_scenario::options::load::{Arrivals, BatchBytes, LoadOptions, LoadTarget, Offer, Payload};
use wirecost_scenario::table::combined;
use wirecost_security::Start;
use wirecost_stack::url::{Login, Url};
use wirecost_stack::{Application, Stack};

use super::shape;
use crate::arguments::{LoadArguments, MqttVersion, of_flags};
use crate::commands::link_flags::emulated;
use crate::exit::Failure;
use crate::login;

/// The default time for sending messages.
pub(super) const DURATION: Duration = Duration::from_secs(10);

/// The loads of the arguments: every combination of their lists, in order.
pub fn loads(arguments: &LoadArguments) -> Result<Vec<LoadOptions>, Failure> {
    let (stacks, target) = target(arguments)?;
    let choices = choices(arguments, &stacks)?;
    // `combined` stops just above the limit, so that a few long lists do not fill the memory before this is said.
    if choices.len() > MAX_COMBINATIONS {
        return Err(Failure::usage(format!(
            "the lists make more than {MAX_COMBINATIONS} loads: make them shorter"
        )));
    }
    let of_url = match &target {
        LoadTarget::Url(url) => url.login.as_ref(),
        LoadTarget::Started(_) => None,
    };
    let login = login::login(&arguments.shape.login, of_url)?;
    let roster = match &arguments.shape.credentials {
        Some(path) => Some(roster_of(path).map_err(|why| Failure::usage(format!("--credentials: {why}")))?),
        None => None,
    };
    let identities = (login.as_ref(), roster.as_ref());
    let loads = choices
        .iter()
        .map(|choice| options(arguments, &target, identities, choice))
        .collect::<Result<Vec<_>, Failure>>()?;
    // Two that are alike have one key, and the second would take the file of the first in the folder.
    match (1..loads.len()).find(|at| loads[..*at].contains(&loads[*at])) {
        Some(double) => Err(Failure::usage(format!(
            "load {} of {} has been asked for before: name each value once",
            double + 1,
            loads.len()
        ))),
        None => Ok(loads),
    }
}

/// One value of each list option.
#[derive(Clone)]
pub(super) struct Choice {
    stack: Stack,
    start: Start,
    pub(super) content: Content,
    link: Option<LinkConfig>,
    inflight: Option<u32>,
    clients: u32,
    pub(super) rate: f64,
}

/// Every combination. The last list changes first.
fn choices(arguments: &LoadArguments, stacks: &[Stack]) -> Result<Vec<Choice>, Failure> {
    let links = match arguments.link.is_given() {
        true => emulated(&arguments.link)?,
        false => Vec::new(),
    };
    let base = Choice {
        stack: Stack::plain(Application::Tcp),
        start: Start::Cold,
        content: ByteSize::from_bytes(0).into(),
        link: None,
        inflight: None,
        clients: 0,
        rate: 0.0,
    };
    const MOST: usize = MAX_COMBINATIONS;
    let all = combined(&[base], stacks, MOST, |choice, stack| choice.stack = *stack);
    let all = combined(&all, &arguments.start, MOST, |choice, start| {
        choice.start = *start
    });
    let contents = Contents::from_lists(&arguments.size, &arguments.readings.lists()).each();
    let all = combined(&all, &contents, MOST, |choice, content| {
        choice.content = *content;
    });
    let all = combined(&all, &links, MOST, |choice, link| choice.link = Some(*link));
    let all = combined(&all, &arguments.inflight, MOST, |choice, inflight| {
        choice.inflight = Some(*inflight);
    });
    let all = combined(&all, &arguments.clients, MOST, |choice, clients| {
        choice.clients = *clients;
    });
    Ok(combined(&all, &arguments.rate, MOST, |choice, rate| {
        choice.rate = *rate
    }))
}

fn options(
    arguments: &LoadArguments,
    target: &LoadTarget,
    (login, roster): (Option<&Login>, Option<&Roster>),
    choice: &Choice,
) -> Result<LoadOptions, Failure> {
    let mut options = LoadOptions {
        start: choice.start,
        clients: choice.clients,
        resource: resource(arguments, target, choice.stack),
        user_properties: user_properties(&arguments.user_properties)?,
        login: login.cloned().map(|login| (login.user, login.password)),
        roster: roster.cloned(),
        inflight: choice.inflight,
        sources: arguments.source.clone(),
        link: choice.link,
        shard: arguments.shard,
        is_permitted: arguments.i_own_this_target,
        keys: !arguments.output.no_keys,
        ..LoadOptions::new(choice.stack, target.clone())
    };
    arguments.typed.set(&mut options)?;
    options.payload = match choice.content {
        Content::Size(size) => Payload::Size(size),
        Content::Readings(batch) => Payload::Readings(BatchBytes::new(batch, options.seed)),
    };
    let options = shape::shaped(arguments, choice, options)?;
    check(arguments, &options)?;
    Ok(options)
}

/// The stacks and their target.
fn target(arguments: &LoadArguments) -> Result<(Vec<Stack>, LoadTarget), Failure> {
    let text = &arguments.target;
    // No stack has these letters in its name, so that nothing has to be tried.
    if text.contains("://") {
        if !arguments.server.is_builtin() {
            return Err(Failure::usage("--target starts a server, and a URL names one")
                .with_hint("name a stack instead of the URL, or leave out --target"));
        }
        let url: Url = text.parse().map_err(Failure::usage)?;
        let stack = with_qos(with_version(url.scheme.stack(), arguments.mqtt)?, arguments.qos)?;
        return Ok((vec![stack], LoadTarget::Url(url)));
    }
    let stacks = text.split(',').map(|name| started(arguments, name));
    let stacks = stacks.collect::<Result<_, Failure>>()?;
    Ok((stacks, LoadTarget::Started(arguments.server)))
}

/// The stack of a server that wirecost starts.
fn started(arguments: &LoadArguments, name: &str) -> Result<Stack, Failure> {
    let stack: Stack = name.parse().map_err(|error| match is_host(name) {
        true => Failure::usage(format!("{name} is neither a stack nor a URL"))
            .with_hint(format!("write its protocol: mqtt://{name}, coaps://{name}, ...")),
        false => Failure::usage(error).with_hint("or write a URL: mqtt://HOST, coaps://HOST/PATH, ..."),
    })?;
    if let Some(version) = arguments.mqtt {
        let asked = with_version(stack, Some(version))?;
        if asked != stack {
            let text = format!("{stack} names its version of MQTT, and --mqtt is another one");
            return Err(Failure::usage(text).with_hint(format!("leave out --mqtt, or load {asked}")));
        }
    }
    let asked = with_qos(stack, arguments.qos)?;
    match (asked == stack, arguments.qos) {
        (false, Some(qos)) => Err(Failure::usage(format!(
            "{stack} names its QoS, and --qos {qos} is another one"
        ))
        .with_hint(format!("leave out --qos, or load {asked}"))),
        _ => Ok(stack),
    }
}

/// Whether a text is the address of a server rather than the name of a stack: it has a port or a path, or is an address, or the
/// name of a host. A version, the only dot in the name of a stack, ends with a digit.
fn is_host(name: &str) -> bool {
    let is_domain = |last: &str| last.len() > 1 && last.chars().all(|letter| letter.is_ascii_alphabetic());
    let is_name = name.rsplit_once('.').is_some_and(|(_, last)| is_domain(last));
    name.contains([':', '/']) || is_name || name == "localhost" || name.parse::<IpAddr>().is_ok()
}

/// The stack with another version of MQTT, if it speaks MQTT.
fn with_version(stack: Stack, version: Option<MqttVersion>) -> Result<Stack, Failure> {
    let application = match (stack.application, version) {
        (_, None) => return Ok(stack),
        (Application::Mqtt311(qos) | Application::Mqtt5(qos), Some(MqttVersion::V311)) => {
            Application::Mqtt311(qos)
        }
        (Application::Mqtt311(qos) | Application::Mqtt5(qos), Some(MqttVersion::V5)) => {
            Application::Mqtt5(qos)
        }
        (_, Some(_)) => {
            return Err(Failure::usage(format!(
                "--mqtt is a version of MQTT, and {stack} does not speak it"
            ))
            .with_hint("leave out --mqtt, or name an mqtt:// or mqtts:// URL"));
        }
    };
    Ok(Stack { application, ..stack })
}

/// The stack with another quality of service, if it exists.
fn with_qos(stack: Stack, qos: Option<i8>) -> Result<Stack, Failure> {
    let Some(qos) = qos else {
        return Ok(stack);
    };
    let several = "--qos is 0, 1 or 2 for MQTT, -1 to 2 for MQTT-SN, 0 or 1 for CoAP and AMQP";
    let none = |qos| Failure::usage(format!("{stack} has no QoS {qos}")).with_hint(several);
    let application = match (stack.application, qos) {
        (Application::Mqtt311(_), 0..) => Application::Mqtt311(qos.unsigned_abs()),
        (Application::Mqtt5(_), 0..) => Application::Mqtt5(qos.unsigned_abs()),
        (Application::MqttSn(_), qos) => Application::MqttSn(qos),
        (Application::CoapCon | Application::CoapNon, 0) => Application::CoapNon,
        (Application::CoapCon | Application::CoapNon, 1) => Application::CoapCon,
        (Application::AmqpSettled | Application::AmqpUnsettled, 0) => Application::AmqpSettled,
        (Application::AmqpSettled | Application::AmqpUnsettled, 1) => Application::AmqpUnsettled,
        (_, qos) => return Err(none(qos)),
    };
    Ok(Stack { application, ..stack })
}

/// The resource of messages, unless it is typed.
fn resource(arguments: &LoadArguments, target: &LoadTarget, stack: Stack) -> String {
    let of_url = match target {
        LoadTarget::Url(url) => url.resource_pattern(),
        LoadTarget::Started(_) => None,
    };
    of_url.unwrap_or_else(|| {
        LoadOptions::unnamed_resource(stack, arguments.shape.subscribers.is_some()).to_owned()
    })
}

pub(super) fn offer(arguments: &LoadArguments, rate: f64) -> Offer {
    let arrivals = if arguments.closed_loop {
        Arrivals::Closed
    } else {
        Arrivals::Open {
            rate,
            per_client: arguments.per_client,
            poisson: arguments.poisson,
        }
    };
    // A count ends the load by itself; the default time would cut it off before.
    let default = arguments.count.is_none().then_some(DURATION);
    Offer {
        arrivals,
        duration: arguments.duration.or(default),
        count: arguments.count,
        warm_up: arguments.warmup,
        ramp: arguments.ramp,
        spread: arguments.spread,
    }
}

/// Refuses impossible loads, and loads that need consent.
fn check(arguments: &LoadArguments, options: &LoadOptions) -> Result<(), Failure> {
    if arguments
        .duration
        .is_some_and(|duration| duration.is_zero() || duration <= arguments.warmup)
    {
        return Err(Failure::usage("--duration must be above 0s, and above --warmup"));
    }
    options.validate().map_err(|refusal| of_flags("load", &refusal))?;
    consent(options)
}

/// Prevents loading a foreign server by mistake.
pub fn consent(options: &LoadOptions) -> Result<(), Failure> {
    match options.needs_consent().filter(|_| !options.is_permitted) {
        Some(why) => Err(Failure::usage(why)
            .with_hint("add --i-own-this-target if you may load it, or stay at 100/s of messages, those to subscribers among them, and of connects \
             (--connect-rate 100/s)")),
        None => Ok(()),
    }
}

/// The user properties, of which each has a name of its own: results list them by name.
fn user_properties(given: &[(String, String)]) -> Result<BTreeMap<String, String>, Failure> {
    let mut all = BTreeMap::new();
    for (name, value) in given {
        if all.insert(name.clone(), value.clone()).is_some() {
            let message = format!("--user-property {name}: the name is there twice");
            return Err(Failure::usage(message).with_hint("give each name once"));
        }
    }
    Ok(all)
}
