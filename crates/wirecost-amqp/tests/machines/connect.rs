//! Connecting, sending and closing.

use std::time::Duration;

use wirecost_amqp::client::{self, Closing, Command, Event, Failure, SaslConfig};
use wirecost_amqp::container;
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase};

use crate::pair::{FLOW, bytes, events, open, pair, send, server_events, when};

#[test]
fn has_credit_after_three_round_trips_with_sasl_and_one_without() {
    for (sasl, round_trips) in [(SaslConfig::Anonymous, 3), (SaslConfig::None, 1)] {
        let config = client::Config {
            sasl,
            ..client::Config::default()
        };
        let pair = open(config, container::Config::default());
        let opened = Instant::START + Duration::from_millis(20) * round_trips;
        assert_eq!(when(&pair, &Event::Opened), Some(opened));
        assert_eq!(pair.unconsumed(), 0);
        assert_eq!(
            server_events(&pair),
            [container::Event::Connected {
                flow: FLOW,
                container_id: "wc-00001".into()
            }]
        );
    }
}

/// Section 2.4.2
#[test]
fn a_pipelined_open_has_credit_after_one_round_trip_with_the_same_bytes() {
    let plain = SaslConfig::Plain {
        user: "user".into(),
        password: "secret".into(),
    };
    let container = container::Config {
        users: vec![("user".into(), "secret".into())],
        ..container::Config::default()
    };
    for (sasl, waits) in [(SaslConfig::None, 1), (SaslConfig::Anonymous, 3), (plain, 3)] {
        let run = |pipelines| {
            let config = client::Config {
                sasl: sasl.clone(),
                pipelines,
                ..client::Config::default()
            };
            let pair = open(config, container.clone());
            assert_eq!(pair.unconsumed(), 0);
            let of = |direction| {
                bytes(
                    &pair,
                    direction,
                    Layer::Application,
                    Phase::Connect,
                    Cause::Original,
                )
            };
            (
                when(&pair, &Event::Opened),
                of(Direction::Up),
                of(Direction::Down),
            )
        };
        let (waiting, pipelined) = (run(false), run(true));
        let after = |round_trips| Some(Instant::START + Duration::from_millis(20) * round_trips);
        assert_eq!((waiting.0, pipelined.0), (after(waits), after(1)));
        assert_eq!((waiting.1, waiting.2), (pipelined.1, pipelined.2));
    }
}

/// Section 2.6.7: the receiver alone gives credit.
#[test]
fn a_transfer_waits_for_credit_behind_a_pipelined_open_too() {
    let config = client::Config {
        pipelines: true,
        ..client::Config::default()
    };
    let mut pair = pair(config, container::Config::default());
    pair.open();
    pair.command(send(7, &[5; 128]));
    assert_eq!((pair.client.in_flight(), pair.client.queued()), (0, 1));
    pair.drive_for(Duration::from_secs(1));
    let acknowledged = Event::Acknowledged { message: 7 };
    let expected = Instant::START + Duration::from_millis(40);
    assert_eq!(when(&pair, &acknowledged), Some(expected));
}

#[test]
fn a_pipelined_open_is_refused_like_one_that_waits() {
    let container = container::Config {
        anonymous: false,
        users: vec![("user".into(), "secret".into())],
        ..container::Config::default()
    };
    let plain = SaslConfig::Plain {
        user: "user".into(),
        password: "wrong".into(),
    };
    let refused = [
        (plain, Failure::Authentication(1)),
        (SaslConfig::Anonymous, Failure::Mechanism("ANONYMOUS")),
    ];
    for (sasl, failure) in refused {
        let config = client::Config {
            sasl,
            pipelines: true,
            ..client::Config::default()
        };
        let mut pair = pair(config, container.clone());
        pair.open();
        pair.command(send(7, &[5; 128]));
        pair.drive_for(Duration::from_secs(1));
        assert_eq!(events(&pair), [Event::Failed(failure)]);
        assert_eq!(pair.server.queued("test"), 0, "nothing was processed");
    }
}

#[test]
fn an_unsettled_message_is_acknowledged_after_one_round_trip() {
    let mut pair = open(client::Config::default(), container::Config::default());
    let start = pair.now;
    pair.command(send(7, &[5; 128]));
    assert_eq!(pair.client.in_flight(), 1);
    pair.drive_for(Duration::from_secs(1));
    let acknowledged = Event::Acknowledged { message: 7 };
    assert_eq!(
        when(&pair, &acknowledged),
        Some(start + Duration::from_millis(20))
    );
    let up = |layer| bytes(&pair, Direction::Up, layer, Phase::Message, Cause::Original);
    assert_eq!((up(Layer::Payload), up(Layer::Application)), (128, 66)); // 23 B of frame, 38 B of properties, 5 B of section header
    let down = |cause| bytes(&pair, Direction::Down, Layer::Application, Phase::Message, cause);
    assert_eq!((down(Cause::Acknowledgement), down(Cause::Original)), (22, 0));
    assert_eq!(pair.unconsumed(), 0);
    assert_eq!(pair.server.queued("test"), 1);
}

#[test]
fn a_settled_message_gets_no_answer() {
    let config = client::Config {
        settled: true,
        ..client::Config::default()
    };
    let mut pair = open(config, container::Config::default());
    pair.command(send(0, &[5; 128]));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(events(&pair).last(), Some(&Event::Sent { message: 0 }));
    let kind = (Layer::Application, Phase::Message, Cause::Acknowledgement);
    assert_eq!(bytes(&pair, Direction::Down, kind.0, kind.1, kind.2), 0);
    assert!(matches!(
        server_events(&pair).last(),
        Some(container::Event::Received {
            settled: true,
            payload_bytes: 128,
            ..
        })
    ));
}

#[test]
fn close_is_answered_and_ends_the_flow_on_both_sides() {
    for closing in [Closing::Connection, Closing::Everything] {
        let config = client::Config {
            closing,
            ..client::Config::default()
        };
        let mut pair = open(config, container::Config::default());
        pair.command(Command::Close);
        pair.drive_for(Duration::from_secs(100));
        assert_eq!(events(&pair).last(), Some(&Event::Closed { error: None }));
        assert_eq!(pair.next_step(), None, "no timer is left");
        assert_eq!(pair.server.connections(), 0);
        assert_eq!(pair.unconsumed(), 0);
        let kind = (Layer::Application, Phase::Close, Cause::Original);
        let up = bytes(&pair, Direction::Up, kind.0, kind.1, kind.2);
        assert_eq!(up, if closing == Closing::Connection { 12 } else { 40 });
    }
}

#[test]
fn plain_requires_the_password() {
    let container = container::Config {
        anonymous: false,
        users: vec![("user".into(), "secret".into())],
        ..container::Config::default()
    };
    let plain = |password: &str| client::Config {
        sasl: SaslConfig::Plain {
            user: "user".into(),
            password: password.into(),
        },
        ..client::Config::default()
    };
    open(plain("secret"), container.clone());
    let refused = |config| {
        let mut pair = pair(config, container.clone());
        pair.open();
        pair.drive_for(Duration::from_secs(1));
        assert_eq!(pair.unconsumed(), 0);
        events(&pair)
    };
    let failed = |failure| vec![Event::Failed(failure)];
    assert_eq!(refused(plain("wrong")), failed(Failure::Authentication(1)));
    let stranger = client::Config {
        sasl: SaslConfig::Plain {
            user: "stranger".into(),
            password: "secret".into(),
        },
        ..client::Config::default()
    };
    assert_eq!(
        refused(stranger),
        failed(Failure::Authentication(1)),
        "as a wrong password"
    );
    assert_eq!(
        refused(client::Config::default()),
        failed(Failure::Mechanism("ANONYMOUS"))
    );
}
