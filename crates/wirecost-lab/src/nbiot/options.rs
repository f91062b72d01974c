//! What is run in the cells.

use std::time::Duration;

use wirecost_nbiot::config::{Flow, HeaderCompression, IdleMode, PdnType, ReleaseAssistance};
use wirecost_nbiot::{Config, ConfigError};
use wirecost_security::Start;
use wirecost_stack::Stack;

pub use wirecost_scenario::options::nbiot::{STUDY_LOADS, STUDY_SIZES, STUDY_STACKS};

/// The largest load of a cell, in reports per second. At that load a device every millisecond arrives in 21 cells, and the devices that
/// wait for a minute fill a gigabyte.
const MOST_LOAD: f64 = 40.0;

/// The time without traffic after which a kept connection is kept alive: 1 min to what MQTT's 16 bits hold.
const KEEP_ALIVES: std::ops::RangeInclusive<u64> = 60..=65_535;

/// A change of the network or of the endpoints beside the given ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatIf {
    /// Connections are set up, with security and reconfiguration.
    Setup,
    /// Data rides in signalling (control-plane CIoT optimisation).
    ControlPlane,
    /// Data rides in Msg3 (early data transmission).
    EarlyData,
    /// Devices announce that nothing follows (release assistance indication).
    ReleaseAssistance,
    /// Cells grant the uplink only after random access.
    NoProactiveGrant,
    /// Data rides in a preconfigured uplink resource (Release 16).
    Preconfigured,
    /// Devices go to power saving mode after the active time.
    PowerSaving,
    /// Idle devices look for pages in extended cycles.
    ExtendedCycle,
    /// Payloads of UDP cross the air in signalling, without IP.
    NonIp,
    /// Headers of IP, UDP and CoAP are compressed.
    HeaderCompression,
    /// The connection was made before, and is kept from report to report with keep-alives.
    PersistentTcp,
    /// TCP sends data in its SYN (RFC 7413); the cookie was obtained before.
    FastOpen,
    /// The security handshake resumes an earlier session.
    Resumed,
    /// The security handshake resumes, with data in its first flight.
    ZeroRtt,
    /// OSCORE instead of the stack's channel.
    Oscore,
    /// The stack without the protection of its channel.
    NoSecurity,
}

impl WhatIf {
    /// Every one.
    pub const ALL: [Self; 16] = [
        Self::Setup,
        Self::ControlPlane,
        Self::EarlyData,
        Self::ReleaseAssistance,
        Self::NoProactiveGrant,
        Self::Preconfigured,
        Self::PowerSaving,
        Self::ExtendedCycle,
        Self::NonIp,
        Self::HeaderCompression,
        Self::PersistentTcp,
        Self::FastOpen,
        Self::Resumed,
        Self::ZeroRtt,
        Self::Oscore,
        Self::NoSecurity,
    ];

    /// Its name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::ControlPlane => "cp",
            Self::EarlyData => "edt",
            Self::ReleaseAssistance => "rai",
            Self::NoProactiveGrant => "no-grant",
            Self::Preconfigured => "pur",
            Self::PowerSaving => "psm",
            Self::ExtendedCycle => "edrx",
            Self::NonIp => "non-ip",
            Self::HeaderCompression => "schc",
            Self::PersistentTcp => "persistent-tcp",
            Self::FastOpen => "fast-open",
            Self::Resumed => "resumed",
            Self::ZeroRtt => "0rtt",
            Self::Oscore => "oscore",
            Self::NoSecurity => "no-security",
        }
    }

    /// The network with this change, as the devices of `stack` meet it.
    pub fn applied(self, config: &Config, stack: Stack) -> Config {
        let mut config = config.clone();
        match self {
            Self::Setup => config.rrc.flow = Flow::Setup,
            Self::ControlPlane => config.rrc.flow = Flow::ControlPlane,
            Self::EarlyData => config.rrc.flow = Flow::EarlyData,
            Self::ReleaseAssistance => config.rrc.release_assistance = ReleaseAssistance::NoFurtherData,
            Self::NoProactiveGrant => config.mac.ul_grant_after_dl = false,
            Self::Preconfigured => config.rrc.flow = Flow::Preconfigured,
            Self::PowerSaving => config.idle.mode = IdleMode::Psm,
            Self::ExtendedCycle => config.idle.mode = IdleMode::Edrx,
            Self::NonIp => {
                config.rrc.flow = Flow::ControlPlane;
                config.rrc.release_assistance = announced_by(stack);
                config.bearer.pdn_type = PdnType::NonIp;
                config.bearer.header_compression = HeaderCompression::None;
            }
            Self::HeaderCompression => config.bearer.header_compression = HeaderCompression::Schc,
            // Changes of the endpoints.
            Self::PersistentTcp
            | Self::FastOpen
            | Self::Resumed
            | Self::ZeroRtt
            | Self::Oscore
            | Self::NoSecurity => {}
        }
        config
    }
}

/// What the signalling message with a device's data says of traffic to come (TS 24.301, release assistance indication): a device
/// knows whether one answer follows its only packet. With a handshake before the report it says nothing.
const fn announced_by(stack: Stack) -> ReleaseAssistance {
    match (stack.has_connect(), stack.is_answered()) {
        (false, false) => ReleaseAssistance::NoFurtherData,
        (false, true) => ReleaseAssistance::OneDownlink,
        (true, _) => ReleaseAssistance::None,
    }
}

/// What is run in the cells.
#[derive(Clone, Debug)]
pub struct Options {
    /// The stacks.
    pub stacks: Vec<Stack>,
    /// Bytes of a report, the application's header included.
    pub sizes: Vec<usize>,
    /// Reports per second and cell.
    pub loads: Vec<f64>,
    /// Replications of each point.
    pub seeds: u32,
    /// The seed that all random streams follow from.
    pub seed: u64,
    /// How long reports are measured, by when they are generated.
    pub duration: Duration,
    /// How long reports are generated before.
    pub warm_up: Duration,
    /// Delay within which a report counts as served.
    pub deadline: Duration,
    /// Time between two reports of a device; for battery life.
    pub interval: Duration,
    /// How the connection of a report starts.
    pub start: Start,
    /// The time without traffic after which a kept connection is kept alive.
    pub keep_alive: Duration,
    /// Whether hosts have IPv6 addresses.
    pub ipv6: bool,
    /// Topic or path of a report.
    pub resource: String,
    /// The network.
    pub config: Config,
    /// Changes; each adds every point once more.
    pub what_ifs: Vec<WhatIf>,
}

/// Why it cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// A parameter of the network.
    #[error(transparent)]
    Network(#[from] ConfigError),
    /// Any other value.
    #[error("{key} must be {allowed}, got {given}")]
    NotAllowed {
        /// Its flag.
        key: &'static str,
        /// What it may be.
        allowed: &'static str,
        /// What it is.
        given: String,
    },
}

/// Keep-alives of a kept connection between two reports, from the seconds between reports and those without traffic before a
/// keep-alive: none where a report follows before one is due.
pub fn keep_alives_per_report(interval_s: f64, keep_alive_s: f64) -> f64 {
    ((interval_s / keep_alive_s).ceil() - 1.0).max(0.0)
}

impl Options {
    /// Keep-alives of a kept connection between two reports.
    pub fn keep_alives_per_report(&self) -> f64 {
        keep_alives_per_report(self.interval.as_secs_f64(), self.keep_alive.as_secs_f64())
    }

    /// The study's grid for `stacks`; without one, the study's stacks.
    pub fn study() -> Self {
        let stacks = STUDY_STACKS.iter().filter_map(|name| name.parse().ok());
        Self {
            stacks: stacks.collect(),
            sizes: STUDY_SIZES.to_vec(),
            loads: STUDY_LOADS.to_vec(),
            seeds: 3,
            seed: 42,
            duration: Duration::from_secs(120),
            warm_up: Duration::from_secs(12),
            deadline: Duration::from_secs(20),
            interval: Duration::from_secs(7_200),
            start: Start::Cold,
            // 30 min to 2 h are usual (RFC 9293, section 3.8.4, asks for 2 h as TCP's default).
            keep_alive: Duration::from_secs(1_800),
            ipv6: false,
            resource: "test".into(),
            config: Config::profile("study").unwrap_or_default(),
            what_ifs: Vec::new(),
        }
    }

    /// Checks that it can be run.
    ///
    /// # Errors
    /// A value that is not allowed.
    pub fn validate(&self) -> Result<(), OptionsError> {
        let refused = |key, allowed, given: String| Err(OptionsError::NotAllowed { key, allowed, given });
        if let Some(load) = self
            .loads
            .iter()
            .find(|load| !(**load > 0.0 && **load <= MOST_LOAD))
        {
            let allowed = "above 0/s and at most 40/s per cell";
            return refused("--load", allowed, format!("{load}/s"));
        }
        if let Some(size) = self.sizes.iter().find(|size| !(1..=100_000).contains(*size)) {
            return refused("--size", "1 B to 100 kB", format!("{size} B"));
        }
        if self.seeds == 0 || self.seeds > 1_000 {
            return refused("--seeds", "1 to 1000", self.seeds.to_string());
        }
        let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
        if !(1..=86_400).contains(&self.duration.as_secs()) {
            return refused("--duration", "1s to 24h", seconds(self.duration));
        }
        if self.interval < Duration::from_secs(1) {
            return refused("--interval", "at least 1s", seconds(self.interval));
        }
        if !KEEP_ALIVES.contains(&self.keep_alive.as_secs()) {
            return refused("--keep-alive", "1min to 65535s", seconds(self.keep_alive));
        }
        self.config.validate()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_load_is_refused_with_what_is_allowed() {
        let options = Options {
            loads: vec![-1.0],
            ..Options::study()
        };
        let error = options.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            "--load must be above 0/s and at most 40/s per cell, got -1/s"
        );
    }
}
