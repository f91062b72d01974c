//! NPUSCH format 1: transport formats of the uplink.

use crate::bler::{Codeword, DATA_CRC_BITS};
use crate::tables::{MAX_I_TBS, NPUSCH_REPETITIONS, RESOURCE_COUNTS, Tones, npusch_bits};

/// The transport format of one block of NPUSCH.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NpuschFormat {
    /// Size of the block, in bits.
    pub bits: u16,
    /// Tones.
    pub tones: Tones,
    /// Index of the size.
    pub i_tbs: u8,
    /// Resource units of one repetition.
    pub resource_units: u16,
    /// Repetitions.
    pub repetitions: u16,
    /// The block's code.
    pub codeword: Codeword,
}

impl NpuschFormat {
    /// The time on the air in subframes, without gaps.
    pub fn length(&self) -> u64 {
        let unit = self.tones.resource_unit().subframes;
        unit * u64::from(self.resource_units) * u64::from(self.repetitions)
    }

    /// Every format of Release 13 with these tones, shortest first; of equal length, the larger block first.
    pub fn all(tones: Tones) -> Vec<Self> {
        let mut formats = Vec::new();
        let elements = u32::from(tones.resource_unit().data_elements);
        for i_tbs in 0..=MAX_I_TBS {
            let Some(order) = tones.modulation_order(i_tbs) else {
                continue;
            };
            for (i_ru, resource_units) in RESOURCE_COUNTS.into_iter().enumerate() {
                let Some(bits) = npusch_bits(i_tbs, i_ru) else {
                    continue;
                };
                let elements = elements * u32::from(resource_units);
                formats.extend(NPUSCH_REPETITIONS.map(|repetitions| Self {
                    bits,
                    tones,
                    i_tbs: i_tbs as u8,
                    resource_units,
                    repetitions,
                    codeword: Codeword::new(bits + DATA_CRC_BITS, elements, order, repetitions),
                }));
            }
        }
        formats.sort_by_key(|format| (format.length(), u16::MAX - format.bits, format.repetitions));
        formats
    }
}
