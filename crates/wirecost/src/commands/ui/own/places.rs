//! Files that are read at the same time: one of a page, and two in all.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most files that are read at once.
const MOST: usize = 2;
/// How long to wait for a place: a page whose file is no longer wanted leaves its own soon.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who reads a file.
#[derive(Debug, Default)]
pub(in crate::commands::ui) struct Places {
    names: Mutex<Vec<String>>,
    changed: Condvar,
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
    /// A place for the page with this name.
    ///
    /// # Errors
    /// There is none for some seconds.
    pub(super) fn enter(&self, name: &str) -> Result<Place<'_>, Full> {
        self.enter_within(name, PATIENCE)
    }

    fn enter_within(&self, name: &str, patience: Duration) -> Result<Place<'_>, Full> {
        let until = Instant::now() + patience;
        let mut names = self.names();
        loop {
            let full = match names.iter().any(|other| other == name) {
                true => Full::Own,
                false if names.len() >= MOST => Full::Others,
                false => break,
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(full);
            }
            let waited = self.changed.wait_timeout(names, left);
            names = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        names.push(name.to_owned());
        drop(names);
        Ok(Place {
            places: self,
            name: name.to_owned(),
        })
    }

    fn names(&self) -> MutexGuard<'_, Vec<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let Self { places, name } = self;
        places.names().retain(|other| other != name);
        places.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_place_and_all_pages_have_two() {
        let places = Places::default();
        let enter = |name| places.enter_within(name, Duration::ZERO);
        let first = enter("a").expect("a place");
        assert_eq!(enter("a").map(drop), Err(Full::Own));
        let second = enter("b").expect("a place");
        assert_eq!(enter("c").map(drop), Err(Full::Others));
        drop(first);
        drop(enter("c").expect("a place"));
        drop(second);
    }
}
