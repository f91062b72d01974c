use super::super::super::cache::tests::{nothing, too_much};
use super::super::super::state::{self, State as Link};
use super::*;

fn asked(more: &str) -> Arc<Asked> {
    let query = format!("v=1&every=1h&count=1&{more}");
    let link = Link::read(&state::pairs(&query)).expect("a state");
    Arc::new(Asked::new(link).expect("a question"))
}

/// The questions of all jobs, and how many cells each has.
fn jobs(turns: &mut Turns) -> Vec<(Arc<Asked>, usize)> {
    let jobs = std::iter::from_fn(|| turns.next());
    jobs.map(|job| (job.asked, job.cells.len())).collect()
}

#[test]
fn those_who_ask_are_served_a_cell_at_a_time_whoever_asked_first_or_for_more() {
    let (long, short) = (
        asked("size=1B&stacks=udp,coap-non,coap-con"),
        asked("size=2B&stacks=udp"),
    );
    let begun = asked("size=3B&stacks=udp");
    let mut turns = Turns::default();
    turns.ask(NOBODY, &begun);
    turns.ask("long", &long);
    turns.ask("short", &short);
    let jobs = jobs(&mut turns);
    let of_short = short.keys().count();
    let (shared, rest) = jobs.split_at(2 * of_short);
    for pair in shared.chunks(2) {
        assert!(Arc::ptr_eq(&pair[0].0, &long) && Arc::ptr_eq(&pair[1].0, &short));
        assert!(pair[0].1 == 1 && pair[1].1 == 1);
    }
    // Who waits alone has larger jobs; nobody is the last.
    let (last, rest) = rest.split_last().expect("a job");
    assert!(rest.iter().all(|(asked, _)| Arc::ptr_eq(asked, &long)));
    assert!(Arc::ptr_eq(&last.0, &begun));
    let cells = jobs.iter().map(|(_, cells)| cells).sum::<usize>();
    assert_eq!(cells, long.keys().count() + of_short + last.1);
}

#[test]
fn what_two_ask_for_is_simulated_once_and_known_to_both() {
    let question = asked("stacks=udp");
    let other = asked("stacks=udp&tariff=1nce");
    let mut turns = Turns::default();
    turns.ask("a", &question);
    turns.ask("b", &other);
    let jobs = jobs(&mut turns);
    let count = question.keys().count();
    assert_eq!(jobs.iter().map(|(_, cells)| cells).sum::<usize>(), count);
    for key in question.keys() {
        turns.put(key, Ok(nothing()));
    }
    assert_eq!(turns.progress("a", &question), Some((count, count)));
    assert_eq!(turns.progress("b", &other), Some((count, count)));
    assert!(turns.seen("b", &other).is_ranked && turns.seen("b", &other).is_due);
}

#[test]
fn another_question_stops_what_nobody_else_waits_for() {
    let (first, other) = (asked("size=1B&stacks=udp"), asked("size=2B&stacks=udp"));
    let mut turns = Turns::default();
    turns.ask("a", &first);
    turns.ask("b", &first);
    let job = turns.next().expect("a job");
    let is_stopped = |turns: &Turns| {
        turns.stop_unwanted();
        job.stopped.load(Ordering::Relaxed)
    };
    turns.ask("a", &other);
    assert!(!is_stopped(&turns));
    turns.ask("b", &other);
    assert!(is_stopped(&turns));
    turns.end(&job, None);
    turns.ask("a", &first);
    assert!(
        turns
            .next()
            .is_some_and(|again| Arc::ptr_eq(&again.asked, &other))
    );
    assert!(turns.next().is_some_and(|again| again.keys == job.keys));
}

#[test]
fn who_waits_is_told_how_many_have_their_turn_before() {
    let questions: Vec<Arc<Asked>> = (1..=3)
        .map(|size| asked(&format!("size={size}B&stacks=udp,coap-non")))
        .collect();
    let mut turns = Turns::default();
    for (number, question) in questions.iter().enumerate() {
        turns.ask(&number.to_string(), question);
    }
    let before = |turns: &Turns| -> Vec<usize> {
        let seen = questions.iter().enumerate();
        seen.map(|(number, asked)| turns.seen(&number.to_string(), asked).before)
            .collect()
    };
    assert_eq!(before(&turns), [0, 1, 2]);
    let job = turns.next().expect("a job");
    assert_eq!(before(&turns), [0, 0, 1]);
    for key in &job.keys {
        turns.put(key, Ok(nothing()));
    }
    turns.end(&job, None);
    assert_eq!(before(&turns), [2, 0, 1]);
}

#[test]
fn a_question_that_is_asked_already_is_not_made_again() {
    let (own, others) = (asked("stacks=udp"), asked("stacks=udp"));
    let mut turns = Turns::default();
    turns.ask("other", &others);
    let found = |turns: &Turns, name: &str| turns.asked(name, &own.state).expect("a question");
    assert!(Arc::ptr_eq(&found(&turns, "own"), &others));
    turns.ask("own", &own);
    assert!(Arc::ptr_eq(&found(&turns, "own"), &own));
    assert!(
        turns
            .asked("own", &asked("stacks=udp&tariff=1nce").state)
            .is_none()
    );
}

#[test]
fn what_cannot_be_simulated_is_tried_again_for_another_question_only() {
    let question = asked("stacks=udp");
    let mut turns = Turns::default();
    turns.ask("a", &question);
    let job = turns.next().expect("a job");
    turns.end(&job, Some(&"a reason".into()));
    let seen = turns.seen("a", &question);
    assert_eq!(seen.done, job.keys.len());
    assert!(seen.failed.iter().map(|why| &**why).eq(["a reason"]));
    turns.ask("a", &question);
    assert_eq!(
        turns.progress("a", &question).map(|(done, _)| done),
        Some(job.keys.len())
    );
    turns.ask("a", &asked("stacks=coap-non"));
    turns.ask("a", &question);
    assert_eq!(turns.progress("a", &question).map(|(done, _)| done), Some(0));
}

#[test]
fn where_too_much_is_wanted_the_question_that_needs_most_is_not_answered() {
    let (large, small) = (asked("stacks=udp"), asked("size=2B&stacks=udp"));
    let mut turns = Turns::default();
    turns.ask("small", &small);
    turns.ask("large", &large);
    let key = small.keys().next().expect("a key");
    turns.put(key, Ok(nothing()));
    turns.put(large.keys().next().expect("a key"), Ok(too_much()));
    let seen = turns.seen("large", &large);
    assert!(seen.done == seen.of && seen.failed.len() == 1);
    assert!(seen.known.iter().all(Vec::is_empty));
    assert_eq!(turns.seen("small", &small).done, 1);
    // What nobody has any more is dropped with the next cell.
    turns.put(key, Ok(nothing()));
    assert!(!turns.cells.is_large());
}

#[test]
fn the_next_picture_waits_for_longer_the_longer_the_last_one_took() {
    let question = asked("stacks=udp");
    let mut turns = Turns::default();
    turns.ask("a", &question);
    assert!(turns.seen("a", &question).is_due);
    turns.answered("a", Some(Duration::ZERO));
    assert!(turns.seen("a", &question).is_due);
    turns.answered("a", Some(LONGEST_PAUSE));
    assert!(!turns.seen("a", &question).is_due);
    for key in question.keys() {
        turns.put(key, Ok(nothing()));
    }
    assert!(turns.seen("a", &question).is_due);
}

#[test]
fn the_one_who_was_silent_for_longest_makes_room_for_another() {
    let question = asked("stacks=udp");
    let mut turns = Turns::default();
    for number in 0..=CLIENTS {
        turns.ask(&number.to_string(), &question);
    }
    let names = turns.clients.iter().map(|client| client.name.as_str());
    assert_eq!(names.clone().count(), CLIENTS);
    assert!(!names.clone().any(|name| name == "0") && names.clone().any(|name| name == "1"));
}
