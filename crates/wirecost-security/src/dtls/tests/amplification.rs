//! What a server sends to an address that has not proven itself (RFC 6347 section 4.2.1, RFC 9147 section 5.1).

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Output, Peer};

use super::*;

/// The first datagrams of a client.
fn hellos(version: Version) -> Vec<Vec<u8>> {
    let mut pair = World::new(version).pair();
    pair.open();
    pair.drive_for(ONE_WAY / 2);
    pair.sent.iter().map(|sent| sent.bytes.clone()).collect()
}

/// What a server that asks for a cookie sends to one address within an hour after these datagrams, which arrive `pause` apart.
fn answers(datagrams: &[Vec<u8>], pause: Duration) -> Vec<usize> {
    let mut world = World::new(Version::Dtls12);
    world.accept.cookie = true;
    let config = ServerConfig::new(world.common.clone(), world.accept.clone()).expect("a server");
    let mut server = Server::new(config, bare::Server::new(Transport::Datagram));
    let (flow, mut now) = (FlowId(0), Instant::START);
    let mut sent = Vec::new();
    let drain = |server: &mut Server<bare::Server>, sent: &mut Vec<usize>| loop {
        let mut out = Buffer::new();
        match server.poll_output(&mut out) {
            Output::Transmit { .. } => sent.push(out.bytes().len()),
            Output::Timeout(at) => return at,
            _ => {}
        }
    };
    let peer: Peer = ([10, 77, 0, 2], 40_000).into();
    let _ = server.handle_input(Input::Opened { flow, peer }, now);
    for bytes in datagrams {
        let _ = server.handle_input(Input::Received { flow, bytes }, now);
        let _ = drain(&mut server, &mut sent);
        now += pause;
        let _ = server.handle_input(Input::Timeout, now);
        let _ = drain(&mut server, &mut sent);
    }
    let end = now + Duration::from_secs(3_600);
    while let Some(at) = drain(&mut server, &mut sent).filter(|at| *at < end) {
        let _ = server.handle_input(Input::Timeout, at);
    }
    sent
}

#[test]
fn a_hello_is_answered_once_and_with_no_more_bytes_than_it_has() {
    for version in Version::ALL {
        let hello = hellos(version);
        let bytes: usize = hello.iter().map(Vec::len).sum();
        let sent = answers(&hello, Duration::from_millis(1));
        assert_eq!(
            sent.len(),
            1,
            "{version:?}: {sent:?} for {bytes} B, and nothing later"
        );
        assert!(sent[0] <= bytes, "{version:?}: {sent:?} for {bytes} B");
    }
}

#[test]
fn a_repeated_hello_is_answered_at_most_once_each() {
    for version in Version::ALL {
        for pause in [1, 700, 3_000].map(Duration::from_millis) {
            let hello = hellos(version);
            let repeated = vec![hello.clone(); 5].concat();
            let bytes: usize = repeated.iter().map(Vec::len).sum();
            let sent = answers(&repeated, pause);
            assert!(sent.len() <= 5, "{version:?}, {pause:?}: {sent:?}");
            assert!(
                sent.iter().sum::<usize>() <= bytes,
                "{version:?}, {pause:?}: {sent:?} for {bytes} B"
            );
        }
    }
}

#[test]
fn a_hello_of_a_few_bytes_gets_no_longer_answer() {
    // A record with a ClientHello of 34 B: a version and a random, and nothing else.
    let mut short = vec![22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 46];
    short.extend([1, 0, 0, 34, 0, 0, 0, 0, 0, 0, 0, 34, 254, 253]);
    short.extend([7; 32]);
    let sent = answers(&[short.clone()], Duration::from_millis(1));
    assert!(
        sent.iter().sum::<usize>() <= short.len(),
        "{sent:?} for {} B",
        short.len()
    );
}
