//! Waiting for events, asleep or awake.

use std::io;
use std::time::Duration;

use mio::Events;
use wirecost_proto::{Director, Endpoint, Instant};

use super::ClientLoop;
use super::setting::Setting;

/// The loop's time is less than this behind the clock: so long a round of turns takes at most, unless a process has no CPU.
const MOST_BEHIND: Duration = Duration::from_millis(1);

impl<E, D, S> ClientLoop<E, D, S>
where
    E: Endpoint<Error: std::fmt::Display>,
    D: Director<E>,
    S: Setting,
{
    /// Waits for events until the next deadline.
    pub(super) fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let has_more = !self.unfinished_turns.is_empty() || self.shared.iter().any(|shared| shared.is_unread);
        if has_more {
            return self.poll.poll(events, Some(Duration::ZERO));
        }
        let Some(next) = self.wakes.next().into_iter().chain(self.asked_at).min() else {
            return self.poll.poll(events, None);
        };
        // A deadline that is far away needs no exact time.
        let far = S::AWAKE_BEFORE + MOST_BEHIND;
        if next.saturating_since(self.now) <= far && next.saturating_since(self.current()) <= S::AWAKE_BEFORE
        {
            return self.wait_awake(events, next);
        }
        // An early timer costs less than setting it for each message.
        if self.armed.is_none_or(|armed| next < armed || armed <= self.now) {
            self.timer.arm(&self.clock, next)?;
            self.armed = Some(next);
        }
        self.poll.poll(events, None)
    }

    /// Polls without sleeping until a deadline that is closer than a sleep would last.
    fn wait_awake(&mut self, events: &mut Events, until: Instant) -> io::Result<()> {
        let began = self.now;
        loop {
            self.poll.poll(events, Some(Duration::ZERO))?;
            if !events.is_empty() || self.now >= until {
                break;
            }
            // If the target has no other CPU, it needs this one.
            std::thread::yield_now();
            self.tick();
        }
        // Time in which another thread had the CPU does not count.
        self.counted.awake += self.now.min(until).saturating_since(began);
        Ok(())
    }
}
