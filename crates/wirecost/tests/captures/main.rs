//! `wirecost pcap`, `cost` and `what-if` on captures that other programs write.

#[path = "../common/mod.rs"]
mod common;

mod build;
mod links;
mod packets;
mod readings;
mod sources;

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use common::{said, wirecost};

/// What `wirecost pcap` says about a capture.
struct Told {
    report: Value,
    table: String,
    stderr: String,
    code: Option<i32>,
}

impl Told {
    fn number(&self, path: &str) -> u64 {
        let value = self.report.pointer(path);
        value
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("{path} in {}", self.report))
    }

    /// Packets, and bytes of those that belong to a flow.
    fn counted(&self) -> (u64, u64) {
        (self.number("/packets"), self.number("/wire_bytes"))
    }

    /// The kinds of bytes that were left out, and the number of bytes of each.
    fn left_out(&self) -> Vec<(String, u64)> {
        let entries = self.report["unattributed"].as_array().expect("a list").iter();
        let kind = |entry: &Value| entry["what"].as_str().expect("a kind").to_owned();
        entries
            .map(|entry| (kind(entry), entry["bytes"].as_u64().expect("bytes")))
            .collect()
    }

    /// The server and the protocol of each group.
    fn groups(&self) -> Vec<(&str, &str)> {
        let groups = self.report["groups"].as_array().expect("a list").iter();
        groups
            .map(|group| {
                (
                    group["server"].as_str().expect("a server"),
                    group["protocol"].as_str().expect("a protocol"),
                )
            })
            .collect()
    }
}

/// A folder with a capture, `capture`. `scripts/mutate-captures` keeps a copy of each.
fn folder(file: &[u8]) -> TempDir {
    if let Some(kept) = std::env::var_os("WIRECOST_KEEP_CAPTURES") {
        // The name follows from the content, so that the order of the files does not depend on that of the tests.
        let name = file.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        std::fs::write(Path::new(&kept).join(format!("{name:016x}")), file).expect("a file");
    }
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("capture"), file).expect("a file");
    folder
}

/// Runs `wirecost pcap` on a capture.
fn pcap(file: &[u8]) -> Told {
    let folder = folder(file);
    let said = said(wirecost(folder.path()).args(["pcap", "capture", "--json", "report.json"]));
    let report = std::fs::read(folder.path().join("report.json"));
    Told {
        report: serde_json::from_slice(&report.unwrap_or_else(|_| panic!("{}", said.stderr))).expect("JSON"),
        table: said.stdout,
        stderr: said.stderr,
        code: said.code,
    }
}
