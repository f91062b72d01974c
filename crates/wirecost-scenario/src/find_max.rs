//! `--find-max`, `find_max`: a search for the highest rate at which a load fulfils a condition.

use std::time::Duration;

use wirecost_results::catalogue::Aggregation;
use wirecost_results::catalogue::Metric;
use wirecost_results::load::{Load, PhaseFigures};
use wirecost_results::rate_search::{Goal, RateTrial};
use wirecost_results::standing::{self, Standing};
use wirecost_results::warning::{Warning, WarningKind};

use crate::identity;
use crate::options::load::{Arrivals, LoadEngine, LoadOptions, Phase};
use crate::thresholds::expression::{Expression, ExpressionError};
use crate::thresholds::times_of;

/// The condition that a rate must fulfil.
#[derive(Clone, Debug, PartialEq)]
pub struct FindMax {
    bound: Expression,
}

impl FindMax {
    /// Reads a condition on the response time, e.g. `p(99)<50ms`.
    ///
    /// # Errors
    /// It is not a condition on a time.
    pub fn read(text: &str) -> Result<Self, ExpressionError> {
        let bound = Expression::read(text, Metric::ResponseTime)?;
        Ok(Self { bound })
    }

    /// The text of the condition.
    pub fn text(&self) -> &str {
        &self.bound.text
    }

    /// Why the highest rate of a load cannot be found; `None` if it can.
    pub fn cannot_search(&self, options: &LoadOptions) -> Option<String> {
        let mut offers = options.phases.iter().filter(|phase| is_searched(phase));
        let (Some(phase), None) = (offers.next(), offers.next()) else {
            return Some(
                "a search needs one phase that sends messages at a rate (publish or request)".into(),
            );
        };
        let offer = phase.offer()?;
        // A count takes less time at a higher rate: trials would not have one length, and could not be compared.
        if offer.duration.is_none() || offer.count.is_some() {
            return Some("a search needs loads of one length: give a duration, and no count".into());
        }
        if self.bound.needs_link() && options.link.is_none() {
            return Some(format!(
                "{:?} needs a round-trip time, and there is no link",
                self.text()
            ));
        }
        let unlimited =
            // Such a server takes no time for anything: the search would double the rate until its limit.
            options.engine == LoadEngine::Sim && options.service_time.is_none() && options.link.is_none();
        unlimited.then(|| {
            "a server in virtual time without a service time and without a link has no highest rate: give it a service \
             time (--service-time 1ms), or a link"
                .to_owned()
        })
    }

    /// The rate of a load, in messages per second over all devices.
    pub fn rate(options: &LoadOptions) -> Option<f64> {
        let phase = options.phases.iter().find(|phase| is_searched(phase))?;
        phase.rate(options.emulated())
    }

    /// The goal of the search for a load: its trials have the length of the load.
    pub fn goal(options: &LoadOptions) -> Goal {
        let measured = measured(options).map_or(1.0, |length| length.as_secs_f64());
        Goal::with_trials_of(measured)
    }

    /// The lowest rate at which a load has enough messages for the figure, in messages per second.
    pub fn lowest_rate(&self, options: &LoadOptions) -> f64 {
        /// Messages are whole, and random arrivals may be fewer.
        const SPARE: f64 = 1.01;
        let needed = match self.bound.aggregation {
            Aggregation::P90 => 10.0,
            Aggregation::P95 => 20.0,
            Aggregation::P99 => 100.0,
            Aggregation::P999 => 10_000.0,
            _ => 2.0,
        };
        measured(options).map_or(1.0, |length| needed * SPARE / length.as_secs_f64().max(1e-3))
    }

    /// The load at another rate. A repeated load has a seed of its own.
    pub fn load_at(options: &LoadOptions, per_second: f64, repeat: u32) -> LoadOptions {
        let mut load = options.clone();
        // With the same seed a trial would repeat the same arrivals and losses, and confirm only itself.
        load.seed = options.seed.wrapping_add(u64::from(repeat));
        let clients = f64::from(options.clients);
        for phase in load.phases.iter_mut().filter(|phase| is_searched(phase)) {
            let (Phase::Publish(offer) | Phase::Request(offer)) = phase else {
                continue;
            };
            if let Arrivals::Open { rate, per_client, .. } = &mut offer.arrivals {
                *rate = if *per_client {
                    per_second / clients
                } else {
                    per_second
                };
            }
        }
        load
    }

    /// Judges a load that was run at a rate.
    pub fn judge(&self, options: &LoadOptions, per_second: f64, load: &Load) -> RateTrial {
        let index = options.phases.iter().position(is_searched);
        let trial = RateTrial {
            key: identity::key(options),
            rate: per_second,
            bottleneck: load.bottleneck.as_ref().map(|found| found.who.clone()),
            ..RateTrial::default()
        };
        let Some(phase) = index.and_then(|index| load.phases.get(index)) else {
            return RateTrial {
                why: Some("it was not run".to_owned()),
                ..trial
            };
        };
        let metric = times_of(options);
        let standing = load.standing(phase, metric.subject());
        let figure = metric
            .of_phase(phase, self.bound.aggregation)
            .filter(|_| standing != Standing::Refused);
        let outcomes = &phase.outcomes;
        let arrived = (outcomes.acknowledged + outcomes.delivered) as f64;
        let judged = Judged {
            load,
            phase,
            loss_ratio: 1.0 - arrived / outcomes.offered.max(1) as f64,
            limited: load.limiting(phase, metric.subject()),
            standing,
            figure,
            rtt: options.link.as_ref().map(|link| link.rtt().as_secs_f64()),
        };
        let why = self.failure(&judged);
        let is_of_generator = |reason: &Warning| standing::is_of_generator(reason.kind);
        // A trial that failed by the generator says nothing about the target: the search tries it again instead of going down.
        let by_generator =
            judged.limited.is_some_and(is_of_generator) || trial.bottleneck.as_deref() == Some("generator");
        RateTrial {
            loss_ratio: Some(judged.loss_ratio),
            good: why.is_none(),
            by_generator: why.is_some() && by_generator,
            figure_s: figure,
            at_most: figure.is_some() && standing == Standing::AtMost,
            why,
            ..trial
        }
    }

    /// Why a trial is bad; `None` if it is good for certain.
    fn failure(&self, judged: &Judged<'_>) -> Option<String> {
        let invalid = |reason: &Warning| format!("INVALID: {}", reason.text);
        if judged.standing == Standing::Refused {
            return Some(judged.limited.map_or_else(|| "INVALID".to_owned(), invalid));
        }
        // 1 - (1 - x) is not x in floating point: a loss of exactly the goal must not fail.
        if judged.loss_ratio > Goal::LOSS_RATIO + 1e-12 {
            let arrived = (1.0 - judged.loss_ratio) * 100.0;
            return Some(format!("{arrived:.1} % of the messages arrived in time"));
        }
        let name = Aggregation::names(&[self.bound.aggregation]);
        let Some(figure) = judged.figure else {
            return Some(format!(
                "{} messages are too few for {name}: a longer load has more",
                judged.phase.outcomes.offered
            ));
        };
        if !self.bound.holds_within(figure, judged.standing, judged.rtt) {
            let figure = milliseconds(figure);
            return Some(match judged.limited {
                None => format!("{name} was {figure}"),
                Some(reason) => format!("{name} was at most {figure}: {}", reason.text),
            });
        }
        let warnings = judged.load.warnings.iter().chain(&judged.phase.warnings);
        // A queue that grows all the time keeps its bound only because the trial ends before it is full.
        let mut grows = warnings.filter(|warning| warning.kind == WarningKind::Saturation);
        grows.next().map(|warning| warning.text.clone())
    }
}

/// A load of a search, and what its condition is judged by.
struct Judged<'a> {
    load: &'a Load,
    phase: &'a PhaseFigures,
    loss_ratio: f64,
    /// How far the figure can be used, and why no further.
    standing: Standing,
    limited: Option<&'a Warning>,
    figure: Option<f64>,
    /// The round-trip time of the link in seconds.
    rtt: Option<f64>,
}

/// How long the searched phase measures.
fn measured(options: &LoadOptions) -> Option<Duration> {
    let phase = options.phases.iter().find(|phase| is_searched(phase))?;
    Some(phase.length(options.emulated())?.saturating_sub(phase.warm_up()))
}

/// Whether the rate of a phase is searched: its messages come at a rate.
fn is_searched(phase: &Phase) -> bool {
    let is_open = |phase: &Phase| {
        let offer = phase.offer();
        offer.is_some_and(|offer| matches!(offer.arrivals, Arrivals::Open { .. }))
    };
    matches!(phase, Phase::Publish(_) | Phase::Request(_)) && is_open(phase)
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use wirecost_results::load::Bottleneck;
    use wirecost_results::summary::{Outcomes, Times};
    use wirecost_stack::target::Target;

    use super::*;
    use crate::options::load::{LoadTarget, Offer};

    fn options(stack: &str) -> LoadOptions {
        let offer = Offer {
            arrivals: Arrivals::Open {
                rate: 100.0,
                per_client: true,
                poisson: false,
            },
            duration: Some(Duration::from_secs(10)),
            count: None,
            warm_up: Duration::from_secs(5),
            ramp: Duration::ZERO,
            spread: None,
        };
        LoadOptions {
            phases: vec![Phase::Publish(offer)],
            ..LoadOptions::new(
                stack.parse().expect("a stack"),
                LoadTarget::Started(Target::Builtin),
            )
        }
    }

    /// A valid load of 1,000 messages with this p99 and so many acknowledged messages.
    fn load(p99_ms: u64, acknowledged: u64) -> Load {
        let phase = PhaseFigures {
            valid: true,
            outcomes: Outcomes {
                offered: 1_000,
                acknowledged,
                unknown: 1_000 - acknowledged,
                ..Outcomes::default()
            },
            response_time_ns: Some(Times {
                p99: Some(p99_ms * 1_000_000),
                ..Times::default()
            }),
            ..PhaseFigures::default()
        };
        Load {
            phases: vec![phase],
            bottleneck: Some(Bottleneck {
                who: "target".into(),
                why: String::new(),
            }),
            ..Load::default()
        }
    }

    #[test]
    fn a_rate_holds_if_its_load_is_valid_whole_and_fast() {
        let find_max = FindMax::read("p(99)<50ms").expect("a condition");
        let judged = |load: &Load| find_max.judge(&options("mqtt-qos1"), 1_000.0, load);
        let good = judged(&load(49, 990));
        assert!(good.good && good.figure_s == Some(0.049), "{good:?}");
        let why = |load: &Load| judged(load).why.expect("a reason");
        assert_eq!(why(&load(50, 1_000)), "p(99) was 50.00 ms");
        assert_eq!(why(&load(1, 989)), "98.9 % of the messages arrived in time");
        let mut saturated = load(1, 1_000);
        saturated.phases[0].warnings = vec![Warning::note(WarningKind::Saturation, "it grows".into())];
        assert_eq!(why(&saturated), "it grows");
        assert_eq!(judged(&load(1, 989)).loss_ratio, Some(1.0 - 0.989));
    }

    #[test]
    fn a_bound_that_holds_with_the_generators_lateness_holds() {
        let find_max = FindMax::read("p(99)<50ms").expect("a condition");
        let judged = |p99_ms: u64, kind: WarningKind| {
            let mut load = load(p99_ms, 1_000);
            load.phases[0].valid = false;
            load.phases[0].warnings = vec![Warning::invalid(kind, "it was late".into())];
            find_max.judge(&options("mqtt-qos1"), 1_000.0, &load)
        };
        let late = judged(8, WarningKind::ScheduleLag);
        assert!(
            late.good && late.at_most && late.figure_s == Some(0.008),
            "{late:?}"
        );
        let undecided = judged(51, WarningKind::ScheduleLag);
        assert!(!undecided.good && undecided.by_generator);
        assert_eq!(
            undecided.why.as_deref(),
            Some("p(99) was at most 51.00 ms: it was late")
        );
        let unsent = judged(8, WarningKind::GeneratorSaturated);
        assert!(!unsent.good && unsent.by_generator && unsent.figure_s.is_none());
        let link = judged(8, WarningKind::EmulatorLate);
        assert_eq!(link.why.as_deref(), Some("INVALID: it was late"));
        assert!(!link.good && !link.by_generator);
    }

    #[test]
    fn a_load_at_another_rate_differs_in_rate_and_seed_alone() {
        let base = options("mqtt-qos1");
        assert_eq!(FindMax::rate(&base), Some(1_000.0));
        assert_eq!(FindMax::load_at(&base, 1_000.0, 0), base);
        let other = FindMax::load_at(&base, 500.0, 2);
        assert_eq!((FindMax::rate(&other), other.seed), (Some(500.0), base.seed + 2));
    }

    #[test]
    fn a_load_has_enough_messages_for_its_figure() {
        let lowest = |text| {
            FindMax::read(text)
                .expect("a condition")
                .lowest_rate(&options("tcp"))
        };
        // Five seconds are measured.
        assert!((lowest("p(99)<1s") - 20.2).abs() < 1e-9);
        assert!((lowest("p(99.9)<1s") - 2_020.0).abs() < 1e-9);
    }

    #[test]
    fn loads_without_a_limit_or_a_rate_are_refused() {
        let find_max = FindMax::read("p(99)<50ms").expect("a condition");
        let why = |options: &LoadOptions| find_max.cannot_search(options).unwrap_or_default();
        let live = options("mqtt-qos1");
        assert_eq!(why(&live), "");
        let unlimited = LoadOptions {
            engine: LoadEngine::Sim,
            ..live.clone()
        };
        assert!(why(&unlimited).contains("has no highest rate"));
        let mut counted = live.clone();
        let Phase::Publish(offer) = &mut counted.phases[0] else {
            panic!("messages");
        };
        offer.count = Some(5);
        assert!(why(&counted).contains("no count"));
        let idle = LoadOptions {
            phases: Vec::new(),
            ..live
        };
        assert!(why(&idle).contains("one phase that sends messages"));
        let trips = FindMax::read("p(99)<2*link.rtt").expect("a condition");
        assert!(trips.cannot_search(&options("tcp")).is_some());
        assert_eq!(times_of(&options("mqtt-qos0")).name(), "one_way_delay");
        assert_eq!(times_of(&options("mqtt-qos1")).name(), "response_time");
    }
}
