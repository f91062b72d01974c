//! Bare endpoints in an NB-IoT cell, which holds packets and decides later.

use std::time::Duration;

use crate::common::{OwnLinks, Talker, delay, device, end, settings, world};
use wirecost_nbiot::{AirEvent, Config, Gains, Network, Packet};
use wirecost_proto::bare::Transport;
use wirecost_proto::record::Record;
use wirecost_proto::{Direction, Fate, Instant};
use wirecost_sim::{Cells, Recording};

/// The internet behind the cell, each way.
const INTERNET: Duration = Duration::from_millis(4);

/// The network of one quiet cell.
fn quiet_cell() -> Network {
    Network::new(&Config::quiet_cell(), 1).expect("a network")
}

/// A cell with one device at this path gain.
fn cell(gain_db: f64) -> Cells {
    let mut cells = Cells::new(quiet_cell(), INTERNET);
    let gains = Gains::fixed(&[gain_db]);
    let ue = cells.network_mut().arrive_with(0, gains, Instant::START);
    cells.attach(0, ue);
    cells
}

/// Direction and length of every packet, in the order of entry.
fn packets(records: &[Record]) -> Vec<(Direction, usize)> {
    let packet = |record: &Record| match record {
        Record::Packet(packet) => Some((packet.direction, packet.bytes.len())),
        Record::Delivery(_) => None,
    };
    records.iter().filter_map(packet).collect()
}

#[test]
fn a_datagram_arrives_after_the_air_and_the_internet() {
    let mut network = quiet_cell();
    let ue = network.arrive_with(0, Gains::fixed(&[-110.0]), Instant::START);
    let packet = Packet {
        token: 0,
        bytes: 28 + 49,
    };
    network.offer(ue, Direction::Up, packet, Instant::START);
    let mut on_air = None;
    network.advance(Instant::from_millis(10_000), &mut |event| {
        if let AirEvent::Delivered { at, .. } = event {
            on_air = Some(at);
        }
    });
    let devices = vec![device(0, Transport::Datagram, Talker::with(49, 1))];
    let finished = world(settings(), devices, cell(-110.0), Recording::new()).run(end());
    let arrivals: Vec<Instant> = finished.observer.0.iter().map(|(at, ..)| *at).collect();
    assert_eq!(arrivals, [on_air.expect("a delivery") + INTERNET]);
    // Once the cell has decided, the recording has the fate, and the delivery after its packet.
    let records = finished.tap.into_records();
    let [Record::Packet(packet), Record::Delivery(delivery)] = records.as_slice() else {
        panic!("not a packet and its delivery: {records:?}");
    };
    assert_eq!(packet.fate, Fate::Delivered);
    assert_eq!((delivery.packet, delivery.actual), (0, arrivals[0]));
}

#[test]
fn the_packets_in_an_empty_cell_are_those_of_a_link() {
    for transport in [Transport::Datagram, Transport::Stream] {
        let devices = || vec![device(0, transport, Talker::with(128, 1))];
        let in_cell = world(settings(), devices(), cell(-110.0), Recording::new()).run(end());
        let links = OwnLinks::new(1, delay(150), 1);
        let on_link = world(settings(), devices(), links, Recording::new()).run(end());
        let first = packets(in_cell.tap.records());
        assert_eq!(first, packets(on_link.tap.records()), "{transport:?}");
        assert!(in_cell.devices[0].finished);
    }
}

#[test]
fn a_segment_that_the_cell_loses_is_sent_again() {
    let devices = vec![device(0, Transport::Stream, Talker::with(128, 1))];
    let finished = world(settings(), devices, cell(-190.0), Recording::new()).run(end());
    let sent = packets(finished.tap.records());
    assert!(
        sent.len() > 1 && sent.iter().all(|packet| *packet == sent[0]),
        "{sent:?}"
    );
    assert!(finished.observer.0.is_empty());
}

#[test]
fn packets_of_a_host_without_a_device_are_lost() {
    let devices = vec![device(0, Transport::Datagram, Talker::with(49, 1))];
    let cells = Cells::new(quiet_cell(), INTERNET);
    let finished = world(settings(), devices, cells, Recording::new()).run(end());
    assert!(finished.observer.0.is_empty());
}

#[test]
fn what_is_on_its_way_to_a_removed_device_is_dropped() {
    let mut cells = cell(-110.0);
    let packet = |direction| wirecost_sim::Offered {
        host: 0,
        direction,
        wire_bytes: 77,
        number: 5,
    };
    cells.offer(&packet(Direction::Down), Instant::START);
    assert_eq!(cells.next_event(), Some(Instant::START + INTERNET));
    cells.offer(&packet(Direction::Up), Instant::START);
    assert!(cells.remove(0, Instant::START).is_some());
    let mut events = 0;
    cells.advance(Instant::from_millis(60_000), &mut |_| events += 1);
    assert_eq!((events, cells.next_event()), (0, None));
    assert_eq!(cells.network().devices(), 0);
}
