use std::collections::BTreeSet;

use wirecost_proto::ByteSize;

use super::*;
use crate::options::compare::tests::options;
use crate::options::content::Contents;

fn order(seed: u64) -> Vec<(usize, u32)> {
    let mut options = options(&["tcp", "mqtt-qos1", "coap-con"]);
    options.seed = seed;
    let devices = Plan::new(&options).devices.into_iter();
    devices.map(|device| (device.cell, device.sample)).collect()
}

#[test]
fn every_sample_of_every_cell_is_one_device() {
    let order = order(42);
    assert_eq!(order.len(), 30);
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 30);
}

#[test]
fn the_order_is_random_and_the_seeds() {
    assert_eq!(order(42), order(42));
    assert_ne!(order(42), order(43));
    let mut sorted = order(42);
    sorted.sort_unstable();
    assert_ne!(sorted, order(42));
}

#[test]
fn starts_are_spread_by_time_and_by_bytes() {
    let gaps = |bytes: u64| {
        let mut options = options(&["tcp"]);
        options.contents = Contents::Sizes(vec![ByteSize::from_bytes(bytes)]);
        let starts: Vec<Duration> = Plan::new(&options)
            .devices
            .iter()
            .map(|device| device.start)
            .collect();
        let gaps: BTreeSet<Duration> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(gaps(128), [START_GAP]);
    assert_eq!(
        gaps(1_000_000),
        [Duration::from_millis(200)],
        "warm-up and message, at 10 MB/s"
    );
}

#[test]
fn a_cell_that_cannot_be_run_has_a_reason_and_no_devices() {
    let mut options = options(&["udp", "tcp"]);
    options.contents = Contents::Sizes(vec![ByteSize::from_bytes(70_000)]);
    let plan = Plan::new(&options);
    assert!(
        plan.cells[0]
            .not_run
            .as_ref()
            .is_some_and(|why| why.contains("65507"))
    );
    assert!(plan.devices.iter().all(|device| device.cell == 1));
    assert_eq!(plan.devices.len(), 10);
}

#[test]
fn devices_of_one_cell_have_random_streams_of_their_own() {
    let plan = Plan::new(&options(&["coap-con"]));
    let first = |device| {
        let mut bytes = [0; 8];
        plan.rng_of(device).fill(&mut bytes);
        bytes
    };
    let streams: BTreeSet<[u8; 8]> = plan.devices.iter().map(first).collect();
    assert_eq!(streams.len(), plan.devices.len());
}
