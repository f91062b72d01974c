//! The names of loads and of their figures, the same in table, page and exports.

pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod repeat;
pub(crate) mod search;

use wirecost_proto::units::counted;
use wirecost_results::curves::CurveKind;
use wirecost_results::link_use::{DirectionUse, HopUse, LinkUse};
use wirecost_results::load::{
    HopFigures, LinkFigures, Load, LoadSummary, LoopKind, PhaseFigures, ServiceFigures, WireWay, Worlds,
};
use wirecost_results::standing::{Standing, Subject};
use wirecost_results::summary::{Link, Outcomes, Times};
use wirecost_results::thresholds::failure_text;
use wirecost_results::warning::Warning;

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
pub(crate) fn devices(load: &Load) -> String {
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

/// The main phase of a load: the one that offered most messages, or had most connects.
pub(crate) fn main_phase(load: &Load) -> Option<&PhaseFigures> {
    let weight = |phase: &&PhaseFigures| (phase.outcomes.offered, phase.connects.attempted);
    // The first of equal ones.
    load.phases.iter().rev().max_by_key(weight)
}

/// What has happened to the messages of a phase that count in its rate: `acknowledged`, `delivered` if nothing answers,
/// `completed` for connects.
pub(crate) fn arrived(phase: &PhaseFigures) -> &'static str {
    let outcomes = &phase.outcomes;
    match phase.name.as_str() {
        "handshakes" | "reconnect" => "completed",
        _ if outcomes.acknowledged == 0 && outcomes.delivered > 0 => "delivered",
        _ => "acknowledged",
    }
}

/// Why the figures of a phase must not be used; `None` if they may.
pub(crate) fn invalid(load: &Load, phase: &PhaseFigures) -> Option<String> {
    (!phase.valid && load.not_run.is_none()).then(|| reasons(load.warnings.iter().chain(&phase.warnings)))
}

/// Why the figures of the main phase of a load must not be used.
pub(crate) fn invalid_main(load: &Load) -> Option<String> {
    invalid(load, main_phase(load)?)
}

/// Why the figures of some phases must not be used; `None` if all may.
pub(crate) fn invalid_somewhere(load: &Load) -> Option<String> {
    let of_phases = load.phases.iter().flat_map(|phase| &phase.warnings);
    (!load.valid && load.not_run.is_none()).then(|| reasons(load.warnings.iter().chain(of_phases)))
}

/// `publish: 30 of 100 were not acknowledged: 20 refused, 10 late`, phase by phase; `None` if all were.
pub(crate) fn not_acknowledged(load: &Load) -> Option<String> {
    let of_phase = |phase: &PhaseFigures| {
        let ends = phase.not_acknowledged();
        let sum: u64 = ends.iter().map(|(_, messages)| messages).sum();
        let named = ends
            .iter()
            .map(|(name, messages)| format!("{} {name}", number::grouped(*messages)));
        let named: Vec<String> = named.collect();
        let offered = number::grouped(phase.outcomes.offered);
        (sum > 0).then(|| {
            format!(
                "{}: {} of {offered} were not {}: {}",
                phase.name,
                number::grouped(sum),
                arrived(phase),
                named.join(", ")
            )
        })
    };
    let told: Vec<String> = load.phases.iter().filter_map(of_phase).collect();
    (!told.is_empty()).then(|| number::plain(&told.join("; ")))
}

fn reasons<'a>(warnings: impl Iterator<Item = &'a Warning>) -> String {
    let reasons: Vec<&str> = warnings
        .filter(|warning| warning.invalidates)
        .map(|warning| warning.text.as_str())
        .collect();
    match reasons.as_slice() {
        [] => "no reason was given".into(),
        reasons => number::plain(&reasons.join("; ")),
    }
}

/// Whether a run is incomplete, unless a threshold has ended it.
pub(crate) fn is_interrupted(summary: &LoadSummary) -> bool {
    summary.interrupted && summary.loads.iter().all(|load| load.aborted.is_none())
}

/// A remark on a load.
pub(crate) struct Remark {
    /// `not run`, `ended early`, `INVALID` or `warning`.
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

impl Remark {
    /// Whether it is more than a warning.
    pub(crate) fn alarms(&self) -> bool {
        self.kind != "warning"
    }
}

/// The remarks on a load; reasons for invalid figures come first. A remark on one phase begins with its name.
pub(crate) fn remarks(load: &Load) -> Vec<Remark> {
    let remark = |kind, text: &str| Remark {
        kind,
        text: number::plain(text),
    };
    let not_run = load.not_run.iter().map(|reason| remark("not run", reason));
    let aborted = load
        .aborted
        .iter()
        .map(|threshold| remark("ended early", &failure_text(threshold)));
    let of_phases = load.phases.iter().flat_map(|phase| {
        let named = |warning: &Warning| (warning.invalidates, format!("{}: {}", phase.name, warning.text));
        phase.warnings.iter().map(named)
    });
    let of_load = load
        .warnings
        .iter()
        .map(|warning| (warning.invalidates, warning.text.clone()));
    let (bad, other): (Vec<_>, Vec<_>) = of_phases
        .chain(of_load)
        .partition(|(invalidates, _)| *invalidates);
    let bad = bad.iter().map(|(_, text)| remark("INVALID", text));
    let other = other.iter().map(|(_, text)| remark("warning", text));
    not_run.chain(aborted).chain(bad).chain(other).collect()
}

/// The outcomes by name, without `offered`; those of unanswered messages only if there are any.
pub(crate) fn outcomes(outcomes: &Outcomes) -> Vec<(&'static str, u64)> {
    let unanswered = outcomes.delivered + outcomes.lost > 0;
    let answered = outcomes.acknowledged + outcomes.refused + outcomes.late > 0 || !unanswered;
    let mut named = Vec::new();
    if answered {
        named.push(("acknowledged", outcomes.acknowledged));
    }
    if unanswered {
        named.push(("delivered", outcomes.delivered));
        named.push(("lost", outcomes.lost));
    }
    if answered {
        named.push(("refused", outcomes.refused));
        named.push(("late", outcomes.late));
    }
    named.push(("failed", outcomes.failed));
    named.push(("unknown", outcomes.unknown));
    named
}

/// The noun for what a phase offers.
pub(crate) fn offered(phase: &PhaseFigures) -> &'static str {
    match phase.name.as_str() {
        "handshakes" => "handshake",
        "reconnect" => "reconnect",
        "request" => "request",
        _ => "message",
    }
}

/// `6,000 expected, 4,000 missing`: deliveries at subscribers, if any are missing.
pub(crate) fn missing(phase: &PhaseFigures) -> Option<String> {
    let missing = phase.missing.filter(|missing| *missing > 0)?;
    let expected = phase.deliveries?.expected;
    Some(format!(
        "{} expected, {} missing",
        number::grouped(expected),
        number::grouped(missing)
    ))
}

/// One kind of time of a phase.
pub(crate) struct Timed<'a> {
    pub(crate) kind: CurveKind,
    pub(crate) name: &'static str,
    pub(crate) times: &'a Times,
    /// Its start and end.
    pub(crate) what: &'static str,
}

/// The kinds of time of a phase.
pub(crate) fn times(phase: &PhaseFigures) -> Vec<Timed<'_>> {
    let response = match phase.response_kind.as_deref() {
        // Nothing is sent in these phases: what is timed is the connection.
        _ if matches!(phase.name.as_str(), "handshakes" | "reconnect") => "intended begin until it may send",
        Some("to_reply") => "intended send to reply",
        Some("to_arrival") => "intended send to arrival",
        _ => "intended send to acknowledgement",
    };
    let service = match phase.response_kind.as_deref() {
        _ if matches!(phase.name.as_str(), "handshakes" | "reconnect") => "actual begin until it may send",
        Some("to_reply") => "actual send to reply",
        Some("to_arrival") => "actual send to arrival",
        _ => "actual send to acknowledgement",
    };
    let all = [
        (CurveKind::Response, "response", &phase.response_time_ns, response),
        (CurveKind::Service, "service", &phase.service_time_ns, service),
        (
            CurveKind::Delay,
            "delivery",
            &phase.one_way_delay_ns,
            "intended send to arrival",
        ),
        (
            CurveKind::Connect,
            "connect",
            &phase.connect_time_ns,
            "connect begun until it may send",
        ),
        (
            CurveKind::Lag,
            "schedule lag",
            &phase.schedule_lag_ns,
            "how late the generator was",
        ),
    ];
    all.into_iter()
        .filter_map(|(kind, name, times, what)| {
            let times = times.as_ref().filter(|times| times.n > 0)?;
            Some(Timed {
                kind,
                name,
                times,
                what,
            })
        })
        .collect()
}

/// The name of a phase and of a kind of time, once if they are equal.
pub(crate) fn kind_in(phase: &PhaseFigures, kind: CurveKind) -> String {
    match phase.name == kind.name() {
        true => phase.name.clone(),
        false => format!("{} {}", phase.name, kind.name()),
    }
}

/// The main time of a load: the response time, or the delivery time if nothing answers, or the connect time.
pub(crate) fn judged(phase: &PhaseFigures) -> Option<Timed<'_>> {
    times(phase)
        .into_iter()
        .find(|timed| timed.kind != CurveKind::Lag)
}

/// A time in milliseconds as far as it can be used: `7.490`, `≤7.490`, `INVALID`.
pub fn time(nanos: Option<f64>, standing: Standing) -> String {
    match (nanos, standing) {
        (None, _) => number::NONE.to_owned(),
        (Some(nanos), Standing::Exact) => number::latency(nanos),
        (Some(nanos), Standing::AtMost) => format!("≤{}", number::latency(nanos)),
        (Some(nanos), Standing::AtLeast) => format!("≥{}", number::latency(nanos)),
        (Some(_), Standing::Refused) => "INVALID".to_owned(),
    }
}

/// How far the times of a kind in a phase can be used.
pub(crate) fn standing(load: &Load, phase: &PhaseFigures, kind: CurveKind) -> Standing {
    load.standing(phase, Subject::Time(kind))
}

/// The bottleneck and the reason.
pub(crate) fn bottleneck(load: &Load) -> String {
    load.bottleneck.as_ref().map_or_else(
        || "not determined".to_owned(),
        |found| number::plain(&format!("{}: {}", found.who, found.why)),
    )
}

/// Packets and bytes of one direction of the real path.
pub(crate) fn wire_use(used: &WireWay) -> String {
    let packets = counted(used.packets, "packet");
    format!(
        "{packets} of {} B, headers of IP included",
        number::grouped(used.bytes)
    )
}

/// The use of one direction of a link: `1,200 packets, 12 lost, 3 dropped by its queue, rate in use 40 % of the time`.
pub(crate) fn direction_use(used: &DirectionUse) -> String {
    let mut text = counted(used.packets, "packet");
    for (count, what) in [(used.lost, "lost"), (used.queue_dropped, "dropped by its queue")] {
        if count > 0 {
            text += &format!(", {} {what}", number::grouped(count));
        }
    }
    if let Some((senders, subscribers)) = used.sender_bytes().zip(used.subscriber_bytes)
        && subscribers > 0
    {
        let [senders, subscribers] = [senders, subscribers].map(number::grouped);
        text += &format!(", {senders} B of senders and {subscribers} B of subscribers");
    }
    if let Some(share) = used.utilisation {
        text += &format!(", rate in use {} of the time", number::percent(share));
    }
    text
}

/// The bytes of a hop in a phase.
pub(crate) fn hop_use(hop: &HopUse) -> String {
    let LinkUse { up, down } = &hop.used;
    let way = |way: &DirectionUse| {
        let rate = way
            .utilisation
            .map(|share| format!(" ({} of its rate)", number::percent(share)));
        format!("{} B{}", number::grouped(way.bytes), rate.unwrap_or_default())
    };
    format!("{} up, {} down", way(up), way(down))
}

/// The bytes of a hop over the whole load.
pub(crate) fn hop(hop: &HopFigures) -> String {
    let way = |way: &WireWay| {
        format!(
            "{} B in {}",
            number::grouped(way.bytes),
            counted(way.packets, "packet")
        )
    };
    format!(
        "{} up, {} down, over the whole load",
        way(&hop.used.up),
        way(&hop.used.down)
    )
}

/// The settings of the target: `max_queued_messages 1000`.
pub(crate) fn settings(load: &Load) -> String {
    let settings = load
        .settings
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    settings.collect::<Vec<String>>().join(", ")
}

/// The settings of the target of each load that has any, with its label.
pub(crate) fn all_settings(loads: &[Load], labels: &[String]) -> Vec<(String, String)> {
    let of_each = loads.iter().zip(labels);
    of_each
        .filter(|(load, _)| !load.settings.is_empty())
        .map(|(load, label)| (label.clone(), settings(load)))
        .collect()
}

/// The accuracy of the link: the RTT, and how late packets were.
pub(crate) fn link_kept(figures: &LinkFigures) -> String {
    let Some(emulator) = &figures.emulator else {
        return "modelled: packets are handed over exactly when they are due".into();
    };
    let achieved = figures.link.achieved.as_ref();
    let rtt = achieved.and_then(|achieved| achieved.rtt_p50_ns);
    let rtt = number::optional(rtt, |nanos| number::latency(nanos as f64));
    let late = number::duration(emulator.lateness_p99_ns as f64);
    let relay = figures.relay.as_ref().map_or_else(String::new, |target| {
        format!("; a relay at its end stands for {target}, and bytes are those between device and relay")
    });
    format!(
        "an echo took {rtt} ms before the load, packets were handed over {late} late (p99), by {}{relay}",
        figures.packet_path
    )
}

/// The service of a simulated server: `1ms for a message by 4 workers, busy 90 % of the time`.
pub(crate) fn service(figures: &ServiceFigures) -> String {
    let busy = number::optional(figures.utilisation, number::percent);
    let workers = counted(figures.workers.into(), "worker");
    format!(
        "{} for a message by {workers}, busy {busy} of the time",
        figures.service_time
    )
}

/// The worlds of a load in virtual time: `200, whose devices share nothing`, or `one: all devices share a broker`.
pub(crate) fn worlds(worlds: &Worlds) -> String {
    match &worlds.shared {
        None => format!("{}, whose devices share nothing", worlds.count),
        Some(shared) if worlds.count == 1 => format!("one: all devices share {shared}"),
        // The sum of several loads.
        Some(shared) => format!("{}: the devices of each share {shared}", worlds.count),
    }
}

/// The figures of a load in tables of several loads.
pub(crate) struct RowValues {
    pub(crate) offered: String,
    /// The acknowledged rate.
    pub(crate) acknowledged: String,
    /// Median, 90th, 99th and 99.9th percentile and the longest in milliseconds, as far as they can be used.
    pub(crate) times: [String; 5],
    pub(crate) lag: String,
    /// CPU time of generator and target, in seconds per million messages.
    pub(crate) cpu: [String; 2],
    pub(crate) bottleneck: String,
}

/// The figures of the main phase of a load.
pub(crate) fn row_values(load: &Load, phase: &PhaseFigures) -> RowValues {
    let judged = judged(phase);
    let standing = judged
        .as_ref()
        .map_or(Standing::Exact, |timed| standing(load, phase, timed.kind));
    let time = |of: fn(&Times) -> Option<u64>| {
        let nanos = judged.as_ref().and_then(|timed| of(timed.times));
        time(nanos.map(|nanos| nanos as f64), standing)
    };
    let cpu = [&load.generator, &load.target_use].map(|used| {
        let per_million = used.as_ref().and_then(|used| used.cpu_s_per_million);
        number::optional(per_million, |seconds| number::digits(seconds, 3))
    });
    let lag = phase.schedule_lag_ns.as_ref().and_then(|lag| lag.p99);
    RowValues {
        offered: number::optional(phase.offered_rate, number::rate),
        acknowledged: number::optional(phase.carried_rate, number::rate),
        times: [
            time(|times| times.p50),
            time(|times| times.p90),
            time(|times| times.p99),
            time(|times| times.p999),
            time(|times| Some(times.max)),
        ],
        lag: number::optional(lag, |nanos| number::duration(nanos as f64)),
        cpu,
        bottleneck: number::optional(load.bottleneck.as_ref(), |found| number::plain(&found.who)),
    }
}

/// The number of thresholds that hold, and of all; `None` without thresholds.
pub(crate) fn thresholds(summary: &LoadSummary) -> Option<(usize, usize)> {
    let held = summary
        .thresholds
        .iter()
        .filter(|threshold| threshold.pass)
        .count();
    (!summary.thresholds.is_empty()).then_some((held, summary.thresholds.len()))
}
