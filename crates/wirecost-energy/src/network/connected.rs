//! Discontinuous reception while connected (C-DRX; TS 36.321 section 5.7, TS 36.331 section 6.3.2): the receiver is on until the
//! inactivity timer of C-DRX ends, then now and then in short cycles, then in long ones, until the network releases the connection.

use core::time::Duration;

use super::coverage::mean;
use super::{Impossible, exact, had, possible};
use crate::device::{Device, Paging, State, Tail};
use crate::radio::Radio;
use crate::timers::Timer;

/// C-DRX as a network sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectedDrx {
    /// How long the receiver stays on after a packet (drx-InactivityTimer).
    pub inactivity: Duration,
    /// The short cycle and how long it is kept (shortDRX-Cycle, drxShortCycleTimer); LTE alone has it.
    pub short: Option<(Duration, Duration)>,
    /// The long cycle.
    pub long: Duration,
}

impl ConnectedDrx {
    /// Words for a title.
    pub(super) fn words(&self) -> String {
        let short = self.short.map_or_else(String::new, |(cycle, kept)| {
            format!(", {} for {}", exact(cycle), exact(kept))
        });
        format!(
            "C-DRX after {}{short}, then {}",
            exact(self.inactivity),
            exact(self.long)
        )
    }

    /// Divides the time in which a device is connected.
    pub(super) fn put_into(&self, device: &mut Device) -> Result<(), Impossible> {
        let (long, short) = match device.radio {
            Radio::NbIot(_) => (Timer::DrxNbIot, None),
            Radio::Cellular(_) => (Timer::DrxLong, Some(Timer::DrxShort)),
            Radio::Wifi(_) | Radio::Ethernet(_) => return Err(Impossible::Absent("cellular radio")),
        };
        had(long, self.long)?;
        if let Some((cycle, _)) = self.short {
            had(short.ok_or(Impossible::Absent("short cycle of C-DRX"))?, cycle)?;
        }
        let listen = device.cdrx_listen.ok_or(Impossible::Absent(
            "cdrx_listen, how long it listens in a cycle of C-DRX",
        ))?;
        let index = device.connected()?;
        let mut left = device.tails[index].time;
        let mut take = |time: Duration| {
            let taken = time.min(left);
            left -= taken;
            taken
        };
        let always = (device.level(State::Listen), take(self.inactivity));
        let mut parts = vec![always];
        let cycles = self.short.into_iter().chain([(self.long, Duration::MAX)]);
        for (cycle, kept) in cycles {
            let Paging { every, listen } = possible(cycle, listen)?;
            let on = (device.level(State::Listen), listen);
            let off = (device.level(State::Idle), every - listen);
            parts.push((mean(&[on, off]), take(kept)));
        }
        let state = State::Listen;
        let tails = parts.into_iter().map(|(level, time)| Tail { state, level, time });
        device.tails.splice(index..=index, tails);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Settings;
    use crate::network::tests::modem;
    use wirecost_nbiot::config::{CdrxConfig, Levels};
    use wirecost_nbiot::npdcch::SearchSpace;
    use wirecost_nbiot::{Config, Gains, Network, Packet};
    use wirecost_proto::{Direction, Instant};

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn with(cdrx: ConnectedDrx) -> Result<Device, Impossible> {
        modem().set(&Settings {
            cdrx: Some(cdrx),
            ..Settings::default()
        })
    }

    #[test]
    fn the_connected_time_is_always_on_then_short_then_long_cycles() {
        let cdrx = ConnectedDrx {
            inactivity: ms(100),
            short: Some((ms(40), ms(160))),
            long: ms(320),
        };
        let device = with(cdrx).expect("a network has it");
        let times: Vec<Duration> = device.tails.iter().map(|tail| tail.time).collect();
        assert_eq!(times, [ms(100), ms(160), ms(9_740), ms(8_000)]);
        // 20 ms at 50 mW, and the rest of the cycle at 5 mW.
        let watts: Vec<f64> = device.tails.iter().map(|tail| tail.level.watts).collect();
        let expected = [0.05, (0.05 + 0.005) / 2.0, (0.05 + 15.0 * 0.005) / 16.0, 5e-3];
        let near = watts
            .iter()
            .zip(expected)
            .all(|(one, other)| (one / other - 1.0).abs() < 1e-9);
        assert!(near, "{watts:?}");
        assert!(
            device
                .title
                .contains("C-DRX after 0.1 s, 0.04 s for 0.16 s, then 0.32 s"),
            "{}",
            device.title
        );
    }

    /// Joules of a device in a quiet cell with C-DRX, from the begin of a report to its release, beside those of sending.
    fn joules_in_cell(device: &Device, inactivity: Duration) -> f64 {
        let mut config = Config::quiet_cell();
        config.rrc.inactivity_ms = inactivity.as_millis() as u32;
        config.cdrx.cycle_ms = Some(2_048);
        let mut network = Network::new(&config, 1).expect("a network");
        let (start, end) = (Instant::START, Instant::from_millis(60_000));
        let ue = network.arrive_with(0, Gains::fixed(&[-100.0]), start);
        network.offer(ue, Direction::Up, Packet { token: 1, bytes: 58 }, start);
        network.advance(end, &mut |_| {});
        let states = network.ue_facts(ue, end).expect("the device").states;
        let joules = |state, time: Duration| device.level(state).watts * time.as_secs_f64();
        joules(State::Listen, states.receive + states.monitor) + joules(State::Idle, states.idle_connected)
    }

    #[test]
    fn ten_cycles_of_a_silent_connection_take_the_same_in_the_cell() {
        let cdrx = CdrxConfig::default();
        let space = SearchSpace::new(&Levels::default().ce0);
        let duty = space.rmax as f64 / space.period as f64;
        let on = ms(u64::from(cdrx.on_duration_pp) * space.period);
        let device = Device {
            // In an on duration the cell's device listens in the search spaces alone.
            cdrx_listen: Some(on.mul_f64(duty)),
            ..modem()
        };
        let (short, long) = (ms(10_240), ms(10_240 + 10 * 2_048));
        let tail_joules = |inactivity| {
            let settings = Settings {
                inactivity: Some(inactivity),
                cdrx: Some(ConnectedDrx {
                    inactivity: ms(u64::from(cdrx.inactivity_pp) * space.period),
                    short: None,
                    long: ms(2_048),
                }),
                ..Settings::default()
            };
            let set = device.clone().set(&settings).expect("a network has it");
            let joules = |tail: &Tail| tail.level.watts * tail.time.as_secs_f64();
            set.tails.iter().map(joules).sum::<f64>()
        };
        let closed = tail_joules(long) - tail_joules(short);
        let cell = joules_in_cell(&device, long) - joules_in_cell(&device, short);
        assert!(
            cell > 0.0 && (closed / cell - 1.0).abs() < 0.01,
            "{closed} J, in the cell {cell} J"
        );
    }

    #[test]
    fn release_ends_it_and_cycles_that_no_network_has_are_refused() {
        let long = |long| ConnectedDrx {
            inactivity: ms(2_000),
            short: None,
            long,
        };
        let assisted = modem().set(&Settings {
            cdrx: Some(long(ms(320))),
            rai: true,
            ..Settings::default()
        });
        let times: Vec<Duration> = assisted
            .expect("both")
            .tails
            .iter()
            .map(|tail| tail.time)
            .collect();
        assert_eq!(times, [ms(1_000), Duration::ZERO, ms(8_000)]);
        let refused = with(long(ms(300))).expect_err("no such cycle").to_string();
        assert_eq!(
            refused,
            "no network has a long cycle of C-DRX on LTE of 0.3 s: the nearest is 0.32 s"
        );
        let refused = with(long(ms(20))).expect_err("always on").to_string();
        assert_eq!(
            refused,
            "the device listens 0.02 s each time, and so not every 0.02 s"
        );
        let unknown = Device {
            cdrx_listen: None,
            ..modem()
        };
        let settings = Settings {
            cdrx: Some(long(ms(320))),
            ..Settings::default()
        };
        let refused = unknown.set(&settings).expect_err("not known").to_string();
        assert_eq!(
            refused,
            "the device has no cdrx_listen, how long it listens in a cycle of C-DRX"
        );
    }
}
