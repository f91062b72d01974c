//! `--find-max`, `find_max`: a search for the highest rate at which a load fulfils a condition.

use wirecost_results::load::{Load, PhaseFigures};
use wirecost_results::rate_search::RateTrial;
use wirecost_results::thresholds::Aggregation;
use wirecost_results::thresholds::metric::{Metric, ONE_WAY_DELAY, RESPONSE_TIME};
use wirecost_results::warning::{Warning, WarningKind};

use crate::identity;
use crate::options::load::{Arrivals, LoadEngine, LoadOptions, Phase};
use crate::thresholds::expression::{Expression, ExpressionError};

/// The share of the messages that must be acknowledged or delivered.
const ACKNOWLEDGED: f64 = 0.99;

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
        let bound = Expression::read(text, RESPONSE_TIME)?;
        Ok(Self { bound })
    }

    /// The text of the condition.
    pub fn text(&self) -> &str {
        &self.bound.text
    }

    /// The figure that the condition is about: the delivery time if nothing answers.
    pub fn metric(options: &LoadOptions) -> &'static Metric {
        let requests = |phase: &Phase| matches!(phase, Phase::Request(_));
        match options.is_answered() || options.phases.iter().any(requests) {
            true => RESPONSE_TIME,
            false => ONE_WAY_DELAY,
        }
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
        phase.rate(options.clients)
    }

    /// The load at another rate. A repeated load has a seed of its own.
    pub fn load_at(options: &LoadOptions, per_second: f64, repeat: u32) -> LoadOptions {
        let mut load = options.clone();
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
        let phase = index.and_then(|index| load.phases.get(index));
        let rtt = options.link.as_ref().map(|link| link.rtt().as_secs_f64());
        let figure = phase
            .filter(|phase| phase.valid)
            .and_then(|phase| Self::metric(options).of_phase(phase, self.bound.aggregation));
        let why = match phase {
            Some(phase) => self.failure(load, phase, figure, rtt),
            None => Some("it was not run".to_owned()),
        };
        RateTrial {
            key: identity::key(options),
            rate: per_second,
            held: why.is_none(),
            figure_s: figure,
            why,
            bottleneck: load.bottleneck.as_ref().map(|found| found.who.clone()),
        }
    }

    /// Why a load has not held.
    fn failure(
        &self,
        load: &Load,
        phase: &PhaseFigures,
        figure: Option<f64>,
        rtt: Option<f64>,
    ) -> Option<String> {
        let warnings = || load.warnings.iter().chain(&phase.warnings);
        if let Some(reason) = warnings().find(|warning| warning.invalidates) {
            return Some(format!("INVALID: {}", reason.text));
        }
        let outcomes = &phase.outcomes;
        let acknowledged = (outcomes.acknowledged + outcomes.delivered) as f64;
        let share = acknowledged / outcomes.offered.max(1) as f64;
        if share < ACKNOWLEDGED {
            return Some(format!("{:.1} % of the messages arrived in time", share * 100.0));
        }
        let name = Aggregation::names(&[self.bound.aggregation]);
        let Some(figure) = figure else {
            return Some(format!(
                "{} messages are too few for {name}: a longer load has more",
                outcomes.offered
            ));
        };
        if !self.bound.holds(figure, rtt) {
            return Some(format!("{name} was {}", milliseconds(figure)));
        }
        let grows = |warning: &&Warning| warning.kind == WarningKind::Saturation;
        warnings().find(grows).map(|warning| warning.text.clone())
    }
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
