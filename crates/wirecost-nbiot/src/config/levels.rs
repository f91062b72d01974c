//! Coverage levels and the channels of each.

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, one_of, within};
use crate::tables::{NPDCCH_PERIOD_FACTORS, NPRACH_PERIODS_MS, NPRACH_STARTS_MS, NPRACH_SUBCARRIERS};

/// What decides a device's coverage level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CoverageConfig {
    /// Whether received power or coupling loss decides. TS 36.331: received power.
    pub measure: CoverageMeasure,
    /// Reference signal power below which a device is in level 1, in dBm per 15 kHz. LENA-NB `lte-enb-rrc.cc`.
    pub rsrp_ce1_dbm: f64,
    /// Reference signal power below which a device is in level 2, in dBm per 15 kHz. LENA-NB `lte-enb-rrc.cc`.
    pub rsrp_ce2_dbm: f64,
    /// Coupling loss above which a device is in level 1, in dB. Common 3GPP operating point.
    pub mcl_ce1_db: f64,
    /// Coupling loss above which a device is in level 2, in dB. Common 3GPP operating point.
    pub mcl_ce2_db: f64,
}

/// What decides a device's coverage level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoverageMeasure {
    /// The reference signal power that the device receives.
    Rsrp,
    /// The coupling loss.
    CouplingLoss,
}

impl Default for CoverageConfig {
    fn default() -> Self {
        Self {
            measure: CoverageMeasure::Rsrp,
            rsrp_ce1_dbm: -115.5,
            rsrp_ce2_dbm: -127.5,
            mcl_ce1_db: 144.0,
            mcl_ce2_db: 154.0,
        }
    }
}

impl CoverageConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within("coverage.rsrp_ce1_dbm", self.rsrp_ce1_dbm, -200.0, 0.0)?;
        within("coverage.mcl_ce1_db", self.mcl_ce1_db, 50.0, 250.0)?;
        within("coverage.rsrp_ce2_dbm", self.rsrp_ce2_dbm, -200.0, 0.0)?;
        within("coverage.mcl_ce2_db", self.mcl_ce2_db, 50.0, 250.0)?;
        let order = |key: &str, value: f64, relation, other: String| ConfigError::WrongOrder {
            key: key.to_owned(),
            value: value.to_string(),
            relation,
            other,
        };
        if self.rsrp_ce2_dbm >= self.rsrp_ce1_dbm {
            let other = format!("coverage.rsrp_ce1_dbm ({})", self.rsrp_ce1_dbm);
            return Err(order("coverage.rsrp_ce2_dbm", self.rsrp_ce2_dbm, "below", other));
        }
        if self.mcl_ce2_db <= self.mcl_ce1_db {
            let other = format!("coverage.mcl_ce1_db ({})", self.mcl_ce1_db);
            return Err(order("coverage.mcl_ce2_db", self.mcl_ce2_db, "above", other));
        }
        Ok(())
    }
}

/// The channels of the three coverage levels. A level that a file names is given whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Levels {
    /// Normal coverage.
    pub ce0: LevelConfig,
    /// Robust coverage.
    pub ce1: LevelConfig,
    /// Extreme coverage.
    pub ce2: LevelConfig,
}

/// The channels of one coverage level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelConfig {
    /// Period of NPRACH, in ms: 40, 80, 160, 240, 320, 640, 1280 or 2560. LENA-NB.
    pub nprach_period_ms: u32,
    /// Start of NPRACH within its period, in ms: 8, 16, 32, 64, 128, 256, 512 or 1024. LENA-NB.
    pub nprach_start_ms: u32,
    /// Repetitions of a preamble: a power of two up to 128. LENA-NB.
    pub nprach_repetitions: u16,
    /// Subcarriers of NPRACH of 3.75 kHz: 12, 24, 36 or 48. LENA-NB.
    pub nprach_subcarriers: u16,
    /// The first of them. LENA-NB.
    pub nprach_subcarrier_offset: u16,
    /// Largest number of repetitions of NPDCCH: a power of two up to 2048. LENA-NB.
    pub npdcch_rmax: u16,
    /// Period of the search space over Rmax: 1.5, 2, 4, 8, 16, 32, 48 or 64. LENA-NB.
    pub npdcch_g: f64,
    /// Start of the search space within its period, in eighths of it: 0 to 3. TS 36.331 npdcch-Offset; assumed 0.
    pub npdcch_offset_eighths: u8,
    /// Length of the random access response window, in NPDCCH periods: 2 to 8 or 10. LENA-NB.
    pub rar_window_pp: u16,
    /// Contention resolution timer, in NPDCCH periods: a power of two up to 64, or 3. LENA-NB.
    pub contention_timer_pp: u16,
    /// Preambles before a device goes to the next level: 3 to 10. LENA-NB.
    pub max_attempts: u16,
    /// Repetitions of the HARQ-ACK: a power of two up to 128. TS 36.331 ack-NACK-NumRepetitions; values assumed.
    pub harq_ack_repetitions: u16,
    /// Timer t-PollRetransmit, in ms. TS 36.331 T-PollRetransmit-NB; values assumed (from memory).
    pub t_poll_retransmit_ms: u32,
}

impl Default for Levels {
    fn default() -> Self {
        let ce0 = LevelConfig {
            nprach_period_ms: 320,
            nprach_start_ms: 256,
            nprach_repetitions: 1,
            nprach_subcarriers: 12,
            nprach_subcarrier_offset: 36,
            npdcch_rmax: 8,
            npdcch_g: 2.0,
            npdcch_offset_eighths: 0,
            rar_window_pp: 10,
            contention_timer_pp: 32,
            max_attempts: 10,
            harq_ack_repetitions: 1,
            t_poll_retransmit_ms: 1_000,
        };
        let ce1 = LevelConfig {
            nprach_period_ms: 640,
            nprach_repetitions: 8,
            nprach_subcarrier_offset: 24,
            npdcch_rmax: 64,
            npdcch_g: 1.5,
            rar_window_pp: 8,
            harq_ack_repetitions: 8,
            t_poll_retransmit_ms: 6_000,
            ..ce0
        };
        let ce2 = LevelConfig {
            nprach_period_ms: 2_560,
            nprach_repetitions: 32,
            nprach_subcarrier_offset: 12,
            npdcch_rmax: 512,
            npdcch_g: 4.0,
            harq_ack_repetitions: 32,
            t_poll_retransmit_ms: 15_000,
            ..ce1
        };
        Self { ce0, ce1, ce2 }
    }
}

impl Levels {
    /// The levels in their order.
    pub const fn all(&self) -> [LevelConfig; 3] {
        [self.ce0, self.ce1, self.ce2]
    }

    pub(crate) fn validate(&self, preamble_format: u8) -> Result<(), ConfigError> {
        for (name, level) in ["ce0", "ce1", "ce2"].into_iter().zip(self.all()) {
            level.validate(name, preamble_format)?;
        }
        Ok(())
    }
}

impl LevelConfig {
    /// Subframes between two search spaces: Rmax x G (TS 36.213 section 16.6).
    pub(crate) fn npdcch_period(&self) -> u64 {
        (f64::from(self.npdcch_rmax) * self.npdcch_g) as u64
    }

    fn validate(&self, name: &str, preamble_format: u8) -> Result<(), ConfigError> {
        let key = |field: &str| format!("levels.{name}.{field}");
        let powers = |max: u16| -> Vec<u16> {
            let all = std::iter::successors(Some(1u16), |power| power.checked_mul(2));
            all.take_while(|power| *power <= max).collect()
        };
        one_of(
            &key("nprach_period_ms"),
            &self.nprach_period_ms,
            &NPRACH_PERIODS_MS,
        )?;
        one_of(&key("nprach_start_ms"), &self.nprach_start_ms, &NPRACH_STARTS_MS)?;
        one_of(&key("nprach_repetitions"), &self.nprach_repetitions, &powers(128))?;
        one_of(
            &key("nprach_subcarriers"),
            &self.nprach_subcarriers,
            &NPRACH_SUBCARRIERS,
        )?;
        within(
            &key("nprach_subcarrier_offset"),
            self.nprach_subcarrier_offset,
            0,
            48 - self.nprach_subcarriers,
        )?;
        one_of(&key("npdcch_rmax"), &self.npdcch_rmax, &powers(2_048))?;
        one_of(&key("npdcch_g"), &self.npdcch_g, &NPDCCH_PERIOD_FACTORS)?;
        within(&key("npdcch_offset_eighths"), self.npdcch_offset_eighths, 0, 3)?;
        one_of(
            &key("rar_window_pp"),
            &self.rar_window_pp,
            &[2, 3, 4, 5, 6, 7, 8, 10],
        )?;
        let timers = [1, 2, 3, 4, 8, 16, 32, 64];
        one_of(&key("contention_timer_pp"), &self.contention_timer_pp, &timers)?;
        within(&key("max_attempts"), self.max_attempts, 3, 10)?;
        one_of(
            &key("harq_ack_repetitions"),
            &self.harq_ack_repetitions,
            &powers(128),
        )?;
        within(
            &key("t_poll_retransmit_ms"),
            self.t_poll_retransmit_ms,
            250,
            40_000,
        )?;
        self.validate_lengths(&key, preamble_format)
    }

    fn validate_lengths(&self, key: &dyn Fn(&str) -> String, preamble_format: u8) -> Result<(), ConfigError> {
        let period = f64::from(self.npdcch_rmax) * self.npdcch_g;
        if period < 4.0 {
            let least = f64::from(self.npdcch_rmax);
            let allowed = NPDCCH_PERIOD_FACTORS.iter().filter(|g| least * **g >= 4.0);
            let allowed: Vec<String> = allowed.map(ToString::to_string).collect();
            return Err(ConfigError::not_allowed(
                &key("npdcch_g"),
                self.npdcch_g,
                allowed.join(", "),
            ));
        }
        let length = crate::tables::preamble_subframes(preamble_format, self.nprach_repetitions);
        if length >= u64::from(self.nprach_period_ms) {
            return Err(ConfigError::WrongOrder {
                key: key("nprach_period_ms"),
                value: self.nprach_period_ms.to_string(),
                relation: "above",
                other: format!("the length of the preamble ({length} ms)"),
            });
        }
        if self.nprach_start_ms >= self.nprach_period_ms {
            return Err(ConfigError::WrongOrder {
                key: key("nprach_start_ms"),
                value: self.nprach_start_ms.to_string(),
                relation: "below",
                other: format!("{} ({})", key("nprach_period_ms"), self.nprach_period_ms),
            });
        }
        Ok(())
    }
}
