//! The life of a device as a comparison in virtual time: the same cells with an interval, and each way to use a connection.

use std::time::Duration;

use wirecost_proto::calendar::DAY_SECONDS;
use wirecost_security::Start;

use super::compare::{Engine, Options, Schedule, Target};
use crate::link::Translator;

/// The most readings of a kept connection.
pub const MOST_READINGS: u64 = 288;
/// Devices whose lives are simulated, if the run has as many.
pub const DEVICES: u32 = 5;
/// The same where packets are lost.
pub const DEVICES_UNDER_LOSS: u32 = 20;

/// What a life has that the comparison may not have.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// From one reading to the next.
    pub interval: Duration,
    /// Seconds between keep-alives; `None` for those of the comparison.
    pub keep_alive: Option<u16>,
    /// The address translator, in place of that of the links.
    pub translator: Translator,
    /// How long a session lasts; `None` for ever.
    pub session: Option<Duration>,
}

impl Schedule {
    /// The ways to use a connection: one for each reading, and one that is kept for a day, or for as long as a session lasts.
    pub fn lives(interval: Duration, session: Option<Duration>) -> Vec<Self> {
        let of = |messages| Self {
            messages,
            warm_up: false,
            interval: Some(interval),
            keep_alive: None,
        };
        let readings = |seconds: f64| (seconds / interval.as_secs_f64()) as u64;
        // At least two: a connection with one reading is the other way.
        let day = readings(DAY_SECONDS).clamp(2, MOST_READINGS);
        // A session shorter than two intervals ends before the second reading: then no connection is kept.
        let kept = session.map_or(day, |session| readings(session.as_secs_f64()).clamp(1, day));
        match kept {
            1 => vec![of(1)],
            kept => vec![of(1), of(kept)],
        }
    }
}

impl Options {
    /// Whether a link loses packets.
    pub fn loses(&self) -> bool {
        let loses = |link: &wirecost_link::LinkConfig| link.up.loss.rate() + link.down.loss.rate() > 0.0;
        self.links.iter().any(loses)
    }

    /// The lives of the comparison's devices: its stacks, starts, contents, links and seed, in virtual time with wirecost's own
    /// server. Sessions that end have a full handshake, so that cold starts are simulated beside the others.
    #[must_use]
    pub fn lives(&self, asked: &Asked) -> Self {
        let mut lives = self.clone();
        lives.engine = Engine::Sim;
        lives.target = Target::Builtin;
        lives.running = None;
        // Options of live runs say nothing in virtual time, and `validate` would refuse them.
        lives.medium = None;
        lives.shared_link = None;
        lives.shard = None;
        // Nothing is captured.
        lives.keys = false;
        lives.sending.offload = false;
        // Years of a battery must not follow the settle time of a measurement (docs/decisions/0050).
        lives.settle = Self::new(Vec::new()).settle;
        lives.schedules = Schedule::lives(asked.interval, asked.session);
        lives.samples = match self.loses() {
            // Where packets are lost lives differ, and a mean needs more of them.
            true => DEVICES_UNDER_LOSS,
            // Without loss lives differ by little, and each takes long.
            false => self.samples.min(DEVICES),
        };
        if let Some(keep_alive) = asked.keep_alive {
            lives.keep_alive = keep_alive;
        }
        for link in &mut lives.links {
            link.nat = asked.translator.on(link.nat);
        }
        if asked.session.is_some() && !lives.starts.contains(&Start::Cold) {
            lives.starts.push(Start::Cold);
        }
        lives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(minutes: u64, session: Option<u64>) -> Vec<u64> {
        let of_minutes = |minutes| Duration::from_secs(60 * minutes);
        let schedules = Schedule::lives(of_minutes(minutes), session.map(of_minutes));
        schedules.iter().map(|schedule| schedule.messages).collect()
    }

    #[test]
    fn a_connection_is_kept_for_a_day_or_for_its_session() {
        assert_eq!(readings(15, None), [1, 96]);
        assert_eq!(readings(1, None), [1, MOST_READINGS]);
        assert_eq!(readings(3_000, None), [1, 2]);
        assert_eq!(readings(15, Some(60)), [1, 4]);
        assert_eq!(readings(15, Some(10)), [1]);
        assert_eq!(readings(15, Some(100_000)), [1, 96]);
    }
}
