//! A packet's comment and the figures of its cell come from the same decision.

use wirecost_link::Loss;
use wirecost_proto::BothWays;
use wirecost_results::summary::Section;
use wirecost_scenario::plan::Plan;

use super::*;
use crate::compare::fixture::options;
use crate::compare::simulated::{CellResult, simulate};

/// The first five send a close again that is not acknowledged.
const STACKS: [&str; 8] = [
    "tcp",
    "mqtt-qos1",
    "mqtt-qos1+tls1.3",
    "amqp-unsettled",
    "http1",
    "coap-con",
    "coap-con+dtls1.2",
    "http3",
];

/// The cells of all stacks, 20 devices each, on a link that loses and duplicates packets if `is_bad`.
fn cells(is_bad: bool) -> Vec<CellResult> {
    let mut options = options(&STACKS);
    options.samples = 20;
    let link = &mut options.links[0];
    for way in [&mut link.up, &mut link.down].into_iter().filter(|_| is_bad) {
        way.loss = Loss::Bernoulli("5%".parse().expect("a probability"));
        way.duplicate = "5%".parse().expect("a probability");
    }
    let plan = Plan::new(&options);
    let all: Vec<usize> = (0..plan.cells.len()).collect();
    let mut results = Vec::new();
    let mut take = |result| results.push(result);
    simulate(&options, &plan, &all, 1, &mut take, &|| false).expect("a simulation");
    results
}

/// The bytes of a cell's packets that count in a figure, by what the packets say of themselves.
fn by_packets(result: &CellResult, counted: Counted) -> BothWays<u64> {
    let mut sums = BothWays::default();
    for packet in &result.packets {
        let others = &packet.counted.others;
        let elsewhere: u64 = others.iter().map(|(_, bytes)| bytes).sum();
        let sum = &mut sums[packet.packet.direction];
        if packet.counted.packet == counted {
            *sum += packet.packet.bytes.len() as u64 - elsewhere;
        }
        let here = others.iter().filter(|(other, _)| *other == counted);
        *sum += here.map(|(_, bytes)| bytes).sum::<u64>();
    }
    sums
}

fn by_section(section: &Option<Section>) -> BothWays<u64> {
    let sum = |of: fn(&Section) -> u64| section.as_ref().map_or(0, of);
    BothWays {
        up: sum(|section| section.up.wire.sum),
        down: sum(|section| section.down.wire.sum),
    }
}

#[test]
fn the_packets_of_a_capture_add_up_to_the_sections_of_their_cell() {
    for is_bad in [false, true] {
        for result in cells(is_bad) {
            let cell = &result.cell;
            let figures = [
                (Counted::Connect, &cell.connect),
                (Counted::Message, &cell.message),
                (Counted::KeepAlive, &cell.keep_alive),
                (Counted::Close, &cell.close),
            ];
            for (counted, section) in figures {
                let (packets, figure) = (by_packets(&result, counted), by_section(section));
                assert_eq!(
                    packets,
                    figure,
                    "{} {}, bad: {is_bad}",
                    cell.stack,
                    counted.name()
                );
            }
        }
    }
}

#[test]
fn a_close_that_is_sent_again_counts_with_its_late_packets() {
    let close = |result: &CellResult| by_section(&result.cell.close).up;
    for (good, bad) in cells(false).iter().zip(&cells(true)).take(5) {
        assert!(close(bad) > close(good), "{}", good.cell.stack);
    }
}
