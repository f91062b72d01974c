//! How many entries of the server's state an input visits.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Rng};

use super::resource::Representation;
use super::{Config, Server};
use crate::block::{Block, BlockSize};
use crate::code::Code;
use crate::message::Repr;
use crate::option::{OptionNumber, content_format};

fn input(server: &mut Server, input: Input<'_, core::convert::Infallible>, now: Instant) -> Vec<Vec<u8>> {
    let Ok(()) = server.handle_input(input, now);
    let (mut out, mut sent) = (Buffer::new(), Vec::new());
    loop {
        out.clear();
        match server.poll_output(&mut out) {
            Output::Transmit { .. } => sent.push(out.bytes().to_vec()),
            Output::Timeout(_) => return sent,
            _ => {}
        }
    }
}

fn visits(server: &Server) -> u64 {
    server.outgoings.visits + server.observers.visits
}

/// A server with this many peers, each with 10 observations of `/obs` that it does not acknowledge.
fn with_observers(peers: u32) -> (Server, Instant) {
    let mut server = Server::new(Config::new(Rng::new(1)));
    let now = Instant::START;
    for number in 0..peers * 10 {
        let [_, _, high, low] = number.to_be_bytes();
        // CON GET, Observe 0, Uri-Path "obs", a token of two bytes.
        let get = [0x42, 1, high, low, high, low, 0x60, 0x53, b'o', b'b', b's'];
        let flow = FlowId(number / 10);
        let bytes = &get;
        input(&mut server, Input::Received { flow, bytes }, now);
    }
    let later = now + Duration::from_secs(6);
    input(&mut server, Input::Timeout, later);
    (server, later)
}

/// How many entries each of these inputs visits.
fn visits_of_inputs(peers: u32) -> Vec<u64> {
    let (mut server, now) = with_observers(peers);
    assert_eq!(server.observers(), peers as usize * 10);
    let put = [0x40, 3, 0, 1, 0xb3, b'o', b'b', b's', 0x10, 0xff, b'x'];
    let get = [0x40, 1, 0, 2, 0xb4, b't', b'e', b's', b't'];
    let separate = [
        0x40, 1, 0, 3, 0xb8, b's', b'e', b'p', b'a', b'r', b'a', b't', b'e',
    ];
    let (ack, reset, ping) = ([0x60, 0, 0, 9], [0x70, 0, 0, 9], [0x40, 0, 0, 4]);
    let inputs: [&[u8]; 7] = [&get, &ack, &reset, &ping, &put, &separate, &[0xff]];
    let flow = FlowId(u32::MAX);
    let of_input = |bytes: &&[u8]| {
        let before = visits(&server);
        input(&mut server, Input::Received { flow, bytes }, now);
        visits(&server) - before
    };
    inputs.iter().map(of_input).collect()
}

#[test]
fn the_cost_of_an_input_does_not_grow_with_other_observations() {
    let few = visits_of_inputs(2);
    assert_eq!(few, visits_of_inputs(1_000));
    assert!(few.iter().all(|visited| *visited < 4), "{few:?}");
}

#[test]
fn an_acknowledgement_visits_only_its_observer() {
    let of_ack = |peers| {
        let mut server = Server::new(Config::new(Rng::new(1)));
        let mut notification = Vec::new();
        for peer in 0..peers {
            let get = [0x41, 1, 0, 1, 7, 0x60, 0x53, b'o', b'b', b's'];
            let (flow, bytes) = (FlowId(peer), &get);
            input(&mut server, Input::Received { flow, bytes }, Instant::START);
        }
        let now = Instant::START + Duration::from_secs(6);
        if let Some(last) = input(&mut server, Input::Timeout, now).pop() {
            notification = last;
        }
        let before = visits(&server);
        let (flow, ack) = (FlowId(peers - 1), [0x60, 0, notification[2], notification[3]]);
        input(&mut server, Input::Received { flow, bytes: &ack }, now);
        assert_eq!(server.stats().unmatched, 0);
        visits(&server) - before
    };
    assert_eq!(of_ack(2), of_ack(2_000));
}

/// RFC 7959 section 2.2: the number of a block has 20 bits. A server whose blocks are smaller than those of a client cannot number
/// everything that the client can ask for, and says so instead of sending a block with another number.
#[test]
fn a_block_that_cannot_be_numbered_is_refused() {
    let mut config = Config::new(Rng::new(1));
    config.block_size = BlockSize::MIN.bytes();
    let mut server = Server::new(config);
    let beyond = (1 << 20) * BlockSize::MIN.bytes();
    let tests = |resource: &&mut super::Resource| resource.definition.path == "/test";
    server
        .tree
        .iter_mut()
        .find(tests)
        .expect("a resource")
        .representation = Some(Representation {
        format: content_format::TEXT_PLAIN,
        bytes: vec![7; beyond + BlockSize::MAX.bytes()],
    });
    let mut answer = |id: u8, offset: usize| {
        let asked = Block::at(offset, false, BlockSize::MAX).expect("a number");
        let [_, high, middle, low] = asked.value().to_be_bytes();
        // CON GET /test with Block2.
        let get = [
            0x40, 1, 0, id, 0xb4, b't', b'e', b's', b't', 0xc3, high, middle, low,
        ];
        let (flow, bytes) = (FlowId(0), &get);
        let sent = input(&mut server, Input::Received { flow, bytes }, Instant::START);
        let repr = Repr::parse(&sent[0]).expect("a response");
        let block = repr.options.uint(OptionNumber::BLOCK2);
        (repr.code, block.map(Block::from_value), repr.payload.len())
    };
    let last = beyond - BlockSize::MAX.bytes();
    let (code, block, bytes) = answer(1, last);
    assert_eq!((code, bytes), (Code::CONTENT, 16));
    assert_eq!(block.map(Block::offset), Some(last), "it can be numbered");
    assert_eq!(answer(2, beyond), (Code::BAD_REQUEST, None, 0));
}
