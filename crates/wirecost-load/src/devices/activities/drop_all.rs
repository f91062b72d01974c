//! Drops all connections at one instant, as when a server, a router or the power fails.

use wirecost_proto::Instant;

use wirecost_scenario::expected::Matching;
use wirecost_scenario::options::load::Who;

use crate::devices::activity::{Activity, Part};
use crate::devices::connections::State;

/// Drops all connections without a message of the application protocol.
#[derive(Debug)]
pub struct DropAll {
    who: Who,
    reset: bool,
    /// The subscriptions that the senders' wills match.
    wills: Matching,
    at: Instant,
    has_begun: bool,
}

impl DropAll {
    /// Drops the connections of the devices `who`, by RST or by FIN. `wills` are the subscriptions that the senders'
    /// wills match.
    pub const fn new(who: Who, reset: bool, wills: Matching) -> Self {
        Self {
            who,
            reset,
            wills,
            at: Instant::START,
            has_begun: false,
        }
    }
}

impl Activity for DropAll {
    fn begin(&mut self, _: &mut Part, at: Instant) {
        self.at = at;
    }

    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        if now < self.at {
            return Some(self.at);
        }
        if std::mem::replace(&mut self.has_begun, true) {
            return None;
        }
        for device in part.devices(self.who) {
            match part.connections.state(device) {
                State::Up => {
                    let wills = self.wills.of_device(device);
                    // A subscriber's own will goes to nobody who counts it.
                    if device < part.senders {
                        part.tracker.now(now).deliveries.expected += u64::from(wills);
                    }
                    part.connections.abort(device, self.reset);
                }
                State::Connecting | State::Closing => part.connections.abort(device, self.reset),
                // It may be waiting for its next attempt, and would come back in the middle of the phase.
                State::Down => part.connections.stay_down(device),
            }
        }
        None
    }

    fn is_done(&self, part: &Part, _: Instant) -> bool {
        let is_down = |device| part.connections.state(device) == State::Down;
        self.has_begun && part.devices(self.who).all(is_down)
    }

    // The phase is over at once anyway.
    fn stop(&mut self, _: &mut Part, _: Instant, _: Instant) {}
}
