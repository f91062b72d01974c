//! The figures of reports in NB-IoT cells.

use wirecost_results::nbiot::{NbiotSummary, Point};
use wirecost_scenario::options::nbiot::labels_of_point;

use super::{Candidate, Figure, SIM, figure};
use crate::reference::Reference;

/// The points of NB-IoT cells, in virtual time.
pub(super) fn of_points<'a>(reference: &Reference, summary: &'a NbiotSummary) -> Vec<Candidate<'a>> {
    let candidate = |point: &'a Point| {
        let labels = labels_of_point(point);
        let value = reference.metric.of_point(point, reference.aggregation);
        let is_meant = reference.selector.matches(&labels);
        value.filter(|_| is_meant).map(|value| {
            let estimate = reference.metric.estimate_of_point(point);
            let interval = estimate.and_then(|estimate| Some([estimate.low?, estimate.high?]));
            Candidate {
                labels,
                engine: SIM,
                found: Ok(replicated(reference, value, interval, point)),
                agrees: true,
            }
        })
    };
    summary.points.iter().filter_map(candidate).collect()
}

/// The figure of a point with its replications.
fn replicated(reference: &Reference, value: f64, interval: Option<[f64; 2]>, point: &Point) -> Figure {
    let each = point.runs.iter().map(|run| reference.metric.of_replication(run));
    let samples: Option<Vec<f64>> = each.collect();
    let is_replicated = samples.is_some();
    let figure = figure(
        reference,
        value,
        interval,
        point.reports,
        SIM,
        samples.unwrap_or_default(),
    );
    Figure {
        is_replicated,
        ..figure
    }
    .over_replications()
}
