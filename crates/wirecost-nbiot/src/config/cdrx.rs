//! Discontinuous reception of connected devices.

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, one_of, within};
use super::levels::LevelConfig;

/// Cycles that a network can set, in ms (TS 36.331 section 6.7.3.2, DRX-Config-NB). NB-IoT has no short cycle.
pub const CDRX_CYCLES_MS: [u32; 12] = [
    256, 512, 1_024, 1_536, 2_048, 3_072, 4_096, 4_608, 6_144, 7_680, 8_192, 9_216,
];

/// Steps of a cycle at which on durations can begin.
pub(crate) const START_OFFSETS: u16 = 256;

/// Discontinuous reception of connected devices (C-DRX; TS 36.321 section 5.7, TS 36.331 DRX-Config-NB).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CdrxConfig {
    /// Cycle in ms: 256, 512, 1024, 1536, 2048, 3072, 4096, 4608, 6144, 7680, 8192 or 9216; `null`: a connected device always
    /// listens. TS 36.331 drx-Cycle.
    pub cycle_ms: Option<u32>,
    /// How long a device listens in each cycle, in NPDCCH periods of its level: 1, 2, 3, 4, 8, 16 or 32. TS 36.331 onDurationTimer;
    /// value assumed.
    pub on_duration_pp: u16,
    /// How long it listens after a block, in NPDCCH periods of its level: 0, 1, 2, 3, 4, 8, 16 or 32. TS 36.331
    /// drx-InactivityTimer; value assumed.
    pub inactivity_pp: u16,
    /// When in a cycle the device begins to listen, in 256ths of the cycle: 0 to 255; `null`: drawn for each device. TS 36.331
    /// drx-StartOffset.
    pub start_offset: Option<u16>,
}

impl Default for CdrxConfig {
    fn default() -> Self {
        Self {
            cycle_ms: None,
            on_duration_pp: 2,
            inactivity_pp: 8,
            start_offset: None,
        }
    }
}

impl CdrxConfig {
    pub(crate) fn validate(&self, nearest: &LevelConfig) -> Result<(), ConfigError> {
        one_of(
            "cdrx.on_duration_pp",
            &self.on_duration_pp,
            &[1, 2, 3, 4, 8, 16, 32],
        )?;
        one_of(
            "cdrx.inactivity_pp",
            &self.inactivity_pp,
            &[0, 1, 2, 3, 4, 8, 16, 32],
        )?;
        if let Some(offset) = self.start_offset {
            within("cdrx.start_offset", offset, 0, START_OFFSETS - 1)?;
        }
        let Some(cycle) = self.cycle_ms else {
            return Ok(());
        };
        one_of("cdrx.cycle_ms", &cycle, &CDRX_CYCLES_MS)?;
        let listens = u64::from(self.on_duration_pp) * nearest.npdcch_period();
        match listens < u64::from(cycle) {
            true => Ok(()),
            // A device that always listens has no C-DRX. In deeper levels, whose periods are longer, it may.
            false => Err(ConfigError::WrongOrder {
                key: "cdrx.cycle_ms".into(),
                value: cycle.to_string(),
                relation: "above",
                other: format!("the {listens} ms of cdrx.on_duration_pp in level 0"),
            }),
        }
    }
}
