//! One carrier of a cell: its calendars, who waits for what, its counters.

use std::collections::VecDeque;

use crate::calendar::{DownlinkCalendar, UplinkCalendar};
use crate::facts::CellCounters;
use crate::subframe::Subframe;
use crate::ue::UeId;

/// One carrier of a cell.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub(crate) down: DownlinkCalendar,
    pub(crate) up: UplinkCalendar,
    /// Smoothed rise of noise by other cells' devices, in dB, as link adaptation knows it. Of decibels, so that it is the usual rise and
    /// not that of rare near devices.
    pub(crate) noise_rise_db: f64,
    /// Of all carriers of the cell; counted on its anchor.
    pub(crate) connections: u32,
    pub(crate) levels: [CellLevel; 3],
    pub(crate) counters: CellCounters,
}

/// What a cell holds per coverage level.
#[derive(Debug, Default)]
pub(crate) struct CellLevel {
    /// Devices that send a preamble at the next occasion, with the serial of their access.
    pub(crate) waiting: Vec<(UeId, u32)>,
    pub(crate) occasion_at: Option<Subframe>,
    /// The preambles on the air.
    pub(crate) preambles: Vec<Preamble>,
    /// Detected preambles without a response so far.
    pub(crate) responses: VecDeque<Response>,
    /// Devices whose paging occasion has come.
    pub(crate) pages: VecDeque<UeId>,
    /// Devices that want a DCI, in their turn.
    pub(crate) queue: VecDeque<UeId>,
    /// The next search space that is used.
    pub(crate) search_at: Option<Subframe>,
}

/// A preamble on the air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preamble {
    pub(crate) ue: UeId,
    pub(crate) serial: u32,
    pub(crate) subcarrier: u64,
    /// Received power, relative to others.
    pub(crate) gain: f64,
}

/// A detected preamble.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub(crate) ue: UeId,
    pub(crate) serial: u32,
    /// The random access response window.
    pub(crate) from: Subframe,
    pub(crate) until: Subframe,
}
