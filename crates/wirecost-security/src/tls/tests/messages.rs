use std::sync::Arc;

use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self as mqtt, Command, PublishTemplate};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::pair::FIRST_FLOW;

use super::*;

fn established(versions: Versions) -> BarePair {
    let mut pair = bare_pair(client_options(versions), server_options());
    pair.open();
    settle(&mut pair);
    pair.sent.clear();
    pair
}

#[test]
fn a_message_is_one_record_plus_the_suites_overhead() {
    // Header, explicit nonce, content type, tag: RFC 8446 section 5.2, RFC 5288 section 3.
    for (versions, overhead) in [(Versions::Tls13, 5 + 1 + 16), (Versions::Tls12, 5 + 8 + 16)] {
        let mut pair = established(versions);
        pair.command(send(&[7; 128]));
        settle(&mut pair);
        let sent = &pair.sent[..];
        assert_eq!(sent.len(), 1);
        assert_eq!(bytes_of(sent, |span| span.layer == Layer::Security), overhead);
        assert_eq!(bytes_of(sent, |span| span.layer == Layer::Application), 4);
        assert_eq!(bytes_of(sent, |span| span.layer == Layer::Payload), 128);
        assert_eq!(bytes_of(sent, |span| span.phase != Phase::Message), 0);
        assert_eq!(messages(&pair).len(), 1);
    }
}

#[test]
fn a_long_message_is_many_records() {
    for versions in [Versions::Tls13, Versions::Tls12] {
        let mut pair = established(versions);
        pair.command(send(&[7; 100_000]));
        settle(&mut pair);
        assert_eq!(
            messages(&pair).iter().map(|(_, len)| *len).collect::<Vec<_>>(),
            [100_000]
        );
        let bytes: Vec<u8> = pair.sent.iter().flat_map(|sent| sent.bytes.clone()).collect();
        let records = record::records(&bytes).count() as u64;
        assert_eq!(records, 7);
        let security = bytes_of(&pair.sent, |span| span.layer == Layer::Security);
        let each = if versions == Versions::Tls13 { 22 } else { 29 };
        assert_eq!(security, records * each);
    }
}

#[test]
fn records_may_arrive_byte_by_byte() {
    use wirecost_proto::{Buffer, Endpoint, Input, Output};
    let mut pair = established(Versions::Tls13);
    let mut out = Buffer::new();
    pair.client
        .handle_input(Input::Command(send(&[7; 10])), pair.now)
        .expect("it goes on");
    assert_eq!(
        pair.client.poll_output(&mut out),
        Output::Transmit { flow: FIRST_FLOW }
    );
    let (mut consumed, mut arrived) = (Buffer::new(), 0);
    for byte in out.bytes() {
        let bytes = std::slice::from_ref(byte);
        let received = Input::Received {
            flow: FIRST_FLOW,
            bytes,
        };
        pair.server.handle_input(received, pair.now).expect("it goes on");
        loop {
            match pair.server.poll_output(&mut consumed) {
                Output::Timeout(_) => break,
                Output::Event(_) => arrived += 1,
                _ => {}
            }
        }
    }
    assert_eq!(arrived, 1);
    assert_eq!(consumed.spans(), out.spans());
}

#[test]
fn closing_sends_a_close_notify_each_way() {
    for (versions, bytes) in [(Versions::Tls13, 24), (Versions::Tls12, 31)] {
        let mut pair = established(versions);
        pair.command(ClientCommand::Close);
        settle(&mut pair);
        let closed = Event::Inner(bare::ClientEvent::Closed);
        let closes = pair.client_events.iter().filter(|(_, event)| *event == closed);
        assert_eq!(closes.count(), 1, "the inner endpoint is told once");
        let close = |span: &Span| (span.layer, span.phase) == (Layer::Security, Phase::Close);
        assert_eq!(bytes_of(&pair.sent, close), 2 * bytes);
        assert_eq!(bytes_of(&pair.sent, |_| true), 2 * bytes);
        assert_eq!(client_faults(&pair), []);
        assert_eq!(server_faults(&pair), []);
    }
}

#[test]
fn data_sent_with_the_close_still_arrives() {
    let mut pair = established(Versions::Tls13);
    pair.command(send(&[1; 3]));
    pair.command(ClientCommand::Close);
    settle(&mut pair);
    assert_eq!(messages(&pair).len(), 1);
}

#[test]
fn mqtt_inside_tls_has_the_same_spans_at_both_ends() {
    for versions in [Versions::Tls13, Versions::Tls12] {
        for qos in QoS::ALL {
            let inner = mqtt::Client::new(mqtt::Config::default());
            let broker = Broker::new(broker::Config::default());
            let client = client(client_options(versions), inner);
            let server = server(server_options(), broker);
            let mut pair = Pair::new(Transport::Stream, client, server, FixedDelay(DELAY));
            pair.open();
            pair.drive_for(Duration::from_secs(1));
            let template = PublishTemplate::new("test", qos, [7u8; 128]).expect("a message");
            pair.command(Command::Publish(Arc::new(template)));
            pair.drive_for(Duration::from_secs(1));
            assert_eq!(pair.unconsumed(), 0);
            let published = pair
                .server_events
                .iter()
                .filter(|(_, event)| matches!(event, Event::Inner(broker::Event::Published { .. })));
            assert_eq!(published.count(), 1);
            let acknowledgements = bytes_of(&pair.sent, |span| {
                span.layer == Layer::Security && span.cause == Cause::Acknowledgement
            });
            // The record of an acknowledgement has the cause acknowledgement too.
            let expected = [0, 1, 3][qos as usize];
            let each = if versions == Versions::Tls13 { 22 } else { 29 };
            assert_eq!(acknowledgements, expected * each, "{qos:?}");
        }
    }
}
