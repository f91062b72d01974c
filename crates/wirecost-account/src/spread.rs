//! A figure over several devices.

use wirecost_stats::MeanInterval;

/// A figure over the simulated devices.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// The mean, and its 95 % interval where the devices are enough for one.
    pub mean: MeanInterval,
    /// The least and the most of a device.
    pub range: [f64; 2],
}

impl Spread {
    /// The spread of a figure; `None` without a device.
    pub fn from_values(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().fold(least, f64::max);
        Some(Self {
            mean: MeanInterval::from_values(&values)?,
            range: [least, most],
        })
    }

    /// The spread of a part of the figure.
    #[must_use]
    pub fn scaled(self, part: f64) -> Self {
        let Self { mean, range } = self;
        Self {
            mean: MeanInterval {
                mean: mean.mean * part,
                low: mean.low.map(|low| low * part),
                high: mean.high.map(|high| high * part),
                ..mean
            },
            range: range.map(|end| end * part),
        }
    }

    /// The 95 % interval of the mean; the range of the devices, where they are too few for their skewness; `None` for one device.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let ends = self.mean.low.zip(self.mean.high);
        let interval = ends.map_or(self.range, |(low, high)| [low, high]);
        (self.mean.n > 1).then_some(interval)
    }
}
