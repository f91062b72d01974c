//! Whether the devices of runs fit in memory. A device that is not served stays in the cells until its patience ends, so that a
//! run has at most load x cells x patience devices at once.

use wirecost_stack::kind::Application;
use wirecost_stack::{Channel, Stack};

use super::device::PATIENCE;

/// Bytes of memory per device in an overloaded network: peak resident memory over the largest number of devices at once, of
/// runs at 10 reports/s per cell with 5,000 to 12,000 devices, rounded up (x86-64). 17 to 27 kB were measured without
/// security.
const PLAIN_BYTES: f64 = 30e3;
/// The same with TLS, DTLS or QUIC: 40 kB were measured with DTLS 1.2 and a pre-shared key, 74 kB with TLS 1.3; that of QUIC is
/// taken to be like TLS.
const SECURE_BYTES: f64 = 80e3;

/// The memory of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunNeed {
    /// Reports per second and cell.
    pub load: f64,
    /// Devices that are in the cells at once, at most.
    pub devices: f64,
    /// Bytes of all of them.
    pub bytes: f64,
}

impl RunNeed {
    /// The memory of a run of a stack in that many cells.
    pub(super) fn estimate(stack: Stack, load: f64, cells: usize) -> Self {
        let is_plain = matches!(stack.channel, Channel::Plain | Channel::Oscore)
            && stack.application != Application::Http3;
        let devices = load * cells as f64 * PATIENCE.as_secs_f64();
        let each = if is_plain { PLAIN_BYTES } else { SECURE_BYTES };
        Self {
            load,
            devices,
            bytes: devices * each,
        }
    }
}

/// The memory that runs need at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Need {
    /// The largest load among the runs, in reports per second and cell.
    pub load: f64,
    /// Devices of the run that needs most.
    pub devices: f64,
    /// Bytes of the runs that need most, as many as run at the same time.
    pub bytes: f64,
    /// Bytes of the one that needs most.
    pub largest: f64,
    /// How many runs there are at the same time.
    pub jobs: usize,
}

impl Need {
    /// The sum over the `jobs` runs that need most.
    pub(super) fn from_runs(mut runs: Vec<RunNeed>, jobs: usize) -> Self {
        runs.sort_by(|one, other| other.bytes.total_cmp(&one.bytes));
        let jobs = jobs.min(runs.len());
        Self {
            load: runs.first().map_or(0.0, |run| run.load),
            devices: runs.first().map_or(0.0, |run| run.devices),
            bytes: runs[..jobs].iter().map(|run| run.bytes).sum(),
            largest: runs.first().map_or(0.0, |run| run.bytes),
            jobs,
        }
    }

    /// Whether it fits into that many bytes.
    pub const fn fits(&self, available: f64) -> bool {
        self.bytes <= available
    }

    /// How many of the largest runs fit at the same time; 0 where not even one does.
    pub fn jobs_that_fit(&self, available: f64) -> usize {
        (available / self.largest) as usize
    }

    /// The largest load with which one run at a time fits, rounded down to a tenth per second.
    pub fn load_that_fits(&self, available: f64) -> f64 {
        (self.load * available / self.largest * 10.0).floor() / 10.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(loads: &[f64], jobs: usize) -> Need {
        let stack: Stack = "coap-con".parse().expect("a stack");
        Need::from_runs(
            loads
                .iter()
                .map(|load| RunNeed::estimate(stack, *load, 21))
                .collect(),
            jobs,
        )
    }

    #[test]
    fn the_largest_runs_at_the_same_time_count() {
        let one = need(&[1.0, 4.0, 2.0], 1);
        assert_eq!((one.load, one.devices), (4.0, 4.0 * 21.0 * 60.0));
        assert!((one.bytes - one.devices * 30e3).abs() < 1.0);
        let two = need(&[1.0, 4.0, 2.0], 2);
        assert!((two.bytes - 1.5 * one.bytes).abs() < 1.0);
        assert_eq!(need(&[1.0], 8).jobs, 1);
    }

    #[test]
    fn what_would_fit_is_named() {
        let need = need(&[40.0, 40.0, 40.0, 40.0], 4);
        let available = 2.5 * need.largest;
        assert!(!need.fits(available));
        assert_eq!(need.jobs_that_fit(available), 2);
        assert_eq!(need.load_that_fits(need.largest / 4.0), 10.0);
    }

    #[test]
    fn a_secure_stack_needs_more() {
        let of = |name: &str| RunNeed::estimate(name.parse().expect("a stack"), 1.0, 1).bytes;
        assert!(of("mqtt-qos1+tls1.3") > of("mqtt-qos1") && of("http3") > of("http1"));
        assert_eq!(of("coap-con+oscore"), of("coap-con"));
    }
}
