//! From flags to what a load is asked to be.

use std::time::Duration;

use wirecost_lab::load::options::{Arrivals, LoadOptions, LoadTarget, Offer, Payload};
use wirecost_lab::probe::Url;
use wirecost_lab::probe::url::{Scheme, percent_decoded};
use wirecost_lab::stack::{Application, Channel, Stack};

use super::shape;
use crate::arguments::LoadArguments;
use crate::exit::Failure;

/// How long messages are offered, where nobody says otherwise.
pub(super) const DURATION: Duration = Duration::from_secs(10);

/// What the flags ask for.
pub fn options(arguments: &LoadArguments) -> Result<LoadOptions, Failure> {
    let (stack, target) = target(arguments)?;
    let resource = resource(arguments, &target);
    let login = match &target {
        LoadTarget::Url(url) => url.login.clone().map(|login| (login.user, login.password)),
        LoadTarget::Started(_) => None,
    };
    let options = LoadOptions {
        start: arguments.start,
        clients: arguments.clients,
        payload: Payload::Size(arguments.size),
        resource,
        login,
        keep_alive: keep_alive(arguments)?,
        inflight: arguments.inflight,
        timeout: arguments.timeout,
        connect_timeout: arguments.connect_timeout,
        shared_socket: arguments.shared_socket,
        sources: arguments.source.clone(),
        threads: arguments.threads,
        processes: arguments.processes,
        ca: arguments.cacert.clone(),
        insecure: arguments.insecure,
        profile: arguments.output.profile,
        seed: arguments.seed,
        ..LoadOptions::new(stack, target)
    };
    let options = shape::shaped(arguments, options)?;
    check(arguments, &options)?;
    Ok(options)
}

fn target(arguments: &LoadArguments) -> Result<(Stack, LoadTarget), Failure> {
    let text = &arguments.target;
    if text.contains("://") {
        if !arguments.server.is_builtin() {
            return Err(Failure::usage("--target starts a server, and a URL names one")
                .with_hint("name a stack instead of the URL, or leave out --target"));
        }
        let url: Url = text.parse().map_err(Failure::usage)?;
        return Ok((stack_of(&url, arguments.qos), LoadTarget::Url(url)));
    }
    let stack: Stack = text.parse().map_err(|error| {
        Failure::usage(error).with_hint("or write a URL: mqtt://HOST, coaps://HOST/PATH, ...")
    })?;
    let stack = with_qos(stack, arguments.qos);
    if !arguments.server.speaks(stack) {
        let (server, spoken) = (arguments.server, arguments.server.spoken());
        return Err(Failure::usage(format!(
            "{server} does not speak {stack}: it speaks {spoken}"
        )));
    }
    Ok((stack, LoadTarget::Started(arguments.server)))
}

/// The stack that a URL asks for.
fn stack_of(url: &Url, qos: Option<u8>) -> Stack {
    let application = match url.scheme {
        Scheme::Mqtt | Scheme::Mqtts => Application::Mqtt311(1),
        Scheme::Coap | Scheme::Coaps => Application::CoapCon,
        Scheme::Amqp | Scheme::Amqps => Application::AmqpUnsettled,
        Scheme::Http | Scheme::Https => Application::Http1,
        Scheme::H3 => Application::Http3,
    };
    let channel = match url.scheme {
        Scheme::Mqtts | Scheme::Amqps | Scheme::Https => Channel::Tls13,
        // What servers in the field speak.
        Scheme::Coaps => Channel::Dtls12,
        _ => Channel::Plain,
    };
    let stack = Stack {
        channel,
        ..Stack::plain(application)
    };
    with_qos(stack, qos)
}

/// The stack with another quality of service, where it has several.
fn with_qos(stack: Stack, qos: Option<u8>) -> Stack {
    let Some(qos) = qos else {
        return stack;
    };
    let application = match (stack.application, qos) {
        (Application::Mqtt311(_), qos) => Application::Mqtt311(qos),
        (Application::Mqtt5(_), qos) => Application::Mqtt5(qos),
        (Application::CoapCon | Application::CoapNon, 0) => Application::CoapNon,
        (Application::CoapCon | Application::CoapNon, _) => Application::CoapCon,
        (Application::AmqpSettled | Application::AmqpUnsettled, 0) => Application::AmqpSettled,
        (Application::AmqpSettled | Application::AmqpUnsettled, _) => Application::AmqpUnsettled,
        (other, _) => other,
    };
    Stack { application, ..stack }
}

fn resource(arguments: &LoadArguments, target: &LoadTarget) -> String {
    let of_url = match target {
        LoadTarget::Url(url) => Some(url.resource.as_str()).filter(|resource| !resource.is_empty()),
        LoadTarget::Started(_) => None,
    };
    let asked = arguments.topic.clone();
    // A percent sign of a URL is an encoded character, one of a topic a placeholder.
    asked
        .or_else(|| of_url.map(|resource| percent_decoded(resource).replace('%', "%%")))
        .unwrap_or_else(|| "test".into())
}

fn keep_alive(arguments: &LoadArguments) -> Result<u16, Failure> {
    u16::try_from(arguments.keep_alive.as_secs())
        .map_err(|_| Failure::usage("--keep-alive must be at most 65535s"))
}

pub(super) fn offer(arguments: &LoadArguments) -> Offer {
    let arrivals = if arguments.closed_loop {
        Arrivals::Closed
    } else {
        Arrivals::Open {
            rate: arguments.rate,
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
    }
}

/// What cannot be, or must not be without consent.
fn check(arguments: &LoadArguments, options: &LoadOptions) -> Result<(), Failure> {
    if let Some(reason) = options.stack.cannot_start(options.start) {
        return Err(Failure::usage(reason));
    }
    if let Some(reason) = options.stack.refuses(arguments.size.bytes()) {
        return Err(Failure::usage(format!("--size: {reason}")));
    }
    if arguments
        .duration
        .is_some_and(|duration| duration.is_zero() || duration <= arguments.warmup)
    {
        return Err(Failure::usage("--duration must be above 0s, and above --warmup"));
    }
    if arguments.count == Some(0) {
        return Err(Failure::usage("--count must be above 0"));
    }
    if options.shared_socket && (!options.stack.is_coap() || options.stack.has_handshake()) {
        return Err(Failure::usage(format!(
            "{} cannot share sockets: only CoAP without DTLS has tokens that tell devices apart",
            options.stack
        )));
    }
    consent(options, arguments.i_own_this_target)
}

/// A stranger's server is not loaded by mistake.
pub fn consent(options: &LoadOptions, is_given: bool) -> Result<(), Failure> {
    match options.needs_consent().filter(|_| !is_given) {
        Some(why) => Err(Failure::usage(why)
            .with_hint("add --i-own-this-target if you may load it, or stay at a rate of 100/s")),
        None => Ok(()),
    }
}
