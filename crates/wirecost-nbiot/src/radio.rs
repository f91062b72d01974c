//! Powers, noise and SINR in linear units.

use crate::calendar::Bins;
use crate::config::{Config, CoverageMeasure, PowerControl};
use crate::decibel::{decibels, linear, noise_dbm};
use crate::nprach::Nprach;
use crate::subframe::Subframe;

/// Width of a bin of the uplink, in Hz.
const BIN_HZ: f64 = 3_750.0;

/// Width of the carrier, in Hz.
const CARRIER_HZ: f64 = 180_000.0;

/// Bins of the carrier.
pub(crate) const BINS: u64 = 48;

/// The powers of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Radio {
    pub(crate) enb_power_mw: f64,
    ue_power_mw: f64,
    power_control: PowerControl,
    power_target_mw: f64,
    /// Noise of a cell per bin.
    pub(crate) bin_noise_mw: f64,
    /// Noise of a device over the carrier.
    pub(crate) downlink_noise_mw: f64,
}

impl Radio {
    pub(crate) fn new(config: &Config) -> Self {
        let radio = &config.radio;
        Self {
            enb_power_mw: linear(radio.enb_tx_power_dbm),
            ue_power_mw: linear(radio.ue_tx_power_dbm),
            power_control: radio.power_control,
            power_target_mw: linear(radio.power_target_dbm),
            bin_noise_mw: linear(noise_dbm(BIN_HZ, radio.enb_nf_db)),
            downlink_noise_mw: linear(noise_dbm(CARRIER_HZ, radio.ue_nf_db)),
        }
    }

    /// The power of a device in a coverage level, in mW.
    pub(crate) fn ue_power_mw(&self, gain: f64, level: usize) -> f64 {
        match self.power_control {
            PowerControl::OpenLoop if level == 0 => self.ue_power_mw.min(self.power_target_mw / gain),
            PowerControl::OpenLoop | PowerControl::Full => self.ue_power_mw,
        }
    }

    /// The SNR in dB where a device puts all its power on one bin, before antenna branches are added.
    pub(crate) fn bin_snr_db(&self, gain: f64, level: usize) -> f64 {
        decibels(self.ue_power_mw(gain, level) * gain / self.bin_noise_mw)
    }

    /// The SNR of a preamble per antenna, as a linear ratio.
    pub(crate) fn preamble_snr(&self, gain: f64) -> f64 {
        self.ue_power_mw * gain / self.bin_noise_mw
    }

    /// The SINR of the downlink in dB, where each neighbour is on the air for the share `activity` of time.
    pub(crate) fn downlink_sinr_db(&self, gains: &[f64], serving: usize, activity: f64) -> f64 {
        let others: f64 = gains.iter().sum::<f64>() - gains[serving];
        let interference = self.enb_power_mw * others * activity;
        decibels(self.enb_power_mw * gains[serving] / (self.downlink_noise_mw + interference))
    }
}

/// The coverage level of a device with this path gain: 0, 1 or 2.
pub(crate) fn coverage_level(config: &Config, gain_db: f64) -> usize {
    let coverage = &config.coverage;
    // A reference signal has its share of the power: one of twelve subcarriers (TS 36.214 section 5.1.26).
    let rsrp = config.radio.enb_tx_power_dbm - decibels(12.0) + gain_db;
    let (below_1, below_2) = match coverage.measure {
        CoverageMeasure::Rsrp => (rsrp < coverage.rsrp_ce1_dbm, rsrp < coverage.rsrp_ce2_dbm),
        CoverageMeasure::CouplingLoss => (-gain_db > coverage.mcl_ce1_db, -gain_db > coverage.mcl_ce2_db),
    };
    usize::from(below_1) + usize::from(below_2)
}

/// The end of an uplink transmission of `length` subframes on `bins` from `start`: it pauses for gaps and while NPRACH is on its bins
/// (TS 36.211 section 10.1.3.6).
pub(crate) fn uplink_end(
    nprach: [&Nprach; 3],
    (every, gap): (u64, u64),
    start: Subframe,
    length: u64,
    bins: Bins,
) -> Subframe {
    let mut left = length + length.saturating_sub(1) / every * gap;
    let mut time = start;
    loop {
        let on_bins = nprach.iter().filter(|nprach| {
            let occupied = Bins::new(nprach.offset, nprach.subcarriers);
            occupied.shared(bins) > 0
        });
        let next = on_bins
            .map(|nprach| nprach.window_from(time))
            .min_by_key(|window| window.start);
        match next {
            Some(window) if window.start < time + left => {
                left -= window.start.since(time);
                time = window.end;
            }
            _ => return time + left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CoverageConfig;

    #[test]
    fn coverage_follows_the_thresholds() {
        let mut config = Config::default();
        // 46 dBm - 10.8 dB = 35.2 dBm per subcarrier.
        assert_eq!(
            [-150.0, -151.0, -162.0, -163.0].map(|gain| coverage_level(&config, gain)),
            [0, 1, 1, 2]
        );
        config.coverage = CoverageConfig {
            measure: CoverageMeasure::CouplingLoss,
            ..config.coverage
        };
        assert_eq!(
            [-143.0, -145.0, -155.0].map(|gain| coverage_level(&config, gain)),
            [0, 1, 2]
        );
    }

    #[test]
    fn npusch_waits_while_nprach_is_on_its_bins() {
        let levels = Config::default().levels.all();
        let nprach = levels.map(|level| Nprach::new(&level, 1));
        // Level 0 has bins 36 to 47 from 256 ms on for 7 ms, levels 1 and 2 have bins 24 to 35 and 12 to 23.
        let end = |start, length, bins| {
            uplink_end(nprach.each_ref(), (256, 40), Subframe::new(start), length, bins).index()
        };
        assert_eq!(end(250, 10, Bins::new(0, 12)), 260);
        assert_eq!(end(250, 10, Bins::new(36, 12)), 267);
        assert_eq!(end(258, 2, Bins::new(36, 12)), 265);
        assert_eq!(end(263, 2, Bins::new(36, 12)), 265);
        assert_eq!(end(1_000, 300, Bins::new(0, 4)), 1_340);
    }
}
