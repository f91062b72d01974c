//! Values by number; the places of removed values are reused.

/// Values by number; new values get the numbers of removed ones.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Puts a value in; returns its number.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let Some(free) = self.free.pop() else {
            self.places.push(Some(value));
            return u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX);
        };
        if let Some(place) = self.places.get_mut(free as usize) {
            *place = Some(value);
        }
        free
    }

    /// The number that the next value gets.
    pub(crate) fn next_number(&self) -> u32 {
        let new = || u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.free.last().copied().unwrap_or_else(new)
    }

    /// The value of a number.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.places.get(number as usize)?.as_ref()
    }

    /// The value of a number, for a change.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.places.get_mut(number as usize)?.as_mut()
    }

    /// Takes a value out.
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let value = self.places.get_mut(number as usize)?.take();
        if value.is_some() {
            self.free.push(number);
        }
        value
    }

    /// All values with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let places = (0..).zip(&self.places);
        places.filter_map(|(number, place)| Some((number, place.as_ref()?)))
    }

    /// All values with their numbers, from the number `first` on, and then those before it.
    pub(crate) fn iter_from(&self, first: u32) -> impl Iterator<Item = (u32, &T)> {
        let (before, after) = self.places.split_at((first as usize).min(self.places.len()));
        let places = (first..).zip(after).chain((0..).zip(before));
        places.filter_map(|(number, place)| Some((number, place.as_ref()?)))
    }

    /// All values, by their numbers.
    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.places.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_value_s_number_is_given_to_the_next() {
        let mut slab = Slab::default();
        assert_eq!([slab.insert('a'), slab.insert('b'), slab.insert('c')], [0, 1, 2]);
        assert_eq!(slab.remove(1), Some('b'));
        assert_eq!(slab.remove(1), None);
        assert_eq!(slab.insert('d'), 1);
        assert_eq!(slab.into_values().collect::<String>(), "adc");
    }

    #[test]
    fn values_from_a_number_on_are_all_values() {
        let mut slab = Slab::default();
        for value in 'a'..='e' {
            slab.insert(value);
        }
        slab.remove(3);
        let from = |first| slab.iter_from(first).map(|(_, value)| *value).collect::<String>();
        assert_eq!(
            [from(0), from(2), from(4), from(5), from(9)],
            ["abce", "ceab", "eabc", "abce", "abce"]
        );
        assert!(
            slab.iter_from(2)
                .all(|(number, value)| slab.get(number) == Some(value))
        );
    }
}
