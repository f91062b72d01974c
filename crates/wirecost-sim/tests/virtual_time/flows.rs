//! Flows one after the other, several services, and endings other than a proper close.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use crate::common::{Arrivals, OwnLinks, PORT, Talker, delay, device, end, service, settings};
use wirecost_proto::bare::{Client, ClientCommand, ClientEvent, Transport};
use wirecost_proto::director::Scripts;
use wirecost_proto::driver::{Device, Service, ServiceObserver};
use wirecost_proto::hosts::{device_address, server_address};
use wirecost_proto::record::Record;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{
    Buffer, Cause, Content, Direction, Endpoint, FlowId, Input, Instant, Layer, Output, Phase, ResetReason,
    Rng, Script,
};
use wirecost_sim::{Recording, Settings, World};
use wirecost_wire::tcp::Flags;
use wirecost_wire::{ip, tcp};

/// Opens a flow, sends a message and closes; again and again.
#[derive(Debug)]
struct Returning {
    steps: Vec<Step<ClientCommand>>,
    wait: Option<Instant>,
    opened: u32,
}

impl Returning {
    fn new(times: usize) -> Self {
        let message = || {
            Step::Command(ClientCommand::Send {
                message: 0,
                content: Content::from([7; 100].as_slice()),
            })
        };
        let close = || Step::Command(ClientCommand::Close);
        let time = || {
            [
                Step::Wait(None),
                close(),
                Step::Wait(None),
                message(),
                Step::Wait(None),
                Step::Connect,
            ]
        };
        Self {
            steps: (0..times).flat_map(|_| time()).collect(),
            wait: None,
            opened: 0,
        }
    }
}

impl Script<Client> for Returning {
    fn event(&mut self, event: ClientEvent, _: Instant) {
        self.opened += u32::from(event == ClientEvent::Opened);
    }

    fn failed(&mut self, reason: ResetReason, _: Instant) {
        panic!("{reason}");
    }

    fn flushed(&mut self, _: Instant) {}

    fn next(&mut self, context: Context) -> Step<ClientCommand> {
        let second = context.now + Duration::from_secs(1);
        match self.wait {
            Some(until) if context.now < until => return Step::Wait(Some(until)),
            _ => self.wait = None,
        }
        match self.steps.pop() {
            Some(Step::Wait(_)) => {
                self.wait = Some(second);
                Step::Wait(Some(second))
            }
            Some(step) => step,
            None => Step::Finished,
        }
    }
}

#[test]
fn each_flow_of_a_device_has_a_port_and_a_log_of_its_own() {
    for transport in [Transport::Stream, Transport::Datagram] {
        let talker = device(0, transport, Talker::default());
        let device = Device {
            host: 0,
            local: talker.local,
            remote: talker.remote,
            transport,
            endpoint: Client::new(transport),
            script: Returning::new(5),
        };
        let links = OwnLinks::new(1, delay(10), 1);
        let services = vec![service(transport, false)];
        let world = World::new(settings(), vec![device], services, links, (), Arrivals::default());
        let finished = world.run(end());
        let report = &finished.devices[0];
        assert_eq!((report.finished, report.script.opened), (true, 5));
        let mut ports: Vec<u16> = report.logs.iter().map(|(local, _)| local.port()).collect();
        let mut servers: Vec<u16> = finished.flows.iter().map(|(_, flow)| flow.peer.port()).collect();
        ports.sort_unstable();
        servers.sort_unstable();
        ports.dedup();
        assert_eq!((ports.len(), &ports), (5, &servers));
        for (local, log) in &report.logs {
            let flow = finished.flows.iter().find(|(_, flow)| flow.peer == *local);
            assert_eq!(flow.map(|(_, flow)| &flow.log.up), Some(&log.up));
        }
    }
}

#[test]
fn port_and_transport_identify_a_service() {
    let mut devices: Vec<_> = (0..3)
        .map(|host| device(host, Transport::Datagram, Talker::with(100, 1)))
        .collect();
    devices[1].remote.set_port(PORT + 1);
    devices[2] = device(2, Transport::Stream, Talker::with(100, 1));
    let mut services = vec![
        service(Transport::Datagram, false),
        service(Transport::Datagram, false),
        service(Transport::Stream, false),
    ];
    services[1].address.set_port(PORT + 1);
    let links = OwnLinks::new(3, delay(10), 1);
    let finished = World::new(settings(), devices, services, links, (), Arrivals::default()).run(end());
    let mut flows: Vec<(usize, u16)> = finished
        .flows
        .iter()
        .map(|(port, flow)| (flow.service, *port))
        .collect();
    flows.sort_unstable();
    assert_eq!(flows, [(0, PORT), (1, PORT + 1), (2, PORT)]);
    assert_eq!(finished.observer.0.len(), 3);
}

/// What a server does with each flow.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Says much and closes.
    Talks(usize),
    /// Resets.
    Resets,
    /// Ends, with all its flows.
    Ends,
}

#[derive(Debug)]
struct Rude {
    manner: Manner,
    flow: Option<FlowId>,
    said: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("ended by {0}")]
struct Ended(FlowId);

impl Endpoint for Rude {
    type Command = Infallible;
    type Event = Infallible;
    type Error = Ended;

    fn handle_input(&mut self, input: Input<'_, Infallible>, _: Instant) -> Result<(), Ended> {
        if let Input::Received { flow, .. } = input {
            if self.manner == Manner::Ends {
                return Err(Ended(flow));
            }
            self.flow.get_or_insert(flow);
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Infallible> {
        let Some(flow) = self.flow else {
            return Output::Timeout(None);
        };
        match self.manner {
            Manner::Talks(bytes) if !std::mem::replace(&mut self.said, true) => {
                let bytes = vec![1; bytes];
                out.push(&bytes, Layer::Application, Phase::Message, Cause::Original);
                return Output::Transmit { flow };
            }
            _ => self.flow = None,
        }
        Output::Close {
            flow,
            reset: self.manner == Manner::Resets,
        }
    }
}

/// Nobody takes events that there are none of.
struct Nobody;

impl ServiceObserver<Rude> for Nobody {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: Infallible, _: Instant) {
        match event {}
    }
}

fn rude_world(
    manner: Manner,
    talker: Talker,
) -> World<Client, Scripts<Talker>, Rude, OwnLinks, Recording, Nobody> {
    let service = Service {
        address: SocketAddr::new(server_address(false), PORT),
        transport: Transport::Stream,
        endpoint: Rude {
            manner,
            flow: None,
            said: false,
        },
    };
    let device = device(0, Transport::Stream, talker);
    assert_eq!(Some(device.local.ip()), device_address(0, false));
    let settings = Settings::linux(1_500, false, Rng::new(1));
    let links = OwnLinks::new(1, delay(10), 1);
    World::new(
        settings,
        vec![device],
        vec![service],
        links,
        Recording::new(),
        Nobody,
    )
}

/// Flags of the packets of one direction.
fn flags(records: &[Record], direction: Direction) -> Vec<Flags> {
    let packets = records.iter().filter_map(|record| match record {
        Record::Packet(packet) if packet.direction == direction => Some(packet),
        _ => None,
    });
    let flags = |bytes: &[u8]| {
        let packet = ip::Packet::new(bytes).expect("an IP packet");
        tcp::Segment::new(packet.payload()).expect("a segment").flags()
    };
    packets.map(|packet| flags(&packet.bytes)).collect()
}

#[test]
fn bytes_of_a_server_are_read_before_its_close() {
    let finished = rude_world(Manner::Talks(500_000), Talker::with(100, 1)).run(end());
    let report = &finished.devices[0];
    assert!(report.script.closed.is_some());
    let flow = &finished.flows[0].1;
    assert_eq!(flow.log.down.bytes, 500_000);
    let resets = flags(finished.tap.records(), Direction::Down);
    assert!(!resets.iter().any(|flags| flags.contains(Flags::RST)));
}

#[test]
fn a_server_reset_is_reported_once() {
    // The device closes later than it is reset: a FIN would be answered by another one.
    let talker = Talker {
        interval: Duration::from_secs(1),
        ..Talker::with(100, 1)
    };
    let finished = rude_world(Manner::Resets, talker).run(end());
    assert_eq!(finished.devices[0].script.failures, [ResetReason::ByPeer]);
    let flags = flags(finished.tap.records(), Direction::Down);
    assert_eq!(flags.iter().filter(|flags| flags.contains(Flags::RST)).count(), 1);
    assert_eq!(finished.flows.len(), 1);
}

#[test]
fn a_service_that_ends_is_reported_and_answers_no_more() {
    let talker = Talker {
        lingers: Duration::from_secs(1),
        ..Talker::with(100, 1)
    };
    let finished = rude_world(Manner::Ends, talker).run(end());
    assert_eq!(finished.service_errors, [(0, "ended by flow 0".into())]);
    assert!(finished.devices[0].finished);
}

#[test]
fn a_finished_device_with_unread_bytes_resets() {
    let talker = Talker {
        lingers: Duration::from_millis(11),
        ..Talker::with(100, 1)
    };
    // The first bytes of the answer arrive 20 ms after the message, the device leaves 21 ms after it: megabytes follow.
    let finished = rude_world(Manner::Talks(5_000_000), talker).run(end());
    assert!(finished.devices[0].finished);
    let up = flags(finished.tap.records(), Direction::Up);
    assert!(up.iter().any(|flags| flags.contains(Flags::RST)), "{up:?}");
}
