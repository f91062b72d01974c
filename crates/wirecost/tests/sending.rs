//! How messages are handed to the network: in chunks, from a file, with Nagle's algorithm, behind segmentation offload.

mod common;

use common::tshark::fields;
use common::{Run, compared, open_folder, said, wirecost};
use wirecost_results::summary::{Cell, Section, Summary};

fn cell<'a>(summary: &'a Summary, stack: &str, engine: &str) -> &'a Cell {
    let mut cells = summary.cells.iter();
    cells
        .find(|cell| cell.stack == stack && cell.engine == engine)
        .unwrap_or_else(|| panic!("a cell of {stack} on {engine}"))
}

fn message<'a>(summary: &'a Summary, stack: &str, engine: &str) -> &'a Section {
    let cell = cell(summary, stack, engine);
    cell.message.as_ref().expect("messages")
}

const COMMON: &str = "-n 2 --rtt 20ms --messages-per-connection 1 -q --out run";

fn in_virtual_time(options: &str) -> Summary {
    let home = open_folder();
    std::fs::write(home.path().join("reading.bin"), vec![b'7'; 10_000]).expect("a file");
    let mut command = wirecost(home.path());
    command.args(["compare", "tcp,mqtt-qos0", "--engine", "sim"]);
    command.args(COMMON.split(' ')).args(options.split(' '));
    compared(&said(&mut command), &home.path().join("run"))
}

#[test]
fn a_chunk_is_a_segment_of_its_own() {
    let whole = in_virtual_time("-s 10kB");
    let chunks = in_virtual_time("-s 10kB --chunk 500B");
    for stack in ["tcp", "mqtt-qos0"] {
        let (whole, chunks) = (message(&whole, stack, "sim"), message(&chunks, stack, "sim"));
        assert_eq!(chunks.up.payload, whole.up.payload, "{stack}");
        // Ten leave at once; what is written while the window is full grows to whole segments.
        assert!(
            chunks.up.packets.min >= whole.up.packets.max + 5,
            "{stack}: {:?}",
            chunks.up.packets
        );
    }
}

#[test]
fn with_nagle_chunks_become_full_segments() {
    let chunks = in_virtual_time("-s 10kB --chunk 500B");
    let nagle = in_virtual_time("-s 10kB --chunk 500B --nagle");
    let (chunks, nagle) = (message(&chunks, "tcp", "sim"), message(&nagle, "tcp", "sim"));
    assert_eq!(nagle.up.payload, chunks.up.payload);
    assert!(nagle.up.packets.max + 3 <= chunks.up.packets.min);
}

#[test]
fn a_file_costs_what_random_bytes_cost() {
    let (file, random) = (
        in_virtual_time("--payload-file reading.bin"),
        in_virtual_time("-s 10kB"),
    );
    for stack in ["tcp", "mqtt-qos0"] {
        assert_eq!(cell(&file, stack, "sim").payload_bytes, 10_000);
        let (file, random) = (message(&file, stack, "sim"), message(&random, stack, "sim"));
        assert_eq!((&file.up, &file.down), (&random.up, &random.down), "{stack}");
    }
}

#[test]
#[ignore = "needs root"]
fn chunks_and_nagle_send_the_same_packets_on_kernel_sockets() {
    for options in ["--chunk 500B", "--chunk 500B --nagle", "--chunk 100B --nagle"] {
        let run = Run::undisturbed(|| {
            Run::compare(&format!(
                "tcp,mqtt-qos1 -s 2kB -n 4 --engine auto --rtt 40ms --messages-per-connection 1 --settle 300ms {options}"
            ))
        });
        for stack in ["tcp", "mqtt-qos1"] {
            let (sim, live) = (
                message(&run.summary, stack, "sim"),
                message(&run.summary, stack, "live"),
            );
            assert_eq!(sim.up.packets.mean, live.up.packets.mean, "{stack} {options}");
            assert_eq!(sim.up.wire.mean, live.up.wire.mean, "{stack} {options}");
        }
    }
}

const FIELDS_AND_BODY: &str = "--request-headers 60B --response-body 400B";

#[test]
#[ignore = "needs root and tshark"]
fn fields_and_bodies_of_http_are_the_same_on_kernel_sockets_and_to_tshark() {
    let run = |options: &str| {
        Run::undisturbed(|| {
            Run::compare(&format!(
                "http1,http3 -s 13B -n 2 --engine auto --rtt 20ms --settle 300ms {options}"
            ))
        })
    };
    let (plain, chatty) = (run("--seed 42"), run(FIELDS_AND_BODY));
    for stack in ["http1", "http3"] {
        let [sim, live] = ["sim", "live"].map(|engine| message(&chatty.summary, stack, engine));
        assert_eq!(sim.up.wire.mean, live.up.wire.mean, "{stack}");
        assert_eq!(sim.down.wire.mean, live.down.wire.mean, "{stack}");
    }
    let [before, after] = [&plain, &chatty].map(|run| message(&run.summary, "http1", "live"));
    assert_eq!(after.up.wire.mean - before.up.wire.mean, 60.0);
    // 204 becomes 200, and the body has its type and its length.
    let more = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 400\r\n\r\n".len() + 400
        - "HTTP/1.1 204 No Content\r\n\r\n".len();
    assert_eq!(after.down.wire.mean - before.down.wire.mean, more as f64);
    let capture = chatty.file("capture/all.pcapng");
    let agents = fields(&capture, "http.request", &["http.user_agent"]);
    assert!(
        !agents.is_empty()
            && agents
                .iter()
                .all(|row| row[0].len() == 60 - "User-Agent: \r\n".len())
    );
    let lengths = fields(&capture, "http.response", &["http.content_length"]);
    assert!(!lengths.is_empty() && lengths.iter().all(|row| row[0] == "400"));
}

#[test]
#[ignore = "needs root and tshark"]
fn a_reading_in_the_query_of_a_get_is_the_same_on_kernel_sockets_and_to_tshark() {
    let run = Run::undisturbed(|| {
        Run::compare("http1,http3 -s 13B -n 2 --engine auto --rtt 20ms --settle 300ms --reading-in-query")
    });
    for stack in ["http1", "http3"] {
        let [sim, live] = ["sim", "live"].map(|engine| message(&run.summary, stack, engine));
        assert_eq!(sim.up.wire.mean, live.up.wire.mean, "{stack}");
        assert_eq!(sim.down.wire.mean, live.down.wire.mean, "{stack}");
    }
    let capture = run.file("capture/all.pcapng");
    let requests = fields(
        &capture,
        "http.request",
        &["http.request.method", "http.request.uri"],
    );
    assert!(!requests.is_empty());
    for request in requests {
        let reading = request[1].strip_prefix("/test?reading=").expect("a reading");
        let encoded = 3 * reading.matches('%').count();
        let bytes = reading.matches('%').count() + reading.len() - encoded;
        assert_eq!((request[0].as_str(), bytes), ("GET", 13), "{reading}");
    }
    let answers = fields(&capture, "http.response", &["http.response.code"]);
    assert!(!answers.is_empty() && answers.iter().all(|row| row[0] == "204"));
}

/// TCP header bytes of connect, message and close of both devices.
fn header_bytes(cell: &Cell) -> u64 {
    let sections = [&cell.connect, &cell.message, &cell.close];
    let bytes = sections
        .into_iter()
        .flatten()
        .map(|section| section.up.transport.sum + section.down.transport.sum);
    bytes.sum()
}

#[test]
#[ignore = "needs root and tshark"]
fn header_bytes_equal_tsharks_with_and_without_offload() {
    let headers = |options: &str| {
        let run = Run::compare(&format!(
            "tcp -s 100kB -n 2 --rtt 2ms --link-rate 50Mbit --messages-per-connection 1 --settle 300ms {options}"
        ));
        let lengths = fields(&run.file("capture/all.pcapng"), "tcp", &["tcp.hdr_len"]);
        let seen: u64 = lengths
            .iter()
            .flatten()
            .map(|length| length.parse::<u64>().expect("a length"))
            .sum();
        let found = cell(&run.summary, "tcp", "live").clone();
        assert_eq!(header_bytes(&found), seen, "{options}");
        (seen, found)
    };
    let (on_the_wire, plain) = headers("--packet-path veth");
    let (behind, labelled) = headers("--offload");
    assert!(
        behind * 2 < on_the_wire,
        "{behind} B behind offload, {on_the_wire} B on the wire"
    );
    let is_label = |cell: &Cell| {
        let mut warnings = cell.warnings.iter();
        warnings.any(|warning| warning.text.starts_with("captured behind segmentation offload"))
    };
    assert!(is_label(&labelled) && !is_label(&plain));
}
