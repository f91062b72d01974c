//! Secure channels on a link that loses packets: each message has one outcome, what is reliable arrives, and the two
//! ends and the capture agree about every byte.

mod common;

use wirecost_results::Environment;
use wirecost_results::summary::{Bytes, Cell};

use common::tshark::{Body, packets};
use common::{Run, open_folder, said, summary_in, wirecost};

const SAMPLES: u64 = 10;

#[test]
#[ignore = "needs root and tshark"]
fn tls_delivers_everything_under_loss() {
    let run = lossy("mqtt-qos1+tls1.3,mqtt-qos2+tls1.2,amqp-unsettled+tls1.3,http1+tls1.3,tcp+tls1.3");
    check_reliable(&run, |_| true);
}

#[test]
#[ignore = "needs root and tshark"]
fn resumed_and_early_tls_deliver_everything_under_loss() {
    let run = lossy("mqtt-qos1+tls1.3,http1+tls1.3 --start resumed,0rtt");
    check_reliable(&run, |_| true);
}

#[test]
#[ignore = "needs root and tshark"]
fn quic_delivers_everything_under_loss() {
    let run = lossy("http3 --start cold,resumed,0rtt -s 128B,10kB");
    check_reliable(&run, |_| true);
}

#[test]
#[ignore = "needs root and tshark"]
fn dtls_and_oscore_deliver_confirmables_under_loss() {
    let run = lossy(
        "coap-con+dtls1.3,coap-con+dtls1.2,coap-con+dtls1.2-psk,coap-con+oscore,udp+dtls1.3,coap-non+dtls1.2",
    );
    check_reliable(&run, |cell| cell.stack.starts_with("coap-con"));
}

#[test]
#[ignore = "needs root"]
fn quic_needs_an_mtu_that_carries_its_datagrams() {
    let run = Run::compare("http3,coap-con -n 2 --settle 200ms --mtu 600B");
    let [http3, coap] = run.summary.cells.as_slice() else {
        panic!("two cells");
    };
    let why = http3.not_run.as_deref().expect("a reason");
    assert!(why.contains("RFC 9000, section 14"), "{why}");
    assert!(coap.valid && coap.all_arrived());
}

#[test]
#[ignore = "needs root"]
fn quic_is_attributed_on_a_link_beyond_its_first_time_out() {
    // What is sent again before the first answer can have come arrives when the keys for it are discarded.
    let run = Run::compare("http3 --start cold,resumed,0rtt -n 3 --rtt 1s,3s --engine sim");
    assert_eq!(run.summary.cells.len(), 6);
    for cell in &run.summary.cells {
        let place = format!("{} {:?}", cell.start, cell.link.up);
        assert!(cell.valid && cell.all_arrived(), "{place}: {:?}", cell.warnings);
        let connect = cell.connect.as_ref().expect("a connect");
        let again = connect
            .by_cause
            .get("retransmission")
            .expect("something sent again");
        assert!(again.up + again.down > 0.0, "{place}");
    }
}

#[test]
fn packets_after_a_close_cause_no_disagreement() {
    // The container and the server's TLS lose patience before the device's next bytes can have come.
    let home = open_folder();
    let arguments = "compare --out run -q amqp-settled,mqtt-qos1+tls1.3 -n 2 --rtt 10s --engine sim";
    let said = said(wirecost(home.path()).args(arguments.split(' ')));
    assert_eq!(said.code, Some(13), "{}", said.stderr);
    for cell in &summary_in(&home.path().join("run")).cells {
        assert_eq!(
            cell.outcomes.acknowledged + cell.outcomes.delivered,
            0,
            "{}",
            cell.stack
        );
        let other = cell
            .warnings
            .iter()
            .find(|warning| warning.invalidates && warning.kind.name() != "no-samples");
        assert_eq!(other, None, "{}", cell.stack);
    }
}

fn lossy(arguments: &str) -> Run {
    let run = Run::compare(&format!("{arguments} -n {SAMPLES} --settle 1s --loss 5%"));
    check(&run);
    run
}

fn check(run: &Run) {
    for cell in &run.summary.cells {
        let place = format!("{} {}", cell.stack, cell.start);
        assert_eq!(cell.not_run, None, "{place}");
        assert!(cell.outcomes.add_up(), "{place}: {:?}", cell.outcomes);
        assert_eq!(cell.outcomes.offered, SAMPLES, "{place}");
        // Nothing but chance may be said of these figures: no byte without a layer, no two opinions.
        let kinds = cell.warnings.iter().map(|warning| warning.kind.name());
        let of_bytes: Vec<&str> = kinds
            .filter(|kind| ["unattributed-bytes", "spans-disagree"].contains(kind))
            .collect();
        assert!(of_bytes.is_empty(), "{place}: {:?}", cell.warnings);
        for section in [&cell.connect, &cell.message, &cell.close].into_iter().flatten() {
            check_sums(&place, &section.up);
            check_sums(&place, &section.down);
        }
    }
    let text = std::fs::read_to_string(run.file("env.json")).expect("env.json");
    let environment: Environment = serde_json::from_str(&text).expect("an environment");
    assert_eq!(environment.unattributed_packets, 0);
    check_losses(run);
}

fn check_sums(place: &str, bytes: &Bytes) {
    let layers = [
        bytes.ip,
        bytes.transport,
        bytes.security,
        bytes.application,
        bytes.payload,
    ];
    let sum: u64 = layers.iter().map(|layer| layer.sum).sum();
    assert_eq!(sum, bytes.wire.sum, "{place}: the layers and the whole");
}

/// What is sent again until it arrives has arrived.
fn check_reliable(run: &Run, is_reliable: fn(&Cell) -> bool) {
    for cell in run.summary.cells.iter().filter(|cell| is_reliable(cell)) {
        assert!(
            cell.all_arrived(),
            "{} {}: {:?}",
            cell.stack,
            cell.start,
            cell.outcomes
        );
    }
}

/// The link did lose packets, or the test shows nothing.
fn check_losses(run: &Run) {
    let packets = packets(&run.file("capture/all.pcapng"));
    let is_lost = |body: &Body, comment: &str| !body.is_icmp() && comment.ends_with("| lost");
    let lost = packets
        .iter()
        .filter(|packet| is_lost(&packet.body, &packet.comment));
    assert!(lost.count() > 0, "nothing was lost: choose another seed");
}
