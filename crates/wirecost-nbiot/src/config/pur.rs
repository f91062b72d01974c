//! Preconfigured uplink resources (Release 16).

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, one_of, within};

/// Preconfigured uplink resources, which the flow `preconfigured` uses (TS 36.331 PUR-Config-NB, TS 36.321 section 5.4.7).
///
/// Each device has a resource of its own that comes back with a period. The reports of a device are made in step with it. The
/// other resources of the device until its next report are skipped: they are reserved and stay empty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PurConfig {
    /// Period of a device's resource, in ms: at least 81,920, which are 8 hyperframes. TS 36.331 pur-Periodicity.
    pub period_ms: u32,
    /// Resources that are reserved for each report, with the one that it uses: the interval of reports over the period. Assumed.
    pub resources_per_report: u32,
    /// Largest time from a report to its resource, in ms; it is uniform from 0 on. Assumed.
    pub wait_ms: u32,
    /// Largest block of a resource, in bits: what does not fit goes by random access. Release 13 has 1,000.
    pub max_bits: u16,
    /// Length of the response window, in NPDCCH periods: 1, 2, 3, 4, 8, 16, 32 or 64. TS 36.331 pur-ResponseWindowTimer; value assumed.
    pub response_window_pp: u16,
    /// Share of devices whose timing advance is still valid; the others make a random access. TS 36.331 pur-TimeAlignmentTimer and
    /// pur-NRSRP-ChangeThreshold; assumed 1, for devices that do not move.
    pub timing_advance_valid: f64,
}

impl Default for PurConfig {
    fn default() -> Self {
        Self {
            period_ms: 81_920,
            resources_per_report: 2,
            wait_ms: 1_000,
            max_bits: 1_000,
            response_window_pp: 8,
            timing_advance_valid: 1.0,
        }
    }
}

impl PurConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within("pur.period_ms", self.period_ms, 81_920, 83_886_080)?;
        within("pur.resources_per_report", self.resources_per_report, 1, 64)?;
        within("pur.wait_ms", self.wait_ms, 0, 600_000)?;
        within("pur.max_bits", self.max_bits, 328, 1_000)?;
        one_of(
            "pur.response_window_pp",
            &self.response_window_pp,
            &[1, 2, 3, 4, 8, 16, 32, 64],
        )?;
        within("pur.timing_advance_valid", self.timing_advance_valid, 0.0, 1.0)
    }
}
