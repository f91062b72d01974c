//! The times that a cellular network can give a device, as 3GPP encodes them.
//!
//! - T3324, how long a device can be reached before power saving: GPRS Timer 2 (TS 24.008 section 10.5.7.4, coded as 10.5.7.3)
//! - T3412, how often it reports its tracking area: GPRS Timer 3 (section 10.5.7.4a)
//! - the cycle of extended discontinuous reception (section 10.5.5.32)
//! - cycles of discontinuous reception while connected (TS 36.331 sections 6.3.2, DRX-Config, and 6.7.3.2, DRX-Config-NB)

use core::time::Duration;

use wirecost_nbiot::config::CDRX_CYCLES_MS;

/// The most steps of a unit: the value has five bits.
const STEPS: u64 = 31;

/// Units of GPRS Timer 2 in seconds: 2 seconds, 1 minute, 6 minutes.
const GPRS_TIMER_2: [u64; 3] = [2, 60, 360];

/// Units of GPRS Timer 3 in seconds: 2 and 30 seconds, 1 and 10 minutes, 1, 10 and 320 hours.
const GPRS_TIMER_3: [u64; 7] = [2, 30, 60, 600, 3_600, 36_000, 1_152_000];

/// Cycles of LTE (WB-S1 mode) in units of 10 ms: a value of four bits each.
const EDRX_LTE: [u64; 14] = [
    512, 1_024, 2_048, 4_096, 6_144, 8_192, 10_240, 12_288, 14_336, 16_384, 32_768, 65_536, 131_072, 262_144,
];

/// Cycles of NB-IoT (NB-S1 mode) in units of 10 ms.
const EDRX_NB_IOT: [u64; 10] = [
    2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576,
];

/// Long cycles of C-DRX on LTE in ms.
const DRX_LONG: [u64; 16] = [
    10, 20, 32, 40, 64, 80, 128, 160, 256, 320, 512, 640, 1_024, 1_280, 2_048, 2_560,
];

/// Short cycles of C-DRX on LTE in ms.
const DRX_SHORT: [u64; 16] = [2, 5, 8, 10, 16, 20, 32, 40, 64, 80, 128, 160, 256, 320, 512, 640];

wirecost_proto::named! {
    /// A timer of a network.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Timer {
        /// T3324: the active time before power saving.
        Active => "an active time (T3324)",
        /// T3412, the extended value: the time from one tracking area update to the next.
        Update => "a time between tracking area updates (T3412)",
        /// The cycle of extended discontinuous reception on LTE and LTE-M.
        EdrxLte => "a cycle of eDRX on LTE",
        /// The same on NB-IoT.
        EdrxNbIot => "a cycle of eDRX on NB-IoT",
        /// The long cycle of discontinuous reception while connected, on LTE and LTE-M.
        DrxLong => "a long cycle of C-DRX on LTE",
        /// The short one.
        DrxShort => "a short cycle of C-DRX on LTE",
        /// The cycle on NB-IoT, which has one.
        DrxNbIot => "a cycle of C-DRX on NB-IoT",
    }
}

impl Timer {
    /// The time that a network can have which is nearest to `asked`; of two equally near ones the shorter.
    pub fn nearest(self, asked: Duration) -> Duration {
        let all = self.millis().into_iter().map(Duration::from_millis);
        all.min_by_key(|one| (one.abs_diff(asked), *one)).unwrap_or(asked)
    }

    /// Whether a network can have this time.
    pub fn has(self, time: Duration) -> bool {
        self.nearest(time) == time
    }

    /// All times in milliseconds.
    fn millis(self) -> Vec<u64> {
        let stepped = |units: &[u64]| {
            let each = units
                .iter()
                .flat_map(|unit| (0..=STEPS).map(move |step| unit * step * 1_000));
            each.collect::<Vec<u64>>()
        };
        match self {
            Self::Active => stepped(&GPRS_TIMER_2),
            Self::Update => stepped(&GPRS_TIMER_3)
                .into_iter()
                // A time of zero would mean updates without a pause.
                .filter(|time| *time > 0)
                .collect(),
            Self::EdrxLte => EDRX_LTE.map(|cycle| cycle * 10).to_vec(),
            Self::EdrxNbIot => EDRX_NB_IOT.map(|cycle| cycle * 10).to_vec(),
            Self::DrxLong => DRX_LONG.to_vec(),
            Self::DrxShort => DRX_SHORT.to_vec(),
            Self::DrxNbIot => CDRX_CYCLES_MS.map(u64::from).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn times_of_the_encodings_are_had_and_others_have_a_nearest() {
        assert!(Timer::Active.has(seconds(8)) && Timer::Active.has(seconds(0)));
        assert_eq!(
            Timer::Active.nearest(seconds(9)),
            seconds(8),
            "2 s steps, the shorter of two"
        );
        assert_eq!(
            Timer::Active.nearest(seconds(100)),
            seconds(120),
            "minutes above 62 s"
        );
        assert_eq!(
            Timer::Active.nearest(seconds(86_400)),
            seconds(31 * 360),
            "the longest"
        );
        assert!(Timer::Update.has(seconds(86_400)), "24 steps of an hour");
        assert_eq!(
            Timer::Update.nearest(seconds(4_300)),
            seconds(4_200),
            "70 min is 7 steps of 10 min"
        );
        assert_eq!(Timer::Update.nearest(seconds(0)), seconds(2), "0 is no period");
    }

    #[test]
    fn cycles_of_edrx_differ_between_lte_and_nb_iot() {
        let cycle = |millis| Duration::from_millis(millis);
        assert!(Timer::EdrxLte.has(cycle(5_120)) && !Timer::EdrxNbIot.has(cycle(5_120)));
        assert_eq!(Timer::EdrxNbIot.nearest(cycle(5_120)), cycle(20_480));
        assert!(Timer::EdrxLte.has(cycle(81_920)) && Timer::EdrxNbIot.has(cycle(81_920)));
        assert_eq!(
            Timer::EdrxLte.nearest(cycle(10_485_760)),
            cycle(2_621_440),
            "the longest of LTE"
        );
        assert!(Timer::EdrxNbIot.has(cycle(10_485_760)));
    }
}
