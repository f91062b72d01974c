//! A value for each direction.

use core::ops::{Index, IndexMut};

use crate::Direction;

/// A value for each direction, indexed by the [`Direction`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BothWays<T> {
    /// The value from the device to the server.
    pub up: T,
    /// The value from the server to the device.
    pub down: T,
}

impl<T> BothWays<T> {
    /// The values that `make` gives, up first.
    pub fn from_fn(mut make: impl FnMut(Direction) -> T) -> Self {
        Self {
            up: make(Direction::Up),
            down: make(Direction::Down),
        }
    }

    /// The same value in both directions.
    pub fn equal(value: T) -> Self
    where
        T: Clone,
    {
        Self {
            up: value.clone(),
            down: value,
        }
    }

    /// What `change` makes of each value.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> BothWays<U> {
        BothWays {
            up: change(self.up),
            down: change(self.down),
        }
    }

    /// Both values, up first.
    pub fn iter(&self) -> core::array::IntoIter<&T, 2> {
        [&self.up, &self.down].into_iter()
    }
}

/// Up, and then down.
impl<T> From<[T; 2]> for BothWays<T> {
    fn from([up, down]: [T; 2]) -> Self {
        Self { up, down }
    }
}

impl<T> Index<Direction> for BothWays<T> {
    type Output = T;

    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl<T> IndexMut<Direction> for BothWays<T> {
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

impl<T> IntoIterator for BothWays<T> {
    type Item = T;
    type IntoIter = core::array::IntoIter<T, 2>;

    fn into_iter(self) -> Self::IntoIter {
        [self.up, self.down].into_iter()
    }
}

impl<'a, T> IntoIterator for &'a BothWays<T> {
    type Item = &'a T;
    type IntoIter = core::array::IntoIter<&'a T, 2>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_a_value_of_its_own() {
        let mut names = BothWays::from_fn(Direction::name);
        assert_eq!(Direction::ALL.map(|way| names[way]), ["up", "down"]);
        names[Direction::Down] = "back";
        assert_eq!(
            names.iter().copied().collect::<alloc::vec::Vec<_>>(),
            ["up", "back"]
        );
        assert_eq!(names.into_iter().last(), Some("back"));
        assert_eq!(BothWays::equal(1).map(|one| one + 1), BothWays::from([2, 2]));
    }
}
