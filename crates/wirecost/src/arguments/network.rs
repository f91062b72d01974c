//! What a network or an access point sets on a device: the options of every command that models its energy.

use std::time::Duration;

use clap::Args;
use wirecost_energy::network::Settings;
use wirecost_proto::units::parse_duration;
use wirecost_scenario::electric;

use crate::exit::Failure;

/// Timers, paging and beacons in place of those of the device file.
#[derive(Clone, Debug, Default, Args)]
pub struct NetworkArguments {
    /// Power saving mode: how long the device can be reached after a connection (T3324), and the time between tracking area updates
    /// (T3412), e.g. active=8s,tau=24h [default: those of the device, without updates]
    #[arg(long, value_name = "active=TIME,tau=TIME", requires = "device", value_parser = psm)]
    pub psm: Option<Psm>,

    /// The device can be reached between its messages: cycle of extended discontinuous reception, with a paging window of 2.56 s
    #[arg(long, value_name = "TIME", requires = "device", value_parser = parse_duration)]
    pub edrx: Option<Duration>,

    /// The device asks for the release of its connection with its last packet (release assistance): 1 s later it is idle
    #[arg(long, requires = "device")]
    pub rai: bool,

    /// How long the network keeps a connection after its last packet [default: that of the device]
    #[arg(long, value_name = "TIME", requires = "device", value_parser = parse_duration)]
    pub inactivity: Option<Duration>,

    /// Transmit power, e.g. 10dBm: what sending takes grows with its milliwatts [default: that of the device]
    #[arg(long, value_name = "DBM", requires = "device", value_parser = decibel_milliwatts, allow_hyphen_values = true)]
    pub tx_power: Option<f64>,

    /// Beacons from one that the device listens to, to the next, each 102.4 ms after the other [default: those of the device]
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
        }
    }

    /// Refuses the timers of a network where a modelled cell has its own.
    ///
    /// # Errors
    /// One of them is given.
    pub fn refuse_timers_of_a_cell(&self) -> Result<(), Failure> {
        let given = [
            ("--psm", self.psm.is_some()),
            ("--edrx", self.edrx.is_some()),
            ("--rai", self.rai),
            ("--inactivity", self.inactivity.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag} has no effect on a device in a modelled NB-IoT cell, which has timers of its own"
            ))
            .with_hint("leave it out here, or set the cell's own in a run of wirecost nbiot, e.g. --set idle.mode=psm")),
        }
    }
}

fn decibel_milliwatts(text: &str) -> Result<f64, String> {
    electric::decibel_milliwatts(text).map_err(|error| error.to_string())
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
