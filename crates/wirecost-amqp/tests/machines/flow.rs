//! Frames, windows, credit, loss of the connection.

use std::time::Duration;

use wirecost_amqp::client::{self, Awaited, Command, Event, Failure, Refusal};
use wirecost_amqp::container;
use wirecost_proto::{Cause, Direction, FlowId, Layer, Phase, ResetReason};

use crate::pair::{FLOW, bytes, events, events_but_sent, open, send, server_events};

fn sent(message: u64) -> Event {
    Event::Sent { message }
}

fn acknowledged(message: u64) -> Event {
    Event::Acknowledged { message }
}

fn small_frames() -> container::Config {
    container::Config {
        max_frame_size: 512,
        ..container::Config::default()
    }
}

#[test]
fn a_message_of_100_kb_is_split_to_the_peers_frame_size() {
    let mut pair = open(client::Config::default(), small_frames());
    let before = pair.sent.len();
    pair.command(send(0, &[5; 100_000]));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(events(&pair)[1..], [sent(0), acknowledged(0)]);
    let up: Vec<usize> = pair.sent[before..]
        .iter()
        .filter(|sent| sent.direction == Direction::Up)
        .map(|sent| sent.bytes.len())
        .collect();
    assert!(up.iter().all(|len| *len <= 512), "{up:?}");
    // 512 B minus 8 B of frame header and 12 B of performative.
    assert_eq!(up.len(), 100_043_usize.div_ceil(512 - 20));
    let kind = (Layer::Payload, Phase::Message, Cause::Original);
    assert_eq!(bytes(&pair, Direction::Up, kind.0, kind.1, kind.2), 100_000);
    assert_eq!(pair.unconsumed(), 0);
    assert!(matches!(
        server_events(&pair).last(),
        Some(container::Event::Received {
            payload_bytes: 100_000,
            ..
        })
    ));
}

#[test]
fn a_small_window_is_renewed_and_never_overrun() {
    let container = container::Config {
        session_window: 4,
        ..small_frames()
    };
    let mut pair = open(client::Config::default(), container);
    let start = pair.now;
    pair.command(send(0, &[5; 20_000]));
    let in_first_flight = pair.sent.iter().filter(|sent| sent.at == start).count();
    assert_eq!(in_first_flight, 4, "the window");
    pair.drive_for(Duration::from_secs(10));
    assert_eq!(events(&pair)[1..], [sent(0), acknowledged(0)]);
    assert_eq!(pair.server.stats().faults, 0);
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn messages_wait_for_credit_and_go_in_order() {
    let container = container::Config {
        credit: 3,
        ..container::Config::default()
    };
    let mut pair = open(client::Config::default(), container);
    (0..20).for_each(|message| pair.command(send(message, b"x")));
    assert_eq!((pair.client.in_flight(), pair.client.queued()), (3, 17));
    pair.drive_for(Duration::from_secs(10));
    let expected: Vec<Event> = (0..20).map(acknowledged).collect();
    assert_eq!(events_but_sent(&pair)[1..], expected);
    let is_sent = |event: &Event| matches!(event, Event::Sent { .. });
    let reported: Vec<Event> = events(&pair).into_iter().filter(is_sent).collect();
    assert_eq!(reported, (0..20).map(sent).collect::<Vec<_>>());
    // Only the first flow belongs to phase connect.
    let kind = (Layer::Application, Phase::Message, Cause::Acknowledgement);
    assert!(bytes(&pair, Direction::Down, kind.0, kind.1, kind.2) > 20 * 22);
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn a_message_above_the_receivers_limit_is_not_sent() {
    let container = container::Config {
        max_message_size: 100,
        ..container::Config::default()
    };
    let mut pair = open(client::Config::default(), container);
    pair.command(send(0, &[1; 200]));
    pair.command(send(1, b"x"));
    pair.drive_for(Duration::from_secs(1));
    let reason = Refusal::TooLarge {
        bytes: 243,
        limit: 100,
    };
    assert_eq!(
        events(&pair)[1..],
        [Event::Refused { message: 0, reason }, sent(1), acknowledged(1)]
    );
}

#[test]
fn a_new_connection_starts_with_new_state() {
    let mut pair = open(client::Config::default(), small_frames());
    pair.command(send(0, &[1; 2_000]));
    pair.reset(FLOW, ResetReason::TimedOut);
    let broke = [
        sent(0),
        Event::Discarded { message: 0 },
        Event::Reset(ResetReason::TimedOut),
    ];
    assert_eq!(events(&pair)[1..], broke);
    pair.command(send(1, b"waits for the next connection"));
    pair.open_flow(FlowId(1));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(events(&pair)[4..], [Event::Opened, sent(1), acknowledged(1)]);
    assert_eq!(pair.server.connections(), 1);
    assert_eq!(pair.unconsumed(), 0);
    assert_eq!(pair.client.stats().foreign_inputs, 0);
}

#[test]
fn both_sides_keep_an_idle_connection_alive() {
    let mut pair = open(client::Config::default(), container::Config::default());
    pair.drive_for(Duration::from_secs(600));
    assert_eq!(events(&pair), [Event::Opened]);
    let kind = (Layer::Application, Phase::KeepAlive, Cause::Original);
    let alive = |direction| bytes(&pair, direction, kind.0, kind.1, kind.2);
    // An empty frame of 8 B every 30 s: half of the announced time-out.
    assert_eq!(alive(Direction::Up), 160);
    assert_eq!(alive(Direction::Down), 160);
    assert_eq!(pair.client.stats().empty_frames, 20);
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn a_time_out_names_the_awaited_frame() {
    use wirecost_proto::{Endpoint, Input, Instant, Output};
    let mut client = client::Client::new(client::Config::default());
    let peer = "10.0.0.1:5672".parse().expect("an address");
    let (mut out, flow) = (wirecost_proto::Buffer::new(), FLOW);
    assert!(
        client
            .handle_input(Input::Opened { flow, peer }, Instant::START)
            .is_ok()
    );
    let due = loop {
        if let Output::Timeout(Some(due)) = client.poll_output(&mut out) {
            break due;
        }
    };
    assert_eq!(due, Instant::START + Duration::from_secs(30));
    assert!(client.handle_input(Input::Timeout, due).is_ok());
    let failure = Failure::TimedOut(Awaited::Header);
    assert_eq!(failure.to_string(), "peer must send its protocol header in time");
    assert_eq!(
        client.poll_output(&mut out),
        Output::Event(Event::Failed(failure))
    );
    assert_eq!(client.poll_output(&mut out), Output::Close { flow, reset: false });
    assert_eq!(client.poll_output(&mut out), Output::Timeout(None));
}

#[test]
fn shutdown_closes_with_an_error_condition() {
    let mut pair = open(client::Config::default(), container::Config::default());
    pair.server_command(container::Command::Shutdown);
    pair.drive_for(Duration::from_secs(100));
    let Some(Event::Closed { error: Some(error) }) = events(&pair).pop() else {
        panic!("closed with a reason");
    };
    assert_eq!(error.to_string(), "amqp:connection:forced");
    assert_eq!(pair.server.connections(), 0);
    assert_eq!(pair.next_step(), None);
}

#[test]
fn a_close_reports_the_messages_in_flight() {
    let mut pair = open(client::Config::default(), container::Config::default());
    pair.command(send(4, b"x"));
    pair.command(Command::Close);
    pair.drive_for(Duration::from_secs(1));
    let ends = [
        sent(4),
        Event::Discarded { message: 4 },
        Event::Closed { error: None },
    ];
    assert_eq!(events(&pair)[1..], ends);
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn a_full_queue_drops_its_oldest_messages() {
    let container = container::Config {
        queue_messages: 5,
        ..container::Config::default()
    };
    let mut pair = open(client::Config::default(), container);
    (0..8).for_each(|message| pair.command(send(message, b"x")));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(pair.server.queued("test"), 5);
    assert_eq!(pair.server.stats().overflowed, 3);
}
