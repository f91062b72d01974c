//! Certificates that are not accepted, bytes that are not QUIC, and peers that break rules.

use std::time::Duration;

use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Rng};
use wirecost_security::Start;
use wirecost_security::certificate::{Authority, VALID_UNTIL};
use wirecost_security::layer::{Event, Fault};
use wirecost_security::tls::Trust;

use super::rig::{DELAY, Parts};

/// The client's complaint about the server's certificate.
fn refusal(parts: &Parts) -> String {
    // The server's last packets reach a client without keys.
    let mut rig = super::loss::plain(parts, 0, 1);
    rig.open();
    rig.drive_for(Duration::from_secs(5));
    assert_eq!(rig.server.endpoint.connections(), 0);
    let alert = |event: &Event<_>| {
        matches!(
            event,
            Event::Failed {
                fault: Fault::Alert(_),
                ..
            }
        )
    };
    assert!(rig.server_events.iter().any(|(_, event)| alert(event)));
    match rig.client_events.as_slice() {
        [
            (
                _,
                Event::Failed {
                    fault: Fault::Certificate(text),
                    ..
                },
            ),
        ] => text.to_string(),
        other => panic!("a fault of the certificate, got {other:?}"),
    }
}

#[test]
fn a_wrong_issuer_name_or_date_is_refused() {
    let mut strange = Parts::new(Start::Cold);
    let other = Authority::generate().expect("an authority");
    strange.client.trust = Trust::Authorities(vec![other.certificate().to_vec()]);
    let mut misnamed = Parts::new(Start::Cold);
    misnamed.client.server_name = "example.com".into();
    let mut expired = Parts::new(Start::Cold);
    expired.client.epoch.unix = VALID_UNTIL + Duration::from_secs(1);
    let texts = [strange, misnamed, expired].map(|parts| refusal(&parts));
    // An issuer of the same name, with another key.
    assert!(texts[0].contains("signature"), "{texts:?}");
    assert!(texts[1].contains("example.com"), "{texts:?}");
    assert!(texts[2].contains("expired"), "{texts:?}");
}

#[test]
fn arbitrary_datagrams_are_consumed_without_effect() {
    let parts = Parts::new(Start::Cold);
    let (mut server, mut rng) = (parts.server(1), Rng::new(9));
    for flow in 0..300 {
        let mut datagram = vec![0; 1 + rng.next_below(1300) as usize];
        rng.fill(&mut datagram);
        if flow % 3 == 0 {
            // An Initial of version 1, as far as its first bytes go.
            let head = [0xc0, 0, 0, 0, 1, 8];
            let len = head.len().min(datagram.len());
            datagram[..len].copy_from_slice(&head[..len]);
        }
        let flow = FlowId(flow);
        let now = Instant::from_millis(u64::from(flow.0));
        let peer = "10.0.0.1:4000".parse().expect("an address");
        server
            .handle_input(Input::Opened { flow, peer }, now)
            .expect("an endpoint");
        let bytes = &datagram;
        server
            .handle_input(Input::Received { flow, bytes }, now)
            .expect("an endpoint");
        assert_eq!(consumed(&mut server), datagram.len() as u64);
    }
    assert_eq!(server.connections(), 0);
}

/// Polls an endpoint to its end. Returns the bytes that it consumed.
fn consumed<E: Endpoint>(endpoint: &mut E) -> u64 {
    let (mut out, mut bytes) = (Buffer::new(), 0);
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            Output::Consumed { .. } => bytes += out.covered(),
            Output::Timeout(_) => return bytes,
            _ => {}
        }
    }
}

#[test]
fn packets_with_flipped_bits_change_nothing() {
    let parts = Parts::new(Start::Cold);
    let mut rig = parts.pair(1, FixedDelay(DELAY));
    rig.open();
    rig.drive_for(Duration::from_secs(1));
    rig.command(super::rig::post(1, 500));
    let flow = FlowId(0);
    let mut rng = Rng::new(4);
    let sent = rig.sent.clone();
    for sent in &sent {
        let mut bytes = sent.bytes.clone();
        let bit = rng.next_below(bytes.len() as u64 * 8) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        let now = rig.now;
        rig.server
            .handle_input(Input::Received { flow, bytes: &bytes }, now)
            .expect("an endpoint");
        assert_eq!(consumed(&mut rig.server), bytes.len() as u64);
    }
    rig.drive_for(Duration::from_secs(2));
    assert_eq!(super::rig::responses(&rig).len(), 1);
}

#[test]
fn a_client_of_another_version_gets_version_negotiation() {
    let parts = Parts::new(Start::Cold);
    let mut server = parts.server(1);
    let (flow, now) = (FlowId(0), Instant::START);
    let peer = "10.0.0.1:4000".parse().expect("an address");
    server
        .handle_input(Input::Opened { flow, peer }, now)
        .expect("an endpoint");
    let mut datagram = vec![0; 1200];
    datagram[..14].copy_from_slice(&[0xc0, 0xba, 0xba, 0xba, 0xba, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    let bytes = &datagram;
    server
        .handle_input(Input::Received { flow, bytes }, now)
        .expect("an endpoint");
    let mut out = Buffer::new();
    assert_eq!(server.poll_output(&mut out), Output::Transmit { flow });
    assert_eq!(
        out.bytes()[1..5],
        [0; 4],
        "Version Negotiation (RFC 9000 section 17.2.1)"
    );
}
