//! Which cells and phases have a figure: it depends on what they do, what answers, and who receives. A cell or phase
//! that should have the figure but does not have it fails a demand. A demand does not apply to the others.

use wirecost_proto::Framing;
use wirecost_results::catalogue::{CellNeeds, Metric, ModelledBy, Needs};
use wirecost_stack::target::Target;
use wirecost_stack::{Pattern, Stack};

use crate::expected::{Matching, are_there, has_audience, retained_before};
use crate::labels;
use crate::options::load::sites::SiteLink;
use crate::options::load::{Arrivals, LoadEngine, LoadOptions, LoadTarget, Offer, Phase, Who};
use crate::selector::{DEVICE, HOP, Labels, TARIFF};
use crate::{Work, device, plan, tariff};

/// Why a cell or a phase has no figure of a metric, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unavailable {
    /// Of several reasons the user is told the one with the highest rank.
    rank: u8,
    /// What is wrong, as it follows a colon.
    pub why: &'static str,
    /// What to do now.
    pub hint: &'static str,
}

impl Unavailable {
    const fn new(rank: u8, why: &'static str, hint: &'static str) -> Self {
        Self { rank, why, hint }
    }
}

const OTHER_PHASE: Unavailable = Unavailable::new(
    0,
    "none of its phases does what that measures",
    "add a phase that does, or leave the demand out",
);
const CLOSED_LOOP: Unavailable = Unavailable::new(
    1,
    "a closed loop asks for no rate",
    "demand carried_rate, or give the phase a rate",
);
const UNANSWERED: Unavailable = Unavailable::new(
    1,
    "nothing answers its messages",
    "demand delivered or one_way_delay, or send what is answered, as mqtt-qos1 and coap-con are",
);
const NO_PROGRAM: Unavailable = Unavailable::new(
    1,
    "no program of another maker runs",
    "it is a figure of scenarios with program",
);
const UNFRAMED: Unavailable = Unavailable::new(
    1,
    "no framing says what a frame has beside its packet",
    "add --framing ethernet, or framing to the scenario",
);
const ANSWERED: Unavailable = Unavailable::new(
    1,
    "its messages are answered, and count as acknowledged",
    "demand acknowledged",
);
const NO_RECEIVER: Unavailable = Unavailable::new(
    2,
    "its target does not report what arrives",
    "add subscribers, or leave out the target: the built-in one counts what arrives",
);
const NO_SUBSCRIBERS: Unavailable = Unavailable::new(
    2,
    "no device of it subscribes",
    "add subscribers, or demand delivered, which the built-in target counts where nothing answers",
);
const NO_STORE: Unavailable = Unavailable::new(
    2,
    "its server stores no messages for subscribers",
    "leave it out: sessions and retained messages are MQTT's",
);
const NO_POLLS: Unavailable = Unavailable::new(
    2,
    "no subscriber of it polls",
    "polls are those of subscribers over HTTP, as in subscribers: {devices: 1, poll: 500ms}",
);
const AWAY: Unavailable = Unavailable::new(
    3,
    "no subscriber is connected while its messages are sent",
    "demand replayed or missing, or let subscribers connect before",
);
const UNMATCHED: Unavailable = Unavailable::new(
    4,
    "no subscription matches its topic",
    "the filter of the subscribers must match the resource",
);
const UNCOUNTED: Unavailable = Unavailable::new(
    4,
    "it is unknown how many subscriptions its messages match",
    "demand duplicates or one_way_delay: observers, and topics with %n, %t or %r, are not counted",
);
const UNSEEN_PROCESS: Unavailable = Unavailable::new(
    6,
    "the CPU time of its server is not measured",
    "let wirecost start the server, with engine live",
);
const NO_LINK: Unavailable = Unavailable::new(
    2,
    "its devices have no link on which their packets are counted",
    "give the load a link, as in link: {rtt: 40ms}",
);
const SHARED: Unavailable = Unavailable::new(
    3,
    "its devices share sockets, and their packets do not say which device they are of",
    "leave out shared_socket",
);
const UNSTAMPED: Unavailable = Unavailable::new(
    5,
    "its payloads do not say when they were intended",
    "payloads that are given as a size do, from 16B on, but for +cose",
);

/// A cell, a phase or a point of a run.
#[derive(Debug)]
pub struct Subject<'a> {
    /// What a selector can ask for, such as its stack and its link.
    pub labels: Labels,
    of: SubjectOf<'a>,
}

/// What a subject is.
#[derive(Debug)]
enum SubjectOf<'a> {
    /// The stack, unless a program of another maker runs in its place.
    Cell(Option<Stack>, Framing),
    /// The load, and the index of the phase.
    Phase(&'a LoadOptions, usize),
    Point,
}

impl Subject<'_> {
    /// Why it does not have the metric; `None` if it does.
    pub fn unavailable(&self, metric: Metric) -> Option<Unavailable> {
        match self.of {
            SubjectOf::Phase(load, index) => unavailable_in_phase(metric, load, index),
            SubjectOf::Cell(stack, framing) => unavailable_in_cell(metric, stack, framing),
            SubjectOf::Point => None,
        }
    }

    /// Whether it has a link with a round-trip time.
    pub fn has_link(&self) -> bool {
        match self.of {
            SubjectOf::Cell(..) => true,
            SubjectOf::Phase(load, _) => load.link.is_some(),
            SubjectOf::Point => false,
        }
    }
}

/// The dimension that names the file by which the figures of cells are modelled.
pub fn modelled_by(metric: Metric) -> Option<&'static str> {
    match metric.model() {
        Some(ModelledBy::Device) => Some(DEVICE),
        Some(ModelledBy::Tariff) => Some(TARIFF),
        Some(ModelledBy::Month) | None => None,
    }
}

/// A condition that names such a file.
pub const fn example(dimension: &str) -> &'static str {
    match dimension.as_bytes() {
        b"tariff" => "tariff=1nce",
        _ => "device=esp32s3-wifi",
    }
}

/// The labels of a cell, with those of each device or tariff file where the metric is modelled by one.
pub fn of_model(metric: Metric, labels: &Labels) -> Vec<(Labels, Option<&'static str>)> {
    let files: &[(&'static str, &str)] = match metric.model() {
        Some(ModelledBy::Device) => &device::BUILT_IN,
        Some(ModelledBy::Tariff) => &tariff::BUILT_IN,
        Some(ModelledBy::Month) | None => &[],
    };
    let Some(dimension) = modelled_by(metric) else {
        return vec![(labels.clone(), None)];
    };
    let with = |(name, _): &(&'static str, &str)| {
        let mut labels = labels.clone();
        labels.insert(dimension, (*name).to_owned());
        (labels, Some(*name))
    };
    files.iter().map(with).collect()
}

/// All cells, phases or points of a run that a metric may be of.
pub fn subjects<'a>(work: &'a Work, metric: Metric) -> Vec<Subject<'a>> {
    match work {
        Work::Comparison(options) => plan::labelled(options)
            .into_iter()
            .flat_map(|cell| {
                let of_models = of_model(metric, &cell.labels).into_iter();
                of_models.map(move |(labels, _)| Subject {
                    labels,
                    of: SubjectOf::Cell(Some(cell.stack), cell.framing),
                })
            })
            .collect(),
        Work::Program(options) => vec![Subject {
            labels: options.labels(),
            of: SubjectOf::Cell(None, options.framing),
        }],
        Work::Nbiot(options) => options
            .labels()
            .into_iter()
            .flatten()
            .map(|labels| Subject {
                labels,
                of: SubjectOf::Point,
            })
            .collect(),
        Work::Loads(loads) => loads.iter().flat_map(|load| of_phases(metric, load)).collect(),
    }
}

fn of_phases<'a>(metric: Metric, load: &'a LoadOptions) -> impl Iterator<Item = Subject<'a>> {
    let is_by_hop = metric.is_by_hop();
    load.phases.iter().enumerate().flat_map(move |(index, phase)| {
        let labels = labels::labels_of_phase(load, phase);
        of_hops(is_by_hop, load, &labels)
            .into_iter()
            .map(move |(labels, _)| Subject {
                labels,
                of: SubjectOf::Phase(load, index),
            })
    })
}

/// The labels of a phase, with those of each hop where the figure is one of links and the load has sites.
pub(super) fn of_hops(is_by_hop: bool, load: &LoadOptions, labels: &Labels) -> Vec<(Labels, Option<String>)> {
    let sites = load.sites.as_ref().filter(|_| is_by_hop);
    let Some(sites) = sites else {
        return vec![(labels.clone(), None)];
    };
    let with = |link: &SiteLink| {
        let hop = link.name();
        let mut labels = labels.clone();
        labels.insert(HOP, hop.clone());
        (labels, Some(hop))
    };
    sites.links.iter().map(with).collect()
}

/// Why the phase with this index does not have the metric; `None` if it does.
pub(super) fn unavailable_in_phase(metric: Metric, load: &LoadOptions, index: usize) -> Option<Unavailable> {
    let (Some(phase), Some(needs)) = (load.phases.get(index), metric.needs()) else {
        return Some(OTHER_PHASE);
    };
    match needs {
        Needs::Nothing => None,
        Needs::Offers => unless(phase.offer().is_some(), OTHER_PHASE),
        Needs::OffersAtRate => match phase.offer() {
            Some(offer) => unless(is_open(offer), CLOSED_LOOP),
            None => Some(OTHER_PHASE),
        },
        Needs::Answers => no_answers(load, phase),
        Needs::Deliveries => no_deliveries(load, index),
        // One of both is enough: it is lacking only if the answers and the deliveries are.
        Needs::Outcomes => no_answers(load, phase).and(no_deliveries(load, index)),
        Needs::OutcomesAtRate => {
            let is_at_rate = phase.offer().is_some_and(is_open);
            no_answers(load, phase)
                .and(no_deliveries(load, index))
                .or(unless(is_at_rate, CLOSED_LOOP))
        }
        Needs::Connects => no_connects(phase).or(unless(load.stack.has_connect(load.start), OTHER_PHASE)),
        Needs::Sockets => no_connects(phase),
        Needs::Reconnects => unless(matches!(phase, Phase::Reconnect { .. }), OTHER_PHASE),
        Needs::Arrivals => no_arrivals(load, index),
        Needs::Delays => no_delays(load, index),
        Needs::Expectations => no_expectation(load, index),
        Needs::Store => no_store(load, index),
        Needs::Polls => unless(load.poll().is_some(), NO_POLLS).or(no_arrivals(load, index)),
        Needs::Hops => unless(!load.hops().is_empty(), NO_LINK),
        Needs::SendersApart => not_told_apart(load),
        Needs::SubscribersApart => {
            not_told_apart(load).or(unless(load.subscribers.is_some(), NO_SUBSCRIBERS))
        }
        Needs::CpuTime => no_cpu_time(load, phase),
    }
}

/// Why no stored message is delivered.
fn no_store(load: &LoadOptions, index: usize) -> Option<Unavailable> {
    let stores = load.stack.is_mqtt() || load.poll().is_some();
    let no_receivers = || unless(load.subscribers.is_some(), NO_SUBSCRIBERS).or(no_arrivals(load, index));
    unless(stores, NO_STORE).or_else(no_receivers)
}

/// Why the CPU time of the server is unknown in a phase: only a process that wirecost starts has one that can be read.
fn no_cpu_time(load: &LoadOptions, phase: &Phase) -> Option<Unavailable> {
    let is_ours = matches!(load.target, LoadTarget::Started(_)) && load.engine == LoadEngine::Live;
    unless(is_ours, UNSEEN_PROCESS).or(unless(load.is_use_told(phase), OTHER_PHASE))
}

/// Why a cell of this stack does not have the metric; `None` if it does.
pub fn unavailable_in_cell(metric: Metric, stack: Option<Stack>, framing: Framing) -> Option<Unavailable> {
    match metric.cell_needs() {
        CellNeeds::Nothing => None,
        CellNeeds::Answers => unless(stack.is_none_or(Stack::is_answered), UNANSWERED),
        CellNeeds::NoAnswers => unless(stack.is_some_and(|stack| !stack.is_answered()), ANSWERED),
        CellNeeds::Framing => unless(framing != Framing::None, UNFRAMED),
        CellNeeds::Program => unless(stack.is_none(), NO_PROGRAM),
    }
}

const fn unless(is_there: bool, why: Unavailable) -> Option<Unavailable> {
    if is_there { None } else { Some(why) }
}

const fn is_open(offer: &Offer) -> bool {
    matches!(offer.arrivals, Arrivals::Open { .. })
}

fn no_connects(phase: &Phase) -> Option<Unavailable> {
    let connects = matches!(
        phase,
        Phase::Connect { .. } | Phase::Handshakes { .. } | Phase::Reconnect { .. }
    );
    unless(connects, OTHER_PHASE)
}

/// Why the bytes of senders are not told from those of subscribers.
fn not_told_apart(load: &LoadOptions) -> Option<Unavailable> {
    unless(load.link.is_some(), NO_LINK).or(unless(!load.shared_socket, SHARED))
}

/// Why messages are not answered.
fn no_answers(load: &LoadOptions, phase: &Phase) -> Option<Unavailable> {
    match phase {
        Phase::Publish(_) | Phase::Request(_) => unless(load.is_answered(), UNANSWERED),
        Phase::Handshakes { .. } => None,
        _ => Some(OTHER_PHASE),
    }
}

/// Why no message has the outcome delivered.
fn no_deliveries(load: &LoadOptions, index: usize) -> Option<Unavailable> {
    match load.phases.get(index)? {
        Phase::Publish(_) | Phase::Request(_) if load.is_answered() => Some(ANSWERED),
        Phase::Publish(_) | Phase::Request(_) if counts(load) => None,
        Phase::Publish(_) if load.subscribers.is_none() => Some(NO_RECEIVER),
        Phase::Publish(_) => no_expectation(load, index),
        Phase::Request(_) => Some(NO_RECEIVER),
        Phase::Handshakes { .. } => Some(ANSWERED),
        _ => Some(OTHER_PHASE),
    }
}

/// Whether the target counts arrivals.
const fn counts(load: &LoadOptions) -> bool {
    matches!(load.target, LoadTarget::Started(Target::Builtin))
}

/// Why no message arrives at our receivers.
fn no_arrivals(load: &LoadOptions, index: usize) -> Option<Unavailable> {
    let is_publish = matches!(load.phases.get(index), Some(Phase::Publish(_)));
    if load.subscribers.is_none() {
        return match counts(load) {
            true => unless(is_publish, OTHER_PHASE),
            false => Some(NO_RECEIVER),
        };
    }
    match load.phases.get(index)? {
        Phase::Publish(_) => unless(are_there(load, number(index)), AWAY),
        Phase::AwaitReplay { .. } => None,
        Phase::Connect { who, .. } | Phase::Reconnect { who, .. } => {
            unless(*who != Who::Senders, OTHER_PHASE)
        }
        _ => Some(OTHER_PHASE),
    }
}

/// Why the one-way delay is unknown. The delay of a stored message is that of the store.
fn no_delays(load: &LoadOptions, index: usize) -> Option<Unavailable> {
    if !matches!(load.phases.get(index)?, Phase::Publish(_)) {
        return Some(OTHER_PHASE);
    }
    no_arrivals(load, index)
        .or_else(|| no_match(load, index).filter(|lack| *lack == UNMATCHED))
        .or(unless(load.is_stamped(), UNSTAMPED))
}

/// Why the number of expected deliveries is unknown or zero.
fn no_expectation(load: &LoadOptions, index: usize) -> Option<Unavailable> {
    match load.phases.get(index)? {
        Phase::Publish(_) if load.subscribers.is_none() => Some(NO_SUBSCRIBERS),
        Phase::Publish(_) => {
            unless(has_audience(load, number(index)), AWAY).or_else(|| no_match(load, index))
        }
        Phase::Connect { who, .. } if *who != Who::Senders => {
            unless(retained_before(load, number(index)) > 0, OTHER_PHASE)
        }
        _ => Some(OTHER_PHASE),
    }
}

/// Why the number of matching subscriptions is unknown or zero. If topics differ by device, the first one says nothing
/// about the others.
fn no_match(load: &LoadOptions, index: usize) -> Option<Unavailable> {
    load.subscribers.as_ref()?;
    let is_constant = |topic: &str| topic.parse().is_ok_and(|topic: Pattern| topic.is_constant());
    match Matching::in_phase(load, 0..1, number(index)) {
        Matching::Unknown => Some(UNCOUNTED),
        Matching::Same(0) => unless(!is_constant(&load.resource), UNMATCHED),
        _ => None,
    }
}

/// The index as the type that loads use.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
