//! Connections are closed as the protocol does it.

use wirecost_proto::Instant;
use wirecost_proto::script::Context;
use wirecost_stack::Command;

use crate::activity::{Activity, Part};
use crate::fleet::{NextStep, State};

/// Closes what is open and leaves what is not.
#[derive(Debug, Default)]
pub struct Close {
    has_begun: bool,
}

impl Activity for Close {
    fn begin(&mut self, part: &mut Part, _: Instant) {
        self.has_begun = true;
        for device in 0..part.fleet.len() {
            match part.fleet.state(device) {
                State::Up => part.fleet.wish(device, NextStep::Close),
                State::Connecting => part.fleet.abort(device, false),
                State::Down => part.fleet.stay_down(device),
                State::Closing => {}
            }
        }
    }

    fn due(&mut self, _: &mut Part, _: Instant) -> Option<Instant> {
        None
    }

    fn next(&mut self, _: &mut Part, _: usize, _: Context) -> Option<Command> {
        None
    }

    fn is_done(&self, part: &Part, _: Instant) -> bool {
        self.has_begun && part.fleet.count(State::Down) == part.fleet.len()
    }

    // A close is bounded by itself.
    fn stop(&mut self, _: &mut Part, _: Instant, _: Instant) {}
}
