//! Hosts that do nothing.

use wirecost_proto::bare::{Client, ClientCommand, ClientEvent, Server, Transport};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Instant, ResetReason, Rng, Script};
use wirecost_sim::{Settings, World};

use super::script::Counting;
use super::{OnlyLink, device, service};

/// A host that has not connected.
#[derive(Debug)]
pub(crate) struct Asleep;

impl Script<Client> for Asleep {
    fn event(&mut self, _: ClientEvent, _: Instant) {}

    fn failed(&mut self, _: ResetReason, _: Instant) {}

    fn sent(&mut self, _: Instant) {}

    fn next(&mut self, _: Context) -> Step<ClientCommand> {
        Step::Wait(None)
    }
}

pub(crate) const TRANSPORTS: [(&str, Transport); 2] = [
    ("idle, datagrams", Transport::Datagram),
    ("idle, streams", Transport::Stream),
];

/// A world of so many hosts that have nothing open.
pub(crate) fn hosts(
    hosts: u32,
    transport: Transport,
) -> (World<Client, Asleep, Server, OnlyLink, (), Counting>, u32) {
    let devices = (0..hosts).map(|host| device(host, transport, Client::new(transport), Asleep));
    let settings = Settings::linux(1_500, false, Rng::new(1));
    let services = vec![service(transport, Server::new(transport))];
    let world = World::new(
        settings,
        devices.collect(),
        services,
        OnlyLink::new(),
        (),
        Counting::default(),
    );
    (world, hosts)
}
