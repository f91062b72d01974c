//! `RUN/METRIC{SELECTOR} AGGREGATION`: a figure of a run, with metric, selector and aggregation as in thresholds.

use std::fmt;

use wirecost_results::catalogue::Aggregation;
use wirecost_results::catalogue::Metric;
use wirecost_scenario::selector::{DEVICE, Selector, SelectorError, TARIFF, of_cells, of_phases};
use wirecost_scenario::thresholds::nature::modelled_by;
use wirecost_scenario::thresholds::{NameError, named};

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The engine, if the claim asks for one: `sim` or `live`.
    pub engine: Option<&'static str>,
    /// The name of the run.
    pub run: String,
    /// The metric.
    pub metric: Metric,
    /// The cells, or phases of loads.
    pub selector: Selector,
    /// Which of the metric's figures.
    pub aggregation: Aggregation,
    text: String,
}

/// Why a text does not refer to a figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// There is no run.
    #[error("{0:?} names no run: write publish/response_time{{stack=tcp}} p(50)")]
    NoRun(String),
    /// There is no aggregation.
    #[error("{text:?} names no figure of {metric}: it has {figures}")]
    NoAggregation {
        /// The text.
        text: String,
        /// The metric.
        metric: &'static str,
        /// Its figures.
        figures: String,
    },
    /// The metric or the selector is wrong.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl Reference {
    /// Reads a reference.
    ///
    /// # Errors
    /// It has no run, the metric is unknown or does not have the figure, or the selector cannot be fulfilled.
    pub fn read(text: &str) -> Result<Self, ReferenceError> {
        let no_run = || ReferenceError::NoRun(text.to_owned());
        let (engine, rest) = match text.trim().split_once('/') {
            Some(("sim", rest)) => (Some("sim"), rest),
            Some(("live", rest)) => (Some("live"), rest),
            Some(_) => (None, text.trim()),
            None => return Err(no_run()),
        };
        let (run, rest) = rest.split_once('/').ok_or_else(no_run)?;
        // A selector may hold spaces; the aggregation follows it.
        let name_end = rest
            .find('}')
            .map_or_else(|| rest.find(' '), |brace| Some(brace + 1));
        let (name, aggregation) = rest.split_at(name_end.unwrap_or(rest.len()));
        let (metric, selector) = named(name, Metric::ALL, &dimensions())?;
        let aggregation: String = aggregation.split_whitespace().collect();
        let known = Aggregation::named(&aggregation);
        let aggregation = known
            .filter(|known| metric.aggregations().contains(known))
            .ok_or_else(|| ReferenceError::NoAggregation {
                text: text.to_owned(),
                metric: metric.name(),
                figures: Aggregation::names(metric.aggregations()),
            })?;
        Ok(Self {
            engine,
            run: run.to_owned(),
            metric,
            selector,
            aggregation,
            text: text.trim().to_owned(),
        })
    }

    /// A figure of every cell or phase of a run.
    pub fn to_all(run: &str, metric: Metric, aggregation: Aggregation) -> Self {
        Self {
            engine: None,
            run: run.to_owned(),
            metric,
            selector: Selector::default(),
            aggregation,
            text: format!("{run}/{} {}", metric.name(), Aggregation::names(&[aggregation])),
        }
    }

    /// The same figure where one more dimension has this value.
    ///
    /// # Errors
    /// The dimension is unknown, or cannot have the value.
    pub fn restricted(&self, dimension: &str, value: &str) -> Result<Self, SelectorError> {
        let mut restricted = self.clone();
        restricted
            .selector
            .require(dimension, &[value.to_owned()], &dimensions())?;
        Ok(restricted)
    }

    /// The kind of file, `device` or `tariff`, by which the figure of a cell is modelled and that the reference does not name.
    pub fn lacks(&self) -> Option<&'static str> {
        modelled_by(self.metric).filter(|file| !self.selector.names(file))
    }

    /// The same figure of another run.
    pub fn in_run(&self, run: &str) -> Self {
        Self {
            run: run.to_owned(),
            ..self.clone()
        }
    }

    /// The same figure by another engine.
    pub fn by(&self, engine: &'static str) -> Self {
        Self {
            engine: Some(engine),
            ..self.clone()
        }
    }
}

/// Dimensions of cells and of phases of loads.
fn dimensions() -> Vec<&'static str> {
    let mut all = of_cells();
    all.extend(of_phases());
    all.extend(wirecost_scenario::nbiot::dimensions());
    all.extend([DEVICE, TARIFF]);
    all.sort_unstable();
    all.dedup();
    all
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_engine_run_metric_and_figure() {
        let text = "live/publish/response_time{stack=mqtt-qos1|tcp,size=10kB} p(50)";
        let reference = Reference::read(text).expect(text);
        assert_eq!(
            (reference.engine, reference.run.as_str()),
            (Some("live"), "publish")
        );
        assert_eq!(
            (reference.metric.name(), reference.aggregation),
            ("response_time", Aggregation::P50)
        );
        assert_eq!(reference.selector.to_string(), "{size=10kB,stack=mqtt-qos1|tcp}");
        assert_eq!(reference.to_string(), text);
        let plain = Reference::read("connect/connect_bytes mean").expect("no selector");
        assert!(plain.engine.is_none() && plain.selector.is_empty());
    }

    #[test]
    fn a_wrong_reference_says_what_it_lacks() {
        for (text, expected) in [
            ("response_time p(50)", "names no run"),
            ("a/respons_time p(50)", "did you mean \"response_time\"?"),
            ("a/response_time{stack=tcp} p(51)", "it has p(50), p(90)"),
            ("a/response_time{stack=tcp}", "names no figure of response_time"),
            ("a/response_time{stak=tcp} mean", "did you mean \"stack\"?"),
            ("a/response_time{stack=tcp mean", "no closing brace"),
        ] {
            let error = Reference::read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
