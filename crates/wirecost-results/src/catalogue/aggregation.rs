//! Which figure of a metric is meant: a percentile, the mean, the count.

wirecost_proto::named! {
    /// Which figure of a metric.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Aggregation {
        /// The median.
        P50 => "p(50)",
        /// The 90th percentile.
        P90 => "p(90)",
        /// The 95th percentile.
        P95 => "p(95)",
        /// The 99th percentile.
        P99 => "p(99)",
        /// The 99.9th percentile.
        P999 => "p(99.9)",
        /// The arithmetic mean.
        Mean => "mean",
        /// The smallest.
        Min => "min",
        /// The largest.
        Max => "max",
        /// The sum.
        Sum => "sum",
        /// The count.
        Count => "count",
        /// The share of offered messages.
        Rate => "rate",
        /// The only figure.
        Value => "value",
    }
}

impl Aggregation {
    /// The aggregation of a name, or of the one that k6 has for it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "med" => Some(Self::P50),
            "avg" => Some(Self::Mean),
            _ => Self::by_name(name),
        }
    }

    /// The names of aggregations, in one text.
    pub fn names(aggregations: &[Self]) -> String {
        let names: Vec<&str> = aggregations.iter().map(|one| one.name()).collect();
        names.join(", ")
    }
}
