//! The tree of topic filters: which sessions a message goes to (section 4.7), shared subscriptions included
//! (section 4.8.2).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::str::Split;

use super::session::SessionId;
use crate::codec::SubscriptionOptions;
use crate::topic::{self, MULTI_LEVEL, SINGLE_LEVEL};

/// A subscription of one session to one filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) session: SessionId,
    pub(super) options: SubscriptionOptions,
    pub(super) identifier: Option<u32>,
}

/// A subscription that matches a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) subscription: Subscription,
    /// Whether it stands for a group, and so is not merged with others of its session.
    pub(super) shared: bool,
}

/// Every subscription of every session. Filters have a bounded number of levels, and with it recursion here.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    children: BTreeMap<Box<str>, Node>,
    subscriptions: Vec<Subscription>,
    groups: BTreeMap<Box<str>, Group>,
}

/// The members of a shared subscription, and whose turn it is.
#[derive(Debug, Default)]
struct Group {
    members: Vec<Subscription>,
    turn: usize,
}

impl Subscriptions {
    /// Adds or replaces [MQTT-3.8.4-3] a subscription to `filter`; whether it is new.
    pub(super) fn subscribe(&mut self, filter: &str, subscription: Subscription) -> bool {
        let (group, filter) = split(filter);
        let mut node = &mut self.root;
        for level in filter.split('/') {
            // A key is made for new levels only.
            if !node.children.contains_key(level) {
                node.children.insert(level.into(), Node::default());
            }
            let Some(child) = node.children.get_mut(level) else {
                return false;
            };
            node = child;
        }
        let members = match group {
            None => &mut node.subscriptions,
            Some(group) => &mut node.groups.entry(group.into()).or_default().members,
        };
        let known = members
            .iter_mut()
            .find(|member| member.session == subscription.session);
        match known {
            Some(member) => {
                *member = subscription;
                false
            }
            None => {
                members.push(subscription);
                true
            }
        }
    }

    /// Ends the subscription of `session` to `filter`; whether there was one.
    pub(super) fn unsubscribe(&mut self, filter: &str, session: SessionId) -> bool {
        let (group, filter) = split(filter);
        self.root.unsubscribe(filter.split('/'), group, session)
    }

    /// Appends the subscriptions that match `name`, one per shared group: the next member in turn that is online,
    /// or the next one where none is.
    pub(super) fn matching(
        &mut self,
        name: &str,
        is_online: &impl Fn(SessionId) -> bool,
        matches: &mut Vec<Match>,
    ) {
        // [MQTT-4.7.2-1]
        let from_wildcards = !topic::is_hidden(name);
        self.root.matching(Some(name), from_wildcards, is_online, matches);
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

    fn unsubscribe(&mut self, mut levels: Split<'_, char>, group: Option<&str>, session: SessionId) -> bool {
        let Some(level) = levels.next() else {
            return self.remove(group, session);
        };
        let Some(child) = self.children.get_mut(level) else {
            return false;
        };
        let removed = child.unsubscribe(levels, group, session);
        if child.is_empty() {
            self.children.remove(level);
        }
        removed
    }

    fn remove(&mut self, group: Option<&str>, session: SessionId) -> bool {
        let Some(name) = group else {
            return leave(&mut self.subscriptions, session);
        };
        let Some(group) = self.groups.get_mut(name) else {
            return false;
        };
        let removed = leave(&mut group.members, session);
        if group.members.is_empty() {
            self.groups.remove(name);
        }
        removed
    }

    /// Goes down with the levels left in `name`; `None` is the end of the name.
    fn matching(
        &mut self,
        name: Option<&str>,
        from_wildcards: bool,
        is_online: &impl Fn(SessionId) -> bool,
        matches: &mut Vec<Match>,
    ) {
        if from_wildcards && let Some(rest) = self.children.get_mut(MULTI_LEVEL) {
            rest.collect(is_online, matches);
        }
        let Some(name) = name else {
            return self.collect(is_online, matches);
        };
        let (level, rest) = match name.split_once('/') {
            Some((level, rest)) => (level, Some(rest)),
            None => (name, None),
        };
        if from_wildcards && let Some(any) = self.children.get_mut(SINGLE_LEVEL) {
            any.matching(rest, true, is_online, matches);
        }
        if let Some(child) = self.children.get_mut(level) {
            child.matching(rest, true, is_online, matches);
        }
    }

    fn collect(&mut self, is_online: &impl Fn(SessionId) -> bool, matches: &mut Vec<Match>) {
        matches.extend(self.subscriptions.iter().map(|subscription| Match {
            subscription: *subscription,
            shared: false,
        }));
        let chosen = self.groups.values_mut().filter_map(|group| group.next(is_online));
        matches.extend(chosen.map(|subscription| Match {
            subscription,
            shared: true,
        }));
    }
}

impl Group {
    /// The member whose turn it is, round robin among those online.
    fn next(&mut self, is_online: &impl Fn(SessionId) -> bool) -> Option<Subscription> {
        let count = self.members.len();
        let member = |step: usize| {
            let index = (self.turn + step) % count;
            self.members.get(index).map(|member| (index, *member))
        };
        let online = (0..count)
            .filter_map(member)
            .find(|(_, subscription)| is_online(subscription.session));
        let (index, subscription) = online.or_else(|| (0..count).find_map(member))?;
        self.turn = (index + 1) % count;
        Some(subscription)
    }
}

fn leave(members: &mut Vec<Subscription>, session: SessionId) -> bool {
    let before = members.len();
    members.retain(|member| member.session != session);
    members.len() != before
}

#[cfg(test)]
mod tests;
