//! The groups of a long run that have figures.

use super::MANY;
use crate::groups::Group;

/// The number of ladders and of slices that are drawn in a long run.
pub(super) const DRAWN: usize = 24;

/// The groups that have figures.
pub(super) struct Selection<'a, 'b> {
    pub(super) drawn: Vec<&'b Group<'a>>,
    /// The text that says which groups are drawn; `None` if all are.
    pub(super) words: Option<String>,
}

impl<'a, 'b> Selection<'a, 'b> {
    /// All groups of a run of up to [`MANY`] cells, else the first and the last.
    pub(super) fn from_groups(all: &'b [Group<'a>]) -> Self {
        let cells: usize = all.iter().map(|group| group.charted().cells.len()).sum();
        if cells <= MANY {
            return Self {
                drawn: all.iter().collect(),
                words: None,
            };
        }
        // Between the first and the last condition the maps show how figures change.
        let drawn = spread_out(all, 2);
        let words = format!(
            "Figures by condition are drawn for {} of the {} combinations of size, link and rhythm: the first and the last. \
             Tables and maps hold all of them.",
            drawn.len(),
            all.len()
        );
        Self {
            drawn,
            words: Some(words),
        }
    }
}

/// At most `count` of `all`, the first and the last among them, evenly spread.
pub(super) fn spread_out<T>(all: &[T], count: usize) -> Vec<&T> {
    if all.len() <= count {
        return all.iter().collect();
    }
    let last = all.len() - 1;
    let place = |step: usize| step * last / count.saturating_sub(1).max(1);
    (0..count).filter_map(|step| all.get(place(step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_are_among_those_chosen() {
        let all: Vec<u32> = (0..125).collect();
        assert_eq!(spread_out(&all, 3), [&0, &62, &124]);
        assert_eq!(spread_out(&all, 1), [&0]);
        assert_eq!(spread_out(&all[..2], 3), [&0, &1]);
    }
}
