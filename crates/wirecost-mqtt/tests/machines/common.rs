//! A client and a broker in virtual time, and a raw flow for invalid bytes.

use std::sync::Arc;
use std::time::Duration;

use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self, Client, Command, Event, PublishTemplate};
use wirecost_mqtt::codec::{SubscriptionOptions, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::Pair;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer};

pub(crate) type TestPair = Pair<Client, Broker, FixedDelay>;

pub(crate) const DELAY: Duration = Duration::from_millis(5);

/// A connected pair.
pub(crate) fn connected(client: client::Config, broker: broker::Config) -> TestPair {
    let mut pair = unconnected(client, broker);
    pair.open();
    pair.drive_for(Duration::from_millis(100));
    pair
}

pub(crate) fn unconnected(client: client::Config, broker: broker::Config) -> TestPair {
    let (client, broker) = (Client::new(client), Broker::new(broker));
    Pair::new(Transport::Stream, client, broker, FixedDelay(DELAY))
}

pub(crate) fn of_version(version: Version) -> client::Config {
    client::Config {
        version,
        ..client::Config::default()
    }
}

pub(crate) fn template(topic: &str, qos: QoS, payload: &[u8]) -> Arc<PublishTemplate> {
    Arc::new(PublishTemplate::new(topic, qos, payload).expect("a valid message"))
}

pub(crate) fn publish(topic: &str, qos: QoS, payload: &[u8]) -> Command {
    Command::Publish(template(topic, qos, payload))
}

pub(crate) fn subscribe(filter: &str, qos: QoS) -> Command {
    Command::subscribe(filter, SubscriptionOptions::of_qos(qos)).expect("a valid filter")
}

/// The events of the client, without their times.
pub(crate) fn events(pair: &TestPair) -> Vec<&Event> {
    pair.client_events.iter().map(|(_, event)| event).collect()
}

/// The payloads of the received messages.
pub(crate) fn received(pair: &TestPair) -> Vec<Vec<u8>> {
    let messages = pair.client_events.iter().filter_map(|(_, event)| match event {
        Event::MessageReceived(message) => Some(message.payload.clone()),
        _ => None,
    });
    messages.collect()
}

/// A broker whose clients are the test.
pub(crate) struct Raw {
    pub(crate) broker: Broker,
    pub(crate) now: Instant,
    pub(crate) events: Vec<broker::Event>,
}

/// The result of an input on one flow: the sent bytes, and whether the flow was closed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) closed: bool,
}

impl Raw {
    pub(crate) fn new(config: broker::Config) -> Self {
        Self {
            broker: Broker::new(config),
            now: Instant::START,
            events: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, flow: u32) {
        let peer: Peer = "10.0.0.1:1".parse().expect("an address");
        let flow = FlowId(flow);
        self.input(Input::Opened { flow, peer }, flow);
    }

    /// Sends `bytes` on `flow`. Returns the answer on the same flow.
    pub(crate) fn send(&mut self, flow: u32, bytes: &[u8]) -> Answer {
        let flow = FlowId(flow);
        self.input(Input::Received { flow, bytes }, flow)
    }

    /// Lets time pass. Returns the packets on `flow`.
    pub(crate) fn wait(&mut self, flow: u32, duration: Duration) -> Answer {
        self.now += duration;
        self.input(Input::Timeout, FlowId(flow))
    }

    pub(crate) fn input(&mut self, input: Input<'_, broker::Command>, flow: FlowId) -> Answer {
        self.broker
            .handle_input(input, self.now)
            .expect("the broker does not fail");
        let mut answer = Answer::default();
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.broker.poll_output(&mut out) {
                Output::Transmit { flow: to } if to == flow => answer.bytes.extend_from_slice(out.bytes()),
                Output::Close { flow: to, .. } if to == flow => answer.closed = true,
                Output::Event(event) => self.events.push(event),
                Output::Timeout(_) => return answer,
                _ => {}
            }
        }
    }
}

/// Bytes from hex digits; white space is ignored.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).expect("hex"));
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("hex"))
        .collect()
}
