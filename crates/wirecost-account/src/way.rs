//! How a reading uses its connection.

use std::fmt;

use wirecost_results::Cell;

/// How traffic repeats, and how a reading uses its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A capture, as it is and without a pause.
    Captured,
    /// What the devices of a load did, without a pause.
    Loaded,
    /// A capture or the devices of a load, at each interval.
    Repeated,
    /// Reports in NB-IoT cells.
    InCells,
    /// There is no connection.
    NoConnection,
    /// A connection for each reading. `renewed` where some of the resumed ones have a full handshake, because their session has
    /// ended.
    Each {
        /// Whether sessions end.
        renewed: bool,
    },
    /// A connection for this number of readings. `renewed` where it ends with its session.
    Kept {
        /// Readings of a connection.
        readings: u64,
        /// Whether sessions end.
        renewed: bool,
    },
}

impl Way {
    /// How a cell with an interval uses its connections.
    pub const fn from_cell(cell: &Cell) -> Self {
        match (cell.connect.is_some(), cell.messages_per_connection) {
            (false, _) => Self::NoConnection,
            (true, 1) => Self::Each { renewed: false },
            (true, readings) => Self::Kept {
                readings,
                renewed: false,
            },
        }
    }

    /// The same of sessions that end.
    #[must_use]
    pub const fn renewed(self) -> Self {
        match self {
            Self::Each { .. } => Self::Each { renewed: true },
            Self::Kept { readings, .. } => Self::Kept {
                readings,
                renewed: true,
            },
            Self::Captured | Self::Loaded | Self::Repeated | Self::InCells | Self::NoConnection => self,
        }
    }

    /// Whether sessions end in it.
    pub const fn is_renewed(self) -> bool {
        matches!(
            self,
            Self::Each { renewed: true } | Self::Kept { renewed: true, .. }
        )
    }

    /// Whether it is the life of a device: readings at an interval, with their connections.
    pub const fn is_life(self) -> bool {
        matches!(self, Self::NoConnection | Self::Each { .. } | Self::Kept { .. })
    }

    /// Whether the traffic follows on itself without a pause, so that its tails cannot reach into the next.
    pub const fn is_gapless(self) -> bool {
        matches!(self, Self::Captured | Self::Loaded)
    }
}

/// The words of tables and of JSON.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Captured => f.write_str("as captured")?,
            Self::Loaded => f.write_str("as run")?,
            Self::Repeated => f.write_str("each interval")?,
            Self::InCells => f.write_str("in the cells")?,
            Self::NoConnection => f.write_str("no connection")?,
            Self::Each { .. } => f.write_str("a connection each")?,
            Self::Kept { readings, .. } => write!(f, "persistent for {readings}")?,
        }
        match self.is_renewed() {
            true => f.write_str(", renewed"),
            false => Ok(()),
        }
    }
}
