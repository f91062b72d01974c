use std::time::Duration;

use super::*;
use crate::client::Command;
use crate::http3::tests::rig::{DELAY, Parts, get, post, reconnected};
use wirecost_proto::FlowId;
use wirecost_proto::path::FixedDelay;
use wirecost_security::Start;

/// An observer with the key log describes every byte like the ends.
#[test]
fn an_observer_with_the_keys_agrees_with_both_ends() {
    for start in [Start::Cold, Start::ZeroRtt] {
        let parts = Parts::new(start);
        let mut rig = reconnected(parts.pair(1, FixedDelay(DELAY)));
        rig.command(post(1, 5_000));
        rig.drive_for(Duration::from_secs(1));
        rig.command(get(2, "/test"));
        rig.drive_for(Duration::from_secs(1));
        rig.command(Command::Close);
        rig.drive_for(Duration::from_secs(1));
        let secrets = Secrets::parse(&parts.client.key_log.text());
        for flow in [FlowId(0), FlowId(1)] {
            let mut opener = Opener::new();
            for sent in rig.sent.iter().filter(|sent| sent.flow == flow) {
                let mut out = Buffer::new();
                let opened = opener.datagram(sent.direction, &sent.bytes, &secrets, &mut out);
                assert_eq!(out.spans(), sent.spans, "{opened:?}");
            }
        }
    }
}

#[test]
fn without_keys_only_initial_packets_are_opened() {
    let parts = Parts::new(Start::Cold);
    let mut rig = parts.pair(1, FixedDelay(DELAY));
    rig.open();
    rig.drive_for(Duration::from_secs(1));
    let mut opener = Opener::new();
    for sent in &rig.sent {
        let mut out = Buffer::new();
        let opened = opener.datagram(sent.direction, &sent.bytes, &Secrets::default(), &mut out);
        assert_eq!(out.covered(), sent.bytes.len() as u64);
        assert!(opened.iter().all(|packet| packet.kind == Type::Initial));
    }
}

/// RFC 9000 appendix A.3.
#[test]
fn packet_numbers_expand_next_to_the_largest() {
    assert_eq!(expand_number(0x9b32, 2, Some(0xa82f_30ea)), 0xa82f_9b32);
    assert_eq!(expand_number(0, 1, None), 0);
    assert_eq!(expand_number(0, 1, Some(255)), 256);
}
