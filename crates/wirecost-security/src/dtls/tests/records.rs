use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Output, Rng};

use super::*;

#[test]
fn an_outside_description_agrees_with_the_endpoints() {
    for version in Version::ALL {
        let pair = World::new(version).sending(100);
        for sent in &pair.sent {
            let mut out = Buffer::new();
            match version {
                Version::Dtls12Psk | Version::Dtls12Cid => describe_psk(&sent.bytes, &mut out),
                _ => describe(&sent.bytes, &mut out),
            }
            let security = |spans: &[wirecost_proto::Span]| -> u32 {
                let of_layer = spans.iter().filter(|span| span.layer == Layer::Security);
                of_layer.map(|span| span.len).sum()
            };
            // An ACK of DTLS 1.3 that is protected like application data looks like application data.
            let is_ack = sent.spans.iter().any(|span| span.cause == Cause::Acknowledgement);
            if !is_ack {
                assert_eq!(
                    security(out.spans()),
                    security(&sent.spans),
                    "{version:?} {sent:?}"
                );
            }
        }
    }
}

#[test]
fn unrelated_bytes_are_consumed_without_effect() {
    for version in Version::ALL {
        let world = World::new(version);
        let mut pair = world.sending(100);
        let corpus: Vec<Vec<u8>> = pair.sent.iter().map(|sent| sent.bytes.clone()).collect();
        let mut rng = Rng::new(3);
        for round in 0..2_000 {
            let mut datagram = corpus[round % corpus.len()].clone();
            for _ in 0..1 + rng.next_below(3) {
                let at = rng.next_below(datagram.len() as u64) as usize;
                datagram[at] = rng.next_u64() as u8;
            }
            datagram.truncate(1 + rng.next_below(datagram.len() as u64) as usize);
            consume(&mut pair.client, FIRST_FLOW, &datagram, pair.now);
            consume(&mut pair.server, FIRST_FLOW, &datagram, pair.now);
            let stranger = FlowId(1 + rng.next_below(50) as u32);
            consume(&mut pair.server, stranger, &datagram, pair.now);
        }
        pair.command(send(100));
        pair.drive_for(Duration::from_secs(5));
        assert_eq!(received(&pair), 2, "{version:?}");
    }
}

/// Passes a datagram to `endpoint` and checks that all of it is consumed at once.
fn consume<E: Endpoint>(endpoint: &mut E, flow: FlowId, bytes: &[u8], now: Instant) {
    let taken = endpoint.handle_input(Input::Received { flow, bytes }, now);
    assert!(taken.is_ok());
    let (mut out, mut consumed) = (Buffer::new(), 0);
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            Output::Consumed { .. } => consumed += out.covered(),
            Output::Timeout(_) => break,
            _ => {}
        }
    }
    assert_eq!(consumed, bytes.len() as u64);
}
