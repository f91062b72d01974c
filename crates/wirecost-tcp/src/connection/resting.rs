//! A connection at rest: everything that was sent is acknowledged, everything that has arrived is read.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::Instant;

use crate::connection::State;
use crate::connection::synchronized::Synchronized;
use crate::packed::{Pack, Packer, Unpacker, Usual};

/// What most connections at rest have in common: the numbers of the first one that rested. Each of them keeps what differs.
///
/// A driver has one for all ends that share a configuration.
#[derive(Debug, Default)]
pub struct RestPattern {
    usual: Option<Arc<Usual>>,
    /// Memory for the bytes of one connection.
    scratch: Vec<u8>,
}

impl RestPattern {
    /// What the connection has in common with those of its configuration.
    fn usual(&mut self, open: &Synchronized) -> Arc<Usual> {
        let config = open.shared_config();
        match &self.usual {
            Some(usual) if Arc::ptr_eq(&usual.config, config) => Arc::clone(usual),
            Some(_) | None => {
                let usual = Arc::new(Usual {
                    numbers: Packer::numbers_of(open, config),
                    config: Arc::clone(config),
                });
                self.usual = Some(Arc::clone(&usual));
                usual
            }
        }
    }

    /// The connection as bytes.
    fn pack(&mut self, open: &Synchronized, usual: &Arc<Usual>) -> Box<[u8]> {
        let mut packer = Packer::new(Arc::clone(usual), core::mem::take(&mut self.scratch));
        open.pack(&mut packer);
        self.scratch = packer.into_bytes();
        // A copy of their length: to shorten the memory in which they were written would leave a hole behind each of them.
        let bytes = self.scratch.as_slice().into();
        self.scratch.clear();
        bytes
    }
}

/// A synchronized connection as bytes, a tenth of its memory: of a fleet nearly all connections are at rest. What is asked of it
/// most is beside them.
#[derive(Debug)]
pub(crate) struct Resting {
    usual: Arc<Usual>,
    bytes: Box<[u8]>,
    next_timeout: Option<Instant>,
    state: State,
}

impl Resting {
    /// The connection as bytes; `None` if it has memory that is not in them.
    pub(crate) fn from_open(open: &mut Synchronized, pattern: &mut RestPattern) -> Option<Self> {
        if !open.can_be_packed() {
            return None;
        }
        let usual = pattern.usual(open);
        let resting = Self {
            bytes: pattern.pack(open, &usual),
            usual,
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
        let mut from = Unpacker::new(&self.bytes, &self.usual);
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
