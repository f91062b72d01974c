//! Ladders: the names of packets.

use wirecost_cost::{DeviceLedger, Ports};
use wirecost_proto::{Buffer, Cause, Direction, Layer, Phase, Span};
use wirecost_stack::Stack;
use wirecost_stack::label::Labeller;

/// One stack for each kind of label. The seeds choose by position, so that a new one goes to the end.
const LABELLED: [&str; 11] = [
    "tcp",
    "udp",
    "mqtt-qos0",
    "mqtt-qos1",
    "mqtt-qos2",
    "mqtt5-qos1",
    "coap-non",
    "coap-con",
    "amqp-unsettled",
    "http1",
    "http3",
];

/// A packet of any stack has a name. The first byte chooses the stack; the rest is the packet. Returns whether the
/// packet's protocol has a better name than its number.
pub fn label(bytes: &[u8]) -> bool {
    let Some((choice, packet)) = bytes.split_first() else {
        return false;
    };
    let stack: Stack = LABELLED[usize::from(*choice) % LABELLED.len()]
        .parse()
        .expect("a stack");
    let mut spans = Buffer::new();
    ledger().packet(Direction::Up, packet, &mut spans);
    let name = Labeller::new(stack).label(Direction::Up, packet, spans.spans());
    assert!(name.len() < 80 + packet.len() * 16, "{name}");
    !name.is_empty() && name != "not IP" && !name.starts_with("protocol")
}

/// A ledger that knows a stream of application bytes.
fn ledger() -> DeviceLedger {
    let mut ledger = DeviceLedger::with_describer(wirecost_coap::describe);
    let flow = Ports {
        client: 40_000,
        server: 1_883,
    };
    let said = Span {
        len: 60_000,
        layer: Layer::Application,
        phase: Phase::Message,
        cause: Cause::Original,
    };
    ledger.stream_spans(flow, Direction::Up, &[said]);
    ledger
}
