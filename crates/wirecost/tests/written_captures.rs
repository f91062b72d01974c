//! Every capture that wirecost writes opens in the programs that people use: tcpdump, which is on libpcap, editcap, mergecap, capinfos
//! and tshark, with its secrets, and scapy.

mod common;
mod peers;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{need_program, said, wirecost};

/// Runs wirecost with arguments that are separated by blanks, in a folder.
fn run(folder: &Path, arguments: &str) {
    let said = said(wirecost(folder).args(arguments.split(' ')));
    assert_eq!(said.code, Some(0), "{arguments}\n{}{}", said.stdout, said.stderr);
}

/// What a program prints, which must succeed.
fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The number after `name` in a report of capinfos; 0 where it is not there.
fn counted(report: &str, name: &str) -> u64 {
    let line = report.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |line| {
        line.trim_start_matches([':', ' '])
            .trim()
            .parse()
            .expect("a number")
    })
}

/// Asserts that every program reads a capture, and that editcap and mergecap lose neither packets nor secrets. Returns the number of
/// packets that tshark decrypts.
fn assert_readable(capture: &Path) -> usize {
    for (program, package) in [
        ("tcpdump", "tcpdump"),
        ("editcap", "wireshark-common"),
        ("tshark", "tshark"),
    ] {
        need_program(program, package);
    }
    let again = capture.with_extension("again");
    let paths = [capture, &again].map(|path| path.to_str().expect("a path in UTF-8"));
    let report = output_of("capinfos", &["-M", paths[0]]);
    let packets = counted(&report, "Number of packets");
    let secrets = counted(&report, "Number of decryption secrets in file");
    assert!(packets > 0, "{report}");
    let lines = output_of("tcpdump", &["-n", "--count", "-r", paths[0]]);
    assert_eq!(
        lines.split_whitespace().next(),
        Some(&*packets.to_string()),
        "{lines}"
    );
    let python = peers::interpreter();
    let by_scapy = "import sys; from scapy.utils import rdpcap; print(len(rdpcap(sys.argv[1])))";
    let count = output_of(
        python.to_str().expect("a path in UTF-8"),
        &["-c", by_scapy, paths[0]],
    );
    assert_eq!(count.trim(), packets.to_string(), "scapy");
    for (copies, program, arguments) in [
        (1, "editcap", vec![paths[0], paths[1]]),
        (2, "mergecap", vec!["-w", paths[1], paths[0], paths[0]]),
    ] {
        output_of(program, &arguments);
        let report = output_of("capinfos", &["-M", paths[1]]);
        assert_eq!(
            counted(&report, "Number of packets"),
            packets * copies,
            "{program}: {report}"
        );
        let kept = counted(&report, "Number of decryption secrets in file");
        assert_eq!(kept, secrets * copies, "{program}: {report}");
    }
    std::fs::remove_file(&again).expect("the copy");
    let decrypted = output_of(
        "tshark",
        &[
            "-n",
            "-r",
            paths[0],
            "-Y",
            "(tls or dtls or quic) and (mqtt or coap or http3)",
        ],
    );
    decrypted.lines().count()
}

#[test]
#[ignore = "needs tcpdump, tshark, wireshark-common and the Python packages"]
fn captures_of_virtual_time_open_in_other_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    run(
        folder.path(),
        "compare --engine sim -n 2 -o c mqtt-qos1+tls1.3 coap-con+dtls1.2 http3 udp -q",
    );
    assert!(assert_readable(&folder.path().join("c/capture/sim.pcapng")) > 0);
    run(
        folder.path(),
        "load mqtt-qos1+tls1.3 --engine sim -c 2 -n 5 -r 10/s --rtt 20ms --capture -o l -q",
    );
    assert!(assert_readable(&only_capture(&folder.path().join("l/capture"))) > 0);
    run(
        folder.path(),
        "nbiot coap-con --load 1/s --duration 10s --capture -o n -q",
    );
    assert_readable(&only_capture(&folder.path().join("n/capture")));
}

#[test]
#[ignore = "needs root, tcpdump, tshark, wireshark-common and the Python packages"]
fn captures_of_live_runs_open_in_other_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let shell = [
        "link", "--serve", "mqtt", "--tls", "-o", "k", "-q", "--", "sh", "-c",
    ];
    run(
        folder.path(),
        "compare --engine live -n 2 -o c mqtt-qos1+tls1.3 coap-con+dtls1.2 http3 -q",
    );
    assert!(assert_readable(&folder.path().join("c/capture/all.pcapng")) > 0);
    let inside = format!(
        "{} probe mqtts://{{server}}/t --cacert {{authority}} -o p.pcapng",
        common::WIRECOST
    );
    let said = said(wirecost(folder.path()).args(shell).arg(inside));
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert!(assert_readable(&folder.path().join("p.pcapng")) > 0);
    assert_readable(&folder.path().join("k/capture/all.pcapng"));
}

/// The capture in a folder that has one.
fn only_capture(folder: &Path) -> PathBuf {
    let found = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path());
    let found: Vec<PathBuf> = found
        .filter(|path| path.extension().is_some_and(|end| end == "pcapng"))
        .collect();
    assert!(!found.is_empty(), "{} has no capture", folder.display());
    found[0].clone()
}
