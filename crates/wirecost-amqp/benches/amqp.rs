//! An unsettled and a settled message, client and container, compared with the codec of fe2o3-amqp-types for the same
//! frames.

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
mod measure;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use fe2o3_amqp_types::definitions::{Handle, Role};
use fe2o3_amqp_types::messaging::{Accepted, DeliveryState};
use fe2o3_amqp_types::performatives::{Disposition, Performative, Transfer};
use measure::{Bench, Loop, PAYLOAD};
use serde_amqp::{from_slice, to_vec};
use wirecost_amqp::client::{self, Client, Command, MessageTemplate};
use wirecost_amqp::container::{self, Container};

fn main() {
    let mut bench = Bench::from_arguments();
    for (name, settled) in [("amqp-unsettled", false), ("amqp-settled", true)] {
        let template = Arc::new(MessageTemplate::new(PAYLOAD));
        let mut both = connected(settled);
        bench.ours(name, || {
            let template = Arc::clone(&template);
            both.message(Command::Send { message: 1, template });
        });
        // The compared codec has no connection, session and link.
        bench.peer(&format!("{name}, fe2o3-amqp-types"), || peer_exchange(settled));
    }
}

fn connected(settled: bool) -> Loop<Client, Container> {
    let client = client::Config {
        settled,
        ..client::Config::default()
    };
    let container = container::Config {
        // There is no receiver: the queue is full before the measurement.
        queue_messages: 10,
        ..container::Config::default()
    };
    Loop::connected(
        Client::new(client),
        Container::new(container),
        Duration::from_millis(1),
    )
}

fn peer_exchange(settled: bool) {
    let transfer = Performative::Transfer(Transfer {
        handle: Handle(0),
        delivery_id: Some(7),
        delivery_tag: Some(vec![0, 0, 0, 7].into()),
        message_format: Some(0),
        settled: settled.then_some(true),
        more: false,
        rcv_settle_mode: None,
        state: None,
        resume: false,
        aborted: false,
        batchable: false,
    });
    black_box(carried(&transfer));
    if !settled {
        black_box(carried(&Performative::Disposition(Disposition {
            role: Role::Receiver,
            first: 7,
            last: None,
            settled: true,
            state: Some(DeliveryState::Accepted(Accepted {})),
            batchable: false,
        })));
    }
}

/// Encodes and decodes a performative.
fn carried(performative: &Performative) -> Performative {
    let bytes = to_vec(performative).expect("a performative that can be written");
    from_slice(&bytes).expect("a performative that can be read")
}
