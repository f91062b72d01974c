//! Hosts that do nothing.

use std::cell::Cell;

use wirecost_proto::bare::{Client, ClientCommand, ClientEvent, Server, Transport};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Instant, ResetReason, Rng, Script};
use wirecost_sim::{Settings, World};

use super::script::Counting;
use super::{OnlyLink, device, service};
use crate::measure::held_bytes;

thread_local! {
    /// Bytes that were allocated when the last host looked.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// A host that connects and does nothing.
#[derive(Debug)]
pub(crate) struct Asleep {
    is_open: bool,
}

/// When every connection is open and every acknowledgement has come.
const QUIET: Instant = Instant::from_millis(10_000);

impl Script<Client> for Asleep {
    fn event(&mut self, _: ClientEvent, _: Instant) {}

    fn failed(&mut self, _: ResetReason, _: Instant) {}

    fn flushed(&mut self, _: Instant) {}

    fn next(&mut self, context: Context) -> Step<ClientCommand> {
        if !std::mem::replace(&mut self.is_open, true) {
            return Step::Connect;
        }
        if context.now >= QUIET {
            HELD.set(held_bytes());
        }
        Step::Wait((context.now < QUIET).then_some(QUIET))
    }
}

pub(crate) const TRANSPORTS: [(&str, Transport); 2] =
    [("datagrams", Transport::Datagram), ("streams", Transport::Stream)];

/// Bytes that a host needs before it has connected, and when it has.
pub(crate) fn memory(hosts: u32, transport: Transport) -> (i64, i64) {
    let before = held_bytes();
    let sleeper = |host| device(host, transport, Client::new(transport), Asleep { is_open: false });
    let settings = Settings {
        keeps_logs: false,
        ..Settings::linux(1_500, false, Rng::new(1))
    };
    let services = vec![service(transport, Server::new(transport))];
    let (devices, link) = ((0..hosts).map(sleeper).collect(), OnlyLink::new());
    let world = World::new(settings, devices, services, link, (), Counting::default());
    let asleep = held_bytes() - before;
    world.run(QUIET);
    let hosts = i64::from(hosts);
    (asleep / hosts, (HELD.get() - before) / hosts)
}
