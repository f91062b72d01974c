//! Neither client nor server allocates per message in steady state.

#[path = "../../wirecost-proto/benches/measure/allocator.rs"]
mod allocator;

use std::sync::Arc;
use std::time::Duration;

use allocator::allocations;
use wirecost_http::client::Command;
use wirecost_http::http1::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_http::resource;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer};

const FLOW: FlowId = FlowId(0);

/// Takes all outputs of `endpoint`, appends the transmitted bytes to `wire`, and returns the number of its events.
fn drain<E: Endpoint>(endpoint: &mut E, out: &mut Buffer, wire: &mut Vec<u8>) -> usize {
    let mut events = 0;
    loop {
        out.clear();
        match endpoint.poll_output(out) {
            Output::Transmit { .. } => wire.extend_from_slice(out.bytes()),
            Output::Timeout(_) => return events,
            Output::Event(_) => events += 1,
            _ => {}
        }
    }
}

#[test]
fn a_post_allocates_nothing_in_steady_state() {
    let mut client = Client::new(ClientConfig::default());
    let mut server = Server::new(ServerConfig {
        // New messages reuse the memory of dropped ones.
        resources: resource::Config {
            kept_messages: 10,
            ..resource::Config::default()
        },
        ..ServerConfig::default()
    });
    let octets = Some("application/octet-stream");
    let template = RequestTemplate::new(Method::Post, "wirecost", "/test", octets, [7; 128]);
    let template = Arc::new(template.expect("a request"));
    let (mut out, mut up, mut down) = (Buffer::new(), Vec::new(), Vec::new());
    let mut now = Instant::START;
    let peer: Peer = "10.0.0.1:1".parse().expect("an address");
    let Ok(()) = server.handle_input(Input::Opened { flow: FLOW, peer }, now);
    let Ok(()) = client.handle_input(Input::Opened { flow: FLOW, peer }, now);
    let (mut before, mut events) = (0, 0);
    for message in 0..1_020 {
        if message == 20 {
            before = allocations();
        }
        now += Duration::from_millis(1);
        let template = Arc::clone(&template);
        let Ok(()) = client.handle_input(Input::Command(Command::Request { message, template }), now);
        events += drain(&mut client, &mut out, &mut up);
        let Ok(()) = server.handle_input(
            Input::Received {
                flow: FLOW,
                bytes: &up,
            },
            now,
        );
        up.clear();
        drain(&mut server, &mut out, &mut down);
        let Ok(()) = client.handle_input(
            Input::Received {
                flow: FLOW,
                bytes: &down,
            },
            now,
        );
        down.clear();
        events += drain(&mut client, &mut out, &mut up);
    }
    let allocated = allocations() - before;
    assert_eq!(allocated, 0);
    assert_eq!(server.stats().answered, 1_020);
    // It opened, and each request was sent and answered.
    assert_eq!(events, 1 + 2 * 1_020);
}
