//! Files that the program writes: at paths that are no text, and where somebody else has put a link.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::bounded::bounded;
use crate::common::{open_folder, said, wirecost};

/// A name in Latin-1.
const NAME: &[u8] = b"caf\xe9";

fn line(text: &str) -> Vec<OsString> {
    let parts = text.split(' ').map(|word| word.split("{}").collect::<Vec<_>>());
    let joined = parts.map(|parts| {
        parts
            .iter()
            .map(|part| part.as_bytes())
            .collect::<Vec<_>>()
            .join(NAME)
    });
    joined.map(OsString::from_vec).collect()
}

#[test]
fn results_are_written_to_paths_that_are_no_text() {
    let home = open_folder();
    // The current folder has such a name, too.
    let folder = home.path().join(OsStr::from_bytes(b"\xff folder"));
    fs::create_dir(&folder).expect("a folder");
    let shards = "wirecost: 1\nstack: [udp, tcp]\nengine: sim\nsamples: 1\n";
    fs::write(folder.join("shards.yaml"), shards).expect("a file");
    for (text, file) in [
        (
            "compare --engine sim -n 2 udp -o {} --json {}.json",
            "{}/report.html",
        ),
        ("compare --engine sim -n 2 udp --resume {}", "{}/report.html"),
        (
            "load tcp --engine sim -c 1 -n 3 -o {}-load --json {}-load.json --junit {}.xml",
            "{}.xml",
        ),
        (
            "load tcp --engine sim -c 1 -n 3 --resume {}-load",
            "{}-load/report.html",
        ),
        ("run shards.yaml --shard 2/2 -o {}-two", "{}-two/report.html"),
        ("run shards.yaml --shard 1/2 -o {}-one", "{}-one/report.html"),
        ("report {}", "{}/report.html"),
        ("diff {} {} --json {}-diff.json", "{}-diff.json"),
        ("merge {}-one {}-two -o {}-merged", "{}-merged/summary.json"),
        ("pcap {}/capture/sim.pcapng --json {}-pcap.json", "{}-pcap.json"),
        (
            "cost {} --device nrf9160-lte-m --json {}-cost.json",
            "{}-cost.json",
        ),
        (
            "choose coap-con --every 1h -o {}-choose --json {}-choose.json",
            "{}-choose/choice.html",
        ),
        (
            "what-if {}/capture/sim.pcapng coap-con -o {}-what-if",
            "{}-what-if/what-if.json",
        ),
        ("links --json {}-links.json", "{}-links.json"),
        ("new -o {}.yaml", "{}.yaml"),
        ("man -o {}-man", "{}-man/wirecost.1"),
        ("study tcp-vs-mqtt --write {}-study", "{}-study/claims.yaml"),
        ("object keygen p256 {}", "{}.key"),
        ("object keygen p256 plain", "plain.key"),
        ("object keygen sign {}-s", "{}-s.key"),
        (
            "object seal --key {}-s.key --to plain.pub {}.yaml -o {}.sealed",
            "{}.sealed",
        ),
        (
            "object open --key plain.key --signer {}-s.pub {}.sealed -o {}.opened",
            "{}.opened",
        ),
        (
            "nbiot coap-con --load 0.5/s --seeds 1 --duration 5s -o {}-cells",
            "{}-cells/summary.json",
        ),
    ] {
        let said = bounded(&folder, &line(text));
        let written = line(file).remove(0);
        assert!(folder.join(&written).exists(), "{text}: {said:?}");
    }
    // The recorded command repeats the run: bash reads its quotes.
    let summary = folder.join(OsStr::from_bytes(NAME)).join("journal.jsonl");
    let journal = fs::read_to_string(summary).expect("a journal");
    assert!(journal.contains(r"$'caf\\351'"), "{journal}");
}

#[test]
fn a_password_of_the_environment_that_is_no_text_is_refused() {
    let home = open_folder();
    let said = said(
        wirecost(home.path())
            .args(["probe", "mqtt://127.0.0.1:1", "--user", "u"])
            .env("WIRECOST_PASSWORD", OsStr::from_bytes(NAME)),
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert_eq!(
        said.line("error: "),
        Some("WIRECOST_PASSWORD is not text in UTF-8")
    );
}

#[test]
fn nothing_is_written_through_a_link_in_a_results_folder() {
    let home = open_folder();
    let path = home.path();
    let victim = path.join("victim");
    let mut refused = 0;
    for name in [
        "journal.jsonl",
        "scenario.resolved.yaml.partial",
        "summary.json.partial",
        "cells",
        "latency",
        "capture",
    ] {
        let run = path.join(name.replace('.', "-"));
        let out = run.to_str().expect("a text").to_owned();
        let start = [
            "compare", "--engine", "sim", "-n", "1", "udp", "-q", "--out", &out,
        ];
        assert_eq!(said(wirecost(path).args(start)).code, Some(0));
        let place = run.join(name);
        let kept = run.join("kept");
        if place.exists() {
            fs::rename(&place, &kept).expect("moved");
        }
        if kept.is_dir() {
            fs::create_dir_all(path.join("elsewhere")).expect("a folder");
            symlink(path.join("elsewhere"), &place).expect("a link");
        } else {
            let text = fs::read(&kept).unwrap_or_default();
            fs::write(&victim, &text).expect("a file");
            symlink(&victim, &place).expect("a link");
        }
        let before = fs::read(&victim).unwrap_or_default();
        let resumed = [
            "compare",
            "--engine",
            "sim",
            "-n",
            "1",
            "udp,tcp",
            "-q",
            "--resume-changed",
        ];
        let said = said(wirecost(path).args(resumed).args(["--resume", &out]));
        assert_eq!(fs::read(&victim).unwrap_or_default(), before, "{name}: {said:?}");
        let elsewhere = fs::read_dir(path.join("elsewhere")).into_iter().flatten();
        assert_eq!(elsewhere.count(), 0, "{name}: {said:?}");
        assert_ne!(said.code, Some(0), "{name}");
        assert!(said.stderr.contains("symbolic link"), "{name}: {}", said.stderr);
        refused += 1;
    }
    assert_eq!(refused, 6);
}

#[test]
fn keys_and_certificates_are_written_through_no_link_and_wait_for_no_reader() {
    let home = open_folder();
    let path = home.path();
    fs::write(path.join("victim"), "precious").expect("a file");
    symlink(path.join("victim"), path.join("link")).expect("a link");
    let fifo = Command::new("mkfifo").arg(path.join("fifo")).status();
    assert!(fifo.expect("mkfifo").success());
    fs::write(path.join("part"), "part").expect("a file");
    assert_eq!(bounded(path, &line("object keygen p256 key")).code, Some(0));
    assert_eq!(bounded(path, &line("object keygen sign signer")).code, Some(0));
    for place in ["link", "fifo", "."] {
        for text in [
            format!("serve mqtt --tls --keylog {place}"),
            format!("serve mqtt --tls --ca-out {place}"),
            format!("object seal --key signer.key --to key.pub part -o {place}"),
            format!("new -o {place}"),
        ] {
            let said = bounded(path, &line(&text));
            assert_eq!(said.code, Some(2), "{text}: {}", said.stderr);
            assert!(said.stderr.contains("cannot write "), "{text}: {}", said.stderr);
        }
    }
    for place in ["fifo", "."] {
        for text in [
            format!("links --json {place}"),
            format!("compare --engine sim -n 1 udp --json {place}"),
            format!("load tcp --engine sim -c 1 -n 1 --junit {place}"),
        ] {
            let said = bounded(path, &line(&text));
            assert_eq!(said.code, Some(2), "{text}: {}", said.stderr);
        }
    }
    assert_eq!(
        fs::read_to_string(path.join("victim")).expect("a file"),
        "precious"
    );
    assert!(!Path::new("runs").exists());
    let to_nothing = bounded(path, &line("links --json /dev/null"));
    assert_eq!(to_nothing.code, Some(0), "{}", to_nothing.stderr);
}
