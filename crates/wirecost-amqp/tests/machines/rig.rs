//! A client, a container and 10 ms each way between them.

use std::sync::Arc;
use std::time::Duration;

use wirecost_amqp::client::{self, Client, Command, MessageTemplate};
use wirecost_amqp::container::{self, Container};
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::{FIRST_FLOW, Pair, Sent};
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase};

pub(crate) const ONE_WAY: Duration = Duration::from_millis(10);

pub(crate) type Rig = Pair<Client, Container, FixedDelay>;

pub(crate) fn rig(client: client::Config, container: container::Config) -> Rig {
    let (client, container) = (Client::new(client), Container::new(container));
    Pair::new(Transport::Stream, client, container, FixedDelay(ONE_WAY))
}

/// A rig whose client has credit.
pub(crate) fn open(client: client::Config, container: container::Config) -> Rig {
    let mut rig = rig(client, container);
    rig.open();
    rig.drive_for(Duration::from_secs(1));
    assert_eq!(events(&rig), [client::Event::Opened]);
    rig
}

pub(crate) fn send(message: u64, payload: &[u8]) -> Command {
    Command::Send {
        message,
        template: Arc::new(MessageTemplate::new(payload)),
    }
}

pub(crate) fn events(rig: &Rig) -> Vec<client::Event> {
    rig.client_events.iter().map(|(_, event)| event.clone()).collect()
}

/// The client's events but for those that report a message as sent.
pub(crate) fn events_but_sent(rig: &Rig) -> Vec<client::Event> {
    let mut events = events(rig);
    events.retain(|event| !matches!(event, client::Event::Sent { .. }));
    events
}

pub(crate) fn server_events(rig: &Rig) -> Vec<container::Event> {
    rig.server_events.iter().map(|(_, event)| event.clone()).collect()
}

/// Bytes sent in one direction since `since`, of one layer, phase and cause.
pub(crate) fn bytes(rig: &Rig, direction: Direction, layer: Layer, phase: Phase, cause: Cause) -> u64 {
    let sent = rig.sent.iter().filter(|sent| sent.direction == direction);
    let spans = sent.flat_map(|sent: &Sent| &sent.spans);
    let kind = spans.filter(|span| (span.layer, span.phase, span.cause) == (layer, phase, cause));
    kind.map(|span| u64::from(span.len)).sum()
}

/// When the client reported `event` first.
pub(crate) fn when(rig: &Rig, event: &client::Event) -> Option<Instant> {
    let mut events = rig.client_events.iter();
    events.find(|(_, found)| found == event).map(|(at, _)| *at)
}

pub(crate) const FLOW: wirecost_proto::FlowId = FIRST_FLOW;
