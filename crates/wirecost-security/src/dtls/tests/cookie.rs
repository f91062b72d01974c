//! A server keeps nothing of a client that has yet to return its cookie (RFC 6347 section 4.2.1, RFC 9147 section 5.1).

use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Output, Peer, Span};

use super::*;
use crate::dtls::flows::MOST_UNPROVEN;
use crate::dtls::record::records;

type BareServer = Server<bare::Server>;

const MINUTE: Duration = Duration::from_secs(60);

fn asking(world: &World) -> BareServer {
    let accept = Accept {
        cookie: true,
        ..world.accept.clone()
    };
    let config = ServerConfig::new(world.common.clone(), accept).expect("a server");
    Server::new(config, bare::Server::new(Transport::Datagram))
}

fn peer(number: u32) -> Peer {
    ([10, 77, 0, 2], 1_000 + number as u16).into()
}

/// What came of a datagram.
#[derive(Debug, Default)]
struct Outcome {
    sent: Vec<Vec<u8>>,
    described: Vec<Span>,
    consumed: Vec<Span>,
    deadline: Option<Instant>,
    has_failed: bool,
}

fn step(
    server: &mut BareServer,
    input: Input<'_, <bare::Server as Endpoint>::Command>,
    now: Instant,
) -> Outcome {
    let Ok(()) = server.handle_input(input, now);
    let (mut outcome, mut out) = (Outcome::default(), Buffer::new());
    loop {
        out.clear();
        match server.poll_output(&mut out) {
            Output::Transmit { .. } => {
                outcome.sent.push(out.bytes().to_vec());
                outcome.described.extend_from_slice(out.spans());
            }
            Output::Consumed { .. } => outcome.consumed.extend_from_slice(out.spans()),
            Output::Event(event) => outcome.has_failed |= matches!(event, Event::Failed { .. }),
            Output::Close { .. } => {}
            Output::Timeout(at) => {
                outcome.deadline = at;
                return outcome;
            }
        }
    }
}

fn receive(server: &mut BareServer, flow: u32, bytes: &[u8], now: Instant) -> Outcome {
    let flow = FlowId(flow);
    step(server, Input::Received { flow, bytes }, now)
}

fn open(server: &mut BareServer, flow: u32, now: Instant) {
    let (flow, peer) = (FlowId(flow), peer(flow));
    step(server, Input::Opened { flow, peer }, now);
}

/// The first and the second ClientHello of a client, whose cookie is that of `server` for the first flow.
fn hellos(world: &World, server: &mut BareServer, now: Instant) -> [Vec<u8>; 2] {
    let mut client = Client::new(world.client_config(), bare::Client::new(Transport::Datagram));
    let mut of_client = |input: Input<'_, bare::ClientCommand>| {
        let Ok(()) = client.handle_input(input, now);
        let (mut sent, mut out) = (Vec::new(), Buffer::new());
        loop {
            out.clear();
            match client.poll_output(&mut out) {
                Output::Transmit { .. } => sent.push(out.bytes().to_vec()),
                Output::Timeout(_) => return sent,
                _ => {}
            }
        }
    };
    let (flow, peer) = (FlowId(0), peer(0));
    let first = of_client(Input::Opened { flow, peer }).remove(0);
    open(server, 0, now);
    let asked = receive(server, 0, &first, now).sent.remove(0);
    let bytes = &asked;
    let second = of_client(Input::Received { flow, bytes }).remove(0);
    [first, second]
}

/// The same hello of another client: a random of its own.
fn of_another(hello: &[u8], number: u32) -> Vec<u8> {
    let mut hello = hello.to_vec();
    // Behind the headers of record and message and the version.
    hello[27..31].copy_from_slice(&number.to_be_bytes());
    hello
}

fn is_server_hello(datagram: &[u8]) -> bool {
    crate::dtls::proof::has_answered(datagram)
}

#[test]
fn nothing_is_kept_before_a_cookie_is_returned() {
    for version in Version::ALL {
        let world = World::new(version);
        let mut server = asking(&world);
        let now = Instant::START;
        let [hello, _] = hellos(&world, &mut server, now);
        for number in 1..100 {
            open(&mut server, number, now);
            let outcome = receive(&mut server, number, &of_another(&hello, number), now);
            assert_eq!(outcome.sent.len(), 1, "{version:?}");
            assert_eq!(outcome.deadline, None, "{version:?}: nothing to wait for");
            assert_eq!(server.held(FlowId(number)), Held::default(), "{version:?}");
        }
    }
}

#[test]
fn a_client_that_returns_its_cookie_is_answered_although_nothing_was_kept() {
    for version in Version::ALL {
        let mut world = World::new(version);
        world.accept.cookie = true;
        let pair = world.sending(100);
        assert_eq!(received(&pair), 1, "{version:?}");
        // Another server with the same secret takes the second ClientHello alone.
        let mut server = asking(&world);
        let [_, second] = hellos(&world, &mut server, Instant::START);
        let mut server = asking(&world);
        open(&mut server, 0, Instant::START);
        let outcome = receive(&mut server, 0, &second, Instant::START);
        assert!(is_server_hello(&outcome.sent[0]), "{version:?}");
        assert_ne!(server.held(FlowId(0)), Held::default(), "{version:?}");
    }
}

#[test]
fn a_cookie_is_good_for_its_address_and_for_a_time() {
    /// The alert illegal_parameter, not protected.
    const REFUSED: [u8; 2] = [2, 47];
    for version in Version::ALL {
        let world = World::new(version);
        let now = Instant::START + MINUTE;
        let mut server = asking(&world);
        let [_, second] = hellos(&world, &mut server, now);
        let lifetime = world.common.handshake_timeout;
        let mut answer = |flow: u32, at: Instant, hello: &[u8]| {
            open(&mut server, flow, at);
            receive(&mut server, flow, hello, at).sent.remove(0)
        };
        assert!(
            answer(1, now, &second).ends_with(&REFUSED),
            "{version:?}: another port"
        );
        let late = answer(0, now + lifetime * 2, &second);
        assert!(late.ends_with(&REFUSED), "{version:?}: too late");
        let mut other = second.clone();
        other[30] ^= 1;
        let other = answer(0, now, &other);
        assert!(other.ends_with(&REFUSED), "{version:?}: another random");
        let in_time = answer(0, now + lifetime / 2, &second);
        assert!(is_server_hello(&in_time), "{version:?}");
    }
}

/// What is repeated counts as a retransmission, as if the server remembered it.
#[test]
fn a_repeated_hello_and_its_answer_are_retransmissions() {
    for version in Version::ALL {
        let world = World::new(version);
        let mut server = asking(&world);
        let [hello, _] = hellos(&world, &mut server, Instant::START);
        let mut again = hello.clone();
        // The number of the record: a client counts its records.
        again[10] = 1;
        let causes = |spans: &[Span]| {
            // Padding is a probe of the path.
            let causes = spans.iter().map(|span| span.cause);
            let mut causes: Vec<Cause> = causes.filter(|cause| *cause != Cause::Probe).collect();
            causes.dedup();
            causes
        };
        for (hello, cause) in [(hello, Cause::Original), (again, Cause::Retransmission)] {
            let outcome = receive(&mut server, 0, &hello, Instant::START);
            assert_eq!(causes(&outcome.described), [cause], "{version:?}");
            assert_eq!(causes(&outcome.consumed), [cause], "{version:?}");
        }
    }
}

/// Their first fragment says neither who the client is nor what it offers.
#[test]
fn of_clients_with_fragmented_hellos_the_oldest_are_dropped() {
    for version in [Version::Dtls13, Version::Dtls12] {
        let mut world = World::new(version);
        world.common.mtu = 100;
        let mut server = asking(&world);
        let now = Instant::START;
        let mut client = Client::new(world.client_config(), bare::Client::new(Transport::Datagram));
        let (flow, peer) = (FlowId(0), peer(0));
        let Ok(()) = client.handle_input(Input::Opened { flow, peer }, now);
        let mut out = Buffer::new();
        assert!(matches!(client.poll_output(&mut out), Output::Transmit { .. }));
        let fragment = out.bytes().to_vec();
        let count = MOST_UNPROVEN as u32 * 2;
        for number in 0..count {
            open(&mut server, number, now);
            receive(&mut server, number, &of_another(&fragment, number), now);
        }
        let kept: Vec<u32> = (0..count)
            .filter(|number| server.held(FlowId(*number)) != Held::default())
            .collect();
        assert_eq!(kept, Vec::from_iter(count / 2..count), "{version:?}");
    }
}

/// The client sends another key share then: a cookie cannot say what the first ClientHello was.
#[test]
fn a_client_that_must_send_another_key_share_is_kept() {
    let world = World::new(Version::Dtls13);
    let mut server = asking(&world);
    let [mut hello, _] = hellos(&world, &mut server, Instant::START);
    // A share on X25519 has 32 bytes. Nobody knows the group 0x0bad.
    let share = [0, 0x1d, 0, 32];
    let at = hello
        .windows(4)
        .position(|bytes| bytes == share)
        .expect("a key share");
    hello[at..at + 2].copy_from_slice(&[0x0b, 0xad]);
    open(&mut server, 1, Instant::START);
    let outcome = receive(&mut server, 1, &hello, Instant::START);
    let record = records(&outcome.sent[0]).next().expect("a record");
    assert_eq!(record.handshake_type(), Some(2), "HelloRetryRequest");
    assert_ne!(server.held(FlowId(1)), Held::default());
}
