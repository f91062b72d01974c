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

pub(crate) type TestPair = Pair<Client, Container, FixedDelay>;

pub(crate) fn pair(client: client::Config, container: container::Config) -> TestPair {
    let (client, container) = (Client::new(client), Container::new(container));
    Pair::new(Transport::Stream, client, container, FixedDelay(ONE_WAY))
}

/// A pair whose client has credit.
pub(crate) fn open(client: client::Config, container: container::Config) -> TestPair {
    let mut pair = pair(client, container);
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(events(&pair), [client::Event::Opened]);
    pair
}

pub(crate) fn send(message: u64, payload: &[u8]) -> Command {
    Command::Send {
        message,
        template: Arc::new(MessageTemplate::new(payload)),
    }
}

pub(crate) fn events(pair: &TestPair) -> Vec<client::Event> {
    pair.client_events
        .iter()
        .map(|(_, event)| event.clone())
        .collect()
}

/// The client's events, without those that report a message as sent.
pub(crate) fn events_but_sent(pair: &TestPair) -> Vec<client::Event> {
    let mut events = events(pair);
    events.retain(|event| !matches!(event, client::Event::Sent { .. }));
    events
}

pub(crate) fn server_events(pair: &TestPair) -> Vec<container::Event> {
    pair.server_events
        .iter()
        .map(|(_, event)| event.clone())
        .collect()
}

/// The bytes sent in one direction, of one layer, phase and cause.
pub(crate) fn bytes(pair: &TestPair, direction: Direction, layer: Layer, phase: Phase, cause: Cause) -> u64 {
    let sent = pair.sent.iter().filter(|sent| sent.direction == direction);
    let spans = sent.flat_map(|sent: &Sent| &sent.spans);
    let kind = spans.filter(|span| (span.layer, span.phase, span.cause) == (layer, phase, cause));
    kind.map(|span| u64::from(span.len)).sum()
}

/// When the client first reported `event`.
pub(crate) fn when(pair: &TestPair, event: &client::Event) -> Option<Instant> {
    let mut events = pair.client_events.iter();
    events.find(|(_, found)| found == event).map(|(at, _)| *at)
}

pub(crate) const FLOW: wirecost_proto::FlowId = FIRST_FLOW;
