//! The network as a whole.

use std::collections::BTreeMap;

use wirecost_nbiot::{AirEvent, Config, Gains, Network, Packet, UeId};
use wirecost_proto::{Direction, Instant};

/// Runs until nothing happens any more or `until` is reached.
fn run(network: &mut Network, until: Instant, mut listener: impl FnMut(&mut Network, AirEvent)) {
    let mut events = Vec::new();
    while let Some(next) = network.next_event().filter(|next| *next <= until) {
        network.advance(next, &mut |event| events.push(event));
        for event in events.drain(..) {
            listener(network, event);
        }
    }
}

fn packet(token: u64, bytes: u32) -> Packet {
    Packet { token, bytes }
}

#[test]
fn one_report_crosses_an_empty_network() {
    let mut network = Network::new(&Config::default(), 1).unwrap();
    let ue = network.arrive(0, Instant::START);
    network.offer(ue, Direction::Up, packet(7, 58), Instant::START);
    let mut seen = Vec::new();
    run(&mut network, Instant::from_millis(60_000), |_, event| {
        seen.push(event)
    });
    println!("{seen:#?}");
    println!("{:#?}", network.ue_facts(ue, Instant::from_millis(60_000)));
    println!(
        "{:#?} {}",
        network.cell_facts(network.gains(ue).unwrap().serving, Instant::from_millis(60_000)),
        network.events()
    );
}
