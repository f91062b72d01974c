//! Messages that carry readings of a sensor: their bytes, and what messages say about them.

mod common;

use std::collections::BTreeSet;

use common::tshark::fields;
use common::{Run, compared, open_folder, said, wirecost};
use wirecost_results::Summary;

/// A comparison in virtual time, in `folder`/run.
fn simulated(folder: &std::path::Path, arguments: &str) -> Summary {
    let mut command = wirecost(folder);
    command
        .args(["compare", "--engine", "sim", "-n", "1", "-q", "--out", "run"])
        .args(arguments.split(' '));
    compared(&said(&mut command), &folder.join("run"))
}

#[test]
fn batches_and_compression_are_dimensions_with_a_border() {
    let home = open_folder();
    let summary = simulated(home.path(), "mqtt-qos1 --readings 1,10 --compression none,gzip");
    let cells = summary.cells.iter().map(|cell| {
        let readings = cell.readings.as_ref().expect("readings");
        (
            readings.count,
            readings.compression.as_str(),
            cell.payload_bytes,
            readings.saves_from,
        )
    });
    let cells: Vec<_> = cells.collect();
    let [one, one_gzip, ten, ten_gzip] = cells[..] else {
        panic!("{cells:?}");
    };
    assert_eq!((one.0, one.1, one.3), (1, "none", None));
    assert_eq!((ten_gzip.0, ten_gzip.1), (10, "gzip"));
    // Below the border compression adds bytes, from it on it saves some.
    assert_eq!(one_gzip.3, Some(2));
    assert!(one_gzip.2 > one.2 && ten_gzip.2 < ten.2, "{cells:?}");
    let markdown = std::fs::read_to_string(home.path().join("run/summary.md")).expect("a file");
    assert!(markdown.contains("gzip of json makes the payload smaller from 2 readings per message on"));
    assert!(markdown.contains("B/reading"), "{markdown}");
}

#[test]
fn an_interval_says_how_long_the_first_reading_waits() {
    let home = open_folder();
    let summary = simulated(
        home.path(),
        "udp --readings 10 --interval 60s --messages-per-connection 2",
    );
    let readings = summary.cells[0].readings.as_ref().expect("readings");
    assert_eq!(readings.first_waits_ns, Some(54_000_000_000));
    assert_eq!(readings.compression_cpu_ns, None);
}

#[test]
#[ignore = "needs tshark"]
fn tshark_reads_the_type_and_the_coding_of_readings() {
    let home = open_folder();
    let arguments = "http1,coap-con,mqtt5-qos1 --encoding senml-cbor --compression none,gzip";
    simulated(home.path(), arguments);
    let capture = home.path().join("run/capture/sim.pcapng");
    let distinct = |filter: &str, names: &[&str]| -> BTreeSet<String> {
        let rows = fields(&capture, filter, names).into_iter();
        rows.map(|row| row.join(" ")).collect()
    };
    let both = |one: &str, other: &str| BTreeSet::from([one.to_owned(), other.to_owned()]);
    assert_eq!(
        distinct("http.request", &["http.content_type", "http.content_encoding"]),
        both("application/senml+cbor ", "application/senml+cbor gzip")
    );
    assert_eq!(
        distinct("coap.code == 3", &["coap.opt.ctype"]),
        both("application/senml+cbor", "application/octet-stream")
    );
    assert_eq!(
        distinct("mqtt.msgtype == 3", &["mqtt.property.content_type"]),
        both("application/senml+cbor", "application/gzip")
    );
}

#[test]
#[ignore = "needs root"]
fn both_engines_send_the_same_bytes_of_readings() {
    let run = Run::undisturbed(|| {
        Run::compare("coap-con,mqtt5-qos1,http1 --readings 5 --compression gzip,zstd -n 2 --engine auto")
    });
    for cell in run.summary.cells.iter().filter(|cell| cell.engine == "live") {
        let agreement = cell.agreement.as_ref().expect("both engines");
        assert!(
            agreement.equal,
            "{}: {:?}",
            cell.stack, agreement.first_difference
        );
        let readings = cell.readings.as_ref().expect("readings");
        assert!(
            readings.compression_cpu_ns.is_some_and(|nanos| nanos > 0),
            "{}",
            cell.stack
        );
    }
}
