use alloc::collections::BTreeSet;
use alloc::string::String;

use proptest::prelude::*;

use super::*;
use crate::broker::memory::Memory;
use crate::broker::session::Sessions;

fn subscription(session: SessionId) -> Subscription {
    Subscription {
        session,
        options: SubscriptionOptions::default(),
        identifier: None,
    }
}

fn levels(level: &'static str) -> impl Strategy<Value = String> {
    proptest::string::string_regex(level).expect("a pattern")
}

/// The sessions that the tree finds for `name`.
fn found(tree: &mut Subscriptions, name: &str) -> Vec<SessionId> {
    let mut matches = Vec::new();
    tree.matching(name, &|_| true, &mut matches);
    let mut sessions: Vec<SessionId> = matches.iter().map(|found| found.subscription.session).collect();
    sessions.sort_unstable();
    sessions
}

proptest! {
    /// The tree agrees with comparing filter by filter, and is empty after all sessions have unsubscribed.
    #[test]
        fn the_tree_agrees_with_comparing_every_filter(
        filters in proptest::collection::btree_set(levels(r"(\$?[ab]?|\+)(/([ab]|\+)?){0,3}(/#)?"), 1..8),
        names in proptest::collection::vec(levels(r"\$?[ab]?(/[ab]?){0,4}"), 1..8),
    ) {
        let filters: BTreeSet<String> = filters.into_iter().filter(|one| topic::is_filter(one)).collect();
        let mut sessions = Sessions::default();
        let mut tree = Subscriptions::default();
        let subscribed: Vec<(SessionId, String)> = filters
            .iter()
            .map(|filter| (sessions.create(filter, &Memory::default()), filter.clone()))
            .collect();
        for (session, filter) in &subscribed {
            prop_assert!(tree.subscribe(filter, subscription(*session)));
            prop_assert!(!tree.subscribe(filter, subscription(*session)), "the same again");
        }
        for name in names.iter().filter(|name| !name.is_empty()) {
            let matching = subscribed.iter().filter(|(_, filter)| topic::matches(filter, name));
            let expected: Vec<SessionId> = matching.map(|(session, _)| *session).collect();
            prop_assert_eq!(found(&mut tree, name), expected, "{}", name);
        }
        for (session, filter) in &subscribed {
            prop_assert!(tree.unsubscribe(filter, *session));
            prop_assert!(!tree.unsubscribe(filter, *session));
        }
        prop_assert!(tree.root.is_empty());
    }
}

#[test]
fn a_group_takes_turns_among_online_members() {
    let mut sessions = Sessions::default();
    let members = ["a", "b", "c"].map(|name| sessions.create(name, &Memory::default()));
    let mut tree = Subscriptions::default();
    for member in members {
        tree.subscribe("$share/g/t", subscription(member));
    }
    let mut next = |is_online: &dyn Fn(SessionId) -> bool| {
        let mut matches = Vec::new();
        tree.matching("t", &|id| is_online(id), &mut matches);
        assert!(matches.len() == 1 && matches[0].shared);
        matches[0].subscription.session
    };
    let [a, b, c] = members;
    assert_eq!(
        [next(&|_| true), next(&|_| true), next(&|_| true), next(&|_| true)],
        [a, b, c, a]
    );
    assert_eq!([next(&|id| id != b), next(&|id| id != b)], [c, a]);
    assert_eq!(
        [next(&|_| false), next(&|_| false)],
        [b, c],
        "nobody is there: turns go on"
    );
}
