//! Modified protected datagrams never take effect.

mod common;

use std::time::Duration;

use common::*;
use wirecost_coap::client::{Client, Command, Event, Request};
use wirecost_coap::oscore::{Context, Role};
use wirecost_coap::server::Server;
use wirecost_proto::{Direction, Endpoint, Input, Instant, Rng};

/// The number of forgeries per recorded datagram.
const FORGERIES: usize = 300;

fn context(role: Role) -> Context {
    Context::lab(&[3; 16], role, 1).expect("ids that fit")
}

fn client() -> Client {
    Client::new(client_config().with_oscore(context(Role::Client)))
}

fn server() -> Server {
    Server::new(server_config().with_oscore([context(Role::Server)], true))
}

/// The datagrams between a client and a server: PUTs of one block and of many, a GET, an observation.
fn recorded(direction: Direction) -> Vec<Vec<u8>> {
    let mut pair = pair_with(
        Lossy::default(),
        client_config().with_oscore(context(Role::Client)),
        server_config().with_oscore([context(Role::Server)], true),
    );
    for size in [20, 3_000] {
        exchange(&mut pair, Request::put("/test", pattern(size)));
    }
    exchange(&mut pair, Request::get("/test"));
    pair.command(observe(2, "/obs"));
    pair.drive_for(Duration::from_secs(11));
    let bytes = sent(&pair, direction).into_iter();
    bytes.map(|sent| sent.bytes.clone()).collect()
}

/// A datagram with a flipped bit, a changed byte, a removed or added part, or two swapped parts.
fn forged(genuine: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = genuine.to_vec();
    let mut place = |bytes: &[u8]| rng.next_below(bytes.len().max(1) as u64) as usize;
    let (at, other) = (place(&bytes), place(&bytes));
    match place(&[0; 5]) {
        0 => bytes[at] ^= 1 << place(&[0; 8]),
        1 => bytes[at] = place(&[0; 256]) as u8,
        2 => bytes.truncate(at),
        3 => bytes.extend_from_within(at..),
        _ => bytes.swap(at, other),
    }
    bytes
}

/// Whether the protected parts of two datagrams are equal.
fn have_equal_protection(one: &[u8], other: &[u8]) -> bool {
    // The ciphertext and the option. Type, message id and token are not protected.
    let protected = |bytes: &[u8]| bytes.get(6..).map(<[u8]>::to_vec);
    protected(one) == protected(other)
}

#[test]
fn no_forged_request_takes_effect() {
    let mut rng = Rng::new(1);
    for genuine in recorded(Direction::Up) {
        let mut server = server();
        let before = server.content("/test").map(<[u8]>::to_vec);
        for second in 0..FORGERIES {
            let bytes = forged(&genuine, &mut rng);
            if have_equal_protection(&bytes, &genuine) {
                continue;
            }
            answer_to(&mut server, &bytes, Instant::from_millis(second as u64 * 1_000));
            assert_eq!(server.content("/test"), before.as_deref(), "{bytes:02x?}");
            assert_eq!(server.observers(), 0);
        }
    }
}

#[test]
fn no_forged_response_is_accepted() {
    let mut rng = Rng::new(2);
    let recorded = recorded(Direction::Down);
    // This client sends the same request, so the first recorded answer belongs to it.
    let (mut client, _) = client_with_request();
    assert!(is_accepted(&mut client, &recorded[0]));
    for genuine in recorded {
        let (mut client, sent) = client_with_request();
        for _ in 0..FORGERIES {
            // With the message id and the token of the awaited answer.
            let mut bytes = forged(&genuine, &mut rng);
            let len = bytes.len().min(6);
            bytes[..len].copy_from_slice(&sent[..len]);
            // An ACK with a token of 2 B and a success code, because errors may be unprotected.
            let head = [0x62, 0x44];
            bytes.iter_mut().zip(head).for_each(|(byte, new)| *byte = new);
            if have_equal_protection(&bytes, &genuine) {
                continue;
            }
            assert!(!is_accepted(&mut client, &bytes), "{bytes:02x?}");
        }
    }
}

/// A client after it sent a request, and the request.
fn client_with_request() -> (Client, Vec<u8>) {
    let mut client = client();
    open(&mut client);
    let command: Command = request(Request::put("/test", pattern(20)));
    client
        .handle_input(Input::Command(command), Instant::START)
        .unwrap();
    let sent = drain(&mut client, 0).remove(0);
    (client, sent)
}

/// Whether the client reports a response after this datagram.
fn is_accepted(client: &mut Client, bytes: &[u8]) -> bool {
    let flow = wirecost_proto::pair::FIRST_FLOW;
    let received = Input::Received { flow, bytes };
    client.handle_input(received, Instant::START).unwrap();
    loop {
        match client.poll_output(&mut wirecost_proto::Buffer::new()) {
            wirecost_proto::Output::Event(event) => return matches!(event, Event::Response(_)),
            wirecost_proto::Output::Timeout(_) => return false,
            _ => {}
        }
    }
}
