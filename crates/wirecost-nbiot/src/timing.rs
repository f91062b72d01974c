//! Delays between channels (TS 36.213 sections 16.4 to 16.6). Ends are exclusive: the first subframe after a transmission.

use crate::config::MacConfig;
use crate::subframe::Subframe;

/// The delays of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    npdsch_gap: u64,
    npusch_gap: u64,
    ack_gap: u64,
    monitor_gap: u64,
}

impl Timing {
    /// The delays of a configuration.
    pub const fn new(mac: &MacConfig) -> Self {
        Self {
            // "Starts in subframe n + 5" leaves four subframes between, because n is the last one of the DCI.
            npdsch_gap: mac.npdsch_after_dci_ms as u64 - 1,
            npusch_gap: mac.npusch_after_dci_ms as u64,
            ack_gap: mac.harq_ack_after_npdsch_ms as u64 - 1,
            monitor_gap: mac.npdcch_monitor_gap_ms as u64,
        }
    }

    /// The earliest subframe of NPDSCH after a DCI.
    pub fn npdsch(&self, dci_end: Subframe) -> Subframe {
        dci_end + self.npdsch_gap
    }

    /// The earliest subframe of NPUSCH after a DCI.
    pub fn npusch(&self, dci_end: Subframe) -> Subframe {
        dci_end + self.npusch_gap
    }

    /// The earliest subframe of the HARQ-ACK after NPDSCH.
    pub fn ack(&self, npdsch_end: Subframe) -> Subframe {
        npdsch_end + self.ack_gap
    }

    /// The first subframe in which a device monitors NPDCCH after NPUSCH.
    pub fn monitor(&self, npusch_end: Subframe) -> Subframe {
        npusch_end + self.monitor_gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npdsch::NpdschFormat;
    use crate::npusch::NpuschFormat;
    use crate::tables::Tones;

    /// Subframes from one DCI to the next where every block follows at once.
    fn uplink_cycle(mac: &MacConfig, length: u64) -> u64 {
        let timing = Timing::new(mac);
        timing.monitor(timing.npusch(Subframe::new(1)) + length).index()
    }

    fn downlink_cycle(mac: &MacConfig, length: u64) -> u64 {
        let timing = Timing::new(mac);
        timing
            .monitor(timing.ack(timing.npdsch(Subframe::new(1)) + length) + 2)
            .index()
    }

    fn uplink(tones: Tones, i_tbs: u8) -> NpuschFormat {
        let all = NpuschFormat::all(tones);
        let mut fitting = all
            .iter()
            .filter(|format| (format.bits, format.i_tbs, format.repetitions) == (1_000, i_tbs, 1));
        *fitting.next().unwrap()
    }

    #[test]
    fn peak_rates_are_those_of_release_13() {
        let mac = MacConfig::default();
        let rate = |bits: u16, cycle: u64| f64::from(bits) / cycle as f64;
        // 1 DCI + 8 + 4 NPUSCH + 3.
        let multi_tone = uplink(Tones::Twelve, 12);
        assert_eq!(
            rate(multi_tone.bits, uplink_cycle(&mac, multi_tone.length())),
            62.5
        );
        // 1 DCI + 8 + 48 NPUSCH + 2: the published rate counts one subframe less after a single tone.
        let single_tone = uplink(Tones::Single15k, 10);
        let short_gap = MacConfig {
            npdcch_monitor_gap_ms: 2,
            ..mac.clone()
        };
        let single = rate(single_tone.bits, uplink_cycle(&short_gap, single_tone.length()));
        assert!((single - 16.95).abs() < 0.005, "{single}");
        // 1 DCI + 4 + 4 NPDSCH + 12 + 2 HARQ-ACK + 3.
        let formats = NpdschFormat::all(crate::config::OperationMode::StandAlone);
        let largest = formats
            .iter()
            .find(|format| (format.bits, format.subframes, format.repetitions) == (680, 4, 1));
        let down = rate(680, downlink_cycle(&mac, largest.unwrap().length()));
        assert!((down - 26.15).abs() < 0.005, "{down}");
    }

    #[test]
    fn rates_during_a_block_are_250_and_226_7_kbit_per_s() {
        let uplink = uplink(Tones::Twelve, 12);
        assert_eq!(f64::from(uplink.bits) / uplink.length() as f64, 250.0);
        let formats = NpdschFormat::all(crate::config::OperationMode::StandAlone);
        let rates = formats
            .iter()
            .map(|format| f64::from(format.bits) / format.length() as f64);
        let fastest = rates.fold(0.0, f64::max);
        assert!((fastest - 226.7).abs() < 0.05, "{fastest}");
    }
}
