//! The results of a load as its entry in `summary.json`.

use wirecost_link::Hop;
use wirecost_results::figures::{Deliveries, Interval};
use wirecost_results::link::link_of;
use wirecost_results::link_use::{HopUse, LinkUse};
use wirecost_results::load::{Asked, Load, LoadFile, PhaseFigures, ProcessUse, ServiceFigures};
use wirecost_results::missing;
use wirecost_results::warning::Warning;
use wirecost_scenario::labels::labels_of_phase;
use wirecost_scenario::options::load::{Arrivals, LoadEngine, LoadOptions, Phase};
use wirecost_scenario::selector::to_stored;

use crate::link::LinkReport;
use crate::parts::outcome::{LoadOutcome, PhaseTimes, Spent};
use crate::targets::wire::wire_use;
use crate::verdict::{self, Evidence, Taken, Verdict};

/// The entry of a load with this `outcome`. `taken` is the processor time that others had, and `link` reports
/// the emulated link, if any.
pub fn assemble(
    options: &LoadOptions,
    outcome: &LoadOutcome,
    taken: Taken,
    link: Option<&LinkReport>,
) -> Load {
    let mut phases = all_figures(options, outcome);
    let evidence = Evidence {
        options,
        phases: &phases,
        outcome,
        taken,
        link,
    };
    let Verdict {
        bottleneck,
        warnings,
        phases: of_phases,
    } = verdict::judge(&evidence);
    let is_valid = |warnings: &[Warning]| !warnings.iter().any(|warning| warning.invalidates);
    for (phase, of_phase) in phases.iter_mut().zip(of_phases) {
        phase.valid = is_valid(&warnings) && is_valid(&of_phase);
        phase.warnings = of_phase;
    }
    missing::note(&mut phases);
    // The usage of both sides includes the warm-up.
    let offers = |phase: u32| {
        options
            .phases
            .get(phase as usize)
            .is_some_and(|phase| phase.offer().is_some())
    };
    let offered = outcome.intervals.iter().filter(|interval| offers(interval.phase));
    let sent: u64 = offered.map(|interval| interval.sent).sum();
    let is_live = options.engine == LoadEngine::Live;
    let labels = |phase: &Phase| to_stored(&labels_of_phase(options, phase));
    let mut load = Load {
        phase_labels: options.phases.iter().map(labels).collect(),
        stack: options.stack.to_string(),
        start: options.start.to_string(),
        payload_bytes: options.payload.message_bytes(options.clients),
        target: options.target.to_string(),
        engine: options.engine.name().into(),
        clients: u64::from(options.own_clients()),
        subscribers: u64::from(options.receivers()),
        inflight: options.inflight.map(u64::from),
        loop_kind: options.loop_kind(),
        arrivals: arrivals_of(options).map(str::to_owned),
        shared_socket: options.shared_socket,
        ipv6: options.ipv6,
        asked: phases.is_empty().then(|| Box::new(asked(options))),
        interrupted: outcome.interrupted,
        aborted: outcome.aborted.clone(),
        // What spoils one phase, such as its lag, says nothing of the others; what spoils the load spoils all of them.
        valid: is_valid(&warnings) && phases.iter().all(|phase| phase.valid),
        warnings,
        // In virtual time the process also computes the network and the target: its CPU time is that of no generator.
        generator: is_live.then(|| process_use(&outcome.generator, sent)),
        target_use: measured(outcome.target.as_ref())
            .filter(|_| is_live)
            .map(|spent| process_use(spent, sent)),
        service: service(options, outcome),
        link: link.map(|link| Box::new(link.figures.clone())),
        hops: link.map_or_else(Vec::new, |link| link.hops.clone()),
        settings: options.target_settings(),
        bottleneck,
        phases,
        ..Load::default()
    };
    load.note_standings();
    load
}

/// The simulated server, if it has a service time.
fn service(options: &LoadOptions, outcome: &LoadOutcome) -> Option<ServiceFigures> {
    Some(ServiceFigures {
        service_time: options.service_time?.to_string(),
        workers: options.workers,
        utilisation: outcome.target.as_ref().and_then(|spent| spent.busiest_share),
    })
}

/// The file of a load that could not run, and the reason.
pub fn not_run(options: &LoadOptions, reason: String) -> LoadFile {
    LoadFile {
        load: Load {
            not_run: Some(reason),
            // Nothing was generated: zeros would say that it took no CPU time.
            generator: None,
            ..assemble(options, &LoadOutcome::default(), Taken::default(), None)
        },
        intervals: Vec::new(),
        usage: Vec::new(),
        traffic: None,
        profile: None,
        source_addresses: Vec::new(),
        server: None,
    }
}

/// The options of a load that the results of its phases and its link repeat.
fn asked(options: &LoadOptions) -> Asked {
    let rate = |phase: &Phase| options.own_rate(phase);
    Asked {
        rates: options.phases.iter().filter_map(rate).collect(),
        link: options.link.as_ref().map(|link| link_of(link, None)),
    }
}

/// The figures of each phase that has begun.
fn all_figures(options: &LoadOptions, outcome: &LoadOutcome) -> Vec<PhaseFigures> {
    let begun = options.phases.iter().zip(&outcome.phases).enumerate();
    let figures = begun.map(|(index, (phase, times))| {
        let own = |interval: &&Interval| interval.phase as usize == index;
        let intervals: Vec<&Interval> = outcome.intervals.iter().filter(own).collect();
        phase_figures(options, phase, times, intervals)
    });
    figures.collect()
}

/// The arrivals of messages in an open loop: `poisson` or `constant`.
fn arrivals_of(options: &LoadOptions) -> Option<&'static str> {
    let offers = options.phases.iter().filter_map(Phase::offer);
    let mut open = offers.filter_map(|offer| match offer.arrivals {
        Arrivals::Open { poisson, .. } => Some(poisson),
        Arrivals::Closed => None,
    });
    open.next()
        .map(|poisson| if poisson { "poisson" } else { "constant" })
}

/// The figures of a phase from its `intervals`.
pub(crate) fn phase_figures<'a>(
    options: &LoadOptions,
    phase: &Phase,
    times: &PhaseTimes,
    intervals: impl IntoIterator<Item = &'a Interval> + Clone,
) -> PhaseFigures {
    let has_audience = options.subscribers.is_some();
    let is_awaited = has_audience && matches!(phase, Phase::Publish(_) | Phase::AwaitReplay { .. });
    let is_told = is_awaited
        || intervals
            .clone()
            .into_iter()
            .any(|interval| interval.deliveries != Deliveries::default());
    let answered = options.is_answered() && matches!(phase, Phase::Publish(_));
    let kind = match phase {
        Phase::Request(_) => Some("to_reply"),
        _ if answered => Some("to_ack"),
        _ => None,
    };
    // Without an emulated link, packets were counted on the real path.
    let has_link = options.link.is_some() || options.engine == LoadEngine::Sim;
    let all = of_devices(options, &times.links);
    let figures = PhaseFigures {
        name: phase.name().into(),
        begin_s: times.begin.as_secs_f64(),
        duration_s: times.took.as_secs_f64(),
        warm_up_s: phase.warm_up().as_secs_f64(),
        measured_s: times.measured.as_secs_f64(),
        asked_rate: options.own_rate(phase),
        response_kind: kind.map(str::to_owned),
        deliveries: is_told.then(Deliveries::default),
        // The same counts are a link's figures with a link, and those of the wire without: never both.
        link: all.filter(|_| has_link),
        hops: hop_uses(options, &times.links),
        wire: all.filter(|_| !has_link).as_ref().map(wire_use),
        target_cpu_share: times.target_cpu_share,
        ..PhaseFigures::default()
    };
    figures.counted(intervals)
}

/// The use of the links of devices together.
fn of_devices(options: &LoadOptions, links: &[LinkUse]) -> Option<LinkUse> {
    let hops = options.hops();
    let is_of_devices = |index: usize| hops.get(index).is_none_or(Hop::has_devices);
    let of_devices = links
        .iter()
        .enumerate()
        .filter(|(index, _)| is_of_devices(*index));
    of_devices
        .map(|(_, used)| *used)
        .reduce(|sum, used| sum.with(&used))
}

/// The use of the link of each hop between sites.
fn hop_uses(options: &LoadOptions, links: &[LinkUse]) -> Vec<HopUse> {
    let named = options.sites.iter().flat_map(|sites| &sites.links).zip(links);
    named
        .map(|(link, used)| HopUse {
            hop: link.name(),
            used: used.of_one_hop(),
        })
        .collect()
}

/// The usage of a side that was read in at least one phase. A side that ended before has none.
fn measured(spent: Option<&Spent>) -> Option<&Spent> {
    spent.filter(|spent| !spent.phases.span.is_zero())
}

fn process_use(spent: &Spent, sent: u64) -> ProcessUse {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    ProcessUse {
        user_s: seconds(spent.user_ns),
        system_s: seconds(spent.system_ns),
        wall_s: spent.phases.span.as_secs_f64(),
        cpu_share: spent.share,
        busiest_thread_share: spent.busiest_share,
        resident_bytes: spent.resident_bytes,
        processes: spent.processes,
        cpu_s_per_million: (sent > 0).then(|| seconds(spent.offer_ns) / sent as f64 * 1e6),
    }
}
