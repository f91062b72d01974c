//! C-DRX in the network: a DCI for a device in whose connection nothing is under way waits for a search space that it hears.
//!
//! A random access or a block that is to be sent again keeps the device awake: its retransmission timers (drx-RetransmissionTimer,
//! drx-ULRetransmissionTimer) are taken to be long enough. The cell and the device count from the same block, whether or not the device
//! decoded its DCI.

use wirecost_proto::Rng;

use super::Network;
use crate::config::START_OFFSETS;
use crate::drx::Drx;
use crate::subframe::Subframe;
use crate::ue::Ue;

/// The stream of a device from which its start offset comes.
const DRX_START: u64 = 6;

impl Network {
    /// When a device begins to listen in a cycle, in 256ths of the cycle.
    pub(super) fn draw_drx_start(&self, stream: Rng) -> u16 {
        let cdrx = self.config.cdrx;
        match cdrx.cycle_ms {
            None => 0,
            Some(_) => cdrx
                .start_offset
                .unwrap_or_else(|| stream.purpose(DRX_START).next_below(START_OFFSETS.into()) as u16),
        }
    }

    /// C-DRX of devices of a level that begin to listen at `start`; `None` where devices always listen.
    pub(super) fn drx(&self, level: usize, start: u16) -> Option<Drx> {
        Drx::new(&self.config.cdrx, &self.levels[level].space, start)
    }

    fn drx_of_resting(&self, device: &Ue) -> Option<Drx> {
        self.drx(device.level, device.drx_start)
            .filter(|_| device.is_resting())
    }

    /// When a device hears a DCI at the earliest, from `from` on.
    pub(super) fn hears_from(&self, device: &Ue, from: Subframe) -> Subframe {
        let from = device.eligible.max(from);
        match self.drx_of_resting(device) {
            Some(drx) => drx.first_heard(&self.levels[device.level].space, device.resting_since, from),
            None => from,
        }
    }

    /// How long C-DRX had the receiver off until `until`, since something was under way in the connection.
    pub(super) fn slept(&self, device: &Ue, until: Subframe) -> u64 {
        self.drx_of_resting(device)
            .map_or(0, |drx| drx.asleep(device.resting_since, until))
    }
}
