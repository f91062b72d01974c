//! An address translator that forgets mappings, on the emulated link.

mod common;

use common::Run;
use common::tshark::{fields, fields_with};

const BEHIND_NAT: &str = "-n 3 --size 48B --rtt 100ms --interval 3s --messages-per-connection 5 --settle 500ms \
                          --keep-alive 0s --nat-timeout udp=1500ms,tcp=1500ms --engine auto";

#[test]
#[ignore = "needs root"]
fn both_engines_reconnect_behind_a_nat_alike() {
    let run = Run::compare(&format!(
        "mqtt-qos1,coap-con,http1,http3,amqp-unsettled {BEHIND_NAT}"
    ));
    for cell in &run.summary.cells {
        let told = (&cell.stack, &cell.engine, &cell.outcomes, &cell.warnings);
        assert!(cell.valid && cell.outcomes.add_up(), "{told:?}");
        assert_eq!(cell.outcomes.failed, 0, "{told:?}");
        let agreement = cell.agreement.as_ref();
        // The first request leaves with the end of the handshake. Which ACK of QUIC is in its datagram follows from when threads wake.
        let is_exact = cell.stack != "http3";
        assert!(
            !is_exact || agreement.is_none_or(|agreement| agreement.equal),
            "{told:?} {agreement:?}"
        );
        let connects = cell.connect.as_ref().map(|connect| connect.samples);
        let expected = match cell.stack.as_str() {
            "coap-con" => None,
            "http3" => Some(3),
            // Each later request meets the RST, and is sent again on a new connection.
            "http1" => Some(15),
            _ => Some(9),
        };
        assert_eq!(connects, expected, "{told:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn both_engines_live_alike_behind_a_nat_that_gives_another_port() {
    let stacks =
        "coap-con,coap-con+oscore,coap-con+dtls1.2-cid,coap-con+dtls1.2-psk,coap-con+dtls1.3,mqttsn-qos1";
    let run = Run::compare(&format!("{stacks} {BEHIND_NAT} --nat new-port"));
    for cell in &run.summary.cells {
        let told = (&cell.stack, &cell.engine, &cell.outcomes, &cell.warnings);
        assert!(cell.valid && cell.outcomes.add_up(), "{told:?}");
        assert_eq!(cell.outcomes.acknowledged, 15, "{told:?}");
        let agreement = cell.agreement.as_ref();
        assert!(
            agreement.is_none_or(|agreement| agreement.equal),
            "{told:?} {agreement:?}"
        );
        // With a connection ID (that of QUIC too), or without a session, the device goes on from the other port.
        let connects = cell.connect.as_ref().map_or(3, |connect| connect.samples);
        let is_known_by_port = matches!(
            cell.stack.as_str(),
            "coap-con+dtls1.2-psk" | "coap-con+dtls1.3" | "mqttsn-qos1"
        );
        assert_eq!(connects, if is_known_by_port { 15 } else { 3 }, "{told:?}");
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn a_capture_shows_the_devices_ports_and_right_checksums() {
    let run = Run::compare(&format!("mqtt-qos1 {BEHIND_NAT}"));
    let capture = run.file("capture/all.pcapng");
    // Each device meets two resets: after its first and its third measured message.
    let resets = fields(&capture, "tcp.flags.reset == 1", &["tcp.srcport", "tcp.dstport"]);
    assert_eq!(resets.len(), 6, "{resets:?}");
    for reset in &resets {
        assert_eq!(reset[0], "1883");
        let own: u16 = reset[1].parse().expect("a port");
        assert!(own < 61_000, "the port that the server sees: {own}");
    }
    let checks = ["tcp.check_checksum:TRUE".to_owned()];
    let wrong = fields_with(&capture, "tcp.checksum.status != 1", &["frame.number"], &checks);
    assert!(wrong.is_empty(), "{wrong:?}");
}
