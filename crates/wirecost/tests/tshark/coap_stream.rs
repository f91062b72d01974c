//! CoAP over TCP: application and payload bytes of each message against tshark's dissection.

use wirecost_results::summary::Bytes;

use super::common::Run;
use super::common::tshark::fields;

/// The payloads: without one, and with a length in the header's nibble, in one byte and in two (RFC 8323 section 3.2).
const SIZES: &str = "0B,1B,128B,1000B";

/// One message in a segment of its own.
struct Message {
    is_up: bool,
    code: u64,
    application: u64,
    payload: u64,
}

fn messages(run: &Run) -> Vec<Message> {
    let names = ["tcp.dstport", "coap.code", "tcp.len", "coap.payload_length"];
    let rows = fields(&run.file("capture/all.pcapng"), "tcp && coap", &names);
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    let message = |row: &Vec<String>| {
        let payload = number(&row[3]);
        Message {
            is_up: row[0] == "5683",
            code: number(&row[1]),
            application: number(&row[2]) - payload,
            payload,
        }
    };
    rows.iter().map(message).collect()
}

fn is(bytes: &Bytes, message: &Message) -> bool {
    let sums = [&bytes.application, &bytes.payload].map(|sum| (sum.min, sum.max));
    sums == [
        (message.application, message.application),
        (message.payload, message.payload),
    ]
}

#[test]
#[ignore = "needs root and tshark"]
fn messages_of_coap_over_tcp_are_as_tshark_sees_them() {
    let arguments = format!("coap-tcp -s {SIZES} -n 4 --settle 300ms");
    let run = Run::undisturbed(|| Run::compare(&arguments));
    let messages = messages(&run);
    let of = |code, is_up| {
        let mut messages = messages.iter();
        messages
            .by_ref()
            .filter(move |message| (message.code, message.is_up) == (code, is_up))
            .collect::<Vec<_>>()
    };
    // 7.01, 0.03, 2.04 and 7.04.
    let (csm, put, changed, release) = (225, 3, 68, 228);
    for cell in &run.summary.cells {
        let payload = cell.payload_bytes;
        let puts = of(put, true);
        let mut puts = puts
            .iter()
            .filter(|message| message.payload == payload)
            .peekable();
        assert!(puts.peek().is_some(), "{payload} B: no PUT");
        let section = cell.message.as_ref().expect("a message");
        assert!(puts.all(|put| is(&section.up, put)), "{payload} B up");
        assert!(
            of(changed, false)
                .iter()
                .all(|message| is(&section.down, message))
        );
        let connect = cell.connect.as_ref().expect("a connect");
        assert!(of(csm, true).iter().all(|message| is(&connect.up, message)));
        assert!(of(csm, false).iter().all(|message| is(&connect.down, message)));
        let close = cell.close.as_ref().expect("a close");
        assert!(of(release, true).iter().all(|message| is(&close.up, message)));
    }
    for (code, is_up) in [(csm, true), (csm, false), (changed, false), (release, true)] {
        assert!(!of(code, is_up).is_empty(), "code {code}");
    }
}
