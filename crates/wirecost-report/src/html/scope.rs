//! Which cells compete: times that end with an answer are not compared with times that end with arrival, nor plain stacks
//! with secured ones.

use wirecost_results::Cell;

use crate::columns::ends_with_arrival;
use crate::names::is_secured;

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
            Self::Answered => "of acknowledged ones",
            Self::Arrived => "of unacknowledged ones, one-way delay",
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

/// Whether stacks protect their messages; `Any` where all do or none does.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Any,
    Plain,
    Secured,
}

impl Kind {
    /// The kind as text that follows a scope.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Plain => ", plain",
            Self::Secured => ", encrypted",
        }
    }

    /// Whether the cell is of this kind.
    pub(crate) fn holds(self, cell: &Cell) -> bool {
        match self {
            Self::Any => true,
            Self::Plain => !is_secured(cell),
            Self::Secured => is_secured(cell),
        }
    }
}
