//! Demands that end a load as soon as they fail: judged by what a phase has come to so far, the warm-up left out.

use std::time::Duration;

use wirecost_results::load::PhaseFigures;
use wirecost_results::threshold::Threshold;

use super::nature::unavailable_in_phase;
use super::{Demand, Thresholds};
use crate::labels;
use crate::options::load::LoadOptions;

impl Thresholds {
    /// The first demand that ends a load, by the figures of its phase of this index that has lasted so long and goes on.
    pub fn failing_early(
        &self,
        options: &LoadOptions,
        index: usize,
        phase: &PhaseFigures,
        lasted: Duration,
    ) -> Option<Threshold> {
        let mut phase = phase.clone();
        // What is on its way has not ended in any way yet.
        phase.outcomes.offered = phase.outcomes.ended();
        let ends = self
            .0
            .iter()
            .filter(|demand| demand.abort_on_fail && lasted >= demand.after);
        ends.filter_map(|demand| demand.fails_early(options, index, &phase))
            .next()
    }

    /// The names of demands that are to end a load, and whose figures are not known before it is over.
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
        // Where nothing answers messages, the target says at the end of their phase what has arrived.
        let is_answered = phase.response_kind.is_some() || phase.name != "publish";
        if !self.metric.is_known_early(is_answered)
            || unavailable_in_phase(self.metric, options, index).is_some()
        {
            return None;
        }
        let labels = labels::labels_of_phase(options, options.phases.get(index)?);
        if !self.selector.matches(&labels) {
            return None;
        }
        let aggregation = self.expression.aggregation;
        let figure = self.metric.of_phase(phase, aggregation)?;
        let rtt = options.link.as_ref().map(|link| link.rtt().as_secs_f64());
        let grows = self.metric.grows(aggregation);
        self.expression
            .fails_for_good(figure, rtt, grows)
            .then(|| Threshold {
                actual: Some(figure),
                ..self.unmet()
            })
    }

    /// That it does not hold, and it is not known by what figure.
    pub(super) fn unmet(&self) -> Threshold {
        Threshold {
            metric: self.name.clone(),
            expression: self.expression.text.clone(),
            actual: None,
            pass: false,
        }
    }
}
