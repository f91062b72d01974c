use alloc::collections::BTreeMap;

use super::*;
use wirecost_proto::Rng;

const FLOW: FlowId = FlowId(3);

/// Whether the message is a duplicate; it is one from now on.
fn is_duplicate(duplicates: &mut Duplicates, message: Message, now: Instant) -> bool {
    let known = duplicates.find(message, now, &mut Vec::new()).is_some();
    if !known {
        duplicates.remember(message, now);
    }
    known
}

fn known(duplicates: &mut Duplicates, id: u16, kind: Type, at: u64) -> bool {
    is_duplicate(duplicates, (FLOW, id, kind), Instant::from_millis(at * 1000))
}

#[test]
fn an_id_stays_in_use_for_the_lifetime_of_its_type() {
    let mut duplicates = Duplicates::new(&TransmissionParameters::default(), 1);
    for (kind, lifetime) in [(Type::Confirmable, 247), (Type::NonConfirmable, 145)] {
        assert!(!known(&mut duplicates, 7, kind, 0));
        assert!(known(&mut duplicates, 7, kind, 1));
        assert!(known(&mut duplicates, 7, kind, lifetime - 1));
        assert!(!known(&mut duplicates, 7, kind, lifetime));
        duplicates = Duplicates::new(&TransmissionParameters::default(), 1);
    }
}

#[test]
fn the_answer_of_a_confirmable_message_is_kept() {
    let mut duplicates = Duplicates::new(&TransmissionParameters::default(), 1);
    let mut answer = Vec::new();
    for id in 0..100u16 {
        known(&mut duplicates, id, Type::Confirmable, u64::from(id));
        duplicates.answered(&id.to_be_bytes(), Layout::plain(2, 0));
    }
    for id in 0..100u16 {
        let now = Instant::from_millis(260_000);
        let expired = id <= 13;
        assert_eq!(
            duplicates.find((FLOW, id, Type::Confirmable), now, &mut answer),
            (!expired).then_some(Some(Layout::plain(2, 0)))
        );
        let expected = if expired {
            Vec::new()
        } else {
            id.to_be_bytes().to_vec()
        };
        assert_eq!(answer, expected);
    }
}

#[test]
fn a_flood_of_messages_evicts_the_oldest_within_the_limit() {
    let mut duplicates = Duplicates::new(&TransmissionParameters::default(), 1);
    duplicates.confirmable.maximum_held = 100_000;
    for id in 0..60_000u16 {
        assert!(!known(&mut duplicates, id, Type::Confirmable, 0));
        duplicates.answered(&[0; 100], Layout::plain(100, 0));
        assert!(duplicates.confirmable.held() <= 100_100, "{id}");
    }
    assert!(known(&mut duplicates, 59_999, Type::Confirmable, 1));
    assert!(!known(&mut duplicates, 0, Type::Confirmable, 1));
    assert!(duplicates.len() > 300, "{}", duplicates.len());
}

#[test]
fn the_same_id_of_two_peers_is_two_messages() {
    let mut duplicates = Duplicates::new(&TransmissionParameters::default(), 1);
    let mut is_known = |flow| {
        let message = (FlowId(flow), 1, Type::Confirmable);
        is_duplicate(&mut duplicates, message, Instant::START)
    };
    assert!(!is_known(1));
    assert!(!is_known(2));
    assert!(is_known(1));
    assert_eq!(duplicates.len(), 2);
}

#[test]
fn the_index_agrees_with_a_map() {
    let (mut index, mut model, mut rng) = (Index::new(1), BTreeMap::new(), Rng::new(1));
    for number in 0..20_000 {
        let key = rng.next_below(500);
        match model.remove(&key) {
            Some(_) => index.remove(key),
            None => {
                model.insert(key, number);
                index.insert(key, number);
            }
        }
        let probe = rng.next_below(500);
        assert_eq!(index.find(probe), model.get(&probe).copied());
    }
}

#[test]
fn ids_that_collide_for_one_seed_do_not_collide_for_another() {
    // For each of 200 peers, the id whose slot comes first in a map with the seed 0.
    let mut alone = Index::new(0);
    (0..4_096).for_each(|number| alone.insert(u64::MAX - number, number));
    let first_of = |flow: u64| {
        let ids = (0..=u64::from(u16::MAX)).map(|id| flow << 16 | id);
        ids.min_by_key(|key| alone.home_slot(*key))
            .expect("there are ids")
    };
    let keys: Vec<u64> = (0..200).map(first_of).collect();
    let run = |seed| {
        let mut index = Index::new(seed);
        keys.iter().for_each(|key| index.insert(*key, 0));
        index.longest_run()
    };
    assert_eq!(
        run(0),
        200,
        "chosen so that every look-up goes through all of them"
    );
    assert!((1..20).all(|seed| run(seed << 40 | seed) < 60));
}
