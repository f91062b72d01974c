//! The tables of TS 36.211 and TS 36.213 (Release 13 to 15) that the model uses.

/// The number of resource units or subframes of a transport block, by I_RU or I_SF (TS 36.213 tables 16.5.1.1-2 and
/// 16.4.1.3-1).
pub const RESOURCE_COUNTS: [u16; 8] = [1, 2, 3, 4, 5, 6, 8, 10];

/// Repetitions of NPUSCH, by I_Rep (TS 36.213 table 16.5.1.1-3).
pub const NPUSCH_REPETITIONS: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Repetitions of NPDSCH, by I_Rep (TS 36.213 table 16.4.1.3-2).
pub const NPDSCH_REPETITIONS: [u16; 16] = [
    1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048,
];

/// Subframes from the end of DCI format N0 to NPUSCH, by I_Delay (TS 36.213 table 16.5.1-1).
pub const NPUSCH_DELAYS: [u64; 4] = [8, 16, 32, 64];

/// Usable downlink subframes between DCI format N1 and NPDSCH beyond the fixed gap, by I_Delay, where Rmax is below 128 (TS
/// 36.213 table 16.4.1-1).
pub const NPDSCH_DELAYS: [u64; 8] = [0, 4, 8, 12, 16, 32, 64, 128];

/// The same where Rmax is 128 or more.
pub const NPDSCH_DELAYS_LONG: [u64; 8] = [0, 16, 32, 64, 128, 256, 512, 1_024];

/// Subframes from the end of NPDSCH to the HARQ-ACK at 15 kHz beyond the first delay of 13: 13, 15, 17 or 18 in all (TS 36.213
/// table 16.4.2-2).
pub const HARQ_ACK_EXTRA_DELAYS: [u64; 4] = [0, 2, 4, 5];

/// Subcarriers of 15 kHz that a HARQ-ACK can use (TS 36.213 table 16.4.2-2).
pub const HARQ_ACK_SUBCARRIERS: u64 = 4;

/// NPRACH periods in ms (TS 36.331 section 6.7.3.2, nprach-Periodicity).
pub const NPRACH_PERIODS_MS: [u32; 8] = [40, 80, 160, 240, 320, 640, 1_280, 2_560];

/// NPRACH starts within the period in ms (TS 36.331 section 6.7.3.2, nprach-StartTime).
pub const NPRACH_STARTS_MS: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1_024];

/// NPRACH subcarriers of a coverage level (TS 36.331 section 6.7.3.2, nprach-NumSubcarriers).
pub const NPRACH_SUBCARRIERS: [u16; 4] = [12, 24, 36, 48];

/// The factor G of the NPDCCH period (TS 36.331 section 6.7.3.2, npdcch-StartSF-CSS-RA).
pub const NPDCCH_PERIOD_FACTORS: [f64; 8] = [1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 64.0];

/// Microseconds of one repetition of a preamble, four symbol groups: formats 0 and 1 (TS 36.211 table 10.1.6.1-1).
const PREAMBLE_US: [u64; 2] = [5_600, 6_400];

/// Repetitions after which a preamble pauses (TS 36.211 section 10.1.6.1).
const PREAMBLE_GAP_EVERY: u64 = 64;

/// Subframes of that pause.
const PREAMBLE_GAP: u64 = 40;

/// The length of a preamble in whole subframes.
pub fn preamble_subframes(format: u8, repetitions: u16) -> u64 {
    let repetitions = u64::from(repetitions.max(1));
    let us = repetitions * PREAMBLE_US[usize::from(format.min(1))];
    us.div_ceil(1_000) + (repetitions - 1) / PREAMBLE_GAP_EVERY * PREAMBLE_GAP
}

/// Transport block sizes of early data transmission in Msg3, in bits (TS 36.213 table 16.3.3-2).
pub const EDT_TRANSPORT_BLOCKS: [u16; 8] = [328, 408, 504, 584, 680, 808, 936, 1_000];

/// The largest transport block of NPDSCH in Release 13, in bits.
pub const NPDSCH_MAX_BITS: u16 = 680;

/// The largest transport block of NPUSCH in Release 13, in bits.
pub const NPUSCH_MAX_BITS: u16 = 1_000;

/// The largest I_TBS of Release 13.
pub const MAX_I_TBS: usize = 12;

/// The largest I_TBS of NPDSCH in an in-band carrier (TS 36.213 section 16.4.1.5.1).
pub const MAX_I_TBS_IN_BAND: usize = 10;

/// Modulation order and I_TBS of single-tone NPUSCH, by I_MCS (TS 36.213 table 16.5.1.2-1).
pub const SINGLE_TONE_MCS: [(u8, usize); 11] = [
    (1, 0),
    (1, 2),
    (2, 1),
    (2, 3),
    (2, 4),
    (2, 5),
    (2, 6),
    (2, 7),
    (2, 8),
    (2, 9),
    (2, 10),
];

/// Transport block sizes of NPDSCH in bits, by I_TBS and I_SF (TS 36.213 table 16.4.1.5.1-1). Sizes above 680 bits and the last
/// row are of Release 14.
pub const NPDSCH_BITS: [[u16; 8]; 14] = [
    [16, 32, 56, 88, 120, 152, 208, 256],
    [24, 56, 88, 144, 176, 208, 256, 344],
    [32, 72, 144, 176, 208, 256, 328, 424],
    [40, 104, 176, 208, 256, 328, 440, 568],
    [56, 120, 208, 256, 328, 408, 552, 680],
    [72, 144, 224, 328, 424, 504, 680, 872],
    [88, 176, 256, 392, 504, 600, 808, 1_032],
    [104, 224, 328, 472, 584, 680, 968, 1_224],
    [120, 256, 392, 536, 680, 808, 1_096, 1_352],
    [136, 296, 456, 616, 776, 936, 1_256, 1_544],
    [144, 328, 504, 680, 872, 1_032, 1_384, 1_736],
    [176, 376, 584, 776, 1_000, 1_192, 1_608, 2_024],
    [208, 440, 680, 904, 1_128, 1_352, 1_800, 2_280],
    [224, 488, 744, 1_032, 1_256, 1_544, 2_024, 2_536],
];

/// Transport block sizes of NPUSCH format 1 in bits, by I_TBS and I_RU (TS 36.213 table 16.5.1.2-2). Sizes above 1,000 bits and
/// the last row are of Release 14.
pub const NPUSCH_BITS: [[u16; 8]; 14] = [
    [16, 32, 56, 88, 120, 152, 208, 256],
    [24, 56, 88, 144, 176, 208, 256, 344],
    [32, 72, 144, 176, 208, 256, 328, 424],
    [40, 104, 176, 208, 256, 328, 440, 568],
    [56, 120, 208, 256, 328, 408, 552, 680],
    [72, 144, 224, 328, 424, 504, 680, 872],
    [88, 176, 256, 392, 504, 600, 808, 1_000],
    [104, 224, 328, 472, 584, 712, 1_000, 1_224],
    [120, 256, 392, 536, 680, 808, 1_096, 1_384],
    [136, 296, 456, 616, 776, 936, 1_256, 1_544],
    [144, 328, 504, 680, 872, 1_000, 1_384, 1_736],
    [176, 376, 584, 776, 1_000, 1_192, 1_608, 2_024],
    [208, 440, 680, 1_000, 1_128, 1_352, 1_800, 2_280],
    [224, 488, 744, 1_032, 1_256, 1_544, 2_024, 2_536],
];

/// The size in bits of a transport block of NPDSCH in Release 13, or `None` where Release 13 has none.
pub fn npdsch_bits(i_tbs: usize, i_sf: usize) -> Option<u16> {
    release_13(&NPDSCH_BITS, i_tbs, i_sf, NPDSCH_MAX_BITS)
}

/// The size in bits of a transport block of NPUSCH format 1 in Release 13, or `None` where Release 13 has none.
pub fn npusch_bits(i_tbs: usize, i_ru: usize) -> Option<u16> {
    release_13(&NPUSCH_BITS, i_tbs, i_ru, NPUSCH_MAX_BITS)
}

fn release_13(table: &[[u16; 8]; 14], i_tbs: usize, i_count: usize, max: u16) -> Option<u16> {
    let bits = *table.get(i_tbs)?.get(i_count)?;
    (i_tbs <= MAX_I_TBS && bits <= max).then_some(bits)
}

/// The tones of one NPUSCH transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Tones {
    /// One tone of 3.75 kHz.
    #[serde(rename = "1x3.75kHz")]
    Single3k75,
    /// One tone of 15 kHz.
    #[serde(rename = "1x15kHz")]
    Single15k,
    /// Three tones of 15 kHz.
    #[serde(rename = "3x15kHz")]
    Three,
    /// Six tones of 15 kHz.
    #[serde(rename = "6x15kHz")]
    Six,
    /// Twelve tones of 15 kHz.
    #[serde(rename = "12x15kHz")]
    Twelve,
}

/// The resource unit of NPUSCH format 1 (TS 36.211 table 10.1.2.3-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceUnit {
    /// Its length in subframes.
    pub subframes: u64,
    /// Its resource elements for data.
    pub data_elements: u16,
    /// Its resource elements for reference symbols.
    pub pilot_elements: u16,
}

impl Tones {
    /// All of them, narrowest first.
    pub const ALL: [Self; 5] = [
        Self::Single3k75,
        Self::Single15k,
        Self::Three,
        Self::Six,
        Self::Twelve,
    ];

    /// The width in bins of 3.75 kHz.
    pub const fn bins(self) -> u32 {
        match self {
            Self::Single3k75 => 1,
            Self::Single15k => 4,
            Self::Three => 12,
            Self::Six => 24,
            Self::Twelve => 48,
        }
    }

    /// Whether it is one tone.
    pub const fn is_single(self) -> bool {
        matches!(self, Self::Single3k75 | Self::Single15k)
    }

    /// The resource unit of format 1.
    pub const fn resource_unit(self) -> ResourceUnit {
        let (subframes, data_elements, pilot_elements) = match self {
            Self::Single3k75 => (32, 96, 16),
            Self::Single15k => (8, 96, 16),
            Self::Three => (4, 144, 24),
            Self::Six => (2, 144, 24),
            Self::Twelve => (1, 144, 24),
        };
        ResourceUnit {
            subframes,
            data_elements,
            pilot_elements,
        }
    }

    /// The modulation order of `i_tbs`, or `None` where single-tone transmission has no such I_TBS.
    pub fn modulation_order(self, i_tbs: usize) -> Option<u8> {
        if !self.is_single() {
            return Some(2);
        }
        let row = SINGLE_TONE_MCS.iter().find(|(_, index)| *index == i_tbs);
        row.map(|(order, _)| *order)
    }

    /// Reference symbols over which a receiver estimates the channel: those of 4 ms, of 16 ms at 3.75 kHz (TS 36.104 section A.16).
    pub const fn pilots(self) -> f64 {
        match self {
            Self::Single3k75 | Self::Single15k => 8.0,
            Self::Three => 24.0,
            Self::Six => 48.0,
            Self::Twelve => 96.0,
        }
    }
}

/// Resource elements for data in one subframe of NPDSCH or NPDCCH in a carrier of its own with two ports: 12 x 14 less 16 of
/// NRS (TS 36.211 section 10.2.6).
pub const NPDSCH_ELEMENTS: u16 = 152;

/// The same in an in-band carrier, with three symbols of LTE control and four ports of CRS.
pub const NPDSCH_ELEMENTS_IN_BAND: u16 = 104;

/// Subframes of one repetition of NPUSCH format 2 at 15 kHz (TS 36.211 table 10.1.2.3-1).
pub const HARQ_ACK_SUBFRAMES: u64 = 2;

/// Resource elements for data of one repetition of NPUSCH format 2.
pub const HARQ_ACK_ELEMENTS: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_13_ends_at_680_and_1000_bits() {
        assert_eq!(npdsch_bits(12, 2), Some(680));
        assert_eq!(npdsch_bits(12, 3), None);
        assert_eq!(npusch_bits(12, 3), Some(1_000));
        assert_eq!(npusch_bits(10, 5), Some(1_000));
        assert_eq!(npusch_bits(13, 0), None);
        let largest = |table: fn(usize, usize) -> Option<u16>| {
            let all = (0..14).flat_map(|i_tbs| (0..8).filter_map(move |count| table(i_tbs, count)));
            all.max()
        };
        assert_eq!(largest(npdsch_bits), Some(680));
        assert_eq!(largest(npusch_bits), Some(1_000));
    }

    #[test]
    fn block_sizes_grow_along_rows_and_columns() {
        for table in [NPDSCH_BITS, NPUSCH_BITS] {
            assert!(table.iter().all(|row| row.is_sorted_by(|a, b| a < b)));
            let columns = (0..8).map(|count| table.map(|row| row[count]));
            for column in columns {
                assert!(column.is_sorted_by(|a, b| a < b));
                assert!(column.iter().all(|bits| bits.is_multiple_of(8)));
            }
        }
    }

    #[test]
    fn both_tables_agree_where_both_directions_have_a_size() {
        for i_tbs in 0..=4 {
            assert_eq!(NPDSCH_BITS[i_tbs], NPUSCH_BITS[i_tbs]);
        }
    }

    #[test]
    fn every_resource_unit_has_its_share_of_reference_symbols() {
        for tones in Tones::ALL {
            let unit = tones.resource_unit();
            assert_eq!(unit.data_elements, 6 * unit.pilot_elements);
            // Tones x slots x 7 symbols; a slot is 0.5 ms at 15 kHz and 2 ms at 3.75 kHz.
            let (tone_count, slots) = match tones {
                Tones::Single3k75 => (1, unit.subframes / 2),
                Tones::Single15k => (1, unit.subframes * 2),
                _ => (u64::from(tones.bins()) / 4, unit.subframes * 2),
            };
            let elements = u64::from(unit.data_elements + unit.pilot_elements);
            assert_eq!(elements, tone_count * slots * 7);
        }
    }

    #[test]
    fn single_tone_uses_bpsk_for_two_sizes() {
        assert_eq!(Tones::Single15k.modulation_order(0), Some(1));
        assert_eq!(Tones::Single15k.modulation_order(1), Some(2));
        assert_eq!(Tones::Single15k.modulation_order(2), Some(1));
        assert_eq!(Tones::Single15k.modulation_order(11), None);
        assert_eq!(Tones::Twelve.modulation_order(12), Some(2));
    }
}
