//! Request bodies that arrive in blocks and are processed as a whole (RFC 7959 section 2.5).

use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{FlowId, Instant};

use super::kept::{EntryKey, Kept};
use crate::block::Block;
use crate::code::{Code, Method};

/// Identifies a body by its peer and request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) flow: FlowId,
    pub(super) resource: usize,
    pub(super) method: Method,
    /// The OSCORE session of its messages. A body must not combine blocks of different sessions.
    pub(super) session: Option<usize>,
}

/// The limits of unfinished bodies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) max_body: usize,
    pub(super) max_per_peer: usize,
    pub(super) lifetime: Duration,
}

/// The state of a body after a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More blocks must follow: 2.31.
    Continue,
    /// The body is complete.
    Whole(Vec<u8>),
    /// The block is refused with 4.00, 4.08 or 4.13.
    Refused(Code),
}

#[derive(Debug)]
struct Assembly {
    key: Key,
    tag: Option<Vec<u8>>,
    body: Vec<u8>,
}

/// The unfinished bodies of all peers.
#[derive(Debug, Default)]
pub(super) struct Assemblies {
    kept: Kept<Assembly>,
}

impl Assemblies {
    /// Adds a block. `size1` is the announced size of the body, `tag` the Request-Tag.
    pub(super) fn take(
        &mut self,
        (key, tag): (Key, Option<&[u8]>),
        (block, payload): (Block, &[u8]),
        size1: Option<u32>,
        limits: Limits,
        now: Instant,
    ) -> Progress {
        if !block.size.fits(payload.len(), block.more) {
            return Progress::Refused(Code::BAD_REQUEST);
        }
        self.kept.expire(now);
        let is_of_body = |assembly: &Assembly| assembly.key == key && assembly.tag.as_deref() == tag;
        let entry = self.kept.find(key.flow, is_of_body);
        let announced = size1.map_or(0, |size| size as usize);
        if announced.max(block.offset() + payload.len()) > limits.max_body {
            entry.and_then(|entry| self.kept.remove(entry));
            return Progress::Refused(Code::REQUEST_ENTITY_TOO_LARGE);
        }
        let expires = now + limits.lifetime;
        let entry = match (block.number, entry) {
            (0, entry) => {
                entry.and_then(|entry| self.kept.remove(entry));
                let (tag, body) = (tag.map(<[u8]>::to_vec), Vec::new());
                let begun = Assembly { key, tag, body };
                self.kept.push(key.flow, begun, expires, limits.max_per_peer)
            }
            (_, Some(entry)) => entry,
            // RFC 7959 section 2.9.2: earlier blocks are missing.
            (_, None) => return Progress::Refused(Code::REQUEST_ENTITY_INCOMPLETE),
        };
        self.kept.postpone(entry, expires);
        self.append(entry, block, payload)
    }

    fn append(&mut self, entry: EntryKey, block: Block, payload: &[u8]) -> Progress {
        let Some(assembly) = self.kept.get_mut(entry) else {
            return Progress::Refused(Code::REQUEST_ENTITY_INCOMPLETE);
        };
        let (have, offset) = (assembly.body.len(), block.offset());
        let is_repeated = offset + payload.len() == have && assembly.body.ends_with(payload);
        if offset == have {
            assembly.body.extend_from_slice(payload);
        } else if !is_repeated {
            self.kept.remove(entry);
            return Progress::Refused(Code::REQUEST_ENTITY_INCOMPLETE);
        }
        match block.more {
            true => Progress::Continue,
            false => match self.kept.remove(entry) {
                Some(whole) => Progress::Whole(whole.body),
                None => Progress::Refused(Code::REQUEST_ENTITY_INCOMPLETE),
            },
        }
    }

    /// Bytes of the unfinished bodies of a peer.
    pub(super) fn held(&self, flow: FlowId) -> usize {
        self.kept.held(flow, |assembly| assembly.body.len())
    }

    /// Drops the bodies of a peer that is gone.
    pub(super) fn forget(&mut self, flow: FlowId) {
        self.kept.forget(flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockSize;

    const LIMITS: Limits = Limits {
        max_body: 64,
        max_per_peer: 2,
        lifetime: Duration::from_secs(247),
    };

    fn take(assemblies: &mut Assemblies, resource: usize, number: u32, more: bool, seconds: u64) -> Progress {
        let (flow, method, size) = (FlowId(0), Method::Put, BlockSize::MIN);
        let key = Key {
            flow,
            resource,
            method,
            session: None,
        };
        let payload = [number as u8; 16];
        let now = Instant::from_millis(seconds * 1000);
        let block = Block { number, more, size };
        assemblies.take((key, None), (block, &payload), None, LIMITS, now)
    }

    const INCOMPLETE: Progress = Progress::Refused(Code::REQUEST_ENTITY_INCOMPLETE);

    #[test]
    fn blocks_in_order_make_the_body() {
        let mut all = Assemblies::default();
        assert_eq!(take(&mut all, 0, 0, true, 0), Progress::Continue);
        assert_eq!(take(&mut all, 0, 1, true, 1), Progress::Continue);
        let Progress::Whole(body) = take(&mut all, 0, 2, false, 2) else {
            panic!("the last block makes the body whole");
        };
        assert_eq!((body.len(), body[15], body[16], body[47]), (48, 0, 1, 2));
        assert_eq!(all.kept.len(), 0);
    }

    #[test]
    fn a_gap_is_answered_4_08_and_a_duplicate_block_is_not_added() {
        let mut all = Assemblies::default();
        assert_eq!(take(&mut all, 0, 1, true, 0), INCOMPLETE);
        assert_eq!(take(&mut all, 0, 0, true, 0), Progress::Continue);
        assert_eq!(take(&mut all, 0, 1, true, 0), Progress::Continue);
        assert_eq!(take(&mut all, 0, 1, true, 0), Progress::Continue);
        let entry = all.kept.find(FlowId(0), |_| true).expect("a body");
        let body = all.kept.get_mut(entry).map(|assembly| assembly.body.len());
        assert_eq!(body, Some(32));
        assert_eq!(take(&mut all, 0, 3, true, 0), INCOMPLETE);
    }

    #[test]
    fn a_body_above_the_limit_is_answered_4_13() {
        let mut all = Assemblies::default();
        for number in 0..4 {
            assert_eq!(take(&mut all, 0, number, true, 0), Progress::Continue);
        }
        let too_large = Progress::Refused(Code::REQUEST_ENTITY_TOO_LARGE);
        assert_eq!(take(&mut all, 0, 4, true, 0), too_large);
        assert_eq!(all.kept.len(), 0);
    }

    #[test]
    fn an_unfinished_body_expires_and_the_oldest_is_dropped() {
        let mut all = Assemblies::default();
        take(&mut all, 0, 0, true, 0);
        assert_eq!(take(&mut all, 0, 1, true, 247), INCOMPLETE);
        for resource in 0..3 {
            take(&mut all, resource, 0, true, 300);
        }
        assert_eq!(all.kept.len(), 2);
        assert_eq!(take(&mut all, 0, 1, true, 300), INCOMPLETE);
        assert_eq!(take(&mut all, 2, 1, true, 300), Progress::Continue);
    }
}
