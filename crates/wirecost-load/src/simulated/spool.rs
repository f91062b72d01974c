//! The packets of a load in virtual time, for its capture: on disk, as those of the emulated link are. A simulated hour of a fleet
//! has more packets than memory holds.

use std::io;
use std::path::Path;

use wirecost_live::recorder::{Recorder, Recording};
use wirecost_proto::record::RecordedDelivery;
use wirecost_proto::{Delivery, Fate, Instant};
use wirecost_sim::{Packet, Tap};

/// Streams each packet to a file without a name. The links of loads decide a packet's fate when it enters.
#[derive(Debug)]
pub(super) struct Spool(Recorder);

impl Spool {
    /// A spool in a results folder.
    ///
    /// # Errors
    /// The folder's file system refuses.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        Recorder::create(folder).map(Self)
    }

    /// The packets, each followed by its deliveries.
    pub(super) fn finish(self) -> Recording {
        self.0.finish()
    }
}

impl Tap for Spool {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        let Some(bytes) = packet.to_bytes() else {
            return;
        };
        let number = self
            .0
            .packet(Some(packet.host), packet.direction, entered, fate, &bytes);
        for delivery in deliveries {
            self.0.delivery(RecordedDelivery {
                packet: number,
                planned: delivery.at,
                actual: delivery.at,
                intact: delivery.flip_bit.is_none(),
            });
        }
    }
}
