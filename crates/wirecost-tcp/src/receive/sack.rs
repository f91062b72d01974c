//! Selective acknowledgments (RFC 2018) and reports of duplicates (RFC 2883).

use wirecost_wire::tcp::{SackBlock, SackBlocks};

use super::sequence::{is_after, joined};
use crate::on_demand::Empty;

/// The SACK blocks of the next acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sack {
    /// The runs after a gap; the run that grew last is first (RFC 2018, section 4).
    blocks: SackBlocks,
    /// Bytes that arrived twice, reported once (RFC 2883, section 4).
    duplicate: Option<SackBlock>,
}

impl Empty for Sack {
    const EMPTY: &'static Self = &Self {
        blocks: SackBlocks::NONE,
        duplicate: None,
    };

    fn empty() -> Self {
        Self::default()
    }
}

impl Sack {
    /// The most blocks beside the timestamps option (RFC 2018, section 3).
    const BESIDE_TIMESTAMPS: usize = 3;

    /// Puts the run that has just grown in front, and removes runs that are now part of it. Returns its earlier place, which is
    /// after all others for a new run.
    pub(super) fn note_held(&mut self, run: SackBlock) -> usize {
        let is_apart = |block: &SackBlock| joined(block, &run).is_none();
        let place = self.blocks.iter().take_while(is_apart).count();
        let others = self.blocks.iter().filter(is_apart);
        self.blocks = core::iter::once(run).chain(others).collect();
        place
    }

    /// Drops the runs before the next sequence number.
    pub(super) fn advance(&mut self, next: u32) {
        let ahead = |block: &SackBlock| is_after(block.left, next);
        self.blocks = self.blocks.iter().filter(ahead).collect();
    }

    /// Drops all runs.
    pub(super) fn clear(&mut self) {
        self.blocks = SackBlocks::default();
    }

    /// Notes bytes that arrived again. Extends a waiting report if they touch it (Linux: tcp_dsack_extend).
    pub(super) fn note_duplicate(&mut self, again: SackBlock) {
        self.duplicate = match self.duplicate {
            None => Some(again),
            Some(known) => Some(joined(&known, &again).unwrap_or(known)),
        };
    }

    /// Whether bytes have arrived again and were not reported yet.
    pub(super) const fn reports_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// Drops the report: it is sent at most once, and only before the next segment arrives.
    pub(super) const fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// The number of reported runs.
    pub(super) const fn runs(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there is nothing to tell.
    pub(super) const fn is_empty(&self) -> bool {
        self.runs() == 0 && self.duplicate.is_none()
    }

    /// The number of blocks in a segment, with or without timestamps beside them.
    pub(super) const fn count(&self, timestamps: bool) -> usize {
        let (blocks, room) = (
            self.runs() + self.duplicate.is_some() as usize,
            Self::room(timestamps),
        );
        if blocks < room { blocks } else { room }
    }

    const fn room(timestamps: bool) -> usize {
        if timestamps {
            Self::BESIDE_TIMESTAMPS
        } else {
            SackBlocks::MAX
        }
    }

    /// The blocks of a segment, with or without timestamps beside them.
    pub(super) fn blocks(&self, timestamps: bool) -> SackBlocks {
        if self.count(timestamps) == 0 {
            return SackBlocks::default();
        }
        self.duplicate
            .into_iter()
            .chain(self.blocks.iter())
            .take(Self::room(timestamps))
            .collect()
    }
}
