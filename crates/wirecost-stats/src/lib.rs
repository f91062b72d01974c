//! Statistics of measurements: every figure has its sample size and, if it is an estimate, an interval.
//!
//! - [`sample`]: exact values and the [`Summary`] that results files print
//! - [`mean`]: the mean and its interval, also for heavy tails
//! - [`estimate`]: a figure with its interval, and what two of them say of each other
//! - [`quantile`]: order-statistic quantiles, their exact intervals, and the rule for printing them
//! - [`histogram`]: HDR histogram of durations for runs too long to keep every value
//! - [`hgrm`]: its percentile distribution as text
//! - [`hlog`]: histograms of one quantity second by second, as an interval log
//! - [`bootstrap`]: intervals of any statistic by seeded resampling
//! - [`mann_whitney`](mod@mann_whitney): whether one sample tends to be larger than another
//! - [`shares`]: whether two shares of counted events differ
//!
//! Claims of published studies need [`bootstrap`], `diff` the last two. Random numbers come from the [`wirecost_proto::Rng`] that the caller gives.
//!
//! ```
//! use wirecost_stats::Sample;
//!
//! let sample = Sample::new((1..=150).map(|i| i * 1_000).collect()).unwrap();
//! let summary = sample.summary();
//! let median = summary.p50.unwrap();
//! assert_eq!((median.value, median.low, median.high), (75_000, Some(63_000), Some(88_000)));
//! assert!(summary.p99.unwrap().low_n);
//! ```

pub mod bootstrap;
mod chunks;
pub mod estimate;
pub mod hgrm;
pub mod histogram;
pub mod hlog;
pub mod mann_whitney;
pub mod mean;
pub mod quantile;
pub mod sample;
pub mod shares;

pub use bootstrap::{Bootstrap, Interval};
pub use estimate::{Estimate, Judgement};
pub use histogram::{Histogram, Step};
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use mean::{MeanInterval, widening};
pub use quantile::Quantile;
pub use sample::{Sample, Summary};
pub use shares::shares_differ;

/// The confidence level of every interval.
pub(crate) const CONFIDENCE: f64 = 0.95;
