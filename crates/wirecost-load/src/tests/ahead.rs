//! A message that leaves behind the request to connect.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_scenario::options::load::{LoadOptions, LoadTarget, Phase};
use wirecost_scenario::options::sending::Connection;
use wirecost_stack::Event;
use wirecost_stack::target::Target;

use super::rig::{READY, Request, Rig, open};

const LATER: Duration = Duration::from_millis(10);

fn load(stack: &str) -> LoadOptions {
    LoadOptions {
        clients: 1,
        connection: Connection::PerMessage,
        pipelined_connect: true,
        phases: vec![Phase::Publish(open(2.0, Duration::from_secs(2)))],
        ..LoadOptions::new(
            stack.parse().expect("a stack"),
            LoadTarget::Started(Target::Builtin),
        )
    }
}

/// A server whose devices may send `LATER` after the connect, and whose answer to the connect comes after another `LATER`.
fn with_answer(
    answer: impl Fn(u64) -> Vec<(Duration, Event)>,
) -> impl FnMut(usize, Request, Instant) -> Vec<(Duration, Event)> {
    move |_, request, _| match request {
        Request::Connect => vec![(LATER, Event::MaySend)],
        Request::Message(message) => answer(message),
    }
}

#[test]
fn a_message_leaves_before_the_connection_is_up_and_the_connect_ends_with_its_answer() {
    for (stack, acknowledges) in [("mqtt-qos1", true), ("mqtt-qos0", false)] {
        let answer = |message| match acknowledges {
            true => vec![(LATER, READY), (LATER, Event::Acknowledged { message })],
            false => vec![(LATER, READY)],
        };
        let sum = Rig::new(load(stack), with_answer(answer)).phase(0).sum;
        assert_eq!(
            (
                sum.connects.attempted,
                sum.connects.established,
                sum.connects.lost
            ),
            (4, 4, 0)
        );
        let ends = (sum.outcomes.acknowledged, sum.outcomes.unknown);
        assert_eq!(ends, if acknowledges { (4, 0) } else { (0, 4) });
        let least = sum.connect_time.as_ref().expect("connects").min();
        assert!(least >= 2 * LATER.as_nanos() as u64 - 1_000_000, "{least}");
    }
}

#[test]
fn a_second_message_waits_for_the_answer_to_the_connect() {
    let sent = Rc::new(Cell::new(0));
    let count = Rc::clone(&sent);
    let server = move |_: usize, request: Request, _: Instant| match request {
        Request::Connect => vec![(LATER, Event::MaySend), (Duration::from_secs(60), READY)],
        Request::Message(_) => {
            count.set(count.get() + 1);
            vec![]
        }
    };
    let options = LoadOptions {
        connection: Connection::Kept,
        inflight: Some(10),
        connect_timeout: Duration::from_secs(5),
        phases: vec![
            Phase::Connect {
                who: wirecost_scenario::options::load::Who::All,
                rate: None,
            },
            Phase::Publish(open(10.0, Duration::from_secs(1))),
        ],
        ..load("mqtt-qos1")
    };
    let mut rig = Rig::new(options, server);
    rig.phase(0);
    rig.phase(1);
    assert!(sent.get() <= 2, "one for each connect, not {}", sent.get());
}

#[test]
fn a_refused_connect_refuses_its_message_and_counts_as_no_connection() {
    let reason = || "CONNACK 5 Not authorized".to_owned();
    let answer = |message| {
        vec![
            (
                LATER,
                Event::Refused {
                    message,
                    reason: reason(),
                },
            ),
            (LATER, Event::Rejected { reason: reason() }),
        ]
    };
    let sum = Rig::new(load("mqtt-qos1"), with_answer(answer)).phase(0).sum;
    assert_eq!((sum.connects.established, sum.connects.lost), (0, 0));
    assert_eq!(sum.connects.attempted, sum.connects.refused);
    assert_eq!(sum.outcomes.refused, 4);
}
