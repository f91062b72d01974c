//! Which cells compete: times that end with an answer are not compared with times that end with arrival.

use wirecost_results::Cell;

use crate::columns::ends_with_arrival;

/// Which cells compete.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    All,
    Answered,
    Arrived,
    Connected,
}

impl Scope {
    /// The scope as text.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::All => "of all",
            Self::Answered => "of those that are answered",
            Self::Arrived => "of those that nothing answers, to arrival",
            Self::Connected => "of those that connect",
        }
    }

    /// Whether the cell competes.
    pub(crate) fn holds(self, cell: &Cell) -> bool {
        match self {
            Self::All => true,
            Self::Answered => !ends_with_arrival(cell),
            Self::Arrived => ends_with_arrival(cell),
            Self::Connected => cell.connect.is_some(),
        }
    }
}
