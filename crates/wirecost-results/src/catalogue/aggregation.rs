//! Which figure of a metric is meant: a percentile, the mean, the count.

/// Which figure of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The arithmetic mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The sum.
    Sum,
    /// The count.
    Count,
    /// The share of offered messages.
    Rate,
    /// The only figure.
    Value,
}

/// Aggregations by name. The first name of each is the usual one.
const AGGREGATIONS: [(&str, Aggregation); 14] = [
    ("p(50)", Aggregation::P50),
    ("p(90)", Aggregation::P90),
    ("p(95)", Aggregation::P95),
    ("p(99)", Aggregation::P99),
    ("p(99.9)", Aggregation::P999),
    ("mean", Aggregation::Mean),
    ("min", Aggregation::Min),
    ("max", Aggregation::Max),
    ("sum", Aggregation::Sum),
    ("count", Aggregation::Count),
    ("rate", Aggregation::Rate),
    ("value", Aggregation::Value),
    ("med", Aggregation::P50),
    ("avg", Aggregation::Mean),
];

impl Aggregation {
    /// The aggregation of a name.
    pub fn named(name: &str) -> Option<Self> {
        let found = AGGREGATIONS.iter().find(|(known, _)| *known == name);
        found.map(|(_, aggregation)| *aggregation)
    }

    /// The usual names of aggregations, in one text.
    pub fn names(aggregations: &[Self]) -> String {
        let name = |aggregation: &Self| AGGREGATIONS.iter().find(|(_, other)| other == aggregation);
        let names: Vec<&str> = aggregations
            .iter()
            .filter_map(name)
            .map(|(name, _)| *name)
            .collect();
        names.join(", ")
    }
}
