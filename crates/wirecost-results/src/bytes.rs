//! The interval of a mean of bytes, and bytes of a cell with theirs.

use wirecost_stats::{Estimate, MeanInterval};

use crate::summary::{Cell, Count, Section};

/// The 95 % interval of the mean bytes of a sample. `devices` has the bytes of each sample of each device; samples of one device
/// depend on each other, so that the interval is that of the devices' means. Bytes that are equal in every sample have two equal ends.
///
/// Where packets are lost, `enough` is the least number of devices that may show how often; 0 elsewhere. Then equal bytes say only
/// that no packet of these samples was lost, and have no interval.
pub fn mean_interval(devices: &[Vec<u64>], enough: u64) -> Option<[f64; 2]> {
    let samples = || devices.iter().flatten();
    let (least, most) = (samples().min()?, samples().max()?);
    if least == most {
        return (enough == 0).then_some([*least as f64; 2]);
    }
    let mean = |bytes: &[u64]| bytes.iter().sum::<u64>() as f64 / bytes.len() as f64;
    let means: Vec<f64> = devices
        .iter()
        .filter(|bytes| !bytes.is_empty())
        .map(|bytes| mean(bytes))
        .collect();
    if (means.len() as u64) < enough {
        return None;
    }
    let of_devices = MeanInterval::from_values(&means)?;
    let of_samples = samples().sum::<u64>() as f64 / samples().count() as f64;
    // Devices that were cut short have fewer samples: the width is that of the devices' means, around the mean that is shown.
    Some([of_devices.low?, of_devices.high?].map(|end| end - of_devices.mean + of_samples))
}

impl Section {
    /// Bytes of IP packets of a sample, both directions.
    fn wire(&self) -> Estimate {
        Estimate {
            value: self.up.wire.mean + self.down.wire.mean,
            interval: self.wire_ci95,
        }
    }
}

impl Cell {
    /// Whether its link loses packets.
    pub fn is_lossy(&self) -> bool {
        self.link.up.loss > 0.0 || self.link.down.loss > 0.0
    }

    /// A count that is exact if all samples have it and nothing is lost. Elsewhere its mean is not below its smallest sample: what is
    /// lost or late only adds. Of devices that share a link only the sum is known, and no sample.
    pub fn count(&self, count: &Count) -> Estimate {
        match count.min == count.max && !self.is_lossy() {
            true => Estimate::exact(count.mean),
            false => Estimate::at_least(count.mean, count.min as f64),
        }
    }

    /// Bytes of IP packets of a message, both directions; `None` without one.
    pub fn message_bytes(&self) -> Option<Estimate> {
        Some(self.bytes(self.message.as_ref()?))
    }

    /// Bytes of IP packets of a connect, both directions; `None` without one.
    pub fn connect_bytes(&self) -> Option<Estimate> {
        Some(self.bytes(self.connect.as_ref()?))
    }

    /// Bytes of IP packets of connect and close, both directions; 0 where the stack has neither, `None` without a message.
    pub fn connection_bytes(&self) -> Option<Estimate> {
        self.message.as_ref()?;
        let close = self.close_of_a_connection();
        let phases = [self.connect.as_ref(), close.as_ref()];
        Some(sum(phases
            .into_iter()
            .flatten()
            .map(|section| self.bytes(section))))
    }

    /// All-in bytes of a message, both directions, with the interval of its parts; `None` where no message was sent.
    pub fn all_in_bytes(&self) -> Option<Estimate> {
        let all_in = self.all_in()?;
        let messages = all_in.messages as f64;
        let Self {
            connect,
            message,
            keep_alive,
            close,
            ..
        } = self;
        let parts = [connect, message, keep_alive, close].into_iter().flatten();
        let sum = sum(parts.map(|section| self.bytes(section).scaled(section.samples as f64 / messages)));
        // The sum of the parts may differ from the whole in its last digits, and the interval has to lie around the value that is shown.
        let around = |end: f64| end - sum.value + all_in.each();
        Some(Estimate {
            value: all_in.each(),
            interval: sum.interval.map(|ends| ends.map(around)),
        })
    }

    fn bytes(&self, section: &Section) -> Estimate {
        let counted = self.count(&section.up.wire).plus(&self.count(&section.down.wire));
        match section.wire_ci95 {
            Some(_) => section.wire(),
            None => counted,
        }
    }
}

fn sum(parts: impl Iterator<Item = Estimate>) -> Estimate {
    parts.fold(Estimate::exact(0.0), |sum, part| sum.plus(&part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Bytes;

    #[test]
    fn equal_bytes_are_exact_where_nothing_is_lost() {
        let equal = vec![vec![204], vec![204], vec![204]];
        assert_eq!(mean_interval(&equal, 0), Some([204.0; 2]));
        assert_eq!(mean_interval(&equal, 150), None, "a loss would have other bytes");
        assert_eq!(mean_interval(&[], 0), None);
    }

    #[test]
    fn too_few_devices_have_no_interval_under_loss() {
        let devices: Vec<Vec<u64>> = (0..20).map(|device| vec![204 + device % 2]).collect();
        assert!(mean_interval(&devices, 0).is_some());
        assert_eq!(mean_interval(&devices, 150), None);
    }

    #[test]
    fn the_samples_of_one_device_count_as_one() {
        let alike: Vec<Vec<u64>> = (0..10).map(|device| vec![200 + device % 2; 100]).collect();
        let apart: Vec<Vec<u64>> = alike.iter().flatten().map(|bytes| vec![*bytes]).collect();
        let width = |devices: &[Vec<u64>]| mean_interval(devices, 0).map(|[low, high]| high - low);
        assert!(
            width(&alike) > width(&apart),
            "ten devices tell less than a thousand"
        );
    }

    #[test]
    fn the_interval_of_all_in_bytes_follows_from_its_parts() {
        let section = |samples: u64, mean: f64, half: f64| {
            let bytes = Bytes {
                wire: Count {
                    mean,
                    sum: (mean * samples as f64) as u64,
                    ..Count::default()
                },
                ..Bytes::default()
            };
            Some(Section {
                samples,
                up: bytes,
                wire_ci95: Some([mean - half, mean + half]),
                ..Section::default()
            })
        };
        // One connect of 400 B in ten messages of 100 B.
        let cell = Cell {
            connect: section(1, 400.0, 30.0),
            message: section(10, 100.0, 4.0),
            ..Cell::default()
        };
        let all_in = cell.all_in_bytes().expect("messages");
        assert_eq!(all_in.value, 140.0);
        let [low, high] = all_in.interval.expect("an interval");
        assert!(
            (low - 135.0).abs() < 1e-9 && (high - 145.0).abs() < 1e-9,
            "{low} {high}"
        );
        assert_eq!(cell.connection_bytes().map(|bytes| bytes.value), Some(400.0));
    }
}
