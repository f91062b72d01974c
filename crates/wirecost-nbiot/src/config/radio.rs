//! Geometry, radio and link level.

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, one_of, within};

/// The anchor and as many others as one cell has at most (TS 36.331 maxNonAnchorCarriers-NB).
const MAX_CARRIERS: u16 = 16;

/// Sites, sectors and distances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScenarioConfig {
    /// Sites on the hexagonal lattice: 1 or 7. Study nbiot section 2.4.
    pub n_sites: u16,
    /// Sectors of a site, each a cell: 1 (omnidirectional) or 3. Study nbiot section 2.4.
    pub sectors_per_site: u16,
    /// Distance between sites, in m. TR 45.820 annex D; assumed, because the study gives none.
    pub isd_m: f64,
    /// Carriers of each cell: the anchor, and the non-anchor carriers of Release 14, on which devices are paged and make random accesses
    /// too (TS 36.331 SystemInformationBlockType22-NB). 1: Release 13.
    pub carriers: u16,
    /// Whether the lattice repeats on all sides, so that every cell has the same surroundings. Assumed, because the study gives none.
    pub wraparound: bool,
    /// The smallest distance between a device and a site, in m. TR 36.942 section 4.5.
    pub min_distance_m: f64,
    /// Where the carrier is. Assumed: 40 W per carrier fits a carrier of its own.
    pub operation_mode: OperationMode,
}

/// Where an NB-IoT carrier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationMode {
    /// On a carrier of its own.
    StandAlone,
    /// In the guard band of an LTE carrier.
    GuardBand,
    /// In a resource block of an LTE carrier.
    InBand,
}

impl Default for ScenarioConfig {
    fn default() -> Self {
        Self {
            n_sites: 7,
            sectors_per_site: 3,
            isd_m: 1_732.0,
            carriers: 1,
            wraparound: true,
            min_distance_m: 35.0,
            operation_mode: OperationMode::StandAlone,
        }
    }
}

impl ScenarioConfig {
    /// The number of cells.
    pub fn cells(&self) -> usize {
        usize::from(self.n_sites) * usize::from(self.sectors_per_site)
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        one_of("scenario.n_sites", &self.n_sites, &[1, 7])?;
        one_of("scenario.sectors_per_site", &self.sectors_per_site, &[1, 3])?;
        within("scenario.carriers", self.carriers, 1, MAX_CARRIERS)?;
        within("scenario.isd_m", self.isd_m, 100.0, 100_000.0)?;
        within(
            "scenario.min_distance_m",
            self.min_distance_m,
            1.0,
            self.isd_m / 2.0,
        )
    }
}

/// Powers, path loss, antennas, noise and fading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RadioConfig {
    /// Transmission power of a cell over 180 kHz, in dBm. 46 (40 W) in the study nbiot section 2.1; 43 in TR 45.820; 35 in-band.
    pub enb_tx_power_dbm: f64,
    /// Largest transmission power of a device, in dBm. Study nbiot section 2.1 (0.2 W).
    pub ue_tx_power_dbm: f64,
    /// Receive antennas of a cell. Study nbiot section 2.1.
    pub enb_rx_branches: u16,
    /// Transmit antennas of a cell, each with its share of the power. Study nbiot section 2.1.
    pub enb_tx_ports: u16,
    /// Receive antennas of a device. Study nbiot section 2.1.
    pub ue_rx_branches: u16,
    /// Path loss at 1 km, in dB. TR 45.820 annex D and TR 36.942 section 4.5 (900 MHz).
    pub path_loss_1km_db: f64,
    /// Path loss per decade of distance, in dB. TR 45.820 annex D.
    pub path_loss_slope_db: f64,
    /// Loss of the walls between a device and the outside, in dB. Study nbiot section 2.1.
    pub indoor_loss_db: f64,
    /// Standard deviation of shadowing, in dB. TR 45.820 annex D.
    pub shadow_sd_db: f64,
    /// Correlation of shadowing between sites; the sectors of one site share it. TR 45.820 annex D.
    pub shadow_corr_site: f64,
    /// Gain of a cell's antenna, in dBi. TR 45.820 annex D.
    pub enb_ant_gain_dbi: f64,
    /// Loss of the cable to a cell's antenna, in dB. TR 45.820 annex D.
    pub enb_cable_loss_db: f64,
    /// Gain of a device's antenna, in dBi. TR 45.820 annex D.
    pub ue_ant_gain_dbi: f64,
    /// Width of a sector's antenna pattern at half the power, in degrees. TR 36.942 section 4.2.
    pub ant_hpbw_deg: f64,
    /// Largest attenuation of a sector's antenna pattern, in dB. TR 36.942 section 4.2.
    pub ant_front_back_db: f64,
    /// Noise figure of a cell, in dB. TR 45.820 section 5.1.
    pub enb_nf_db: f64,
    /// Noise figure of a device, in dB. TR 45.820 section 5.1.
    pub ue_nf_db: f64,
    /// How the channel fades. Study nbiot reference 14: typical urban, which is nearly flat over 180 kHz.
    pub fading: FadingModel,
    /// How long a fading block lasts, in ms. A fit to 1 Hz Doppler.
    pub coherence_ms: u32,
    /// Transmission power of NPUSCH. TS 36.213 section 16.2.1.1.1; without its term for the number of tones.
    pub power_control: PowerControl,
    /// Received power at which open-loop power control aims, in dBm. Assumed; used with `open-loop` only.
    pub power_target_dbm: f64,
    /// Share of time in which a neighbour without data interferes with its broadcast. Study model: 31 % of subframes.
    pub broadcast_share: f64,
}

/// How the channel fades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FadingModel {
    /// Not at all.
    None,
    /// Independent Rayleigh fading per antenna, constant for `coherence_ms` and over the carrier.
    BlockRayleigh,
    /// The same for each of the taps of a typical urban channel, so that the carrier's 180 kHz fade unequally. TS 05.05 annex C.3.3, six
    /// taps, alternative 1 (as MATLAB's `gsmTUx6c1` has them).
    TypicalUrban,
}

/// Transmission power of NPUSCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerControl {
    /// Always the largest power.
    Full,
    /// What gives `power_target_dbm` at the cell in coverage level 0; the largest power in the others.
    OpenLoop,
}

impl Default for RadioConfig {
    fn default() -> Self {
        Self {
            enb_tx_power_dbm: 46.0,
            ue_tx_power_dbm: 23.0,
            enb_rx_branches: 2,
            enb_tx_ports: 2,
            ue_rx_branches: 1,
            path_loss_1km_db: 120.9,
            path_loss_slope_db: 37.6,
            indoor_loss_db: 20.0,
            shadow_sd_db: 8.0,
            shadow_corr_site: 0.5,
            enb_ant_gain_dbi: 18.0,
            enb_cable_loss_db: 3.0,
            ue_ant_gain_dbi: -4.0,
            ant_hpbw_deg: 65.0,
            ant_front_back_db: 20.0,
            enb_nf_db: 3.0,
            ue_nf_db: 5.0,
            fading: FadingModel::BlockRayleigh,
            coherence_ms: 300,
            power_control: PowerControl::Full,
            power_target_dbm: -105.0,
            broadcast_share: 0.31,
        }
    }
}

impl RadioConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let ranges = [
            ("radio.enb_tx_power_dbm", self.enb_tx_power_dbm, -50.0, 80.0),
            ("radio.ue_tx_power_dbm", self.ue_tx_power_dbm, -50.0, 50.0),
            ("radio.path_loss_1km_db", self.path_loss_1km_db, 50.0, 200.0),
            ("radio.path_loss_slope_db", self.path_loss_slope_db, 10.0, 60.0),
            ("radio.indoor_loss_db", self.indoor_loss_db, 0.0, 60.0),
            ("radio.shadow_sd_db", self.shadow_sd_db, 0.0, 20.0),
            ("radio.shadow_corr_site", self.shadow_corr_site, 0.0, 1.0),
            ("radio.enb_ant_gain_dbi", self.enb_ant_gain_dbi, -20.0, 40.0),
            ("radio.enb_cable_loss_db", self.enb_cable_loss_db, 0.0, 20.0),
            ("radio.ue_ant_gain_dbi", self.ue_ant_gain_dbi, -40.0, 20.0),
            ("radio.ant_hpbw_deg", self.ant_hpbw_deg, 1.0, 360.0),
            ("radio.ant_front_back_db", self.ant_front_back_db, 0.0, 60.0),
            ("radio.enb_nf_db", self.enb_nf_db, 0.0, 20.0),
            ("radio.ue_nf_db", self.ue_nf_db, 0.0, 20.0),
            ("radio.power_target_dbm", self.power_target_dbm, -150.0, 0.0),
            ("radio.broadcast_share", self.broadcast_share, 0.0, 1.0),
        ];
        for (key, value, minimum, maximum) in ranges {
            within(key, value, minimum, maximum)?;
        }
        within("radio.enb_rx_branches", self.enb_rx_branches, 1, 8)?;
        one_of("radio.enb_tx_ports", &self.enb_tx_ports, &[1, 2])?;
        within("radio.ue_rx_branches", self.ue_rx_branches, 1, 2)?;
        within("radio.coherence_ms", self.coherence_ms, 1, 100_000)
    }
}

/// Block errors and link adaptation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Distance of the turbo code to the normal approximation, in dB. A fit to 56 published curves, 0.95 +- 0.10 dB.
    pub gap_awgn_db: f64,
    /// Further loss of an implementation on a fading channel, in dB. A fit to published MATLAB tables, 1.2 to 1.9 dB.
    pub impl_margin_db: f64,
    /// Distance of NPDCCH's convolutional code to the normal approximation, in dB. Assumed.
    pub npdcch_gap_db: f64,
    /// Reference symbols over which a device estimates the downlink: 8 per subframe and port over 4 ms. Assumed.
    pub downlink_pilots: f64,
    /// Block error rate at which link adaptation aims for a first transmission. Assumed; common practice.
    pub bler_target: f64,
    /// Block error rate at which link adaptation of NPDCCH aims. Assumed.
    pub npdcch_bler_target: f64,
    /// Distance that link adaptation keeps to its estimate of the SINR, in dB. Assumed.
    pub margin_db: f64,
    /// Step of the outer loop after a block error, in dB; a success steps by the share that holds the target. 0: no outer loop. Assumed.
    pub outer_loop_step_db: f64,
    /// Largest number of transmissions of a block. TS 36.101 table 8.12.1.1-1.
    pub max_harq_tx: u8,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            gap_awgn_db: 0.95,
            impl_margin_db: 1.5,
            npdcch_gap_db: 1.5,
            downlink_pilots: 32.0,
            bler_target: 0.1,
            npdcch_bler_target: 0.01,
            margin_db: 2.0,
            outer_loop_step_db: 1.0,
            max_harq_tx: 4,
        }
    }
}

impl LinkConfig {
    /// Distance of NPDSCH and NPUSCH to the normal approximation, in dB.
    pub fn data_gap_db(&self) -> f64 {
        self.gap_awgn_db + self.impl_margin_db
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within("link.gap_awgn_db", self.gap_awgn_db, 0.0, 20.0)?;
        within("link.impl_margin_db", self.impl_margin_db, 0.0, 20.0)?;
        within("link.npdcch_gap_db", self.npdcch_gap_db, 0.0, 20.0)?;
        within("link.downlink_pilots", self.downlink_pilots, 1.0, 1e6)?;
        within("link.bler_target", self.bler_target, 1e-4, 0.9)?;
        within("link.npdcch_bler_target", self.npdcch_bler_target, 1e-4, 0.9)?;
        within("link.margin_db", self.margin_db, 0.0, 30.0)?;
        within("link.outer_loop_step_db", self.outer_loop_step_db, 0.0, 10.0)?;
        within("link.max_harq_tx", self.max_harq_tx, 1, 16)
    }
}
