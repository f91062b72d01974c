//! The tally of a run beside the ledger over its recording.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{OwnLinks, PORT, Talker, delay, device_on, end, settings, world};
use crate::script::{Counting, Exchanges};
use wirecost_coap::client as coap;
use wirecost_coap::server::{self, Server};
use wirecost_cost::{DeviceEvent, ObservedPacket, Observer, Totals};
use wirecost_link::{Loss, Reorder};
use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client;
use wirecost_mqtt::quality::QoS;
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::driver::{Device, Service};
use wirecost_proto::hosts::{device_address, server_address};
use wirecost_proto::{Cause, Content, Direction, Endpoint, Instant, Phase, Probability, Rng, Script};
use wirecost_sim::{Recording, Tally, Watch, World};

#[test]
fn bare_datagrams_are_tallied_as_the_ledger_counts_them() {
    for (bytes, ipv6) in [(128, false), (128, true), (4_000, false), (4_000, true)] {
        let mut config = delay(5);
        config.up.loss = Loss::Bernoulli(Probability::new(0.1).expect("a probability"));
        let devices = vec![device_on(0, Transport::Datagram, Talker::with(bytes, 20), ipv6)];
        let tap = (Recording::new(), Tally::new(|_| 0));
        let finished = world(settings(), devices, OwnLinks::new(1, config, 3), tap).run(end());
        let (recording, tally) = finished.tap;
        let totals = recording.totals_of(&finished.devices[0], &finished.flows, PORT);
        assert_eq!(tally.totals(), [totals], "{bytes} bytes");
    }
}

/// What an observer is told: sums, and the times of packets in the order of the calls.
#[derive(Default)]
struct Told(Totals, Vec<Instant>, u64);

impl Observer for Told {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.0.packet(packet);
        self.1.push(packet.at);
    }

    fn event(&mut self, _: Instant, event: DeviceEvent) {
        self.2 += u64::from(event == DeviceEvent::Connect);
    }
}

#[test]
fn observers_are_told_each_packet_in_the_order_of_time() {
    for transport in [Transport::Datagram, Transport::Stream] {
        let devices = vec![device_on(0, transport, Talker::with(2_000, 20), false)];
        let watch = Watch::new(|_| Some(Told::default()));
        let tap = (Tally::new(|_| 0), watch);
        let finished = world(settings(), devices, OwnLinks::new(1, delay(5), 3), tap).run(end());
        let (tally, watch) = finished.tap;
        let mut told = watch.finish(end());
        let Told(totals, times, connects) = told.remove(&0).expect("device 0");
        assert_eq!(tally.totals(), [totals], "{transport:?}");
        assert!(times.is_sorted() && times.len() >= 20, "{transport:?}");
        assert_eq!(connects, 1, "{transport:?}");
    }
}

/// A link that loses, holds back or doubles a tenth of its packets each way.
fn lossy() -> OwnLinks {
    let tenth = Probability::new(0.1).expect("a probability");
    let mut config = delay(20);
    for way in [&mut config.up, &mut config.down] {
        way.loss = Loss::Bernoulli(tenth);
        way.duplicate = tenth;
        way.reorder = Some(Reorder {
            probability: tenth,
            extra_delay: Duration::from_millis(30),
        });
    }
    OwnLinks::new(1, config, 3)
}

/// Runs a device and a server over a lossy link, and holds the tally against the ledger.
fn compare<C, D, S>(transport: Transport, client: C, script: D, server: S)
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Script<C>,
    S: Endpoint<Error: std::fmt::Display>,
{
    let device = Device {
        host: 0,
        local: SocketAddr::new(device_address(0, false).expect("an address"), 0),
        remote: SocketAddr::new(server_address(false), PORT),
        transport,
        endpoint: client,
        script,
    };
    let service = Service {
        address: device.remote,
        transport,
        endpoint: server,
    };
    let tap = (Recording::new(), Tally::new(|_| 0));
    let world = World::new(
        settings(),
        vec![device],
        vec![service],
        lossy(),
        tap,
        Counting::default(),
    );
    let finished = world.run(end());
    let (recording, tally) = finished.tap;
    let totals = recording.totals_of(&finished.devices[0], &finished.flows, PORT);
    let again = Phase::ALL.map(|phase| {
        totals
            .traffic(phase, Direction::Up)
            .packets_by_cause(Cause::Retransmission)
    });
    assert!(again.iter().sum::<u64>() > 5, "the link loses some: {again:?}");
    for way in Direction::ALL {
        assert_eq!(totals.unattributed_bytes(way), 0);
    }
    assert_eq!(tally.totals(), [totals]);
}

#[test]
fn bare_streams_are_tallied_as_the_ledger_counts_them() {
    for bytes in [128, 20_000] {
        let payload = Content::from(vec![7; bytes].as_slice());
        let script = Exchanges::new(100, Duration::from_millis(500), move |_| {
            bare::ClientCommand::Send {
                message: 0,
                content: payload.clone(),
            }
        });
        let script = script.unanswered();
        let script = script.opened_by(|event| matches!(event, bare::ClientEvent::Opened));
        let transport = Transport::Stream;
        compare(
            transport,
            bare::Client::new(transport),
            script,
            bare::Server::new(transport),
        );
    }
}

#[test]
fn mqtt_is_tallied_as_the_ledger_counts_it() {
    let template = client::PublishTemplate::new("test", QoS::AtLeastOnce, [7; 128]);
    let template = Arc::new(template.expect("a message"));
    let script = Exchanges::new(200, Duration::from_millis(100), move |_| {
        client::Command::Publish(Arc::clone(&template))
    });
    let script = script.opened_by(|event| matches!(event, client::Event::Connected { .. }));
    let script = script.answered_by(|event| matches!(event, client::Event::Acknowledged { .. }));
    let broker = Broker::new(broker::Config::default());
    compare(
        Transport::Stream,
        client::Client::new(client::Config::default()),
        script,
        broker,
    );
}

#[test]
fn coap_is_tallied_as_the_ledger_counts_it() {
    let request = coap::Request::put("/test", vec![7; 128]);
    let template = Arc::new(coap::RequestTemplate::new(request).expect("a request that fits"));
    let script = Exchanges::new(200, Duration::from_secs(1), move |message| {
        coap::Command::Request {
            message,
            template: Arc::clone(&template),
        }
    });
    let script = script.opened_by(|event| matches!(event, coap::Event::Opened));
    let script =
        script.answered_by(|event| matches!(event, coap::Event::Response(_) | coap::Event::TimedOut { .. }));
    let server = Server::new(server::Config::new(Rng::new(2)));
    compare(
        Transport::Datagram,
        coap::Client::new(coap::Config::new(Rng::new(1))),
        script,
        server,
    );
}

#[test]
fn datagrams_to_a_closed_port_get_an_icmp_error() {
    for ipv6 in [false, true] {
        let mut devices = vec![device_on(0, Transport::Datagram, Talker::with(100, 1), ipv6)];
        devices[0].remote.set_port(9);
        let tap = (Recording::new(), Tally::new(|_| 0));
        let world = world(settings(), devices, OwnLinks::new(1, delay(5), 3), tap);
        let finished = world.run(end());
        assert_eq!(finished.devices[0].script.failures.len(), 1);
        let (recording, tally) = finished.tap;
        let totals = recording.totals_of(&finished.devices[0], &finished.flows, 9);
        assert_eq!(tally.totals(), [totals]);
    }
}
