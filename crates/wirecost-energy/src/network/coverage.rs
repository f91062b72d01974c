//! What coverage does to a device on NB-IoT: transmit power, transport formats and repetitions by coupling loss, as the modelled cells
//! have them (`wirecost_nbiot`), and the longer way into a connection.

use core::time::Duration;

use wirecost_nbiot::adaptation::Adaptation;
use wirecost_nbiot::config::{CoverageMeasure, PowerControl};
use wirecost_nbiot::decibel::link_budget_snr_db;
use wirecost_nbiot::network::alone::{Alone, AloneTimes};
use wirecost_nbiot::npdcch::SearchSpace;
use wirecost_nbiot::tables::Tones;
use wirecost_nbiot::{Config, StateTimes};

use super::Impossible;
use crate::device::{Device, Level, State, Wake};
use crate::radio::{NbIot, Radio};

/// The coupling loss of extreme coverage, in dB (TR 45.820 section 5.1): 20 dB beyond that of GPRS.
const EXTREME_DB: f64 = 164.0;

/// A coupling loss at which the way into a connection has no repetitions, in dB.
const GOOD_DB: f64 = 110.0;

/// The transmit power of a device whose file says none, in dBm: power class 3 (TS 36.101 section 6.2.2F).
const CLASS_3_DBM: f64 = 23.0;

/// The width of the carrier in Hz, and that of a bin of its uplink.
const CARRIER_HZ: f64 = 180e3;
const BIN_HZ: f64 = 3_750.0;

/// The coupling loss at the far end of a coverage level, in dB: the worst of it; `None` where there is no such level.
pub fn loss_of_level(level: usize) -> Option<f64> {
    let coverage = Config::default().coverage;
    let far = [coverage.mcl_ce1_db, coverage.mcl_ce2_db, EXTREME_DB];
    far.get(level).copied()
}

/// What a coupling loss does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Covered {
    /// The coverage level.
    pub(super) level: usize,
    /// Transmit power in dBm.
    pub(super) dbm: f64,
    radio: NbIot,
    /// What the way into a connection takes more than in good coverage.
    longer: StateTimes,
}

impl Covered {
    /// Of a device with this radio that sends at this power at most. In level 0 the power is what open-loop power control aims at,
    /// where it can be set (`is_controlled`); in the others it is the highest.
    pub(super) fn from_radio(
        radio: NbIot,
        loss_db: f64,
        most_dbm: Option<f64>,
        is_controlled: bool,
    ) -> Result<Self, Impossible> {
        let mut config = Config::default();
        config.coverage.measure = CoverageMeasure::CouplingLoss;
        config.radio.ue_tx_power_dbm = most_dbm.unwrap_or(CLASS_3_DBM);
        config.radio.power_control = match is_controlled {
            true => PowerControl::OpenLoop,
            false => PowerControl::Full,
        };
        let unreachable = || Impossible::Unreachable(loss_db);
        let mut alone = Alone::new(&config)
            .ok()
            .flatten()
            .ok_or(Impossible::Absent("NB-IoT connection that is resumed"))?;
        let level = alone.level(loss_db);
        let radio_of = &config.radio;
        let dbm = match is_controlled && level == 0 {
            true => radio_of.ue_tx_power_dbm.min(radio_of.power_target_dbm + loss_db),
            false => radio_of.ue_tx_power_dbm,
        };
        let mut adaptation = Adaptation::new(&config);
        let down_db = link_budget_snr_db(radio_of.enb_tx_power_dbm, loss_db, CARRIER_HZ, radio_of.ue_nf_db);
        let up_db = link_budget_snr_db(dbm, loss_db, BIN_HZ, radio_of.enb_nf_db);
        let up = adaptation.fastest_npusch(up_db).ok_or_else(unreachable)?;
        let down = adaptation.fastest_npdsch(down_db).ok_or_else(unreachable)?;
        let space = SearchSpace::new(&config.levels.all()[level]);
        let dci = adaptation.npdcch(&space, down_db);
        // From a block to the search space of the next one, half a period in the mean, its DCI, and the delay until the block.
        let grant_ms = u64::from(config.mac.npdcch_monitor_gap_ms + config.mac.npusch_after_dci_ms)
            + space.period / 2
            + dci;
        let [near, far] = [GOOD_DB, loss_db].map(|loss| alone.mean_access(loss));
        Ok(Self {
            level,
            dbm,
            radio: NbIot {
                tones: up.tones,
                i_tbs_up: up.i_tbs.into(),
                repetitions_up: up.repetitions.into(),
                i_tbs_down: down.i_tbs.into(),
                repetitions_down: down.repetitions.into(),
                grant: Duration::from_millis(grant_ms),
                ..radio
            },
            longer: longer(&near, &far),
        })
    }

    /// Words for a title.
    pub(super) fn words(&self, loss_db: f64) -> String {
        let NbIot {
            tones,
            repetitions_up,
            repetitions_down,
            ..
        } = self.radio;
        let tones = match tones {
            Tones::Single3k75 => "1 tone of 3.75 kHz",
            Tones::Single15k => "1 tone",
            Tones::Three => "3 tones",
            Tones::Six => "6 tones",
            Tones::Twelve => "12 tones",
        };
        format!(
            "coupling loss {loss_db} dB (level {}: {:.0} dBm, {tones}, {repetitions_up} x up, {repetitions_down} x down)",
            self.level, self.dbm
        )
    }

    /// Puts it into a device, whose power of sending is that of the transmit power already.
    pub(super) fn put_into(&self, device: &mut Device) {
        device.radio = Radio::NbIot(self.radio);
        for key in [
            "tones",
            "block_index_up",
            "repetitions_up",
            "block_index_down",
            "repetitions_down",
            "grant",
        ] {
            device.is_set(&format!("radio.nbiot.{key}"), 0);
        }
        let Some(wake) = device.wake else {
            return;
        };
        let times = &self.longer;
        let parts = [
            (device.level(State::Transmit), times.transmit),
            (device.level(State::Receive), times.receive),
            (device.level(State::Listen), times.monitor),
            (device.level(State::Idle), times.idle_connected),
            (wake.level, wake.time),
        ];
        device.wake = Some(Wake {
            time: parts.iter().map(|(_, time)| *time).sum(),
            level: mean(&parts),
        });
    }
}

/// The mean level of some times.
pub(super) fn mean(parts: &[(Level, Duration)]) -> Level {
    let seconds: f64 = parts.iter().map(|(_, time)| time.as_secs_f64()).sum();
    let of = |watts: fn(&Level) -> f64| -> f64 {
        parts
            .iter()
            .map(|(level, time)| watts(level) * time.as_secs_f64())
            .sum()
    };
    let (joules, spread) = (of(|level| level.watts), of(|level| level.watts * level.spread));
    Level {
        watts: if seconds > 0.0 { joules / seconds } else { 0.0 },
        spread: if joules > 0.0 { spread / joules } else { 0.0 },
    }
}

fn longer(near: &AloneTimes, far: &AloneTimes) -> StateTimes {
    let more = |of: fn(&StateTimes) -> Duration| of(&far.states).saturating_sub(of(&near.states));
    StateTimes {
        transmit: more(|times| times.transmit),
        receive: more(|times| times.receive),
        monitor: more(|times| times.monitor),
        idle_connected: more(|times| times.idle_connected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Transmitter;
    use crate::network::Settings;
    use crate::network::tests::{modem, spent};

    /// A modem of one coverage level, without repetitions, that sends at 0 to 23 dBm.
    fn nb_iot() -> Device {
        Device {
            radio: Radio::NbIot(NbIot {
                tones: Tones::Twelve,
                i_tbs_up: 10,
                repetitions_up: 1,
                i_tbs_down: 10,
                repetitions_down: 1,
                link_bytes: 7,
                grant: Duration::from_millis(30),
            }),
            transmitter: Some(Transmitter {
                dbm: 23.0,
                least: Level {
                    watts: 0.15,
                    spread: 0.1,
                },
            }),
            ..modem()
        }
    }

    fn at(loss_db: f64, tx_power: Option<f64>) -> Result<Device, Impossible> {
        nb_iot().set(&Settings {
            coupling_loss: Some(loss_db),
            tx_power,
            ..Settings::default()
        })
    }

    fn radio(device: &Device) -> NbIot {
        match device.radio {
            Radio::NbIot(radio) => radio,
            _ => panic!("another radio"),
        }
    }

    #[test]
    fn repetitions_and_transmit_power_follow_from_the_coupling_loss() {
        let [near, mid, deep] = [115.0, 144.0, 164.0].map(|loss| at(loss, None).expect("a coverage"));
        // -105 dBm at the cell over 115 dB: 10 dBm; level 0 ends at full power.
        assert!(
            near.title
                .contains("coupling loss 115 dB (level 0: 10 dBm, 12 tones, 1 x up, 1 x down)"),
            "{}",
            near.title
        );
        assert!(mid.title.contains("level 0: 23 dBm") && deep.title.contains("level 2: 23 dBm"));
        assert!(near.level(State::Transmit).watts < mid.level(State::Transmit).watts);
        assert_eq!(mid.level(State::Transmit), nb_iot().level(State::Transmit));
        assert!(
            radio(&deep).repetitions_up > radio(&mid).repetitions_up && radio(&deep).repetitions_down > 1
        );
        assert!(radio(&deep).grant > radio(&mid).grant);
        let wakes = [&near, &mid, &deep].map(|device| device.wake.expect("a wake-up").time);
        assert!(wakes.is_sorted() && wakes[2] > wakes[1], "{wakes:?}");
        let energies = [near, mid, deep].map(|device| spent(&device, 100, &[0]).total().joules);
        assert!(energies.is_sorted(), "{energies:?}");
    }

    #[test]
    fn a_transmit_power_that_is_set_is_kept_and_reaches_less_far() {
        let weak = at(140.0, Some(14.0)).expect("a coverage");
        assert!(weak.title.contains("level 0: 14 dBm"), "{}", weak.title);
        let strong = at(140.0, Some(23.0)).expect("a coverage");
        let time = |device: &Device| device.radio.airtime(wirecost_proto::Direction::Up, 200).data;
        assert!(time(&weak) > time(&strong));
    }

    #[test]
    fn no_format_reaches_over_any_loss_and_other_radios_have_no_repetitions() {
        let refused = at(190.0, None).expect_err("too far");
        assert_eq!(
            refused.to_string(),
            "no transport format of NB-IoT reaches over a coupling loss of 190 dB"
        );
        let settings = Settings {
            coupling_loss: Some(144.0),
            ..Settings::default()
        };
        let refused = modem().set(&settings).expect_err("rates alone");
        assert_eq!(
            refused.to_string(),
            "the device has no repetitions of NB-IoT (radio.nbiot)"
        );
    }

    #[test]
    fn levels_end_at_the_coupling_losses_of_3gpp() {
        assert_eq!(
            [0, 1, 2, 3].map(loss_of_level),
            [Some(144.0), Some(154.0), Some(164.0), None]
        );
    }
}
