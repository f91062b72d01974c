//! State that most connections lack most of the time.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// A value that has an empty form.
pub(crate) trait Empty: Sized + 'static {
    /// The empty form.
    const EMPTY: &'static Self;

    /// The empty form, to be filled.
    fn empty() -> Self;
}

impl Empty for Vec<u8> {
    const EMPTY: &'static Self = &Self::new();

    fn empty() -> Self {
        Self::new()
    }
}

/// A value that reads as empty, and takes memory of its own from its first change to [`OnDemand::free`]. Of a million connections
/// nearly all are at rest.
#[derive(Clone, Debug)]
pub(crate) struct OnDemand<T>(Option<Box<T>>);

impl<T> Default for OnDemand<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T> OnDemand<T> {
    /// Empty, without memory.
    pub(crate) const NONE: Self = Self(None);

    /// Whether it takes no memory of its own.
    pub(crate) const fn is_free(&self) -> bool {
        self.0.is_none()
    }

    /// Empties it, and gives back its memory.
    pub(crate) fn free(&mut self) {
        self.0 = None;
    }
}

impl<T: Empty> Deref for OnDemand<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty> DerefMut for OnDemand<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(T::empty()))
    }
}
