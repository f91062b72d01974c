use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::ControlFlow;
use core::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::broker::memory::Memory;
use crate::codec::properties::Property;
use crate::codec::{PropertiesBuf, Text};
use crate::quality::QoS;
use crate::topic;

/// A message with a message expiry interval in seconds, or without one.
fn message(name: &str, expiry: Option<u32>) -> Arc<Message> {
    let mut properties = PropertiesBuf::new();
    properties.extend(expiry.map(Property::MessageExpiryInterval));
    let name = Text::new(name).expect("a topic name");
    let (properties, memory) = (properties.as_properties(), Memory::default());
    let message = Message::new(name, b"1", QoS::AtMostOnce, properties, Instant::START, &memory);
    Arc::new(message)
}

fn retained<'a>(names: impl IntoIterator<Item = &'a String>) -> Retained {
    let mut retained = Retained::default();
    names
        .into_iter()
        .for_each(|name| retained.store(message(name, None)));
    retained
}

/// The matching topics, and the number of visited topics.
fn found(retained: &Retained, filter: &str) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let looked_at = retained.matching(filter, Instant::START, |message| {
        names.push(message.topic.as_text().as_str().into());
        ControlFlow::Continue(())
    });
    (names, looked_at)
}

proptest! {
    /// The characters around `/` in the sort order separate a level from the levels below it.
    #[test]
        fn the_walk_agrees_with_comparing_every_topic(
        names in proptest::collection::btree_set(r"[$ab!0]{0,2}(/[$ab!0]{0,2}){0,3}", 0..40),
        filters in proptest::collection::vec(r"([$ab!0]{0,2}|\+)(/([$ab!0]{0,2}|\+)){0,3}(/#)?|#", 1..20),
    ) {
        let retained = retained(&names);
        for filter in filters.iter().filter(|filter| topic::is_filter(filter)) {
            let matching = names.iter().filter(|name| topic::matches(filter, name));
            let expected: Vec<String> = matching.cloned().collect();
            prop_assert_eq!(found(&retained, filter).0, expected, "{}", filter);
        }
    }
}

#[test]
fn a_walk_visits_only_the_topics_that_its_filter_can_match() {
    let others = (0..10_000).map(|number| format!("others/{number}/a/b"));
    let hidden = (0..10_000).map(|number| format!("$hidden/{number}"));
    let own = ["own/1/a", "own/2/a", "own/2/b/c"].map(String::from);
    let names: Vec<String> = others.chain(hidden).chain(own).collect();
    let retained = retained(&names);
    for (filter, count) in [
        ("own/+/a", 2),
        ("own/#", 3),
        ("+/1/a", 1),
        ("own/2/b/c", 1),
        ("+", 0),
        ("nobody/+/#", 0),
    ] {
        let (names, looked_at) = found(&retained, filter);
        assert_eq!(names.len(), count, "{filter}: {names:?}");
        assert!(looked_at <= 8, "{filter}: {looked_at}");
    }
}

#[test]
fn a_break_ends_the_walk() {
    let names: Vec<String> = (0..1_000).map(|number| format!("a/{number}/b")).collect();
    let retained = retained(&names);
    for filter in ["#", "a/+/b", "a/#"] {
        let mut visits = 0;
        let looked_at = retained.matching(filter, Instant::START, |_| {
            visits += 1;
            if visits < 3 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        assert!(visits == 3 && looked_at <= 6, "{filter}: {visits}, {looked_at}");
    }
}

#[test]
fn expired_messages_are_removed_by_expiry_time_and_no_others() {
    let mut retained = Retained::default();
    for (name, expiry) in [
        ("late", Some(20)),
        ("soon", Some(10)),
        ("never", None),
        ("again", Some(5)),
    ] {
        retained.store(message(name, expiry));
    }
    retained.store(message("again", None));
    let after = |seconds| Instant::START + Duration::from_secs(seconds);
    retained.purge(after(9));
    assert_eq!((retained.len(), retained.by_expiry.len()), (4, 2));
    retained.purge(after(10));
    assert!(!retained.contains("soon") && retained.len() == 3);
    retained.remove("late");
    assert!(retained.by_expiry.is_empty());
    retained.purge(after(100));
    let bytes = ["never", "again"].map(|name| message(name, None).bytes());
    assert_eq!((retained.len(), retained.bytes), (2, bytes.iter().sum()));
}
