//! Selective acknowledgments (RFC 2018) and reports of duplicates (RFC 2883).

use wirecost_wire::tcp::{SackBlock, SackBlocks};

use super::sequence::{is_after, joined};

/// The blocks that the next acknowledgment tells.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sack {
    /// What is held, the run that grew last first (RFC 2018, section 4).
    blocks: SackBlocks,
    /// What came twice, told once (RFC 2883, section 4).
    duplicate: Option<SackBlock>,
}

impl Sack {
    /// The most blocks beside the timestamps option (RFC 2018, section 3).
    const BESIDE_TIMESTAMPS: usize = 3;

    /// Puts the run that has just grown in front; runs that it took in go. Returns its place before: behind all others
    /// where it is new.
    pub(super) fn note_held(&mut self, run: SackBlock) -> usize {
        let is_apart = |block: &SackBlock| joined(block, &run).is_none();
        let place = self.blocks.iter().take_while(is_apart).count();
        let others = self.blocks.iter().filter(is_apart);
        self.blocks = core::iter::once(run).chain(others).collect();
        place
    }

    /// Forgets what the next sequence number has passed.
    pub(super) fn advance(&mut self, next: u32) {
        let ahead = |block: &SackBlock| is_after(block.left, next);
        self.blocks = self.blocks.iter().filter(ahead).collect();
    }

    /// Forgets every run: nothing is held any more.
    pub(super) fn clear(&mut self) {
        self.blocks = SackBlocks::default();
    }

    /// Notes bytes that came again: where a report waits already it grows, if they touch it (Linux: tcp_dsack_extend).
    pub(super) fn note_duplicate(&mut self, again: SackBlock) {
        self.duplicate = match self.duplicate {
            None => Some(again),
            Some(known) => Some(joined(&known, &again).unwrap_or(known)),
        };
    }

    /// A report is told once, also where no acknowledgment took it along before the next segment came.
    pub(super) const fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// How many runs are told.
    pub(super) const fn runs(&self) -> usize {
        self.blocks.len()
    }

    /// How many blocks a segment has, with or without timestamps beside them.
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
