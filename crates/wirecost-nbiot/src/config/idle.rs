//! What a device does between two connections.

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, within};

/// What a device does between two connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleMode {
    /// It sleeps at no cost beyond the sleep power, and is paged all the same: the bound that other modes are held against.
    Ideal,
    /// It looks for a page once in each paging cycle.
    Drx,
    /// It looks for a page in the paging time window of each extended cycle (TS 24.301, TS 36.304 section 7.3).
    Edrx,
    /// It looks for a page in each paging cycle of the active time. After that the network cannot page it until the device sends (TS 24.301).
    Psm,
}

/// Paging, power saving mode and tracking area updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IdleConfig {
    /// What a device does between two connections: `ideal`, `drx`, `edrx` or `psm`.
    pub mode: IdleMode,
    /// Active time after a release in power saving mode (timer T3324), in ms. TS 24.008 section 10.5.7.4; value assumed.
    pub active_ms: u32,
    /// Extended cycle, in ms: 20,480 to 10,485,760 in NB-IoT. TS 24.008 section 10.5.5.32; value assumed.
    pub edrx_cycle_ms: u32,
    /// Paging time window of an extended cycle, in ms: 2,560 to 40,960. TS 24.008 section 10.5.5.32; value assumed.
    pub paging_window_ms: u32,
    /// Bytes of a page for one device: RRC header, identity. TS 36.331 Paging-NB; assumed.
    pub paging_bytes: u32,
    /// How long a device receives at a paging occasion where no page is for it, with its synchronisation before, in ms. Assumed.
    pub occasion_ms: u32,
    /// Time without a connection after which a device makes a tracking area update (timer T3412), in s. TS 24.008 section
    /// 10.5.7.4a; value assumed.
    pub tau_period_s: u32,
}

impl Default for IdleConfig {
    fn default() -> Self {
        Self {
            mode: IdleMode::Ideal,
            active_ms: 10_000,
            edrx_cycle_ms: 81_920,
            paging_window_ms: 2_560,
            paging_bytes: 8,
            occasion_ms: 20,
            tau_period_s: 86_400,
        }
    }
}

impl IdleConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within("idle.active_ms", self.active_ms, 0, 11_160_000)?;
        within("idle.edrx_cycle_ms", self.edrx_cycle_ms, 20_480, 10_485_760)?;
        within("idle.paging_window_ms", self.paging_window_ms, 2_560, 40_960)?;
        within("idle.paging_bytes", self.paging_bytes, 1, 85)?;
        within("idle.occasion_ms", self.occasion_ms, 1, 10_000)?;
        within("idle.tau_period_s", self.tau_period_s, 60, 35_712_000)?;
        if self.paging_window_ms >= self.edrx_cycle_ms {
            return Err(ConfigError::WrongOrder {
                key: "idle.paging_window_ms".into(),
                value: self.paging_window_ms.to_string(),
                relation: "below",
                other: format!("idle.edrx_cycle_ms ({})", self.edrx_cycle_ms),
            });
        }
        Ok(())
    }
}
