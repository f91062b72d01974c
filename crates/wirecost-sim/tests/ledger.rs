//! The tally of a run beside the ledger over its recording.

mod common;

use common::{OwnLinks, PORT, Talker, delay, device_on, end, settings, world};
use wirecost_cost::{DeviceLedger, Ports, Totals};
use wirecost_link::Loss;
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{DeviceReport, FlowReport};
use wirecost_proto::log::DirectionLog;
use wirecost_proto::record::Record;
use wirecost_proto::{Buffer, Direction, Probability};
use wirecost_sim::{Recording, Tally};

/// What the ledger finds in the packets of one device, told by the device's own logs and by the service's.
fn ledger<D>(report: &DeviceReport<D>, records: &[Record], flows: &[(u16, FlowReport)], port: u16) -> Totals {
    let mut ledger = DeviceLedger::new();
    for (local, log) in &report.logs {
        let server = flows.iter().find(|(_, flow)| flow.peer == *local);
        let ports = Ports {
            client: local.port(),
            server: port,
        };
        describe(&mut ledger, ports, Direction::Up, log.transport, &log.up);
        if let Some((_, flow)) = server {
            describe(&mut ledger, ports, Direction::Down, log.transport, &flow.log.down);
        }
    }
    let mut totals = Totals::new();
    for record in records {
        let Record::Packet(packet) = record else { continue };
        if packet.host == Some(report.host) {
            let mut spans = Buffer::new();
            let verdict = ledger.packet(packet.direction, &packet.bytes, &mut spans);
            totals.add_packet(packet.direction, &verdict, spans.spans());
        }
    }
    totals
}

fn describe(
    ledger: &mut DeviceLedger,
    ports: Ports,
    direction: Direction,
    transport: Transport,
    log: &DirectionLog,
) {
    if transport == Transport::Stream {
        return ledger.stream_spans(ports, direction, &log.stream);
    }
    for datagram in &log.datagrams {
        ledger.datagram_spans(ports, direction, &datagram.bytes, &datagram.spans);
    }
}

#[test]
fn bare_datagrams_are_tallied_as_the_ledger_counts_them() {
    for (bytes, ipv6) in [(128, false), (128, true), (4_000, false), (4_000, true)] {
        let mut config = delay(5);
        config.up.loss = Loss::Bernoulli(Probability::new(0.1).expect("a probability"));
        let devices = vec![device_on(0, Transport::Datagram, Talker::with(bytes, 20), ipv6)];
        let tap = (Recording::new(), Tally::new(|_| 0));
        let finished = world(settings(), devices, OwnLinks::new(1, config, 3), tap).run(end());
        let (recording, tally) = finished.tap;
        let totals = ledger(&finished.devices[0], recording.records(), &finished.flows, PORT);
        assert_eq!(tally.totals(), [totals], "{bytes} bytes");
    }
}

#[test]
fn datagrams_to_a_port_that_nobody_has_are_answered_by_a_probe() {
    for ipv6 in [false, true] {
        let mut devices = vec![device_on(0, Transport::Datagram, Talker::with(100, 1), ipv6)];
        devices[0].remote.set_port(9);
        let tap = (Recording::new(), Tally::new(|_| 0));
        let world = world(settings(), devices, OwnLinks::new(1, delay(5), 3), tap);
        let finished = world.run(end());
        assert_eq!(finished.devices[0].script.failures.len(), 1);
        let (recording, tally) = finished.tap;
        let totals = ledger(&finished.devices[0], recording.records(), &finished.flows, 9);
        assert_eq!(tally.totals(), [totals]);
    }
}
