//! Observation (RFC 7641).

mod common;

use std::time::Duration;

use common::*;
use wirecost_coap::client::{Cancellation, Client, Command, Request};
use wirecost_coap::code::{Code, Method};
use wirecost_coap::message::Repr;
use wirecost_coap::option::{OptionNumber, content_format};
use wirecost_coap::server::Event;
use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Direction, Endpoint, Input, Instant, Phase};

const INTERVAL: Duration = Duration::from_secs(5);

fn observing(path: &str, lossy: Lossy) -> CoapPair {
    let mut pair = pair(lossy);
    pair.command(observe(1, path));
    pair.drive_for(Duration::from_secs(1));
    pair
}

#[test]
fn notifications_come_confirmable_and_fresh() {
    // TD_COAP_OBS_01.
    let mut pair = observing("/obs", Lossy::default());
    let registration = &responses(&pair)[0];
    assert_eq!(registration.options.view().observe(), Some(0));
    assert_eq!(registration.options.view().max_age(), 5);
    pair.drive_for(INTERVAL * 3);
    let sequences: Vec<_> = notifications(&pair)
        .iter()
        .map(|n| n.options.view().observe())
        .collect();
    assert_eq!(sequences, [Some(1), Some(2), Some(3)]);
    assert_eq!(flow_of(&pair)[2..], ["<CON 2.05", ">ACK 0.00"].repeat(3));
    assert_eq!(notifications(&pair)[2].payload, b"0000000003\n00000");
    assert!(pair.sent.iter().all(|sent| sent.spans[0].phase == Phase::Message));
}

#[test]
fn one_non_notification_a_day_is_sent_as_con() {
    // TD_COAP_OBS_02 and RFC 7641 section 4.5.
    let mut config = server_config();
    config.observe_interval = Duration::from_secs(3600);
    let mut pair = pair_with(Lossy::default(), client_config(), config);
    pair.command(observe(1, "/obs-non"));
    pair.drive_for(Duration::from_secs(25 * 3600 + 1));
    let mut expected = vec!["<NON 2.05"; 23];
    expected.extend(["<CON 2.05", ">ACK 0.00", "<NON 2.05"]);
    assert_eq!(flow_of(&pair)[2..], expected);
}

#[test]
fn deregistration_ends_the_notifications() {
    // TD_COAP_OBS_13.
    let mut pair = observing("/obs", Lossy::default());
    let how = Cancellation::Deregister;
    pair.command(Command::CancelObserve { message: 1, how });
    pair.drive_for(INTERVAL * 4);
    assert_eq!(
        flow_of(&pair),
        [">CON 0.01", "<ACK 2.05", ">CON 0.01", "<ACK 2.05"]
    );
    let last = Repr::parse(&pair.sent[2].bytes).expect("we send messages");
    assert_eq!(last.options.observe(), Some(1));
    assert_eq!(
        last.token.bytes(),
        &pair.sent[0].bytes[4..6],
        "the token of the registration"
    );
    assert_eq!(pair.server.observers(), 0);
    assert_eq!(pair.next_step(), None, "without observers nothing ticks");
}

#[test]
fn a_forgotten_observation_is_rejected_with_a_reset() {
    // TD_COAP_OBS_05 and RFC 7641 section 3.6.
    for (path, notification) in [("/obs", "<CON 2.05"), ("/obs-non", "<NON 2.05")] {
        let mut pair = observing(path, Lossy::default());
        let how = Cancellation::Forget;
        pair.command(Command::CancelObserve { message: 1, how });
        pair.drive_for(INTERVAL * 4);
        assert_eq!(flow_of(&pair)[2..], [notification, ">RST 0.00"]);
        assert_eq!(pair.server.observers(), 0);
    }
}

#[test]
fn an_observer_that_does_not_acknowledge_is_forgotten() {
    // TD_COAP_OBS_04.
    let mut pair = observing("/obs", Lossy::default());
    pair.path.up = (0..10_000).collect();
    pair.drive_for(Duration::from_secs(200));
    assert_eq!(pair.server.observers(), 0);
    let path = "/obs";
    let flow = FIRST_FLOW;
    let last = pair.server_events.last().map(|(_, event)| *event);
    assert_eq!(last, Some(Event::ObserverRemoved { flow, path }));
    // RFC 7641 section 4.5.2: 5 attempts in total, although the resource changed in between.
    assert_eq!(sent(&pair, Direction::Down).len(), 1 + 5);
}

#[test]
fn a_retransmission_carries_the_current_state() {
    let mut pair = observing("/obs", Lossy::default());
    pair.path.down = vec![1, 2];
    pair.drive_for(INTERVAL * 5);
    let first = &notifications(&pair)[0];
    assert!(
        first.options.view().observe() > Some(1),
        "the lost state is not sent any more"
    );
}

#[test]
fn a_put_notifies_at_once() {
    // TD_COAP_OBS_09.
    let mut pair = observing("/obs", Lossy::default());
    let put = Request {
        content_format: Some(content_format::TEXT_PLAIN),
        ..Request::put("/obs", *b"new")
    };
    pair.command(request(put));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(notifications(&pair)[0].payload, b"new");
}

#[test]
fn observers_get_4_04_for_deletion_and_5_00_for_a_new_format() {
    // TD_COAP_OBS_07 and 08.
    let delete = Request::new(Method::Delete, "/obs");
    let reformat = Request::put("/obs", *b"new");
    for (what, code) in [(delete, Code::NOT_FOUND), (reformat, Code::NOT_ACCEPTABLE)] {
        let mut pair = observing("/obs", Lossy::default());
        pair.command(request(what));
        pair.drive_for(INTERVAL * 3);
        let notification: Vec<_> = notifications(&pair)
            .iter()
            .map(|n| (n.code, n.options.view().observe()))
            .collect();
        assert_eq!(notification, [(code, None)]);
        assert_eq!(pair.server.observers(), 0);
    }
}

#[test]
fn an_observation_restores_the_resources_own_format() {
    // TD_COAP_OBS_08 and then 09.
    let mut pair = observing("/obs", Lossy::default());
    pair.command(request(Request {
        content_format: Some(content_format::XML),
        ..Request::put("/obs", *b"<x/>")
    }));
    pair.drive_for(INTERVAL);
    assert_eq!(pair.server.observers(), 0);
    pair.client_events.clear();
    pair.command(observe(2, "/obs"));
    pair.drive_for(Duration::from_secs(1));
    let begun = responses(&pair).pop().expect("a response");
    assert_eq!(
        begun.options.view().content_format(),
        Some(content_format::TEXT_PLAIN)
    );
    let text = Request {
        content_format: Some(content_format::TEXT_PLAIN),
        ..Request::put("/obs", *b"New value")
    };
    pair.command(request(text));
    pair.drive_for(Duration::from_secs(1));
    let notification = notifications(&pair).pop().expect("a notification");
    assert_eq!(
        (notification.code, &notification.payload[..]),
        (Code::CONTENT, &b"New value"[..])
    );
    assert_eq!(pair.server.observers(), 1);
}

#[test]
fn an_observation_begins_with_the_stored_content_in_any_format() {
    let mut pair = pair(Lossy::default());
    let put = |body: &[u8]| Request {
        content_format: Some(content_format::OCTET_STREAM),
        ..Request::put("/obs", body)
    };
    assert_eq!(exchange(&mut pair, put(b"21.5")).code, Code::CHANGED);
    pair.client_events.clear();
    pair.command(observe(2, "/obs"));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(
        responses(&pair).pop().expect("a response").payload[..],
        b"21.5"[..]
    );
    pair.command(request(put(b"22.0")));
    pair.drive_for(Duration::from_secs(1));
    let notification = notifications(&pair).pop().expect("a notification");
    assert_eq!(
        (notification.code, &notification.payload[..]),
        (Code::CONTENT, &b"22.0"[..])
    );
}

#[test]
fn a_post_to_obs_reset_makes_the_server_forget() {
    let mut pair = observing("/obs", Lossy::default());
    assert_eq!(
        exchange(&mut pair, Request::new(Method::Post, "/obs-reset")).code,
        Code::CHANGED
    );
    pair.drive_for(INTERVAL * 3);
    assert!(notifications(&pair).is_empty());
}

#[test]
fn large_notifications_are_completed_by_gets() {
    // TD_COAP_OBS_10 and RFC 7959 section 3.4.
    let mut pair = observing("/obs-large", Lossy::default());
    pair.drive_for(INTERVAL * 2);
    let lens: Vec<_> = notifications(&pair).iter().map(|n| n.payload.len()).collect();
    assert_eq!(lens, [1280, 1280]);
    assert_eq!(responses(&pair)[0].payload.len(), 1280);
}

#[test]
fn observations_survive_a_lossy_path() {
    for seed in 0..20 {
        let mut pair = observing("/obs-pumping", Lossy::share(0.2, seed));
        pair.drive_for(INTERVAL * 40);
        let sequences: Vec<_> = notifications(&pair)
            .iter()
            .filter_map(|n| n.options.view().observe())
            .collect();
        assert!(sequences.is_sorted_by(|a, b| a < b), "seed {seed}: {sequences:?}");
        assert!(sequences.len() > 5, "seed {seed}: {sequences:?}");
    }
}

#[test]
fn a_registration_of_an_unobservable_resource_is_a_plain_get() {
    for path in ["/test", "/validate"] {
        let pair = observing(path, Lossy::default());
        assert_eq!(responses(&pair)[0].options.view().observe(), None);
        assert_eq!(pair.server.observers(), 0);
    }
    let mut config = server_config();
    config.max_observers = 0;
    let mut pair = pair_with(Lossy::default(), client_config(), config);
    pair.command(observe(1, "/obs"));
    pair.drive_for(INTERVAL);
    assert_eq!(responses(&pair)[0].options.view().observe(), None);
}

#[test]
fn a_repeated_registration_replaces_the_first() {
    let pair = observing("/obs", Lossy::default());
    let (mut server, registration) = (pair.server, pair.sent[0].bytes.clone());
    let mut again = registration;
    again[3] ^= 1;
    answer_to(&mut server, &again, pair.now);
    assert_eq!(server.observers(), 1);
}

/// A client after it sent a registration, and the registration.
fn registering() -> (Client, Vec<u8>, Instant) {
    let mut client = Client::new(client_config());
    let (peer, flow, now) = ("192.0.2.1:5683".parse().unwrap(), FIRST_FLOW, Instant::START);
    client.handle_input(Input::Opened { flow, peer }, now).unwrap();
    client
        .handle_input(Input::Command(observe(1, "/obs")), now)
        .unwrap();
    let get = drain(&mut client, 0).remove(0);
    (client, get, now)
}

#[test]
fn an_old_notification_is_acknowledged_and_not_reported() {
    let (mut client, get, now) = registering();
    let response = |head: u8, mid: [u8; 2], sequence: u8| {
        vec![
            head, 0x45, mid[0], mid[1], get[4], get[5], 0x61, sequence, 0xff, b'x',
        ]
    };
    assert!(answer_to(&mut client, &response(0x62, [get[2], get[3]], 5), now).is_empty());
    assert_eq!(
        answer_to(&mut client, &response(0x42, [0, 1], 4), now),
        [hex("60 00 00 01")]
    );
    assert_eq!(client.stats().stale, 1);
    assert_eq!(
        answer_to(&mut client, &response(0x42, [0, 2], 6), now),
        [hex("60 00 00 02")]
    );
    assert_eq!(client.stats().stale, 1);
}

#[test]
fn observe_goes_into_the_registration_only() {
    let mut pair = observing("/obs-large", Lossy::default());
    pair.drive_for(INTERVAL);
    let with_observe = |sent: &&&wirecost_proto::pair::Sent| {
        let repr = Repr::parse(&sent.bytes).expect("we send messages");
        repr.options.first(OptionNumber::OBSERVE).is_some()
    };
    assert_eq!(sent(&pair, Direction::Up).iter().filter(with_observe).count(), 1);
}

#[test]
fn an_observation_is_renewed_without_notification_in_max_age() {
    // TD_COAP_OBS_06 and RFC 7641 section 3.3.1: after a restart, the server has forgotten its observers.
    let mut pair = observing("/obs", Lossy::default());
    let mut config = server_config();
    config.rng = wirecost_proto::Rng::new(3);
    pair.server = wirecost_coap::server::Server::new(config);
    pair.drive_for(Duration::from_secs(22));
    let registrations = sent(&pair, Direction::Up);
    let (first, second) = (registrations[0], registrations[1]);
    assert_eq!(first.bytes[4..], second.bytes[4..], "the same token and options");
    let after = second.at.saturating_since(first.at).as_secs_f64();
    assert!(
        (10.0..=20.1).contains(&after),
        "Max-Age 5 s and 5 to 15 s: {after}"
    );
    assert_eq!(pair.server.observers(), 1);
}

/// A server whose notifications are each the first block of many, and that does not answer requests for the rest.
#[test]
fn a_flood_of_large_notifications_makes_the_client_keep_one() {
    let (mut client, get, now) = registering();
    let notification = |number: u16, head: u8, mid: [u8; 2]| {
        let [high, low] = number.to_be_bytes();
        // Observe, and Block2 with more to come in blocks of 16 B.
        let mut bytes = vec![
            head, 0x45, mid[0], mid[1], get[4], get[5], 0x62, high, low, 0xd1, 4, 0x08, 0xff,
        ];
        bytes.extend([b'x'; 16]);
        bytes
    };
    answer_to(&mut client, &notification(1, 0x62, [get[2], get[3]]), now);
    for number in 2..10_000 {
        answer_to(
            &mut client,
            &notification(number, 0x52, number.to_be_bytes()),
            now,
        );
    }
    assert!(
        client.pending() <= 2,
        "one under way and one that waits, got {}",
        client.pending()
    );
}
