//! A connection at rest: everything that was sent is acknowledged, everything that has arrived is read.

use alloc::boxed::Box;
use alloc::sync::Arc;

use wirecost_proto::Instant;

use crate::Config;
use crate::connection::State;
use crate::connection::synchronized::Synchronized;
use crate::packed::{Pack, Packer, Unpacker};

/// A synchronized connection as bytes, a fifth of its memory: of a fleet nearly all connections are at rest. What is asked of it
/// most is beside them.
#[derive(Debug)]
pub(crate) struct Resting {
    config: Arc<Config>,
    bytes: Box<[u8]>,
    next_timeout: Option<Instant>,
    state: State,
}

impl Resting {
    /// The connection as bytes; `None` if it has memory that is not in them.
    pub(crate) fn from_open(open: &mut Synchronized) -> Option<Self> {
        if !open.can_be_packed() {
            return None;
        }
        let mut packer = Packer::default();
        open.pack(&mut packer);
        let resting = Self {
            config: open.shared_config(),
            bytes: packer.into_bytes(),
            next_timeout: open.next_timeout(),
            state: open.state(),
        };
        if cfg!(test) {
            let back = alloc::format!("{:?}", resting.open());
            assert_eq!(back, alloc::format!("{open:?}"), "it comes back as it was");
        }
        Some(resting)
    }

    /// The connection as it was.
    pub(crate) fn open(&self) -> Synchronized {
        let mut from = Unpacker::new(&self.bytes, &self.config);
        Synchronized::unpack(&mut from).expect("it was packed here")
    }

    /// Checks in the unit tests that this, which is left out, would have done nothing.
    pub(crate) fn is_not_changed_by(&self, what: impl FnOnce(&mut Synchronized)) {
        if cfg!(test) {
            let mut open = self.open();
            what(&mut open);
            assert_eq!(alloc::format!("{open:?}"), alloc::format!("{:?}", self.open()));
        }
    }

    pub(crate) const fn next_timeout(&self) -> Option<Instant> {
        self.next_timeout
    }

    pub(crate) const fn state(&self) -> State {
        self.state
    }
}
