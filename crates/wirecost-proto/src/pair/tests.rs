//! Bare TCP and UDP between two endpoints.

use super::*;
use crate::Front;
use crate::bare::{Client, ClientCommand, ClientEvent, Server, ServerEvent};
use crate::path::FixedDelay;

fn opened(transport: Transport) -> Pair<Client, Server, FixedDelay> {
    let (client, server) = (Client::new(transport), Server::new(transport));
    let mut pair = Pair::new(transport, client, server, FixedDelay(Duration::from_millis(5)));
    pair.open();
    pair
}

#[test]
fn both_sides_describe_a_bare_tcp_message_alike() {
    let mut pair = opened(Transport::Stream);
    pair.command(ClientCommand::Send {
        message: 4,
        content: [7u8; 128].as_slice().into(),
    });
    pair.command(ClientCommand::Send {
        message: 5,
        content: [].as_slice().into(),
    });
    pair.drive_for(Duration::from_secs(1));
    let arrived = Instant::from_millis(5);
    let message = |payload: &[u8]| {
        (
            arrived,
            ServerEvent::Message {
                flow: FIRST_FLOW,
                payload_bytes: payload.len() as u64,
                front: Front::from_payload(payload),
            },
        )
    };
    assert_eq!(pair.server_events, [message(&[7; 128]), message(&[])]);
    let sent = |message| ClientEvent::Sent { message };
    let expected = [ClientEvent::Opened, sent(4), sent(5)];
    assert_eq!(pair.client_events, expected.map(|event| (Instant::START, event)));
    assert_eq!(pair.unconsumed(), 0);
    pair.command(ClientCommand::Close);
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(
        pair.client_events.last().map(|(_, event)| *event),
        Some(ClientEvent::Closed)
    );
}

#[test]
fn a_bare_udp_message_is_one_datagram() {
    let mut pair = opened(Transport::Datagram);
    pair.command(ClientCommand::Send {
        message: 0,
        content: [7u8; 128].as_slice().into(),
    });
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(pair.sent.len(), 1);
    assert_eq!(pair.sent[0].bytes.len(), 128);
    assert_eq!(pair.server_events.len(), 1);
}
