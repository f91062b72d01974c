use wirecost_proto::pair::FIRST_FLOW;

use super::*;

/// Sends a message as soon as the client may send.
fn message_after_ready(pair: &mut BarePair, flow: FlowId) -> (Instant, Instant) {
    pair.open_flow(flow);
    let opened = pair.now;
    let ready = |pair: &BarePair| {
        let is = |event: &Event<_>| *event == Event::Inner(bare::ClientEvent::Opened);
        pair.client_events.iter().any(|(_, event)| is(event))
    };
    while !ready(pair) {
        assert!(pair.step(), "the handshake completes");
    }
    pair.command(send(&[7; 128]));
    settle(pair);
    let arrived = messages(pair).first().expect("the message arrives").0;
    (opened, arrived)
}

#[test]
fn a_message_arrives_after_the_standards_flights() {
    // One-way delays until the server has the message.
    let cases = [
        (Versions::Tls13, Start::Cold, 3),
        (Versions::Tls13, Start::Resumed, 3),
        (Versions::Tls13, Start::ZeroRtt, 1),
        (Versions::Tls12, Start::Cold, 5),
        (Versions::Tls12, Start::Resumed, 3),
    ];
    for (versions, start, flights) in cases {
        let server = ServerOptions {
            accept_early_data: true,
            ..server_options()
        };
        let mut pair = with_ticket(start, client_options(versions), server);
        let (opened, arrived) = message_after_ready(&mut pair, FlowId(1));
        assert_eq!(arrived, opened + DELAY * flights, "{versions:?} {start}");
        assert_eq!(client_starts(&pair), [start], "{versions:?}");
        assert_eq!(server_starts(&pair), [start], "{versions:?}");
    }
}

#[test]
fn the_first_connection_is_always_cold() {
    for versions in [Versions::Tls13, Versions::Tls12] {
        let options = ClientOptions {
            start: Start::Resumed,
            ..client_options(versions)
        };
        let mut pair = bare_pair(options, server_options());
        pair.open();
        settle(&mut pair);
        assert_eq!(client_starts(&pair), [Start::Cold]);
    }
}

#[test]
fn a_cold_client_offers_no_ticket() {
    let mut pair = with_ticket(Start::Cold, client_options(Versions::Tls13), server_options());
    pair.open_flow(FlowId(1));
    settle(&mut pair);
    assert_eq!(client_starts(&pair), [Start::Cold]);
}

#[test]
fn every_connection_brings_the_next_ticket() {
    for versions in [Versions::Tls13, Versions::Tls12] {
        let mut pair = with_ticket(Start::Resumed, client_options(versions), server_options());
        for flow in 1..10 {
            pair.open_flow(FlowId(flow));
            settle(&mut pair);
            pair.command(ClientCommand::Close);
            settle(&mut pair);
        }
        assert_eq!(client_starts(&pair), [Start::Resumed; 9]);
    }
}

#[test]
fn handshake_and_ticket_are_security_of_the_connect_phase() {
    for versions in [Versions::Tls13, Versions::Tls12] {
        let mut pair = bare_pair(client_options(versions), server_options());
        pair.open();
        settle(&mut pair);
        let all = bytes_of(&pair.sent, |_| true);
        let connect = bytes_of(&pair.sent, |span| {
            (span.layer, span.phase, span.cause) == (Layer::Security, Phase::Connect, Cause::Original)
        });
        assert!(all > 500 && all == connect, "{versions:?}: {connect} of {all}");
        // The server's first flight and the client's last flight are one write each.
        let up = pair.sent.iter().filter(|sent| sent.direction == Direction::Up);
        assert_eq!(up.count(), 2, "{versions:?}");
    }
}

#[test]
fn the_server_requests_and_checks_a_client_certificate() {
    let identity = Identity::client(authority(), "wc-00001").expect("a client");
    for versions in [Versions::Tls13, Versions::Tls12] {
        for (identity, accepted) in [(Some(identity.clone()), true), (None, false)] {
            let server = ServerOptions {
                client_authorities: vec![authority().certificate().to_vec()],
                ..server_options()
            };
            let client = ClientOptions {
                identity,
                ..client_options(versions)
            };
            let mut pair = bare_pair(client, server);
            pair.open();
            pair.drive_for(Duration::from_secs(1));
            assert_eq!(server_faults(&pair).is_empty(), accepted, "{versions:?}");
            if accepted {
                let negotiated = pair.server.negotiated(FIRST_FLOW).expect("a connection");
                assert_eq!(negotiated.peer_certificates.len(), 1);
            } else {
                let fault = Fault::Certificate("there is none".into());
                assert_eq!(server_faults(&pair), [fault]);
                assert_eq!(client_faults(&pair).len(), 1, "the alert arrives");
            }
        }
    }
}

#[test]
fn both_ends_log_the_same_secrets() {
    let logs = [crate::KeyLog::new(), crate::KeyLog::new()];
    let client = ClientOptions {
        key_log: logs[0].clone(),
        ..client_options(Versions::Tls13)
    };
    let server = ServerOptions {
        key_log: logs[1].clone(),
        ..server_options()
    };
    let mut pair = bare_pair(client, server);
    pair.open();
    settle(&mut pair);
    let lines = |log: &crate::KeyLog| {
        let mut lines: Vec<String> = log.text().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&logs[0]), lines(&logs[1]));
    assert!(logs[0].text().contains("CLIENT_TRAFFIC_SECRET_0"));
}

#[test]
fn the_alpn_protocol_is_negotiated() {
    let client = ClientOptions {
        alpn: vec![b"mqtt".to_vec()],
        ..client_options(Versions::Tls13)
    };
    let server = |alpn: &[u8]| ServerOptions {
        alpn: vec![alpn.to_vec()],
        ..server_options()
    };
    let mut pair = bare_pair(client.clone(), server(b"mqtt"));
    pair.open();
    settle(&mut pair);
    let expected = Negotiated {
        version: Some("TLS 1.3"),
        suite: Some("TLS_AES_128_GCM_SHA256".to_owned()),
        group: Some("X25519".to_owned()),
        is_retried: false,
        protocol: Some(b"mqtt".to_vec()),
        peer_certificates: server_identity().chain().to_vec(),
    };
    assert_eq!(pair.client.negotiated(), Some(expected));
    let mut pair = bare_pair(client, server(b"h2"));
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(
        client_faults(&pair),
        [Fault::Alert("no_application_protocol".into())]
    );
}
