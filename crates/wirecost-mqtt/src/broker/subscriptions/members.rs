//! The subscriptions to one filter.

use alloc::collections::BTreeMap;

use super::Subscription;
use crate::broker::session::SessionId;

/// The subscriptions to one filter, by session. Most filters have one, which needs no allocation.
#[derive(Debug, Default)]
pub(super) enum Members {
    #[default]
    None,
    One(Subscription),
    Many(BTreeMap<SessionId, Subscription>),
}

impl Members {
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Adds or replaces the subscription of a session. Returns whether it is new.
    pub(super) fn insert(&mut self, subscription: Subscription) -> bool {
        match self {
            Self::None => *self = Self::One(subscription),
            Self::One(only) if only.session == subscription.session => {
                *only = subscription;
                return false;
            }
            Self::One(only) => {
                let both = [*only, subscription].map(|one| (one.session, one));
                *self = Self::Many(both.into());
            }
            Self::Many(all) => return all.insert(subscription.session, subscription).is_none(),
        }
        true
    }

    /// Removes the subscription of a session. Returns whether there was one.
    pub(super) fn remove(&mut self, session: SessionId) -> bool {
        let (was_there, is_empty) = match self {
            Self::None => return false,
            Self::One(only) => (only.session == session, only.session == session),
            Self::Many(all) => (all.remove(&session).is_some(), all.is_empty()),
        };
        if is_empty {
            *self = Self::None;
        }
        was_there
    }

    /// The subscriptions in the order of their sessions.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Subscription> {
        let (one, many) = match self {
            Self::None => (None, None),
            Self::One(only) => (Some(only), None),
            Self::Many(all) => (None, Some(all.values())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::memory::Memory;
    use crate::broker::session::Sessions;
    use crate::codec::SubscriptionOptions;

    #[test]
    fn members_come_and_go_in_any_order() {
        let (mut sessions, memory) = (Sessions::default(), Memory::default());
        let ids = ["a", "b", "c"].map(|name| sessions.create(name, &memory));
        let subscription = |session| Subscription {
            session,
            options: SubscriptionOptions::default(),
            identifier: None,
        };
        let mut members = Members::default();
        for (count, id) in ids.into_iter().rev().enumerate() {
            assert!(!members.remove(id));
            assert!(members.insert(subscription(id)) && !members.insert(subscription(id)));
            assert_eq!(members.iter().count(), count + 1);
        }
        assert!(members.iter().map(|one| one.session).eq(ids));
        for id in [ids[1], ids[0], ids[2]] {
            assert!(members.remove(id) && !members.remove(id));
        }
        assert!(members.is_empty() && members.iter().next().is_none());
    }
}
