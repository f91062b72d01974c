//! In steady state, neither client nor broker allocates memory per message.

#[path = "../../wirecost-proto/benches/measure/allocator.rs"]
mod allocator;

use allocator::allocations;
use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self, Client, Command, PublishTemplate};
use wirecost_mqtt::codec::Version;
use wirecost_mqtt::quality::QoS;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer};

const FLOW: FlowId = FlowId(0);

/// Polls all outputs of `endpoint`. Appends transmitted bytes to `wire`.
fn drain<E: Endpoint>(endpoint: &mut E, out: &mut Buffer, wire: &mut Vec<u8>) {
    loop {
        out.clear();
        match endpoint.poll_output(out) {
            Output::Transmit { .. } => wire.extend_from_slice(out.bytes()),
            Output::Timeout(_) => return,
            _ => {}
        }
    }
}

struct Run {
    client: Client,
    broker: Broker,
    out: Buffer,
    up: Vec<u8>,
    down: Vec<u8>,
    now: Instant,
}

impl Run {
    fn new(version: Version) -> Self {
        let client = Client::new(client::Config {
            version,
            ..client::Config::default()
        });
        let broker = Broker::new(broker::Config::default());
        let mut run = Self {
            client,
            broker,
            out: Buffer::new(),
            up: Vec::new(),
            down: Vec::new(),
            now: Instant::START,
        };
        let peer: Peer = "10.0.0.1:1".parse().expect("an address");
        let _ = run
            .broker
            .handle_input(Input::Opened { flow: FLOW, peer }, run.now);
        let _ = run
            .client
            .handle_input(Input::Opened { flow: FLOW, peer }, run.now);
        run.exchange();
        run
    }

    /// Carries bytes in both directions until both sides are idle.
    fn exchange(&mut self) {
        drain(&mut self.client, &mut self.out, &mut self.up);
        while !self.up.is_empty() {
            let input = Input::Received {
                flow: FLOW,
                bytes: &self.up,
            };
            let _ = self.broker.handle_input(input, self.now);
            self.up.clear();
            drain(&mut self.broker, &mut self.out, &mut self.down);
            let input = Input::Received {
                flow: FLOW,
                bytes: &self.down,
            };
            let _ = self.client.handle_input(input, self.now);
            self.down.clear();
            drain(&mut self.client, &mut self.out, &mut self.up);
        }
    }

    fn publish(&mut self, template: &std::sync::Arc<PublishTemplate>) {
        self.now += std::time::Duration::from_millis(1);
        let command = Command::Publish(template.clone());
        let _ = self.client.handle_input(Input::Command(command), self.now);
        self.exchange();
    }
}

#[test]
fn steady_state_allocates_nothing_at_any_qos() {
    for version in Version::ALL {
        for qos in QoS::ALL {
            let template = PublishTemplate::new("test", qos, [7; 128]).expect("a message");
            let template = std::sync::Arc::new(template);
            let mut run = Run::new(version);
            for _ in 0..10 {
                run.publish(&template);
            }
            let before = allocations();
            for _ in 0..1_000 {
                run.publish(&template);
            }
            let allocated = allocations() - before;
            assert_eq!(allocated, 0, "{version:?} {qos:?}");
            assert_eq!(run.broker.stats().published, 1_010);
            assert_eq!(run.client.in_flight(), 0);
        }
    }
}
