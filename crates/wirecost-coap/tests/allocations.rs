//! In steady state no message allocates memory, and a client at rest keeps none for reuse (a counting allocator).

#[path = "../../wirecost-proto/benches/measure/allocator.rs"]
mod allocator;
mod common;

use std::sync::Arc;
use std::time::Duration;

use allocator::{allocations, held_bytes};
use common::*;
use wirecost_coap::client::{Client, Command, Config, Request, RequestTemplate};
use wirecost_coap::oscore::{Context, Role};
use wirecost_coap::server::{self, Server};
use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};

/// Client and server without a path between them, and reused buffers.
struct Loop {
    client: Client,
    server: Server,
    out: Buffer,
    now: Instant,
    answers: usize,
}

impl Loop {
    fn new(client: Config, server: server::Config) -> Self {
        let (client, server) = (Client::new(client), Server::new(server));
        let mut both = Self {
            client,
            server,
            out: Buffer::new(),
            now: Instant::START,
            answers: 0,
        };
        let (flow, peer) = (FIRST_FLOW, "192.0.2.1:5683".parse().unwrap());
        let opened = Input::Opened { flow, peer };
        both.client.handle_input(opened, both.now).unwrap();
        let opened = Input::Opened { flow, peer };
        both.server.handle_input(opened, both.now).unwrap();
        // On a stream both send a CSM.
        both.deliver();
        while transmitted(&mut both.server, &mut both.out) {
            let bytes = both.out.bytes();
            both.client
                .handle_input(Input::Received { flow, bytes }, both.now)
                .unwrap();
        }
        both.answers = 0;
        both
    }

    fn message(&mut self, template: &Arc<RequestTemplate>) {
        self.now += Duration::from_secs(1);
        let (message, template) = (1, template.clone());
        let command = Input::Command(Command::Request { message, template });
        self.client.handle_input(command, self.now).unwrap();
        self.deliver();
    }

    fn deliver(&mut self) {
        while transmitted(&mut self.client, &mut self.out) {
            let (flow, bytes) = (FIRST_FLOW, self.out.bytes());
            self.server
                .handle_input(Input::Received { flow, bytes }, self.now)
                .unwrap();
            while transmitted(&mut self.server, &mut self.out) {
                self.answers += 1;
                let bytes = self.out.bytes();
                self.client
                    .handle_input(Input::Received { flow, bytes }, self.now)
                    .unwrap();
            }
        }
    }
}

/// Polls until there is a datagram to send. Returns false if there is none.
fn transmitted<E: Endpoint>(endpoint: &mut E, out: &mut Buffer) -> bool {
    loop {
        out.clear();
        match endpoint.poll_output(out) {
            Output::Transmit { .. } => return true,
            Output::Timeout(_) => return false,
            _ => {}
        }
    }
}

#[test]
fn a_client_at_rest_keeps_its_state_alone_and_goes_on_as_before() {
    let request = Request::put("/test", pattern(1_000));
    let template = Arc::new(RequestTemplate::new(request).unwrap());
    let mut both = Loop::new(client_config(), server_config());
    both.message(&template);
    let before = held_bytes();
    assert!(both.client.rest(), "nothing is on its way");
    assert!(
        before - held_bytes() > 2_000,
        "its queues and two copies of the message"
    );
    both.message(&template);
    assert_eq!((both.answers, both.client.pending()), (2, 0));
    let (message, template) = (1, Arc::clone(&template));
    let request = Input::Command(Command::Request { message, template });
    both.client.handle_input(request, both.now).unwrap();
    assert!(!both.client.rest(), "a request is on its way");
    both.deliver();
    assert_eq!((both.answers, both.client.pending()), (3, 0));
}

#[test]
fn client_and_server_allocate_nothing_per_message() {
    for (put, answers) in [
        (Request::put("/test", pattern(128)), 1),
        (Request::put_without_response("/test", pattern(128)), 0),
    ] {
        let template = Arc::new(RequestTemplate::new(put).unwrap());
        let context = |role| Context::lab(&[7; 16], role, 1).unwrap();
        let protected = (
            client_config().with_oscore(context(Role::Client)),
            server_config().with_oscore([context(Role::Server)], true),
        );
        let on_stream = (client_config().on_stream(), server_config().on_stream());
        for (client, server) in [(client_config(), server_config()), protected, on_stream] {
            assert_no_allocation(Loop::new(client, server), &template, answers);
        }
    }
}

fn assert_no_allocation(mut both: Loop, template: &Arc<RequestTemplate>, answers: usize) {
    // A message a second: after EXCHANGE_LIFETIME the memory for duplicates stops growing, and after 1,024 messages the client
    // notes that it has used a run of message ids.
    (0..1_100).for_each(|_| both.message(template));
    let before = allocations();
    (0..5_000).for_each(|_| both.message(template));
    assert_eq!(allocations() - before, 0);
    assert_eq!(both.answers, 6_100 * answers);
    assert_eq!(both.client.pending(), 0);
}
