//! Devices that send packets to one broker, and the packets that they receive, as text.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_mqtt::broker::{self, Broker, Event};
use wirecost_mqtt::codec::framing::LARGEST_PACKET;
use wirecost_mqtt::codec::{
    Acknowledgement, Connect, FiltersBuf, Framer, Packet, Properties, PropertiesBuf, Property, Publish,
    Reason, ReasonCode, Subscribe, SubscriptionOptions, Text, TopicsBuf, Unsubscribe, Version, Will,
};
use wirecost_mqtt::quality::{Delivery, PacketId, QoS};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer, ResetReason};

pub(crate) struct BrokerHarness {
    pub(crate) broker: Broker,
    pub(crate) events: Vec<Event>,
    now: Instant,
    versions: BTreeMap<FlowId, Version>,
    received: BTreeMap<FlowId, Vec<String>>,
}

pub(crate) fn text(text: &str) -> Text<'_> {
    Text::new(text).expect("a text")
}

pub(crate) fn id(id: u16) -> PacketId {
    PacketId::new(id).expect("not 0")
}

pub(crate) fn properties<'a>(list: impl IntoIterator<Item = Property<'a>>) -> PropertiesBuf {
    let mut properties = PropertiesBuf::new();
    properties.extend(list);
    properties
}

/// A CONNECT of MQTT 5 with a clean start and without keep-alive.
pub(crate) fn hello(client_id: &str) -> Connect<'_> {
    Connect {
        version: Version::V5,
        clean_start: true,
        keep_alive: 0,
        properties: Properties::EMPTY,
        client_id: text(client_id),
        will: None,
        username: None,
        password: None,
    }
}

pub(crate) fn will(topic: &str) -> Will<'_> {
    Will {
        topic: text(topic),
        payload: wirecost_mqtt::codec::Binary::new(b"gone").expect("short"),
        qos: QoS::AtMostOnce,
        retain: false,
        properties: Properties::EMPTY,
    }
}

pub(crate) fn message<'a>(topic: &'a str, payload: &'a str) -> Publish<'a> {
    Publish {
        dup: false,
        delivery: Delivery::AtMostOnce,
        retain: false,
        topic: text(topic),
        properties: Properties::EMPTY,
        payload: payload.as_bytes(),
    }
}

impl BrokerHarness {
    pub(crate) fn new(config: broker::Config) -> Self {
        Self {
            broker: Broker::new(config),
            events: Vec::new(),
            now: Instant::START,
            versions: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    /// A broker with `publisher` on flow 0 and `subscriber` on flow 1.
    pub(crate) fn two() -> Self {
        let mut harness = Self::new(broker::Config::default());
        harness.join(0, "publisher");
        harness.join(1, "subscriber");
        harness
    }

    /// Opens `flow` and connects on it.
    pub(crate) fn connect(&mut self, flow: u32, connect: Connect<'_>) {
        let peer: Peer = "10.0.0.1:1".parse().expect("an address");
        self.versions.insert(FlowId(flow), connect.version);
        let flow_id = FlowId(flow);
        self.input(Input::Opened { flow: flow_id, peer });
        self.send(flow, Packet::Connect(connect));
    }

    /// Connects `client_id` with MQTT 5 and drops the CONNACK.
    pub(crate) fn join(&mut self, flow: u32, client_id: &str) {
        self.connect(flow, hello(client_id));
        self.received(flow);
    }

    pub(crate) fn send(&mut self, flow: u32, packet: Packet<'_>) {
        let flow = FlowId(flow);
        let mut out = Buffer::new();
        packet
            .emit(self.versions[&flow], &mut out)
            .expect("a packet that MQTT can frame");
        self.input(Input::Received {
            flow,
            bytes: out.bytes(),
        });
    }

    /// Sends the first `bytes` bytes of a packet.
    pub(crate) fn begin(&mut self, flow: u32, packet: Packet<'_>, bytes: usize) {
        let flow = FlowId(flow);
        let mut out = Buffer::new();
        packet
            .emit(self.versions[&flow], &mut out)
            .expect("a packet that MQTT can frame");
        let bytes = &out.bytes()[..bytes];
        self.input(Input::Received { flow, bytes });
    }

    pub(crate) fn publish(&mut self, flow: u32, publish: Publish<'_>) {
        self.send(flow, Packet::Publish(publish));
    }

    /// Subscribes and drops the SUBACK, but not the retained messages after it.
    pub(crate) fn subscribe(&mut self, flow: u32, filter: &str, options: SubscriptionOptions) {
        self.subscribe_with(flow, filter, options, Properties::EMPTY);
        let received = self.received.entry(FlowId(flow)).or_default();
        received.retain(|line| !line.starts_with("suback"));
    }

    pub(crate) fn subscribe_with(
        &mut self,
        flow: u32,
        filter: &str,
        options: SubscriptionOptions,
        properties: Properties<'_>,
    ) {
        let mut filters = FiltersBuf::default();
        filters.push(text(filter), options).expect("a filter");
        let subscribe = Subscribe {
            packet_id: id(1),
            properties,
            filters: filters.as_filters(),
        };
        self.send(flow, Packet::Subscribe(subscribe));
    }

    pub(crate) fn unsubscribe(&mut self, flow: u32, filter: &str) {
        let mut topics = TopicsBuf::default();
        topics.push(text(filter)).expect("a filter");
        let unsubscribe = Unsubscribe {
            packet_id: id(1),
            properties: Properties::EMPTY,
            topics: topics.as_topics(),
        };
        self.send(flow, Packet::Unsubscribe(unsubscribe));
    }

    pub(crate) fn acknowledge(&mut self, flow: u32, packet_id: u16) {
        let puback = Acknowledgement::new(id(packet_id), ReasonCode::Success);
        self.send(flow, Packet::Puback(puback));
    }

    pub(crate) fn leave(&mut self, flow: u32, reason: ReasonCode) {
        self.send(flow, Packet::Disconnect(Reason::new(reason)));
    }

    /// Breaks a flow.
    pub(crate) fn lose(&mut self, flow: u32) {
        let (flow, reason) = (FlowId(flow), ResetReason::ByPeer);
        self.input(Input::Reset { flow, reason });
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        self.wait_for(Duration::from_secs(seconds));
    }

    pub(crate) fn wait_for(&mut self, duration: Duration) {
        self.now += duration;
        self.input(Input::Timeout);
    }

    pub(crate) fn command(&mut self, command: broker::Command) {
        self.input(Input::Command(command));
    }

    /// The packets on `flow` since the last call.
    pub(crate) fn received(&mut self, flow: u32) -> Vec<String> {
        self.received.remove(&FlowId(flow)).unwrap_or_default()
    }

    /// Tells the broker that the transport of `flow` is full, or has room again.
    pub(crate) fn congest(&mut self, flow: u32, is_congested: bool) {
        let flow = FlowId(flow);
        self.input(match is_congested {
            true => Input::Congested { flow },
            false => Input::Writable { flow },
        });
    }

    fn input(&mut self, input: Input<'_, broker::Command>) {
        self.broker
            .handle_input(input, self.now)
            .expect("the broker does not fail");
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.broker.poll_output(&mut out) {
                Output::Transmit { flow } => self.record(flow, out.bytes()),
                Output::Close { flow, .. } => self.received.entry(flow).or_default().push("close".into()),
                Output::Event(event) => self.events.push(event),
                Output::Consumed { .. } => {}
                Output::Timeout(_) => return,
            }
        }
    }

    fn record(&mut self, flow: FlowId, mut bytes: &[u8]) {
        let mut framer = Framer::new(LARGEST_PACKET);
        while let Some(frame) = framer.next(&mut bytes).expect("a good packet") {
            let packet = Packet::decode(frame, self.versions[&flow]).expect("a good packet");
            self.received.entry(flow).or_default().push(describe(&packet));
        }
    }
}

fn describe(packet: &Packet<'_>) -> String {
    match packet {
        Packet::Publish(publish) => published(publish),
        Packet::Connack(connack) => {
            let session = if connack.session_present { " session" } else { "" };
            format!(
                "connack {:#04x}{session}{}",
                connack.reason.code(),
                listed(connack.properties)
            )
        }
        Packet::Puback(one) | Packet::Pubrec(one) | Packet::Pubrel(one) | Packet::Pubcomp(one) => {
            let name = format!("{:?}", packet.packet_type()).to_lowercase();
            format!("{name} {} {:#04x}", one.packet_id, one.reason.code())
        }
        Packet::Suback(outcomes) => format!("suback {:02x?}", outcomes.codes),
        Packet::Unsuback(outcomes) => format!("unsuback {:02x?}", outcomes.codes),
        Packet::Disconnect(reason) => format!("disconnect {:#04x}", reason.code.code()),
        other => format!("{:?}", other.packet_type()).to_lowercase(),
    }
}

fn published(publish: &Publish<'_>) -> String {
    let payload = String::from_utf8_lossy(publish.payload);
    let delivery = match publish.delivery {
        Delivery::AtMostOnce => String::new(),
        Delivery::AtLeastOnce(id) => format!(" qos1 {id}"),
        Delivery::ExactlyOnce(id) => format!(" qos2 {id}"),
    };
    let dup = if publish.dup { " dup" } else { "" };
    let retain = if publish.retain { " retain" } else { "" };
    format!(
        "{}={payload}{delivery}{dup}{retain}{}",
        publish.topic,
        listed(publish.properties)
    )
}

fn listed(properties: Properties<'_>) -> String {
    properties
        .iter()
        .map(|property| format!(" {property:?}"))
        .collect()
}
