//! From the arguments to the options of loads.

use std::time::Duration;

use wirecost_proto::ByteSize;
use wirecost_scenario::edit::MAX_COMBINATIONS;
use wirecost_scenario::options::compare::LinkConfig;
use wirecost_scenario::options::content::{Content, Contents};
use wirecost_scenario::options::load::{Arrivals, BatchBytes, LoadOptions, LoadTarget, Offer, Payload};
use wirecost_scenario::table::combined;
use wirecost_security::Start;
use wirecost_stack::url::{Login, Url};
use wirecost_stack::{Application, Stack};

use super::shape;
use crate::arguments::{LoadArguments, of_flags};
use crate::commands::keep_alive_seconds;
use crate::commands::link_flags::emulated;
use crate::exit::Failure;
use crate::login;

/// The default time for sending messages.
pub(super) const DURATION: Duration = Duration::from_secs(10);

/// The loads of the arguments: every combination of their lists, in order.
pub fn loads(arguments: &LoadArguments) -> Result<Vec<LoadOptions>, Failure> {
    let (stacks, target) = target(arguments)?;
    let choices = choices(arguments, &stacks)?;
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
    let loads = choices
        .iter()
        .map(|choice| options(arguments, &target, login.as_ref(), choice))
        .collect::<Result<Vec<_>, Failure>>()?;
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
    let contents = Contents::of(&arguments.size, &arguments.readings.lists()).each();
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
    login: Option<&Login>,
    choice: &Choice,
) -> Result<LoadOptions, Failure> {
    let options = LoadOptions {
        start: choice.start,
        engine: arguments.engine,
        service_time: arguments.service_time,
        workers: arguments.workers,
        clients: choice.clients,
        payload: match choice.content {
            Content::Size(size) => Payload::Size(size),
            Content::Readings(batch) => Payload::Readings(BatchBytes::new(batch, arguments.seed)),
        },
        resource: resource(arguments, target, choice.stack),
        login: login.cloned().map(|login| (login.user, login.password)),
        keep_alive: keep_alive_seconds(arguments.keep_alive)?,
        inflight: choice.inflight,
        timeout: arguments.timeout,
        connect_timeout: arguments.connect_timeout,
        shared_socket: arguments.shared_socket,
        sources: arguments.source.clone(),
        threads: arguments.threads,
        processes: arguments.processes,
        ipv6: arguments.ipv6,
        link: choice.link,
        ca: arguments.cacert.clone(),
        insecure: arguments.insecure,
        is_permitted: arguments.i_own_this_target,
        profile: arguments.output.profile,
        capture: arguments.output.capture,
        keys: !arguments.output.no_keys,
        seed: arguments.seed,
        repeat: arguments.repeat,
        ..LoadOptions::new(choice.stack, target.clone())
    };
    let options = shape::shaped(arguments, choice, options)?;
    check(arguments, &options)?;
    Ok(options)
}

/// The stacks and their target.
fn target(arguments: &LoadArguments) -> Result<(Vec<Stack>, LoadTarget), Failure> {
    let text = &arguments.target;
    if text.contains("://") {
        if !arguments.server.is_builtin() {
            return Err(Failure::usage("--target starts a server, and a URL names one")
                .with_hint("name a stack instead of the URL, or leave out --target"));
        }
        let url: Url = text.parse().map_err(Failure::usage)?;
        let stack = with_qos(url.scheme.stack(), arguments.qos)?;
        return Ok((vec![stack], LoadTarget::Url(url)));
    }
    let stacks = text.split(',').map(|name| started(arguments, name));
    let stacks = stacks.collect::<Result<_, Failure>>()?;
    Ok((stacks, LoadTarget::Started(arguments.server)))
}

/// The stack of a server that wirecost starts.
fn started(arguments: &LoadArguments, name: &str) -> Result<Stack, Failure> {
    let stack: Stack = name.parse().map_err(|error| match name.contains([':', '/']) {
        true => Failure::usage(format!("{name} is neither a stack nor a URL"))
            .with_hint(format!("write its protocol: mqtt://{name}, coaps://{name}, ...")),
        false => Failure::usage(error).with_hint("or write a URL: mqtt://HOST, coaps://HOST/PATH, ..."),
    })?;
    let asked = with_qos(stack, arguments.qos)?;
    match (asked == stack, arguments.qos) {
        (false, Some(qos)) => Err(Failure::usage(format!(
            "{stack} names its QoS, and --qos {qos} is another one"
        ))
        .with_hint(format!("leave out --qos, or load {asked}"))),
        _ => Ok(stack),
    }
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

fn resource(arguments: &LoadArguments, target: &LoadTarget, stack: Stack) -> String {
    let of_url = match target {
        LoadTarget::Url(url) => url.resource_pattern(),
        LoadTarget::Started(_) => None,
    };
    arguments
        .resource
        .clone()
        .or(of_url)
        .unwrap_or_else(|| LoadOptions::unnamed_resource(stack, arguments.shape.subscribers.is_some()).into())
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
