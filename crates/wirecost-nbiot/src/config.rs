//! What a network is like: one struct per group of parameters, each field with its unit and its source.
//!
//! Names, defaults and sources are those of the parameter list of docs/models/nbiot.md. "Assumed" marks a value without a source that
//! was read; change it and report both results.

mod error;
mod layers;
mod levels;
mod radio;

use serde::{Deserialize, Serialize};

pub use error::ConfigError;
pub use layers::{
    DownlinkFrameConfig, Flow, MacConfig, PdcpConfig, RandomAccessConfig, ReleaseAssistance, RlcConfig,
    RrcConfig,
};
pub use levels::{CoverageConfig, CoverageMeasure, LevelConfig, Levels};
pub use radio::{FadingModel, LinkConfig, OperationMode, PowerControl, RadioConfig, ScenarioConfig};

/// A network of NB-IoT cells. The default is the profile `vodafone`.
///
/// ```
/// let mut config = wirecost_nbiot::Config::profile("vodafone").unwrap();
/// config.levels.ce0.npdcch_rmax = 12;
/// let error = config.validate().unwrap_err();
/// assert_eq!(error.key(), "levels.ce0.npdcch_rmax");
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
    /// Timing, HARQ and the scheduler.
    pub mac: MacConfig,
    /// Radio link control.
    pub rlc: RlcConfig,
    /// Packet data convergence.
    pub pdcp: PdcpConfig,
    /// Connections.
    pub rrc: RrcConfig,
}

impl Config {
    /// The names that [`Config::profile`] takes.
    pub const PROFILES: [&'static str; 1] = ["vodafone"];

    /// The configuration with this name. `vodafone` is a cell of an operator, as the comments of LENA-NB (`lte-enb-rrc.cc`) give it.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn profile(name: &str) -> Result<Self, ConfigError> {
        match name {
            "vodafone" => Ok(Self::default()),
            _ => Err(ConfigError::not_allowed(
                "profile",
                name,
                Self::PROFILES.join(", "),
            )),
        }
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
        self.rrc.validate()
    }
}
