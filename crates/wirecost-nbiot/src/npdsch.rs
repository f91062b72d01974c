//! NPDSCH: transport formats of the downlink.

use crate::bler::{Codeword, DATA_CRC_BITS};
use crate::config::OperationMode;
use crate::tables::{
    MAX_I_TBS, MAX_I_TBS_IN_BAND, NPDSCH_ELEMENTS, NPDSCH_ELEMENTS_IN_BAND, NPDSCH_REPETITIONS,
    RESOURCE_COUNTS, npdsch_bits,
};

/// The transport format of one block of NPDSCH.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NpdschFormat {
    /// Size of the block, in bits.
    pub bits: u16,
    /// Index of the size.
    pub i_tbs: u8,
    /// Subframes of one repetition.
    pub subframes: u16,
    /// Repetitions.
    pub repetitions: u16,
    /// The block's code.
    pub codeword: Codeword,
}

impl NpdschFormat {
    /// The length in usable subframes.
    pub fn length(&self) -> u64 {
        u64::from(self.subframes) * u64::from(self.repetitions)
    }

    /// Every format of Release 13, shortest first; of equal length, the larger block first.
    pub fn all(mode: OperationMode) -> Vec<Self> {
        let (elements, max_i_tbs) = match mode {
            OperationMode::InBand => (NPDSCH_ELEMENTS_IN_BAND, MAX_I_TBS_IN_BAND),
            OperationMode::StandAlone | OperationMode::GuardBand => (NPDSCH_ELEMENTS, MAX_I_TBS),
        };
        let mut formats = Vec::new();
        for i_tbs in 0..=max_i_tbs {
            for (i_sf, subframes) in RESOURCE_COUNTS.into_iter().enumerate() {
                let Some(bits) = npdsch_bits(i_tbs, i_sf) else {
                    continue;
                };
                let elements = u32::from(elements) * u32::from(subframes);
                formats.extend(NPDSCH_REPETITIONS.map(|repetitions| Self {
                    bits,
                    i_tbs: i_tbs as u8,
                    subframes,
                    repetitions,
                    codeword: Codeword::new(bits + DATA_CRC_BITS, elements, 2, repetitions),
                }));
            }
        }
        formats.sort_by_key(|format| (format.length(), u16::MAX - format.bits, format.repetitions));
        formats
    }
}
