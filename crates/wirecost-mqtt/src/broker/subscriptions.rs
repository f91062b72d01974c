//! The tree of topic filters: finds the sessions that receive a message (section 4.7), including shared subscriptions
//! (section 4.8.2).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::str::Split;

use self::groups::{GroupId, Groups};
use self::members::Members;
use super::session::SessionId;
use crate::codec::SubscriptionOptions;
use crate::topic::{self, MULTI_LEVEL, SINGLE_LEVEL};

mod groups;
mod members;

/// A subscription of one session to one filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) session: SessionId,
    pub(super) options: SubscriptionOptions,
    pub(super) identifier: Option<u32>,
}

/// A matching subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) subscription: Subscription,
    /// Whether it belongs to a shared group, and so is not merged with others of its session.
    pub(super) shared: bool,
}

/// All subscriptions. A filter has a bounded number of levels, so the recursion is bounded.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    root: Node,
    groups: Groups,
}

#[derive(Debug, Default)]
struct Node {
    children: BTreeMap<Box<str>, Node>,
    subscriptions: Members,
    groups: BTreeMap<Box<str>, GroupId>,
}

/// The parameters and the result of a search.
struct Search<'a, F> {
    groups: &'a mut Groups,
    is_online: &'a F,
    matches: &'a mut Vec<Match>,
}

impl Subscriptions {
    /// Adds or replaces [MQTT-3.8.4-3] a subscription to `filter`. Returns whether it is new.
    pub(super) fn subscribe(&mut self, filter: &str, subscription: Subscription) -> bool {
        let (group, filter) = split(filter);
        let mut node = &mut self.root;
        for level in filter.split('/') {
            // Allocate a key only for a new level.
            if !node.children.contains_key(level) {
                node.children.insert(level.into(), Node::default());
            }
            let Some(child) = node.children.get_mut(level) else {
                return false;
            };
            node = child;
        }
        let Some(group) = group else {
            return node.subscriptions.insert(subscription);
        };
        let id = match node.groups.get(group) {
            Some(id) => *id,
            None => *node.groups.entry(group.into()).or_insert(self.groups.create()),
        };
        self.groups.join(id, subscription)
    }

    /// Removes the subscription of `session` to `filter`. Returns whether there was one.
    pub(super) fn unsubscribe(&mut self, filter: &str, session: SessionId) -> bool {
        let (group, filter) = split(filter);
        self.root
            .unsubscribe(filter.split('/'), group, session, &mut self.groups)
    }

    /// Gives a session that connects again its turns in shared groups.
    pub(super) fn session_online(&mut self, session: SessionId) {
        self.groups.session_online(session);
    }

    /// Appends the subscriptions that match `name`. For each shared group, this is the next member that is online, or
    /// the next member if none is.
    pub(super) fn matching(
        &mut self,
        name: &str,
        is_online: &impl Fn(SessionId) -> bool,
        matches: &mut Vec<Match>,
    ) {
        // [MQTT-4.7.2-1]
        let from_wildcards = !topic::is_hidden(name);
        let mut search = Search {
            groups: &mut self.groups,
            is_online,
            matches,
        };
        self.root.matching(Some(name), from_wildcards, &mut search);
    }
}

fn split(filter: &str) -> (Option<&str>, &str) {
    match topic::split_shared(filter) {
        Some((group, filter)) => (Some(group), filter),
        None => (None, filter),
    }
}

impl Node {
    fn is_empty(&self) -> bool {
        self.children.is_empty() && self.subscriptions.is_empty() && self.groups.is_empty()
    }

    fn unsubscribe(
        &mut self,
        mut levels: Split<'_, char>,
        group: Option<&str>,
        session: SessionId,
        groups: &mut Groups,
    ) -> bool {
        let Some(level) = levels.next() else {
            return self.remove(group, session, groups);
        };
        let Some(child) = self.children.get_mut(level) else {
            return false;
        };
        let removed = child.unsubscribe(levels, group, session, groups);
        if child.is_empty() {
            self.children.remove(level);
        }
        removed
    }

    fn remove(&mut self, group: Option<&str>, session: SessionId, groups: &mut Groups) -> bool {
        let Some(name) = group else {
            return self.subscriptions.remove(session);
        };
        let Some(id) = self.groups.get(name).copied() else {
            return false;
        };
        let removed = groups.leave(id, session);
        if groups.has_ended(id) {
            self.groups.remove(name);
        }
        removed
    }

    /// Continues with the remaining levels in `name`; `None` is the end of the name.
    fn matching<F: Fn(SessionId) -> bool>(
        &self,
        name: Option<&str>,
        from_wildcards: bool,
        search: &mut Search<'_, F>,
    ) {
        if from_wildcards && let Some(rest) = self.children.get(MULTI_LEVEL) {
            rest.collect(search);
        }
        let Some(name) = name else {
            return self.collect(search);
        };
        let (level, rest) = match name.split_once('/') {
            Some((level, rest)) => (level, Some(rest)),
            None => (name, None),
        };
        if from_wildcards && let Some(any) = self.children.get(SINGLE_LEVEL) {
            any.matching(rest, true, search);
        }
        if let Some(child) = self.children.get(level) {
            child.matching(rest, true, search);
        }
    }

    fn collect<F: Fn(SessionId) -> bool>(&self, search: &mut Search<'_, F>) {
        search
            .matches
            .extend(self.subscriptions.iter().map(|subscription| Match {
                subscription: *subscription,
                shared: false,
            }));
        for group in self.groups.values() {
            let chosen = search.groups.next(*group, search.is_online);
            search.matches.extend(chosen.map(|subscription| Match {
                subscription,
                shared: true,
            }));
        }
    }
}

#[cfg(test)]
mod tests;
