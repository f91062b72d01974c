//! Message ids in sequence, none used twice within its lifetime (RFC 7252 section 4.4).

use core::time::Duration;

use wirecost_proto::Instant;

/// Ids whose last use is remembered together.
const RUN: usize = 1024;
const RUNS: usize = (1 << 16) / RUN;

/// The next id, and when each run of 1,024 ids was last drawn from.
#[derive(Debug)]
pub(crate) struct MessageIds {
    next: u16,
    last_use: [Option<Instant>; RUNS],
}

impl MessageIds {
    pub(crate) fn new(first: u16) -> Self {
        Self {
            next: first,
            last_use: [None; RUNS],
        }
    }

    /// The next id, taken for `lifetime`.
    ///
    /// # Errors
    /// All 65,536 ids are taken; the instant is when the next one is free.
    pub(crate) fn take(&mut self, lifetime: Duration, now: Instant) -> Result<u16, Instant> {
        let id = self.next;
        let begins_run = usize::from(id).is_multiple_of(RUN);
        let Some(last_use) = self.last_use.get_mut(usize::from(id) / RUN) else {
            return Ok(id);
        };
        let free = last_use
            .map(|at| at + lifetime)
            .filter(|at| begins_run && *at > now);
        if let Some(at) = free {
            return Err(at);
        }
        *last_use = Some(now);
        self.next = id.wrapping_add(1);
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_again_only_after_its_lifetime() {
        let lifetime = Duration::from_secs(247);
        let mut ids = MessageIds::new(500);
        let start = Instant::from_millis(10);
        for expected in (500..=u16::MAX).chain(0..=u16::MAX) {
            match ids.take(lifetime, start) {
                Ok(id) => assert_eq!(id, expected),
                Err(free) => {
                    assert_eq!((expected, free), (0, start + lifetime));
                    return;
                }
            }
        }
        panic!("an id was used twice at once");
    }

    #[test]
    fn ids_go_on_when_they_are_free_again() {
        let lifetime = Duration::from_secs(247);
        let mut ids = MessageIds::new(0);
        for second in 0..200_000u64 {
            assert_eq!(
                ids.take(lifetime, Instant::from_millis(second * 1000)),
                Ok(second as u16)
            );
        }
    }
}
