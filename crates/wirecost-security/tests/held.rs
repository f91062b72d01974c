//! The memory of a client whose server announces false lengths or never ends its messages.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

#[path = "../../wirecost-proto/benches/measure/allocator.rs"]
mod allocator;
mod dtls_world;

use allocator::held_bytes;
use dtls_world::World;
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};
use wirecost_security::tls::{self, Trust};
use wirecost_security::{dtls, layer};

const FLOW: FlowId = FlowId(0);
/// The memory limit of a handshake in either layer: waiting records and messages with the largest certificates.
const BOUND: i64 = 4 << 20;
/// A volume far above the limit.
const SENT: usize = 16 << 20;

/// Takes all outputs of an endpoint. Returns whether its flow has failed.
fn drain<E: Endpoint<Event = layer::Event<bare::ClientEvent>>>(endpoint: &mut E, out: &mut Buffer) -> bool {
    let mut has_failed = false;
    loop {
        out.clear();
        match endpoint.poll_output(out) {
            Output::Event(layer::Event::Failed { .. }) => has_failed = true,
            Output::Timeout(_) => return has_failed,
            _ => {}
        }
    }
}

/// Opens a flow and sends the output of `next` until the client fails or enough was sent. Returns the bytes sent
/// before the failure and the peak of bytes held.
fn flood<E>(client: &mut E, mut next: impl FnMut(usize) -> Vec<u8>) -> (Option<usize>, i64)
where
    E: Endpoint<Event = layer::Event<bare::ClientEvent>, Error: std::fmt::Debug>,
{
    let (peer, now) = ("10.0.0.1:1".parse().expect("an address"), Instant::START);
    let mut out = Buffer::new();
    client
        .handle_input(Input::Opened { flow: FLOW, peer }, now)
        .expect("an endpoint");
    drain(client, &mut out);
    let (before, mut most, mut sent, mut number) = (held_bytes(), 0, 0, 0);
    while sent < SENT {
        let bytes = next(number);
        let input = Input::Received {
            flow: FLOW,
            bytes: &bytes,
        };
        client.handle_input(input, now).expect("an endpoint");
        (sent, number) = (sent + bytes.len(), number + 1);
        if drain(client, &mut out) {
            return (Some(sent), most);
        }
        most = most.max(held_bytes() - before);
    }
    (None, most)
}

fn tls_client() -> tls::Client<bare::Client> {
    let world = World::new();
    let trust = Trust::Authorities(vec![world.authority.certificate().to_vec()]);
    let options = tls::ClientOptions::new(world.epoch, trust, "127.0.0.1");
    let config = tls::ClientConfig::new(options).expect("a client");
    tls::Client::new(config, bare::Client::new(Transport::Stream))
}

/// A TLS handshake record of maximum length, filled with `content`.
fn record(content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![22, 3, 3];
    bytes.extend((content.len() as u16).to_be_bytes());
    bytes.extend(content);
    bytes
}

#[test]
fn held_bytes_of_a_tls_handshake_message_are_limited() {
    // ServerHello, Certificate, and an unknown type, each of 16 MB.
    for kind in [2, 11, 99] {
        let (failed, most) = flood(&mut tls_client(), |number| {
            let mut content = vec![0; 16_000];
            if number == 0 {
                content[..4].copy_from_slice(&[kind, 0xff, 0xff, 0xff]);
            }
            record(&content)
        });
        assert!(failed.is_some_and(|sent| sent < 1 << 17), "{kind}: {failed:?}");
        assert!(most < BOUND, "{kind}: {most} B");
    }
}

#[test]
fn held_bytes_of_a_tls_record_are_limited() {
    let (failed, most) = flood(&mut tls_client(), |number| match number {
        0 => vec![22, 3, 3, 0xff, 0xff],
        _ => vec![0; 1_000],
    });
    assert!(failed.is_some_and(|sent| sent < 1 << 17), "{failed:?}");
    assert!(most < BOUND, "{most} B");
}

#[test]
fn a_tls_handshake_of_warnings_only_fails() {
    // Empty records, which a peer could send endlessly if nobody counted them.
    let (failed, most) = flood(&mut tls_client(), |_| record(&[]).repeat(1_000));
    assert!(failed.is_some() && most < BOUND, "{failed:?} {most} B");
}

/// A DTLS record of a fragment of a handshake message.
fn fragment(record: u64, message: u16, length: u32, offset: u32, content: &[u8]) -> Vec<u8> {
    let body = 12 + content.len() as u16;
    let mut bytes = vec![22, 0xfe, 0xfd, 0, 0];
    bytes.extend(&record.to_be_bytes()[2..]);
    bytes.extend(body.to_be_bytes());
    bytes.push(11);
    bytes.extend(&length.to_be_bytes()[1..]);
    bytes.extend(message.to_be_bytes());
    bytes.extend(&offset.to_be_bytes()[1..]);
    bytes.extend(&(content.len() as u32).to_be_bytes()[1..]);
    bytes.extend(content);
    bytes
}

#[test]
fn held_dtls_fragments_are_limited() {
    let content = [0; 1_000];
    for version in dtls::Version::ALL {
        let client = || {
            let config = World::new().client_config(version);
            dtls::Client::new(config, bare::Client::new(Transport::Datagram))
        };
        // Fragments of one message of 16 MB with a gap at its start, then first fragments of every possible message.
        let one = flood(&mut client(), |number| {
            fragment(number as u64, 0, 0xff_ffff, 1_000 * (number as u32 + 1), &content)
        });
        let many = flood(&mut client(), |number| {
            fragment(number as u64, number as u16, 100_000, 0, &content)
        });
        for (what, (failed, most)) in [("one message", one), ("many messages", many)] {
            assert!(
                most < BOUND,
                "{version:?}, {what}: {most} B held, failed after {failed:?} B"
            );
        }
    }
}
