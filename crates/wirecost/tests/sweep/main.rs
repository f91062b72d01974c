//! Sweeps in virtual time: their cells, what is left of them when they end early, and how they go on.

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use wirecost_results::journal::{self, Entry};
use wirecost_results::{Cell, RunFolder, Summary};
use wirecost_wire::pcapng::{Block, Reader};

use common::{Said, ended, eventually, open_folder, said, signal, summary_in, wirecost};

/// A sweep of 60 cells that takes a while.
const SWEEP: &str = "compare udp,coap-con,mqtt-qos1 --engine sim -n 60 -q --jobs 1 \
                     --vary size=16B,128B,1kB,2kB,4kB --vary rtt=5ms,25ms --vary loss=0%,5%";

/// Starts a sweep into the folder `run`.
fn sweep(home: &Path, more: &[&str]) -> Child {
    let mut command = wirecost(home);
    command.args(SWEEP.split_whitespace()).args(more);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wirecost starts")
}

fn run(home: &Path, line: &str) -> Said {
    said(wirecost(home).args(line.split_whitespace()))
}

/// The cells as `summary.json` has them, to the byte.
fn cells(run: &Path) -> String {
    let text = std::fs::read_to_string(run.join("summary.json")).expect("summary.json");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    value["cells"].to_string()
}

fn keys(summary: &Summary) -> BTreeSet<String> {
    summary.cells.iter().map(|cell| cell.key.clone()).collect()
}

#[test]
fn a_cell_in_which_no_message_arrives_is_invalid() {
    for fleet in ["", " --shared-link --interval 1s --messages-per-connection 2"] {
        let home = open_folder();
        let line = "compare coap-con udp --engine sim -n 5 -q --vary loss=0%,100% --out run";
        let said = run(home.path(), &format!("{line}{fleet}"));
        assert_eq!(said.code, Some(13), "{}", said.stderr);
        assert!(said.stdout.contains("none was acknowledged"), "{}", said.stdout);
        let cells = summary_in(&home.path().join("run")).cells.into_iter();
        for cell in cells.filter(|cell| cell.not_run.is_none()) {
            let is_lossy = cell.link.up.loss > 0.0;
            let is_told = cell
                .warnings
                .iter()
                .any(|warning| warning.kind.name() == "no-samples");
            assert_eq!((cell.valid, is_told), (!is_lossy, is_lossy), "{}", cell.stack);
        }
    }
}

#[test]
fn a_cell_outside_the_measured_agreement_has_a_warning() {
    // Options, and the cells of them that say so: stack and payload in bytes.
    let table: [(&str, &[(&str, u64)]); 4] = [
        ("--vary size=128B,1MB", &[("tcp", 1_000_000)]),
        ("--vary size=128B,1MB --link-rate 100Mbit", &[]),
        (
            "--vary size=128B,20kB --link-rate 10Mbit --queue 3packets",
            &[("tcp", 20_000)],
        ),
        (
            "--vary size=128B,100kB --link-rate 10Mbit --reorder 8%",
            &[("http3", 100_000), ("tcp", 100_000)],
        ),
    ];
    for (options, told) in table {
        let home = open_folder();
        let line = format!("compare tcp http3 --engine sim -n 2 -q --out run {options}");
        let said = run(home.path(), &line);
        assert_eq!(said.code, Some(0), "{options}: {}", said.stderr);
        let sentence = "not as the kernel does";
        assert_eq!(
            said.stdout.contains(sentence),
            !told.is_empty(),
            "{options}: {}",
            said.stdout
        );
        let cells = summary_in(&home.path().join("run")).cells.into_iter();
        let mut differing: Vec<(String, u64)> = cells
            .filter(|cell| {
                cell.warnings
                    .iter()
                    .any(|warning| warning.kind.name() == "differs-from-kernel")
            })
            .inspect(|cell| assert!(cell.valid, "{options}: {}", cell.stack))
            .map(|cell| (cell.stack, cell.payload_bytes))
            .collect();
        differing.sort();
        let differing: Vec<(&str, u64)> = differing
            .iter()
            .map(|(stack, bytes)| (stack.as_str(), *bytes))
            .collect();
        assert_eq!(differing, told, "{options}");
    }
}

#[test]
fn a_mean_under_loss_needs_enough_delayed_messages() {
    let home = open_folder();
    let line = "compare coap-con udp --engine sim -q --vary loss=0%,0.01%,5% --out run";
    let said = run(home.path(), line);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for cell in summary_in(&home.path().join("run")).cells {
        let times = cell
            .message
            .and_then(|message| message.response_time_ns)
            .expect("times");
        let is_rare = cell.stack == "coap-con" && cell.link.up.loss == 0.0001;
        assert_eq!(times.ci95.is_none(), is_rare, "{} {times:?}", cell.stack);
        let is_marked = times.low_n.iter().any(|name| name == "mean");
        assert_eq!(is_marked, is_rare, "{} {times:?}", cell.stack);
        if cell.link.up.loss == 0.0 {
            assert_eq!(times.ci95, Some([times.mean; 2]));
        }
    }
}

#[test]
fn a_continued_sweep_has_the_same_cells() {
    let whole = open_folder();
    let done = ended(sweep(whole.path(), &["--out", "run"]));
    assert_eq!(done.code, Some(0), "{}", done.stderr);

    let home = open_folder();
    let child = sweep(home.path(), &["--out", "run"]);
    eventually("the first cell", || {
        std::fs::read_dir(home.path().join("run/cells")).is_ok_and(|cells| cells.count() > 4)
    });
    signal(child.id(), "INT");
    let stopped = ended(child);
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    let part = summary_in(&home.path().join("run"));
    assert!(part.interrupted);
    assert!((1..60).contains(&part.cells.len()), "{} cells", part.cells.len());
    let command = stopped.line("resume:  ").expect("how to go on");
    assert!(
        command.starts_with("wirecost compare ") && command.ends_with("--resume run"),
        "{command}"
    );

    let before = journal_keys(&home.path().join("run"));
    let line = command.trim_start_matches("wirecost ");
    let resumed = run(home.path(), line);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(cells(&home.path().join("run")), cells(&whole.path().join("run")));
    for file in ["samples.csv", "ladder.json", "capture/sim.pcapng"] {
        let of = |home: &Path| std::fs::read(home.join("run").join(file)).expect("a file");
        assert_eq!(of(home.path()), of(whole.path()), "{file}");
    }
    let after = journal_keys(&home.path().join("run"));
    assert_eq!(after.len(), 60, "no cell is run twice");
    assert_eq!(after[..before.len()], before);
}

/// The keys of the cells in the journal, in their order.
fn journal_keys(run: &Path) -> Vec<String> {
    let entries = journal::read(&RunFolder::open(run)).expect("a journal");
    entries
        .iter()
        .filter_map(Entry::finished_key)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_killed_sweep_can_continue() {
    let home = open_folder();
    let mut child = sweep(home.path(), &["--out", "run"]);
    eventually("the first cells", || {
        std::fs::read_dir(home.path().join("run/cells")).is_ok_and(|cells| cells.count() > 4)
    });
    signal(child.id(), "KILL");
    child.wait().expect("it ends");
    assert!(!home.path().join("run/summary.json").exists());
    let resumed = ended(sweep(home.path(), &["--resume", "--out", "run"]));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(summary_in(&home.path().join("run")).cells.len(), 60);
}

#[test]
fn another_question_is_not_gone_on_with_unless_it_is_asked_for() {
    let home = open_folder();
    let first = "compare udp,coap-con --engine sim -n 30 -q --vary size=16B,128B";
    assert_eq!(run(home.path(), &format!("{first} --out run")).code, Some(0));
    let more = "compare udp,coap-con --engine sim -n 30 -q --vary size=16B,128B,1kB";
    let refused = run(home.path(), &format!("{more} --resume run"));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_eq!(
        refused.line("error: "),
        Some("run holds another run: size now has 1kB"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--resume-changed"), "{}", refused.stderr);

    assert!(refused.stderr.contains(first), "{}", refused.stderr);

    let before = summary_in(&home.path().join("run"));
    let changed = run(home.path(), &format!("{more} --resume run --resume-changed"));
    assert_eq!(changed.code, Some(0), "{}", changed.stderr);
    let after = summary_in(&home.path().join("run"));
    assert!(keys(&after).is_superset(&keys(&before)));
    assert_eq!(
        journal_keys(&home.path().join("run")).len(),
        6,
        "4 cells, and 2 that were missing"
    );

    let fewer = "compare coap-con --engine sim -n 30 -q --vary size=128B,1kB";
    let changed = run(home.path(), &format!("{fewer} --resume run --resume-changed"));
    assert_eq!(changed.code, Some(0), "{}", changed.stderr);
    let distributions = std::fs::read_dir(home.path().join("run/latency")).expect("latency");
    let names: BTreeSet<_> = distributions
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let of_cell = |stem: &str| {
        let ends = [".hgrm", "-delay.hlog", "-response.hlog", "-service.hlog"];
        ends.map(|end| format!("{stem}{end}"))
    };
    let expected = ["000-coap-con-128B", "001-coap-con-1000B"]
        .iter()
        .flat_map(|stem| of_cell(stem));
    assert_eq!(
        names,
        BTreeSet::from_iter(expected),
        "none of cells that are not there"
    );
}

#[test]
fn a_run_that_lost_its_empty_folders_goes_on() {
    let home = open_folder();
    let line = "compare coap-con --engine sim -n 3 -q";
    assert_eq!(run(home.path(), &format!("{line} --out run")).code, Some(0));
    for folder in ["latency", "capture"] {
        std::fs::remove_dir_all(home.path().join("run").join(folder)).expect("removed");
    }
    let resumed = run(home.path(), &format!("{line} --resume run"));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(home.path().join("run/latency/000-coap-con-128B.hgrm").exists());
}

#[test]
fn a_folder_in_use_refuses_a_second_run() {
    let home = open_folder();
    let line = "compare coap-con --engine sim -n 3 -q";
    assert_eq!(run(home.path(), &format!("{line} --out run")).code, Some(0));
    let alone = RunFolder::open(&home.path().join("run"))
        .lock()
        .expect("nobody else");
    let second = run(home.path(), &format!("{line} --resume run"));
    assert_eq!(second.code, Some(2), "{}", second.stderr);
    assert_eq!(second.line("error: "), Some("another run is at work in run"));
    drop(alone);
    assert_eq!(run(home.path(), &format!("{line} --resume run")).code, Some(0));
}

#[test]
fn keys_name_the_question_and_not_its_place() {
    let home = open_folder();
    let few = run(home.path(), "compare coap-con --engine sim -n 30 -q --out few");
    let many = run(
        home.path(),
        "compare udp,coap-con --engine sim -n 30 -q --size 16B,128B --out many",
    );
    assert_eq!((few.code, many.code), (Some(0), Some(0)));
    let (few, many) = (
        summary_in(&home.path().join("few")),
        summary_in(&home.path().join("many")),
    );
    let same: Vec<_> = many
        .cells
        .iter()
        .filter(|cell| cell.key == few.cells[0].key)
        .collect();
    assert_eq!(same, [&few.cells[0]], "the same key, the same figures");
}

#[test]
fn threads_change_no_cell() {
    let home = open_folder();
    let line = "compare coap-con,mqtt-qos1 --engine sim -n 30 -q --loss 5% --size 16B,128B";
    for jobs in ["1", "2", "7"] {
        assert_eq!(
            run(home.path(), &format!("{line} -j {jobs} --out run{jobs}")).code,
            Some(0)
        );
    }
    let one = cells(&home.path().join("run1"));
    assert_eq!(one, cells(&home.path().join("run2")));
    assert_eq!(one, cells(&home.path().join("run7")));
}

#[test]
fn every_dimension_makes_cells() {
    let home = open_folder();
    let line = "compare --engine sim -n 2 -q --out run --vary stack=coap-con,mqtt-qos1 --vary interval=500ms,2s \
                --vary messages-per-connection=1,3 --vary mtu=600B,1500B --vary link-rate=1Mbit,10Mbit";
    assert_eq!(run(home.path(), line).code, Some(0));
    let summary = summary_in(&home.path().join("run"));
    assert_eq!(summary.cells.len(), 32);
    assert_eq!(keys(&summary).len(), 32);
    let of = |messages, interval_ns| {
        let cells = summary.cells.iter();
        cells
            .filter(|cell| (cell.messages_per_connection, cell.interval_ns) == (messages, Some(interval_ns)))
            .count()
    };
    assert_eq!(
        [
            of(1, 500_000_000),
            of(1, 2_000_000_000),
            of(3, 500_000_000),
            of(3, 2_000_000_000)
        ],
        [8; 4]
    );
    assert!(
        summary
            .cells
            .iter()
            .all(|cell| cell.outcomes.offered == 2 * cell.messages_per_connection)
    );
}

#[test]
fn a_sweeps_capture_begins_with_secrets_and_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = open_folder();
    let line = "compare mqtt-qos1+tls1.3,coap-con --engine sim -n 2 -q --out run";
    assert_eq!(run(home.path(), line).code, Some(0));
    let capture = home.path().join("run/capture/sim.pcapng");
    let mode = std::fs::metadata(&capture)
        .expect("a capture")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let file = std::fs::File::open(&capture).expect("readable");
    let blocks: Vec<Block> = Reader::new(file).map(|block| block.expect("a block")).collect();
    let first_packet = blocks.iter().position(|block| matches!(block, Block::Packet(_)));
    let last_secret = blocks
        .iter()
        .rposition(|block| matches!(block, Block::Secrets(_)));
    assert!(
        last_secret.is_some() && last_secret < first_packet,
        "{last_secret:?} {first_packet:?}"
    );
    let comments: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Packet(packet) => packet.comment.as_deref(),
            _ => None,
        })
        .collect();
    assert!(
        comments[0].starts_with("mqtt-qos1+tls1.3 128 B | connect | original | delivered after 12.500 ms")
    );
    assert!(
        comments
            .iter()
            .any(|comment| comment.starts_with("coap-con 128 B | message | "))
    );
    let parts = std::fs::read_dir(home.path().join("run/cells")).expect("cells");
    let extensions: BTreeSet<_> = parts
        .flatten()
        .filter_map(|entry| Some(entry.path().extension()?.to_owned()))
        .collect();
    assert_eq!(extensions, BTreeSet::from(["json".into()]));
}

#[test]
fn devices_on_a_shared_link_report_queue_drops() {
    let home = open_folder();
    let fleet = "compare coap-con,mqtt-qos1 --engine sim -q --shared-link --clients 300 --interval 10s \
                 --messages-per-connection 3 --up rate=100kbit,queue=8kB --keep-alive 0s";
    for (folder, spread) in [("even", "10s"), ("burst", "500ms")] {
        let said = run(home.path(), &format!("{fleet} --spread {spread} --out {folder}"));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let of = |folder: &str| summary_in(&home.path().join(folder)).cells;
    for (even, burst) in of("even").iter().zip(&of("burst")) {
        let refused = |cell: &Cell| {
            let achieved = cell.link.achieved.as_ref().expect("a link that was used");
            achieved.queue_dropped_up
        };
        assert_eq!(
            (even.outcomes.acknowledged, refused(even)),
            (900, Some(0)),
            "{}",
            even.stack
        );
        assert!(refused(burst) > Some(0), "{}", burst.stack);
        let resent = |cell: &Cell| cell.message.as_ref().expect("messages").by_cause["retransmission"].up;
        assert_eq!(resent(even), 0.0, "{}", even.stack);
        assert!(resent(burst) > 0.0, "{}", burst.stack);
        assert_ne!(even.key, burst.key);
    }
    assert!(home.path().join("burst/latency/001-mqtt-qos1-128B.hgrm").exists());
}
