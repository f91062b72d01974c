//! Consecutive message ids, none used twice within its lifetime (RFC 7252 section 4.4).

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use core::time::Duration;

use wirecost_proto::Instant;

/// The number of ids whose end of life is recorded together.
const RUN: usize = 1024;
const RUNS: usize = (1 << 16) / RUN;

/// The next id, and the time when each run of 1,024 ids is free again, in nanoseconds.
///
/// The clients of a shared endpoint take ids in turn, never at the same time. The atomics only avoid a lock.
#[derive(Debug)]
pub(crate) struct MessageIds {
    next: AtomicU16,
    free_from: [AtomicU64; RUNS],
}

impl MessageIds {
    pub(crate) const fn new(first: u16) -> Self {
        Self {
            next: AtomicU16::new(first),
            free_from: [const { AtomicU64::new(0) }; RUNS],
        }
    }

    /// The next id, which stays in use for `lifetime`.
    ///
    /// # Errors
    /// All 65,536 ids are in use. The error is the time when the next one is free.
    pub(crate) fn take(&self, lifetime: Duration, now: Instant) -> Result<u16, Instant> {
        let id = self.next.load(Ordering::Relaxed);
        let Some(free_from) = self.free_from.get(usize::from(id) / RUN) else {
            return Ok(id);
        };
        let free = Instant::from_nanos(free_from.load(Ordering::Relaxed));
        let free = taken(id, free, lifetime, now)?;
        free_from.store(free.as_nanos(), Ordering::Relaxed);
        self.next.store(id.wrapping_add(1), Ordering::Relaxed);
        Ok(id)
    }
}

/// The ids of an endpoint with one client, which most often has used one run: it takes 40 bytes instead of 520.
#[derive(Debug)]
pub(crate) struct OwnIds {
    next: u16,
    /// When the run of the next id is free again.
    free_from: Instant,
    /// The same of the runs that are in use beside it, by their numbers.
    others: Vec<(u8, Instant)>,
}

impl OwnIds {
    pub(crate) const fn new(first: u16) -> Self {
        Self {
            next: first,
            free_from: Instant::START,
            others: Vec::new(),
        }
    }

    /// As [`MessageIds::take`].
    pub(crate) fn take(&mut self, lifetime: Duration, now: Instant) -> Result<u16, Instant> {
        let id = self.next;
        self.free_from = taken(id, self.free_from, lifetime, now)?;
        self.next = id.wrapping_add(1);
        if run_of(self.next) != run_of(id) {
            self.others.retain(|(_, free_from)| *free_from > now);
            self.others.push((run_of(id), self.free_from));
            let next = self.others.iter().position(|(run, _)| *run == run_of(self.next));
            self.free_from = next.map_or(Instant::START, |at| self.others.swap_remove(at).1);
        }
        Ok(id)
    }
}

const fn run_of(id: u16) -> u8 {
    (id as usize / RUN) as u8
}

/// When the run of an id that is taken `now` is free again, if it was to be free from `free` on.
///
/// # Errors
/// The id begins a run that is in use. The error is the time when it is free.
fn taken(id: u16, free: Instant, lifetime: Duration, now: Instant) -> Result<Instant, Instant> {
    let begins_run = usize::from(id).is_multiple_of(RUN);
    if begins_run && free > now {
        return Err(free);
    }
    // The lifetimes in a run may differ: those of non-confirmable messages are shorter.
    Ok(free.max(now + lifetime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_not_reused_within_its_lifetime() {
        let lifetime = Duration::from_secs(247);
        let ids = MessageIds::new(500);
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
    fn a_shorter_lifetime_does_not_shorten_that_of_another_id() {
        let (long, short) = (Duration::from_secs(247), Duration::from_secs(145));
        let ids = MessageIds::new(0);
        assert_eq!(ids.take(long, Instant::START), Ok(0));
        for id in 1..=u16::MAX {
            assert_eq!(ids.take(short, Instant::START), Ok(id));
        }
        let now = Instant::START + Duration::from_secs(200);
        assert_eq!(ids.take(short, now), Err(Instant::START + long));
        assert_eq!(ids.take(short, Instant::START + long), Ok(0));
    }

    #[test]
    fn the_ids_of_one_client_are_those_of_a_shared_endpoint() {
        let mut rng = wirecost_proto::Rng::new(5);
        for first in [0, 700, u16::MAX] {
            let (shared, mut own) = (MessageIds::new(first), OwnIds::new(first));
            let mut now = Instant::START;
            for _ in 0..300_000 {
                let lifetime = Duration::from_secs([145, 247][rng.next_below(2) as usize]);
                let taken = own.take(lifetime, now);
                assert_eq!(taken, shared.take(lifetime, now));
                now += Duration::from_micros(rng.next_below(4_000));
                now = taken.err().map_or(now, |free| free.max(now));
            }
            assert!(own.others.len() < RUNS);
        }
    }

    #[test]
    fn ids_continue_when_they_are_free_again() {
        let lifetime = Duration::from_secs(247);
        let ids = MessageIds::new(0);
        for second in 0..200_000u64 {
            assert_eq!(
                ids.take(lifetime, Instant::from_millis(second * 1000)),
                Ok(second as u16)
            );
        }
    }
}
