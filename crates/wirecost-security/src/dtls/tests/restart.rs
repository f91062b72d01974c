use wirecost_proto::{Buffer, Endpoint, Input, Output};

use super::*;

#[test]
fn a_device_may_restart_from_the_same_address() {
    for version in Version::ALL {
        for cookie in [false, true] {
            let mut world = World::new(version);
            world.accept.cookie = cookie;
            let mut pair = world.sending(100);
            world.common = world.common.clone().with_seed(Rng::new(99));
            pair.client = Client::new(world.client_config(), bare::Client::new(Transport::Datagram));
            let peer = "10.77.0.1:1000".parse().expect("an address");
            let opened = pair.client.handle_input(
                Input::Opened {
                    flow: FIRST_FLOW,
                    peer,
                },
                pair.now,
            );
            assert!(opened.is_ok());
            pair.command(send(100));
            pair.drive_for(Duration::from_secs(5));
            assert_eq!(received(&pair), 2, "{version:?}");
            let is_established =
                |(_, event): &&(Instant, Event<_>)| matches!(event, Event::Established { .. });
            assert_eq!(pair.server_events.iter().filter(is_established).count(), 2);
        }
    }
}

/// Passes an input to `endpoint`. Returns the resulting datagrams and events, and the bytes consumed.
fn step<E: Endpoint>(
    endpoint: &mut E,
    input: Input<'_, E::Command>,
    now: Instant,
) -> (Vec<Vec<u8>>, Vec<E::Event>, u64) {
    assert!(endpoint.handle_input(input, now).is_ok());
    let (mut datagrams, mut events, mut consumed) = (Vec::new(), Vec::new(), 0);
    let mut out = Buffer::new();
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            Output::Transmit { .. } => datagrams.push(out.bytes().to_vec()),
            Output::Event(event) => events.push(event),
            Output::Consumed { .. } => consumed += out.covered(),
            Output::Close { .. } => {}
            Output::Timeout(_) => return (datagrams, events, consumed),
        }
    }
}

#[test]
fn data_that_overtakes_the_finished_is_accounted_once() {
    let mut pair = World::new(Version::Dtls13).pair();
    let (client, server) = (&mut pair.client, &mut pair.server);
    let (flow, now) = (FIRST_FLOW, Instant::START);
    let peer = "10.77.0.1:1000".parse().expect("an address");
    step(server, Input::Opened { flow, peer }, now);
    step(client, Input::Command(send(100)), now);
    let (hello, ..) = step(client, Input::Opened { flow, peer }, now);
    let (flight, ..) = step(
        server,
        Input::Received {
            flow,
            bytes: &hello[0],
        },
        now,
    );
    let mut last = Vec::new();
    for bytes in &flight {
        last.extend(step(client, Input::Received { flow, bytes }, now).0);
    }
    // The data record arrives first. The Finished before it was lost and is sent again.
    let (finished, data) = (&last[0], &last[1]);
    let (_, events, consumed) = step(server, Input::Received { flow, bytes: data }, now);
    assert_eq!((events.len(), consumed), (0, data.len() as u64));
    let (_, events, consumed) = step(
        server,
        Input::Received {
            flow,
            bytes: finished,
        },
        now,
    );
    assert_eq!(consumed, finished.len() as u64);
    // dimpl keeps data until the handshake is complete. The datagram was consumed on arrival.
    let is_message = |event: &&Event<bare::ServerEvent>| matches!(event, Event::Inner(_));
    assert_eq!(events.iter().filter(is_message).count(), 1);
    let (_, events, consumed) = step(server, Input::Received { flow, bytes: data }, now);
    assert_eq!(
        (events.iter().filter(is_message).count(), consumed),
        (0, data.len() as u64)
    );
}
