//! The windows of a session (section 2.5.6), the numbers of its deliveries, and the credit of a link.

use alloc::collections::VecDeque;

use crate::codec::{Begin, Disposition, Flow};

/// One end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    next_incoming_id: u32,
    incoming_window: u32,
    next_outgoing_id: u32,
    remote_incoming_window: u32,
    next_delivery_id: u32,
    /// The size of a full incoming window.
    window: u32,
}

impl Session {
    /// A session with an incoming window of `window` transfer frames, at least one. `accept_begin` sets the peer's values.
    pub(crate) fn new(window: u32) -> Self {
        let window = window.max(1);
        Self {
            next_incoming_id: 0,
            incoming_window: window,
            next_outgoing_id: 0,
            remote_incoming_window: 0,
            next_delivery_id: 0,
            window,
        }
    }

    pub(crate) fn begin(&self, remote_channel: Option<u16>) -> Begin {
        Begin {
            remote_channel,
            next_outgoing_id: self.next_outgoing_id,
            incoming_window: self.window,
            outgoing_window: self.window,
            handle_max: u32::MAX,
        }
    }

    /// Takes the peer's begin.
    pub(crate) fn accept_begin(&mut self, begin: &Begin) {
        self.next_incoming_id = begin.next_outgoing_id;
        self.remote_incoming_window = begin.incoming_window;
    }

    /// Takes the session's fields of a flow. The peer may not have seen our last transfers when it sent the flow.
    pub(crate) fn flowed(&mut self, flow: &Flow) {
        self.next_incoming_id = flow.next_outgoing_id;
        // A peer that has not seen our begin counts from our initial outgoing id, which is 0.
        let expected = flow.next_incoming_id.unwrap_or(0);
        let window = expected
            .wrapping_add(flow.incoming_window)
            .wrapping_sub(self.next_outgoing_id);
        // If the window ends before our next transfer-id, it is 0 (RFC 1982: serial numbers).
        self.remote_incoming_window = if window > u32::MAX / 2 && flow.incoming_window < u32::MAX / 2 {
            0
        } else {
            window
        };
    }

    /// The session's fields of a flow. The flow renews the incoming window.
    pub(crate) fn flow(&mut self) -> Flow {
        self.incoming_window = self.window;
        Flow {
            next_incoming_id: Some(self.next_incoming_id),
            incoming_window: self.incoming_window,
            next_outgoing_id: self.next_outgoing_id,
            outgoing_window: self.window,
            ..Flow::default()
        }
    }

    /// Whether the peer accepts another transfer frame.
    pub(crate) const fn may_transfer(&self) -> bool {
        self.remote_incoming_window > 0
    }

    /// Counts a sent transfer frame.
    pub(crate) const fn sent(&mut self) {
        self.next_outgoing_id = self.next_outgoing_id.wrapping_add(1);
        self.remote_incoming_window = self.remote_incoming_window.saturating_sub(1);
    }

    /// Counts a received transfer frame. Returns false if it exceeds the window.
    pub(crate) const fn received(&mut self) -> bool {
        self.next_incoming_id = self.next_incoming_id.wrapping_add(1);
        let is_allowed = self.incoming_window > 0;
        self.incoming_window = self.incoming_window.saturating_sub(1);
        is_allowed
    }

    /// Whether the window is so small that the peer needs a flow with a full one.
    pub(crate) const fn wants_flow(&self) -> bool {
        self.incoming_window <= self.window / 2
    }

    /// The number of the next delivery (section 2.6.12).
    pub(crate) const fn next_delivery(&mut self) -> u32 {
        let id = self.next_delivery_id;
        self.next_delivery_id = id.wrapping_add(1);
        id
    }
}

/// The credit of a link that sends (section 2.6.7).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Credit {
    /// The number of deliveries so far.
    pub(crate) delivery_count: u32,
    /// The number of further deliveries that the receiver accepts.
    pub(crate) left: u32,
    /// Whether the link has ever had credit.
    pub(crate) was_granted: bool,
}

impl Credit {
    /// Takes the receiver's credit. Returns whether this is the link's first credit.
    pub(crate) fn grant(&mut self, flow: &Flow) -> bool {
        let Some(link_credit) = flow.link_credit else {
            return false;
        };
        let delivery_count = flow.delivery_count.unwrap_or(0);
        let left = delivery_count
            .wrapping_add(link_credit)
            .wrapping_sub(self.delivery_count);
        self.left = if left > link_credit { 0 } else { left };
        let is_first = !self.was_granted && self.left > 0;
        self.was_granted |= is_first;
        is_first
    }

    /// Uses one unit for a delivery.
    pub(crate) const fn take_one(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.delivery_count = self.delivery_count.wrapping_add(1);
    }

    /// Gives the unused credit back to a receiver that drains the link.
    pub(crate) const fn give_back(&mut self) {
        self.delivery_count = self.delivery_count.wrapping_add(self.left);
        self.left = 0;
    }
}

/// Removes and returns the deliveries in flight that `disposition` covers, one by one.
pub(crate) fn take_covered<M>(
    unsettled: &mut VecDeque<(u32, M)>,
    disposition: &Disposition<'_>,
) -> impl Iterator<Item = M> {
    core::iter::from_fn(move || {
        let at = first_covered(unsettled, disposition)?;
        unsettled.remove(at).map(|(_, delivery)| delivery)
    })
}

/// The index of the first delivery in flight that `disposition` covers. The delivery-ids rise (RFC 1982).
fn first_covered<M>(unsettled: &VecDeque<(u32, M)>, disposition: &Disposition<'_>) -> Option<usize> {
    let (oldest, _) = unsettled.front()?;
    // Most deliveries are settled in order.
    if disposition.covers(*oldest) {
        return Some(0);
    }
    let distance = |id: u32| id.wrapping_sub(*oldest);
    let at = unsettled.partition_point(|(id, _)| distance(*id) < distance(disposition.first));
    let is_covered = unsettled.get(at).is_some_and(|(id, _)| disposition.covers(*id));
    is_covered.then_some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::Role;

    proptest! {
        #[test]
        fn the_binary_search_finds_the_first_delivery_of_a_range(
            begin: u32,
            gaps in proptest::collection::vec(1u32..4, 0..20),
            first in -5i32..60,
            len in proptest::option::of(0u32..20),
        ) {
            let mut id = begin;
            let mut unsettled = VecDeque::new();
            for gap in gaps {
                unsettled.push_back((id, ()));
                id = id.wrapping_add(gap);
            }
            let first = begin.wrapping_add_signed(first);
            let disposition = Disposition {
                role: Role::Receiver,
                first,
                last: len.map(|len| first.wrapping_add(len)),
                settled: true,
                state: None,
            };
            let expected = unsettled.iter().position(|(id, ())| disposition.covers(*id));
            prop_assert_eq!(first_covered(&unsettled, &disposition), expected);
        }
    }

    fn accept_begin(incoming_window: u32) -> Session {
        let mut session = Session::new(4);
        let begin = Begin {
            incoming_window,
            next_outgoing_id: 7,
            ..Session::new(4).begin(None)
        };
        session.accept_begin(&begin);
        session
    }

    #[test]
    fn stops_at_the_end_of_the_window_and_continues_after_a_flow() {
        let mut session = accept_begin(2);
        session.sent();
        assert!(session.may_transfer());
        session.sent();
        assert!(!session.may_transfer());
        // The flow was sent before our second transfer arrived.
        let flow = |next_incoming_id| Flow {
            next_incoming_id: Some(next_incoming_id),
            incoming_window: 2,
            next_outgoing_id: 7,
            ..Flow::default()
        };
        session.flowed(&flow(0));
        assert!(!session.may_transfer());
        session.flowed(&flow(1));
        assert!(session.may_transfer());
        session.sent();
        assert!(!session.may_transfer());
    }

    #[test]
    fn a_window_that_ends_before_our_next_transfer_id_is_zero() {
        let mut session = accept_begin(3);
        (0..3).for_each(|_| session.sent());
        session.flowed(&Flow {
            next_incoming_id: Some(0),
            incoming_window: 1,
            ..Flow::default()
        });
        assert!(!session.may_transfer());
    }

    #[test]
    fn counts_the_received_transfers() {
        let mut session = accept_begin(1);
        assert!((0..4).all(|_| session.received()));
        assert!(session.wants_flow());
        assert!(!session.received());
        assert_eq!(session.flow().next_incoming_id, Some(12));
        assert!(session.received() && !session.wants_flow());
    }
}
