//! Runs of secure stacks against tshark: it decrypts the capture by the keys in it, and its fields give the bytes of
//! every layer by phase and direction. The summary must say the same, to the byte.

#[path = "../common/mod.rs"]
mod common;

mod books;
mod datagram;
mod dtls13;
mod quic;
mod stream;

use common::Run;
use common::frames::{Connection, Frame, frames, frames_with, measured};

use books::{Books, check, keep, name};
use dtls13::Keys;

#[test]
#[ignore = "needs root and tshark"]
fn tls_1_3_costs_what_tshark_sees() {
    let stacks = "mqtt-qos1+tls1.3,mqtt5-qos2+tls1.3,amqp-unsettled+tls1.3,http1+tls1.3,tcp+tls1.3";
    tls(&format!("{stacks} --start cold,resumed,0rtt -s 128B,10kB"));
}

#[test]
#[ignore = "needs root and tshark"]
fn a_pipelined_connect_costs_what_tshark_sees() {
    tls("mqtt-qos1+tls1.3,mqtt5-qos0+tls1.3 --start cold,resumed -s 128B,10kB --pipelined-connect");
    tls("amqp-unsettled+tls1.3 --start cold,resumed,0rtt -s 128B,10kB --pipelined-connect");
}

#[test]
#[ignore = "needs root and tshark"]
fn tls_1_2_costs_what_tshark_sees() {
    let stacks = "mqtt-qos0+tls1.2,mqtt-qos1+tls1.2,amqp-settled+tls1.2,http1+tls1.2,tcp+tls1.2";
    tls(&format!("{stacks} --start cold,resumed -s 128B,10kB"));
}

#[test]
#[ignore = "needs root and tshark"]
fn quic_costs_what_tshark_sees() {
    hold(
        "http3 --start cold,resumed,0rtt -s 128B,10kB",
        &quic::FIELDS,
        quic::books,
    );
}

#[test]
#[ignore = "needs root and tshark"]
fn dtls_1_2_costs_what_tshark_sees() {
    let stacks = "coap-con+dtls1.2,coap-non+dtls1.2,udp+dtls1.2,coap-con+dtls1.2-psk,udp+dtls1.2-psk";
    hold(&format!("{stacks} -s 128B"), &datagram::FIELDS, datagram::dtls);
    hold(
        "coap-con+dtls1.2,coap-con+dtls1.2-psk,coap-con+dtls1.2-cid -s 10kB",
        &datagram::FIELDS,
        datagram::dtls,
    );
}

/// tshark decrypts records with a connection ID by the construction of RFC 9146 section 5.3.
#[test]
#[ignore = "needs root and tshark"]
fn sessions_and_ids_cost_what_tshark_sees() {
    let stacks = "coap-con+dtls1.2-psk,coap-con+dtls1.2-cid,coap-non+dtls1.2-cid,udp+dtls1.2-cid";
    for more in ["", "--ipv6", "--dtls-cookie", "--mtu 600B"] {
        let arguments = format!("{stacks} --start cold,resumed -s 128B {more}");
        hold(arguments.trim(), &datagram::FIELDS, datagram::dtls);
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn dtls_1_3_costs_match_an_independent_opener() {
    dtls_1_3("coap-con+dtls1.3,coap-non+dtls1.3,udp+dtls1.3 -s 128B,1000B");
    dtls_1_3("coap-con+dtls1.3,udp+dtls1.3 --dtls-cookie --ipv6");
}

#[test]
#[ignore = "needs root and tshark"]
fn oscore_costs_what_tshark_sees() {
    let stacks = "coap-con+oscore,coap-non+oscore -s 1B,128B,1000B";
    let run = Run::compare(&format!("{stacks} -n 2 --settle 300ms"));
    let file = run.file("capture/oscore_contexts");
    let contexts = std::fs::read_to_string(file).expect("the contexts of the devices");
    let preferences = contexts.lines().map(|line| format!("uat:oscore_contexts:{line}"));
    let preferences: Vec<String> = preferences.collect();
    let frames = frames_with(
        &run.file("capture/all.pcapng"),
        &datagram::OSCORE_FIELDS,
        &preferences,
    );
    hold_frames(&run, frames, datagram::oscore);
}

/// Settle is longer than the third retransmission time-out here, so that a message has settled when the next begins.
#[test]
#[ignore = "needs root and tshark"]
fn tls_costs_what_tshark_sees_under_loss() {
    let stacks = "mqtt-qos1+tls1.3,mqtt-qos2+tls1.2,amqp-unsettled+tls1.3,http1+tls1.3";
    run_of(
        &format!("{stacks} -s 128B,10kB -n 4 --settle 1s --loss 5%"),
        &stream::FIELDS,
        stream::books,
    );
}

#[test]
#[ignore = "needs root and tshark"]
fn dtls_1_2_costs_what_tshark_sees_under_loss() {
    run_of(
        "coap-con+dtls1.2,coap-con+dtls1.2-psk,coap-con+dtls1.2-cid --loss 5% -n 8 --settle 3s",
        &datagram::FIELDS,
        datagram::dtls,
    );
}

#[test]
#[ignore = "needs root and tshark"]
fn quic_costs_what_tshark_sees_under_loss() {
    run_of(
        "http3 -s 128B,10kB -n 6 --settle 1s --loss 5%",
        &quic::FIELDS,
        quic::books,
    );
}

/// No warm-up message then, and HTTP says so to its server.
#[test]
#[ignore = "needs root and tshark"]
fn a_connection_per_message_costs_what_tshark_sees() {
    let every = "--start cold,resumed,0rtt --messages-per-connection 1";
    tls(&format!(
        "mqtt-qos1+tls1.3,http1+tls1.3,amqp-unsettled+tls1.3 {every}"
    ));
    hold(&format!("http3 {every}"), &quic::FIELDS, quic::books);
}

#[test]
#[ignore = "needs root and tshark"]
fn certificates_of_devices_cost_what_tshark_sees() {
    tls("mqtt-qos1+tls1.3,mqtt-qos1+tls1.2,http1+tls1.3 --client-certificates");
    hold("http3 --client-certificates", &quic::FIELDS, quic::books);
    hold(
        "coap-con+dtls1.2 --client-certificates",
        &datagram::FIELDS,
        datagram::dtls,
    );
    dtls_1_3("coap-con+dtls1.3 --client-certificates");
}

/// Path MTU of 600 bytes: records cross segments, and flights of a handshake cross datagrams.
#[test]
#[ignore = "needs root and tshark"]
fn secure_packets_fit_a_small_mtu() {
    let stacks = "mqtt-qos1+tls1.3,mqtt-qos1+tls1.2,amqp-unsettled+tls1.3,http1+tls1.3";
    tls(&format!("{stacks} -s 128B,10kB --mtu 600B"));
    let stacks = "coap-con+dtls1.2,udp+dtls1.2-psk";
    hold(&format!("{stacks} --mtu 600B"), &datagram::FIELDS, datagram::dtls);
    dtls_1_3("coap-con+dtls1.3 --mtu 600B");
}

#[test]
#[ignore = "needs root and tshark"]
fn secure_stacks_cost_what_tshark_sees_over_ipv6() {
    tls("mqtt-qos1+tls1.3,amqp-unsettled+tls1.3,http1+tls1.3,tcp+tls1.3 --start cold,0rtt --ipv6");
    hold("http3 --start cold,0rtt --ipv6", &quic::FIELDS, quic::books);
    hold(
        "coap-con+dtls1.2,coap-con+dtls1.2-psk --ipv6",
        &datagram::FIELDS,
        datagram::dtls,
    );
}

fn dtls_1_3(arguments: &str) {
    let run = Run::compare(&format!("{arguments} -n 2 --settle 300ms"));
    let keys = Keys::from_capture(&run.file("capture/all.pcapng"));
    hold_run(&run, &dtls13::FIELDS, |connection| keys.books(connection));
}

fn tls(arguments: &str) {
    hold(arguments, &stream::FIELDS, stream::books);
}

/// Runs a comparison and holds every cell against the books that are kept from `fields`.
fn hold(arguments: &str, fields: &[&'static str], books_of: fn(&Connection) -> Books) {
    run_of(&format!("{arguments} -n 2 --settle 300ms"), fields, books_of);
}

fn run_of(arguments: &str, fields: &[&'static str], books_of: fn(&Connection) -> Books) {
    let run = Run::compare(arguments);
    hold_run(&run, fields, books_of);
}

fn hold_run(run: &Run, fields: &[&'static str], books_of: impl Fn(&Connection) -> Books) {
    hold_frames(run, frames(&run.file("capture/all.pcapng"), fields), books_of);
}

fn hold_frames(run: &Run, frames: Vec<Frame>, books_of: impl Fn(&Connection) -> Books) {
    let connections = measured(frames);
    let mtu = run.summary.cells[0].link.up.mtu_bytes;
    let mut packets = connections.iter().flat_map(|connection| &connection.frames);
    assert!(packets.all(|frame| frame.packet.wire_bytes <= mtu));
    let cells = keep(&connections, books_of);
    assert_eq!(cells.len(), run.summary.cells.len(), "{:?}", cells.keys());
    for cell in &run.summary.cells {
        let devices = cells.get(&name(cell));
        check(
            cell,
            devices.unwrap_or_else(|| panic!("{} is not in the capture", name(cell))),
        );
    }
}
