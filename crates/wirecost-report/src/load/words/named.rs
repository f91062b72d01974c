//! What a load is called: the properties in which it differs from others, and its headline.

use wirecost_proto::units::counted;
use wirecost_results::load::{Load, LoopKind};
use wirecost_results::summary::Link;

use super::main_phase;
use crate::figures::{self, link_words};
use crate::number;

/// A property in which loads may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Stack,
    Start,
    Target,
    Payload,
    Link,
    Family,
    Devices,
    Offer,
    Inflight,
    Sockets,
    Run,
}

impl Fact {
    const ALL: [Self; 11] = [
        Self::Stack,
        Self::Start,
        Self::Target,
        Self::Payload,
        Self::Link,
        Self::Family,
        Self::Devices,
        Self::Offer,
        Self::Inflight,
        Self::Sockets,
        Self::Run,
    ];

    fn tell(self, load: &Load) -> String {
        match self {
            Self::Stack => load.stack.clone(),
            Self::Start => load.start.clone(),
            Self::Target => load.target.clone(),
            Self::Payload => payload(load),
            Self::Link => link(load).unwrap_or_else(|| "no link".into()),
            Self::Family if load.ipv6 => "IPv6".into(),
            Self::Family => String::new(),
            Self::Devices => devices(load),
            Self::Offer => offer(load),
            Self::Inflight => load.inflight.map_or(String::new(), |n| format!("{n} in flight")),
            Self::Sockets if load.shared_socket => "shared sockets".into(),
            Self::Sockets => String::new(),
            Self::Run => load
                .run_of
                .as_ref()
                .map_or(String::new(), |of| format!("run {}", of.run)),
        }
    }
}

/// The names of the loads of a run: the stack, and the properties in which they differ.
pub(crate) fn labels(loads: &[Load]) -> Vec<String> {
    labels_without(loads, None)
}

/// The same without one property, which an axis shows.
pub(crate) fn labels_without(loads: &[Load], told: Option<Fact>) -> Vec<String> {
    let differs = |fact: &Fact| {
        loads
            .windows(2)
            .any(|pair| fact.tell(&pair[0]) != fact.tell(&pair[1]))
    };
    let telling: Vec<Fact> = Fact::ALL
        .into_iter()
        .filter(|fact| Some(*fact) != told && (*fact == Fact::Stack || differs(fact)))
        .collect();
    let label = |load: &Load| {
        let texts = telling.iter().map(|fact| fact.tell(load));
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        number::plain(&texts.join(", "))
    };
    loads.iter().map(label).collect()
}

/// `128 B`; a template may have several lengths.
fn payload(load: &Load) -> String {
    let bytes = |bytes| format!("{} B", number::grouped(bytes));
    load.payload_bytes
        .map_or_else(|| "payloads of several lengths".into(), bytes)
}

/// `100 clients, 5 subscribers`.
fn devices(load: &Load) -> String {
    let clients = counted(load.clients, "client");
    match load.subscribers {
        0 => clients,
        subscribers => format!("{clients}, {}", counted(subscribers, "subscriber")),
    }
}

/// The emulated link for people.
pub(crate) fn link(load: &Load) -> Option<String> {
    link_of(load).map(link_words)
}

/// The emulated link in the form of the flags, for files that programs read.
pub(crate) fn link_text(load: &Load) -> Option<String> {
    link_of(load).map(figures::link_text)
}

pub(crate) fn link_of(load: &Load) -> Option<&Link> {
    let of_run = load.link.as_ref().map(|figures| &figures.link);
    let asked = || load.asked.as_ref()?.link.as_ref();
    of_run.or_else(asked)
}

/// The offered load: `1,000/s Poisson`, `20/s then 300/s` with two phases, `closed loop`, `as fast as it goes`; empty
/// without messages.
pub(crate) fn offer(load: &Load) -> String {
    match load.loop_kind {
        LoopKind::Closed => return "closed loop".into(),
        LoopKind::Saturation => return "as fast as it goes".into(),
        LoopKind::None | LoopKind::Open => {}
    }
    let arrivals = match load.arrivals.as_deref() {
        Some("poisson") => " Poisson",
        _ => "",
    };
    let of_phases = load.phases.iter().filter_map(|phase| phase.asked_rate);
    // A load that did not begin has no phases with figures, but a reader has to know what was asked of it.
    let unbegun = load.asked.iter().flat_map(|asked| &asked.rates);
    let mut rates: Vec<f64> = of_phases.chain(unbegun.copied()).collect();
    // Phases of one rate are one offer for a reader. Neighbours alone: up and down again is another offer.
    rates.dedup();
    if rates.is_empty() {
        rates.extend(main_phase(load).and_then(|phase| phase.offered_rate));
    }
    let each = rates
        .into_iter()
        .map(|rate| format!("{}/s{arrivals}", number::rate(rate)));
    each.collect::<Vec<String>>().join(" then ")
}

/// The load in one line: stack, target, devices, offer.
pub(crate) fn headline(load: &Load) -> String {
    let mut parts = vec![
        format!("{} → {}", load.stack, load.target),
        devices(load),
        payload(load),
    ];
    parts.extend(Some(offer(load)).filter(|offer| !offer.is_empty()));
    parts.extend(link(load));
    if load.is_modelled() {
        parts.push("modelled in virtual time".into());
    }
    parts.extend(load.service.as_ref().map(|service| {
        let workers = counted(service.workers.into(), "worker");
        format!("{workers} of {}", service.service_time)
    }));
    if load.ipv6 {
        parts.push("IPv6".into());
    }
    if load.start != "cold" {
        parts.push(load.start.clone());
    }
    parts.extend(load.inflight.map(|n| format!("{n} in flight")));
    if load.shared_socket {
        parts.push("shared sockets".into());
    }
    number::plain(&parts.join(", "))
}
