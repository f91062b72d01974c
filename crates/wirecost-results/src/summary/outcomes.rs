//! How the offered messages ended.

use serde::{Deserialize, Serialize};

/// How the offered messages ended; the numbers other than `offered` sum to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcomes {
    /// Messages that the plan intended to send.
    pub offered: u64,
    /// Acknowledged by the server in time.
    pub acknowledged: u64,
    /// Refused by the server with a reason.
    pub refused: u64,
    /// Not sent: the device never became able to.
    pub failed: u64,
    /// Acknowledged after the time-out.
    pub late: u64,
    /// Sent, and no reply ever came.
    pub unknown: u64,
    /// Delivered by the link, for stacks without acknowledgement.
    pub delivered: u64,
    /// Not delivered by the link, for stacks without acknowledgement.
    pub lost: u64,
}

impl std::ops::AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        let Self {
            offered,
            acknowledged,
            refused,
            failed,
            late,
            unknown,
            delivered,
            lost,
        } = other;
        self.offered += offered;
        self.acknowledged += acknowledged;
        self.refused += refused;
        self.failed += failed;
        self.late += late;
        self.unknown += unknown;
        self.delivered += delivered;
        self.lost += lost;
    }
}

impl Outcomes {
    /// Messages that have ended.
    pub const fn ended(&self) -> u64 {
        let Self {
            offered: _,
            acknowledged,
            refused,
            failed,
            late,
            unknown,
            delivered,
            lost,
        } = *self;
        acknowledged + refused + failed + late + unknown + delivered + lost
    }

    /// Whether the outcomes sum to what was offered.
    pub const fn add_up(&self) -> bool {
        self.offered == self.ended()
    }
}
