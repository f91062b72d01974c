use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Output};

use super::*;

const OTHER: FlowId = FlowId(9);

/// Passes an input to `endpoint`. Returns the datagrams with their flows, and the flows that were closed.
fn step<E: Endpoint>(
    endpoint: &mut E,
    input: Input<'_, E::Command>,
    now: Instant,
) -> (Vec<(FlowId, Vec<u8>)>, Vec<FlowId>) {
    assert!(endpoint.handle_input(input, now).is_ok());
    let (mut datagrams, mut closed) = (Vec::new(), Vec::new());
    let mut out = Buffer::new();
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            Output::Transmit { flow } => datagrams.push((flow, out.bytes().to_vec())),
            Output::Close { flow, .. } => closed.push(flow),
            Output::Timeout(_) => return (datagrams, closed),
            Output::Event(_) | Output::Consumed { .. } => {}
        }
    }
}

/// A connected pair, and the client's datagram for a further message.
fn connected(version: Version) -> (BarePair, Vec<u8>) {
    let mut pair = World::new(version).sending(100);
    let sent = step(&mut pair.client, Input::Command(send(10)), pair.now).0;
    (pair, sent[0].1.clone())
}

fn arrive(pair: &mut BarePair, flow: FlowId, bytes: &[u8]) -> (Vec<(FlowId, Vec<u8>)>, Vec<FlowId>) {
    let input = Input::Received { flow, bytes };
    step(&mut pair.server, input, pair.now)
}

fn open(pair: &mut BarePair, flow: FlowId) {
    let peer = "10.77.0.1:2000".parse().expect("an address");
    step(&mut pair.server, Input::Opened { flow, peer }, pair.now);
}

#[test]
fn a_connection_id_survives_a_new_address_of_the_client() {
    let (mut pair, datagram) = connected(Version::Dtls12Cid);
    open(&mut pair, OTHER);
    arrive(&mut pair, OTHER, &datagram);
    let stats = pair.server.stats();
    assert_eq!((stats.moves, stats.ignored_datagrams), (1, 0));
    // The answer to the client's close_notify goes where it came from, and every flow is closed.
    let last = step(
        &mut pair.client,
        Input::Command(bare::ClientCommand::Close),
        pair.now,
    );
    let (answers, closed) = arrive(&mut pair, OTHER, &last.0[0].1);
    let flows: Vec<FlowId> = answers.iter().map(|(flow, _)| *flow).collect();
    assert_eq!(flows, [OTHER]);
    assert_eq!(closed, [OTHER, FIRST_FLOW]);
}

#[test]
fn without_a_connection_id_a_new_address_is_a_stranger() {
    let (mut pair, datagram) = connected(Version::Dtls12Psk);
    open(&mut pair, OTHER);
    arrive(&mut pair, OTHER, &datagram);
    let stats = pair.server.stats();
    assert_eq!((stats.moves, stats.ignored_datagrams), (0, 1));
}

#[test]
fn a_replayed_or_changed_record_moves_no_connection() {
    let (mut pair, datagram) = connected(Version::Dtls12Cid);
    arrive(&mut pair, FIRST_FLOW, &datagram);
    open(&mut pair, OTHER);
    arrive(&mut pair, OTHER, &datagram);
    let mut changed = step(&mut pair.client, Input::Command(send(10)), pair.now).0[0]
        .1
        .clone();
    *changed.last_mut().expect("a tag") ^= 1;
    arrive(&mut pair, OTHER, &changed);
    assert_eq!(pair.server.stats().moves, 0);
}

#[test]
fn a_client_may_come_back_to_its_first_address() {
    let (mut pair, datagram) = connected(Version::Dtls12Cid);
    open(&mut pair, OTHER);
    arrive(&mut pair, OTHER, &datagram);
    let next = step(&mut pair.client, Input::Command(send(10)), pair.now).0;
    arrive(&mut pair, FIRST_FLOW, &next[0].1);
    assert_eq!(pair.server.stats().moves, 2);
    // The end of a flow on which it is no more ends no connection.
    let reason = ResetReason::Refused;
    step(&mut pair.server, Input::Reset { flow: OTHER, reason }, pair.now);
    let next = step(&mut pair.client, Input::Command(send(10)), pair.now).0;
    arrive(&mut pair, FIRST_FLOW, &next[0].1);
    assert_eq!(pair.server.stats().ignored_datagrams, 0);
}
