//! GOAWAY: requests that the server does not process fail at once (RFC 9114 section 5.2).

use std::time::Duration;

use wirecost_proto::FlowId;
use wirecost_security::{Start, layer};

use super::rig::{Rig, get, post, responses, rig};
use crate::client::{Event, Failure};
use crate::http3::frame;
use crate::server::Command;

/// Why requests failed, in order.
fn failures(rig: &Rig) -> Vec<(u64, Failure)> {
    let events = rig.client_events.iter();
    let failure = |(_, event): &(_, layer::Event<Event>)| match event {
        layer::Event::Inner(Event::Failed { message, reason }) => Some((*message, *reason)),
        _ => None,
    };
    events.filter_map(failure).collect()
}

fn has_gone(rig: &Rig) -> bool {
    let gone = |(_, event): &(_, layer::Event<Event>)| *event == layer::Event::Inner(Event::GoneAway);
    rig.client_events.iter().any(gone)
}

/// A connection with long polls in flight, and a GOAWAY that names a stream.
fn leaving(first: u8) -> Rig {
    let mut rig = rig(Start::Cold);
    rig.open();
    rig.drive_for(Duration::from_secs(1));
    for message in 0..3 {
        rig.command(get(message, "/long-poll/a?timeout=10"));
    }
    rig.drive_for(Duration::from_secs(1));
    rig.server.say(frame::GOAWAY, &[first]);
    // This input only lets the server send it.
    let flow = FlowId(0);
    rig.server_command(Command::EarlyData { flow, bytes: 0 });
    rig.drive_for(Duration::from_secs(1));
    rig
}

#[test]
fn unprocessed_requests_fail_at_once() {
    let rig = leaving(0);
    let all = [0, 1, 2].map(|message| (message, Failure::NotProcessed));
    assert_eq!(failures(&rig), all);
    assert!(has_gone(&rig), "the connection is of no use");
    assert_eq!(rig.server.connections(), 0);
}

#[test]
fn processed_requests_are_answered_before_the_end() {
    let mut rig = leaving(4);
    let rest = [1, 2].map(|message| (message, Failure::NotProcessed));
    assert_eq!(failures(&rig), rest);
    assert!(!has_gone(&rig));
    // It waits for the next connection.
    rig.command(post(3, 1));
    rig.drive_for(Duration::from_secs(15));
    let answered: Vec<u64> = responses(&rig).iter().map(|(_, message, _)| *message).collect();
    assert_eq!(answered, [0]);
    assert!(has_gone(&rig));
    assert_eq!(failures(&rig), rest);
}
