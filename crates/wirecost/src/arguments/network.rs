//! What a network or an access point sets on a device: the options of every command that models its energy.

use std::time::Duration;

use clap::Args;
use wirecost_energy::device::NetworkLoss;
use wirecost_energy::network::{ConnectedDrx, Settings, loss_of_level};
use wirecost_proto::units::parse_duration;
use wirecost_scenario::electric;
use wirecost_scenario::link::coupling_loss;

use crate::exit::Failure;

/// Timers, paging, beacons and coverage in place of those of the device file.
#[derive(Clone, Debug, Default, Args)]
pub struct NetworkArguments {
    /// Power saving mode: active time after a connection (T3324) and time between tracking area updates (T3412), e.g.
    /// active=8s,tau=24h [default: those of the device, without updates]
    #[arg(long, value_name = "active=TIME,tau=TIME", requires = "device", value_parser = psm)]
    pub psm: Option<Psm>,

    /// Reachable between messages: eDRX cycle, paging window of 2.56 s
    #[arg(long, value_name = "TIME", requires = "device", value_parser = parse_duration)]
    pub edrx: Option<Duration>,

    /// Release assistance: 1 s after its last packet it is idle
    #[arg(long, requires = "device")]
    pub rai: bool,

    /// How long a silent connection is kept [default: the device's]
    #[arg(long, value_name = "TIME", requires = "device", value_parser = parse_duration)]
    pub inactivity: Option<Duration>,

    /// Transmit power, e.g. 10dBm [default: the device's]
    #[arg(long, value_name = "DBM", requires = "device", value_parser = decibel_milliwatts, allow_hyphen_values = true)]
    pub tx_power: Option<f64>,

    /// Coverage on NB-IoT: level 0 to 2, or coupling loss, e.g. 150dB
    #[arg(long, value_name = "LEVEL|DB", requires = "device", value_parser = coverage)]
    pub coverage: Option<f64>,

    /// DRX while connected: inactivity=100ms,short=160msx4,long=320ms
    #[arg(long, value_name = "KEY=TIME,...", requires = "device", value_parser = connected_drx)]
    pub cdrx: Option<ConnectedDrx>,

    /// Losses of its network: every=30d,search=1min [default: none]
    #[arg(long, value_name = "KEY=TIME,...", requires = "device", value_parser = attach)]
    pub attach: Option<NetworkLoss>,

    /// Every how many beacons it listens [default: the device's]
    #[arg(long, value_name = "N", requires = "device", value_parser = clap::value_parser!(u32).range(1..=255))]
    pub dtim: Option<u32>,
}

/// Times of power saving mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Psm {
    active: Option<Duration>,
    tau: Option<Duration>,
}

impl NetworkArguments {
    /// What is set.
    pub fn settings(&self) -> Settings {
        let psm = self.psm.unwrap_or_default();
        Settings {
            active: psm.active,
            tau: psm.tau,
            inactivity: self.inactivity,
            rai: self.rai,
            edrx: self.edrx,
            dtim: self.dtim,
            tx_power: self.tx_power,
            coupling_loss: self.coverage,
            cdrx: self.cdrx,
            attach: self.attach,
        }
    }

    /// Refuses timers and coverage where a modelled cell has its own.
    ///
    /// # Errors
    /// One of them is given.
    pub fn refuse_timers_of_a_cell(&self) -> Result<(), Failure> {
        let given = [
            ("--psm", self.psm.is_some()),
            ("--edrx", self.edrx.is_some()),
            ("--rai", self.rai),
            ("--inactivity", self.inactivity.is_some()),
            ("--coverage", self.coverage.is_some()),
            ("--cdrx", self.cdrx.is_some()),
            ("--attach", self.attach.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag} has no effect on a device in a modelled NB-IoT cell, which has timers and coverage of its own"
            ))
            .with_hint("leave it out here, or set the cell's own in a run of wirecost nbiot, e.g. --set idle.mode=psm or --set cdrx.cycle_ms=2048")),
        }
    }
}

fn decibel_milliwatts(text: &str) -> Result<f64, String> {
    electric::decibel_milliwatts(text).map_err(|error| error.to_string())
}

fn coverage(text: &str) -> Result<f64, String> {
    if let Ok(level) = text.parse::<usize>() {
        return loss_of_level(level).ok_or_else(|| "there are levels 0, 1 and 2".to_owned());
    }
    coupling_loss(text).map_err(|error| format!("{error}, or a level: 0, 1 or 2"))
}

fn connected_drx(text: &str) -> Result<ConnectedDrx, String> {
    let (mut inactivity, mut short, mut long) = (None, None, None);
    for part in text.split(',') {
        let wrong =
            || format!("{part:?} is no time of C-DRX: write inactivity=100ms,short=160msx4,long=320ms");
        let (name, value) = part.split_once('=').ok_or_else(wrong)?;
        let time = |text: &str| parse_duration(text).map_err(|error| error.to_string());
        let is_first = match name.trim() {
            "inactivity" => inactivity.replace(time(value)?).is_none(),
            "long" => long.replace(time(value)?).is_none(),
            "short" => {
                let (cycle, count) = value.rsplit_once('x').ok_or_else(wrong)?;
                let cycle = time(cycle)?;
                let count: u32 = count.trim().parse().map_err(|_| wrong())?;
                short.replace((cycle, cycle.saturating_mul(count))).is_none()
            }
            _ => return Err(wrong()),
        };
        if !is_first {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(ConnectedDrx {
        inactivity: inactivity.unwrap_or_default(),
        short,
        long: long.ok_or("give the long cycle, e.g. long=320ms")?,
    })
}

fn attach(text: &str) -> Result<NetworkLoss, String> {
    let (mut every, mut search) = (None, None);
    for part in text.split(',') {
        let wrong = || format!("{part:?} is no time of an attach: write every=30d,search=1min");
        let (name, time) = part.split_once('=').ok_or_else(wrong)?;
        let slot = match name.trim() {
            "every" => &mut every,
            "search" => &mut search,
            _ => return Err(wrong()),
        };
        let time = parse_duration(time).map_err(|error| error.to_string())?;
        if slot.replace(time).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(NetworkLoss {
        every: every.ok_or("say how often, e.g. every=30d")?,
        search,
    })
}

fn psm(text: &str) -> Result<Psm, String> {
    let mut psm = Psm::default();
    for part in text.split(',') {
        let (name, time) = part
            .split_once('=')
            .ok_or("write active=8s, tau=24h, or both with a comma")?;
        let time = parse_duration(time).map_err(|error| error.to_string())?;
        let slot = match name.trim() {
            "active" => &mut psm.active,
            "tau" => &mut psm.tau,
            other => {
                return Err(format!(
                    "{other:?} is no time of power saving: write active=8s,tau=24h"
                ));
            }
        };
        // Which of both would stand is a matter of the parser, and not of what the user meant.
        if slot.replace(time).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(psm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_refused_where_a_modelled_cell_has_its_own() {
        let of_cell = NetworkArguments {
            tx_power: Some(10.0),
            ..NetworkArguments::default()
        };
        assert!(of_cell.refuse_timers_of_a_cell().is_ok());
        let of_network = NetworkArguments { rai: true, ..of_cell };
        let refused = of_network.refuse_timers_of_a_cell().expect_err("a timer");
        assert!(refused.to_string().starts_with("--rai has no effect"));
    }

    #[test]
    fn coverage_is_a_level_or_a_coupling_loss() {
        assert_eq!(
            ["0", "1", "2", "150dB", "146.5 dB"].map(coverage),
            [Ok(144.0), Ok(154.0), Ok(164.0), Ok(150.0), Ok(146.5)]
        );
        for wrong in ["3", "-1", "150", "CE1", "20dB", "NaNdB", "dB", ""] {
            assert!(coverage(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn connected_drx_has_a_long_cycle_and_may_have_the_others() {
        let ms = Duration::from_millis;
        let all = connected_drx("inactivity=100ms,short=40msx4,long=320ms");
        assert_eq!(
            all,
            Ok(ConnectedDrx {
                inactivity: ms(100),
                short: Some((ms(40), ms(160))),
                long: ms(320),
            })
        );
        assert_eq!(connected_drx("long=2.56s").map(|cdrx| cdrx.short), Ok(None));
        for wrong in [
            "short=40msx4",
            "320ms",
            "long=1",
            "short=40ms,long=320ms",
            "long=1s,long=2s",
            "on=2ms",
        ] {
            assert!(connected_drx(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_attach_says_how_often_and_may_say_how_long_the_search_is() {
        let day = Duration::from_secs(86_400);
        let both = NetworkLoss {
            every: 30 * day,
            search: Some(Duration::from_secs(60)),
        };
        assert_eq!(attach("every=30d,search=1min"), Ok(both));
        assert_eq!(attach("every=1d").map(|one| one.search), Ok(None));
        for wrong in [
            "30d",
            "search=1min",
            "every=1",
            "every=1d,every=2d",
            "each=1d",
            "",
        ] {
            assert!(attach(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn power_saving_has_an_active_time_a_period_or_both() {
        let both = psm("active=8s,tau=24h").expect("both");
        assert_eq!(
            (both.active, both.tau),
            (Some(Duration::from_secs(8)), Some(Duration::from_secs(86_400)))
        );
        assert_eq!(psm("tau=1h").expect("one").active, None);
        for wrong in ["8s", "active", "active=8", "t3324=8s", "active=8s,active=9s"] {
            assert!(psm(wrong).is_err(), "{wrong}");
        }
    }
}
