//! Ladders: the names of packets.

use wirecost_cost::{DeviceLedger, Ports};
use wirecost_proto::{Buffer, Cause, Direction, Layer, Phase, Span};
use wirecost_stack::Stack;
use wirecost_stack::label::Labeller;
use wirecost_stack::name::DEFAULT;

/// A packet of any stack has a name. The first byte chooses the stack; the rest is the packet. Returns whether the
/// packet's protocol has a better name than its number.
pub fn label(bytes: &[u8]) -> bool {
    let Some((choice, packet)) = bytes.split_first() else {
        return false;
    };
    let stack: Stack = DEFAULT[usize::from(*choice) % DEFAULT.len()]
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
