//! Connect, 1 B, 128 B and 10 kB, close, without loss.

use crate::traces::{Repeats, both};

/// Not 25 ms: QUIC's acknowledgments wait as long (RFC 9000 section 18.2, max_ack_delay), so that one of them and the
/// next packet would come at the same time.
const LINK: &str = "--rtt 20ms";
const SIZES: &str = "--size 1B,128B,10kB";

/// Holds every repeat of every cell against virtual time.
fn hold(stacks: &str, repeats: Repeats) {
    let arguments = format!("{stacks} {SIZES} {LINK} -n 5 --record-hosts 1000");
    let (live, simulated) = both(&arguments);
    assert_eq!(
        live.keys().collect::<Vec<_>>(),
        simulated.keys().collect::<Vec<_>>(),
        "both engines run the same cells"
    );
    let differences: Vec<String> = live
        .iter()
        .filter_map(|(cell, live)| repeats.difference(cell, live, &simulated[cell]))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn datagrams_without_protection() {
    hold("udp,udp+cose,coap-non,coap-con,coap-con+oscore,coap-con+cose", Repeats::All);
}

#[test]
fn datagrams_over_dtls() {
    hold(
        "udp+dtls1.3,coap-non+dtls1.2,coap-con+dtls1.3,coap-con+dtls1.2,coap-con+dtls1.2-psk",
        Repeats::All,
    );
}

#[test]
fn quic() {
    hold("http3 --start cold,resumed,0rtt", Repeats::All);
}

#[test]
fn tcp_without_protection() {
    hold("tcp,mqtt-qos0,mqtt-qos1,mqtt-qos2", Repeats::All);
    hold("mqtt5-qos0,mqtt5-qos1,mqtt5-qos2,mqtt-qos1+cose", Repeats::All);
    hold("http1,amqp-settled,amqp-unsettled", Repeats::All);
}

#[test]
fn tcp_with_tls() {
    hold("tcp+tls1.3,mqtt-qos1+tls1.3 --start cold,resumed,0rtt", Repeats::All);
    hold("http1+tls1.3,amqp-unsettled+tls1.3 --start cold,resumed,0rtt", Repeats::All);
    hold("tcp+tls1.2,mqtt5-qos1+tls1.2,http1+tls1.2,amqp-settled+tls1.2", Repeats::All);
}
