//! Traffic that repeats: what it uses and what it costs once.

use wirecost_cost::{Observed, Observer, Usage, UsageMeter};
use wirecost_energy::{Account, Device, Meter, Repeated};
use wirecost_proto::calendar::Period;

/// Traffic that repeats.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// What it costs once; `None` without a device.
    pub account: Option<Account>,
    /// What it uses once.
    pub usage: Usage,
    /// Readings in it; a mean over lives may be no whole number.
    pub readings: f64,
    /// Seconds from one to the next.
    pub every: f64,
}

impl Cycle {
    /// Meters some traffic once. With `every`, its tails are over before it comes again; without, it follows on itself.
    pub fn metered(
        device: Option<&Device>,
        every: Option<f64>,
        tell: impl FnOnce(&mut dyn Observer),
    ) -> (Self, Observed) {
        let mut observers = (
            device.map(Meter::new),
            (UsageMeter::default(), Observed::default()),
        );
        tell(&mut observers);
        let (meter, (usage, observed)) = observers;
        let account = match every {
            Some(_) => meter.map(Meter::finish),
            // Traffic that follows on itself leaves no time for its last tail.
            None => meter.map(|meter| meter.account().clone()),
        };
        let cycle = Self {
            account,
            usage: usage.finish(),
            readings: 1.0,
            every: every.unwrap_or_else(|| observed.duration().as_secs_f64()),
        };
        (cycle, observed)
    }

    /// The mean of the traffic of `devices` devices. Those that have none are not in `cycles`.
    pub fn mean(cycles: &[Self], devices: usize) -> Self {
        let part = 1.0 / devices.max(1) as f64;
        let accounts: Option<Vec<Account>> = cycles.iter().map(|cycle| cycle.account.clone()).collect();
        let account = accounts.map(|mut accounts| {
            accounts.resize(devices.max(1), Account::default());
            Account::mean(&accounts)
        });
        let usage = cycles
            .iter()
            .fold(Usage::default(), |sum, cycle| sum.plus(&cycle.usage));
        Self {
            account: account.filter(|_| !cycles.is_empty()),
            usage: usage.scaled(part),
            readings: cycles.iter().map(|cycle| cycle.readings).sum::<f64>() * part,
            every: cycles.first().map_or(0.0, |cycle| cycle.every),
        }
    }

    /// What it uses in a period.
    pub fn used_in(&self, period: Period) -> Usage {
        self.usage.clone().scaled(period.times(self.every))
    }

    /// Seconds that the traffic takes once, with its tails; 0 without a device.
    pub fn seconds(&self) -> f64 {
        self.account
            .as_ref()
            .map_or(0.0, |account| account.total_nanos() as f64 / 1e9)
    }

    /// Its energy as it repeats; `None` without a device.
    pub fn repeated(&self) -> Option<Repeated<'_>> {
        let account = self.account.as_ref()?;
        Some(Repeated {
            account,
            every: self.every,
        })
    }
}
