//! Link adaptation: the shortest transport format that meets the block error target at an estimated SINR.

mod ladder;

use crate::bler::{Codeword, DCI_BITS, Diversity, FadingPoints, Receiver};
use crate::config::{Config, FadingModel, OperationMode};
use crate::decibel::{decibels, linear};
use crate::npdcch::SearchSpace;
use crate::npdsch::NpdschFormat;
use crate::npusch::NpuschFormat;
use crate::tables::{NPDSCH_ELEMENTS, NPDSCH_ELEMENTS_IN_BAND};
use ladder::Ladder;

/// Formats of both directions with the SINR that each needs. What a format needs is computed when it is first considered.
#[derive(Clone, Debug)]
pub struct Adaptation {
    downlink: Ladder<NpdschFormat>,
    /// One per number of tones, the most tones first.
    uplink: Vec<Ladder<NpuschFormat>>,
    npdcch: Vec<Option<f64>>,
    npdcch_target: f64,
    npdcch_elements: u32,
    receivers: Receivers,
    margin_db: f64,
}

/// What turns an SINR into a block error rate, per channel.
#[derive(Clone, Copy, Debug)]
pub struct Receivers {
    /// NPDSCH at the device.
    pub npdsch: Receiver,
    /// NPDCCH at the device.
    pub npdcch: Receiver,
    /// The code's gap of NPUSCH as a linear ratio; the reference symbols follow from the tones.
    npusch_gap: f64,
    fading: FadingModel,
    coherence: f64,
    uplink_branches: f64,
    downlink_branches: f64,
    downlink_mean: f64,
}

impl Receivers {
    fn new(config: &Config) -> Self {
        let (radio, link) = (&config.radio, &config.link);
        let gap = linear(link.data_gap_db());
        let pilots = link.downlink_pilots;
        let rx = f64::from(radio.ue_rx_branches);
        Self {
            npdsch: Receiver { gap, pilots },
            npdcch: Receiver {
                gap: linear(link.npdcch_gap_db),
                pilots,
            },
            npusch_gap: gap,
            fading: radio.fading,
            coherence: f64::from(radio.coherence_ms),
            uplink_branches: f64::from(radio.enb_rx_branches),
            downlink_branches: rx * f64::from(radio.enb_tx_ports),
            downlink_mean: rx,
        }
    }

    /// NPUSCH at the cell.
    pub fn npusch(&self, format: &NpuschFormat) -> Receiver {
        Receiver {
            gap: self.npusch_gap,
            pilots: format.tones.pilots(),
        }
    }

    /// The SINR in dB that a format of NPUSCH needs, with all power on one bin of 3.75 kHz.
    fn npusch_needed_db(&self, format: &NpuschFormat, target: f64) -> f64 {
        let fading = (self.uplink_branches, self.uplink_branches);
        let (codeword, receiver) = (&format.codeword, self.npusch(format));
        let needed = self.needed_db(codeword, receiver, fading, format.length(), target);
        needed + decibels(f64::from(format.tones.bins()))
    }

    /// The SINR in dB over 180 kHz that a format of NPDSCH needs.
    fn npdsch_needed_db(&self, format: &NpdschFormat, target: f64) -> f64 {
        let fading = (self.downlink_branches, self.downlink_mean);
        self.needed_db(&format.codeword, self.npdsch, fading, format.length(), target)
    }

    /// The SINR in dB per branch that `codeword` needs in a transmission of `subframes`, with fading averaged over its length.
    fn needed_db(
        &self,
        codeword: &Codeword,
        receiver: Receiver,
        fading: (f64, f64),
        subframes: u64,
        target: f64,
    ) -> f64 {
        let (branches, mean) = fading;
        let blocks = match self.fading {
            FadingModel::None => 1e4,
            FadingModel::BlockRayleigh => (subframes as f64 / self.coherence).max(1.0),
            FadingModel::TypicalUrban => {
                (subframes as f64 / self.coherence).max(1.0) / crate::fading::taps::variance()
            }
        };
        let points = FadingPoints::new(Diversity {
            shape: branches * blocks,
            mean,
        });
        decibels(points.sinr_at(codeword, receiver, target))
    }
}

impl Adaptation {
    /// The formats of a configuration.
    pub fn new(config: &Config) -> Self {
        let elements = match config.scenario.operation_mode {
            OperationMode::InBand => NPDSCH_ELEMENTS_IN_BAND,
            OperationMode::StandAlone | OperationMode::GuardBand => NPDSCH_ELEMENTS,
        };
        let target = config.link.bler_target;
        let longest = u64::from(config.mac.max_block_ms);
        let mut downlink = NpdschFormat::all(config.scenario.operation_mode);
        downlink.retain(|format| format.length() <= longest);
        let mut tones = config.mac.npusch_tones.clone();
        tones.sort_by(|a, b| b.cmp(a));
        tones.dedup();
        let uplink = tones.into_iter().map(|tones| {
            let mut formats = NpuschFormat::all(tones);
            formats.retain(|format| format.length() <= longest);
            formats
        });
        Self {
            downlink: Ladder::new(downlink, |format| format.bits, target),
            uplink: uplink
                .map(|formats| Ladder::new(formats, |format| format.bits, target))
                .collect(),
            npdcch: vec![None; 16],
            npdcch_target: config.link.npdcch_bler_target,
            npdcch_elements: u32::from(elements),
            receivers: Receivers::new(config),
            margin_db: config.link.margin_db,
        }
    }

    /// What turns an SINR into a block error rate.
    pub const fn receivers(&self) -> Receivers {
        self.receivers
    }

    /// The shortest format of NPDSCH for `bits` bits at `sinr_db` over 180 kHz. More bits than a block holds get the largest block;
    /// where no format meets the target, the one that needs least.
    pub fn npdsch(&mut self, bits: u32, sinr_db: f64) -> NpdschFormat {
        let receivers = self.receivers;
        let needed_db = |format: &NpdschFormat, target| receivers.npdsch_needed_db(format, target);
        let chosen = self
            .downlink
            .choose(bits, sinr_db - self.margin_db, |format| format.bits, needed_db);
        chosen.1
    }

    /// The formats of NPUSCH for `bits` bits, the most tones first: for each number of tones the shortest that meets the target, where
    /// the SINR with all power on one bin of 3.75 kHz is `bin_sinr_db`. Where none meets it, the one that needs least.
    pub fn npusch(&mut self, bits: u32, bin_sinr_db: f64) -> Vec<NpuschFormat> {
        let receivers = self.receivers;
        let needed_db = |format: &NpuschFormat, target| receivers.npusch_needed_db(format, target);
        let sinr_db = bin_sinr_db - self.margin_db;
        let chosen = self
            .uplink
            .iter_mut()
            .map(|ladder| ladder.choose(bits, sinr_db, |format| format.bits, needed_db));
        let chosen: Vec<(f64, NpuschFormat)> = chosen.collect();
        let best = chosen
            .iter()
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("tones to choose from");
        match best.0 > 0.0 {
            true => vec![best.1],
            false => chosen
                .into_iter()
                .filter(|(lacks, _)| *lacks <= 0.0)
                .map(|(_, format)| format)
                .collect(),
        }
    }

    /// Of the formats of NPUSCH that meet the target, the one with the highest rate while it is on the air; `None` where none meets it.
    pub fn fastest_npusch(&mut self, bin_sinr_db: f64) -> Option<NpuschFormat> {
        let receivers = self.receivers;
        let needed_db = |format: &NpuschFormat, target| receivers.npusch_needed_db(format, target);
        let sinr_db = bin_sinr_db - self.margin_db;
        let best = self
            .uplink
            .iter_mut()
            .filter_map(|ladder| ladder.fastest(sinr_db, |format| (format.bits, format.length()), needed_db));
        best.max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, format)| format)
    }

    /// The same of NPDSCH, at `sinr_db` over 180 kHz.
    pub fn fastest_npdsch(&mut self, sinr_db: f64) -> Option<NpdschFormat> {
        let receivers = self.receivers;
        let needed_db = |format: &NpdschFormat, target| receivers.npdsch_needed_db(format, target);
        let size = |format: &NpdschFormat| (format.bits, format.length());
        let best = self.downlink.fastest(sinr_db - self.margin_db, size, needed_db);
        best.map(|(_, format)| format)
    }

    /// The fewest repetitions of a DCI in `space` that meet the target at `sinr_db`; Rmax where none does.
    pub fn npdcch(&mut self, space: &SearchSpace, sinr_db: f64) -> u64 {
        let sinr_db = sinr_db - self.margin_db;
        let (receivers, target, elements) = (self.receivers, self.npdcch_target, self.npdcch_elements);
        let needed = &mut self.npdcch;
        let meets = |repetitions: &u64| {
            let slot = &mut needed[repetitions.trailing_zeros() as usize];
            let needed = *slot.get_or_insert_with(|| {
                let codeword = Codeword::new(DCI_BITS, elements, 2, *repetitions as u16);
                let fading = (receivers.downlink_branches, receivers.downlink_mean);
                receivers.needed_db(&codeword, receivers.npdcch, fading, *repetitions, target)
            });
            needed <= sinr_db
        };
        space.repetitions().find(meets).unwrap_or(space.rmax)
    }

    /// The code of a DCI with this many repetitions.
    pub fn dci(&self, repetitions: u64) -> Codeword {
        Codeword::new(DCI_BITS, self.npdcch_elements, 2, repetitions as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Levels;
    use crate::decibel::link_budget_snr_db;
    use crate::tables::Tones;

    /// The largest rate in bit/s while transmitting over a coupling loss, of all formats that meet the target, with all tones.
    fn best_uplink_rate(loss_db: f64) -> f64 {
        let mut config = Config::default();
        config.mac.npusch_tones = Tones::ALL.to_vec();
        config.link.margin_db = 0.0;
        let mut adaptation = Adaptation::new(&config);
        let sinr = link_budget_snr_db(23.0, loss_db, 3_750.0, 3.0);
        let formats = (1..=125).flat_map(|bytes| adaptation.npusch(bytes * 8, sinr));
        let rates = formats.map(|format| f64::from(format.bits) / format.length() as f64 * 1_000.0);
        rates.fold(0.0, f64::max)
    }

    /// The figures of an independent program that used the same formula with a choice of formats of its own (docs/models/nbiot.md).
    #[test]
    fn uplink_rates_at_the_coverage_limits_are_near_the_known_ones() {
        for (loss, known) in [(164.0, 322.0), (154.0, 1_950.0), (144.0, 21_200.0)] {
            let rate = best_uplink_rate(loss);
            assert!(
                (0.75..1.35).contains(&(rate / known)),
                "{loss} dB: {rate} bit/s, not {known}"
            );
        }
    }

    /// TR 45.820 section 5.1 asks for 160 bit/s at 164 dB.
    #[test]
    fn both_directions_carry_160_bit_per_s_at_164_db() {
        let downlink = |power: f64, mode| {
            let mut config = Config::default();
            config.scenario.operation_mode = mode;
            config.link.margin_db = 0.0;
            let format = Adaptation::new(&config).npdsch(680, link_budget_snr_db(power, 164.0, 180e3, 5.0));
            f64::from(format.bits) / format.length() as f64 * 1_000.0
        };
        assert!(best_uplink_rate(164.0) > 160.0);
        let (own, in_band) = (
            downlink(43.0, OperationMode::StandAlone),
            downlink(35.0, OperationMode::InBand),
        );
        assert!(own > in_band && in_band > 160.0, "{own} and {in_band} bit/s");
    }

    #[test]
    fn better_channels_never_take_longer() {
        let mut adaptation = Adaptation::new(&Config::default());
        let mut shortest = |sinr: i32| {
            let formats = adaptation.npusch(500, f64::from(sinr));
            formats.iter().map(NpuschFormat::length).min().unwrap()
        };
        let lengths: Vec<u64> = (-20..40).map(&mut shortest).collect();
        assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
        let lengths: Vec<u64> = (-30..40)
            .map(|sinr| adaptation.npdsch(300, f64::from(sinr)).length())
            .collect();
        assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
    }

    #[test]
    fn weak_devices_get_more_repetitions_of_a_dci() {
        let mut adaptation = Adaptation::new(&Config::default());
        let space = SearchSpace::new(&Levels::default().ce1);
        let repetitions: Vec<u64> = (-30..30)
            .map(|sinr| adaptation.npdcch(&space, f64::from(sinr)))
            .collect();
        assert!(repetitions.is_sorted_by(|a, b| a >= b));
        assert_eq!((repetitions[0], repetitions[59]), (64, 8));
    }
}
