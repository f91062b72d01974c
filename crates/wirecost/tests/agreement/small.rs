//! Connect, 1 B, 128 B and 10 kB, close, without loss.

use crate::rerun::differing;
use crate::trace::Trace;
use crate::traces::{Cpus, SETTLE, simulated};

/// Not 25 ms: QUIC's acknowledgments wait as long (RFC 9000 section 18.2, max_ack_delay), so that one of them and the
/// next packet would come at the same time. And no multiple of the 10 ms between the starts of two devices, lest one's
/// packets hold up the other's.
const LINK: &str = "--rtt 31ms";
const SIZES: &str = "--size 1B,128B,10kB";

/// Compares every repeat of every cell with virtual time.
fn hold(stacks: &str) {
    let arguments = format!("{stacks} {SIZES} {LINK} -n 5 {SETTLE} --record-hosts 1000");
    // If the machine delays the sender of a burst by more than a millisecond, the reader acts in between, which is
    // another exchange.
    let differing = differing(
        &arguments,
        Cpus::One,
        &simulated(&arguments, Cpus::One),
        difference,
    );
    assert!(differing.is_empty(), "no run agrees: {:?}", differing.keys());
}

/// The fault in the repeats of a cell, with the first packet that differs.
fn difference(cell: &str, live: &[Trace], simulated: &[Trace]) -> Option<String> {
    let expected = simulated.first().expect("a simulated device");
    let apart = simulated.iter().find_map(|trace| trace.difference(expected));
    if let Some(text) = apart {
        return Some(format!("{cell}: two simulated devices differ: {text}"));
    }
    let differences: Vec<String> = live
        .iter()
        .filter_map(|trace| trace.difference(expected))
        .collect();
    let first = differences.first()?;
    let (count, of) = (differences.len(), live.len());
    Some(format!(
        "{cell}: {count} of {of} repeats differ; the first: {first}"
    ))
}

#[test]
#[ignore = "needs root"]
fn datagrams_without_protection() {
    hold("udp,udp+cose,coap-non,coap-con,coap-con+oscore,coap-con+cose");
}

#[test]
#[ignore = "needs root"]
fn datagrams_over_dtls() {
    hold("udp+dtls1.3,coap-non+dtls1.2,coap-con+dtls1.3,coap-con+dtls1.2");
    hold("coap-con+dtls1.2-psk,udp+dtls1.2-cid --start cold,resumed");
}

#[test]
#[ignore = "needs root"]
fn quic() {
    hold("http3 --start cold,resumed,0rtt");
}

#[test]
#[ignore = "needs root"]
fn tcp_without_protection() {
    hold("tcp,mqtt-qos0,mqtt-qos1,mqtt-qos2");
    hold("mqtt5-qos0,mqtt5-qos1,mqtt5-qos2,mqtt-qos1+cose");
    hold("http1,amqp-settled,amqp-unsettled");
    hold("coap-tcp,coap-tcp+cose");
}

#[test]
#[ignore = "needs root"]
fn tcp_with_tls() {
    hold("tcp+tls1.3,mqtt-qos1+tls1.3 --start cold,resumed,0rtt");
    hold("http1+tls1.3,amqp-unsettled+tls1.3 --start cold,resumed,0rtt");
    hold("coap-tcp+tls1.3 --start cold,resumed,0rtt");
    hold("tcp+tls1.2,mqtt5-qos1+tls1.2,http1+tls1.2,amqp-settled+tls1.2");
}
