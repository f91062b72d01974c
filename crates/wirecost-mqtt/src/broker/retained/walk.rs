//! Finds the retained messages that match a filter, and skips topics that the filter cannot match.
//!
//! The topics are sorted by their characters, so topics that begin with the same levels are adjacent. For a literal
//! level the walk goes down one level. For a single-level wildcard it visits each name of that level once. For a
//! multi-level wildcard it visits every topic below.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::ops::{Bound, ControlFlow};

use wirecost_proto::Instant;

use super::Retained;
use crate::broker::message::Message;
use crate::topic::{self, MULTI_LEVEL, SINGLE_LEVEL};

/// The character after `/`: sorts after every topic below a level.
const AFTER_SLASH: char = '0';
/// Sorts after every topic that is hidden from wildcards.
const AFTER_HIDDEN: &str = "%";

impl Retained {
    /// Calls `visit` for the messages that match `filter`, in the order of their topics and without expired ones, until
    /// it breaks. Returns the number of visited topics. A filter has a bounded number of levels, so the recursion is
    /// bounded.
    pub(in crate::broker) fn matching<'a>(
        &'a self,
        filter: &str,
        now: Instant,
        visit: impl FnMut(&'a Arc<Message>) -> ControlFlow<()>,
    ) -> usize {
        let mut walk = Walk {
            by_topic: &self.by_topic,
            now,
            visit,
            levels: String::new(),
            looked_at: 0,
        };
        // A break has no other effect.
        let _ = walk.below(filter);
        walk.looked_at
    }
}

struct Walk<'a, F> {
    by_topic: &'a BTreeMap<Arc<str>, Arc<Message>>,
    now: Instant,
    visit: F,
    /// The parent levels, each with its `/`.
    levels: String,
    looked_at: usize,
}

impl<'a, F: FnMut(&'a Arc<Message>) -> ControlFlow<()>> Walk<'a, F> {
    /// Continues with `filter` below the parent levels.
    fn below(&mut self, filter: &str) -> ControlFlow<()> {
        if filter == MULTI_LEVEL {
            return self.everything();
        }
        let (level, rest) = match filter.split_once('/') {
            Some((level, rest)) => (level, Some(rest)),
            None => (filter, None),
        };
        if level == SINGLE_LEVEL {
            return self.any_level(rest);
        }
        let above = self.levels.len();
        self.levels.push_str(level);
        // A multi-level wildcard also matches its parent level (section 4.7.1.2).
        if matches!(rest, None | Some(MULTI_LEVEL)) {
            self.looked_at += 1;
            if let Some(message) = self.by_topic.get(self.levels.as_str()) {
                self.visit(message)?;
            }
        }
        if let Some(rest) = rest {
            self.levels.push('/');
            self.below(rest)?;
        }
        self.levels.truncate(above);
        ControlFlow::Continue(())
    }

    /// Visits all topics below the parent levels.
    fn everything(&mut self) -> ControlFlow<()> {
        let mut topics = self.topics(Bound::Included(&self.levels));
        while let Some((name, message)) = topics.next() {
            self.looked_at += 1;
            if self.is_hidden(name) {
                topics = self.topics(Bound::Included(AFTER_HIDDEN));
            } else if name.starts_with(&self.levels) {
                self.visit(message)?;
            } else {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// Continues with `rest` below each name of this level.
    fn any_level(&mut self, rest: Option<&str>) -> ControlFlow<()> {
        let above = self.levels.len();
        let mut topics = self.topics(Bound::Included(&self.levels));
        while let Some((name, message)) = topics.next() {
            self.looked_at += 1;
            if self.is_hidden(name) {
                topics = self.topics(Bound::Included(AFTER_HIDDEN));
                continue;
            }
            let Some(below) = name.strip_prefix(self.levels.as_str()) else {
                break;
            };
            let Some((level, _)) = below.split_once('/') else {
                if matches!(rest, None | Some(MULTI_LEVEL)) {
                    self.visit(message)?;
                }
                continue;
            };
            self.levels.push_str(level);
            if let Some(rest) = rest {
                self.levels.push('/');
                self.below(rest)?;
                self.levels.pop();
            }
            self.levels.push(AFTER_SLASH);
            topics = self.topics(Bound::Included(&self.levels));
            self.levels.truncate(above);
        }
        ControlFlow::Continue(())
    }

    fn topics(
        &self,
        from: Bound<&str>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Message>)> + use<'a, F> {
        self.by_topic.range::<str, _>((from, Bound::Unbounded))
    }

    /// Whether a topic is hidden from a wildcard at this level [MQTT-4.7.2-1].
    fn is_hidden(&self, name: &str) -> bool {
        self.levels.is_empty() && topic::is_hidden(name)
    }

    fn visit(&mut self, message: &'a Arc<Message>) -> ControlFlow<()> {
        match message.has_expired(self.now) {
            true => ControlFlow::Continue(()),
            false => (self.visit)(message),
        }
    }
}
