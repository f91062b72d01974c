//! What opens the packets of a load's link: the secrets of its connections, on their way from the devices to the capture.
//!
//! Every part keeps those of its own devices, and says them when its loop has ended and nothing is measured any more. From
//! a worker process they come over the pipe that everything else comes over. Before the capture no file holds them.

use std::fmt;

use serde::{Deserialize, Serialize};
use wirecost_security::KeyLog;

use super::destination::Destination;
use super::options::LoadOptions;
use crate::stack::Channel;

/// Lines of a key log.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLines(String);

impl KeyLines {
    /// What a key log has collected; it has nothing any more then.
    pub fn of(log: &KeyLog) -> Self {
        Self(log.take())
    }

    /// Adds the lines of others.
    pub fn add(&mut self, others: Self) {
        if self.0.is_empty() {
            *self = others;
        } else {
            self.0.push_str(&others.0);
        }
    }

    /// The lines, each with its end.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for KeyLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Secrets stay out of logs.
        f.debug_struct("KeyLines").finish_non_exhaustive()
    }
}

/// The OSCORE contexts of a load's devices, which no key log can hold; `None` where there are none, or they are not kept.
pub fn oscore_contexts(options: &LoadOptions, destination: &Destination) -> Option<String> {
    if !options.keeps_keys() || options.stack.channel != Channel::Oscore {
        return None;
    }
    let devices = options.clients.saturating_add(options.receivers());
    destination.oscore_contexts(u16::try_from(devices).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(random: u8) -> KeyLines {
        let log = KeyLog::new();
        log.append("CLIENT_RANDOM", &[random], &[0xcd]);
        KeyLines::of(&log)
    }

    #[test]
    fn the_lines_of_all_parts_are_there_and_none_is_printed() {
        let mut all = KeyLines::default();
        all.add(lines(1));
        all.add(lines(2));
        assert_eq!(all.text(), "CLIENT_RANDOM 01 cd\nCLIENT_RANDOM 02 cd\n");
        assert!(!format!("{all:?}").contains("cd"));
    }
}
