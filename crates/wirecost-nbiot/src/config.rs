//! What a network is like: one struct per group of parameters, each field with its unit and its source.
//!
//! Names, defaults and sources are those of the parameter list of docs/models/nbiot.md. "Assumed" marks a value without a source that
//! was read; change it and report both results.

mod bearer;
mod cdrx;
mod error;
mod idle;
mod layers;
mod levels;
mod pur;
mod radio;
mod tcp;

use serde::{Deserialize, Serialize};

pub use bearer::{BearerConfig, HeaderCompression, PdnType};
pub(crate) use cdrx::START_OFFSETS;
pub use cdrx::{CDRX_CYCLES_MS, CdrxConfig};
pub use error::ConfigError;
pub use idle::{IdleConfig, IdleMode};
pub use layers::{
    DownlinkFrameConfig, Flow, MacConfig, NpdcchConfig, PdcpConfig, RandomAccessConfig, ReleaseAssistance,
    RlcConfig, RrcConfig,
};
pub use levels::{CoverageConfig, CoverageMeasure, LevelConfig, Levels};
pub use pur::PurConfig;
pub use radio::{FadingModel, LinkConfig, OperationMode, PowerControl, RadioConfig, ScenarioConfig};
pub use tcp::TcpConfig;

/// A network of NB-IoT cells. The default is the profile `vodafone`.
///
/// ```
/// let mut config = wirecost_nbiot::Config::profile("vodafone").unwrap();
/// config.levels.ce0.npdcch_rmax = 12;
/// let error = config.validate().unwrap_err();
/// assert!(error.to_string().starts_with("levels.ce0.npdcch_rmax must be one of"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Sites, sectors and distances.
    pub scenario: ScenarioConfig,
    /// Powers, path loss, antennas, noise and fading.
    pub radio: RadioConfig,
    /// Block errors and link adaptation.
    pub link: LinkConfig,
    /// What decides a device's coverage level.
    pub coverage: CoverageConfig,
    /// The channels of each coverage level.
    pub levels: Levels,
    /// The subframes of the downlink that carry broadcast.
    pub downlink: DownlinkFrameConfig,
    /// Random access.
    pub random_access: RandomAccessConfig,
    /// Errors of NPDCCH.
    pub npdcch: NpdcchConfig,
    /// Timing, HARQ and the scheduler.
    pub mac: MacConfig,
    /// Radio link control.
    pub rlc: RlcConfig,
    /// Packet data convergence.
    pub pdcp: PdcpConfig,
    /// Connections.
    pub rrc: RrcConfig,
    /// Discontinuous reception of connected devices.
    pub cdrx: CdrxConfig,
    /// Preconfigured uplink resources.
    pub pur: PurConfig,
    /// Paging, power saving mode and tracking area updates.
    pub idle: IdleConfig,
    /// What of a packet crosses the air.
    pub bearer: BearerConfig,
    /// The TCP of devices and servers.
    pub tcp: TcpConfig,
}

impl Config {
    /// One cell without fading, without broadcast and with certain detection: what happens in it follows from its timing
    /// alone, so that it can be held against closed forms.
    pub fn quiet_cell() -> Self {
        let mut config = Self::default();
        config.scenario.n_sites = 1;
        config.scenario.sectors_per_site = 1;
        config.radio.fading = FadingModel::None;
        config.random_access.ideal_detection = true;
        config.downlink.synchronisation = false;
        config.downlink.si_messages = false;
        config.downlink.sib1_repetitions = 0;
        config
    }

    /// The names that [`Config::profile`] takes.
    pub const PROFILES: [&'static str; 2] = ["vodafone", "study"];

    /// The configuration with this name. `vodafone` is a cell of an operator, as the comments of LENA-NB (`lte-enb-rrc.cc`) give it;
    /// `study` follows the published simulation, and is fitted where that says nothing.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn profile(name: &str) -> Result<Self, ConfigError> {
        match name {
            "vodafone" => Ok(Self::default()),
            "study" => Ok(Self::study()),
            _ => Err(ConfigError::not_allowed(
                "profile",
                name,
                Self::PROFILES.join(", "),
            )),
        }
    }

    /// What the published simulation says, in the order of its sections; then what was fitted to its points (docs/models/nbiot.md,
    /// "The study").
    fn study() -> Self {
        let mut config = Self::default();
        // Section 2.1: coverage levels by thresholds of the coupling loss. Section 2.3: a device is new, so that it has nothing to
        // resume, and it is removed a short time after its report.
        config.coverage.measure = CoverageMeasure::CouplingLoss;
        config.rrc.flow = Flow::Setup;
        config.rrc.removal_ms = Some(100);
        // Fitted: an access is given up after 0.9 s of failed attempts, the uplink takes an access of its own behind a downlink block,
        // and one device in six is in level 1 or 2.
        config.scenario.isd_m = 2_500.0;
        config.coverage.mcl_ce1_db = 137.0;
        config.coverage.mcl_ce2_db = 144.0;
        config.random_access.give_up_ms = 900;
        config.random_access.backoff_ms = 1_024;
        config.mac.ul_grant_after_dl = false;
        let levels = &mut config.levels;
        for (level, rmax, g) in [
            (&mut levels.ce0, 8, 1.5),
            (&mut levels.ce1, 32, 1.5),
            (&mut levels.ce2, 128, 2.0),
        ] {
            level.npdcch_rmax = rmax;
            level.npdcch_g = g;
        }
        config
    }

    /// Checks that such a network can exist.
    ///
    /// # Errors
    /// The first key with a value that is not allowed, with the values that are.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.scenario.validate()?;
        self.radio.validate()?;
        self.link.validate()?;
        self.coverage.validate()?;
        self.levels.validate(self.random_access.preamble_format)?;
        self.downlink.validate()?;
        self.random_access.validate()?;
        self.mac.validate()?;
        self.rlc.validate()?;
        self.rrc.validate()?;
        self.cdrx.validate(&self.levels.ce0)?;
        self.pur.validate()?;
        self.idle.validate()?;
        self.bearer.validate()?;
        self.npdcch.validate()?;
        self.tcp.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_survives_being_written_and_read() {
        let mut config = Config::default();
        config.random_access.capture_db = Some(3.0);
        config.rrc.flow = Flow::EarlyData;
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), config);
        assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config::default());
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        for text in [
            r#"{"radius": 1}"#,
            r#"{"radio": {"radius": 1}}"#,
            r#"{"levels": {"ce3": 1}}"#,
        ] {
            let error = serde_json::from_str::<Config>(text).unwrap_err().to_string();
            assert!(error.contains("unknown field"), "{error}");
        }
    }

    #[test]
    fn what_is_not_allowed_names_key_and_allowed_values() {
        type Change = fn(&mut Config);
        let cases: [(Change, &str); 9] = [
            (
                |config| config.levels.ce1.npdcch_rmax = 48,
                "levels.ce1.npdcch_rmax must be one of 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, got 48",
            ),
            (
                |config| config.coverage.rsrp_ce2_dbm = -100.0,
                "coverage.rsrp_ce2_dbm must be below coverage.rsrp_ce1_dbm (-115.5), got -100",
            ),
            (
                |config| config.coverage.mcl_ce2_db = 144.0,
                "coverage.mcl_ce2_db must be above coverage.mcl_ce1_db (144), got 144",
            ),
            (
                |config| config.levels.ce0.npdcch_rmax = 1,
                "levels.ce0.npdcch_g must be one of 4, 8, 16, 32, 48, 64, got 2",
            ),
            (|config| config.levels.ce2.nprach_repetitions = 128, ""),
            (
                |config| config.levels.ce0.nprach_start_ms = 512,
                "levels.ce0.nprach_start_ms must be below levels.ce0.nprach_period_ms (320), got 512",
            ),
            (
                |config| config.mac.dci_per_npdcch_period = 0,
                "mac.dci_per_npdcch_period must be 1 to 8, got 0",
            ),
            (
                |config| config.radio.shadow_sd_db = f64::NAN,
                "radio.shadow_sd_db must be 0 to 20, got NaN",
            ),
            (
                |config| config.scenario.n_sites = 19,
                "scenario.n_sites must be one of 1, 7, got 19",
            ),
        ];
        for (change, expected) in cases {
            let mut config = Config::default();
            change(&mut config);
            let message = config.validate().err().map(|error| error.to_string());
            assert_eq!(message.unwrap_or_default(), expected);
        }
        let error = Config::profile("orange").unwrap_err().to_string();
        assert_eq!(error, "profile must be one of vodafone, study, got orange");
    }
}
