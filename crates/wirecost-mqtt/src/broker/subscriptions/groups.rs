//! Shared subscriptions: selects the next member (section 4.8.2).

use alloc::collections::{BTreeMap, BTreeSet};

use super::Subscription;
use crate::broker::session::SessionId;

/// The number of a group. It is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupId(u64);

/// All groups of all filters.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_id: BTreeMap<GroupId, Group>,
    /// Members whose session was offline when it was their turn. They are skipped until the session returns.
    away: BTreeSet<(SessionId, GroupId)>,
    created: u64,
}

/// The members of a shared subscription, in turn.
#[derive(Debug, Default)]
struct Group {
    members: BTreeMap<SessionId, Subscription>,
    /// The members that may be online.
    present: BTreeSet<SessionId>,
    /// The member of the last turn.
    last: Option<SessionId>,
}

impl Groups {
    pub(super) fn create(&mut self) -> GroupId {
        let id = GroupId(self.created);
        self.created += 1;
        self.by_id.insert(id, Group::default());
        id
    }

    /// Adds or replaces a member. Returns whether it is new.
    pub(super) fn join(&mut self, id: GroupId, subscription: Subscription) -> bool {
        let Some(group) = self.by_id.get_mut(&id) else {
            return false;
        };
        let session = subscription.session;
        let is_new = group.members.insert(session, subscription).is_none();
        if is_new {
            group.present.insert(session);
        }
        is_new
    }

    /// Removes a member. Returns whether it was one.
    pub(super) fn leave(&mut self, id: GroupId, session: SessionId) -> bool {
        let Some(group) = self.by_id.get_mut(&id) else {
            return false;
        };
        group.present.remove(&session);
        let was_member = group.members.remove(&session).is_some();
        if group.members.is_empty() {
            self.by_id.remove(&id);
        }
        self.away.remove(&(session, id));
        was_member
    }

    /// Whether a group has no members left.
    pub(super) fn has_ended(&self, id: GroupId) -> bool {
        !self.by_id.contains_key(&id)
    }

    /// Gives a session that connects again its turns.
    pub(super) fn session_online(&mut self, session: SessionId) {
        let of_session = (session, GroupId(0))..=(session, GroupId(u64::MAX));
        while let Some(away) = self.away.range(of_session.clone()).next().copied() {
            self.away.remove(&away);
            if let Some(group) = self.by_id.get_mut(&away.1) {
                group.present.insert(session);
            }
        }
    }

    /// The next member that is online, or the next member if none is.
    pub(super) fn next(
        &mut self,
        id: GroupId,
        is_online: &impl Fn(SessionId) -> bool,
    ) -> Option<Subscription> {
        let group = self.by_id.get_mut(&id)?;
        let online = loop {
            let Some(session) = group.next_present() else {
                break None;
            };
            if is_online(session) {
                break Some(session);
            }
            group.present.remove(&session);
            self.away.insert((session, id));
        };
        let session = online.or_else(|| group.next_member())?;
        group.last = Some(session);
        group.members.get(&session).copied()
    }
}

impl Group {
    fn next_present(&self) -> Option<SessionId> {
        let behind = self.last.and_then(|last| self.present.range(after(last)).next());
        behind.or_else(|| self.present.first()).copied()
    }

    fn next_member(&self) -> Option<SessionId> {
        let behind = self.last.and_then(|last| self.members.range(after(last)).next());
        let (session, _) = behind.or_else(|| self.members.first_key_value())?;
        Some(*session)
    }
}

/// The sessions after `last`.
fn after(last: SessionId) -> (core::ops::Bound<SessionId>, core::ops::Bound<SessionId>) {
    (core::ops::Bound::Excluded(last), core::ops::Bound::Unbounded)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::broker::memory::Memory;
    use crate::broker::session::Sessions;
    use crate::codec::SubscriptionOptions;

    #[test]
    fn offline_members_are_checked_once_until_they_return() {
        let (mut groups, mut sessions, memory) = (Groups::default(), Sessions::default(), Memory::default());
        let group = groups.create();
        let members: alloc::vec::Vec<SessionId> = (0..1_000)
            .map(|number| sessions.create(&alloc::format!("{number}"), &memory))
            .collect();
        for session in &members {
            let options = SubscriptionOptions::default();
            let subscription = Subscription {
                session: *session,
                options,
                identifier: None,
            };
            assert!(groups.join(group, subscription) && !groups.join(group, subscription));
        }
        let (looked_at, one) = (Cell::new(0), members[500]);
        let only_one = |session| {
            looked_at.set(looked_at.get() + 1);
            session == one
        };
        for _ in 0..100 {
            assert_eq!(groups.next(group, &only_one).map(|next| next.session), Some(one));
        }
        assert!(looked_at.get() <= members.len() + 100, "{looked_at:?}");

        groups.session_online(members[7]);
        let two = |session| session == one || session == members[7];
        let turns = [0; 3].map(|_| groups.next(group, &two).map(|next| next.session));
        assert_eq!(turns, [Some(members[7]), Some(one), Some(members[7])]);

        assert!(members.iter().all(|session| groups.leave(group, *session)));
        assert!(groups.has_ended(group) && groups.away.is_empty() && groups.by_id.is_empty());
    }
}
