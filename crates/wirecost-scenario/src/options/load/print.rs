//! A load as text that reads back as the same.

use crate::table::message_rate_text;
use std::time::Duration;

use serde::Serialize;
use wirecost_proto::ByteSize;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::resolved::ResolvedLink;
use wirecost_stack::secret::PASSWORD_VARIABLE;

use super::phases::WHO;
use crate::options::compare::resolved_link;
use crate::options::load::{
    Arrivals, Backoff, LoadEngine, LoadOptions, LoadTarget, Offer, Payload, Phase, Who,
};

/// A load without anything left open: what a results folder keeps, and what worker processes are given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolved {
    stack: String,
    start: String,
    target: String,
    clients: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    subscribers: Option<ResolvedSubscribers>,
    payload: ResolvedPayload,
    resource: String,
    retain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    will: Option<ResolvedWill>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<ResolvedLogin>,
    client_id: String,
    keep_alive: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_expiry: Option<String>,
    phases: Vec<ResolvedPhase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inflight: Option<u32>,
    timeout: String,
    connect_timeout: String,
    shared_socket: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ipv6: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<ResolvedLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca: Option<String>,
    insecure: bool,
    profile: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    capture: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<ResolvedRecord>,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<u32>,
}

/// Whether passwords are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// For a worker process, by a pipe.
    Shown,
    /// For a file: it names the environment's variable that is to hold the password.
    Hidden,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ResolvedRecord {
    keys: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ResolvedSubscribers {
    devices: u32,
    filter: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<String>,
    qos: u8,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ResolvedPayload {
    Size(String),
    Template(String),
    Hex(String),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ResolvedWill {
    topic: String,
    payload: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ResolvedLogin {
    user: String,
    password: ResolvedPassword,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum ResolvedPassword {
    Plain(String),
    Variable { env: &'static str },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum ResolvedPhase {
    Connect {
        who: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<String>,
    },
    Publish(ResolvedOffer),
    Request(ResolvedOffer),
    Handshakes {
        start: String,
        #[serde(flatten)]
        offer: ResolvedOffer,
    },
    Hold {
        duration: String,
    },
    DropAll {
        who: &'static str,
        reset: bool,
    },
    Reconnect {
        who: &'static str,
        backoff: ResolvedBackoff,
        timeout: String,
    },
    AwaitReplay {
        timeout: String,
    },
    Close {
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<String>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ResolvedOffer {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    closed_loop: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_client: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arrivals: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    warm_up: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ramp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ResolvedBackoff {
    first: String,
    max: String,
    jitter: &'static str,
}

impl Resolved {
    /// The load, quantities with units.
    pub fn new(load: &LoadOptions, secrets: Secrets) -> Self {
        Self {
            stack: load.stack.to_string(),
            start: load.start.to_string(),
            target: load.target.to_string(),
            clients: load.clients,
            subscribers: load.subscribers.as_ref().map(|subscribers| ResolvedSubscribers {
                devices: subscribers.devices,
                filter: subscribers.filter.clone(),
                shared: subscribers.shared.clone(),
                qos: subscribers.qos,
            }),
            payload: payload(&load.payload),
            resource: load.resource.clone(),
            retain: load.retain,
            will: load.will.as_ref().map(|will| ResolvedWill {
                topic: will.topic.clone(),
                payload: will.payload.clone(),
            }),
            login: login(load, secrets),
            client_id: load.client_id.clone(),
            keep_alive: time(Duration::from_secs(load.keep_alive.into())),
            session_expiry: load.session_expiry.map(time),
            phases: load.phases.iter().map(phase).collect(),
            inflight: load.inflight,
            timeout: time(load.timeout),
            connect_timeout: time(load.connect_timeout),
            shared_socket: load.shared_socket,
            sources: load.sources.iter().map(ToString::to_string).collect(),
            threads: load.threads,
            processes: load.processes,
            ipv6: load.ipv6,
            link: load.link.as_ref().map(resolved_link),
            ca: load.ca.as_ref().map(|path| path.display().to_string()),
            insecure: load.insecure,
            profile: load.profile,
            capture: load.capture,
            record: (!load.keys).then_some(ResolvedRecord { keys: false }),
            seed: load.seed,
            engine: (load.engine != LoadEngine::Live).then(|| load.engine.name()),
            service_time: load.service_time.map(|time| time.to_string()),
            workers: (load.workers != 1).then_some(load.workers),
        }
    }

    /// The load as JSON in one line, which [`super::parse`] reads.
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists: there is nothing that JSON cannot hold.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn time(duration: Duration) -> String {
    DisplayDuration(duration).to_string()
}

fn login(load: &LoadOptions, secrets: Secrets) -> Option<ResolvedLogin> {
    let of_url = match &load.target {
        LoadTarget::Url(url) => url
            .login
            .as_ref()
            .map(|login| (login.user.clone(), login.password.clone())),
        LoadTarget::Started(_) => None,
    };
    let (user, password) = load.login.clone().or(of_url)?;
    let password = match secrets {
        Secrets::Shown => ResolvedPassword::Plain(password),
        Secrets::Hidden => ResolvedPassword::Variable {
            env: PASSWORD_VARIABLE,
        },
    };
    Some(ResolvedLogin { user, password })
}

fn payload(payload: &Payload) -> ResolvedPayload {
    match payload {
        Payload::Size(size) => ResolvedPayload::Size(ByteSize::to_string(size)),
        Payload::Template(text) => ResolvedPayload::Template(text.to_string()),
        Payload::File(bytes) => {
            let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            let digits = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
            ResolvedPayload::Hex(digits.collect())
        }
    }
}

fn phase(phase: &Phase) -> ResolvedPhase {
    match phase {
        Phase::Connect { who, rate } => ResolvedPhase::Connect {
            who: who_text(*who),
            rate: rate.map(message_rate_text),
        },
        Phase::Publish(of) => ResolvedPhase::Publish(offer(of)),
        Phase::Request(of) => ResolvedPhase::Request(offer(of)),
        Phase::Handshakes { offer: of, start } => ResolvedPhase::Handshakes {
            start: start.to_string(),
            offer: offer(of),
        },
        Phase::Hold { duration } => ResolvedPhase::Hold {
            duration: time(*duration),
        },
        Phase::DropAll { who, reset } => ResolvedPhase::DropAll {
            who: who_text(*who),
            reset: *reset,
        },
        Phase::Reconnect {
            who,
            backoff: of,
            timeout,
        } => ResolvedPhase::Reconnect {
            who: who_text(*who),
            backoff: backoff(of),
            timeout: time(*timeout),
        },
        Phase::AwaitReplay { timeout } => ResolvedPhase::AwaitReplay {
            timeout: time(*timeout),
        },
        Phase::Close { rate } => ResolvedPhase::Close {
            rate: rate.map(message_rate_text),
        },
    }
}

fn who_text(who: Who) -> &'static str {
    let found = WHO.into_iter().find(|(_, other)| *other == who);
    found.map_or("all", |(name, _)| name)
}

fn offer(offer: &Offer) -> ResolvedOffer {
    let common = ResolvedOffer {
        duration: offer.duration.map(time),
        count: offer.count,
        warm_up: time(offer.warm_up),
        ..ResolvedOffer::default()
    };
    match offer.arrivals {
        Arrivals::Closed => ResolvedOffer {
            closed_loop: true,
            ..common
        },
        Arrivals::Open {
            rate,
            per_client,
            poisson,
        } => ResolvedOffer {
            rate: Some(message_rate_text(rate)),
            per_client: Some(per_client),
            arrivals: Some(if poisson { "poisson" } else { "constant" }),
            ramp: Some(time(offer.ramp)),
            spread: offer.spread.map(time),
            ..common
        },
    }
}

fn backoff(backoff: &Backoff) -> ResolvedBackoff {
    ResolvedBackoff {
        first: time(backoff.first),
        max: time(backoff.max),
        jitter: if backoff.full_jitter { "full" } else { "none" },
    }
}
