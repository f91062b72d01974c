//! Demands that end a load as soon as they fail. They are judged on the figures of the running phase, without warm-up.

use std::time::Duration;

use wirecost_results::load::PhaseFigures;
use wirecost_results::threshold::Threshold;

use super::nature::unavailable_in_phase;
use super::{Demand, Thresholds};
use crate::options::load::LoadOptions;

impl Thresholds {
    /// The first demand that ends a load, judged on the figures of its running phase.
    pub fn failing_early(
        &self,
        options: &LoadOptions,
        index: usize,
        phase: &PhaseFigures,
        lasted: Duration,
    ) -> Option<Threshold> {
        let mut phase = phase.clone();
        // A message without an outcome has not failed yet.
        phase.outcomes.offered = phase.outcomes.ended();
        let ends = self
            .0
            .iter()
            .filter(|demand| demand.abort_on_fail && lasted >= demand.after);
        ends.filter_map(|demand| demand.fails_early(options, index, &phase))
            .next()
    }

    /// The names of demands with `abort_on_fail` whose figures are known only after the load.
    pub fn known_late(&self) -> impl Iterator<Item = &str> {
        let waiting = self
            .0
            .iter()
            .filter(|demand| demand.abort_on_fail && !demand.metric.is_known_early(true));
        waiting.map(|demand| demand.name.as_str())
    }
}

impl Demand {
    fn fails_early(&self, options: &LoadOptions, index: usize, phase: &PhaseFigures) -> Option<Threshold> {
        // If nothing answers, the target reports arrivals at the end of the phase.
        let is_answered = phase.response_kind.is_some() || phase.name != "publish";
        if !self.metric.is_known_early(is_answered)
            || unavailable_in_phase(self.metric, options, index).is_some()
        {
            return None;
        }
        let hops = self.hops(options, index).into_iter();
        let aggregation = self.expression.aggregation;
        let figures = hops.filter_map(|hop| self.metric.of_phase(&phase.at_hop(hop.as_deref()), aggregation));
        // An early end needs one hop that fails for good: of figures that only grow, the largest.
        let figure = figures.reduce(f64::max)?;
        let rtt = options.link.as_ref().map(|link| link.rtt().as_secs_f64());
        let grows = self.metric.grows(aggregation);
        self.expression
            .fails_for_good(figure, rtt, grows)
            .then(|| Threshold {
                actual: Some(figure),
                ..self.unmet()
            })
    }

    /// The failed threshold without a figure.
    pub(super) fn unmet(&self) -> Threshold {
        Threshold {
            metric: self.name.clone(),
            expression: self.expression.text.clone(),
            actual: None,
            interval: None,
            pass: false,
        }
    }
}
