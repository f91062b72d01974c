//! Which retained messages a filter matches, by a walk that leaves out what the filter does not reach.
//!
//! The topics are in the order of their characters, so those that begin with the same levels follow one another. For a literal
//! level the walk goes down one level. For a single-level wildcard it looks at each name of that level once. For a multi-level
//! wildcard it visits every topic below.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::ops::{Bound, ControlFlow};

use wirecost_proto::Instant;

use super::Retained;
use crate::broker::message::Message;
use crate::topic::{self, MULTI_LEVEL, SINGLE_LEVEL};

/// What follows every topic that begins with a level and `/`.
const AFTER_SLASH: char = '0';
/// What follows every topic that is hidden from wildcards.
const AFTER_HIDDEN: &str = "%";

impl Retained {
    /// Visits the messages whose topic matches `filter`, in the order of their topics, expired ones left out, until `visit`
    /// breaks; how many topics were looked at. A filter has a bounded number of levels, and with it recursion here.
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
        // A break only ends the walk.
        let _ = walk.below(filter);
        walk.looked_at
    }
}

struct Walk<'a, F> {
    by_topic: &'a BTreeMap<Arc<str>, Arc<Message>>,
    now: Instant,
    visit: F,
    /// The levels above, each with its `/`.
    levels: String,
    looked_at: usize,
}

impl<'a, F: FnMut(&'a Arc<Message>) -> ControlFlow<()>> Walk<'a, F> {
    /// Continues with `filter` below the levels above.
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
        // A multi-level wildcard matches its parent level, too (section 4.7.1.2).
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

    /// Visits all topics below.
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

    /// Whether a topic is hidden from a wildcard that stands here [MQTT-4.7.2-1].
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
