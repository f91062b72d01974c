//! A link as results have it: what was asked for, and what it achieved.

use std::time::Duration;

use wirecost_link::{Counters, DelayDistribution, DirectionConfig, LinkConfig, NbiotCell, QueueLimit};
use wirecost_proto::{BothWays, Direction};
use wirecost_stats::Sample;

use crate::summary::{Achieved, Link, LinkCell, LinkDirection};

/// The results of the link check and of the decisions of the link.
pub fn achieved(round_trips: &[Duration], link: &LinkConfig, counters: &BothWays<Counters>) -> Achieved {
    let nanos: Vec<u64> = round_trips.iter().map(|rtt| rtt.as_nanos() as u64).collect();
    let rtt_samples = nanos.len() as u64;
    let median = Sample::new(nanos).and_then(|sample| sample.quantile(0.5));
    let BothWays { up, down } =
        BothWays::from_fn(|way| wirecost_link::Achieved::new(link.direction(way), &counters[way]));
    // Without a rate nothing queues.
    let dropped = |way: Direction| {
        let queued = link.direction(way).rate.is_some();
        queued.then_some(counters[way].queue_dropped)
    };
    Achieved {
        rtt_p50_ns: median.map(|quantile| quantile.value),
        rtt_samples,
        loss_up: up.loss.observed(),
        loss_down: down.loss.observed(),
        packets: counters.iter().map(Counters::exposed_to_loss).sum(),
        rate_up_bps: up.rate.map(|rate| rate.bits_per_second()),
        rate_down_bps: down.rate.map(|rate| rate.bits_per_second()),
        queue_dropped_up: dropped(Direction::Up),
        queue_dropped_down: dropped(Direction::Down),
    }
}

/// A link as results have it.
pub fn link_of(link: &LinkConfig, achieved: Option<Achieved>) -> Link {
    Link {
        up: link_direction(link, Direction::Up),
        down: link_direction(link, Direction::Down),
        nat_udp_timeout_ns: link.nat.udp.map(|timeout| timeout.as_nanos() as u64),
        nat_tcp_timeout_ns: link.nat.tcp.map(|timeout| timeout.as_nanos() as u64),
        nat_port: (!link.nat.is_none()).then(|| link.nat.port.name().to_owned()),
        achieved,
        path: None,
        nbiot_cell: link.cell.map(link_cell),
    }
}

fn link_cell(cell: NbiotCell) -> LinkCell {
    LinkCell {
        profile: cell.profile.to_string(),
        load_per_s: cell.load,
        coupling_loss_db: cell.coupling_loss_db,
    }
}

fn link_direction(link: &LinkConfig, way: Direction) -> LinkDirection {
    let direction: &DirectionConfig = link.direction(way);
    // Without a rate nothing waits, and a limit would look like one that was applied.
    let limit = direction.rate.map(|_| link.queue_limit(way));
    LinkDirection {
        delay_ns: direction.delay.as_nanos() as u64,
        delay_variation_ns: match direction.delay_variation.map(|variation| variation.distribution) {
            None => 0,
            Some(DelayDistribution::Uniform { plus_minus }) => plus_minus.as_nanos() as u64,
            Some(DelayDistribution::Normal { standard_deviation }) => standard_deviation.as_nanos() as u64,
        },
        loss: direction.loss.rate(),
        reorder: direction
            .reorder
            .map_or(0.0, |reorder| reorder.probability.value()),
        duplicate: direction.duplicate.value(),
        corrupt: direction.corrupt.value(),
        rate_bps: direction.rate.map(|rate| rate.bits_per_second()),
        queue_bytes: limit.and_then(|limit| {
            if let QueueLimit::Bytes(bytes) = limit {
                Some(bytes)
            } else {
                None
            }
        }),
        queue_packets: limit.and_then(|limit| {
            if let QueueLimit::Packets(packets) = limit {
                Some(packets)
            } else {
                None
            }
        }),
        mtu_bytes: u64::from(direction.mtu),
    }
}
