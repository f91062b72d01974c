//! Files that are read at the same time: one of a page, two in all, and together no more bytes than the largest may have.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most files that are read at once.
const MOST: usize = 2;
/// The most bytes of the files that are read at once: what is kept of a file grows with it.
const MOST_BYTES: u64 = super::MOST;
/// How long to wait for a place: a page whose file is no longer wanted leaves its own soon.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait for others: a large file takes some seconds.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(10);

/// Who reads a file.
#[derive(Debug, Default)]
pub(in crate::commands::ui) struct Places {
    entered: Mutex<Vec<Entered>>,
    changed: Condvar,
}

/// A page whose file is read.
#[derive(Debug)]
struct Entered {
    name: String,
    /// The length of its file.
    bytes: u64,
}

/// A place, which ends with this value.
#[derive(Debug)]
pub(in crate::commands::ui) struct Place<'a> {
    places: &'a Places,
    name: String,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands::ui) enum Full {
    /// The page reads another file.
    Own,
    /// Others read as many as are read at once.
    Others,
}

impl Places {
    /// A place for a file of this length of the page with this name.
    ///
    /// # Errors
    /// There is none for some seconds.
    pub(super) fn enter(&self, name: &str, bytes: u64) -> Result<Place<'_>, Full> {
        self.enter_within(name, bytes, |full| match full {
            Full::Own => PATIENCE,
            Full::Others => PATIENCE_WITH_OTHERS,
        })
    }

    fn enter_within(
        &self,
        name: &str,
        bytes: u64,
        patience: impl Fn(Full) -> Duration,
    ) -> Result<Place<'_>, Full> {
        let began = Instant::now();
        let mut entered = self.entered();
        while let Some(full) = full(&entered, name, bytes) {
            let left = patience(full).saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(full);
            }
            let waited = self.changed.wait_timeout(entered, left);
            entered = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        entered.push(Entered {
            name: name.to_owned(),
            bytes,
        });
        drop(entered);
        Ok(Place {
            places: self,
            name: name.to_owned(),
        })
    }

    fn entered(&self) -> MutexGuard<'_, Vec<Entered>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a page has no place for a file of this length beside these; `None` where it has one.
fn full(entered: &[Entered], name: &str, bytes: u64) -> Option<Full> {
    let others = entered.iter().map(|other| other.bytes).sum::<u64>();
    match entered.iter().any(|other| other.name == name) {
        true => Some(Full::Own),
        false => (entered.len() >= MOST || others + bytes > MOST_BYTES).then_some(Full::Others),
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let Self { places, name } = self;
        places.entered().retain(|other| other.name != *name);
        places.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_place_and_all_pages_have_two() {
        let places = Places::default();
        let enter = |name| places.enter_within(name, 1, |_| Duration::ZERO);
        let first = enter("a").expect("a place");
        assert_eq!(enter("a").map(drop), Err(Full::Own));
        let second = enter("b").expect("a place");
        assert_eq!(enter("c").map(drop), Err(Full::Others));
        drop(first);
        drop(enter("c").expect("a place"));
        drop(second);
    }

    #[test]
    fn a_large_file_is_read_alone() {
        let places = Places::default();
        let enter = |name, bytes| places.enter_within(name, bytes, |_| Duration::ZERO);
        let large = enter("a", MOST_BYTES).expect("a place");
        assert_eq!(enter("b", 1).map(drop), Err(Full::Others));
        drop(large);
        let half = enter("a", MOST_BYTES / 2).expect("a place");
        assert_eq!(enter("b", MOST_BYTES / 2 + 1).map(drop), Err(Full::Others));
        drop(enter("b", MOST_BYTES / 2).expect("a place"));
        drop(half);
    }

    #[test]
    fn who_waits_for_others_has_the_place_that_they_leave() {
        let places = Places::default();
        let large = places.enter("a", MOST_BYTES).expect("a place");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| places.enter("b", MOST_BYTES).map(drop));
            drop(large);
            assert_eq!(waiting.join().ok(), Some(Ok(())));
        });
    }
}
